/* SPDX-License-Identifier: BSD-3-Clause */
/* autoregressive.c - the posterior mean of an autoregressive process in white noise, fitted by
 * expectation maximisation.
 *
 * The process is sum_j a_j x_(i-j) = e_i, a_0 = 1, of variance v. Its inverse covariance is banded:
 * A^T A / v, with the ends of the stationary process. With noise of variance s on the samples the
 * posterior is Gaussian with the precision Q = A^T A / v + M / s, M the samples' mask; its mean
 * solves Q x = M y / s. The next a and v come from expected autocovariances (Yule and Walker), the
 * next s from the expected squares of what is left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/smooth/series.h"

enum { STEPS = 8, ORDER_MOST = 32 };

typedef struct fit {
    int64_t n;
    int order;
    double a[ORDER_MOST + 1], v, s, mean, variance;
    double *x; /* [n] less the mean */
    double *Q; /* [n][order + 1]: lower band, Q[i][j] = Q_(i + j, i); then its Cholesky factor */
    double *shared; /* [order + 1]: sums of posterior covariances at each lag */
    double *own;    /* [n]: posterior variances */
} fit;

/* Levinson and Durbin: the predictor of autocovariances r[0 .. order], and its error. */
static void predict(fit *f, const double *r) {
    double error = r[0];
    memset(f->a, 0, sizeof f->a);
    f->a[0] = 1.0;
    for (int p = 1; p <= f->order; p++) {
        double sum = 0.0, next[ORDER_MOST + 1];
        for (int j = 0; j < p; j++) sum += f->a[j] * r[p - j];
        const double k = error > 0.0 ? -sum / error : 0.0;
        for (int j = 0; j <= p; j++) next[j] = f->a[j] + k * f->a[p - j];
        memcpy(f->a, next, (size_t)(p + 1) * sizeof *next);
        error *= 1.0 - k * k;
    }
    f->v = fmax(error, 1e-9 * f->variance);
}

/* Expected autocovariances of the whole line, divided by its length. */
static void expect(const fit *f, double *r) {
    for (int j = 0; j <= f->order; j++) {
        double sum = f->shared[j];
        for (int64_t i = 0; i + j < f->n; i++) sum += f->x[i] * f->x[i + j];
        r[j] = sum / (double)f->n;
    }
    r[0] *= 1.0 + 1e-6;
}

/* Gohberg and Semencul: the inverse covariance is that of the middle, less what the ends lack; the
 * inverse of a Toeplitz matrix is the same read backwards. */
static void fill_precision(const fit *f, const csrec_series *s) {
    const int q = f->order, width = q + 1;
    for (int64_t i = 0; i < f->n; i++)
        for (int j = 0; j <= q; j++) {
            /* Q_(i+j, i) = sum_k a_k a_(k+j) over rows k that both ends have */
            const int64_t left = i, right = f->n - 1 - (i + j);
            double sum = 0.0;
            if (right < 0) {
                f->Q[i * width + j] = 0.0;
                continue;
            }
            int most = q - j;
            if (left < most) most = (int)left;
            if (right < most) most = (int)right;
            for (int k = 0; k <= most; k++) sum += f->a[k] * f->a[k + j];
            f->Q[i * width + j] = sum / f->v;
        }
    for (int64_t i = 0; i < f->n; i++) f->Q[i * width] += 1e-6 / f->variance;
    for (int64_t k = 0; k < s->m; k++) f->Q[s->at[k] * width] += 1.0 / f->s;
}

static bool factor(const fit *f) {
    const int q = f->order, width = q + 1;
    for (int64_t i = 0; i < f->n; i++) {
        double *column = f->Q + i * width;
        if (!(column[0] > 0.0)) return false;
        column[0] = sqrt(column[0]);
        for (int j = 1; j <= q; j++) column[j] /= column[0];
        for (int j = 1; j <= q && i + j < f->n; j++)
            for (int k = j; k <= q; k++) f->Q[(i + j) * width + k - j] -= column[j] * column[k];
    }
    return true;
}

/* x = Q^-1 (M y / s). */
static void solve(const fit *f, const csrec_series *s) {
    const int q = f->order, width = q + 1;
    memset(f->x, 0, (size_t)f->n * sizeof *f->x);
    for (int64_t k = 0; k < s->m; k++) f->x[s->at[k]] = (s->v[k] - f->mean) / f->s;
    for (int64_t i = 0; i < f->n; i++) {
        f->x[i] /= f->Q[i * width];
        for (int j = 1; j <= q && i + j < f->n; j++) f->x[i + j] -= f->Q[i * width + j] * f->x[i];
    }
    for (int64_t i = f->n - 1; i >= 0; i--) {
        double sum = f->x[i];
        for (int j = 1; j <= q && i + j < f->n; j++) sum -= f->Q[i * width + j] * f->x[i + j];
        f->x[i] = sum / f->Q[i * width];
    }
}

/* The band of Q^-1 from the factor, last entry first (Takahashi, Fagan and Chen 1973): its
 * diagonal, and the sums along the band's others. W [order][order]: the covariance of the entries
 * that follow the present one. */
static void spread(fit *f, double *W, double *next) {
    const int q = f->order, width = q + 1;
    memset(W, 0, (size_t)(q * q) * sizeof *W);
    memset(f->shared, 0, (size_t)width * sizeof *f->shared);
    for (int64_t i = f->n - 1; i >= 0; i--) {
        const double *column = f->Q + i * width;
        double c[ORDER_MOST + 1];
        c[0] = 1.0 / (column[0] * column[0]);
        for (int j = 1; j <= q; j++) {
            double sum = 0.0;
            for (int k = 1; k <= q; k++) sum += W[(j - 1) * q + k - 1] * column[k] / column[0];
            c[j] = -sum;
        }
        for (int k = 1; k <= q; k++) c[0] -= column[k] / column[0] * c[k];
        for (int j = 0; j < q; j++)
            for (int k = 0; k < q; k++)
                next[j * q + k] = j == 0 ? c[k] : k == 0 ? c[j] : W[(j - 1) * q + k - 1];
        memcpy(W, next, (size_t)(q * q) * sizeof *W);
        f->own[i] = c[0];
        for (int j = 0; j <= q && i + j < f->n; j++) f->shared[j] += c[j];
    }
}

static void take_noise(fit *f, const csrec_series *s) {
    double sum = 0.0;
    for (int64_t k = 0; k < s->m; k++) {
        const double off = s->v[k] - f->mean - f->x[s->at[k]];
        sum += off * off + f->own[s->at[k]];
    }
    f->s = fmax(sum / (double)s->m, 1e-7 * f->variance);
}

static void begin(fit *f, const csrec_series *s, double noise) {
    double mean = 0.0, square = 0.0;
    csrec_series_linear(s, f->x);
    for (int64_t i = 0; i < f->n; i++) mean += f->x[i] / (double)f->n;
    for (int64_t i = 0; i < f->n; i++) {
        f->x[i] -= mean;
        square += f->x[i] * f->x[i];
    }
    f->mean = mean;
    f->variance = square / (double)f->n + 1e-300;
    f->s = fmax(noise, 1e-7 * f->variance);
}

csrec_status csrec_series_autoregressive(const csrec_series *s, int order, double noise,
                                         double *x) {
    fit f = {.n = s->n, .x = x};
    f.order = order < s->m / 4 ? order : s->m / 4 > 2 ? (int)(s->m / 4) : 2;
    if (f.order > ORDER_MOST) f.order = ORDER_MOST;
    const size_t width = (size_t)f.order + 1, square = (size_t)(f.order * f.order);
    f.Q = malloc(((size_t)s->n * (width + 1) + width + 2 * square) * sizeof *f.Q);
    if (!f.Q) return CSREC_MEMORY;
    f.own = f.Q + (size_t)s->n * width;
    f.shared = f.own + s->n;
    double *W = f.shared + width, r[ORDER_MOST + 1];
    memset(f.shared, 0, width * sizeof *f.shared);
    begin(&f, s, noise);
    for (int k = 0; k < STEPS; k++) {
        expect(&f, r);
        predict(&f, r);
        fill_precision(&f, s);
        if (!factor(&f)) break;
        solve(&f, s);
        spread(&f, W, W + square);
        take_noise(&f, s);
    }
    for (int64_t i = 0; i < s->n; i++) x[i] += f.mean;
    free(f.Q);
    return CSREC_OK;
}
