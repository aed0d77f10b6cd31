/* SPDX-License-Identifier: BSD-3-Clause */
/* shrink.h - thresholding a picture's block cosines on the device: the iteration of
 * operator/dct.h, for up to CSREC_SHRINK_FRAMES sizes of blocks side by side.
 *
 * The picture lies row by row in a frame of whole cells of step x step pixels, starting step - 1
 * pixels into it. A warp takes 32 / block blocks, a thread a column and then a row of one. Blocks
 * that overlap write planes of their own, so that a second kernel adds them up in a fixed order and
 * puts the samples back: no atomics, deterministic. All sizes share a launch. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

enum { CSREC_SHRINK_FRAMES = 3 };

typedef struct csrec_cuda_shrink csrec_cuda_shrink;

/* Blocks of 4, 8, 16 or 32 pixels, steps of a block, half or a quarter of it. */
typedef struct csrec_cuda_shrink_spec {
    int64_t height, width; /* at least the largest block */
    int frames;
    int block[CSREC_SHRINK_FRAMES], step[CSREC_SHRINK_FRAMES];
    int64_t m;
    const int64_t *index; /* [m] row by row */
} csrec_cuda_shrink_spec;

csrec_status csrec_cuda_shrink_create(const csrec_cuda_shrink_spec *spec,
                                      csrec_cuda_shrink **shrink, csrec_error *error);
void csrec_cuda_shrink_destroy(csrec_cuda_shrink *shrink);

/* Every frame's picture is start [height * width], its samples y [m]; host memory. */
csrec_status csrec_cuda_shrink_start(csrec_cuda_shrink *shrink, const double *start,
                                     const double *y, csrec_error *error);

/* csrec_shrink_step of operator/operator.h with the offsets that it draws. */
typedef struct csrec_cuda_shrink_round {
    double threshold, relax, impose;
    bool soft;
    bool last; /* keeps the data for the energy; only results may follow */
    int down[CSREC_SHRINK_FRAMES], right[CSREC_SHRINK_FRAMES];
} csrec_cuda_shrink_round;

/* Queues an iteration of all frames. */
csrec_status csrec_cuda_shrink_step(csrec_cuda_shrink *shrink, const csrec_cuda_shrink_round *round,
                                    csrec_error *error);

/* mean: [height * width] of the frames' pictures. energy: [frames] ||y - v||^2 of the last
 * iteration's thresholded pictures. */
csrec_status csrec_cuda_shrink_result(csrec_cuda_shrink *shrink, double *mean, double *energy,
                                      csrec_error *error);

CSREC_C_END
