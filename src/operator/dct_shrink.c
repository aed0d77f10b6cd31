/* SPDX-License-Identifier: BSD-3-Clause */
/* dct_shrink.c - the picture in cells, its samples, and one iteration. */
#include "operator/dct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "base/unit.h"

/* Positions along an axis: the signal starts `step - 1` pixels into the cells, so that blocks
 * cover it at any offset. */
typedef struct lattice {
    int64_t extent, blocks, cells;
    int64_t side, floats; /* pixel i is at i % side * (floats / side) + i / side */
    float *share;         /* [floats] 2 / block / number of covering blocks, 0 for none */
} lattice;

/* Rows of pixels are of `width` floats, [step][across]. */
typedef struct state {
    csrec_pool pool; /* first */
    const csrec_dct *d;
    csrec_dct_pass pass;
    const csrec_dct_simd *simd;
    lattice axis[2];
    int64_t width;
    float *picture, *target; /* [rows][width]; target: NaN where there is no sample */
    float *room;     /* of threads, each the lines of cells that others change, sums, work */
    double *squares; /* [rows] of errors at the samples */
    double energy;
    int threads;
} state;

static bool suits(const csrec_dct *d) {
    bool power = d->block == 4 || d->block == 8 || d->block == 16 || d->block == 32;
    return power && d->block % d->step == 0 && d->axis[0].extent == 1 &&
           d->axis[1].extent >= d->block && d->axis[2].extent >= d->block;
}

/* across: of a row, of which vectors are read. */
static void lay_axis(csrec_pool *pool, const csrec_dct *d, int64_t extent, bool across,
                     lattice *axis) {
    axis->extent = extent;
    axis->blocks = csrec_dct_blocks(extent, d->block, d->step);
    axis->cells = csrec_dct_cells(extent, d->block, d->step);
    axis->side = across ? d->step : 1;
    axis->floats = d->step * (across ? csrec_dct_across(axis->cells) : axis->cells);
    CSREC_TAKE(pool, axis->share, axis->floats);
}

/* Address of pixel i of an axis. */
static int64_t place(const lattice *axis, int64_t i) {
    return i % axis->side * (axis->floats / axis->side) + i / axis->side;
}

/* Floats of a line of cells. */
static int64_t line_of(const state *s) {
    return s->pass.step * s->width;
}

/* Lines of cells below that of a block that it may reach. */
static int64_t reach_of(const csrec_dct_pass *p) {
    return p->block / p->step;
}

/* Of a thread: lines above and below its own, as they were; the sums of as many lines as a block
 * may reach; work of a pass. */
static int64_t room_of(const state *s) {
    return (3 * reach_of(&s->pass) + 1) * line_of(s) +
           s->pass.block * s->pass.block * CSREC_DCT_LANES;
}

static csrec_status dct_shrink_allocate(state *s) {
    const csrec_dct *d = s->d;
    csrec_dct_pass *p = &s->pass;
    lay_axis(&s->pool, d, d->axis[1].extent, false, &s->axis[0]);
    lay_axis(&s->pool, d, d->axis[2].extent, true, &s->axis[1]);
    p->block = d->block;
    p->step = d->step;
    p->blocks = s->axis[1].blocks;
    s->width = s->axis[1].floats;
    p->across = s->width / p->step;
    const int64_t rows = s->axis[0].floats;
    CSREC_TAKE(&s->pool, s->squares, rows);
    CSREC_TAKE(&s->pool, s->picture, rows * s->width);
    CSREC_TAKE(&s->pool, s->target, rows * s->width);
    const size_t vector = CSREC_DCT_LANES * sizeof *s->room; /* stacks of threads may be small */
    s->room = csrec_pool_keep(
        &s->pool, aligned_alloc(vector, (size_t)(s->threads * room_of(s)) * sizeof *s->room));
    return csrec_pool_status(&s->pool);
}

/* Entry of the signal, reflected at its ends, for pixel i of an axis of the cells. */
static int64_t reflected(const lattice *axis, int step, int64_t i) {
    i -= step - 1;
    if (i < 0) i = -1 - i;
    i %= 2 * axis->extent;
    return i < axis->extent ? i : 2 * axis->extent - 1 - i;
}

static void fill_row(const state *s, const double *start, const int64_t *column, int64_t row) {
    const double *line = start + reflected(&s->axis[0], s->pass.step, row) * s->axis[1].extent;
    float *u = s->picture + row * s->width, *target = s->target + row * s->width;
    for (int64_t i = 0; i < s->width; i++) {
        u[i] = (float)line[column[i]];
        target[i] = NAN;
    }
}

static csrec_status fill(state *s, const double *y, const double *start) {
    const csrec_dct_pass *p = &s->pass;
    const csrec_mask *mask = &s->d->mask;
    const int64_t wide = s->axis[1].extent, rows = s->axis[0].floats;
    int64_t *column = malloc((size_t)s->width * sizeof *column);
    if (!column) return CSREC_MEMORY;
    for (int64_t i = 0; i < s->width; i++)
        column[i] = reflected(&s->axis[1], p->step, i % p->across * p->step + i / p->across);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t row = 0; row < rows; row++) fill_row(s, start, column, row);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < mask->m; k++) {
        const int64_t row = mask->index[k] / wide, x = mask->index[k] - row * wide;
        s->target[(row + p->step - 1) * s->width + place(&s->axis[1], x + p->step - 1)] =
            (float)y[k];
    }
    s->energy = csrec_squares(mask->m, y);
    free(column);
    return CSREC_OK;
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
    csrec_status status = dct_shrink_allocate(s);
    if (!status) status = fill(s, y, start);
    if (status)
        csrec_pool_destroy(s);
    else
        *data = s;
    return status;
}

/* For blocks shifted by `offset`. The sum over blocks lacks a factor of 2 / block for each axis. */
static void count_cover(const csrec_dct_pass *p, int offset, lattice *axis) {
    memset(axis->share, 0, (size_t)axis->floats * sizeof *axis->share);
    for (int64_t k = 0; k < axis->blocks; k++)
        for (int i = offset; i < offset + p->block; i++)
            axis->share[place(axis, k * p->step + i)] += 1.0f;
    for (int64_t i = 0; i < axis->floats; i++)
        if (axis->share[i] > 0.0f) axis->share[i] = 2.0f / ((float)p->block * axis->share[i]);
}

/* The lines of cells of a part, and its room: lines above and below as they were, sums. */
typedef struct band {
    int64_t from, to;
    float *above, *below, *sum, *work;
} band;

static band band_of(const state *s, int part) {
    const int64_t line = line_of(s), reach = reach_of(&s->pass), cells = s->axis[0].cells;
    float *room = s->room + part * room_of(s);
    return (band){.from = cells * part / s->threads,
                  .to = cells * (part + 1) / s->threads,
                  .above = room,
                  .below = room + reach * line,
                  .sum = room + 2 * reach * line,
                  .work = room + (3 * reach + 1) * line};
}

/* Before other threads change them. */
static void keep_lines(const state *s, int part) {
    const band b = band_of(s, part);
    const int64_t line = line_of(s), reach = reach_of(&s->pass);
    const size_t bytes = (size_t)(reach * line) * sizeof *s->picture;
    if (part > 0) memcpy(b.above, s->picture + (b.from - reach) * line, bytes);
    if (part + 1 < s->threads) memcpy(b.below, s->picture + b.to * line, bytes);
}

/* Rows of pixels under the blocks of a line, and of their sums, which are of a ring of lines. */
static void point_rows(const state *s, const band *b, int64_t line, int down, csrec_dct_pass *p) {
    const int64_t reach = reach_of(p), ring = (reach + 1) * p->step;
    for (int i = 0; i < p->block; i++) {
        const int64_t row = line * p->step + down + i, cell = row / p->step;
        p->picture[i] = cell < b->from ? b->above + (row - (b->from - reach) * p->step) * s->width
                        : cell < b->to ? s->picture + row * s->width
                                       : b->below + (row - b->to * p->step) * s->width;
        p->sum[i] = b->sum + row % ring * s->width;
    }
}

/* v and u of a line of cells, which all its blocks have been added to. */
static void blend_line(const state *s, const csrec_shrink_step *step, const band *b, int64_t line) {
    const csrec_dct_pass *p = &s->pass;
    const int64_t ring = (reach_of(p) + 1) * p->step;
    for (int64_t row = line * p->step; row < (line + 1) * p->step; row++) {
        const csrec_dct_blend blend = {.cells = s->axis[1].cells,
                                       .across = p->across,
                                       .step = p->step,
                                       .relax = (float)step->relax,
                                       .impose = (float)step->impose,
                                       .down = s->axis[0].share[row],
                                       .share = s->axis[1].share,
                                       .target = s->target + row * s->width,
                                       .sum = b->sum + row % ring * s->width,
                                       .u = s->picture + row * s->width};
        s->squares[row] = s->simd->blend(&blend);
    }
}

/* A line of cells changes when all blocks that read it have been added, to the lines of a part
 * alone, in the order of their positions. */
static void step_band(const state *s, const csrec_shrink_step *step, int down, int part) {
    const band b = band_of(s, part);
    const int64_t reach = reach_of(&s->pass), cells = line_of(s);
    csrec_dct_pass p = s->pass;
    p.work = b.work;
    memset(b.sum, 0, (size_t)((reach + 1) * cells) * sizeof *b.sum);
    for (int64_t line = part ? b.from - reach : 0; line < b.to; line++) {
        if (line < s->axis[0].blocks) {
            point_rows(s, &b, line, down, &p);
            s->simd->pass(&p);
        }
        if (line >= b.from)
            blend_line(s, step, &b, line);
        else
            memset(b.sum + line % (reach + 1) * cells, 0, (size_t)cells * sizeof *b.sum);
    }
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
    int down;
    csrec_dct_offset(s->pass.step, step->draw, &down, &s->pass.right);
    set_thresholds(&s->pass, step);
    count_cover(&s->pass, down, &s->axis[0]);
    count_cover(&s->pass, s->pass.right, &s->axis[1]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) keep_lines(s, part);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) step_band(s, step, down, part);
    s->energy = 0.0;
    for (int64_t row = 0; row < s->axis[0].floats; row++) s->energy += s->squares[row];
    return CSREC_OK;
}

static double dct_shrink_energy(const void *data) {
    return ((const state *)data)->energy;
}

static void dct_shrink_signal(const void *data, double *out) {
    const state *s = data;
    const int64_t wide = s->axis[1].extent, border = s->pass.step - 1;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->axis[0].extent; i++) {
        const float *row = s->picture + (i + border) * s->width;
        for (int64_t j = 0; j < wide; j++) out[i * wide + j] = row[place(&s->axis[1], j + border)];
    }
}

const csrec_shrink_type csrec_dct_shrink = {dct_shrink_create, csrec_pool_destroy, take_step,
                                            dct_shrink_energy, dct_shrink_signal};
