/* SPDX-License-Identifier: BSD-3-Clause */
/* outliers.c - samples that are far from all of their neighbours. */
#include <math.h>
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
    int64_t at = csrec_nearby_sample(&j->nearby, rank) * j->m->channels + channel;
    return j->m->y[at] / j->unit;
}

/* How far outside of the values of so many neighbours: more than both shares, of their range and
 * that of all samples. Gross errors pass the strict test mostly, what belongs to the signal, as
 * lines, corners and texture, mostly the loose one only (docs/measured.md). */
typedef struct far_test {
    int neighbours;
    double of_near, of_all;
} far_test;

static const far_test STRICT = {12, 1.0, 0.2}, LOOSE = {8, 0.25, 0.12};

enum { NEIGHBOURS = 12, IS_STRICT = 1, IS_LOOSE = 2 };

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

/* Adds to the marks of one channel. sample: NULL or the number of each in `mark`. */
static void mark_channel(const seen *j, int64_t channel, const int64_t *sample, int threads,
                         uint8_t *mark) {
    double range = csrec_nearby_range(j->m, j->unit, channel);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < j->nearby.n; k++) {
        csrec_neighbour near[NEIGHBOURS];
        const int64_t at = csrec_nearby_sample(&j->nearby, k);
        uint8_t *own = &mark[sample ? sample[at] : at];
        csrec_nearby_find(&j->nearby, k, NEIGHBOURS, near);
        if (is_far(j, &STRICT, range, k, channel, near)) *own |= IS_STRICT | IS_LOOSE;
        if (is_far(j, &LOOSE, range, k, channel, near)) *own |= IS_LOOSE;
    }
}

static int64_t count_marks(int64_t n, const uint8_t *mark, uint8_t which) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += (mark[i] & which) != 0;
    return count;
}

/* The mark that makes an outlier; 0: none. */
static uint8_t mark_of_outliers(int64_t n, const uint8_t *mark) {
    int64_t strict = count_marks(n, mark, IS_STRICT), loose = count_marks(n, mark, IS_LOOSE);
    if (2 * loose <= 5 * strict) return IS_LOOSE;
    return strict <= n / 2000 ? IS_STRICT : 0;
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
    if (status) return status;
    uint8_t wanted = mark_of_outliers(n, outlier);
    *found = count_marks(n, outlier, wanted);
    for (int64_t i = 0; i < n; i++) outlier[i] = (outlier[i] & wanted) != 0;
    return CSREC_OK;
}
