/* gaussian.h - rounds of Gaussian groups on a device; method/gaussian/round.c is the reference.
 *
 * The device does the whole round: matches of the reference patches, mean, covariance and steps of
 * expectation maximisation of every group, its patches conditioned on their samples, and the sums
 * of the estimates. */
#ifndef CSREC_KERNELS_METHOD_GAUSSIAN_GAUSSIAN_H
#define CSREC_KERNELS_METHOD_GAUSSIAN_GAUSSIAN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

enum {
    CSREC_CUDA_GAUSSIAN_PIXELS = 128,
    CSREC_CUDA_GAUSSIAN_GROUP = 128,
    CSREC_CUDA_GAUSSIAN_KEPT = 128
};

typedef struct csrec_cuda_gaussian csrec_cuda_gaussian;

/* Arrays in host memory, of height * width entries. */
typedef struct csrec_cuda_gaussian_spec {
    int height, width, channels;
    bool keep;                 /* samples keep their values */
    const unsigned char *mask; /* 1 at samples */
    float *const *y;           /* [channels] */
    int64_t references;        /* most per round */
    int group;                 /* most patches per group */
} csrec_cuda_gaussian_spec;

/* As csrec_gaussian_round, with the reference positions: corners row[i], column[j]. */
typedef struct csrec_cuda_gaussian_round {
    int rows, columns;
    const int *row, *column;
    int patch_height, patch_width, group;
    int radius, em, margin, every;
    bool again; /* from the candidates of the round before, with equal references and window */
    float diagonal, trust, noise, em_diagonal, evenness;
} csrec_cuda_gaussian_round;

/* The picture, its estimate and the candidates stay on the device until it is destroyed; spec->mask
 * stays the caller's and is read by rounds. CSREC_UNSUPPORTED: groups of more than 128.
 * CSREC_MEMORY names the bytes. */
csrec_status csrec_cuda_gaussian_create(const csrec_cuda_gaussian_spec *spec,
                                        csrec_cuda_gaussian **gaussian, csrec_error *error);
void csrec_cuda_gaussian_destroy(csrec_cuda_gaussian *gaussian);

/* u and variance [channels] in host memory. */
csrec_status csrec_cuda_gaussian_set(csrec_cuda_gaussian *gaussian, float *const *u,
                                     float *const *variance, csrec_error *error);
csrec_status csrec_cuda_gaussian_get(const csrec_cuda_gaussian *gaussian, float *const *u,
                                     float *const *variance, csrec_error *error);

/* Matched on the mean of u over the channels. Deterministic. CSREC_UNSUPPORTED: patches of more
 * than 128 pixels, evenness below 0.5, or a window or a group that does not fit into shared memory.
 * CSREC_ARGUMENT: more than the spec promised, or `again` without such a round before. */
csrec_status csrec_cuda_gaussian_run(csrec_cuda_gaussian *gaussian,
                                     const csrec_cuda_gaussian_round *round, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
