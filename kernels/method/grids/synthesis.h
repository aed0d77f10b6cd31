/* SPDX-License-Identifier: BSD-3-Clause */
/* synthesis.h - rows of samples and entries, and the signal that pursuits have found, on the
 * device.
 */
#pragma once

#include "kernels/method/grids/batch.h"

/* A dyadic grid over a signal (method/history.h): which row of the Haar matrix an entry becomes. */
typedef struct csrec_cuda_grid {
    int dims;
    int64_t dim[CSREC_DIMS_MAX], shift[CSREC_DIMS_MAX]; /* by axis of the signal */
    int unit_bits[CSREC_DIMS_MAX];                      /* likewise: units go to slots */
    uint32_t units[CSREC_DIMS_MAX], slots[CSREC_DIMS_MAX], phase[CSREC_DIMS_MAX];
    int64_t stride[CSREC_DIMS_MAX]; /* raster order: rows a step; else 0 */
    int axes;                 /* other orders: axes of the grid with more than one coordinate */
    int axis[CSREC_DIMS_MAX]; /* of them, the one that this axis of the signal is, or -1 */
    int bits[CSREC_DIMS_MAX]; /* by axis of the grid */
    int hilbert_bits;         /* low bits that Hilbert order changes; 0: Morton */
    uint8_t place[CSREC_DIMS_MAX][64]; /* where a bit of an axis lies in the row */
} csrec_cuda_grid;

CSREC_C_BEGIN

/* rows[k], order[k] = k for the entries index [n]; device memory, grid too. */
csrec_status csrec_cuda_grid_rows(const csrec_cuda_grid *grid, int64_t n, const int64_t *index,
                                  uint64_t *rows, uint32_t *order, void *stream,
                                  csrec_error *error);

/* rows ascending, order along, by `bits` bits; scratch: csrec_cuda_sort_scratch(n) bytes. */
size_t csrec_cuda_sort_scratch(int64_t n);
csrec_status csrec_cuda_sort(int64_t n, int bits, const uint64_t *rows, const uint32_t *order,
                             uint64_t *sorted_rows, uint32_t *sorted_order, void *scratch,
                             csrec_error *error);

/* After the pursuits, once: scales what the batch has found, in place. */
csrec_status csrec_cuda_scale(csrec_cuda_batch *batch, csrec_error *error);

/* Adds it, on the grids [batch->trees], to entries first .. first + count - 1 of signal [entries *
 * channels], grid after grid. */
csrec_status csrec_cuda_synthesize(const csrec_cuda_batch *batch, const csrec_cuda_grid *grids,
                                   int64_t first, int64_t count, double *signal,
                                   csrec_error *error);

/* signal[k] /= divisor, k < count. */
csrec_status csrec_cuda_divide(int64_t count, double *signal, double divisor, void *stream,
                               csrec_error *error);

CSREC_C_END
