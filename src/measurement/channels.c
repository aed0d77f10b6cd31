/* SPDX-License-Identifier: BSD-3-Clause */
/* channels.c - groups of channels that are measured at the same positions. */
#include "measurement/channels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "measurement/measurement.h"

bool csrec_measurement_even(const csrec_measurement *m) {
    const int64_t values = m->n * m->channels;
    int64_t i = 0;
    if (m->channels == 1 || m->through) return true;
    while (i < values && !isnan(m->y[i])) i++;
    return i == values;
}

bool csrec_measurement_has_bands(const csrec_measurement *m) {
    int64_t entries = 0, complete = 0, gaps = 0;
    csrec_shape_count(&m->shape, &entries);
    if (m->channels == 1 || m->n < entries || m->through || m->is_complex || m->bands_apart)
        return false;
    for (int64_t c = 0; c < m->channels; c++) {
        bool known = false, lacks = false;
        for (int64_t i = 0; i < m->n && !(known && lacks); i++)
            *(isnan(m->y[i * m->channels + c]) ? &lacks : &known) = true;
        complete += !lacks;
        gaps += known && lacks;
    }
    return complete > 0 && gaps > 0;
}

static bool same_positions(const csrec_measurement *m, int64_t a, int64_t b) {
    for (int64_t k = 0; k < m->n; k++)
        if (isnan(m->y[k * m->channels + a]) != isnan(m->y[k * m->channels + b])) return false;
    return true;
}

static csrec_status find(const csrec_measurement *m, bool even, csrec_groups *g, csrec_pool *pool,
                         csrec_error *error) {
    const int64_t C = m->channels;
    int64_t to = 0, *of = CSREC_ZEROS(pool, of, C);
    *g = (csrec_groups){.m = m, .n = even};
    CSREC_ZEROS(pool, g->count, C);
    CSREC_TAKE(pool, g->channel, C);
    CSREC_TAKE(pool, g->first, C + 1);
    if (pool->lacks) return csrec_memory_fail(error, NULL);
    if (!even) {
        for (int64_t k = 0; k < g->m->n; k++)
            for (int64_t c = 0; c < C; c++) g->count[c] += !isnan(g->m->y[k * C + c]);
        /* The group of each channel, of: [channels]; -1: measured nowhere. */
        for (int64_t c = 0; c < g->m->channels; c++) {
            int64_t b = 0; /* an earlier channel of the same positions */
            while (b < c && (g->count[b] != g->count[c] || !same_positions(g->m, b, c))) b++;
            of[c] = g->count[c] == 0 ? -1 : b < c ? of[b] : g->n++;
        }
    }
    for (int64_t k = 0; k <= g->n; k++) {
        g->first[k] = to;
        for (int64_t c = 0; c < C; c++)
            if (of[c] == (k < g->n ? k : -1)) g->channel[to++] = c;
    }
    return CSREC_OK;
}

/* Guides of the channels with gaps: those of the measurement, and complete channels, evenly chosen
 * where they are many. NULL: none; or out of memory. */
static csrec_guides *guides_of(const csrec_groups *g, csrec_status *status) {
    const csrec_measurement *m = g->m;
    const int64_t C = m->channels, own = m->guides ? m->guides->n : 0;
    int64_t entries = 0, complete = 0, seen = 0, n = own;
    csrec_shape_count(&m->shape, &entries);
    for (int64_t c = 0; c < C; c++) complete += g->count[c] == entries;
    const int64_t room = CSREC_GUIDES_MOST - own, taken = complete < room ? complete : room;
    if (own + taken == 0) return NULL;
    csrec_guides *made = csrec_guides_create(own + taken, entries);
    if (!made) {
        *status = CSREC_MEMORY;
        return NULL;
    }
    if (own) {
        memcpy(made->name, m->guides->name, sizeof made->name);
        memcpy(made->values, m->guides->values, (size_t)(own * entries) * sizeof *made->values);
    }
    for (int64_t c = 0; c < C && taken; c++) {
        if (g->count[c] < entries) continue;
        const int64_t before = seen++ * taken / complete;
        if (seen * taken / complete == before) continue;
        snprintf(made->name[n], CSREC_GUIDE_NAME, "band %lld", (long long)c);
        for (int64_t i = 0; i < m->n; i++) /* less the first value, whose size would cost digits */
            made->values[n * entries + m->index[i]] = (float)(m->y[i * C + c] - m->y[c]);
        n++;
    }
    return made;
}

/* The measurement of group k; sample: [m->n]. */
static csrec_status take(const csrec_groups *g, int64_t k, csrec_measurement *part, int64_t *sample,
                         csrec_error *error) {
    const csrec_measurement *m = g->m;
    const int64_t first = g->channel[g->first[k]], C = m->channels;
    *part = *m;
    part->channels = csrec_groups_channels(g, k);
    part->n = g->count[first];
    part->pattern = CSREC_PATTERN_NONE;
    part->count = 0;
    part->guides = NULL;
    part->rays = part->deviation = NULL;
    csrec_status status = csrec_measurement_allocate(part, "a group of channels", error);
    if (!status && (status = csrec_each_allocate(m->rays, m->deviation, part)))
        csrec_measurement_clear(part);
    if (status) return status;
    for (int64_t i = 0, to = 0; i < m->n; i++) {
        if (isnan(m->y[i * C + first])) continue;
        sample[to] = i;
        part->index[to] = m->index[i];
        csrec_groups_copy(g, k, 1, part->y + to * part->channels, true, m->y + i * C);
        if (m->rays) part->rays[to] = m->rays[i];
        if (m->deviation)
            csrec_groups_copy(g, k, 1, part->deviation + to * part->channels, true,
                              m->deviation + i * C);
        to++;
    }
    return CSREC_OK;
}

csrec_status csrec_groups_each(const csrec_measurement *m, csrec_group_fn run, void *context,
                               csrec_error *error) {
    csrec_pool pool = {0};
    csrec_groups g;
    const bool even = csrec_measurement_even(m);
    csrec_status status = find(m, even, &g, &pool, error);
    int64_t *sample = NULL, entries = 0;
    csrec_guides *guides = NULL;
    csrec_shape_count(&m->shape, &entries);
    if (!status && even) status = run(context, &g, 0, m, NULL, error);
    if (!status && !even && !CSREC_TAKE(&pool, sample, m->n)) status = CSREC_MEMORY;
    if (!status && !even && csrec_measurement_has_bands(m)) guides = guides_of(&g, &status);
    if (status == CSREC_MEMORY) csrec_fail(error, status, "out of memory");
    for (int64_t k = 0; k < g.n && !status && !even; k++) {
        csrec_measurement part;
        status = take(&g, k, &part, sample, error);
        if (status) break;
        if (part.n < entries) part.guides = guides ? guides : m->guides;
        status = run(context, &g, k, &part, sample, error);
        part.guides = NULL; /* those of all groups */
        csrec_measurement_clear(&part);
    }
    csrec_guides_destroy(guides);
    csrec_pool_clear(&pool);
    return status;
}

csrec_status csrec_bands_guides(const csrec_measurement *m, csrec_guides **guides,
                                csrec_error *error) {
    csrec_pool pool = {0};
    csrec_groups g;
    *guides = NULL;
    csrec_status status = find(m, false, &g, &pool, error);
    if (!status) *guides = guides_of(&g, &status);
    if (status == CSREC_MEMORY) csrec_fail(error, status, "out of memory");
    csrec_pool_clear(&pool);
    return status;
}

void csrec_groups_copy(const csrec_groups *g, int64_t k, int64_t n, double *values, bool back,
                       double *all) {
    const int64_t C = g->m->channels, own = csrec_groups_channels(g, k);
    const int64_t *channel = g->channel + g->first[k];
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < own; c++) {
            double *a = all + i * C + channel[c], *v = values + i * own + c;
            *(back ? v : a) = *(back ? a : v);
        }
}
