/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - a device's interface for thresholding all frames of a picture at once. The CPU has no
 * engine: on it the solver processes each frame separately. */
#pragma once

#include "operator/operator.h"

/* The schedule of one channel on up to three frames. */
typedef struct csrec_frames_job {
    const csrec_shape *shape; /* two axes */
    int frames;
    int block[3], step[3];
    int64_t m;
    const int64_t *index; /* [m] */
    const double *y;      /* [m] */
    int64_t rounds;
    const csrec_shrink_step *round; /* [rounds] */
} csrec_frames_job;

typedef struct csrec_frames_engine {
    /* mean [pixels]: the start in, the mean of all frames' pictures out. energy [frames]: ||y -
     * v||^2 of the last thresholded pictures. CSREC_UNSUPPORTED: blocks or pictures not handled. */
    csrec_status (*threshold)(const csrec_context *context, const csrec_frames_job *job,
                              double *mean, double *energy, csrec_error *error);
} csrec_frames_engine;

extern const csrec_frames_engine csrec_frames_cuda;
