/* em.h - a device's interface for the expectation step of a mixture. */
#ifndef CSREC_LEARN_EM_H
#define CSREC_LEARN_EM_H

#include "device/device.h"
#include "learn/mixture.h"

typedef struct csrec_em_plan {
    int64_t rows, piece; /* of the data; at most so many at a time */
    int threads;         /* of the CPU */
    csrec_call *team;    /* or NULL */
} csrec_em_plan;

/* The mixture outlives the engine, whose sums are about the means at `begin`. */
typedef struct csrec_em_engine {
    /* CSREC_UNSUPPORTED: rows of so many entries are not handled. */
    csrec_status (*create)(const csrec_context *context, const csrec_mixture *mixture,
                           const csrec_em_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state); /* accepts NULL */
    csrec_status (*begin)(void *state, csrec_error *error);
    /* Rows first .. of the data, in order; the same in each round. likelihood: a sum of logarithms
     * for each CSREC_WHITEN_ROWS of them. If the team is stopped, nothing. */
    csrec_status (*take)(void *state, int64_t first, int64_t count, const float *X,
                         double *likelihood, csrec_error *error);
    /* Of component k, over the rows: the sum of posteriors r, of r (x - mean) [d], and, unless
     * there are none, the mean of r (x - mean)(x - mean)^T [d][d]. */
    csrec_status (*moments)(void *state, int k, double *weight, double *shift, double *C,
                            csrec_error *error);
} csrec_em_engine;

/* Posteriors below it are left out of the sums. */
#define CSREC_EM_SHARE 1e-10

extern const csrec_em_engine csrec_em_cpu, csrec_em_cuda;

#endif
