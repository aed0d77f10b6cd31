/* SPDX-License-Identifier: BSD-3-Clause */
/* plate_level.c - one grid of the multigrid cycle. */
#include "method/smooth/plate.h"

#include <omp.h>
#include <string.h>

#include "base/threads.h"

/* M += weight d d^T of a difference d of `width` entries from `first`; M is banded, `reach` off the
 * diagonal. */
static void add_square(double *M, int reach, int64_t first, const double *d, int width,
                       double weight) {
    for (int i = 0; i < width; i++)
        for (int j = 0; j < width; j++)
            M[(first + i) * (2 * reach + 1) + reach + j - i] += weight * d[i] * d[j];
}

static void fill_axis(csrec_plate_axis *axis, csrec_plate_kind kind) {
    static const double first[] = {-1.0, 1.0}, second[] = {1.0, -2.0, 1.0};
    const double square = 1.0 / (axis->h * axis->h), fourth = square * square;
    const int64_t n = axis->n;
    for (int64_t i = 0; i + 1 < n; i++) {
        add_square(axis->G, 1, i, first, 2, square);
        if (kind == CSREC_PLATE_MEMBRANE) add_square(axis->B, 2, i, first, 2, square);
    }
    if (kind == CSREC_PLATE_MEMBRANE) return;
    for (int64_t i = 0; i + 2 < n; i++) add_square(axis->B, 2, i, second, 3, fourth);
    if (kind == CSREC_PLATE_THIN || n < 2) return;
    add_square(axis->B, 2, 0, first, 2,
               fourth); /* the second difference at an edge that reflects */
    add_square(axis->B, 2, n - 2, first, 2, fourth);
}

csrec_status csrec_plate_level_create(const int64_t extent[3], const double h[3],
                                      csrec_plate_kind kind, bool weighted, int threads,
                                      csrec_plate_level *l) {
    *l = (csrec_plate_level){.count = 1, .cell = 1.0, .crossed = kind != CSREC_PLATE_MEMBRANE};
    for (int a = 0; a < 3; a++) {
        l->count *= extent[a];
        l->cell *= h[a];
        l->axis[a] = (csrec_plate_axis){.n = extent[a], .h = h[a]};
        CSREC_ZEROS(&l->pool, l->axis[a].B, 5 * extent[a]);
        CSREC_ZEROS(&l->pool, l->axis[a].G, 3 * extent[a]);
    }
    l->threads = csrec_threads_for(l->count * 16, threads);
    l->most = l->crossed ? 4.0 : 2.0;
    CSREC_ZEROS(&l->pool, l->fixed, l->count);
    if (weighted) CSREC_ZEROS(&l->pool, l->weight, l->count);
    float **all[] = {&l->scale, &l->x, &l->b, &l->r, &l->d, &l->t};
    for (int i = 0; i < 6; i++) CSREC_TAKE(&l->pool, *all[i], l->count);
    CSREC_TAKE(&l->pool, l->rows, l->threads * 2 * extent[2]);
    for (int a = 0; a < 3 && !l->pool.lacks; a++) fill_axis(&l->axis[a], kind);
    return csrec_pool_status(&l->pool);
}

void csrec_plate_level_scale(csrec_plate_level *l) {
    const csrec_plate_axis *p = &l->axis[0], *q = &l->axis[1], *s = &l->axis[2];
    for (int64_t i = 0; i < l->count; i++) {
        int64_t z = i / (q->n * s->n), y = i / s->n % q->n, x = i % s->n;
        double a = p->G[z * 3 + 1], b = q->G[y * 3 + 1], c = s->G[x * 3 + 1];
        double own = p->B[z * 5 + 2] + q->B[y * 5 + 2] + s->B[x * 5 + 2];
        if (l->crossed) own += 2.0 * (a * b + a * c + b * c);
        own *= l->cell;
        if (l->weight) own += l->weight[i];
        l->scale[i] = l->fixed[i] || own == 0.0 ? 0.0f : (float)(1.0 / own);
    }
}

#define REAL        double
#define PLATE(name) name##_double
#include "method/smooth/plate_rows.h"

#define REAL        float
#define PLATE(name) name##_float
#include "method/smooth/plate_rows.h"

void csrec_plate_product(const csrec_plate_level *l, const double *u, double *rows, double *out) {
    product_double(l, u, rows, out);
}

void csrec_plate_residual(csrec_plate_level *l) {
    product_float(l, l->x, l->rows, l->r);
    for (int64_t i = 0; i < l->count; i++) l->r[i] = l->b[i] - l->r[i];
}

/* x += d, r -= A d, next = keep d + gain scale r. */
static void step(csrec_plate_level *l, float keep, float gain, float *next) {
    const int64_t n = l->axis[2].n, rows = l->count / n;
#pragma omp parallel for num_threads(l->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        float *own = l->rows + omp_get_thread_num() * 2 * n;
        product_row_float(l, l->d, row, own, own + n);
        float *x = l->x + row * n, *r = l->r + row * n, *to = next + row * n;
        const float *d = l->d + row * n, *scale = l->scale + row * n;
        const uint8_t *fixed = l->fixed + row * n;
        for (int64_t i = 0; i < n; i++) {
            x[i] += d[i];
            r[i] = fixed[i] ? 0 : r[i] - own[i];
            to[i] = keep * d[i] + gain * scale[i] * r[i];
        }
    }
}

/* Saad 2003, algorithm 12.1, on [most / part, most] of the spectrum. */
void csrec_plate_smooth(csrec_plate_level *l, int degree, double part) {
    const double high = l->most, low = high / part;
    const double middle = 0.5 * (high + low), half = 0.5 * (high - low);
    double rho = half / middle;
    for (int64_t i = 0; i < l->count; i++) l->d[i] = l->scale[i] * l->r[i] / (float)middle;
    for (int k = 0; k < degree; k++) {
        const double next = 1.0 / (2.0 * middle / half - rho);
        float *swap = l->t;
        step(l, (float)(next * rho), (float)(2.0 * next / half), l->t);
        rho = next;
        l->t = l->d;
        l->d = swap;
    }
}

double csrec_plate_dot(int64_t n, const double *a, const double *b) {
    enum { PART = 4096 };
    const int64_t parts = (n + PART - 1) / PART;
    double sum = 0.0;
    for (int64_t p = 0; p < parts; p++) {
        const int64_t end = p + 1 < parts ? (p + 1) * PART : n;
        double own = 0.0;
        for (int64_t i = p * PART; i < end; i++) own += a[i] * b[i];
        sum += own;
    }
    return sum;
}
