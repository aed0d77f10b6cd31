/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/haar.h - the sampled Haar matrix: rows, transform, and synthesis from atoms. */
#ifndef CSREC_HAAR_H
#define CSREC_HAAR_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ rows ---------------------- */

/* How an N-d position becomes a row of the Haar matrix. */
typedef enum csrec_order {
    CSREC_ORDER_UNSET = -1, /* of csrec_recover_options alone: not given */
    CSREC_ORDER_MORTON,     /* interleaved bits (Z curve), axes of unequal length allowed */
    CSREC_ORDER_HILBERT,    /* Hilbert curve over the largest cube, Morton order of such cubes */
    CSREC_ORDER_RASTER      /* flat C-order position */
} csrec_order;

CSREC_API const char *csrec_order_name(csrec_order order);
CSREC_API bool csrec_order_parse(const char *name, csrec_order *order);

/* Levels L of the Haar matrix, M = 2^L >= entries, for a shape in an order.
 * CSREC_DATA if L would exceed 62. */
CSREC_API csrec_status csrec_rows_levels(const csrec_shape *shape, csrec_order order, int *levels);

/* rows[k] = row of flat position index[k]; a bijection from the shape into 0 .. 2^L - 1.
 * The caller ensures that indices are in range. */
CSREC_API csrec_status csrec_rows_from_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                             const int64_t *index, uint64_t *rows);

/* The inverse: index[k] = flat position of row rows[k], or -1 if the row is padding. */
CSREC_API csrec_status csrec_rows_to_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                           const uint64_t *rows, int64_t *index);

/* ------------------------------------------------------------------ transform ----------------- */

/* Which columns of Psi are used. One-sided columns have samples in only one half of their block. */
typedef enum csrec_columns {
    CSREC_COLUMNS_UNSET = -1, /* of csrec_recover_options alone: not given */
    CSREC_COLUMNS_PAPER,      /* every non-zero column (Park 2015) */
    CSREC_COLUMNS_TWO_SIDED   /* columns with samples in both halves, and column 0 */
} csrec_columns;

CSREC_API const char *csrec_columns_name(csrec_columns columns);
CSREC_API bool csrec_columns_parse(const char *name, csrec_columns *columns);

typedef enum csrec_transform_method {
    CSREC_TRANSFORM_LEVELS,  /* as in the paper: L steps over the samples; every non-zero column */
    CSREC_TRANSFORM_TREE,    /* row tree: the same columns */
    CSREC_TRANSFORM_DISTINCT /* row tree: of the columns that are equal up to sign, the coarsest */
} csrec_transform_method;

/* One inner product. */
typedef struct csrec_product {
    uint64_t column; /* 0, or M / 2^level + group */
    double value;    /* <r, Psi_column> = (sum of left half - sum of right half) / sqrt(count) */
    int64_t count;   /* samples in the block, # in the paper */
} csrec_product;

/* All inner products <r, Psi_i> with the non-zero columns of the sampled Haar matrix, in ascending
 * column order (Park 2015, section 2.4; worked example in docs/pursuit.md).
 *   device    "cpu", or "auto" (NULL is the same), which is the CPU. On a device
 *             csrec_operator_correlate of operator haar has them
 *   levels    L, 0 <= L <= 62, M = 2^L
 *   n         N, 1 <= N <= M
 *   rows      [n] ascending, distinct, < M
 *   r         [n] finite
 *   products  [capacity]; found receives the number of columns. If found > capacity nothing is
 *             written to products: call with capacity 0 first. At most N L + 1 columns.
 * O(N) memory beside the result; time O(N L) (LEVELS, TREE), O(N) plus the sort by column
 * (DISTINCT). CSREC_ARGUMENT, CSREC_MEMORY; CSREC_UNSUPPORTED: a device. */
CSREC_API csrec_status csrec_haar_transform(const char *device, int levels, int64_t n,
                                            const uint64_t *rows, const double *r,
                                            csrec_transform_method method, int64_t capacity,
                                            csrec_product *products, int64_t *found,
                                            csrec_error *error);

/* ------------------------------------------------------------------ atoms and synthesis ------- */

/* A sparse solution: x_column = coefficient, each column once, ascending. */
typedef struct csrec_atoms {
    int64_t n;
    uint64_t *column;
    double *coefficient;
    int64_t *count; /* samples in the column's block: its norm before scaling is sqrt(count) */
} csrec_atoms;

CSREC_API void csrec_atoms_clear(csrec_atoms *atoms);

/* value[j] = sum_i x_i Psi_i(row[j]) for any rows (sampled or not, ascending or not), with
 * Psi_i(row) = +-1/sqrt(count_i) on column i's block, 0 elsewhere. O((atoms + n_rows) log) time. */
CSREC_API csrec_status csrec_atoms_synthesize(int levels, const csrec_atoms *atoms, int64_t n_rows,
                                              const uint64_t *rows, double *value);

/* The same for the contiguous rows first .. first + n_rows - 1: O(atoms + n_rows), no search. */
CSREC_API csrec_status csrec_atoms_synthesize_block(int levels, const csrec_atoms *atoms,
                                                    uint64_t first, int64_t n_rows, double *value);

#ifdef __cplusplus
}
#endif
#endif
