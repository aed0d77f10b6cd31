/* SPDX-License-Identifier: BSD-3-Clause */
/* glance.c - a recovery to compare with, without the samples that a fold leaves out. */
#include <math.h>
#include <stdlib.h>

#include "csrec/sampling.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "recover/uncertainty.h"
#include "recover/window.h"
#include "sampling/sampling.h"

enum { STREAM_HIDDEN = 1 << 21 };

csrec_status csrec_glance_create(const csrec_measurement *m, const csrec_shape *window,
                                 csrec_glance *g, csrec_error *error) {
    int64_t entries = 0;
    *g = (csrec_glance){.m = *m, .nearer = 1.0, .whole = !window};
    if (window) g->m.shape = *window;
    csrec_shape_count(&g->m.shape, &entries);
    g->values = entries * m->channels;
    g->m.guides = NULL;
    g->m.pattern = CSREC_PATTERN_NONE;
    g->m.count = 0;
    if (window) {
        const int64_t room = m->n < entries ? m->n : entries;
        g->m.n = 0;
        CSREC_TAKE(&g->pool, g->m.index, room);
        CSREC_TAKE(&g->pool, g->m.y, room * m->channels);
        csrec_each_take(&g->pool, m, room, &g->m);
    }
    CSREC_TAKE(&g->pool, g->signal, g->values);
    CSREC_TAKE(&g->pool, g->variance, g->values);
    CSREC_ZEROS(&g->pool, g->state, entries);
    CSREC_ZEROS(&g->pool, g->noise, entries);
    CSREC_TAKE(&g->pool, g->far, entries);
    for (int64_t i = 0; i < entries && !g->pool.lacks; i++) g->far[i] = 1.0;
    if (!g->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for the expected errors of %lld entries",
                      (long long)entries);
}

void csrec_glance_clear(csrec_glance *g) {
    csrec_guides_destroy(g->m.guides);
    csrec_pool_clear(&g->pool);
}

/* Whether sample i is left out of a fold. */
static bool is_hidden(const csrec_estimator *e, int fold, int64_t i) {
    double place = csrec_random_uniform(e->options.seed, STREAM_HIDDEN, (uint64_t)i);
    return place >= fold * e->share && place < (fold + 1) * e->share;
}

double csrec_noise_at(const csrec_estimator *e, int64_t i) {
    const int64_t C = e->m->channels;
    double sum = 0.0;
    for (int64_t c = 0; c < C && e->deviation; c++)
        sum += e->deviation[i * C + c] * e->deviation[i * C + c];
    return sum / (double)C;
}

void csrec_glance_show(const csrec_estimator *e, const int64_t *origin, int fold, csrec_glance *g) {
    const csrec_measurement *m = e->m;
    if (m->guides) g->m.guides = csrec_guides_crop(m->guides, &m->shape, origin, &g->m.shape);
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t at =
            g->whole ? m->index[i]
                     : csrec_window_from_whole(&m->shape, &g->m.shape, origin, m->index[i]);
        if (at < 0) continue;
        if (!g->whole && is_hidden(e, fold, i)) {
            g->state[at] = CSREC_LEFT_OUT;
            continue;
        }
        const double noise = csrec_noise_at(e, i);
        if (noise > 0.0) g->noise[at] = noise; /* else it stays 0, without a page of memory */
        g->state[at] = noise > 0.0 ? CSREC_SHOWN : CSREC_KEPT;
        if (g->whole) continue;
        g->m.index[g->m.n] = at;
        csrec_sample_copy(m, i, &g->m, g->m.n++);
    }
}

csrec_status csrec_glance_distances(const csrec_glance *g, uint32_t **squared, csrec_error *error) {
    const int64_t entries = g->values / g->m.channels;
    int64_t extent[3];
    csrec_extents(&g->m.shape, extent);
    uint32_t *d2 = malloc((size_t)entries * sizeof *d2);
    for (int64_t i = 0; i < entries && d2; i++)
        d2[i] = g->state[i] == CSREC_KEPT || g->state[i] == CSREC_SHOWN ? 0 : CSREC_FAR;
    const csrec_status status = d2 ? csrec_distance_squared(extent, 0, d2) : CSREC_MEMORY;
    if (!status) return *squared = d2, CSREC_OK;
    free(d2);
    return csrec_fail(error, status, "out of memory for the distances");
}

/* What is farther than all samples left out; on a grid, as far as the nearest of these. */
static void find_beyond(const csrec_estimator *e, const uint32_t *squared, csrec_glance *g) {
    const int64_t entries = g->values / g->m.channels;
    double least = INFINITY, n = 0.0;
    for (int64_t i = 0; i < entries; i++) {
        if (g->state[i] != CSREC_LEFT_OUT) continue;
        const double d = sqrt((double)squared[i]);
        g->farthest = fmax(g->farthest, d);
        least = fmin(least, d);
        g->left += d;
        n++;
    }
    if (e->grid) g->farthest = least - 0.25 / least; /* below it in whole squares */
    for (int64_t i = 0; i < entries; i++) {
        if (g->state[i] != CSREC_UNKNOWN) continue;
        const double d = sqrt((double)squared[i]);
        g->beyond += d > g->farthest;
        g->raised += fmax(1.0, d * n / g->left);
    }
}

/* Samples left out of an even pattern are farther from others than unknown entries are: bounds take
 * squares to grow as d^0.4, to be sure, and d^0.2 beside variances that a method tells
 * (docs/notebook/uncertainty.md), intervals (scaled: of a guess) by `far`. */
static csrec_status reach(const csrec_estimator *e, bool scaled, csrec_glance *g,
                          csrec_error *error) {
    const int64_t entries = g->values / g->m.channels;
    int64_t n[4] = {0};
    double far[4] = {0.0};
    uint32_t *squared;
    if (g->m.shape.dims > 3) return CSREC_OK;
    CSREC_TRY(csrec_glance_distances(g, &squared, error));
    for (int64_t i = 0; i < entries; i++) {
        const double d2 = fmax((double)squared[i], 1.0);
        if (scaled) g->far[i] = d2;
        far[g->state[i]] += pow(d2, g->told ? 0.1 : 0.2);
        n[g->state[i]]++;
    }
    if (n[CSREC_UNKNOWN] && n[CSREC_LEFT_OUT])
        g->nearer = fmin(far[CSREC_UNKNOWN] / (double)n[CSREC_UNKNOWN] /
                             (far[CSREC_LEFT_OUT] / (double)n[CSREC_LEFT_OUT]),
                         1.0);
    if (n[CSREC_LEFT_OUT]) find_beyond(e, squared, g);
    free(squared);
    return CSREC_OK;
}

csrec_status csrec_glance_run(const csrec_estimator *e, csrec_glance *g,
                              csrec_recover_report *report, csrec_error *error) {
    if (e->m->guides && !g->m.guides) return csrec_memory_fail(error, NULL);
    g->variance[0] = -1.0;
    csrec_status status =
        csrec_recover_variance(&g->m, &e->options, g->signal, g->variance, report, error);
    g->told = !status && g->variance[0] >= 0.0;
    csrec_measurement seen = g->m; /* for intervals all guesses are of as many samples */
    if (e->missed && g->whole) seen.n -= (int64_t)(e->share * (double)seen.n);
    if (!status && !g->told)
        status = csrec_variance_guess(&seen, g->signal, g->noise, g->variance, error);
    return !status && (e->missed || !g->whole) ? reach(e, e->missed && !g->told, g, error) : status;
}
