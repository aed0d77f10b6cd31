/* SPDX-License-Identifier: BSD-3-Clause */
/* blur.h - a blurred signal at some positions, and means of boxes. */
#ifndef CSREC_OPERATOR_BLUR_H
#define CSREC_OPERATOR_BLUR_H

#include "base/inline.h"
#include "operator/mask.h"

/* y_p = sum_k h_k x_(p + c - k) at the positions of the mask, c = extent / 2, 0 outside. */
typedef struct csrec_blur {
    csrec_mask mask;
    int64_t extent[3], kernel[3]; /* 1 for axes that the signal lacks, which are in front */
    double *h;
} csrec_blur;

/* y: boxes of `factor` entries in C order; the last along an axis may have fewer. */
typedef struct csrec_downsample {
    int64_t extent[3], factor[3], boxes[3];
} csrec_downsample;

/* Entries of the box that entry i along axis a is in. */
CSREC_BOTH int64_t csrec_box_edge(const csrec_downsample *d, int a, int64_t i) {
    const int64_t first = i / d->factor[a] * d->factor[a], rest = d->extent[a] - first;
    return rest < d->factor[a] ? rest : d->factor[a];
}

#endif
