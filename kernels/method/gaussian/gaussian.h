/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian.h - rounds of Gaussian groups on a device; method/gaussian/round.c is the reference.
 *
 * The device does the whole round: matches of the reference patches, mean, covariance and steps of
 * expectation maximisation of every group, its patches conditioned on their samples, and the sums
 * of the estimates. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

enum {
    CSREC_CUDA_GAUSSIAN_PIXELS = 128,
    CSREC_CUDA_GAUSSIAN_GROUP = 128,
    CSREC_CUDA_GAUSSIAN_KEPT = 128
};

typedef struct csrec_cuda_gaussian csrec_cuda_gaussian;

/* Arrays in host memory, of depth * height * width entries. */
typedef struct csrec_cuda_gaussian_spec {
    int depth, height, width, channels; /* depth 1: a picture */
    bool apart;                /* patches are compared in each channel, not on their mean */
    bool pooled;               /* three channels share one covariance */
    bool keep;                 /* samples keep their values */
    const unsigned char *mask; /* 1 at samples */
    float *const *y;           /* [channels] */
    int64_t references;        /* most per round */
    int group;                 /* most patches per group */
} csrec_cuda_gaussian_spec;

/* As csrec_gaussian_round, with the reference positions: corners slice[i], row[j], column[k]. */
typedef struct csrec_cuda_gaussian_round {
    int slices, rows, columns;
    const int *slice, *row, *column;
    int patch_depth, patch_height, patch_width, group;
    int deep, radius; /* of the window: +-deep slices, +-radius rows and columns */
    int em, margin, every;
    bool again; /* from the candidates of the round before, with equal references and window */
    float diagonal, trust, noise, em_diagonal, evenness, floor;
} csrec_cuda_gaussian_round;

/* The picture, its estimate and the candidates stay on the device until it is destroyed.
 * CSREC_UNSUPPORTED: groups of more than 128, pooled channels other than three. CSREC_MEMORY names
 * the bytes. */
csrec_status csrec_cuda_gaussian_create(const csrec_cuda_gaussian_spec *spec,
                                        csrec_cuda_gaussian **gaussian, csrec_error *error);
void csrec_cuda_gaussian_destroy(csrec_cuda_gaussian *gaussian);

/* u and variance [channels] in host memory. */
csrec_status csrec_cuda_gaussian_set(csrec_cuda_gaussian *gaussian, float *const *u,
                                     float *const *variance, csrec_error *error);
csrec_status csrec_cuda_gaussian_get(const csrec_cuda_gaussian *gaussian, float *const *u,
                                     float *const *variance, csrec_error *error);

/* Deterministic. CSREC_UNSUPPORTED: patches of more than 128 pixels, evenness below 0.5, or a
 * window or a group that does not fit into shared memory. With W = 64, 104 or 128, the least that
 * is not below the pixels d of a patch, a group needs about
 *
 *     4 W (W + K channels_pooled + rows) bytes,    rows = max(most samples of a patch, W / 2),
 *
 * of the 163 KB (compute capability 8.0) or 227 KB (9.0) of a block. CSREC_ARGUMENT: more than the
 * spec promised, or `again` without such a round before. */
csrec_status csrec_cuda_gaussian_run(csrec_cuda_gaussian *gaussian,
                                     const csrec_cuda_gaussian_round *round, csrec_error *error);

CSREC_C_END
