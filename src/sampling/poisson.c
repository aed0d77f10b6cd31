/* SPDX-License-Identifier: BSD-3-Clause */
/* poisson.c - Poisson-disc sampling on pixel centres, with exactly the count asked for.
 *
 * R. Bridson, "Fast Poisson disk sampling in arbitrary dimensions", 2007: from a random sample of
 * the active list, candidates are drawn in the shell from one radius to two around it; the first
 * that keeps its distance from every sample becomes one; a sample without such a candidate leaves
 * the list. Candidates are pixels, so the distance holds for the pixels themselves. Instead of
 * Bridson's grid of cells there is a byte a pixel, set inside the disc of every sample: the discs
 * together cover the signal a few times over whatever the radius, and a candidate costs one lookup.
 *
 * On pixels a radius gives one density: at distance 2 about 19 % of a picture, at the next smaller
 * one, sqrt 2, about 36 %. To meet the count, the gaps that Bridson's samples leave are filled in
 * random order, first at the same radius until no pixel fits (dart throwing over the free pixels),
 * then at ever smaller radii (McCool and Fiume 1992), until there are `count` samples. Random order
 * keeps a radius that is left unfinished as even as a finished one.
 *
 * Guaranteed: exactly `count` samples, any two at least min_distance apart, min_distance being the
 * last radius: sqrt 2 or more up to about 35 % of a picture, 1 (distinct pixels) beyond. Integers
 * and exactly rounded operations only: the same positions on every platform. One thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling.h"
#include "base/error.h"
#include "base/random.h"

/* Bridson's k. He uses 30, since he has no second pass that fills the gaps. */
enum { CANDIDATES = 12, TRIES = 4 * CANDIDATES };

/* A larger signal would need more than 2 GiB for the byte a pixel, and squares of distances more
 * than 62 bits. */
static const int64_t ENTRIES_MAX = INT64_C(1) << 31;

typedef struct {
    int64_t extent[3]; /* of a picture: 1, height, width */
    int64_t entries, count, n;
    int64_t squared;  /* radius^2 of this level */
    int64_t *point;   /* [count] */
    uint8_t *blocked; /* [entries] within the radius of a sample */
    uint64_t seed, drawn;
    const csrec_sampling_plan *plan;
    uint32_t steps; /* work since the last check whether to stop */
    bool stopped;
} disc;

/* Blocks every pixel nearer than the radius. */
static void block(disc *d, int64_t point) {
    csrec_ball ball = csrec_ball_at(d->extent, point, d->squared);
    for (csrec_ball_row row; csrec_ball_next(&ball, &row);)
        memset(d->blocked + row.first, 1, (size_t)row.count);
}

static void add(disc *d, int64_t point) {
    d->point[d->n++] = point;
    block(d, point);
}

/* A pixel of the shell radius <= distance < 2 radius around `at`, uniform over those inside the
 * signal, or -1. The box around the shell is clipped at the borders, so that most draws hit. */
static int64_t candidate(disc *d, const int64_t at[3]) {
    int64_t reach = csrec_root(4 * d->squared - 1), low[3], span[3];
    for (int a = 0; a < 3; a++) {
        low[a] = csrec_larger(0, at[a] - reach);
        span[a] = csrec_smaller(d->extent[a] - 1, at[a] + reach) - low[a] + 1;
    }
    for (int tries = 0; tries < TRIES; tries++) {
        uint32_t word[4];
        csrec_random_words(d->seed, CSREC_STREAM_POISSON, d->drawn++, word);
        int64_t distance = 0, point = 0;
        for (int a = 0; a < 3; a++) {
            int64_t c = low[a] + (int64_t)((word[a] * (uint64_t)span[a]) >> 32);
            distance += (c - at[a]) * (c - at[a]);
            point = point * d->extent[a] + c;
        }
        if (distance >= d->squared && distance < 4 * d->squared) return point;
    }
    return -1;
}

static int64_t below(disc *d, int64_t n) {
    uint64_t word = csrec_random_u64(d->seed, CSREC_STREAM_POISSON, d->drawn++);
    return (int64_t)csrec_random_below(word, (uint64_t)n);
}

/* About a millisecond of work between checks. */
static bool is_stopped(disc *d) {
    if (++d->steps < 4096 || !d->plan->progress || d->stopped) return d->stopped;
    csrec_progress progress = {"poisson samples", d->n, d->count, -1.0};
    d->steps = 0;
    d->stopped = d->plan->progress(&progress, d->plan->context);
    return d->stopped;
}

/* One of Bridson's steps: adds a sample near a random active one, or retires the active one. */
static void grow_once(disc *d, int64_t *active, int64_t *n_active) {
    int64_t chosen = below(d, *n_active), at[3];
    csrec_locate(d->extent, active[chosen], at);
    for (int k = 0; k < CANDIDATES; k++) {
        int64_t point = candidate(d, at);
        if (point < 0 || d->blocked[point]) continue;
        add(d, point);
        active[(*n_active)++] = point;
        return;
    }
    active[chosen] = active[--*n_active];
}

/* Bridson's algorithm at this radius, stopped at `count` samples. active: [count]. */
static void grow(disc *d, int64_t *active) {
    memset(d->blocked, 0, (size_t)d->entries);
    d->n = 0;
    add(d, below(d, d->entries));
    active[0] = d->point[0];
    int64_t n_active = 1;
    while (n_active && d->n < d->count && !is_stopped(d)) grow_once(d, active, &n_active);
}

/* The pixels outside all discs; the caller frees free[0 .. *n). */
static csrec_status list_free(const disc *d, int64_t **list, int64_t *n) {
    *n = 0;
    for (int64_t i = 0; i < d->entries; i++) *n += !d->blocked[i];
    *list = malloc(((size_t)*n + 1) * sizeof **list);
    if (!*list) return CSREC_MEMORY;
    int64_t *next = *list;
    for (int64_t i = 0; i < d->entries; i++)
        if (!d->blocked[i]) *next++ = i;
    return CSREC_OK;
}

/* Visits free pixels in random order and takes those still free, until `count`. */
static csrec_status throw_darts(disc *d) {
    int64_t *list, n;
    CSREC_TRY(list_free(d, &list, &n));
    for (; n && d->n < d->count && !is_stopped(d); n--) {
        int64_t chosen = below(d, n);
        if (!d->blocked[list[chosen]]) add(d, list[chosen]);
        list[chosen] = list[n - 1];
    }
    free(list);
    return CSREC_OK;
}

/* Whether two pixels can be at this squared distance at all: a radius that no pair attains, such as
 * sqrt 3 in a picture, is equivalent to the next larger attainable one. */
static bool is_distance(const disc *d, int64_t squared) {
    if (squared > 1000) return true; /* gaps between squared distances no longer matter */
    for (int64_t z = 0; z * z <= squared && z < d->extent[0]; z++)
        for (int64_t y = 0; z * z + y * y <= squared; y++) {
            int64_t rest = squared - z * z - y * y;
            if (csrec_root(rest) * csrec_root(rest) == rest) return true;
        }
    return false;
}

/* A radius whose filled signal has slightly fewer samples than `count`: samples at random distances
 * of at least r fill about 0.72 entries / r^dims positions. */
static int64_t first_radius(const disc *d) {
    double volume = 0.75 * (double)d->entries / (double)d->count; /* r^dims */
    int64_t squared = 1;
    if (d->extent[0] == 1)
        squared = csrec_larger(1, (int64_t)ceil(volume));
    else
        while ((double)squared * (double)squared * (double)squared < volume * volume) squared++;
    while (!is_distance(d, squared)) squared++;
    return squared;
}

/* Fewer samples than asked for at this radius: the next smaller one. */
static csrec_status shrink(disc *d) {
    d->squared -= csrec_larger(1, d->squared / 20);
    while (!is_distance(d, d->squared)) d->squared--;
    memset(d->blocked, 0, (size_t)d->entries);
    for (int64_t i = 0; i < d->n && !is_stopped(d); i++) block(d, d->point[i]);
    return throw_darts(d);
}

static csrec_status run(disc *d) {
    int64_t *active = malloc((size_t)d->count * sizeof *active);
    if (!active) return CSREC_MEMORY;
    /* Thin signals hold more than first_radius expects: start again with a larger radius, up to
     * where 4 radius^2 still fits. */
    d->squared = first_radius(d);
    grow(d, active);
    while (d->n == d->count && d->count > 1 && !d->stopped && d->squared < INT64_C(1) << 58) {
        d->squared *= 2;
        grow(d, active);
    }
    free(active);
    csrec_status status = throw_darts(d);
    while (!status && !d->stopped && d->n < d->count) status = shrink(d);
    return !status && d->stopped ? CSREC_STOPPED : status;
}

csrec_status csrec_sampling_poisson(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                    csrec_error *error) {
    const csrec_shape *shape = plan->shape;
    if (shape->dims != 2 && shape->dims != 3)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "poisson sampling is for 2-D and 3-D signals, not %d-D; "
                          "use jitter or uniform",
                          shape->dims);
    if (plan->entries > ENTRIES_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "poisson sampling needs a byte an entry and takes at most 2^31 entries; "
                          "use jitter or uniform");
    disc d = {.entries = plan->entries, .count = plan->count, .seed = plan->seed, .plan = plan};
    csrec_extents(shape, d.extent);
    d.point = sampling->index;
    d.blocked = malloc((size_t)d.entries);
    csrec_status status = d.blocked ? run(&d) : CSREC_MEMORY;
    free(d.blocked);
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "poisson sampling was stopped; jitter is done at once");
    if (status)
        return csrec_fail(error, status,
                          "no memory for poisson sampling, 1 to 9 bytes an entry; use jitter");
    sampling->min_distance = sqrt((double)d.squared);
    return CSREC_OK;
}

/* ---- jittered sampling with exactly the count that was asked for.
 *
 * A regular grid of cells fits few counts and few shapes. Here the signal is halved along its
 * longest axis, and each half again, until a box has one sample, which falls anywhere in it. A
 * half that holds the fraction f of its box's entries takes k f of its k samples, rounded up or
 * down at random so that k f is the mean. Hence
 *   - the counts add up: exactly `count` samples, one in each of `count` cells;
 *   - every position is sampled with probability count / entries exactly (the mean of each share is
 *     exact, and a cell's sample is uniform in it);
 *   - where count is the number of equal boxes that halving makes (25 % of a 512 x 512 picture),
 *     the cells are the plain 2 x 2 grid. */

typedef struct {
    int64_t low[CSREC_DIMS_MAX], extent[CSREC_DIMS_MAX];
} box;

typedef struct {
    const csrec_shape *shape;
    uint64_t seed;
    int64_t *next; /* where the next position goes */
} partition;

static int64_t flat_position(const csrec_shape *shape, const int64_t *at) {
    int64_t flat = 0;
    for (int d = 0; d < shape->dims; d++) flat = flat * shape->dim[d] + at[d];
    return flat;
}

static int longest_axis(const csrec_shape *shape, const box *b) {
    int axis = 0;
    for (int d = 1; d < shape->dims; d++)
        if (b->extent[d] > b->extent[axis]) axis = d;
    return axis;
}

/* Boxes of one depth differ in their first position, so (depth, position) names each draw. */
static uint64_t draw(const partition *p, const box *b, int depth) {
    return csrec_random_u64(p->seed, (uint64_t)(CSREC_STREAM_JITTER + depth),
                            (uint64_t)flat_position(p->shape, b->low));
}

static void place_one(partition *p, const box *b, int depth) {
    uint64_t volume = 1;
    for (int d = 0; d < p->shape->dims; d++) volume *= (uint64_t)b->extent[d];
    uint64_t member = csrec_random_below(draw(p, b, depth), volume);
    int64_t at[CSREC_DIMS_MAX];
    for (int d = p->shape->dims - 1; d >= 0; d--) {
        at[d] = b->low[d] + (int64_t)(member % (uint64_t)b->extent[d]);
        member /= (uint64_t)b->extent[d];
    }
    *p->next++ = flat_position(p->shape, at);
}

/* floor(k half / extent + u / extent) with u uniform in 0 .. extent - 1: the share of the lower
 * half. 2 half = extent or extent - 1 lets it be written without a product beyond 64 bits:
 * k half / extent = (k - k / extent) / 2 for odd extents. */
static int64_t share(int64_t k, int64_t extent, uint64_t word) {
    if (extent % 2 == 0) return k / 2 + (k % 2 ? (int64_t)(word >> 63) : 0);
    int64_t whole = k / extent, rest = k % extent, half = extent / 2;
    /* rest half / extent = (rest - rest / extent) / 2: rest / 2 less rest / (2 extent). In units
     * of 1 / (2 extent), floor it after adding a random multiple of 2 below 2 extent. */
    int64_t doubled = rest / 2;
    int64_t fraction = rest % 2 ? extent - rest : -rest; /* of 2 extent */
    if (fraction < 0) {
        doubled--;
        fraction += 2 * extent;
    }
    int64_t u = 2 * (int64_t)csrec_random_below(word, (uint64_t)extent);
    return whole * half + doubled + (fraction + u >= 2 * extent);
}

static void divide(partition *p, box b, int64_t k, int depth) {
    if (k == 0) return;
    if (k == 1) {
        place_one(p, &b, depth);
        return;
    }
    int axis = longest_axis(p->shape, &b);
    int64_t extent = b.extent[axis], half = extent / 2;
    int64_t lower = share(k, extent, draw(p, &b, depth));
    box above = b;
    b.extent[axis] = half;
    above.low[axis] += half;
    above.extent[axis] = extent - half;
    divide(p, b, lower, depth + 1);
    divide(p, above, k - lower, depth + 1);
}

csrec_status csrec_sampling_jitter(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error) {
    (void)error;
    partition p = {plan->shape, plan->seed, sampling->index};
    box all = {{0}, {0}};
    for (int d = 0; d < plan->shape->dims; d++) all.extent[d] = plan->shape->dim[d];
    divide(&p, all, plan->count, 0);
    return CSREC_OK;
}
