/* SPDX-License-Identifier: BSD-3-Clause */
/* transform.h - all inner products <r, Psi_i> on the device from rows and r alone, each distinct
 * column once (CSREC_TRANSFORM_DISTINCT), and their maximum.
 *
 * Bytes: rows and r are read once, columns and values written once; about 1 % more for the blocks
 * that span more than one tile of 2,048 samples. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "csrec/haar.h"

/* Working memory for transforms of n samples, n < 2^31. One transform at a time uses it. */
typedef struct csrec_cuda_transform csrec_cuda_transform;

csrec_status csrec_cuda_transform_create(int levels, int64_t n, csrec_columns columns,
                                         csrec_cuda_transform **transform, csrec_error *error);
void csrec_cuda_transform_destroy(csrec_cuda_transform *transform);

/* Queues a transform. All pointers are to device memory.
 *   rows, r   [n] ascending distinct rows below 2^levels; finite values
 *   column, value, count
 *             [3 n] of the results, in the device's order: at j < n - 1 the two-sided column whose
 *             block is split between samples j and j + 1, at n - 1 column 0, from n on the
 * one-sided columns tile by tile. count (samples in the block) may be NULL. On the grid of the
 * pursuit (haar/pursuit.h) values equal the CPU's to the bit; otherwise their error is a few
 * roundings of the sum of |r| over a tile. Deterministic either way. */
csrec_status csrec_cuda_transform_run(csrec_cuda_transform *transform, const uint64_t *rows,
                                      const double *r, uint64_t *column, double *value,
                                      uint32_t *count, csrec_error *error);

/* The largest |value| of a transform: key as csrec_pursuit_key, of equal keys the smallest column.
 */
typedef struct csrec_cuda_best {
    int64_t key;
    uint64_t column;
} csrec_cuda_best;

/* Waits for the queued transform: the number of columns, and the best (may be NULL). */
csrec_status csrec_cuda_transform_wait(csrec_cuda_transform *transform, int64_t *found,
                                       csrec_cuda_best *best, csrec_error *error);

CSREC_C_END
