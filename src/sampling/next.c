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
 * signal a few times over, however many there are: a throw of all darts is O(entries). At most
 * scales what is measured leaves few darts a chance: only those are put into their order. */

/* Scales are squares of distances: 4 % of them is 2 % of the distances. */
static const double TOLERANCE = 1.04;

/* Darts fall anywhere, so each look would wait for the memory. */
enum { AHEAD = 24 };

/* Distinct free positions, and the squared distance that each must keep at scale 1, > 0. */
typedef struct dart_list {
    int64_t n;
    int64_t *index;
    double *spread;
    bool ordered; /* in the order in which they are tried; else ascending */
} dart_list;

typedef struct search {
    const double *density; /* NULL: even */
    const csrec_next_options *options;
    int64_t extent[3]; /* those of missing axes are 1 */
    int64_t entries;
    int dims;          /* axes of extent > 1, at least 1 */
    double unit;       /* of the densities of this round */
    uint32_t *nearest; /* [entries] squared distance to what is measured; 0 there */
    int64_t *taken;    /* [options->count] */
    /* Of this round: */
    int64_t count;
    double most;              /* the largest squared distance that is asked for, below CSREC_FAR */
    double narrowest, widest; /* of the spreads */
    dart_list open;           /* those that were found to have a chance, */
    dart_list some;           /* and those that have one at the scale that is tried */
    uint32_t *map;            /* [entries] */
    int64_t *place;           /* [count] of this throw */
    int64_t *best;            /* [count] of the largest scale so far that left room for all, */
    bool thrown;              /* unless that was sure without a throw */
    double share;             /* of the darts that found room, if it is half or more */
    double squared, best_squared; /* of the smallest distances that darts kept */
    csrec_ticker ticker;
    csrec_status status;
} search;

static double kept_at(const search *s, double scale, double spread) {
    const double squared = scale * spread;
    return squared < s->most ? squared : s->most;
}

/* Whether what is measured leaves dart k a chance. */
static bool is_open(const search *s, double scale, int64_t k) {
    return s->nearest[s->open.index[k]] >= kept_at(s, scale, s->open.spread[k]);
}

static int64_t count_open(const search *s, double scale) {
    int64_t n = 0;
#pragma omp parallel for schedule(static) reduction(+ : n)                                         \
    num_threads(csrec_threads_for(s->open.n, 0))
    for (int64_t k = 0; k < s->open.n; k++) n += is_open(s, scale, k);
    return n;
}

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

static double density_at(const search *s, int64_t i) {
    return s->density ? s->density[i] / s->unit : 1.0;
}

/* Positive numbers have the order of their bits. The last 24 bits cost time and decide nothing. */
static uint64_t key_at(const search *s, int64_t i) {
    uint64_t word = csrec_random_u64(s->options->seed, CSREC_STREAM_NEXT, (uint64_t)i);
    const double value = minus_log(word) / density_at(s, i);
    memcpy(&word, &value, sizeof word);
    return word >> 24;
}

/* The darts that have a chance at this scale, n or fewer, in the order in which they are tried. */
static csrec_status order(search *s, double scale, int64_t n) {
    const dart_list *from = &s->open;
    dart_list *to = &s->some;
    uint64_t *key = from->ordered ? NULL : csrec_memory_allocate((size_t)n * sizeof *key);
    csrec_status status = key || from->ordered ? CSREC_OK : CSREC_MEMORY;
    to->n = 0;
    for (int64_t k = 0; k < from->n && !status; k++) {
        to->index[to->n] = k;
        to->n += is_open(s, scale, k);
    }
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(16 * n, 0))
    for (int64_t k = 0; k < to->n * !from->ordered; k++)
        key[k] = key_at(s, from->index[to->index[k]]);
    if (!status && !from->ordered) status = csrec_sort_rows(to->n, key, to->index);
    for (int64_t k = 0; k < to->n; k++) {
        to->spread[k] = from->spread[to->index[k]];
        to->index[k] = from->index[to->index[k]];
    }
    to->ordered = true;
    free(key);
    return status;
}

static void lower(search *s, int64_t place, double reach) {
    csrec_ball ball = csrec_ball_at(s->extent, place, (int64_t)ceil(fmax(reach, 1.0)));
    for (csrec_ball_row row; csrec_ball_next(&ball, &row);) {
        uint32_t *map = s->map + row.first, across = (uint32_t)row.across;
        for (int64_t i = 0; i < row.count; i++) {
            uint32_t step = (uint32_t)(row.along + i), squared = across + step * step;
            map[i] = squared < map[i] ? squared : map[i];
        }
    }
}

static bool is_stopped(search *s, int64_t done) {
    const csrec_next_options *o = s->options;
    const csrec_progress now = {"places", done, s->count, -1.0};
    const bool asks = o->progress && csrec_ticker_passed(&s->ticker);
    if (asks && o->progress(&now, o->context)) s->status = CSREC_STOPPED;
    return s->status;
}

/* Whether all darts found a place at this scale. */
static bool throw_all(search *s, double scale) {
    const dart_list *darts = &s->some;
    double reach = kept_at(s, scale, s->widest);
    int64_t taken = 0;
    memcpy(s->map, s->nearest, (size_t)s->entries * sizeof *s->map);
    s->squared = s->most;
    for (int64_t i = 0; i < darts->n && taken < s->count; i++) {
        const double squared = kept_at(s, scale, darts->spread[i]);
        if (i + AHEAD < darts->n) __builtin_prefetch(s->map + darts->index[i + AHEAD]);
        if (i % 4096 == 0 && is_stopped(s, taken)) return false;
        if (s->map[darts->index[i]] < squared) continue;
        s->place[taken++] = darts->index[i];
        s->squared = fmin(s->squared, squared);
        lower(s, darts->index[i], reach);
    }
    s->share = (double)taken / (double)s->count;
    if (taken < s->count) return false;
    int64_t *swap = s->best;
    s->best = s->place;
    s->place = swap;
    s->best_squared = s->squared;
    return s->thrown = true;
}

/* As many darts as surely find a place: each that is taken is in the way of no more than the cube
 * around it has entries. */
static double surely(const search *s, double scale) {
    const int64_t root = csrec_root((int64_t)ceil(fmax(kept_at(s, scale, s->widest), 1.0)) - 1);
    return pow((double)(2 * root + 1), s->dims) * (double)s->count;
}

/* No other has a chance from now on. */
static void turn_to_some(search *s) {
    const dart_list swap = s->open;
    s->open = s->some;
    s->some = swap;
}

/* Whether there is room at this scale, below which none is tried from then on if there is. */
static bool try_scale(search *s, double scale) {
    const int64_t n = count_open(s, scale);
    s->share = (double)n / (double)s->count;
    if (s->share < 0.5) return false;
    if ((double)n >= surely(s, scale)) {
        s->share = 1.0;
        s->thrown = false;
        return true;
    }
    const bool many = !s->open.ordered && n > s->open.n / 8;
    if (many) s->status = order(s, 0.0, s->open.n); /* once, not for each throw */
    if (many) turn_to_some(s);
    if (!s->status) s->status = order(s, scale, n);
    if (s->status || !throw_all(s, scale)) return false;
    turn_to_some(s);
    return true;
}

/* Brackets the scale in steps that grow, since spreads may differ by many powers of ten, then
 * halves the bracket in its logarithm. After a throw that almost found room for all, the root of
 * its share is a better guess; every other time, since it can be wrong. Different positions are at
 * least 1 apart, so a scale at which less is asked for leaves room for all. */
static void find_scale(search *s) {
    const double least = 0.5 / s->widest, most = s->most / s->narrowest;
    double low = 0.0, high = 0.0, factor = 2.0, scale = fmax(0.25 * s->most, least);
    bool guessed = false;
    while (!s->status) {
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
    if (s->status || s->thrown) return;
    s->status = order(s, low, s->open.n);
    if (!s->status) (void)throw_all(s, low);
}

/* The largest distance, in units of that of a square grid of as many places. Random darts at equal
 * distances come to 0.75, so in a picture the density is followed down to a quarter of its mean. */
static const double SPACING = 1.5;

static const double REACH_MAX = 65535; /* its square is below CSREC_FAR */

static bool is_free(const search *s, int64_t i, bool zero) {
    const uint8_t *allowed = s->options->allowed;
    const bool may = !allowed || allowed[i], fits = !s->density || (s->density[i] > 0.0) != zero;
    return (s->nearest[i] > 0) & may & fits; /* & as nobody could foresee branches */
}

static int64_t count_free(const search *s, bool zero) {
    int64_t n = 0;
#pragma omp parallel for schedule(static) reduction(+ : n)                                         \
    num_threads(csrec_threads_for(s->entries, 0))
    for (int64_t i = 0; i < s->entries; i++) n += is_free(s, i, zero);
    return n;
}

/* Lists the n free positions with the distances that they must keep. */
static void list_free(search *s, int64_t n, bool zero) {
    dart_list *to = &s->open;
    double sum = 0.0, largest = 0.0, narrowest = INFINITY, widest = 0.0;
    for (int64_t i = 0; i < s->entries; i++) {
        const bool takes = is_free(s, i, zero);
        to->index[to->n] = i;
        to->n += takes;
        if (takes && s->density && s->density[i] > largest) largest = s->density[i];
    }
    if (zero) s->density = NULL;
    s->unit = csrec_unit_of(largest);
    for (int64_t k = 0; k < n; k++) sum += density_at(s, to->index[k]);
    const double mean = sum / (double)n;
    const int threads = csrec_threads_for(n, 0);
#pragma omp parallel for num_threads(threads) reduction(min : narrowest) reduction(max : widest)
    for (int64_t k = 0; k < n; k++) {
        const double v = mean / density_at(s, to->index[k]);
        const double spread = squared_distance(v < 0x1p250 ? v : 0x1p250, s->dims);
        to->spread[k] = spread;
        narrowest = spread < narrowest ? spread : narrowest;
        widest = spread > widest ? spread : widest;
    }
    s->narrowest = narrowest;
    s->widest = widest;
}

/* Places 1 <= count <= n darts at the n free positions whose density is zero, or is not, each at
 * least sqrt(min(scale spread, most)) from all that are measured or were taken before it, at the
 * largest scale, within 4 %, at which there is room for so many. CSREC_MEMORY, CSREC_STOPPED. */
static csrec_status place_round(search *s, int64_t n, int64_t count, bool zero, int64_t *place) {
    csrec_pool pool = {0};
    const double most = SPACING * SPACING * squared_distance((double)n / (double)count, s->dims);
    s->count = count;
    s->most = fmin(most, REACH_MAX * REACH_MAX);
    s->open = s->some = (dart_list){.n = 0};
    for (int k = 0; k < 2; k++) {
        CSREC_TAKE(&pool, *(k ? &s->open.index : &s->some.index), n + 1);
        CSREC_TAKE(&pool, *(k ? &s->open.spread : &s->some.spread), n + 1);
        CSREC_TAKE(&pool, *(k ? &s->place : &s->best), count);
    }
    CSREC_TAKE(&pool, s->map, s->entries);
    s->status = csrec_pool_status(&pool);
    if (!s->status) list_free(s, n, zero);
    if (!s->status) find_scale(s);
    if (!s->status) memcpy(place, s->best, (size_t)count * sizeof *place);
    csrec_pool_clear(&pool);
    return s->status;
}

/* Where the density is above zero there are too few places: takes them all, then spreads the rest
 * evenly over the others. */
static csrec_status place_rest(search *s, int64_t n, int64_t n_zero) {
    int64_t k = 0;
    for (int64_t i = 0; i < s->entries; i++) {
        s->nearest[i] = s->nearest[i] == 0 ? 0 : CSREC_FAR;
        if (!is_free(s, i, false)) continue;
        s->taken[k++] = i;
        s->nearest[i] = 0;
    }
    csrec_status status = csrec_distance_squared(s->extent, 0, s->nearest);
    if (!status) status = place_round(s, n_zero, s->options->count - n, true, s->taken + n);
    s->best_squared = 1.0;
    return status;
}

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
    const int64_t entries = s->entries;
    s->nearest = csrec_memory_allocate((size_t)entries * sizeof *s->nearest);
    if (!s->nearest) return CSREC_MEMORY;
    for (int64_t i = 0; i < entries; i++) s->nearest[i] = CSREC_FAR;
    for (int64_t k = 0; k < m->n; k++) s->nearest[m->index[k]] = 0;
    return csrec_distance_squared(s->extent, 0, s->nearest);
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
    s->taken = malloc((size_t)count * sizeof *s->taken);
    if (!s->taken) return CSREC_MEMORY;
    CSREC_TRY(count <= n ? place_round(s, n, count, false, s->taken) : place_rest(s, n, n_zero));
    return csrec_sort_rows(count, (uint64_t *)s->taken, NULL);
}

csrec_status csrec_where_next(const csrec_measurement *measurement, const double *density,
                              const csrec_next_options *options, csrec_sampling *next,
                              csrec_error *error) {
    if (error) error->text[0] = '\0';
    search s = {.density = density, .options = options, .best_squared = 1.0};
    CSREC_TRY(csrec_places_check(measurement, density, s.extent, &s.entries, error));
    for (int a = 0; a < 3; a++) s.dims += s.extent[a] > 1;
    if (s.dims == 0) s.dims = 1;
    int64_t zeros = 0;
    while (density && zeros < s.entries && density[zeros] == 0.0) zeros++;
    if (zeros == s.entries) s.density = NULL;
    csrec_status status = map_measured(&s, measurement);
    if (!status) status = place_all(&s, error);
    if (!status) {
        *next = (csrec_sampling){
            .n = options->count, .index = s.taken, .min_distance = sqrt(fmax(s.best_squared, 1.0))};
        s.taken = NULL;
    }
    free(s.taken);
    free(s.nearest);
    if (status == CSREC_MEMORY)
        return csrec_fail(error, status, "no memory for the places, up to 64 bytes an entry");
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "the search for places was stopped");
    return status;
}
