/* SPDX-License-Identifier: BSD-3-Clause */
/* darts.c - dart throwing at the largest scale of distances that leaves room for enough darts.
 *
 * A map holds the squared distance of every entry to the nearest position that is measured or
 * taken, up to the largest distance that is asked for. So a dart costs one look, and one that is
 * taken lowers the map in the ball around it. R is such that the balls of all darts cover the
 * signal a few times over, however many there are: a throw of all darts is O(entries). */
#include "sampling/darts.h"

#include <math.h>
#include <string.h>

#include "sampling/ball.h"
#include "base/memory.h"
#include "base/pool.h"

/* Scales are squares of distances: 4 % of them is 2 % of the distances. */
static const double TOLERANCE = 1.04;

/* Darts fall anywhere, so each look would wait for the memory. */
enum { AHEAD = 24 };

typedef struct {
    const csrec_darts *darts;
    uint32_t *map;  /* [entries] */
    int64_t *place; /* [count] of this throw */
    int64_t *best;  /* [count] of the largest scale so far that left room for all */
    double squared; /* of the smallest distance that a dart of this throw kept */
    double share;   /* of the darts that this throw found room for */
    double best_squared;
    double narrowest, widest; /* of the spreads */
    csrec_ticker ticker;
    bool stopped;
} search;

static void lower(search *s, int64_t place, double reach) {
    csrec_ball ball = csrec_ball_at(s->darts->extent, place, (int64_t)ceil(fmax(reach, 1.0)));
    for (csrec_ball_row row; csrec_ball_next(&ball, &row);) {
        uint32_t *map = s->map + row.first, across = (uint32_t)row.across;
        for (int64_t i = 0; i < row.count; i++) {
            uint32_t step = (uint32_t)(row.along + i), squared = across + step * step;
            map[i] = squared < map[i] ? squared : map[i];
        }
    }
}

static bool is_stopped(search *s, int64_t done) {
    const csrec_darts *d = s->darts;
    if (s->stopped || !d->progress || !csrec_ticker_passed(&s->ticker)) return s->stopped;
    csrec_progress now = {"places", done, d->count, -1.0};
    s->stopped = d->progress(&now, d->context);
    return s->stopped;
}

/* Whether all darts found a place at this scale. */
static bool throw_all(search *s, double scale) {
    const csrec_darts *d = s->darts;
    double reach = fmin(scale * s->widest, d->most);
    int64_t taken = 0;
    memcpy(s->map, d->nearest, (size_t)d->entries * sizeof *s->map);
    s->squared = d->most;
    for (int64_t i = 0; i < d->n && taken < d->count; i++) {
        double squared = fmin(scale * d->spread[i], d->most);
        if (i + AHEAD < d->n) __builtin_prefetch(s->map + d->index[i + AHEAD]);
        if (i % 4096 == 0 && is_stopped(s, taken)) return false;
        if (s->map[d->index[i]] < squared) continue;
        s->place[taken++] = d->index[i];
        s->squared = fmin(s->squared, squared);
        lower(s, d->index[i], reach);
    }
    s->share = (double)taken / (double)d->count;
    return taken == d->count;
}

static bool try_scale(search *s, double scale) {
    if (!throw_all(s, scale)) return false;
    int64_t *swap = s->best;
    s->best = s->place;
    s->place = swap;
    s->best_squared = s->squared;
    return true;
}

/* Brackets the scale in steps that grow, since spreads may differ by many powers of ten, then
 * halves the bracket in its logarithm. After a throw that almost found room for all, the root of
 * its share is a better guess; every other time, since it can be wrong. Different positions are at
 * least 1 apart, so a scale at which less is asked for leaves room for all. */
static void find_scale(search *s) {
    const double least = 0.5 / s->widest, most = s->darts->most / s->narrowest;
    double low = 0.0, high = 0.0, factor = 2.0, scale = fmax(0.25 * s->darts->most, least);
    bool guessed = false;
    while (!s->stopped) {
        *(try_scale(s, scale) ? &low : &high) = scale;
        if (low >= most || (low > 0.0 && high > 0.0 && high <= TOLERANCE * low)) break;
        double guess = 0.99 * sqrt(s->share) * high;
        guessed = !guessed && s->share >= 0.5 && s->share < 1.0 && guess > fmax(low, least);
        if (guessed) {
            scale = guess;
        } else if (low > 0.0 && high > 0.0) {
            scale = sqrt(low) * sqrt(high);
        } else {
            scale = low > 0.0 ? fmin(scale * factor, most) : fmax(scale / factor, least);
            factor *= factor;
        }
    }
}

static void find_range(search *s) {
    const csrec_darts *d = s->darts;
    s->narrowest = s->widest = d->spread[0];
    for (int64_t i = 1; i < d->n; i++) {
        s->narrowest = fmin(s->narrowest, d->spread[i]);
        s->widest = fmax(s->widest, d->spread[i]);
    }
}

csrec_status csrec_darts_place(const csrec_darts *darts, int64_t *place, double *squared) {
    csrec_pool pool = {0};
    search s = {.darts = darts, .best_squared = 1.0};
    s.map = csrec_pool_keep(&pool, csrec_memory_allocate((size_t)darts->entries * sizeof *s.map));
    CSREC_TAKE(&pool, s.place, darts->count);
    CSREC_TAKE(&pool, s.best, darts->count);
    csrec_status status = csrec_pool_status(&pool);
    if (!status) {
        find_range(&s);
        find_scale(&s);
        if (s.stopped) status = CSREC_STOPPED;
    }
    if (!status) {
        memcpy(place, s.best, (size_t)darts->count * sizeof *place);
        *squared = s.best_squared;
    }
    csrec_pool_clear(&pool);
    return status;
}
