/* SPDX-License-Identifier: BSD-3-Clause */
/* conditional.h - random covariances, and a Gaussian given some of its entries by elimination. */
#pragma once

#include "check.h"

/* A random covariance of size `scale`; of rank `rank` and nothing beyond. */
static inline void make_covariance(uint64_t *seed, int d, int rank, double scale, double *C) {
    OWNED double *B = malloc((size_t)(d * rank) * sizeof *B);
    for (int i = 0; i < d * rank; i++) B[i] = check_normal(seed) * sqrt(scale / rank);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            C[i * d + j] = 0.0;
            for (int l = 0; l < rank; l++) C[i * d + j] += B[i * rank + l] * B[j * rank + l];
        }
}

/* Posterior mean and covariance diagonal of x ~ N(mean, C) given y = x[at] + noise: Gauss
 * elimination of [C_SS + noise | C_S, y - mean_S]. */
static inline void condition_dense(int d, const double *mean, const double *C, int n, const int *at,
                                   const double *y, double noise, double *x, double *variance) {
    OWNED double *A = malloc((size_t)((n + 1) * (n + d + 1)) * sizeof *A);
    int w = n + d + 1;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) A[i * w + j] = C[at[i] * d + at[j]] + (i == j ? noise : 0.0);
        for (int j = 0; j < d; j++) A[i * w + n + j] = C[at[i] * d + j];
        A[i * w + n + d] = y[i] - mean[at[i]];
    }
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++) {
            double f = A[i * w + c] / A[c * w + c];
            for (int j = 0; j < w && i != c; j++) A[i * w + j] -= f * A[c * w + j];
        }
    for (int j = 0; j < d; j++) {
        x[j] = mean[j];
        variance[j] = C[j * d + j];
        for (int i = 0; i < n; i++) {
            x[j] += C[at[i] * d + j] * A[i * w + n + d] / A[i * w + i];
            variance[j] -= C[at[i] * d + j] * A[i * w + n + j] / A[i * w + i];
        }
    }
}
