/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm.h - the steps of learning a mixture of Gaussians. */
#pragma once

#include "base/call.h"
#include "base/pool.h"
#include "learn/engine.h"

/* ---- evaluation of a mixture of Gaussians: factors of its covariances, posteriors of rows. */

typedef struct csrec_mixture {
    int K, d;
    double *weights, *means, *C; /* [K], [K][d], [K][d][d] */
    double *whiten;              /* [K] inverse Cholesky factors, packed (whiten.h) */
    double *offset;              /* [K] log weight - (d log 2 pi + log |C|) / 2 */
    csrec_pool pool;             /* of these arrays */
} csrec_mixture;

enum { CSREC_MIXTURE_MOST = 4096 }; /* components, and entries of a vector */

csrec_status csrec_mixture_create(int K, int d, csrec_mixture *mixture, csrec_error *error);
void csrec_mixture_clear(csrec_mixture *mixture);

/* From a model of kind gmm. */
csrec_status csrec_mixture_from(const csrec_model *model, csrec_mixture *mixture,
                                csrec_error *error);

/* Raises eigenvalues of each C below `least` to it, which gives the largest likelihood of all
 * covariances with that bound. Then computes the factors. least > 0. If the call (may be NULL) is
 * stopped, some are not computed. */
csrec_status csrec_mixture_prepare(csrec_mixture *mixture, double least, int threads,
                                   csrec_call *call, csrec_error *error);

/* Room for csrec_mixture_posteriors, one a thread. */
size_t csrec_mixture_work(const csrec_mixture *mixture);

/* exp(-40) = 4e-18 of the largest does not change the last bit of their sum. */
#define CSREC_MIXTURE_NOTHING -40.0

/* Posterior r [count][K] of the components for rows X [count][d], count up to CSREC_WHITEN_ROWS;
 * returns the sum of the rows' log-likelihoods. A row that is far from all components belongs to
 * the nearest. */
double csrec_mixture_posteriors(const csrec_mixture *mixture, int count, const float *X,
                                double *work, double *r);

/* The most likely component of each such row, the first of several; 0 for a row that is not finite.
 * work: that much, and count * K more. */
void csrec_mixture_choose(const csrec_mixture *mixture, int count, const float *X, double *work,
                          int *choice);

/* C = L L^T, rows of d, the lower triangle of A replaced by L; false: not positive definite. */
bool csrec_cholesky(int d, double *A);

typedef struct csrec_em_plan {
    int64_t rows, piece; /* of the data; at most so many at a time */
    int threads;         /* of the CPU */
    csrec_call *call;    /* or NULL */
} csrec_em_plan;

/* The mixture outlives the engine, whose sums are about the means at `begin`. */
typedef struct csrec_em_engine {
    /* CSREC_UNSUPPORTED: rows of so many entries are not handled. */
    csrec_status (*create)(const csrec_context *context, const csrec_mixture *mixture,
                           const csrec_em_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state); /* accepts NULL */
    csrec_status (*begin)(void *state, csrec_error *error);
    /* Rows first .. of the data, in order; the same in each round. likelihood: a sum of logarithms
     * for each CSREC_WHITEN_ROWS of them. If the call is stopped, nothing. */
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

/* ------------------------------------------------------------------ learning */

typedef struct csrec_em csrec_em;

/* csrec_gmm_learn on a device that is passed down. */
csrec_status csrec_gmm_learn_on(const csrec_context *context, const csrec_data *data,
                                const csrec_learn_options *options, csrec_model **model,
                                bool *stopped, csrec_error *error);

/* The most that csrec_gmm_learn_on has in memory, with data of m rows of d that it holds. */
double csrec_gmm_learn_bytes(int64_t m, int64_t d, int K);

/* Expectation and maximisation steps; the mixture and the context must outlive them. */
csrec_status csrec_em_create(const csrec_context *context, csrec_mixture *mixture,
                             const csrec_em_plan *plan, csrec_em **em, csrec_error *error);
void csrec_em_destroy(csrec_em *em);

/* A round: csrec_em_begin; then csrec_em_take for all rows (the `take` of a csrec_data_pass, whose
 * taker is the csrec_em); then csrec_em_finish, which returns the mean log-likelihood of the rows
 * before the step and updates the mixture, without its factors. */
csrec_status csrec_em_begin(csrec_em *em, csrec_error *error);
csrec_status csrec_em_take(void *em, int64_t first, int64_t count, const float *X,
                           csrec_error *error);
csrec_status csrec_em_finish(csrec_em *em, double *log_likelihood, csrec_error *error);

/* Starting mixtures. k-means++ of some rows of the data. C [d][d] and mean: of all rows. */
csrec_status csrec_gmm_start_kmeans(const csrec_data *data, csrec_call *call, uint64_t seed,
                                    int threads, csrec_mixture *mixture, bool *stopped,
                                    csrec_error *error);
/* Patches [height][width] about `mean`: edges of K - 1 directions with the variance of the data,
 * and cosines whose variance falls with frequency (Yu, Sapiro and Mallat 2012, section IV). */
csrec_status csrec_gmm_start_edges(int height, int width, double mean, double variance,
                                   csrec_mixture *mixture, csrec_error *error);
