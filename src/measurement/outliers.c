/* SPDX-License-Identifier: BSD-3-Clause */
/* outliers.c - samples that are far from all of their neighbours. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/recover.h"
#include "base/threads.h"
#include "base/unit.h"
#include "measurement/channels.h"
#include "measurement/each.h"
#include "measurement/measurement.h"
#include "measurement/nearby.h"

typedef struct seen {
    const csrec_measurement *m;
    double unit; /* y = unit * value */
    csrec_nearby nearby;
} seen;

static double value_of(const seen *j, int64_t rank, int64_t channel) {
    return j->m->y[csrec_nearby_sample(&j->nearby, rank) * j->m->channels + channel] / j->unit;
}

/* How far outside of the values of so many neighbours: more than both shares, of their range and
 * that of all samples. Gross errors pass the strict test mostly, what belongs to the signal, as
 * lines, corners and texture, mostly the loose one only (docs/measured.md). */
typedef struct far_test {
    int neighbours;
    double of_near, of_all;
} far_test;

static const far_test STRICT = {12, 1.0, 0.2}, LOOSE = {8, 0.25, 0.12};

enum { NEIGHBOURS = 12, IS_STRICT = 1, IS_LOOSE = 2, IS_SURE = 4, IS_LEAST = 8, IS_MOST = 16 };

/* Of SALT_NEAR neighbours at most SALT_FEW have the same extreme value as most grains of salt;
 * where there is salt, also those that have two more are. */
enum { SALT_NEAR = 8, SALT_FEW = 3 };

static bool is_far(const seen *j, const far_test *test, double range, int64_t rank, int64_t channel,
                   const csrec_neighbour *near) {
    double value = value_of(j, rank, channel);
    double low = value_of(j, near[0].rank, channel), high = low;
    for (int i = 1; i < test->neighbours; i++) {
        double other = value_of(j, near[i].rank, channel);
        low = fmin(low, other);
        high = fmax(high, other);
    }
    double outside = fmax(low - value, value - high);
    return outside > test->of_near * (high - low) && outside > test->of_all * range;
}

/* Salt and pepper hides in its own kind. It is in samples that have the least or the largest
 * value of all, by chance: of their neighbours as many have the same as of all samples, so few have
 * half. Areas that a picture has of these values, and lines, have neighbours of all numbers, and a
 * ridge is near to what is beside it; so is noise that is clipped to them.
 * alike: of the samples with such a value how many have so many neighbours like them. */
typedef struct extremes {
    double value[2];
    int64_t alike[2][SALT_NEAR + 1];
    int64_t apart[2]; /* of those with few, how many are far from all else that is near */
} extremes;

/* Samples that have few like them; with half it is above what chance makes. */
static int64_t count_few(const int64_t alike[SALT_NEAR + 1], int64_t *half) {
    int64_t few = 0;
    for (int k = 0; k <= SALT_FEW; k++) few += alike[k];
    *half = alike[SALT_FEW + 1] + alike[SALT_FEW + 2];
    return few;
}

/* Whether other samples resemble those that are near rather than any; else nothing is told by
 * neighbours. In the order of the tree the next is near. */
static bool is_smooth(const seen *j, int64_t channel, const extremes *e) {
    const int64_t n = j->nearby.n;
    double near = 0.0, far = 0.0, last = NAN;
    for (int64_t k = 0; k < n; k++) {
        const double v = value_of(j, k, channel), w = value_of(j, (k + n / 2) % n, channel);
        if (v == e->value[0] || v == e->value[1]) continue;
        if (!isnan(last)) near += fabs(v - last);
        if (w != e->value[0] && w != e->value[1]) far += fabs(v - w);
        last = v;
    }
    return near < 0.9 * far;
}

static void settle_salt(const seen *j, int64_t channel, const extremes *e, const int64_t *sample,
                        uint8_t *mark) {
    const int64_t n = j->nearby.n;
    int64_t half[2], few[2];
    uint8_t own = 0;
    for (int i = 0; i < 2; i++) few[i] = count_few(e->alike[i], &half[i]);
    for (int i = 0; i < 2 && is_smooth(j, channel, e); i++) {
        if (few[i] < 12 || 1000 * few[i] < n || 8 * half[i] > few[i] || 2 * e->apart[i] < few[i])
            continue;
        own |= i ? IS_MOST : IS_LEAST;
        if (2 * few[!i] >= few[i]) own |= IS_MOST | IS_LEAST; /* they come together */
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t *at = &mark[sample ? sample[i] : i];
        if (*at & own) *at |= IS_SURE;
        *at &= IS_STRICT | IS_LOOSE | IS_SURE;
    }
}

/* Adds to the marks of one channel. sample: NULL or the number of each in `mark`. */
static void mark_channel(const seen *j, int64_t channel, const int64_t *sample, int threads,
                         uint8_t *mark) {
    const double range = csrec_nearby_range(j->m, j->unit, channel);
    extremes e = {.value = {INFINITY, -INFINITY}};
    for (int64_t k = 0; k < j->nearby.n; k++) {
        e.value[0] = fmin(e.value[0], value_of(j, k, channel));
        e.value[1] = fmax(e.value[1], value_of(j, k, channel));
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < j->nearby.n; k++) {
        csrec_neighbour near[NEIGHBOURS];
        const int64_t at = csrec_nearby_sample(&j->nearby, k);
        uint8_t *own = &mark[sample ? sample[at] : at];
        csrec_nearby_find(&j->nearby, k, NEIGHBOURS, near);
        if (is_far(j, &STRICT, range, k, channel, near)) *own |= IS_STRICT | IS_LOOSE;
        if (is_far(j, &LOOSE, range, k, channel, near)) *own |= IS_LOOSE;
        const double value = value_of(j, k, channel);
        if (value != e.value[0] && value != e.value[1]) continue;
        const bool is_most = value == e.value[1];
        int same = 0;
        double nearest = INFINITY;
        for (int i = 0; i < SALT_NEAR; i++) {
            const double other = value_of(j, near[i].rank, channel);
            same += other == value;
            if (other != value) nearest = fmin(nearest, fabs(other - value));
        }
#pragma omp atomic
        e.alike[is_most][same]++;
        if (same <= SALT_FEW && nearest > STRICT.of_all * range)
#pragma omp atomic
            e.apart[is_most]++;
        if (same <= SALT_FEW + 2) *own |= is_most ? IS_MOST : IS_LEAST;
    }
    settle_salt(j, channel, &e, sample, mark);
}

static int64_t count_marks(int64_t n, const uint8_t *mark, uint8_t which) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += (mark[i] & which) != 0;
    return count;
}

/* The mark that makes an outlier; 0: none. */
static uint8_t mark_of_outliers(int64_t n, const uint8_t *mark) {
    int64_t strict = count_marks(n, mark, IS_STRICT), loose = count_marks(n, mark, IS_LOOSE);
    if (2 * loose <= 5 * strict) return IS_LOOSE | IS_SURE;
    return strict <= n / 2000 ? IS_STRICT | IS_SURE : IS_SURE;
}

typedef struct outlier_job {
    double unit;
    int threads;
    uint8_t *mark; /* [samples] */
} outlier_job;

/* A csrec_group_fn. */
static csrec_status mark_group(void *context, const csrec_groups *groups, int64_t k,
                               const csrec_measurement *part, const int64_t *sample,
                               csrec_error *error) {
    const outlier_job *all = context;
    seen j = {.m = part, .unit = all->unit};
    (void)groups, (void)k;
    if (part->n <= NEIGHBOURS) return CSREC_OK;
    csrec_status status = csrec_nearby_create(part, NEIGHBOURS, &j.nearby, error);
    for (int64_t c = 0; c < part->channels && !status; c++)
        mark_channel(&j, c, sample, csrec_threads(all->threads), all->mark);
    csrec_nearby_clear(&j.nearby);
    return status;
}

/* Of radiance, which spans decades, fireflies: as of one ray each, unless they are too many, as
 * stars. */
static csrec_status mark_fireflies(const csrec_measurement *m, int threads, uint8_t *mark,
                                   csrec_error *error) {
    csrec_measurement lit = *m;
    const int64_t values = m->n * m->channels;
    double least = 0.0, most = 0.0, sum = 0.0;
    for (int64_t i = 0; i < values; i++) {
        least = fmin(least, m->y[i]);
        most = fmax(most, m->y[i]);
        sum += isnan(m->y[i]) ? 0.0 : m->y[i] / (double)values;
    }
    if (least < 0.0 || most <= 4.0 * sum) return CSREC_OK;
    uint8_t *bright = malloc((size_t)m->n);
    lit.rays = malloc((size_t)m->n * sizeof *lit.rays);
    for (int64_t i = 0; i < m->n && lit.rays; i++) lit.rays[i] = 1.0;
    csrec_status status = bright && lit.rays ? csrec_fireflies_find(&lit, threads, bright, error)
                                             : csrec_memory_fail(error, NULL);
    if (!status && 500 * count_marks(m->n, bright, 1) <= m->n)
        for (int64_t i = 0; i < m->n; i++) mark[i] |= bright[i] ? IS_SURE : 0;
    free(lit.rays);
    free(bright);
    return status;
}

csrec_status csrec_outliers_find(const csrec_measurement *measurement, int threads,
                                 uint8_t *outlier, int64_t *found, csrec_error *error) {
    int64_t n = measurement->n;
    csrec_status status = csrec_measurement_check_points(measurement, "measurement", error);
    if (status) return status;
    outlier_job j = {csrec_unit_of(csrec_largest(n * measurement->channels, measurement->y)),
                     threads, outlier};
    *found = 0;
    memset(outlier, 0, (size_t)n);
    if (measurement->rays) {
        status = csrec_fireflies_find(measurement, threads, outlier, error);
        *found = status ? 0 : count_marks(n, outlier, 1);
        return status;
    }
    status = csrec_groups_each(measurement, mark_group, &j, error);
    if (!status) status = mark_fireflies(measurement, threads, outlier, error);
    if (status) return status;
    uint8_t wanted = mark_of_outliers(n, outlier);
    *found = count_marks(n, outlier, wanted);
    for (int64_t i = 0; i < n; i++) outlier[i] = (outlier[i] & wanted) != 0;
    return CSREC_OK;
}
