/* SPDX-License-Identifier: BSD-3-Clause */
/* plate_level.c - one grid of the multigrid cycle. */
#include "method/smooth/plate_level.h"

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

static void fill_axis(csrec_plate_axis *axis, int order) {
    static const double first[] = {-1.0, 1.0}, second[] = {1.0, -2.0, 1.0};
    const double square = 1.0 / (axis->h * axis->h);
    for (int64_t i = 0; i + 1 < axis->n; i++) {
        add_square(axis->G, 1, i, first, 2, square);
        if (order == 1) add_square(axis->B, 2, i, first, 2, square);
    }
    for (int64_t i = 0; i + 2 < axis->n && order == 2; i++)
        add_square(axis->B, 2, i, second, 3, square * square);
}

csrec_status csrec_plate_level_create(const int64_t extent[3], const double h[3], int order,
                                      bool weighted, int threads, csrec_plate_level *l) {
    *l = (csrec_plate_level){.count = 1, .cell = 1.0, .crossed = order == 2};
    for (int a = 0; a < 3; a++) {
        l->count *= extent[a];
        l->cell *= h[a];
        l->axis[a] = (csrec_plate_axis){.n = extent[a], .h = h[a]};
        CSREC_ZEROS(&l->pool, l->axis[a].B, 5 * extent[a]);
        CSREC_ZEROS(&l->pool, l->axis[a].G, 3 * extent[a]);
    }
    l->threads = csrec_threads_for(l->count * 16, threads);
    l->most = order == 2 ? 4.0 : 2.0;
    CSREC_ZEROS(&l->pool, l->fixed, l->count);
    if (weighted) CSREC_ZEROS(&l->pool, l->weight, l->count);
    double **all[] = {&l->scale, &l->x, &l->b, &l->r, &l->d, &l->t};
    for (int i = 0; i < 6; i++) CSREC_TAKE(&l->pool, *all[i], l->count);
    CSREC_TAKE(&l->pool, l->rows, l->threads * 2 * extent[2]);
    for (int a = 0; a < 3 && !l->pool.lacks; a++) fill_axis(&l->axis[a], order);
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
        l->scale[i] = l->fixed[i] || own == 0.0 ? 0.0 : 1.0 / own;
    }
}

/* ------------------------------------------------------------------ the product --------------- */

static void add_row(int64_t n, double factor, const double *restrict u, double *restrict to) {
    if (factor == 0.0) return;
    for (int64_t x = 0; x < n; x++) to[x] += factor * u[x];
}

/* What the first two axes bring to row (z, y): own = (B_z + B_y + 2 G_z G_y) u, and
 * cross = 2 (G_z + G_y) u, to which the last axis applies G. */
static void gather_rows(const csrec_plate_level *l, const double *u, int64_t z, int64_t y,
                        double *own, double *cross) {
    const csrec_plate_axis *p = &l->axis[0], *q = &l->axis[1];
    const int64_t n = l->axis[2].n;
    memset(own, 0, (size_t)n * sizeof *own);
    memset(cross, 0, (size_t)n * sizeof *cross);
    for (int64_t dz = -2; dz <= 2; dz++)
        for (int64_t dy = -2; dy <= 2; dy++) {
            const bool near = dz >= -1 && dz <= 1 && dy >= -1 && dy <= 1;
            if (z + dz < 0 || z + dz >= p->n || y + dy < 0 || y + dy >= q->n) continue;
            if (!near && dz != 0 && dy != 0) continue;
            const double *row = u + ((z + dz) * q->n + y + dy) * n;
            double a = 0.0, b = 0.0;
            if (dy == 0) a += p->B[z * 5 + 2 + dz];
            if (dz == 0) a += q->B[y * 5 + 2 + dy];
            if (l->crossed && near) {
                a += 2.0 * p->G[z * 3 + 1 + dz] * q->G[y * 3 + 1 + dy];
                if (dy == 0) b += 2.0 * p->G[z * 3 + 1 + dz];
                if (dz == 0) b += 2.0 * q->G[y * 3 + 1 + dy];
            }
            add_row(n, a, row, own);
            add_row(n, b, row, cross);
        }
}

/* Entry x of the last axis's part, near its ends. */
static double end_entry(const csrec_plate_axis *s, int64_t x, const double *u,
                        const double *cross) {
    double sum = 0.0;
    for (int64_t k = -2; k <= 2; k++)
        if (x + k >= 0 && x + k < s->n) sum += s->B[x * 5 + 2 + k] * u[x + k];
    for (int64_t k = -1; k <= 1; k++)
        if (x + k >= 0 && x + k < s->n) sum += s->G[x * 3 + 1 + k] * cross[x + k];
    return sum;
}

/* own += B u + G cross along the last axis; its rows are the same from 2 to n - 3. */
static void add_last(const csrec_plate_axis *s, const double *restrict u,
                     const double *restrict cross, double *restrict own) {
    const int64_t n = s->n;
    const double *B = n > 4 ? s->B + 10 : NULL, *G = n > 4 ? s->G + 6 : NULL;
    for (int64_t x = 0; x < n; x++) {
        if (n > 4 && x == 2) x = n - 2;
        own[x] += end_entry(s, x, u, cross);
    }
    if (n < 5) return;
    const double b0 = B[2], b1 = B[3], b2 = B[4], g0 = G[1], g1 = G[2];
    for (int64_t x = 2; x < n - 2; x++)
        own[x] += b0 * u[x] + b1 * (u[x - 1] + u[x + 1]) + b2 * (u[x - 2] + u[x + 2]) +
                  g0 * cross[x] + g1 * (cross[x - 1] + cross[x + 1]);
}

/* Row (z, y) of A u, which own then holds, but for where it is fixed. */
static void product_row(const csrec_plate_level *l, const double *u, int64_t row, double *own,
                        double *cross) {
    const int64_t n = l->axis[2].n, first = row * n;
    gather_rows(l, u, row / l->axis[1].n, row % l->axis[1].n, own, cross);
    add_last(&l->axis[2], u + first, cross, own);
    if (l->weight)
        for (int64_t x = 0; x < n; x++)
            own[x] = l->cell * own[x] + l->weight[first + x] * u[first + x];
    else
        for (int64_t x = 0; x < n; x++) own[x] *= l->cell;
}

void csrec_plate_product(const csrec_plate_level *l, const double *u, double *out) {
    const int64_t n = l->axis[2].n, rows = l->count / n;
#pragma omp parallel for num_threads(l->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double *own = l->rows + omp_get_thread_num() * 2 * n;
        product_row(l, u, row, own, own + n);
        for (int64_t x = 0; x < n; x++) out[row * n + x] = l->fixed[row * n + x] ? 0.0 : own[x];
    }
}

/* x += d, r -= A d, next = keep d + gain scale r. */
static void step(csrec_plate_level *l, double keep, double gain, double *next) {
    const int64_t n = l->axis[2].n, rows = l->count / n;
#pragma omp parallel for num_threads(l->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double *own = l->rows + omp_get_thread_num() * 2 * n;
        product_row(l, l->d, row, own, own + n);
        double *x = l->x + row * n, *r = l->r + row * n, *to = next + row * n;
        const double *d = l->d + row * n, *scale = l->scale + row * n;
        const uint8_t *fixed = l->fixed + row * n;
        for (int64_t i = 0; i < n; i++) {
            x[i] += d[i];
            r[i] = fixed[i] ? 0.0 : r[i] - own[i];
            to[i] = keep * d[i] + gain * scale[i] * r[i];
        }
    }
}

/* Saad 2003, algorithm 12.1, on [most / part, most] of the spectrum. */
void csrec_plate_smooth(csrec_plate_level *l, int degree, double part) {
    const double high = l->most, low = high / part;
    const double middle = 0.5 * (high + low), half = 0.5 * (high - low);
    double rho = half / middle;
    for (int64_t i = 0; i < l->count; i++) l->d[i] = l->scale[i] * l->r[i] / middle;
    for (int k = 0; k < degree; k++) {
        double next = 1.0 / (2.0 * middle / half - rho), *swap = l->t;
        step(l, next * rho, 2.0 * next / half, l->t);
        rho = next;
        l->t = l->d;
        l->d = swap;
    }
}

/* ------------------------------------------------------------------ sums ---------------------- */

double csrec_plate_dot(const csrec_plate_level *l, const double *a, const double *b) {
    enum { PART = 4096 };
    const int64_t parts = (l->count + PART - 1) / PART;
    double sum = 0.0;
    for (int64_t p = 0; p < parts; p++) {
        const int64_t end = p + 1 < parts ? (p + 1) * PART : l->count;
        double own = 0.0;
        for (int64_t i = p * PART; i < end; i++) own += a[i] * b[i];
        sum += own;
    }
    return sum;
}
