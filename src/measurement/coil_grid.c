/* SPDX-License-Identifier: BSD-3-Clause */
/* coil_grid.c - the middle of k-space on a grid, from a trajectory.
 *
 * Of each coil the picture of few entries in the field of view is found that fits the samples of
 * the middle best, by conjugate gradients on the normal equations (CGLS, Bjorck 1996). It has
 * GUARD frequencies more than these, for what the edges of a field of view spread into them. What
 * it leaves is noise: white noise of deviation 1 on the same trajectory leaves what sigma is told
 * by, as a linear fit takes the same share of both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nufft.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/threads.h"
#include "base/unit.h"
#include "base/unravel.h"
#include "measurement/through.h"

enum { GUARD = 8, STEPS = 200, LOOK = 20 };

/* A fit has ended if LOOK steps leave more than this of the residual; and what it leaves of noise
 * must be enough to tell of it. */
static const double STALL = 0.99, LEAST_LEFT = 0.05;

/* Of transforms: less than noise and the fit leave. */
static const double PRECISION = 1e-6;

typedef struct gridding {
    const csrec_measurement *m;
    csrec_shape shape;      /* of the fit */
    int64_t half[3];        /* frequencies from -half to half along an axis */
    int64_t n, cells, size; /* samples, grid frequencies; entries of a fit */
    int64_t *sample, *cell; /* [n], [cells]: positions of csrec_measurement.index, and flat */
    double *k, *on;         /* [n][dims], [cells][dims] */
    csrec_nufft *any, *grid;
    csrec_pool pool;
} gridding;

static bool is_inside(const gridding *g, const double *k) {
    bool inside = true;
    for (int a = 0; a < g->shape.dims; a++)
        inside = inside && fabs(k[a]) <= (g->half[a] ? (double)g->half[a] : 0.5);
    return inside;
}

/* The samples of the middle, and the frequencies of the grid that have one within half a step. */
static csrec_status find_samples(gridding *g) {
    const csrec_measurement *m = g->m;
    const int dims = m->shape.dims;
    int64_t entries, place[3];
    csrec_shape_count(&m->shape, &entries);
    uint8_t *hit = csrec_pool_zeros(&g->pool, (size_t)entries, 1);
    CSREC_TAKE(&g->pool, g->sample, m->n);
    CSREC_TAKE(&g->pool, g->k, m->n * dims);
    if (csrec_pool_status(&g->pool)) return CSREC_MEMORY;
    for (int64_t i = 0; i < m->n; i++) {
        const double *k = m->through->trajectory + m->index[i] * m->shape.dims;
        int64_t at = 0;
        bool on = is_inside(g, k);
        if (!on) continue;
        memcpy(g->k + g->n * dims, k, (size_t)dims * sizeof *k);
        g->sample[g->n++] = i;
        for (int a = 0; a < dims; a++) {
            const int64_t line = (int64_t)floor(k[a] + 0.5) + m->shape.dim[a] / 2;
            on = on && line >= 0 && line < m->shape.dim[a];
            at = at * m->shape.dim[a] + line;
        }
        if (on) g->cells += !hit[at], hit[at] = 1;
    }
    if (!CSREC_TAKE(&g->pool, g->cell, g->cells + 1)) return CSREC_MEMORY;
    if (!CSREC_TAKE(&g->pool, g->on, (g->cells + 1) * dims)) return CSREC_MEMORY;
    for (int64_t at = 0, c = 0; at < entries; at++) {
        if (!hit[at]) continue;
        csrec_unravel_index(&m->shape, at, place);
        for (int a = 0; a < dims; a++)
            g->on[c * dims + a] = (double)(place[a] - m->shape.dim[a] / 2);
        g->cell[c++] = at;
    }
    return CSREC_OK;
}

static csrec_status begin(gridding *g, int64_t lines) {
    g->shape.dims = g->m->shape.dims;
    for (int a = 0; a < g->shape.dims; a++) {
        const int64_t n = g->m->shape.dim[a];
        g->half[a] = (lines < n ? lines : n) / 2;
        g->shape.dim[a] = n == 1 ? 1 : 2 * g->half[a] + GUARD;
    }
    csrec_shape_count(&g->shape, &g->size);
    csrec_status status = find_samples(g);
    if (status || g->n == 0 || g->cells == 0) return status;
    status = csrec_nufft_create(&g->shape, g->n, g->k, PRECISION, &g->any);
    return status ? status : csrec_nufft_create(&g->shape, g->cells, g->on, PRECISION, &g->grid);
}

static void add(int64_t n, double factor, const double *from, double *to) {
    for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* The fit x [size][2] to r [n][2], which becomes what it leaves. room: 2 (2 size + n). */
static csrec_status fit(const gridding *g, double *r, double *x, double *room) {
    const int64_t n = 2 * g->n, size = 2 * g->size;
    double *p = room, *s = p + size, *q = s + size, before = INFINITY, last = 0.0;
    csrec_status status = CSREC_OK;
    memset(x, 0, (size_t)size * sizeof *x);
    memset(p, 0, (size_t)size * sizeof *p);
    for (int i = 0; i < STEPS && !status; i++) {
        const double left = sqrt(csrec_squares(n, r));
        if (i % LOOK == 0 && !(left > 0.0 && left < STALL * before)) break;
        if (i % LOOK == 0) before = left;
        status = csrec_nufft_execute(g->any, true, s, r);
        const double square = csrec_squares(size, s);
        for (int64_t j = 0; j < size; j++) p[j] = s[j] + (i ? square / last : 0.0) * p[j];
        last = square;
        if (!status && square > 0.0) status = csrec_nufft_execute(g->any, false, p, q);
        const double bend = status || !(square > 0.0) ? 0.0 : csrec_squares(n, q);
        if (!(bend > 0.0)) break;
        add(size, square / bend, p, x);
        add(n, -square / bend, q, r);
    }
    return status;
}

/* Coil c of all, or of c = coils noise: the values of the grid, and *left = ||r||^2. */
static csrec_status fit_coil(const gridding *g, int64_t c, double *room, double *values,
                             double *left) {
    const int64_t coils = g->m->channels;
    double *r = room, *x = r + 2 * g->n, *on = x + 2 * g->size, *rest = on + 2 * g->cells;
    if (c == coils) csrec_random_normals(0, 2 * g->n, r);
    for (int64_t i = 0; i < g->n && c < coils; i++)
        memcpy(r + 2 * i, g->m->y + 2 * (g->sample[i] * coils + c), 2 * sizeof *r);
    csrec_status status = fit(g, r, x, rest);
    *left = csrec_squares(2 * g->n, r);
    if (!status && c < coils) status = csrec_nufft_execute(g->grid, false, x, on);
    for (int64_t i = 0; i < g->cells && c < coils && !status; i++)
        memcpy(values + 2 * (i * coils + c), on + 2 * i, 2 * sizeof *on);
    return status;
}

static csrec_status fit_all(gridding *g, double *values, double *sigma) {
    const int64_t coils = g->m->channels, each = 2 * (2 * g->n + 3 * g->size + g->cells);
    const int threads = csrec_threads_for((coils + 1) * g->n, 0);
    double *room, *left, sum = 0.0;
    if (!CSREC_TAKE(&g->pool, room, threads * each)) return CSREC_MEMORY;
    if (!CSREC_TAKE(&g->pool, left, coils + 1)) return CSREC_MEMORY;
    bool failed = false;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(|| : failed)
    for (int t = 0; t < threads; t++)
        for (int64_t c = t; c <= coils && !failed; c += threads)
            failed = fit_coil(g, c, room + t * each, values, left + c);
    for (int64_t c = 0; c < coils; c++) sum += left[c] / (double)coils;
    *sigma = left[coils] > LEAST_LEFT * 2.0 * (double)g->n ? sqrt(sum / left[coils]) : 0.0;
    return failed ? CSREC_MEMORY : CSREC_OK;
}

csrec_status csrec_coils_grid(const csrec_measurement *m, int64_t lines, csrec_measurement *grid,
                              double *sigma) {
    static const csrec_operator_spec fourier = {
        .name = "fourier", .complex_signal = true, .centred = true};
    gridding g = {.m = m};
    *grid = (csrec_measurement){.shape = m->shape,
                                .channels = m->channels,
                                .dtype = m->dtype,
                                .is_complex = true,
                                .through = (csrec_operator_spec *)(uintptr_t)&fourier};
    csrec_status status = begin(&g, lines);
    grid->n = g.cells;
    grid->index = malloc((size_t)(g.cells + 1) * sizeof *grid->index);
    grid->y = malloc(2 * (size_t)(g.cells * m->channels + 1) * sizeof *grid->y);
    if (!status && (!grid->index || !grid->y)) status = CSREC_MEMORY;
    if (!status && g.cells > 0) status = fit_all(&g, grid->y, sigma);
    if (!status && g.cells > 0) memcpy(grid->index, g.cell, (size_t)g.cells * sizeof *grid->index);
    csrec_nufft_destroy(g.any);
    csrec_nufft_destroy(g.grid);
    csrec_pool_clear(&g.pool);
    return status;
}
