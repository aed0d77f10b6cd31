/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - rounds of Gaussian groups on the CPU, the reference for every device. The picture
 * is updated in place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/gaussian/gaussian.h"

/* ---- the nearest patches of a reference, from a search of its whole window, or from the
 * candidates of an earlier search; work arrays of a thread. */

void csrec_gaussian_matches_clear(csrec_gaussian_matches *matches) {
    csrec_pool_clear(&matches->pool);
    *matches = (csrec_gaussian_matches){0};
}

csrec_status csrec_group_matches_prepare(csrec_gaussian_matches *m, int rows, int columns,
                                         int radius, bool again) {
    if (again)
        return m->rows == rows && m->columns == columns && m->radius == radius ? CSREC_OK
                                                                               : CSREC_ARGUMENT;
    csrec_gaussian_matches_clear(m);
    size_t references = (size_t)rows * (size_t)columns;
    *m = (csrec_gaussian_matches){.rows = rows, .columns = columns, .radius = radius};
    CSREC_ZEROS(&m->pool, m->count, references);
    CSREC_TAKE(&m->pool, m->shift, references * CSREC_GAUSSIAN_KEPT);
    return m->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

/* If many patches equal it, a reference may be missing from its matches: it then replaces the last
 * match, so that every pixel is in some group. Its shift is the middle of the window. Returns
 * the number of patches, at least 1. */
static int include_reference(uint16_t *shift, int n, int middle) {
    for (int i = 0; i < n; i++)
        if (shift[i] == middle) return n;
    if (n == 0) n = 1;
    shift[n - 1] = (uint16_t)middle;
    return n;
}

/* Stores the best of the whole window as the candidates. */
static void keep_candidates(const csrec_group_simd *simd, const csrec_group_search *search,
                            const float *distance, csrec_group_finder *f, int *count,
                            uint16_t *shift) {
    int shifts = csrec_group_shifts(search);
    int found = simd->pick(distance, shifts, CSREC_GAUSSIAN_KEPT, f->key, f->chosen);
    for (int i = 0; i < found; i++) shift[i] = (uint16_t)f->chosen[i];
    *count = include_reference(shift, found, shifts / 2);
    for (int i = 0; i < *count; i++) f->ranked[i] = distance[shift[i]];
}

void csrec_group_choose(const csrec_group_simd *simd, const csrec_group_search *search,
                        const int at[3], int64_t number, const float *distance, int wanted,
                        csrec_gaussian_matches *matches, csrec_group_finder *f,
                        csrec_group_work *w) {
    uint16_t *shift = matches->shift + number * CSREC_GAUSSIAN_KEPT;
    int *count = &matches->count[number];
    if (distance)
        keep_candidates(simd, search, distance, f, count, shift);
    else
        simd->rank(search, at, *count, shift, f->ranked);
    w->size = simd->pick(f->ranked, *count, wanted, f->key, f->chosen);
    uint16_t group[CSREC_GROUP_MOST];
    for (int i = 0; i < w->size; i++) group[i] = shift[f->chosen[i]];
    w->size = include_reference(group, w->size, csrec_group_shifts(search) / 2);
    for (int i = 0; i < w->size; i++) {
        int by[3];
        csrec_group_shift(search, group[i], by);
        w->front[i] = at[0] + by[0];
        w->top[i] = at[1] + by[1];
        w->left[i] = at[2] + by[2];
    }
}

csrec_group_finder csrec_group_finder_of(int references, int shifts, int column, csrec_pool *pool) {
    const int most = shifts < CSREC_GAUSSIAN_KEPT ? CSREC_GAUSSIAN_KEPT : shifts;
    csrec_group_finder f;
    CSREC_TAKE(pool, f.distance, (size_t)references * (size_t)shifts + 1);
    CSREC_TAKE(pool, f.column, column);
    CSREC_TAKE(pool, f.ranked, most);
    CSREC_TAKE(pool, f.key, most);
    CSREC_TAKE(pool, f.chosen, most);
    return f;
}

csrec_group_work csrec_group_work_of(const csrec_gaussian_picture *p, const int patch[3],
                                     csrec_pool *pool) {
    int d = patch[0] * patch[1] * patch[2];
    size_t stride = (size_t)((d + CSREC_GROUP_LANES - 1) / CSREC_GROUP_LANES * CSREC_GROUP_LANES);
    csrec_group_work w = {.patch_height = patch[1],
                          .patch_width = patch[2],
                          .d = d,
                          .stride = (int)stride,
                          .rows = patch[0] * patch[1],
                          .channels = p->pooled ? p->channels : 1};
    for (int i = 0; i < w.rows; i++)
        w.row[i] = (i / patch[1] * p->height + i % patch[1]) * p->width;
    size_t channels = (size_t)w.channels;
    CSREC_TAKE(pool, w.mean, channels * stride);
    CSREC_TAKE(pool, w.C, stride * stride);
    CSREC_TAKE(pool, w.gram, stride * stride);
    CSREC_TAKE(pool, w.X, channels * CSREC_GROUP_MOST * stride);
    CSREC_TAKE(pool, w.V, (CSREC_GROUP_ROWS + CSREC_GROUP_PIXELS) * stride);
    CSREC_TAKE(pool, w.prior, stride);
    CSREC_TAKE(pool, w.posterior, stride);
    return w;
}

typedef struct engine {
    csrec_gaussian_picture *picture;
    csrec_gaussian_plan plan;
    csrec_gaussian_matches matches;
    float *guide; /* NULL: one channel, whose estimate is the guide */
} engine;

static void destroy(void *state) {
    engine *e = state;
    if (!e) return;
    csrec_gaussian_matches_clear(&e->matches);
    free(e->guide);
    free(e);
}

static csrec_status create(const csrec_context *context, csrec_gaussian_picture *picture,
                           const csrec_gaussian_plan *plan, void **state, csrec_error *error) {
    (void)context;
    engine *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->picture = picture;
    e->plan = *plan;
    size_t guides = picture->guides > 0 ? (size_t)picture->guides : 1;
    size_t bytes = guides * (size_t)csrec_gaussian_entries(picture) * sizeof *e->guide;
    e->guide = picture->channels > 1 ? malloc(bytes) : NULL;
    if (picture->channels > 1 && !e->guide) {
        destroy(e);
        return csrec_fail(error, CSREC_MEMORY, "out of memory");
    }
    picture->guide = e->guide ? e->guide : picture->u[0];
    *state = e;
    return CSREC_OK;
}

/* Patches are compared over all channels: on their mean, or on each. */
static void set_guide(const engine *e) {
    const csrec_gaussian_picture *p = e->picture;
    int64_t entries = csrec_gaussian_entries(p);
    for (int64_t c = 0; p->guides > 0 && c < p->channels; c++)
        memcpy(e->guide + c * entries, p->u[c], (size_t)entries * sizeof *e->guide);
    if (p->guides > 0 || p->channels == 1) return;
    for (int64_t i = 0; i < entries; i++) {
        float sum = 0.0f;
        for (int64_t c = 0; c < p->channels; c++) sum += p->u[c][i];
        e->guide[i] = sum / (float)p->channels;
    }
}

static csrec_status run(void *state, const csrec_gaussian_round *round, int number,
                        csrec_error *error) {
    engine *e = state;
    const csrec_gaussian_plan *plan = &e->plan;
    set_guide(e);
    csrec_status status = csrec_gaussian_run(e->picture, round, plan->seed, plan->threads,
                                             &e->matches, plan->call, number, plan->count);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

static csrec_status get(void *state, csrec_gaussian_picture *picture, csrec_error *error) {
    (void)state;
    (void)picture;
    (void)error;
    return CSREC_OK;
}

static csrec_status set(void *state, const csrec_gaussian_picture *picture, csrec_error *error) {
    (void)state;
    (void)picture;
    (void)error;
    return CSREC_OK;
}

const csrec_gaussian_engine csrec_gaussian_cpu = {create, destroy, run, get, set};
