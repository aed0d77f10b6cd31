/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.h - random mixtures of Gaussians, rows of them, and densities by elimination. */
#pragma once

#include "check.h"
#include "learn/gmm.h"

/* A random mixture far from 0. */
static inline csrec_mixture make_mixture(uint64_t *seed, int K, int d, double spread) {
    csrec_mixture m;
    double sum = 0.0;
    assert_ok(csrec_mixture_create(K, d, &m, NULL));
    for (int k = 0; k < K; k++) {
        double *C = m.C + k * d * d, *B = malloc((size_t)(d * d) * sizeof *B);
        sum += m.weights[k] = 0.3 + check_uniform(seed);
        for (int i = 0; i < d; i++) m.means[k * d + i] = 1000.0 + spread * check_normal(seed);
        for (int i = 0; i < d * d; i++) B[i] = check_normal(seed) / sqrt(d);
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) {
                C[i * d + j] = i == j ? 0.3 : 0.0;
                for (int l = 0; l < d; l++) C[i * d + j] += B[i * d + l] * B[j * d + l];
            }
        free(B);
    }
    for (int k = 0; k < K; k++) m.weights[k] /= sum;
    assert_ok(csrec_mixture_prepare(&m, 1e-9, 2, NULL, NULL));
    return m;
}

/* Rows of the mixture. */
static inline float *draw(uint64_t *seed, const csrec_mixture *m, int64_t rows) {
    size_t d = (size_t)m->d;
    float *X = malloc((size_t)rows * d * sizeof *X);
    OWNED double *L = malloc((size_t)m->K * d * d * sizeof *L);
    memcpy(L, m->C, (size_t)m->K * d * d * sizeof *L);
    for (int k = 0; k < m->K; k++) assert_true(csrec_cholesky(m->d, L + (size_t)k * d * d));
    for (int64_t r = 0; r < rows; r++) {
        double u = check_uniform(seed), z[64];
        int k = 0;
        while (k + 1 < m->K && u >= m->weights[k]) u -= m->weights[k++];
        for (size_t i = 0; i < d; i++) z[i] = check_normal(seed);
        for (size_t i = 0; i < d; i++) {
            double x = m->means[(size_t)k * d + i];
            for (size_t j = 0; j <= i; j++) x += L[((size_t)k * d + i) * d + j] * z[j];
            X[(size_t)r * d + i] = (float)x;
        }
    }
    return X;
}

/* log N(x; mean, C) by elimination in long double. */
static inline long double log_density(int d, const float *x, const double *mean, const double *C) {
    long double A[64][65], log_det = 0.0L, square = 0.0L, b[64];
    for (int i = 0; i < d; i++) {
        b[i] = (long double)x[i] - mean[i];
        for (int j = 0; j < d; j++) A[i][j] = C[i * d + j];
        A[i][d] = b[i];
    }
    for (int c = 0; c < d; c++) {
        log_det += logl(A[c][c]);
        for (int i = c + 1; i < d; i++) {
            long double f = A[i][c] / A[c][c];
            for (int j = c; j <= d; j++) A[i][j] -= f * A[c][j];
        }
    }
    for (int c = d; c-- > 0;) {
        for (int j = c + 1; j < d; j++) A[c][d] -= A[c][j] * A[j][d];
        A[c][d] /= A[c][c];
        square += b[c] * A[c][d];
    }
    return -0.5L * (d * logl(6.283185307179586476925L) + log_det + square);
}

static inline double dense_posteriors(const csrec_mixture *m, const float *x, double *r) {
    long double most = -INFINITY, sum = 0.0L, value[16];
    for (int k = 0; k < m->K; k++) {
        value[k] =
            logl(m->weights[k]) + log_density(m->d, x, m->means + k * m->d, m->C + k * m->d * m->d);
        if (value[k] > most) most = value[k];
    }
    for (int k = 0; k < m->K; k++) sum += expl(value[k] - most);
    for (int k = 0; k < m->K; k++) r[k] = (double)(expl(value[k] - most) / sum);
    return (double)(most + logl(sum));
}
