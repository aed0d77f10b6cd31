/* SPDX-License-Identifier: BSD-3-Clause */
/* dct.h - the frame of overlapping block cosines.
 *
 * Blocks of b entries an axis (fewer if the axis is shorter) start every `step` entries, with one
 * more at the end, so that they cover the signal and stay inside it. x holds the coefficients of
 * the orthonormal DCT-II of block after block. The signal is the mean of the blocks that cover an
 * entry: with R_B the restriction to block B, D its DCT and c the number of covering blocks,
 *     synthesize(x) = 1/c sum_B R_B^T D^T x_B,   analyze(s) = (D R_B s)_B,
 * and synthesize(analyze(s)) = s. c is a product over the axes. */
#pragma once

#include <stdint.h>

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

/* ---- thresholding a picture's block cosines in float, many blocks at once.
 *
 * The picture lies in a frame of whole cells of step x step pixels. Of a row of pixels each
 * `step`th lie side by side, so that a vector holds one pixel, or one coefficient, of as many
 * neighbouring blocks as it has lanes, and the transforms move no data between lanes. All blocks
 * may be moved by less than a cell. A line of blocks is thresholded and added at once, and rows of
 * pixels that no further block covers are finished while they are in the cache.
 *
 * The DCT-II and its transpose are Lee's (1984), without the factors that make them orthonormal:
 *     X_k = sum_n x_n cos(pi (2 n + 1) k / 2 N),   coefficient a_k X_k, a_0^2 = 1/N, a_k^2 = 2/N.
 * Thresholds are divided by a_u a_v instead; of the squares, the halves in row and column 0 are
 * applied here and 4 / N^2 is left to the caller. */

enum { CSREC_DCT_LANES = 16 }; /* the most of any instruction set; what arrays are padded for */

typedef struct csrec_dct_pass {
    int block, step, right;               /* right: the blocks' offset, below step */
    int64_t blocks, cells, across;        /* a row is [step][across], of which `cells` count */
    const float *picture[CSREC_DCT_MOST]; /* [block] rows of pixels under a line of blocks */
    float *sum[CSREC_DCT_MOST];           /* the same: blocks are added here */
    float threshold[2][2];                /* in units of X: [u > 0][v > 0] */
    float less[2][2];                     /* subtracted from surviving coefficients */
    void *work;                           /* [block * block] vectors, as aligned as long */
    float relax, impose;
    const float *share; /* of a row's pixels, 0: no block covers it */
} csrec_dct_pass;

/* By instruction set: thresholds a line of blocks and adds them. Finishes u, a row of pixels, from
 * v = sum * down * share where blocks cover a pixel, else u: down is the row's share, target NaN
 * where no sample is. Then sum is 0; returns the sum of (target - v)^2. */
typedef struct csrec_dct_simd {
    void (*pass)(const csrec_dct_pass *pass);
    double (*blend)(const csrec_dct_pass *pass, float down, const float *target, float *sum,
                    float *u);
} csrec_dct_simd;

extern const csrec_dct_simd csrec_dct_generic, csrec_dct_avx2, csrec_dct_avx512;

/* Along an axis of `extent` pixels after step - 1 more: blocks that cover it from any offset, and
 * the cells that these reach. */
static inline int64_t csrec_dct_blocks(int64_t extent, int block, int step) {
    return (extent - block + 2 * (step - 1)) / step + 1;
}
static inline int64_t csrec_dct_cells(int64_t extent, int block, int step) {
    return csrec_dct_blocks(extent, block, step) + block / step;
}

/* Of a row: an odd number of lines of the cache, so that rows do not compete for a set of it. */
static inline int64_t csrec_dct_across(int64_t cells) {
    return ((cells / CSREC_DCT_LANES + 2) | 1) * CSREC_DCT_LANES;
}

/* For two axes of at least a block each, blocks of 4, 8, 16 or 32, a step that divides them. */
extern const csrec_shrink_type csrec_dct_shrink;

/* Offset of the blocks in iteration `draw`, 0 .. step - 1 each; the picture starts at step - 1. */
void csrec_dct_offset(int step, int64_t draw, int *down, int *right);
