/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - a device's interface for rounds of Gaussian groups. */
#ifndef CSREC_METHOD_GAUSSIAN_ENGINE_H
#define CSREC_METHOD_GAUSSIAN_ENGINE_H

#include "device/device.h"
#include "method/gaussian/gaussian.h"

/* The rounds of a recovery. */
typedef struct csrec_gaussian_plan {
    const csrec_gaussian_round *rounds;
    int count;
    uint64_t seed; /* shifts the reference patches */
    int threads;   /* of the CPU */
    csrec_call *call;
} csrec_gaussian_plan;

/* The engine keeps the picture, whose mask stays the caller's, and the candidates of each patch
 * from create to destroy, which accepts NULL. */
typedef struct csrec_gaussian_engine {
    /* Allocates for the rounds of the plan and takes the picture. CSREC_UNSUPPORTED: pictures not
     * handled. */
    csrec_status (*create)(const csrec_context *context, csrec_gaussian_picture *picture,
                           const csrec_gaussian_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Runs round `number` of the plan: updates the engine's picture unless the call is stopped;
     * reports progress to the call. May be queued. */
    csrec_status (*run)(void *state, const csrec_gaussian_round *round, int number,
                        csrec_error *error);
    /* Copy u and variance from the engine to the picture of create, and back. The CPU updates the
     * picture itself. */
    csrec_status (*get)(void *state, csrec_gaussian_picture *picture, csrec_error *error);
    csrec_status (*set)(void *state, const csrec_gaussian_picture *picture, csrec_error *error);
} csrec_gaussian_engine;

extern const csrec_gaussian_engine csrec_gaussian_cpu, csrec_gaussian_cuda;

#endif
