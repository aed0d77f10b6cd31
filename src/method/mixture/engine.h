/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - a device's interface for rounds of a mixture over the patches of a picture. */
#ifndef CSREC_METHOD_MIXTURE_ENGINE_H
#define CSREC_METHOD_MIXTURE_ENGINE_H

#include "method/mixture/fit.h"

typedef struct csrec_fit_plan {
    int rounds;
    bool adapt; /* moments are asked for */
} csrec_fit_plan;

/* The engine keeps the picture from create to destroy, which accepts NULL. */
typedef struct csrec_fit_engine {
    /* Takes the picture, for mixtures of K components. CSREC_UNSUPPORTED: patches not handled. */
    csrec_status (*create)(const csrec_context *context, csrec_fit_picture *picture, int K,
                           const csrec_fit_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Round `number` from 0: assigns patches under `wide`, conditions them under `mixture`, and
     * averages them into the engine's picture, unless the call is stopped, to which it reports. */
    csrec_status (*run)(void *state, const csrec_mixture *mixture, const csrec_mixture *wide,
                        int number, csrec_error *error);
    /* Of the last round: patches of component k; and unless there are none their mean [d], their
     * covariance about it [d][d] and the sum of V^T V [d][d] (patch.h) where column >= row. By any
     * threads at once, for other components. */
    int64_t (*count)(const void *state, int k);
    csrec_status (*moments)(void *state, int k, double *mean, double *S, double *G,
                            csrec_error *error);
    /* Copies u and, if asked for, variance of the engine's picture to that of create, which the CPU
     * changes itself; and the squared distance of the means to the samples (energy may be NULL). */
    csrec_status (*get)(void *state, double *energy, csrec_error *error);
} csrec_fit_engine;

extern const csrec_fit_engine csrec_fit_cpu, csrec_fit_cuda;

#endif
