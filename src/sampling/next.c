/* SPDX-License-Identifier: BSD-3-Clause */
/* next.c - where to measure next: darts weighted by the error that is thought to be left.
 *
 * The order of the darts must not depend on the platform, but the C library's log does, in the last
 * bit. So keys are made of operations that IEEE 754 rounds exactly: + - * / and frexp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/threads.h"
#include "base/unit.h"
#include "sampling/sampling.h"

/* ---- dart throwing at the largest scale of distances that leaves room for enough darts.
 *
 * A map holds the squared distance of every entry to the nearest position that is measured or
 * taken, up to the largest distance that is asked for. So a dart costs one look, and one that is
 * taken lowers the map in the ball around it. R is such that the balls of all darts cover the
 * signal a few times over, however many there are: a throw of all darts is O(entries). */

/* Scales are squares of distances: 4 % of them is 2 % of the distances. */
static const double TOLERANCE = 1.04;

/* Darts fall anywhere, so each look would wait for the memory. */
enum { AHEAD = 24 };

typedef struct dart_plan {
    int64_t extent[3]; /* those of missing axes are 1 */
    int64_t entries, n, count;
    const int64_t *index;    /* [n] distinct free positions in the order in which they are tried */
    const double *spread;    /* [n] squared distance that each must keep at scale 1, > 0 */
    const uint32_t *nearest; /* [entries] squared distance to what is measured, > 0 where free */
    double most;             /* the largest squared distance that is asked for, below CSREC_FAR */
    csrec_progress_fn progress; /* or NULL */
    void *context;
} dart_plan;

typedef struct throwing {
    const dart_plan *darts;
    uint32_t *map;  /* [entries] */
    int64_t *place; /* [count] of this throw */
    int64_t *best;  /* [count] of the largest scale so far that left room for all */
    double squared; /* of the smallest distance that a dart of this throw kept */
    double share;   /* of the darts that this throw found room for */
    double best_squared;
    double narrowest, widest; /* of the spreads */
    csrec_ticker ticker;
    bool stopped;
} throwing;

static void lower(throwing *s, int64_t place, double reach) {
    csrec_ball ball = csrec_ball_at(s->darts->extent, place, (int64_t)ceil(fmax(reach, 1.0)));
    for (csrec_ball_row row; csrec_ball_next(&ball, &row);) {
        uint32_t *map = s->map + row.first, across = (uint32_t)row.across;
        for (int64_t i = 0; i < row.count; i++) {
            uint32_t step = (uint32_t)(row.along + i), squared = across + step * step;
            map[i] = squared < map[i] ? squared : map[i];
        }
    }
}

static bool is_stopped(throwing *s, int64_t done) {
    const dart_plan *d = s->darts;
    if (s->stopped || !d->progress || !csrec_ticker_passed(&s->ticker)) return s->stopped;
    csrec_progress now = {"places", done, d->count, -1.0};
    s->stopped = d->progress(&now, d->context);
    return s->stopped;
}

/* Whether all darts found a place at this scale. */
static bool throw_all(throwing *s, double scale) {
    const dart_plan *d = s->darts;
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

static bool try_scale(throwing *s, double scale) {
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
static void find_scale(throwing *s) {
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

static void find_range(throwing *s) {
    const dart_plan *d = s->darts;
    s->narrowest = s->widest = d->spread[0];
    for (int64_t i = 1; i < d->n; i++) {
        s->narrowest = fmin(s->narrowest, d->spread[i]);
        s->widest = fmax(s->widest, d->spread[i]);
    }
}

/* Takes 1 <= count <= n positions, each at least sqrt(min(scale spread, most)) from all that are
 * measured or were taken before it, at the largest scale, within 4 %, at which there are so many.
 * squared: the smallest of these distances, squared. CSREC_MEMORY, CSREC_STOPPED. */
static csrec_status place_darts(const dart_plan *darts, int64_t *place, double *squared) {
    csrec_pool pool = {0};
    throwing s = {.darts = darts, .best_squared = 1.0};
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

/* The largest distance, in units of that of a square grid of as many places. Random darts at equal
 * distances come to 0.75, so in a picture the density is followed down to a quarter of its mean. */
static const double SPACING = 1.5;

static const double REACH_MAX = 65535; /* its square is below CSREC_FAR */

typedef struct {
    const double *density; /* NULL: even */
    const csrec_next_options *options;
    int dims;          /* axes of extent > 1, at least 1 */
    double unit;       /* of the densities of this round */
    uint32_t *nearest; /* [entries] squared distance to what is measured; 0 there */
    dart_plan darts;
    int64_t n;      /* free positions of this round, */
    int64_t *index; /* [n] */
    uint64_t *key;  /* [n] */
    double *spread; /* [n] */
    int64_t *place; /* [count] */
    double squared; /* of the smallest distance that was asked for */
} search;

/* ------------------------------------------------------------------ arithmetic -------------- */

/* -log(u) of u = (word + 1/2) / 2^53, to 1e-9: log f = 2 artanh((f - 1) / (f + 1)). */
static double minus_log(uint64_t word) {
    int exponent;
    double f = frexp(((double)(word >> 11) + 0.5) * 0x1p-53, &exponent);
    double t = (f - 1.0) / (f + 1.0), square = t * t, sum = 0.0;
    for (int k = 17; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return -0.69314718055994531 * exponent - 2.0 * t * sum;
}

/* By Newton's method, which has converged after 6 steps between 1/2 and 4. */
static double cube_root(double v) {
    int exponent;
    double f = frexp(v, &exponent), root = 1.0;
    int third = exponent >= 0 ? exponent / 3 : -((2 - exponent) / 3);
    f = ldexp(f, exponent - 3 * third);
    for (int k = 0; k < 7; k++) root = (2.0 * root + f / (root * root)) / 3.0;
    return ldexp(root, third);
}

/* v^(2 / dims): the squared distance of positions that have a volume v each. */
static double squared_distance(double v, int dims) {
    return dims == 1 ? v * v : dims == 2 ? v : cube_root(v * v);
}

/* ------------------------------------------------------------------ one round --------------- */

static double density_at(const search *s, int64_t i) {
    return s->density ? s->density[i] / s->unit : 1.0;
}

static bool is_free(const search *s, int64_t i, bool zero) {
    const uint8_t *allowed = s->options->allowed;
    if (s->nearest[i] == 0 || (allowed && !allowed[i])) return false;
    return !s->density || (s->density[i] > 0.0) != zero;
}

static int64_t count_free(const search *s, bool zero) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->darts.entries; i++) n += is_free(s, i, zero);
    return n;
}

static csrec_status list_free(search *s, int64_t n, bool zero) {
    size_t bytes = (size_t)n * sizeof *s->index;
    s->index = malloc(bytes);
    s->key = malloc(bytes);
    s->spread = malloc(bytes);
    if (!s->index || !s->key || !s->spread) return CSREC_MEMORY;
    s->n = 0;
    for (int64_t i = 0; i < s->darts.entries; i++)
        if (is_free(s, i, zero)) s->index[s->n++] = i;
    return CSREC_OK;
}

/* Positive numbers have the order of their bits. The last 24 bits cost time and decide nothing. */
static uint64_t key_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 24;
}

/* Sorts the positions by their keys and finds the distances that they must keep. */
static csrec_status order(search *s) {
    const int threads = csrec_threads(0);
    double sum = 0.0, largest = 0.0;
    for (int64_t k = 0; s->density && k < s->n; k++)
        largest = fmax(largest, s->density[s->index[k]]);
    s->unit = csrec_unit_of(largest);
    for (int64_t k = 0; k < s->n; k++) sum += density_at(s, s->index[k]);
    const double mean = sum / (double)s->n;
#pragma omp parallel for schedule(static) num_threads(threads) if (s->n > 4096)
    for (int64_t k = 0; k < s->n; k++) {
        int64_t i = s->index[k];
        uint64_t word = csrec_random_u64(s->options->seed, CSREC_STREAM_NEXT, (uint64_t)i);
        s->key[k] = key_of(minus_log(word) / density_at(s, i));
    }
    if (csrec_sort_rows(s->n, s->key, s->index)) return CSREC_MEMORY;
#pragma omp parallel for schedule(static) num_threads(threads) if (s->n > 4096)
    for (int64_t k = 0; k < s->n; k++)
        s->spread[k] = squared_distance(fmin(mean / density_at(s, s->index[k]), 0x1p250), s->dims);
    return CSREC_OK;
}

static void end_round(search *s) {
    free(s->spread);
    free(s->key);
    free(s->index);
    s->spread = NULL;
    s->key = NULL;
    s->index = NULL;
}

/* Places `count` darts at free positions whose density is zero, or is not. */
static csrec_status place_round(search *s, int64_t n, int64_t count, bool zero, int64_t *place) {
    csrec_status status = list_free(s, n, zero);
    if (zero) s->density = NULL;
    if (!status) status = order(s);
    if (!status) {
        free(s->key);
        s->key = NULL;
        s->darts.n = n;
        s->darts.count = count;
        s->darts.index = s->index;
        s->darts.spread = s->spread;
        s->darts.nearest = s->nearest;
        double most = SPACING * SPACING * squared_distance((double)n / (double)count, s->dims);
        s->darts.most = fmin(most, REACH_MAX * REACH_MAX);
        status = place_darts(&s->darts, place, &s->squared);
    }
    end_round(s);
    return status;
}

/* Where the density is above zero there are too few places: takes them all, then spreads the rest
 * evenly over the others. */
static csrec_status place_rest(search *s, int64_t n, int64_t n_zero) {
    int64_t k = 0;
    for (int64_t i = 0; i < s->darts.entries; i++) {
        s->nearest[i] = s->nearest[i] == 0 ? 0 : CSREC_FAR;
        if (!is_free(s, i, false)) continue;
        s->place[k++] = i;
        s->nearest[i] = 0;
    }
    csrec_status status = csrec_distance_squared(s->darts.extent, s->nearest);
    if (!status) status = place_round(s, n_zero, s->options->count - n, true, s->place + n);
    s->squared = 1.0;
    return status;
}

/* ------------------------------------------------------------------ the whole --------------- */

csrec_status csrec_places_check(const csrec_measurement *m, const double *density,
                                int64_t extent[3], int64_t *entries, csrec_error *error) {
    if (m->through)
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "is measured through an operator; places are found for entries of a signal");
    csrec_status status = csrec_extents_check(&m->shape, m->n, m->index, "places are found in",
                                              extent, entries, error);
    for (int64_t i = 0; density && !status && i < *entries; i++)
        if (!(density[i] >= 0.0 && density[i] <= 0x1.fffffffffffffp1023))
            status = csrec_fail(error, CSREC_DATA,
                                "density: entry %lld is %g; give finite numbers that are 0 or more",
                                (long long)i, density[i]);
    return status;
}

static csrec_status map_measured(search *s, const csrec_measurement *m) {
    const int64_t entries = s->darts.entries;
    s->nearest = malloc((size_t)entries * sizeof *s->nearest);
    if (!s->nearest) return CSREC_MEMORY;
    for (int64_t i = 0; i < entries; i++) s->nearest[i] = CSREC_FAR;
    for (int64_t k = 0; k < m->n; k++) s->nearest[m->index[k]] = 0;
    return csrec_distance_squared(s->darts.extent, s->nearest);
}

static csrec_status place_all(search *s, csrec_error *error) {
    const int64_t count = s->options->count;
    int64_t n = count_free(s, false), n_zero = s->density ? count_free(s, true) : 0;
    if (n + n_zero == 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "no position is free; all are measured or excluded");
    if (count < 1 || count > n + n_zero)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "count %lld is not in 1 .. %lld, the positions that are free; ask for "
                          "fewer",
                          (long long)count, (long long)(n + n_zero));
    s->place = malloc((size_t)count * sizeof *s->place);
    if (!s->place) return CSREC_MEMORY;
    csrec_status status =
        count <= n ? place_round(s, n, count, false, s->place) : place_rest(s, n, n_zero);
    if (!status) status = csrec_sort_rows(count, (uint64_t *)s->place, NULL);
    return status;
}

csrec_status csrec_where_next(const csrec_measurement *measurement, const double *density,
                              const csrec_next_options *options, csrec_sampling *next,
                              csrec_error *error) {
    if (error) error->text[0] = '\0';
    search s = {.density = density, .options = options, .squared = 1.0};
    csrec_status status =
        csrec_places_check(measurement, density, s.darts.extent, &s.darts.entries, error);
    if (status) return status;
    for (int a = 0; a < 3; a++) s.dims += s.darts.extent[a] > 1;
    if (s.dims == 0) s.dims = 1;
    if (density && csrec_largest(s.darts.entries, density) == 0.0) s.density = NULL;
    s.darts.progress = options->progress;
    s.darts.context = options->context;
    status = map_measured(&s, measurement);
    if (!status) status = place_all(&s, error);
    if (!status) {
        *next = (csrec_sampling){
            .n = options->count, .index = s.place, .min_distance = sqrt(fmax(s.squared, 1.0))};
        s.place = NULL;
    }
    free(s.place);
    free(s.nearest);
    if (status == CSREC_MEMORY)
        return csrec_fail(error, status, "no memory for the places, up to 48 bytes an entry");
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "the search for places was stopped");
    return status;
}
