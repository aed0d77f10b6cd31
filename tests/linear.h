/* SPDX-License-Identifier: BSD-3-Clause */
/* linear.h - small dense linear algebra, written plainly, for references. */
#pragma once

#include "check.h"

/* The first n entries of rows a and b of v, whose rows are `stride` apart, change places. */
static inline void swap_rows(int64_t n, double *v, int64_t stride, int64_t a, int64_t b) {
    for (int64_t j = 0; j < n; j++) {
        double held = v[a * stride + j];
        v[a * stride + j] = v[b * stride + j];
        v[b * stride + j] = held;
    }
}

/* Solves A X = B in place, A [k][k], B [k][columns], by elimination with pivots; X is left in B.
 * Rows are A_stride and B_stride apart. */
static inline void eliminate_many(int64_t k, double *A, int64_t A_stride, int64_t columns,
                                  double *B, int64_t B_stride) {
    for (int64_t c = 0; c < k; c++) {
        int64_t pivot = c;
        for (int64_t i = c + 1; i < k; i++)
            if (fabs(A[i * A_stride + c]) > fabs(A[pivot * A_stride + c])) pivot = i;
        swap_rows(k, A, A_stride, c, pivot);
        swap_rows(columns, B, B_stride, c, pivot);
        for (int64_t i = c + 1; i < k; i++) {
            double f = A[i * A_stride + c] / A[c * A_stride + c];
            for (int64_t j = c; j < k; j++) A[i * A_stride + j] -= f * A[c * A_stride + j];
            for (int64_t j = 0; j < columns; j++) B[i * B_stride + j] -= f * B[c * B_stride + j];
        }
    }
    for (int64_t i = k - 1; i >= 0; i--)
        for (int64_t c = 0; c < columns; c++) {
            double *x = B + i * B_stride + c;
            for (int64_t j = i + 1; j < k; j++) *x -= A[i * A_stride + j] * B[j * B_stride + c];
            *x /= A[i * A_stride + i];
        }
}

/* The same for one b [k], rows of A side by side. */
static inline void eliminate(int64_t k, double *A, double *b) {
    eliminate_many(k, A, k, 1, b, 1);
}

/* y = A x, A [m][n]. */
static inline void apply_matrix(int64_t m, int64_t n, const double *A, const double *x, double *y) {
    for (int64_t i = 0; i < m; i++) {
        y[i] = 0.0;
        for (int64_t j = 0; j < n; j++) y[i] += A[i * n + j] * x[j];
    }
}

/* x = A^T y. */
static inline void apply_turned(int64_t m, int64_t n, const double *A, const double *y, double *x) {
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) x[j] += A[i * n + j] * y[i];
}

/* ||v||, entries `step` apart: a column of a row-major matrix, or with step 1 a vector. */
static inline double length_of(int64_t n, int64_t step, const double *v) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += v[i * step] * v[i * step];
    return sqrt(sum);
}

/* Row k of V [k + 1][n] becomes one of length 1, orthogonal to those before, which are so, too: by
 * Gram and Schmidt, twice, so that rounding is removed. */
static inline void orthonormalise(int64_t k, int64_t n, double *V) {
    double *row = V + k * n;
    for (int64_t again = 0; again < 2 * k; again++) {
        const double *other = V + again % k * n;
        double dot = 0.0;
        for (int64_t i = 0; i < n; i++) dot += row[i] * other[i];
        for (int64_t i = 0; i < n; i++) row[i] -= dot * other[i];
    }
    const double length = length_of(n, 1, row);
    for (int64_t i = 0; i < n; i++) row[i] /= length;
}

static inline void draw_orthonormal(uint64_t *seed, int64_t k, int64_t n, double *V) {
    for (int64_t a = 0; a < k; a++) {
        for (int64_t i = 0; i < n; i++) V[a * n + i] = check_normal(seed);
        orthonormalise(a, n, V);
    }
}
