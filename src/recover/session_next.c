/* SPDX-License-Identifier: BSD-3-Clause */
/* session_next.c - where to measure next: positions, or whole tiles of them. */
#include <stdlib.h>
#include <string.h>

#include "base/unravel.h"
#include "recover/session.h"

/* A grid to choose from: the entries, or tiles. */
typedef struct grid {
    csrec_measurement m;  /* what is measured of it */
    double *density;      /* or NULL: even */
    uint8_t *allowed;     /* or NULL */
    csrec_next_options o; /* count */
    csrec_pool pool;
} grid;

/* The tile that an entry is in. */
static int64_t tile_of(const csrec_shape *shape, const csrec_shape *tiles, const csrec_shape *tile,
                       int64_t at) {
    int64_t c[CSREC_DIMS_MAX], number = 0;
    csrec_unravel_index(shape, at, c);
    for (int d = 0; d < shape->dims; d++) number = number * tiles->dim[d] + c[d] / tile->dim[d];
    return number;
}

/* Whether a position is among those of a tile that is measured. */
static bool takes_part(const csrec_session *s, bool rays, int64_t at) {
    return (!s->allowed || s->allowed[at]) && (rays || s->count[at] == 0.0);
}

static csrec_status check_tile(const csrec_session *s, const csrec_shape *tile,
                               csrec_error *error) {
    bool fits = tile->dims == s->form.shape.dims;
    for (int d = 0; d < s->form.shape.dims; d++) fits = fits && tile->dim[d] >= 1;
    return fits ? CSREC_OK
                : csrec_fail(error, CSREC_ARGUMENT,
                             "tile: give an extent of 1 or more for each of the %d axes",
                             s->form.shape.dims);
}

/* Means over tiles of density and rays; those of which all is measured are taken. */
static csrec_status make_tiles(const csrec_session *s, const csrec_session_next_options *o,
                               bool rays, const double *density, grid *g, csrec_error *error) {
    const csrec_shape *shape = &s->form.shape;
    csrec_shape tiles = *shape;
    int64_t count = 1, volume = 1, free = 0;
    CSREC_TRY(check_tile(s, &o->tile, error));
    for (int d = 0; d < shape->dims; d++) {
        const int64_t extent = o->tile.dim[d] < shape->dim[d] ? o->tile.dim[d] : shape->dim[d];
        tiles.dim[d] = (shape->dim[d] + o->tile.dim[d] - 1) / o->tile.dim[d];
        count *= tiles.dim[d];
        volume *= extent;
    }
    double *part = CSREC_ZEROS(&g->pool, part, count);
    CSREC_ZEROS(&g->pool, g->density, count);
    CSREC_ZEROS(&g->pool, g->allowed, count);
    CSREC_ZEROS(&g->pool, g->m.rays, count);
    CSREC_TAKE(&g->pool, g->m.index, count);
    if (g->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory for tiles");
    for (int64_t at = 0; at < s->entries; at++) {
        const int64_t k = tile_of(shape, &tiles, &o->tile, at);
        if (!takes_part(s, rays, at)) continue;
        part[k] += 1.0;
        g->density[k] += density ? density[at] : 1.0;
        g->m.rays[k] += s->count[at];
    }
    g->m.n = 0;
    for (int64_t k = 0; k < count; k++) {
        const double mean = part[k] > 0.0 ? g->m.rays[k] / part[k] : 1.0;
        g->allowed[k] = part[k] > 0.0;
        free += g->allowed[k];
        if (part[k] > 0.0) g->density[k] /= part[k];
        if (rays ? mean <= 0.0 || !g->allowed[k] : g->allowed[k] != 0) continue;
        g->m.rays[g->m.n] = mean;
        g->m.index[g->m.n++] = k;
    }
    g->m.shape = tiles;
    g->o.count = rays ? o->count / volume : (o->count + volume - 1) / volume;
    if (g->o.count < 1) g->o.count = 1;
    if (!rays && g->o.count > free && free > 0) g->o.count = free;
    return CSREC_OK;
}

/* Positions of the chosen tiles, in their order. */
static csrec_status expand(const csrec_session *s, const csrec_shape *tile, const grid *g,
                           bool rays, csrec_sampling *next, csrec_error *error) {
    const csrec_shape *shape = &s->form.shape;
    csrec_sampling all = {.min_distance = next->min_distance};
    int64_t volume = 1;
    for (int d = 0; d < shape->dims; d++)
        volume *= tile->dim[d] < shape->dim[d] ? tile->dim[d] : shape->dim[d];
    all.index = malloc((size_t)(next->n * volume) * sizeof *all.index);
    if (rays) all.rays = malloc((size_t)(next->n * volume) * sizeof *all.rays);
    if (!all.index || (rays && !all.rays)) {
        csrec_sampling_clear(&all);
        return csrec_fail(error, CSREC_MEMORY, "out of memory for positions");
    }
    for (int64_t k = 0; k < next->n; k++) {
        csrec_shape box = *shape;
        int64_t corner[CSREC_DIMS_MAX], c[CSREC_DIMS_MAX], inside = 1;
        csrec_unravel_index(&g->m.shape, next->index[k], corner);
        for (int d = 0; d < shape->dims; d++) {
            corner[d] *= tile->dim[d];
            const int64_t rest = shape->dim[d] - corner[d];
            box.dim[d] = tile->dim[d] < rest ? tile->dim[d] : rest;
            inside *= box.dim[d];
        }
        for (int64_t i = 0; i < inside; i++) {
            int64_t at = 0;
            csrec_unravel_index(&box, i, c);
            for (int d = 0; d < shape->dims; d++) at = at * shape->dim[d] + corner[d] + c[d];
            if (!takes_part(s, rays, at)) continue;
            if (rays) all.rays[all.n] = next->rays[k];
            all.index[all.n++] = at;
        }
    }
    csrec_sampling_clear(next);
    *next = all;
    return CSREC_OK;
}

/* A short path; numbers of rays go along. */
static csrec_status order(const csrec_shape *shape, const csrec_next_options *o,
                          csrec_sampling *next, csrec_error *error) {
    const size_t bytes = (size_t)next->n * sizeof *next->index;
    int64_t *before = next->rays ? malloc(2 * bytes + 1) : NULL;
    if (next->rays && !before) return csrec_fail(error, CSREC_MEMORY, "out of memory for a path");
    if (before) memcpy(before, next->index, bytes);
    if (before) memcpy(before + next->n, next->rays, bytes);
    const csrec_status status =
        csrec_path_order(shape, next->n, next->index, o->progress, o->context, NULL, error);
    for (int64_t i = 0; i < next->n && before && !status; i++) {
        int64_t low = 0, high = next->n;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            *(before[middle] <= next->index[i] ? &low : &high) = middle;
        }
        next->rays[i] = before[next->n + low];
    }
    free(before);
    return status;
}

/* s->density, if there is something to tell. */
static csrec_status find_density(csrec_session *s, const csrec_session_next_options *o,
                                 const double **density, csrec_error *error) {
    const csrec_next_options next = {.seed = o->seed,
                                     .progress = s->options.solve.progress,
                                     .context = s->options.solve.context};
    *density = NULL;
    if (o->even || (s->n == 0 && s->frames == 0)) return CSREC_OK;
    *density = s->density;
    if (s->n > 0) return csrec_session_make(s, CSREC_MAKES_DENSITY, error);
    csrec_sequence *sequence;
    CSREC_TRY(csrec_session_sequence(s, false, &sequence, error));
    s->made &= ~CSREC_MAKES_DENSITY; /* that of the frame itself */
    csrec_status status = csrec_sequence_density(sequence, &next, s->density, error);
    csrec_sequence_destroy(sequence);
    return status;
}

static bool moves(const csrec_session_next_options *o) {
    return o->move[0] > 0.0 || o->move[1] > 0.0;
}

static csrec_status check_next(csrec_session *s, const csrec_session_next_options *o,
                               csrec_error *error) {
    if (o->count < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "count = %lld; must be 1 or more",
                          (long long)o->count);
    if (o->again && !s->rays && s->form.sigma == 0.0 && !s->variance)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "again: samples without noise are measured once; give sigma, or "
                          "deviations with them");
    for (int k = 0; k < 2; k++)
        if (!(o->move[k] >= 0.0 && o->move[k] <= INT32_MAX))
            return csrec_fail(error, CSREC_ARGUMENT,
                              "move = %g, %g; both must be 0 or more, in measurements", o->move[0],
                              o->move[1]);
    if (moves(o) && (s->rays || o->again || o->path || o->tile.dims || o->even))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "move: not with rays, again, path, tile or even, which choose otherwise");
    return csrec_session_samples(s) ? CSREC_OK
                                    : csrec_fail(error, CSREC_MEMORY, "out of memory for samples");
}

csrec_status csrec_session_next(csrec_session *s, const csrec_session_next_options *o,
                                csrec_sampling *next, csrec_error *error) {
    const bool rays = s->rays || o->again, tiles = o->tile.dims > 0;
    const double *density = NULL;
    csrec_sampling found = {0};
    csrec_status status = check_next(s, o, error);
    if (!status) status = find_density(s, o, &density, error);
    if (status) return status;
    grid g = {.m = s->seen,
              .density = (double *)(uintptr_t)density,
              .allowed = s->allowed,
              .o = {.count = o->count,
                    .seed = o->seed,
                    .most = o->most,
                    .progress = s->options.solve.progress,
                    .context = s->options.solve.context}};
    g.m.rays = s->counts;
    if (tiles) status = make_tiles(s, o, rays, density, &g, error);
    g.o.allowed = g.allowed;
    if (!status && moves(o))
        status = csrec_session_move(s, o, density, &g.o, &found, error);
    else if (!status)
        status = (rays ? csrec_rays_next : csrec_where_next)(&g.m, g.density, &g.o, &found, error);
    if (!status && o->path) status = order(&g.m.shape, &g.o, &found, error);
    if (!status && tiles) status = expand(s, &o->tile, &g, rays, &found, error);
    csrec_pool_clear(&g.pool);
    return CSREC_SETTLE(status, csrec_sampling_clear(&found), *next = found);
}
