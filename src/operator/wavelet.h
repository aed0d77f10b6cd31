/* SPDX-License-Identifier: BSD-3-Clause */
/* wavelet.h - lifting along one axis (Park 2015; Sweldens 1996; Daubechies and Sweldens 1998).
 *
 * A line v of n entries splits into s_i = v_2i and d_i = v_2i+1. Steps alternate between predict,
 *     d_i += left s_i + right s_i+1     (the paper's d_i -= p (s_i + s_i+1)),
 * and update,
 *     s_i += left d_i-1 + right d_i     (the paper's s_i += u (d_i-1 + d_i)),
 * with the line extended symmetrically about its end entries. Then s *= scale, d /= scale, such
 * that a constant line gains sqrt 2, as an orthonormal transform's. */
#pragma once

#include "base/inline.h"
#include "operator/mask.h"

typedef struct csrec_lifting {
    const char *kind;
    int steps; /* even numbers predict, odd ones update */
    double left[4], right[4], scale;
} csrec_lifting;

/* Whether a step with this tap extends the line about its last entry. For the Haar wavelet's two
 * taps the line is extended about its end instead, where the missing d is 0. */
CSREC_BOTH bool csrec_lifting_mirrors(double left) {
    return left != 0.0;
}

/* Analysis, its inverse, and the transpose of its inverse. */
typedef enum csrec_lifting_way {
    CSREC_LIFTING_ANALYZE,
    CSREC_LIFTING_SYNTHESIZE,
    CSREC_LIFTING_TRANSPOSE
} csrec_lifting_way;

enum { CSREC_LIFTING_WIDE = 8 };

/* One level in place on a line of n > 1 entries `stride` apart: the (n + 1) / 2 of s, then those of
 * d. wide: on that line and the CSREC_LIFTING_WIDE - 1 that begin at the next addresses; each has
 * the bits that it has alone. scratch: [n], or as many for each line. */
typedef void csrec_lift_fn(const csrec_lifting *lifting, csrec_lifting_way way, bool wide,
                           int64_t n, double *v, int64_t stride, double *scratch);

csrec_lift_fn csrec_lift_generic, csrec_lift_avx2, csrec_lift_avx512;

enum { CSREC_WAVELET_LEVELS = 32 };

typedef struct csrec_wavelet {
    csrec_mask mask;
    const csrec_lifting *lifting;
    int levels;
    int64_t extent[3];
    int64_t region[CSREC_WAVELET_LEVELS + 1][3]; /* of the coarse part after so many levels */
} csrec_wavelet;
