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
 * The picture lies in a frame of whole cells of step x step pixels; pixel (y, x) of cell (cy, cx)
 * is kept in plane (y, x) at cy * across + cx. The pixels at one place of neighbouring blocks are
 * then neighbours in memory: a vector holds one pixel, or one coefficient, of as many blocks as it
 * has lanes, and no data move between lanes. All blocks may be moved by less than a cell. Positions
 * in the last columns of cells, where a block would wrap around, exist with weight 0.
 *
 * The DCT-II and its transpose are Lee's (1984), without the factors that make them orthonormal:
 *     X_k = sum_n x_n cos(pi (2 n + 1) k / 2 N),   coefficient a_k X_k, a_0^2 = 1/N, a_k^2 = 2/N.
 * Thresholds are divided by a_u a_v instead; of the squares, the halves in row and column 0 are
 * applied here and 4 / N^2 is left to the caller. */

enum { CSREC_DCT_LANES = 16 }; /* the most of any instruction set; what arrays are padded for */

typedef struct csrec_dct_pass {
    int block, step;
    int down, right;        /* the blocks' offset, below step */
    int64_t across, blocks; /* cells a line, positions of blocks */
    int64_t plane;          /* floats a plane, with room behind the last block */
    const float *picture;   /* [step * step][plane] */
    float *sum;             /* the same: blocks are added here */
    const float *valid;     /* [blocks + lanes] 1, or 0 where a block wraps around */
    int64_t from, to;       /* cells that are added to, by all blocks that reach them */
    float threshold[2][2];  /* in units of X: [u > 0][v > 0] */
    float less[2][2];       /* subtracted from surviving coefficients */
    void *work;             /* [block * block] vectors, as aligned as they are long */
} csrec_dct_pass;

/* Writes v = sum * down * share to sum where blocks cover a pixel, else u; then updates u. */
typedef struct csrec_dct_blend {
    int64_t n;  /* pixels */
    float down; /* share of the line */
    float relax, impose;
    const float *share, *sampled, *target;
    float *sum, *u;
} csrec_dct_blend;

/* By instruction set: thresholds all blocks and adds them; finishes a line of cells of a plane. */
typedef struct csrec_dct_simd {
    void (*pass)(const csrec_dct_pass *pass);
    void (*blend)(const csrec_dct_blend *blend);
} csrec_dct_simd;

extern const csrec_dct_simd csrec_dct_generic, csrec_dct_avx2, csrec_dct_avx512;

/* For two axes of at least a block each, blocks of 4, 8, 16 or 32, a step that divides them. */
extern const csrec_shrink_type csrec_dct_shrink;

/* Offset of the blocks in iteration `draw`, 0 .. step - 1 each; the picture starts at step - 1. */
void csrec_dct_offset(int step, int64_t draw, int *down, int *right);
