/* SPDX-License-Identifier: BSD-3-Clause */
/* matrix.h - a matrix of any values, applied to the whole signal or to each block of it. */
#ifndef CSREC_OPERATOR_MATRIX_H
#define CSREC_OPERATOR_MATRIX_H

#include "operator/operator.h"

/* y: [blocks][rows]; block b of the signal, in C order, is the entries place[b * each ...]. */
typedef struct csrec_matrix {
    int64_t rows, each, blocks;
    double *values; /* [rows][each] */
    int64_t *place; /* [blocks * each], or NULL for a single block */
} csrec_matrix;

#endif
