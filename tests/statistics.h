/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.h - random rows, their mean and covariance by direct sums in long double. */
#pragma once

#include "check.h"

SEED(seed);

typedef struct data {
    int64_t m, n;
    float *X;
    double *weights; /* or NULL */
    long double *mean, *C;
} data;

/* Rows a + B z: correlated, around a large mean; sometimes constant columns. */
static data draw(int64_t m, int64_t n, double offset, bool weighted) {
    data d = {.m = m, .n = n, .X = check_keep((size_t)(m * n) * sizeof(float))};
    OWNED double *mixing = malloc((size_t)n * sizeof *mixing);
    int64_t constant = check_below(&seed, 2) ? check_below(&seed, n) : -1;
    for (int64_t j = 0; j < n; j++) mixing[j] = 3.0 * check_normal(&seed);
    d.weights = weighted ? check_keep((size_t)m * sizeof *d.weights) : NULL;
    for (int64_t i = 0; i < m; i++) {
        double common = check_normal(&seed);
        if (weighted) d.weights[i] = i && check_below(&seed, 4) == 0 ? 0.0 : check_uniform(&seed);
        if (weighted && i == 0) d.weights[i] = 0.5;
        for (int64_t j = 0; j < n; j++)
            d.X[i * n + j] =
                (float)(offset +
                        (j == constant ? 0.0 : mixing[j] * common + 2.0 * check_normal(&seed)));
    }
    return d;
}

static void solve_directly(data *d) {
    int64_t n = d->n;
    long double weight = 0.0L;
    d->mean = check_keep_zeros((size_t)n, sizeof *d->mean);
    d->C = check_keep_zeros((size_t)(n * n), sizeof *d->C);
    for (int64_t i = 0; i < d->m; i++) {
        long double w = d->weights ? (long double)d->weights[i] : 1.0L;
        weight += w;
        for (int64_t j = 0; j < n; j++) d->mean[j] += w * (long double)d->X[i * n + j];
    }
    for (int64_t j = 0; j < n; j++) d->mean[j] /= weight;
    for (int64_t i = 0; i < d->m; i++) {
        long double w = d->weights ? (long double)d->weights[i] : 1.0L;
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                d->C[j * n + k] += w * ((long double)d->X[i * n + j] - d->mean[j]) *
                                   ((long double)d->X[i * n + k] - d->mean[k]) / weight;
    }
}

/* The interface promises 1e-6; the mean is summed in double: a constant column shows its error. */
static void check_close(const data *d, const double *mean, const double *C) {
    int64_t n = d->n;
    OWNED double *size = malloc((size_t)n * sizeof *size);
    for (int64_t j = 0; j < n; j++) {
        double off = 1e-12 * fabs((double)d->mean[j]);
        size[j] = sqrt((double)d->C[j * n + j]) + 1e3 * off;
        assert_true(fabs(mean[j] - (double)d->mean[j]) <= off + 1e-12 * size[j]);
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            double off = fabs(C[j * n + k] - (double)d->C[j * n + k]);
            if (!(off <= 1e-6 * size[j] * size[k]))
                fail_msg("C %g is %g", (double)d->C[j * n + k], C[j * n + k]);
            assert_true(C[j * n + k] == C[k * n + j]);
        }
}
