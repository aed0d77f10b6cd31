/* SPDX-License-Identifier: BSD-3-Clause */
/* each.c - numbers of rays and standard deviations of single samples: their check, their memory,
 * and the noise that they tell of. */
#include "measurement/each.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/threads.h"
#include "measurement/measurement.h"
#include "measurement/nearby.h"

static csrec_status check_entries(const csrec_measurement *m, const char *name,
                                  csrec_error *error) {
    if (!m->through && !m->is_complex) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: array '%s': is for real samples of entries; give one sigma", name,
                      m->rays ? "rays" : "sigma");
}

csrec_status csrec_each_check(const csrec_measurement *m, const char *name, csrec_error *error) {
    if (!m->rays && !m->deviation) return CSREC_OK;
    csrec_status status = check_entries(m, name, error);
    for (int64_t i = 0; i < m->n && m->rays && !status; i++)
        if (!(m->rays[i] > 0.0) || !isfinite(m->rays[i]))
            status = csrec_fail(error, CSREC_DATA,
                                "%s: array 'rays': sample %lld has %g; save a number above 0 for "
                                "each, and leave out samples without a ray",
                                name, (long long)i, m->rays[i]);
    for (int64_t i = 0; i < m->n * m->channels && m->deviation && !status; i++)
        if (m->deviation[i] < 0.0 || isinf(m->deviation[i]))
            status = csrec_fail(error, CSREC_DATA,
                                "%s: array 'sigma': that of sample %lld is %g; save numbers >= 0, "
                                "NaN where it is not known",
                                name, (long long)(i / m->channels), m->deviation[i]);
    return status;
}

void csrec_each_take(csrec_pool *pool, const csrec_measurement *m, int64_t samples,
                     csrec_measurement *part) {
    part->rays = part->deviation = NULL;
    if (m->rays) CSREC_TAKE(pool, part->rays, samples);
    if (m->deviation) CSREC_TAKE(pool, part->deviation, samples * m->channels);
}

csrec_status csrec_each_allocate(bool rays, bool deviation, csrec_measurement *m) {
    const size_t n = (size_t)m->n + !m->n;
    m->rays = rays ? malloc(n * sizeof *m->rays) : NULL;
    m->deviation = deviation ? malloc(n * (size_t)m->channels * sizeof *m->deviation) : NULL;
    if ((m->rays || !rays) && (m->deviation || !deviation)) return CSREC_OK;
    free(m->rays);
    free(m->deviation);
    m->rays = m->deviation = NULL;
    return CSREC_MEMORY;
}

void csrec_sample_copy(const csrec_measurement *from, int64_t i, csrec_measurement *to, int64_t k) {
    const int64_t C = from->channels;
    memmove(to->y + k * C, from->y + i * C, (size_t)C * sizeof *to->y);
    if (to->rays) to->rays[k] = from->rays[i];
    if (to->deviation)
        memmove(to->deviation + k * C, from->deviation + i * C, (size_t)C * sizeof *to->deviation);
}

/* All NaN, or one infinite. */
static bool is_lost(const csrec_measurement *m, int64_t i) {
    int64_t known = 0;
    for (int64_t c = 0; c < m->channels; c++) {
        if (isinf(m->y[i * m->channels + c])) return true;
        known += !isnan(m->y[i * m->channels + c]);
    }
    return known == 0;
}

int64_t csrec_each_leave_lost(csrec_measurement *m) {
    int64_t kept = 0;
    const int64_t all = m->n;
    for (int64_t i = 0; i < all && m->rays && !m->through && !m->is_complex; i++) {
        if (is_lost(m, i)) continue;
        m->index[kept] = m->index[i];
        csrec_sample_copy(m, i, m, kept++);
    }
    if (kept == 0 || kept == all) return 0;
    m->n = kept;
    m->pattern = CSREC_PATTERN_NONE; /* no longer those that it draws */
    m->count = 0;
    return all - kept;
}

enum { NEAR = 8 };

/* Of light, as of the channel that is looked at. */
typedef struct light {
    const csrec_measurement *m;
    csrec_nearby nearby;
    const float *albedo; /* of the channel, or NULL */
    double *value;       /* [n] in the order of the tree: y / albedo; NaN: not measured */
    double *rays;        /* [n] in that order */
    double *ratio;       /* [n]: of each, squared difference by what it would be for kappa = 1 */
    double *mean;        /* [n]: around each */
    csrec_pool pool;
} light;

/* More than 0, as little leaves dark surfaces; an unknown one is white. */
static double albedo_at(const light *l, int64_t i) {
    const double albedo = l->albedo ? (double)l->albedo[l->m->index[i]] : 1.0;
    return isnan(albedo) ? 1.0 : fmax(albedo, 0.0) + 0.04;
}

static double value_at(const light *l, int64_t i, int64_t c) {
    return l->m->y[i * l->m->channels + c] / albedo_at(l, i);
}

/* Of sample k the mean around it, and half the squared difference to its nearest. */
static void measure(const light *l, int64_t k) {
    csrec_neighbour near[NEAR];
    const int n = csrec_nearby_find(&l->nearby, k, NEAR, near);
    double sum = 0.0, rays = 0.0;
    l->mean[k] = l->ratio[k] = NAN;
    if (isnan(l->value[k])) return;
    for (int i = -1; i < n; i++) {
        const int64_t at = i < 0 ? k : near[i].rank;
        if (isnan(l->value[at])) continue;
        sum += l->rays[at] * l->value[at];
        rays += l->rays[at];
    }
    l->mean[k] = sum / rays;
    for (int i = 0; i < n && isnan(l->ratio[k]); i++) {
        const int64_t at = near[i].rank;
        const double off = (l->value[at] - l->value[k]) / l->mean[k];
        l->ratio[k] = off * off / (1.0 / l->rays[k] + 1.0 / l->rays[at]);
    }
}

/* kappa from the ratios below their 0.9 quantile, as heavy tails are no normal noise; of that they
 * are chi^2 with one degree of freedom, of which the mean there is P(chi^2_3 < 2.706) / 0.9 =
 * 0.623. */
static double kappa_of(light *l) {
    static const double share = 0.9, of_mean = 0.6230;
    int64_t n = 0;
    for (int64_t k = 0; k < l->m->n; k++)
        if (isfinite(l->ratio[k])) l->value[n++] = l->ratio[k];
    qsort(l->value, (size_t)n, sizeof *l->value, csrec_ascend);
    const int64_t kept = (int64_t)ceil(share * (double)n);
    double sum = 0.0;
    for (int64_t k = 0; k < kept; k++) sum += l->value[k];
    return kept ? sum / (double)kept / of_mean : 0.0;
}

/* The plane that the light of channel c was multiplied by, or NULL. */
static const float *albedo_of(const csrec_measurement *m, int64_t c) {
    int64_t entries = 0, found = 0;
    const float *albedo = NULL;
    csrec_shape_count(&m->shape, &entries);
    for (int64_t k = 0; m->guides && k < m->guides->n; k++)
        if (csrec_guide_is_albedo(m->guides->name[k]) && found++ == c)
            albedo = m->guides->values + k * entries;
    return found == m->channels ? albedo : NULL;
}

/* Of channel c, where it is not known yet. */
static void guess(light *l, int64_t c, double *deviation) {
    const csrec_measurement *m = l->m;
    l->albedo = albedo_of(m, c);
    for (int64_t k = 0; k < l->m->n; k++) {
        const int64_t i = csrec_nearby_sample(&l->nearby, k);
        l->value[k] = value_at(l, i, c);
        l->rays[k] = l->m->rays[i];
    }
    for (int64_t k = 0; k < m->n; k++) measure(l, k);
    const double kappa = kappa_of(l);
    for (int64_t k = 0; k < m->n; k++) {
        const int64_t i = csrec_nearby_sample(&l->nearby, k);
        double *to = deviation + i * m->channels + c;
        if (isnan(*to)) *to = sqrt(kappa / l->rays[k]) * fabs(l->mean[k]) * albedo_at(l, i);
        if (isnan(*to)) *to = 0.0; /* not measured, or alone */
    }
}

/* To be closed even then. */
static csrec_status open_light(const csrec_measurement *m, light *l, csrec_error *error) {
    *l = (light){.m = m};
    CSREC_TAKE(&l->pool, l->value, m->n);
    CSREC_TAKE(&l->pool, l->rays, m->n);
    CSREC_TAKE(&l->pool, l->ratio, m->n);
    CSREC_TAKE(&l->pool, l->mean, m->n);
    return l->pool.lacks
               ? csrec_fail(error, CSREC_MEMORY, "out of memory for the noise of %lld samples",
                            (long long)m->n)
               : csrec_nearby_create(m, NEAR, &l->nearby, error);
}

static void close_light(light *l) {
    csrec_nearby_clear(&l->nearby);
    csrec_pool_clear(&l->pool);
}

static csrec_status guess_all(const csrec_measurement *m, double *deviation, csrec_error *error) {
    light l;
    csrec_status status = open_light(m, &l, error);
    for (int64_t c = 0; c < m->channels && !status; c++) guess(&l, c, deviation);
    close_light(&l);
    return status;
}

double csrec_noise_told(const csrec_measurement *m, int64_t i, int64_t c) {
    const double own = m->deviation ? m->deviation[i * m->channels + c] : NAN;
    const bool alike = own == 0.0 && m->rays && m->rays[i] < CSREC_RAYS_TOLD;
    if (!isnan(own) && !alike) return own;
    if (m->rays && m->sigma == 0.0) return NAN;
    return m->sigma / sqrt(m->rays ? m->rays[i] : 1.0);
}

csrec_status csrec_noise_each(const csrec_measurement *m, double *deviation, csrec_error *error) {
    bool open = false;
    csrec_status status = csrec_measurement_check_points(m, "measurement", error);
    for (int64_t i = 0; i < m->n * m->channels && !status; i++) {
        deviation[i] = csrec_noise_told(m, i / m->channels, i % m->channels);
        open = open || isnan(deviation[i]);
    }
    return status || !open ? status : guess_all(m, deviation, error);
}

/* Beyond so many deviations of a mean of its rays above the light of so many around, without the
 * brightest of them, which may be a firefly, too; and so often the second (docs/measured.md). */
enum { AROUND = 24, AROUND_LEAST = 8 };
static const double BEYOND = 60.0, ABOVE = 2.0;

/* The mean of the channels that are measured. */
static void look_white(light *l) {
    const csrec_measurement *m = l->m;
    memset(l->value, 0, (size_t)m->n * sizeof *l->value);
    memset(l->mean, 0, (size_t)m->n * sizeof *l->mean);
    for (int64_t c = 0; c < m->channels; c++) {
        l->albedo = albedo_of(m, c);
        for (int64_t k = 0; k < m->n; k++) {
            const double v = value_at(l, csrec_nearby_sample(&l->nearby, k), c);
            l->value[k] += isnan(v) ? 0.0 : v;
            l->mean[k] += !isnan(v);
        }
    }
    for (int64_t k = 0; k < m->n; k++) {
        l->value[k] /= l->mean[k];
        l->rays[k] = m->rays[csrec_nearby_sample(&l->nearby, k)];
    }
}

static bool is_firefly(const light *l, double kappa, int64_t k) {
    csrec_neighbour near[AROUND];
    const int n = csrec_nearby_find(&l->nearby, k, AROUND, near);
    int64_t first = -1;
    double second = -INFINITY, sum = 0.0, rays = 0.0;
    for (int i = 0; i < n; i++)
        if (first < 0 || l->value[near[i].rank] > l->value[first]) first = near[i].rank;
    for (int i = 0; i < n; i++) {
        const int64_t at = near[i].rank;
        if (at == first) continue;
        second = fmax(second, l->value[at]);
        sum += l->rays[at] * l->value[at];
        rays += l->rays[at];
    }
    const double mean = rays > 0.0 ? sum / rays : INFINITY;
    return n >= AROUND_LEAST && l->value[k] > ABOVE * second && l->value[k] > 0.0 &&
           l->value[k] > mean * (1.0 + BEYOND * sqrt(kappa / l->rays[k]));
}

csrec_status csrec_fireflies_find(const csrec_measurement *m, int threads, uint8_t *firefly,
                                  csrec_error *error) {
    light l;
    csrec_status status = open_light(m, &l, error);
    if (!status) {
        look_white(&l);
        for (int64_t k = 0; k < m->n; k++) measure(&l, k);
        const double kappa = kappa_of(&l);
        look_white(&l);
#pragma omp parallel for schedule(static) num_threads(csrec_threads(threads))
        for (int64_t k = 0; k < m->n; k++)
            firefly[csrec_nearby_sample(&l.nearby, k)] = is_firefly(&l, kappa, k);
    }
    close_light(&l);
    return status;
}
