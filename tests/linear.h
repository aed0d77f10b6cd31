/* linear.h - small dense linear algebra, written plainly, for references. */
#ifndef CSREC_TESTS_LINEAR_H
#define CSREC_TESTS_LINEAR_H

#include <math.h>
#include <stdint.h>

/* Rows a and b of v [][n] change places. */
static inline void swap_rows(int64_t n, double *v, int64_t a, int64_t b) {
    for (int64_t j = 0; j < n; j++) {
        double held = v[a * n + j];
        v[a * n + j] = v[b * n + j];
        v[b * n + j] = held;
    }
}

/* Solves A x = b in place, A [k][k], b [k], by elimination with pivots; x is left in b. */
static inline void eliminate(int64_t k, double *A, double *b) {
    for (int64_t c = 0; c < k; c++) {
        int64_t pivot = c;
        for (int64_t i = c + 1; i < k; i++)
            if (fabs(A[i * k + c]) > fabs(A[pivot * k + c])) pivot = i;
        swap_rows(k, A, c, pivot);
        swap_rows(1, b, c, pivot);
        for (int64_t i = c + 1; i < k; i++) {
            double f = A[i * k + c] / A[c * k + c];
            for (int64_t j = c; j < k; j++) A[i * k + j] -= f * A[c * k + j];
            b[i] -= f * b[c];
        }
    }
    for (int64_t i = k - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < k; j++) b[i] -= A[i * k + j] * b[j];
        b[i] /= A[i * k + i];
    }
}

#endif
