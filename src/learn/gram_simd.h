/* SPDX-License-Identifier: BSD-3-Clause */
/* gram_simd.h - sums and products of columns, a template of instruction sets (cmake/simd.cmake). */
#include "learn/gram.h"

#include <string.h>

enum { LANES = SIMD_BYTES / 4 };

typedef float vec __attribute__((vector_size(SIMD_BYTES), aligned(4)));
typedef double wide __attribute__((vector_size(2 * SIMD_BYTES), aligned(8)));

enum { BLOCK = CSREC_GRAM_BLOCK, ROWS = CSREC_GRAM_ROWS, HEIGHT = LANES == 16 ? 8 : 4, VECS = 2 };

/* sums[i][j] += the products of ROWS rows, summed in registers. */
static inline void tile(const float *a, const float *b, float *sums) {
    vec sum[HEIGHT][VECS] = {{{0}}};
#pragma GCC unroll 4
    for (int k = 0; k < ROWS; k++, a += BLOCK, b += BLOCK) {
        vec b0 = *(const vec *)b, b1 = *(const vec *)(b + LANES);
#pragma GCC unroll 8
        for (int i = 0; i < HEIGHT; i++) {
            vec ai = a[i] - (vec){0}; /* starting from -0 is free, from +0 is not */
            sum[i][0] += ai * b0;
            sum[i][1] += ai * b1;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        *(vec *)(sums + i * BLOCK) += sum[i][0];
        *(vec *)(sums + i * BLOCK + LANES) += sum[i][1];
    }
}

/* 16 products are summed in float, 8 such sums in float, the rest in double. With u = 2^-24 and
 * sums of one sign that grow evenly, the rounding errors are 8.5 u and 4.5 u, and 2 u from the two
 * factors: 15 u = 9e-7 of the product's size in the worst case, 2e-7 for random roundings, and less
 * by the square root of the number of such sums added in double. */
static void multiply(int rows, const float *a, const float *b, double *C) {
    enum { PART = ROWS * CSREC_GRAM_PARTS };
    float sums[BLOCK * BLOCK] __attribute__((aligned(CSREC_GRAM_ALIGNMENT)));
    for (int first = 0; first < rows; first += PART) {
        int end = rows - first < PART ? rows : first + PART;
        memset(sums, 0, sizeof sums);
        for (int k = first; k < end; k += ROWS)
            for (int i = 0; i < BLOCK; i += HEIGHT)
                for (int j = 0; j < BLOCK; j += VECS * LANES)
                    tile(a + k * BLOCK + i, b + k * BLOCK + j, sums + i * BLOCK + j);
        for (int i = 0; i < BLOCK * BLOCK; i += LANES)
            *(wide *)(C + i) += __builtin_convertvector(*(const vec *)(sums + i), wide);
    }
}

static void add(int64_t n, int64_t count, const float *X, double *sum) {
    int64_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        wide s = *(const wide *)(sum + j);
#pragma GCC unroll 8
        for (int r = 0; r < CSREC_SUM_ROWS; r++)
            s += __builtin_convertvector(*(const vec *)(X + r * n + j), wide);
        *(wide *)(sum + j) = s;
    }
    for (; j < count; j++)
        for (int r = 0; r < CSREC_SUM_ROWS; r++) sum[j] += (double)X[r * n + j];
}

const csrec_gram_set SIMD_TABLE = {multiply, add};
