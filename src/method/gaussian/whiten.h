/* SPDX-License-Identifier: BSD-3-Clause */
/* whiten.h - pooled channels made uncorrelated, on the CPU and in kernels. */
#pragma once

#include <math.h>

#include "base/inline.h"

enum { CSREC_GAUSSIAN_POOLED = 3 }; /* most pooled channels */

/* In: the lower triangle of S, the covariances between the channels. Out: L with L L^T = S +
 * floor I. Returns the root of the mean of its diagonal over the channels: x = that L^-1 (values of
 * the channels) is uncorrelated, with equal weight in C. Weak channels (colour) are as informative
 * about the shape of a patch as strong ones (brightness). */
CSREC_BOTH float csrec_gaussian_whitening(int channels, float floor,
                                          float L[CSREC_GAUSSIAN_POOLED][CSREC_GAUSSIAN_POOLED]) {
    float mean = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int e = 0; e <= c; e++) {
            float s = L[c][e] + (c == e ? floor : 0.0f);
            if (c == e) mean += s / (float)channels;
            for (int k = 0; k < e; k++) s -= L[c][k] * L[e][k];
            L[c][e] = c > e ? s / L[e][e] : sqrtf(s > floor ? s : floor);
        }
    return sqrtf(mean / (float)channels);
}
