/* SPDX-License-Identifier: BSD-3-Clause */
/* gram.h - sums and products of columns of rows, one table an instruction set. */
#pragma once

#include <stdint.h>

enum {
    CSREC_GRAM_BLOCK = 32,     /* columns of a block */
    CSREC_GRAM_ROWS = 16,      /* rows whose products are summed in registers */
    CSREC_GRAM_PARTS = 8,      /* such sums added in float before they are added in double */
    CSREC_GRAM_PACKED = 1024,  /* rows that a block is packed to */
    CSREC_GRAM_ALIGNMENT = 64, /* bytes; blocks that straddle cache lines take 1.5 times as long */
    CSREC_SUM_ROWS = 8         /* rows summed at a time */
};

typedef struct csrec_gram_set {
    /* Blocks a and b: [rows][CSREC_GRAM_BLOCK], rows a multiple of CSREC_GRAM_ROWS. C[i][j] += sum
     * over rows of a[.][i] b[.][j], C with rows of CSREC_GRAM_BLOCK doubles. */
    void (*multiply)(int rows, const float *a, const float *b, double *C);
    /* sum[j] += X[0][j], then X[1][j] to X[CSREC_SUM_ROWS - 1][j]; j < count, rows of n floats. */
    void (*add)(int64_t n, int64_t count, const float *X, double *sum);
} csrec_gram_set;

extern const csrec_gram_set csrec_gram_generic, csrec_gram_avx2, csrec_gram_avx512;
