/* SPDX-License-Identifier: BSD-3-Clause */
/* hadamard_simd.h - the fast transform of Hadamard's matrix, a template over instruction sets
 * (cmake/simd.cmake): levels from neighbours on, in the same order for every set and size of a
 * block, so they give the same bits. */
#include <string.h>

#include "operator/devices.h"

/* Doubles of a block that stays in the first-level cache; rows and columns of a strip that stays in
 * the second: 32 KiB of a stack. */
enum { BLOCK = 1 << 11, ROWS = 1 << 9, COLUMNS = 8 };

#define INLINE static inline __attribute__((always_inline))

INLINE void one_level(int64_t half, double *restrict a, double *restrict b) {
    for (int64_t i = 0; i < half; i++) {
        double u = a[i], v = b[i];
        a[i] = u + v;
        b[i] = u - v;
    }
}

/* Two levels on [4][quarter]. */
INLINE void two_levels(int64_t quarter, double *restrict a, double *restrict b, double *restrict c,
                       double *restrict d) {
    for (int64_t i = 0; i < quarter; i++) {
        double s = a[i] + b[i], t = a[i] - b[i], u = c[i] + d[i], v = c[i] - d[i];
        a[i] = s + u;
        b[i] = t + v;
        c[i] = s - u;
        d[i] = t - v;
    }
}

/* The levels of [rows][columns] along its first axis from `width` rows on: two at a time, then one
 * if their number is odd. */
INLINE void transform_rows(int64_t width, int64_t rows, int64_t columns, double *x) {
    for (; 4 * width <= rows; width *= 4)
        for (int64_t at = 0; at < rows; at += 4 * width) {
            double *a = x + at * columns;
            const int64_t quarter = width * columns;
            two_levels(quarter, a, a + quarter, a + 2 * quarter, a + 3 * quarter);
        }
    if (2 * width <= rows) one_level(width * columns, x, x + width * columns);
}

typedef double eight __attribute__((vector_size(64)));

/* Entries of a vector in another order; GCC before 12 knows the second form alone. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SWAPPED(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#endif
#endif
#ifndef SWAPPED
typedef int64_t places __attribute__((vector_size(64)));
#define SWAPPED(v, ...) __builtin_shuffle(v, (places){__VA_ARGS__})
#endif

/* The first three levels of eight neighbours, in registers. */
INLINE void transform_eight(double *x) {
    const eight signs[3] = {
        {1, -1, 1, -1, 1, -1, 1, -1}, {1, 1, -1, -1, 1, 1, -1, -1}, {1, 1, 1, 1, -1, -1, -1, -1}};
    eight v;
    memcpy(&v, x, sizeof v);
    v = SWAPPED(v, 1, 0, 3, 2, 5, 4, 7, 6) + signs[0] * v;
    v = SWAPPED(v, 2, 3, 0, 1, 6, 7, 4, 5) + signs[1] * v;
    v = SWAPPED(v, 4, 5, 6, 7, 0, 1, 2, 3) + signs[2] * v;
    memcpy(x, &v, sizeof v);
}

INLINE void transform_block(int64_t block, double *x) {
    for (int64_t at = 0; at + 8 <= block; at += 8) transform_eight(x + at);
    transform_rows(block < 8 ? 1 : 8, block, 1, x);
}

/* Rows that are a power of two apart share places of a cache, so a strip is copied. */
INLINE void transform_strip(int64_t rows, int64_t stride, double *x) {
    double part[ROWS * COLUMNS];
    for (int64_t r = 0; r < rows; r++)
        memcpy(part + r * COLUMNS, x + r * stride, COLUMNS * sizeof *part);
    transform_rows(1, rows, COLUMNS, part);
    for (int64_t r = 0; r < rows; r++)
        memcpy(x + r * stride, part + r * COLUMNS, COLUMNS * sizeof *part);
}

void SIMD_TABLE(int64_t n, double *x) {
    const int64_t block = n < BLOCK ? n : BLOCK;
    for (int64_t at = 0; at < n; at += block) transform_block(block, x + at);
    for (int64_t stride = block, rows; stride < n; stride *= rows) {
        rows = n / stride < ROWS ? n / stride : ROWS;
        for (int64_t top = 0; top < n; top += rows * stride)
            for (int64_t at = 0; at < stride; at += COLUMNS)
                transform_strip(rows, stride, x + top + at);
    }
}
