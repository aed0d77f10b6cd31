/* SPDX-License-Identifier: BSD-3-Clause */
/* next.c - where to measure next: darts weighted by the error that is thought to be left.
 *
 * The order of the darts must not depend on the platform, but the C library's log does, in the last
 * bit. So keys are made of operations that IEEE 754 rounds exactly: + - * / and frexp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "sampling/ball.h"
#include "sampling/darts.h"
#include "sampling/distance.h"
#include "base/error.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/threads.h"
#include "base/unit.h"

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
    csrec_darts darts;
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
        status = csrec_darts_place(&s->darts, place, &s->squared);
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

static csrec_status check_frame(search *s, const csrec_measurement *m, csrec_error *error) {
    if (m->through)
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "is measured through an operator; places are found for entries of a signal");
    csrec_status status = csrec_extents_check(&m->shape, m->n, m->index, "places are found in",
                                              s->darts.extent, &s->darts.entries, error);
    for (int a = 0; a < 3 && !status; a++) s->dims += s->darts.extent[a] > 1;
    if (s->dims == 0) s->dims = 1;
    return status;
}

static csrec_status check_density(search *s, csrec_error *error) {
    for (int64_t i = 0; s->density && i < s->darts.entries; i++)
        if (!(s->density[i] >= 0.0 && s->density[i] <= 0x1.fffffffffffffp1023))
            return csrec_fail(error, CSREC_DATA,
                              "density: entry %lld is %g; give finite numbers that are 0 or more",
                              (long long)i, s->density[i]);
    if (s->density && csrec_largest(s->darts.entries, s->density) == 0.0) s->density = NULL;
    return CSREC_OK;
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
    csrec_status status = check_frame(&s, measurement, error);
    if (status) return status;
    s.darts.progress = options->progress;
    s.darts.context = options->context;
    status = check_density(&s, error);
    if (!status) status = map_measured(&s, measurement);
    if (!status) status = place_all(&s, error);
    if (!status) {
        *next = (csrec_sampling){options->count, s.place, sqrt(fmax(s.squared, 1.0))};
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
