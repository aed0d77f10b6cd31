/* SPDX-License-Identifier: BSD-3-Clause */
/* dct.h - the frame of overlapping block cosines.
 *
 * Blocks of b entries an axis (fewer if the axis is shorter) start every `step` entries, with one
 * more at the end, so that they cover the signal and stay inside it. x holds the coefficients of
 * the orthonormal DCT-II of block after block. The signal is the mean of the blocks that cover an
 * entry: with R_B the restriction to block B, D its DCT and c the number of covering blocks,
 *     synthesize(x) = 1/c sum_B R_B^T D^T x_B,   analyze(s) = (D R_B s)_B,
 * and synthesize(analyze(s)) = s. c is a product over the axes. */
#ifndef CSREC_OPERATOR_DCT_H
#define CSREC_OPERATOR_DCT_H

#include "operator/mask.h"

enum { CSREC_DCT_LEAST = 4, CSREC_DCT_MOST = 32 };

typedef struct csrec_dct_axis {
    int64_t extent, count; /* count: blocks along the axis */
    int edge;              /* entries of a block */
    int64_t *first;        /* [count] where blocks start */
    double *weight;        /* [extent] 1 / number of covering blocks */
    double *cosine;        /* [edge][edge] row k: basis function k; symmetric about the middle */
} csrec_dct_axis;

typedef struct csrec_dct {
    csrec_mask mask;
    csrec_dct_axis axis[3];
    int block, step;
    int64_t blocks, size; /* size: coefficients of a block */
} csrec_dct;

/* The frame if A is one, else NULL. */
static inline const csrec_dct *csrec_dct_of(const csrec_operator *A) {
    return A->row == &csrec_operator_dct ? (const csrec_dct *)A->data : NULL;
}

#endif
