/* SPDX-License-Identifier: BSD-3-Clause */
/* state.cuh - arguments of the kernels of a round of Gaussian groups. Only for kernels/.
 */
#pragma once

#include "kernels/device/device.h"
#include "kernels/method/gaussian/gaussian.h"

/* Groups are estimated in parts of at most CSREC_GAUSSIAN_PART, whose patches are held at a time.
 */
enum { CSREC_GAUSSIAN_PART = 1 << 16 };

typedef struct csrec_gaussian_device {
    int depth, height, width, channels, guides;
    int pooled; /* channels that share a covariance: all, or 1 */
    int patch_depth, patch_height, patch_width, group;
    int64_t entries;
    bool keep;
    unsigned char *mask;
    float *y, *u, *variance; /* [channels][entries]; y: NaN but at samples */
    float *guide;            /* [guides][entries]: u, or the mean of its channels */
    /* In units of 2^-32: w x [channels][entries], w and w v [channels / pooled][entries]. */
    unsigned long long *sums;
    int *slice, *row, *column; /* of the references */
    int64_t *corner;           /* [CSREC_GAUSSIAN_PART][group] entries of the patches' corners */
    int *size;                 /* [CSREC_GAUSSIAN_PART] */
    int *count;                /* [references] candidates, and their places in the window */
    unsigned short *shift;     /* [references][CSREC_CUDA_GAUSSIAN_KEPT] */
    int *most;                 /* samples in a patch */
} csrec_gaussian_device;

/* Planes of weights and of variances: pooled channels share theirs. */
static inline __host__ __device__ int64_t csrec_gaussian_spreads(const csrec_gaussian_device *g) {
    return g->channels / g->pooled;
}

/* Patches are compared on the mean of the channels: before the matches of a round. */
csrec_status csrec_gaussian_guide(const csrec_gaussian_device *g, csrec_error *error);
/* Of n references from number `first` on. */
csrec_status csrec_gaussian_match(const csrec_gaussian_device *g,
                                  const csrec_cuda_gaussian_round *round, int64_t first, int n,
                                  csrec_error *error);
csrec_status csrec_gaussian_clear(const csrec_gaussian_device *g, csrec_error *error);
/* Adds the estimates of n groups to the sums. most: samples that a patch has. */
csrec_status csrec_gaussian_estimate(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, int n, int most,
                                     csrec_error *error);
/* u and variance from the sums. */
csrec_status csrec_gaussian_finish(const csrec_gaussian_device *g, csrec_error *error);
