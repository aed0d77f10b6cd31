/* SPDX-License-Identifier: BSD-3-Clause */
/* dct_shrink.c - the picture in cells, its samples, and one iteration. */
#include "operator/dct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"

/* Positions along an axis: the signal starts `step - 1` pixels into the cells, so that blocks
 * cover it at any offset. */
typedef struct lattice {
    int64_t extent, blocks, cells;
    float *share; /* [step][cells] 2 / block / number of covering blocks, 0 for none */
} lattice;

typedef struct state {
    csrec_pool pool; /* first */
    const csrec_dct *d;
    csrec_dct_pass pass;
    const csrec_dct_simd *simd;
    lattice axis[2];
    float *memory, *picture, *sum, *sampled, *target, *valid; /* planes; sampled: 1 or 0 */
    int64_t planes;                                           /* floats in all of them */
    const double *y;
    int64_t *at; /* [m] addresses of the samples */
    int threads;
} state;

static bool suits(const csrec_dct *d) {
    bool power = d->block == 4 || d->block == 8 || d->block == 16 || d->block == 32;
    return power && d->block % d->step == 0 && d->axis[0].extent == 1 &&
           d->axis[1].extent >= d->block && d->axis[2].extent >= d->block;
}

static void lay_axis(csrec_pool *pool, const csrec_dct *d, int64_t extent, lattice *axis) {
    int64_t step = d->step, beyond = step - 1 + extent - d->block;
    axis->extent = extent;
    axis->blocks = (beyond + step - 1) / step + 1;
    axis->cells = axis->blocks + d->block / step; /* one more than the blocks need, for offsets */
    CSREC_TAKE(pool, axis->share, axis->cells * step);
}

static csrec_status dct_shrink_allocate(state *s) {
    const csrec_dct *d = s->d;
    csrec_dct_pass *p = &s->pass;
    lay_axis(&s->pool, d, d->axis[1].extent, &s->axis[0]);
    lay_axis(&s->pool, d, d->axis[2].extent, &s->axis[1]);
    p->block = d->block;
    p->step = d->step;
    p->across = s->axis[1].cells;
    p->blocks = (s->axis[0].blocks - 1) * p->across + s->axis[1].blocks;
    /* The last lanes may reach beyond the last block; planes that are no multiple of 4 KiB apart
     * do not compete for the same sets of the cache. */
    p->plane = (s->axis[0].cells * p->across + 2 * CSREC_DCT_LANES) / 16 * 16 + 16;
    s->planes = p->plane * d->step * d->step;
    CSREC_ZEROS(&s->pool, s->memory, 4 * s->planes + p->plane);
    CSREC_TAKE(&s->pool, s->at, d->mask.m);
    const size_t vector = CSREC_DCT_LANES * sizeof *s->memory; /* stacks of threads may be small */
    p->work = csrec_pool_keep(
        &s->pool, aligned_alloc(vector, vector * (size_t)(s->threads * d->block * d->block)));
    if (csrec_pool_status(&s->pool)) return CSREC_MEMORY;
    s->picture = s->memory;
    s->sum = s->picture + s->planes;
    s->sampled = s->sum + s->planes;
    s->target = s->sampled + s->planes;
    s->valid = s->target + s->planes;
    for (int64_t k = 0; k < p->blocks; k++) s->valid[k] = k % p->across < s->axis[1].blocks;
    p->picture = s->picture;
    p->sum = s->sum;
    p->valid = s->valid;
    return CSREC_OK;
}

/* Address of the pixel at (y, x) of the cells. */
static int64_t place(const csrec_dct_pass *p, int64_t y, int64_t x) {
    return ((y % p->step) * p->step + x % p->step) * p->plane + y / p->step * p->across +
           x / p->step;
}

/* Entry of the signal, reflected at its ends, for pixel i of an axis of the cells. */
static int64_t reflected(const lattice *axis, int step, int64_t i) {
    i -= step - 1;
    if (i < 0) i = -1 - i;
    i %= 2 * axis->extent;
    return i < axis->extent ? i : 2 * axis->extent - 1 - i;
}

static void fill(state *s, const double *y, const double *start) {
    const csrec_dct_pass *p = &s->pass;
    const lattice *axis = s->axis;
    for (int64_t i = 0; i < axis[0].cells * p->step; i++) {
        const double *line = start + reflected(&axis[0], p->step, i) * axis[1].extent;
        for (int64_t j = 0; j < axis[1].cells * p->step; j++)
            s->picture[place(p, i, j)] = (float)line[reflected(&axis[1], p->step, j)];
    }
    for (int64_t k = 0; k < s->d->mask.m; k++) {
        int64_t at = s->d->mask.index[k];
        int64_t to = place(p, at / axis[1].extent + p->step - 1, at % axis[1].extent + p->step - 1);
        s->sampled[to] = 1.0f;
        s->target[to] = (float)y[k];
        s->at[k] = to;
    }
}

/* A thread computes the blocks of some lines of cells before its own once more. */
static int threads_for(const csrec_operator *A) {
    const csrec_dct *d = A->data;
    const int64_t most = d->axis[1].extent / (32 * d->block);
    const int threads = A->threads > 1 && most > 1 ? csrec_threads(A->threads) : 1;
    return threads < most || threads == 1 ? threads : (int)most;
}

static csrec_status dct_shrink_create(const csrec_operator *A, const double *y, const double *start,
                                      void **data) {
    if (!suits(A->data)) return CSREC_UNSUPPORTED;
    state *s = csrec_pool_create(sizeof *s);
    if (!s) return CSREC_MEMORY;
    s->d = A->data;
    s->simd = CSREC_CPU_CHOOSE(csrec_dct);
    s->threads = threads_for(A);
    s->y = y;
    csrec_status status = dct_shrink_allocate(s);
    if (status) {
        csrec_pool_destroy(s);
        return status;
    }
    fill(s, y, start);
    *data = s;
    return CSREC_OK;
}

/* For blocks shifted by `offset`. The sum over blocks lacks a factor of 2 / block for each axis. */
static void count_cover(const csrec_dct_pass *p, int offset, lattice *axis) {
    int64_t n = axis->cells * p->step;
    memset(axis->share, 0, (size_t)n * sizeof *axis->share);
    for (int64_t k = 0; k < axis->blocks; k++)
        for (int i = offset; i < offset + p->block; i++)
            axis->share[i % p->step * axis->cells + k + i / p->step] += 1.0f;
    for (int64_t i = 0; i < n; i++)
        if (axis->share[i] > 0.0f) axis->share[i] = 2.0f / ((float)p->block * axis->share[i]);
}

/* A line of cells of a plane. */
static void blend_line(const state *s, const csrec_shrink_step *step, int64_t plane, int64_t line) {
    const csrec_dct_pass *p = &s->pass;
    const int64_t at = plane * p->plane + line * p->across;
    const csrec_dct_blend b = {.n = p->across,
                               .relax = (float)step->relax,
                               .impose = (float)step->impose,
                               .down = s->axis[0].share[plane / p->step * s->axis[0].cells + line],
                               .share = s->axis[1].share + plane % p->step * s->axis[1].cells,
                               .sampled = s->sampled + at,
                               .target = s->target + at,
                               .sum = s->sum + at,
                               .u = s->picture + at};
    s->simd->blend(&b);
}

/* Blocks are added to a thread's own cells alone, in the order of their positions. */
static void add_blocks(const state *s, int part) {
    csrec_dct_pass p = s->pass;
    p.from = s->axis[0].cells * part / s->threads * p.across;
    p.to = part + 1 < s->threads ? s->axis[0].cells * (part + 1) / s->threads * p.across : p.plane;
    p.work = (float *)s->pass.work + (int64_t)part * p.block * p.block * CSREC_DCT_LANES;
    for (int64_t plane = 0; plane < (int64_t)p.step * p.step; plane++)
        memset(s->sum + plane * p.plane + p.from, 0, (size_t)(p.to - p.from) * sizeof *s->sum);
    s->simd->pass(&p);
}

/* A sequence of offsets that covers the square evenly (Roberts's, from the plastic number). */
void csrec_dct_offset(int step, int64_t draw, int *down, int *right) {
    *down = (int)(fmod(0.5 + 0.7548776662466927 * (double)draw, 1.0) * step);
    *right = (int)(fmod(0.5 + 0.5698402909980532 * (double)draw, 1.0) * step);
}

/* The mean of a block is always kept. */
static void set_thresholds(csrec_dct_pass *p, const csrec_shrink_step *step) {
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++) {
            double scale = p->block / sqrt((u ? 2.0 : 1.0) * (v ? 2.0 : 1.0));
            p->threshold[u][v] = (float)(step->threshold * scale);
            p->less[u][v] = step->soft ? p->threshold[u][v] : 0.0f;
        }
    p->threshold[0][0] = -1.0f;
    p->less[0][0] = 0.0f;
}

static csrec_status take_step(void *data, const csrec_shrink_step *step) {
    state *s = data;
    csrec_dct_offset(s->pass.step, step->draw, &s->pass.down, &s->pass.right);
    set_thresholds(&s->pass, step);
    count_cover(&s->pass, s->pass.down, &s->axis[0]);
    count_cover(&s->pass, s->pass.right, &s->axis[1]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) add_blocks(s, part);
    const int64_t lines = s->axis[0].cells, all = lines * s->pass.step * s->pass.step;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < all; k++) blend_line(s, step, k / lines, k % lines);
    return CSREC_OK;
}

static double dct_shrink_energy(const void *data) {
    const state *s = data;
    double sum = 0.0;
    for (int64_t k = 0; k < s->d->mask.m; k++) {
        double error = s->y[k] - s->sum[s->at[k]];
        sum += error * error;
    }
    return sum;
}

static void dct_shrink_signal(const void *data, double *out) {
    const state *s = data;
    const csrec_dct_pass *p = &s->pass;
    for (int64_t i = 0; i < s->axis[0].extent; i++)
        for (int64_t j = 0; j < s->axis[1].extent; j++)
            *out++ = s->picture[place(p, i + p->step - 1, j + p->step - 1)];
}

const csrec_shrink_type csrec_dct_shrink = {dct_shrink_create, csrec_pool_destroy, take_step,
                                            dct_shrink_energy, dct_shrink_signal};
