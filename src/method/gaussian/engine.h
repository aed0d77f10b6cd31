/* engine.h - rounds of Gaussian groups as a device does them. */
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
    csrec_team *team;
} csrec_gaussian_plan;

/* The picture, whose mask stays the caller's, and the candidates of each patch stay with the engine
 * from create to destroy, which takes NULL. */
typedef struct csrec_gaussian_engine {
    bool colours; /* matches patches in each of three channels, and pools them */
    /* With memory for the rounds of the plan and the picture as it is. CSREC_UNSUPPORTED: not such
     * pictures. */
    csrec_status (*create)(const csrec_context *context, csrec_gaussian_picture *picture,
                           const csrec_gaussian_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* One of the rounds planned, which is number `number` of them: the engine's picture becomes the
     * next, unless the team is stopped, which hears of the progress. May be queued. */
    csrec_status (*run)(void *state, const csrec_gaussian_round *round, int number,
                        csrec_error *error);
    /* u and variance of the picture, of create, become the engine's, and the reverse. The CPU works
     * in the picture itself. */
    csrec_status (*get)(void *state, csrec_gaussian_picture *picture, csrec_error *error);
    csrec_status (*set)(void *state, const csrec_gaussian_picture *picture, csrec_error *error);
} csrec_gaussian_engine;

extern const csrec_gaussian_engine csrec_gaussian_cpu, csrec_gaussian_cuda;

#endif
