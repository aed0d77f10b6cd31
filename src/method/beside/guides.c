/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.c - the planes that guide a channel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/net/pyramid.h"
#include "method/beside/beside.h"

/* ------------------------------------------------------------------ channels ------------------ */

static int64_t known_of(const csrec_measurement *m, int64_t c) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n; i++) n += !isnan(m->y[i * m->channels + c]);
    return n;
}

bool csrec_film_has_bands(const csrec_measurement *m) {
    int64_t entries = 0, complete = 0, gaps = 0;
    csrec_shape_count(&m->shape, &entries);
    if (m->channels == 1 || m->n < entries || m->through || m->is_complex) return false;
    for (int64_t c = 0; c < m->channels; c++) {
        const int64_t n = known_of(m, c);
        complete += n == entries;
        gaps += n > 0 && n < entries;
    }
    return complete > 0 && gaps > 0;
}

/* ------------------------------------------------------------------ candidates ---------------- */

/* A plane: of the guides, [entries]; or channel `band` of the frame. */
typedef struct candidate {
    const float *plane;
    int64_t band;
} candidate;

/* Of planes of one name that tell of the colour of surfaces, one for each channel, that of this
 * one.
 */
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

static int64_t find(const csrec_measurement *m, int64_t c, int64_t entries, candidate *list) {
    int64_t n = 0;
    for (int64_t k = 0; m->guides && k < m->guides->n; k++)
        if (serves(m->guides, k, c, m->channels))
            list[n++] = (candidate){m->guides->values + k * entries, -1};
    if (m->channels == 1 || m->n < entries || known_of(m, c) == entries) return n;
    for (int64_t b = 0; b < m->channels; b++)
        if (b != c && known_of(m, b) == entries) list[n++] = (candidate){NULL, b};
    return n;
}

static double value_of(const csrec_measurement *m, const candidate *one, int64_t i) {
    if (one->band >= 0) return m->y[i * m->channels + one->band];
    return (double)one->plane[m->index[i]];
}

/* ------------------------------------------------------------------ choice -------------------- */

/* Products of all candidates and the channel at its samples, each less its mean; [n + 1][n + 1]. */
static void multiply(const csrec_measurement *m, int64_t c, int64_t n, const candidate *list,
                     double *v, double *P) {
    double *mean = v + n + 1, count = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < m->n; i++) {
            v[n] = m->y[i * m->channels + c];
            bool all = !isnan(v[n]);
            for (int64_t k = 0; k < n && all; k++) all = !isnan(v[k] = value_of(m, &list[k], i));
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

static bool choose(const csrec_measurement *m, int64_t c, int64_t n, candidate *list, int most) {
    csrec_pool pool = {0};
    double *P = CSREC_ZEROS(&pool, P, (n + 1) * (n + 1)), *v = CSREC_ZEROS(&pool, v, 2 * (n + 1));
    int64_t *order = CSREC_TAKE(&pool, order, n);
    candidate *all = CSREC_TAKE(&pool, all, n);
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

/* ------------------------------------------------------------------ planes -------------------- */

/* In float, less its first value, whose size would cost digits; gaps are filled. */
static void take(const csrec_measurement *m, const candidate *one, int64_t entries, int threads,
                 float *work, float *to) {
    const int64_t height = m->shape.dim[0], width = m->shape.dim[1];
    int64_t gaps = 0;
    for (int64_t i = 0; i < m->n && one->band >= 0; i++)
        to[m->index[i]] = (float)(value_of(m, one, i) - value_of(m, one, 0));
    for (int64_t i = 0; i < entries && one->band < 0; i++) {
        to[i] = one->plane[i];
        gaps += isnan(to[i]);
    }
    if (gaps == 0) return;
    float *z = work, *weight = work + entries;
    double sum = 0.0;
    for (int64_t i = 0; i < entries; i++) sum += isnan(to[i]) ? 0.0 : (double)to[i];
    const float mean = gaps < entries ? (float)(sum / (double)(entries - gaps)) : 0.0f;
    for (int64_t i = 0; i < entries; i++) {
        weight[i] = isnan(to[i]) ? 0.0f : 1.0f;
        z[i] = isnan(to[i]) ? 0.0f : to[i] - mean;
    }
    csrec_pyramid_fill(height, width, threads, z, weight, work + 2 * entries, to);
    for (int64_t i = 0; i < entries; i++) to[i] += mean;
}

int csrec_film_guides(const csrec_measurement *m, int64_t c, int most, int threads, float *work,
                      float *guide) {
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    const int64_t room = (m->guides ? m->guides->n : 0) + m->channels;
    candidate *list = malloc((size_t)room * sizeof *list);
    int64_t n = list ? find(m, c, entries, list) : -1;
    if (n > most) n = choose(m, c, n, list, most) ? most : -1;
    for (int64_t k = 0; k < n; k++) take(m, &list[k], entries, threads, work, guide + k * entries);
    free(list);
    return (int)n;
}
