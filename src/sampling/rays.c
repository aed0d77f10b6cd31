/* SPDX-License-Identifier: BSD-3-Clause */
/* rays.c - where to send the next rays, so many to each position: numbers that are not whole, by
 * the errors that are thought to be left, and then whole ones along a Hilbert curve.
 *
 * The numbers must not depend on the platform: they are made of + - * / and roots, which IEEE 754
 * rounds exactly. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/unit.h"
#include "csrec/haar.h"
#include "measurement/each.h"
#include "sampling/sampling.h"

/* Positions on either side that are around one; steps of the search. */
enum { AROUND = 16, STEPS = 60 };

static const int64_t RAYS_MAX = INT64_C(1) << 31;

/* More known rays than these tell nothing else. */
static const double KNOWN_MAX = 0x1p40;

/* Of q, in its means: errors that are expected are wrong by such factors. */
static const double LEAST = 0.25, MOST = 4.0;

/* The share of the rays that may be too many before they are taken away. */
static const double SURPLUS = 1e-3;

typedef struct search {
    const csrec_next_options *options;
    int64_t entries, n; /* n: that are allowed */
    int64_t *place;     /* [n] along the curve */
    double *known;      /* [entries] rays */
    double *q;          /* [n] of place */
    int64_t *rays;      /* [entries] */
    double first;       /* left to the first position, from -1/2 to 1/2 */
    csrec_pool pool;
} search;

/* Rays that position i may get. */
static int64_t room(const search *s, int64_t i) {
    const int64_t count = s->options->count, most = s->options->most;
    if (most <= 0) return count;
    const double left = floor((double)most - s->known[i]);
    return left <= 0.0 ? 0 : left < (double)count ? (int64_t)left : count;
}

static csrec_status order(search *s, const csrec_shape *shape) {
    uint64_t *row = CSREC_TAKE(&s->pool, row, s->entries);
    if (!row) return CSREC_MEMORY;
    for (int64_t i = 0; i < s->entries; i++)
        if (!s->options->allowed || s->options->allowed[i]) s->place[s->n++] = i;
    csrec_status status = csrec_rows_from_index(shape, CSREC_ORDER_HILBERT, s->n, s->place, row);
    return status ? status : csrec_sort_rows(s->n, row, s->place);
}

static double known_at(const search *s, int64_t k) {
    return k < 0 || k >= s->n ? 0.0 : s->known[s->place[k]];
}

static int64_t within(const search *s, int64_t k) {
    return k < 0 ? 0 : k > s->n ? s->n : k;
}

static void weigh(search *s, const double *density) {
    const double unit = density ? csrec_unit_of(csrec_largest(s->entries, density)) : 1.0;
    double sum = 0.0, mean = 0.0;
    for (int64_t k = 0; k < AROUND; k++) sum += known_at(s, k);
    for (int64_t k = 0; k < s->n; k++) {
        const double around = (double)(within(s, k + AROUND + 1) - within(s, k - AROUND));
        sum += known_at(s, k + AROUND) - known_at(s, k - AROUND - 1);
        s->q[k] = density ? density[s->place[k]] / unit * sqrt((1.0 + fmax(sum, 0.0)) / around) : 1;
        mean += s->q[k] / (double)s->n;
    }
    for (int64_t k = 0; k < s->n; k++)
        s->q[k] = mean > 0.0 ? fmin(fmax(s->q[k], LEAST * mean), MOST * mean) / mean : 1.0;
}

/* The numbers for a factor c, 0 after more than twice as many as asked for; returns their sum. */
static int64_t round_all(search *s, double c) {
    const int64_t enough = 2 * s->options->count;
    int64_t sum = 0;
    double left = s->first;
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t i = s->place[k];
        const double want = c * s->q[k] + left - s->known[i], most = (double)room(s, i);
        const double rays = sum > enough ? 0.0 : fmin(fmax(floor(want + 0.5), 0.0), most);
        left = fmin(fmax(want - rays, -1.0), 1.0);
        s->rays[i] = (int64_t)rays;
        sum += s->rays[i];
    }
    return sum;
}

/* Leaves `count` of `sum` rays, evenly along the curve: of the first C floor(C count / sum). */
static void thin(search *s, int64_t sum) {
    uint64_t before = 0, kept = 0;
    for (int64_t k = 0; k < s->n; k++) {
        int64_t *rays = s->rays + s->place[k];
        before += (uint64_t)*rays;
        const uint64_t keep = before * (uint64_t)s->options->count / (uint64_t)sum;
        *rays = (int64_t)(keep - kept);
        kept = keep;
    }
}

static bool is_stopped(const search *s, int step) {
    const csrec_progress now = {"rays", step, STEPS, -1.0};
    return s->options->progress && s->options->progress(&now, s->options->context);
}

static csrec_status share_out(search *s) {
    const int64_t count = s->options->count;
    double low = 0.0, high = 1.0;
    int64_t sum = 0;
    while ((sum = round_all(s, high)) < count) low = high, high *= 2.0;
    for (int step = 0; step < STEPS && (double)(sum - count) > SURPLUS * (double)count; step++) {
        const double c = 0.5 * (low + high);
        if (is_stopped(s, step)) return CSREC_STOPPED;
        const int64_t found = round_all(s, c);
        if (found >= count)
            sum = found, high = c;
        else
            low = c;
    }
    thin(s, round_all(s, high));
    return CSREC_OK;
}

static csrec_status check(const csrec_measurement *m, const csrec_next_options *o,
                          csrec_error *error) {
    if (m->n > 0 && !m->rays)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "the samples have no numbers of rays; give array 'rays'");
    if (o->count < 1 || o->count > RAYS_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "count %lld is not in 1 .. 2^31 rays",
                          (long long)o->count);
    return csrec_each_check(m, "measurement", error);
}

static csrec_status check_room(const search *s, csrec_error *error) {
    int64_t sum = 0;
    for (int64_t k = 0; k < s->n && sum < s->options->count; k++) sum += room(s, s->place[k]);
    if (s->n == 0) return csrec_fail(error, CSREC_ARGUMENT, "all positions are excluded");
    if (sum >= s->options->count) return CSREC_OK;
    return csrec_fail(
        error, CSREC_ARGUMENT,
        "count %lld is not in 1 .. %lld, the rays that at most %lld a position leave; "
        "ask for fewer",
        (long long)s->options->count, (long long)sum, (long long)s->options->most);
}

static csrec_status find(search *s, const csrec_measurement *m, const double *density,
                         csrec_error *error) {
    CSREC_TAKE(&s->pool, s->place, s->entries);
    CSREC_ZEROS(&s->pool, s->known, s->entries);
    CSREC_TAKE(&s->pool, s->q, s->entries);
    CSREC_ZEROS(&s->pool, s->rays, s->entries);
    csrec_status status = csrec_pool_status(&s->pool);
    for (int64_t k = 0; k < m->n && !status; k++)
        s->known[m->index[k]] = fmin(s->known[m->index[k]] + m->rays[k], KNOWN_MAX);
    if (!status) status = order(s, &m->shape);
    if (!status && (status = check_room(s, error))) return status;
    if (!status) weigh(s, density);
    if (!status) status = share_out(s);
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "the search for places was stopped");
    return status ? csrec_fail(error, status, "no memory for the rays, 56 bytes an entry") : status;
}

static csrec_status deliver(const search *s, csrec_sampling *next, csrec_error *error) {
    csrec_sampling made = {.n = 0};
    for (int64_t i = 0; i < s->entries; i++) made.n += s->rays[i] > 0;
    made.index = malloc((size_t)made.n * sizeof *made.index);
    made.rays = malloc((size_t)made.n * sizeof *made.rays);
    if (!made.index || !made.rays) {
        csrec_sampling_clear(&made);
        return csrec_fail(error, CSREC_MEMORY, "no memory for the rays");
    }
    for (int64_t i = 0, k = 0; i < s->entries; i++) {
        if (s->rays[i] == 0) continue;
        made.index[k] = i;
        made.rays[k++] = s->rays[i];
    }
    *next = made;
    return CSREC_OK;
}

csrec_status csrec_rays_next(const csrec_measurement *measurement, const double *density,
                             const csrec_next_options *options, csrec_sampling *next,
                             csrec_error *error) {
    if (error) error->text[0] = '\0';
    search s = {.options = options};
    int64_t extent[3];
    csrec_status status = csrec_places_check(measurement, density, extent, &s.entries, error);
    if (!status) status = check(measurement, options, error);
    if (!status) {
        s.first = csrec_random_uniform(options->seed, CSREC_STREAM_NEXT, 0) - 0.5;
        status = find(&s, measurement, density, error);
    }
    if (!status) status = deliver(&s, next, error);
    csrec_pool_clear(&s.pool);
    return status;
}
