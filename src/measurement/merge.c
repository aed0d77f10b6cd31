/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c - several measurements of one signal become one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "measurement/measurement.h"

/* Two values contradict each other beyond this many standard deviations of their difference, or,
 * where there is no sigma, beyond this share of the range. */
static const double MOST_SIGMAS = 6.0, MOST_SHARE = 0.05;

typedef struct {
    const csrec_measurement *const *parts;
    int64_t n, samples; /* parts, and their samples together */
    double range;       /* of values: from black to white, or of all samples */
    uint64_t *position; /* [samples] ascending */
    int64_t *sample;    /* [samples] number among the samples of all parts, in their order */
    int64_t *start;     /* [n + 1] number of each part's first sample */
    bool rays;          /* all parts have them: they are the weights */
    bool any_rays;      /* sigma is that of one ray */
    double unit;        /* the largest sigma, or 1 */
    double variance;    /* sum over the merged values, in squares of the unit, */
    int64_t values;     /* and their number */
    int64_t contradictions, first; /* positions, and the first of them or -1 */
    csrec_pool pool;
} merge;

static csrec_status fail_part(int64_t k, csrec_status status, const char *what, const char *remedy,
                              csrec_error *error) {
    return csrec_fail(error, status, "part %lld: %s than the first; %s", (long long)k + 1, what,
                      remedy);
}

/* scale: of the parts before, or equal numbers. */
static csrec_status check_part(const csrec_measurement *const parts[], int64_t k, double scale[2],
                               csrec_error *error) {
    const csrec_measurement *m = parts[k], *first = parts[0];
    char name[40];
    snprintf(name, sizeof name, "part %lld", (long long)k + 1);
    CSREC_TRY(csrec_measurement_check_points(m, name, error));
    if (!csrec_shape_equal(&m->shape, &first->shape))
        return fail_part(k, CSREC_DATA, "has another shape", "merge scans of the same signal",
                         error);
    if (m->channels != first->channels)
        return fail_part(k, CSREC_DATA, "has other channels", "merge scans with the same channels",
                         error);
    if (m->scale[0] == m->scale[1]) return CSREC_OK;
    if (scale[0] != scale[1] && (m->scale[0] != scale[0] || m->scale[1] != scale[1]))
        return csrec_fail(error, CSREC_DATA,
                          "part %lld: has scale %g, %g, a part before it %g, %g; merge scans in "
                          "the same units",
                          (long long)k + 1, m->scale[0], m->scale[1], scale[0], scale[1]);
    memcpy(scale, m->scale, sizeof m->scale);
    return CSREC_OK;
}

/* The type of values that may be means, or not measured in a channel. */
static csrec_dtype merged_type(const merge *s, const csrec_measurement *merged) {
    csrec_dtype dtype = s->parts[0]->dtype;
    bool same = true, narrow = true, whole = true;
    for (int64_t k = 0; k < s->n; k++) {
        same = same && s->parts[k]->dtype == dtype;
        narrow = narrow && csrec_dtype_fits_f32(s->parts[k]->dtype);
    }
    for (int64_t i = 0; i < merged->n * merged->channels; i++)
        whole = whole && merged->y[i] == trunc(merged->y[i]);
    if (same && (whole || dtype == CSREC_F32 || dtype == CSREC_F64)) return dtype;
    return narrow ? CSREC_F32 : CSREC_F64;
}

static double range_of(const merge *s, const double scale[2]) {
    double low = INFINITY, high = -INFINITY;
    if (scale[0] != scale[1]) return fabs(scale[1] - scale[0]);
    for (int64_t k = 0; k < s->n; k++)
        for (int64_t i = 0; i < s->parts[k]->n * s->parts[k]->channels; i++) {
            low = fmin(low, s->parts[k]->y[i]);
            high = fmax(high, s->parts[k]->y[i]);
        }
    return high - low;
}

typedef struct {
    const csrec_measurement *m;
    int64_t i;       /* its sample */
    const double *y; /* [channels] */
} value;

/* The standard deviation of a channel; 0: not known, or none. */
static double noise_of(value v, int64_t channel) {
    const double own = csrec_noise_told(v.m, v.i, channel);
    return isnan(own) ? 0.0 : own;
}

static value value_of(const merge *s, int64_t sample) {
    int64_t low = 0, high = s->n;
    while (high - low > 1) { /* the part that holds the sample */
        int64_t middle = low + (high - low) / 2;
        *(s->start[middle] <= sample ? &low : &high) = middle;
    }
    const csrec_measurement *m = s->parts[low];
    const int64_t i = sample - s->start[low];
    return (value){m, i, m->y + i * m->channels};
}

/* Not of rays, of which a few are far from the mean. */
static bool contradict(const merge *s, value a, value b) {
    if (a.m->rays || b.m->rays) return false;
    for (int64_t c = 0; c < s->parts[0]->channels; c++) {
        const double sigma[2] = {noise_of(a, c), noise_of(b, c)};
        const bool known = sigma[0] > 0.0 && sigma[1] > 0.0;
        const double most = known ? MOST_SIGMAS * hypot(sigma[0], sigma[1]) : MOST_SHARE * s->range;
        if (fabs(a.y[c] - b.y[c]) > most) return true;
    }
    return false;
}

/* The smallest sigma of the samples from .. to - 1; 0 if one has none, or of one sample. */
static double least_sigma(const merge *s, int64_t from, int64_t to, int64_t channel) {
    double least = noise_of(value_of(s, s->sample[from]), channel);
    for (int64_t i = from + 1; i < to; i++)
        least = fmin(least, noise_of(value_of(s, s->sample[i]), channel));
    return to - from > 1 ? least : 0.0;
}

/* A weight of the weighted or the plain mean; by sigma at most 1, so that nothing overflows. */
static double weight_of(const merge *s, value v, int64_t channel, double least) {
    const double sigma = noise_of(v, channel);
    if (s->rays) return v.m->rays[v.i];
    return least > 0.0 ? (least / sigma) * (least / sigma) : 1.0;
}

/* The mean of a channel over the samples from .. to - 1 in which it is measured. It is the first
 * value plus a mean of differences, so that equal values stay what they are. */
static double average_channel(merge *s, int64_t from, int64_t to, int64_t channel,
                              double *deviation) {
    const double least = least_sigma(s, from, to, channel);
    double total = 0.0, first = NAN, mean = 0.0, variance = 0.0, rays = 0.0;
    bool open = false;
    for (int64_t i = from; i < to; i++) {
        const value v = value_of(s, s->sample[i]);
        if (isnan(v.y[channel])) continue;
        if (total == 0.0) first = v.y[channel];
        total += weight_of(s, v, channel, least);
    }
    *deviation = NAN;
    if (total == 0.0) return NAN;
    for (int64_t i = from; i < to; i++) {
        const value v = value_of(s, s->sample[i]);
        const double share = weight_of(s, v, channel, least) / total;
        const double own = share * (noise_of(v, channel) / s->unit);
        if (isnan(v.y[channel])) continue;
        mean += share * (v.y[channel] - first);
        variance += own * own;
        rays += v.m->rays ? v.m->rays[v.i] : 1.0;
        open = open || isnan(csrec_noise_told(v.m, v.i, channel));
    }
    s->variance += s->any_rays ? variance * rays : variance;
    s->values++;
    *deviation = open ? NAN : s->unit * sqrt(variance);
    return first + mean;
}

/* Sample k of the merged: of the samples from .. to - 1, all of one position. */
static void average(merge *s, int64_t from, int64_t to, int64_t k, csrec_measurement *merged) {
    bool contradicted = false;
    const int64_t C = merged->channels;
    for (int64_t c = 0; c < C; c++) {
        double deviation;
        merged->y[k * C + c] = average_channel(s, from, to, c, &deviation);
        if (merged->deviation) merged->deviation[k * C + c] = deviation;
    }
    if (merged->rays) merged->rays[k] = 0.0;
    for (int64_t i = from; i < to && merged->rays; i++) {
        const value v = value_of(s, s->sample[i]);
        merged->rays[k] += v.m->rays ? v.m->rays[v.i] : 1.0;
    }
    for (int64_t i = from; i < to; i++)
        for (int64_t j = from; j < i && !contradicted; j++)
            contradicted = contradict(s, value_of(s, s->sample[j]), value_of(s, s->sample[i]));
    if (!contradicted) return;
    if (s->contradictions++ == 0) s->first = (int64_t)s->position[from];
}

static csrec_status allocate(merge *s) {
    for (int64_t k = 0; k < s->n; k++) {
        s->samples += s->parts[k]->n;
        s->unit = fmax(s->unit, s->parts[k]->sigma);
        s->rays = s->rays && s->parts[k]->rays;
    }
    if (s->unit == 0.0) s->unit = 1.0;
    CSREC_TAKE(&s->pool, s->position, s->samples);
    CSREC_TAKE(&s->pool, s->sample, s->samples);
    CSREC_TAKE(&s->pool, s->start, s->n + 1);
    return s->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

static csrec_status sort_samples(merge *s) {
    int64_t i = 0;
    for (int64_t k = 0; k < s->n; k++) {
        s->start[k] = i;
        for (int64_t j = 0; j < s->parts[k]->n; j++, i++) {
            s->position[i] = (uint64_t)s->parts[k]->index[j];
            s->sample[i] = i;
        }
    }
    s->start[s->n] = i;
    return csrec_sort_rows(s->samples, s->position, s->sample);
}

static double merged_sigma(const merge *s) {
    bool same = true;
    for (int64_t k = 1; k < s->n; k++) same = same && s->parts[k]->sigma == s->parts[0]->sigma;
    return same ? s->parts[0]->sigma : s->unit * sqrt(s->variance / (double)s->values);
}

static csrec_status join(merge *s, csrec_measurement *merged, csrec_error *error) {
    bool any_deviation = false;
    for (int64_t k = 0; k < s->n; k++) {
        s->any_rays = s->any_rays || s->parts[k]->rays;
        any_deviation = any_deviation || s->parts[k]->deviation;
    }
    csrec_status status = allocate(s);
    if (!status) status = sort_samples(s);
    if (!status) {
        merged->n = 0;
        for (int64_t i = 0; i < s->samples; i++)
            merged->n += i == 0 || s->position[i] != s->position[i - 1];
        status = csrec_measurement_allocate(merged, "the merged measurement", error);
    }
    if (!status && (status = csrec_each_allocate(s->any_rays, any_deviation, merged)))
        csrec_measurement_clear(merged);
    if (status) return status;
    int64_t k = 0;
    for (int64_t i = 0, to; i < s->samples; i = to, k++) {
        for (to = i + 1; to < s->samples && s->position[to] == s->position[i];) to++;
        merged->index[k] = (int64_t)s->position[i];
        average(s, i, to, k, merged);
    }
    merged->sigma = merged_sigma(s);
    csrec_measurement_retype(merged_type(s, merged), s->parts[0]->dtype, merged);
    return CSREC_OK;
}

/* Those of the first part that has any: what is known everywhere is the same in all. */
static csrec_status add_guides(const csrec_measurement *const parts[], int64_t n,
                               csrec_measurement *merged, csrec_error *error) {
    const int64_t from[CSREC_DIMS_MAX] = {0};
    int64_t k = 0;
    merged->sequence = parts[0]->sequence;
    merged->bands_apart = parts[0]->bands_apart;
    merged->uncut = parts[0]->uncut;
    while (k < n && !parts[k]->guides) k++;
    if (k == n) return CSREC_OK;
    merged->guides = csrec_guides_crop(parts[k]->guides, &merged->shape, from, &merged->shape);
    if (merged->guides) return CSREC_OK;
    csrec_measurement_clear(merged);
    return csrec_fail(error, CSREC_MEMORY, "no memory for the guides of a merged measurement");
}

csrec_status csrec_measurement_merge(int64_t n, const csrec_measurement *const parts[],
                                     csrec_measurement *merged, int64_t contradictions[2],
                                     csrec_error *error) {
    if (error) error->text[0] = '\0';
    if (n < 1) return csrec_fail(error, CSREC_ARGUMENT, "nothing to merge; give measurements");
    merge s = {.parts = parts, .n = n, .first = -1, .rays = true};
    csrec_measurement made = {0};
    for (int64_t k = 0; k < n; k++) CSREC_TRY(check_part(parts, k, made.scale, error));
    made.shape = parts[0]->shape;
    made.channels = parts[0]->channels;
    s.range = range_of(&s, made.scale);
    csrec_status status = join(&s, &made, error);
    csrec_pool_clear(&s.pool);
    if (status)
        return csrec_fail(error, status, "no memory to merge %lld measurements", (long long)n);
    CSREC_TRY(add_guides(parts, n, &made, error));
    if (contradictions) {
        contradictions[0] = s.contradictions;
        contradictions[1] = s.first;
    }
    *merged = made;
    return CSREC_OK;
}
