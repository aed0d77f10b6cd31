/* SPDX-License-Identifier: BSD-3-Clause */
/* sinusoids.c - a line and a few sinusoids by orthogonal matching pursuit: the next frequency is
 * the largest of the residual's spectrum, all frequencies are refined by a step of Gauss and
 * Newton, and generalised cross-validation tells how many there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/smooth/series.h"

enum { MOST = 24, COLUMNS = 2 + 3 * MOST, OVER = 8 };

static const double PI = 3.14159265358979323846;

/* Frequencies in cycles of the whole line; coefficients of 1, of time, then of each cosine and
 * sine.
 */
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

static double dot(int64_t m, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t k = 0; k < m; k++) sum += a[k] * b[k];
    return sum;
}

/* w = the coefficients of the least squares of v by the columns in p->Q; what v leaves goes to
 * p->r. Gram and Schmidt, twice; a column that the others span to 8 digits gets 0. */
static void fit(pursuit *p, int columns, const double *v, double *w) {
    const int64_t m = p->s->m;
    double R[COLUMNS][COLUMNS], part[COLUMNS];
    memcpy(p->r, v, (size_t)m * sizeof *v);
    for (int c = 0; c < columns; c++) {
        double *q = p->Q + c * m, whole = sqrt(dot(m, q, q));
        memset(R[c], 0, sizeof R[c]);
        for (int pass = 0; pass < 2; pass++)
            for (int b = 0; b < c; b++) {
                const double *basis = p->Q + b * m, along = dot(m, basis, q);
                R[b][c] += along;
                for (int64_t k = 0; k < m; k++) q[k] -= along * basis[k];
            }
        const double length = sqrt(dot(m, q, q));
        R[c][c] = length > 1e-8 * whole ? length : 0.0;
        for (int64_t k = 0; k < m; k++) q[k] = R[c][c] > 0.0 ? q[k] / length : 0.0;
        part[c] = dot(m, q, p->r);
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

/* Fits what is chosen and keeps the model of the least score. Returns the square of what is left.
 */
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
    const double left = dot(s->m, p->r, p->r);
    const double score = free > 0.0 ? left / (free * free) * (1.0 + 0.02 * count) : INFINITY;
    if (score < p->least) {
        p->least = score;
        p->best = p->now;
    }
    return left;
}

/* ------------------------------------------------------------------ the next frequency -------- */

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

/* Of the residual's spectrum the largest from half a cycle on. */
static double next_frequency(pursuit *p) {
    const csrec_series *s = p->s;
    const double bin = (double)s->n / (double)p->size;
    memset(p->re, 0, (size_t)p->size * sizeof *p->re);
    memset(p->im, 0, (size_t)p->size * sizeof *p->im);
    for (int64_t k = 0; k < s->m; k++) p->re[s->at[k]] = p->r[k];
    transform(p->size, p->re, p->im);
    int64_t top = 1;
    double most = -1.0;
    for (int64_t b = 1; b < p->size / 2; b++) {
        const double energy = p->re[b] * p->re[b] + p->im[b] * p->im[b];
        if ((double)b * bin < 0.5 || !(energy > most)) continue;
        most = energy;
        top = b;
    }
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
    const double whole = dot(s->m, s->v, s->v);
    for (int count = 0; count <= most && 2 * (2 + 2 * count) <= s->m; count++) {
        p.now.count = count;
        if (!(judge(&p) >= 1e-16 * whole) || count == most) break;
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
