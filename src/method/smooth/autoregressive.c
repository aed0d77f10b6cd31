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

#include "base/unit.h"
#include "method/smooth/series.h"

enum { STEPS = 8, ORDER_MOST = 32 };

typedef struct regression {
    int64_t n;
    int order;
    double a[ORDER_MOST + 1], v, s, mean, variance;
    double *x; /* [n] less the mean */
    double *Q; /* [n][order + 1]: lower band, Q[i][j] = Q_(i + j, i); then its Cholesky factor */
    double *shared; /* [order + 1]: sums of posterior covariances at each lag */
    double *own;    /* [n]: posterior variances */
} regression;

/* Levinson and Durbin: the predictor of autocovariances r[0 .. order], and its error. */
static void predict(regression *f, const double *r) {
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
static void expect(const regression *f, double *r) {
    for (int j = 0; j <= f->order; j++) {
        double sum = f->shared[j];
        for (int64_t i = 0; i + j < f->n; i++) sum += f->x[i] * f->x[i + j];
        r[j] = sum / (double)f->n;
    }
    r[0] *= 1.0 + 1e-6;
}

/* Gohberg and Semencul: the inverse covariance is that of the middle, less what the ends lack; the
 * inverse of a Toeplitz matrix is the same read backwards. */
static void fill_precision(const regression *f, const csrec_series *s) {
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

static bool factor(const regression *f) {
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
static void solve(const regression *f, const csrec_series *s) {
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
static void spread(regression *f, double *W, double *next) {
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

static void take_noise(regression *f, const csrec_series *s) {
    double sum = 0.0;
    for (int64_t k = 0; k < s->m; k++) {
        const double off = s->v[k] - f->mean - f->x[s->at[k]];
        sum += off * off + f->own[s->at[k]];
    }
    f->s = fmax(sum / (double)s->m, 1e-7 * f->variance);
}

static void begin(regression *f, const csrec_series *s, double noise) {
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
    regression f = {.n = s->n, .x = x};
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
    for (int k = 0; k < STEPS && !csrec_call_poll(s->call); k++) {
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

/* ---- a line and a few sinusoids by orthogonal matching pursuit: the next frequency is
 * the largest of the residual's spectrum, all frequencies are refined by a step of Gauss and
 * Newton, and generalised cross-validation tells how many there are. */

enum { MOST = 24, COLUMNS = 2 + 3 * MOST, OVER = 8 };

static const double PI = 3.14159265358979323846;

/* Frequencies in cycles of the whole line; coefficients of 1, of time, then of each cosine and
 * sine. */
typedef struct model {
    int count;
    double frequency[MOST], w[COLUMNS];
} model;

typedef struct pursuit {
    const csrec_series *s;
    double *Q;       /* [COLUMNS][m]: columns, then an orthonormal basis of them */
    double *r;       /* [m] */
    double *re, *im; /* [size]: the spectrum */
    int64_t size;    /* a power of two, OVER times the line or more */
    model now, best;
    double least; /* score of the best */
} pursuit;

static double atom(const csrec_series *s, const model *f, int column, double i) {
    if (column == 0) return 1.0;
    if (column == 1) return i / (double)s->n - 0.5;
    const double angle = 2.0 * PI * f->frequency[(column - 2) / 2] * i / (double)s->n;
    return column % 2 == 0 ? cos(angle) : sin(angle);
}

/* The derivative of sinusoid j by its frequency. */
static double slope(const csrec_series *s, const model *f, int j, double i) {
    const double turn = 2.0 * PI * i / (double)s->n, angle = turn * f->frequency[j];
    return turn * (f->w[3 + 2 * j] * cos(angle) - f->w[2 + 2 * j] * sin(angle));
}

/* w = the coefficients of the least squares of v by the columns in p->Q; what v leaves goes to
 * p->r. Gram and Schmidt, twice; a column that the others span to 8 digits gets 0. */
static void fit(pursuit *p, int columns, const double *v, double *w) {
    const int64_t m = p->s->m;
    double R[COLUMNS][COLUMNS], part[COLUMNS];
    memcpy(p->r, v, (size_t)m * sizeof *v);
    for (int c = 0; c < columns; c++) {
        double *q = p->Q + c * m, whole = sqrt(csrec_dot(m, q, q));
        memset(R[c], 0, sizeof R[c]);
        for (int pass = 0; pass < 2; pass++)
            for (int b = 0; b < c; b++) {
                const double *basis = p->Q + b * m, along = csrec_dot(m, basis, q);
                R[b][c] += along;
                for (int64_t k = 0; k < m; k++) q[k] -= along * basis[k];
            }
        const double length = sqrt(csrec_dot(m, q, q));
        R[c][c] = length > 1e-8 * whole ? length : 0.0;
        for (int64_t k = 0; k < m; k++) q[k] = R[c][c] > 0.0 ? q[k] / length : 0.0;
        part[c] = csrec_dot(m, q, p->r);
        for (int64_t k = 0; k < m; k++) p->r[k] -= part[c] * q[k];
    }
    for (int c = columns - 1; c >= 0; c--) {
        double sum = part[c];
        for (int b = c + 1; b < columns; b++) sum -= R[c][b] * w[b];
        w[c] = R[c][c] > 0.0 ? sum / R[c][c] : 0.0;
    }
}

static void put_columns(pursuit *p) {
    const csrec_series *s = p->s;
    for (int c = 0; c < 2 + 2 * p->now.count; c++)
        for (int64_t k = 0; k < s->m; k++)
            p->Q[c * s->m + k] = atom(s, &p->now, c, (double)s->at[k]);
}

/* All frequencies by a step of at most 0.3. */
static void refine(pursuit *p) {
    const csrec_series *s = p->s;
    const int count = p->now.count, columns = 2 + 2 * count;
    double w[COLUMNS];
    put_columns(p);
    for (int j = 0; j < count; j++)
        for (int64_t k = 0; k < s->m; k++)
            p->Q[(columns + j) * s->m + k] = slope(s, &p->now, j, (double)s->at[k]);
    fit(p, columns + count, s->v, w);
    for (int j = 0; j < count; j++) {
        double step = fmax(-0.3, fmin(w[columns + j], 0.3)), *f = &p->now.frequency[j];
        *f = fmax(0.05, fmin(*f + step, 0.5 * (double)s->n));
    }
}

/* Fits what is chosen and keeps the model of the least score. Returns the square of the rest. */
static double judge(pursuit *p) {
    const csrec_series *s = p->s;
    const int count = p->now.count;
    const double free = (double)s->m - 2.0 - 3.0 * count;
    put_columns(p);
    fit(p, 2 + 2 * count, s->v, p->now.w);
    if (count > 0 && 3.0 * count + 2.0 < (double)s->m / 1.5) {
        refine(p);
        put_columns(p);
        fit(p, 2 + 2 * count, s->v, p->now.w);
    }
    const double left = csrec_dot(s->m, p->r, p->r);
    const double score = free > 0.0 ? left / (free * free) * (1.0 + 0.02 * count) : INFINITY;
    if (score < p->least) {
        p->least = score;
        p->best = p->now;
    }
    return left;
}

/* Cooley and Tukey's transform in place, size a power of two: base/fft.h may be built without a
 * library, and the bits are to be the same. */
static void transform(int64_t size, double *re, double *im) {
    for (int64_t i = 1, j = 0; i < size; i++) {
        int64_t bit = size >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        const double a = re[i], b = im[i];
        re[i] = re[j], im[i] = im[j];
        re[j] = a, im[j] = b;
    }
    for (int64_t half = 1; half < size; half *= 2)
        for (int64_t k = 0; k < half; k++) {
            const double c = cos(PI * (double)k / (double)half);
            const double s = -sin(PI * (double)k / (double)half);
            for (int64_t i = k; i < size; i += 2 * half) {
                const double a = c * re[i + half] - s * im[i + half];
                const double b = c * im[i + half] + s * re[i + half];
                re[i + half] = re[i] - a, im[i + half] = im[i] - b;
                re[i] += a, im[i] += b;
            }
        }
}

/* Of the residual's spectrum from half a cycle on the lowest peak that is nearly the largest: peaks
 * repeat at frequencies that samples at equal distances do not tell apart. */
static double next_frequency(pursuit *p) {
    const csrec_series *s = p->s;
    const double bin = (double)s->n / (double)p->size;
    const int64_t first = (int64_t)ceil(0.5 / bin), last = p->size / 2 - 1;
    int64_t top = first;
    double most = 0.0, *energy = p->re;
    memset(p->re, 0, (size_t)p->size * sizeof *p->re);
    memset(p->im, 0, (size_t)p->size * sizeof *p->im);
    for (int64_t k = 0; k < s->m; k++) p->re[s->at[k]] = p->r[k];
    transform(p->size, p->re, p->im);
    for (int64_t b = first; b <= last; b++) {
        energy[b] = p->re[b] * p->re[b] + p->im[b] * p->im[b];
        most = fmax(most, energy[b]);
    }
    while (top < last && !(energy[top] >= 0.8 * most && energy[top] >= energy[top + 1])) top++;
    return (double)top * bin;
}

csrec_status csrec_series_sinusoids(const csrec_series *s, int most, double *x) {
    pursuit p = {.s = s, .size = 2, .least = INFINITY};
    while (p.size < OVER * s->n) p.size *= 2;
    if (most > MOST) most = MOST;
    p.Q = malloc(((size_t)(COLUMNS + 1) * (size_t)s->m + 2 * (size_t)p.size) * sizeof *p.Q);
    if (!p.Q) return CSREC_MEMORY;
    p.r = p.Q + COLUMNS * s->m;
    p.re = p.r + s->m;
    p.im = p.re + p.size;
    double whole = 1e-14 * csrec_dot(s->m, s->v, s->v);
    for (int count = 0; count <= most && 2 * (2 + 2 * count) <= s->m; count++) {
        p.now.count = count;
        const double left = judge(&p);
        if (count == 0) whole = fmax(whole, left);
        if (!(left >= 1e-16 * whole) || count == most || csrec_call_poll(s->call)) break;
        p.now.frequency[count] = next_frequency(&p);
    }
    free(p.Q);
    if (p.least == INFINITY) csrec_series_linear(s, x);
    for (int64_t i = 0; i < s->n && p.least < INFINITY; i++) {
        x[i] = 0.0;
        for (int c = 0; c < 2 + 2 * p.best.count; c++)
            x[i] += p.best.w[c] * atom(s, &p.best, c, (double)i);
    }
    return CSREC_OK;
}
