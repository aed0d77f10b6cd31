/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.c - the planes that guide a channel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/net/pyramid.h"
#include "measurement/channels.h"
#include "measurement/guides.h"
#include "method/beside/beside.h"

/* Of planes of one name that tell of the colour of surfaces, one a channel, that of this one. */
static bool serves(const csrec_guides *g, int64_t k, int64_t c, int64_t channels) {
    int64_t before = 0, all = 0;
    if (!csrec_guide_is_albedo(g->name[k])) return true;
    for (int64_t i = 0; i < g->n; i++) {
        const bool same = strcmp(g->name[i], g->name[k]) == 0;
        all += same;
        before += same && i < k;
    }
    return channels == 1 || all != channels || before == c;
}

/* list: room for all guides. */
static int64_t find(const csrec_measurement *m, int64_t c, int64_t entries, const float **list) {
    int64_t n = 0;
    for (int64_t k = 0; m->guides && k < m->guides->n; k++)
        if (serves(m->guides, k, c, m->channels)) list[n++] = m->guides->values + k * entries;
    return n;
}

/* Products of all candidates and the channel at its samples, each less its mean; [n + 1][n + 1]. */
static void multiply(const csrec_measurement *m, int64_t c, int64_t n, const float *const *list,
                     double *v, double *P) {
    double *mean = v + n + 1, count = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < m->n; i++) {
            v[n] = m->y[i * m->channels + c];
            bool all = !isnan(v[n]);
            for (int64_t k = 0; k < n && all; k++)
                all = !isnan(v[k] = (double)list[k][m->index[i]]);
            for (int64_t a = 0; a <= n && all && pass == 0; a++) mean[a] += v[a];
            count += all && pass == 0;
            for (int64_t a = 0; a <= n && all && pass == 1; a++)
                for (int64_t b = a; b <= n; b++)
                    P[a * (n + 1) + b] += (v[a] - mean[a]) * (v[b] - mean[b]);
        }
        for (int64_t a = 0; a <= n && pass == 0; a++) mean[a] /= fmax(count, 1.0);
    }
    for (int64_t a = 0; a <= n; a++)
        for (int64_t b = 0; b < a; b++) P[a * (n + 1) + b] = P[b * (n + 1) + a];
}

/* The candidate that lessens the squared error most goes first, then of what is left: elimination
 * by the largest gain. order: [n]. */
static void order_by_gain(int64_t n, double *P, int64_t *order) {
    const int64_t N = n + 1;
    for (int64_t k = 0; k < n; k++) order[k] = k;
    for (int64_t s = 0; s < n; s++) {
        int64_t best = s;
        double most = -1.0;
        for (int64_t k = s; k < n; k++) {
            const int64_t a = order[k];
            const double own = P[a * N + a],
                         gain = own > 0.0 ? P[a * N + n] * P[a * N + n] / own : 0.0;
            if (gain > most) best = k, most = gain;
        }
        const int64_t a = order[best], pivot = order[s];
        order[best] = pivot;
        order[s] = a;
        if (!(P[a * N + a] > 0.0)) continue;
        for (int64_t i = 0; i <= n; i++) {
            const double factor = P[i * N + a] / P[a * N + a];
            for (int64_t j = 0; j <= n && i != a; j++) P[i * N + j] -= factor * P[a * N + j];
        }
    }
}

static bool choose(const csrec_measurement *m, int64_t c, int64_t n, const float **list, int most) {
    csrec_pool pool = {0};
    double *P = CSREC_ZEROS(&pool, P, (n + 1) * (n + 1)), *v = CSREC_ZEROS(&pool, v, 2 * (n + 1));
    int64_t *order = CSREC_TAKE(&pool, order, n);
    const float **all = CSREC_TAKE(&pool, all, n);
    if (!pool.lacks) {
        memcpy(all, list, (size_t)n * sizeof *all);
        multiply(m, c, n, list, v, P);
        order_by_gain(n, P, order);
        for (int k = 0; k < most; k++) list[k] = all[order[k]];
    }
    const bool done = !pool.lacks;
    csrec_pool_clear(&pool);
    return done;
}

/* Its gaps filled. */
static void take(const csrec_measurement *m, const float *plane, int64_t entries, int threads,
                 float *work, float *to) {
    int64_t gaps = 0;
    double sum = 0.0;
    for (int64_t i = 0; i < entries; i++) {
        to[i] = plane[i];
        gaps += isnan(to[i]);
        sum += isnan(to[i]) ? 0.0 : (double)to[i];
    }
    if (gaps == 0) return;
    float *z = work, *weight = work + entries;
    const float mean = gaps < entries ? (float)(sum / (double)(entries - gaps)) : 0.0f;
    for (int64_t i = 0; i < entries; i++) {
        weight[i] = isnan(to[i]) ? 0.0f : 1.0f;
        z[i] = isnan(to[i]) ? 0.0f : to[i] - mean;
    }
    csrec_pyramid_fill(m->shape.dim[0], m->shape.dim[1], threads, z, weight, work + 2 * entries,
                       to);
    for (int64_t i = 0; i < entries; i++) to[i] += mean;
}

int csrec_film_guides(const csrec_measurement *m, int64_t c, int most, int threads, float *work,
                      float *guide) {
    const float *list[CSREC_GUIDES_MOST];
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    int64_t n = find(m, c, entries, list);
    if (n > most) n = choose(m, c, n, list, most) ? most : -1;
    for (int64_t k = 0; k < n; k++) take(m, list[k], entries, threads, work, guide + k * entries);
    return (int)n;
}

static csrec_status add_bands(csrec_measurement *frame, csrec_error *error) {
    csrec_guides *all;
    if (!csrec_measurement_has_bands(frame)) return CSREC_OK;
    csrec_status status = csrec_bands_guides(frame, &all, error);
    csrec_guides_destroy(frame->guides);
    frame->guides = all;
    return status;
}

static csrec_status set_sigma(csrec_measurement *frame, csrec_error *error) {
    const int64_t values = frame->n * frame->channels;
    if ((!frame->rays && !frame->deviation) || values == 0) return CSREC_OK;
    double *deviation = malloc((size_t)values * sizeof *deviation), squares = 0.0;
    if (!deviation)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for the noise of a frame");
    csrec_status status = csrec_noise_each(frame, deviation, error);
    for (int64_t i = 0; i < values && !status; i++) squares += deviation[i] * deviation[i];
    if (!status) frame->sigma = sqrt(squares / (double)values);
    free(deviation);
    return status;
}

csrec_status csrec_film_prepare(const csrec_film *film, csrec_measurement *frame,
                                csrec_error *error) {
    if (film->other) return CSREC_OK;
    csrec_status status = set_sigma(frame, error);
    return status ? status : add_bands(frame, error);
}
