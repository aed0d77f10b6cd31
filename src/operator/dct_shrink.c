/* SPDX-License-Identifier: BSD-3-Clause */
/* dct_shrink.c - the picture in cells, its samples, and one iteration. */
#include "operator/dct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
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
    lattice axis[2];         /* the rows; a row */
    int64_t width, line;     /* floats of a row, and of a line of cells */
    int64_t reach, each;     /* lines that a block may reach below its own; floats of a room */
    float *picture, *target; /* [rows][width]; target: NaN where there is no sample */
    float *room;     /* of each thread: `reach` lines above and below its own, as they were; sums of
                        reach + 1 lines; work of a pass */
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

static csrec_status dct_shrink_allocate(state *s) {
    const csrec_dct *d = s->d;
    csrec_pool *pool = &s->pool;
    lay_axis(pool, d, d->axis[1].extent, false, &s->axis[0]);
    lay_axis(pool, d, d->axis[2].extent, true, &s->axis[1]);
    const int64_t rows = s->axis[0].floats;
    s->width = s->axis[1].floats;
    s->line = s->width * d->step;
    s->reach = d->block / d->step;
    s->each = (3 * s->reach + 1) * s->line + d->block * d->block * CSREC_DCT_LANES;
    s->pass = (csrec_dct_pass){.block = d->block,
                               .step = d->step,
                               .blocks = s->axis[1].blocks,
                               .cells = s->axis[1].cells,
                               .across = s->width / d->step,
                               .share = s->axis[1].share};
    CSREC_TAKE(pool, s->squares, rows);
    CSREC_TAKE(pool, s->picture, rows * s->width);
    CSREC_TAKE(pool, s->target, rows * s->width);
    const size_t room = (size_t)(s->threads * s->each) * sizeof *s->room;
    s->room = csrec_pool_keep(pool, csrec_memory_allocate(room));
    return csrec_pool_status(pool);
}

/* Entry of the signal, reflected at its ends, for pixel i of an axis of the cells. */
static int64_t reflected(const lattice *axis, int step, int64_t i) {
    i -= step - 1;
    if (i < 0) i = -1 - i;
    i %= 2 * axis->extent;
    return i < axis->extent ? i : 2 * axis->extent - 1 - i;
}

static csrec_status fill(state *s, const double *y, const double *start) {
    const lattice *axis = s->axis;
    const csrec_mask *mask = &s->d->mask;
    const int64_t step = s->pass.step, across = s->pass.across, width = s->width;
    int64_t *column = malloc((size_t)width * sizeof *column);
    if (!column) return CSREC_MEMORY;
    for (int64_t i = 0; i < width; i++)
        column[i] = reflected(&axis[1], (int)step, i % across * step + i / across);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t row = 0; row < axis[0].floats; row++) {
        const double *from = start + reflected(&axis[0], (int)step, row) * axis[1].extent;
        for (int64_t i = row * width, j = 0; j < width; i++, j++) {
            s->picture[i] = (float)from[column[j]];
            s->target[i] = NAN;
        }
    }
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < mask->m; k++) {
        const int64_t row = mask->index[k] / axis[1].extent, x = mask->index[k] % axis[1].extent;
        s->target[(row + step - 1) * width + place(&axis[1], x + step - 1)] = (float)y[k];
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

/* First line of cells of a part. */
static int64_t first_of(const state *s, int part) {
    return s->axis[0].cells * part / s->threads;
}

/* Before other threads change them. */
static void keep_lines(const state *s, int part) {
    const int64_t from = first_of(s, part), to = first_of(s, part + 1), kept = s->reach * s->line;
    float *room = s->room + part * s->each;
    if (part > 0) memcpy(room, s->picture + from * s->line - kept, (size_t)kept * sizeof *room);
    if (part + 1 < s->threads)
        memcpy(room + kept, s->picture + to * s->line, (size_t)kept * sizeof *room);
}

/* A line of cells changes when all blocks that read it have been added, to the lines of a part
 * alone, in the order of their positions. Sums are a ring of lines. */
static void step_lines(const state *s, int down, int part) {
    const int64_t from = first_of(s, part), to = first_of(s, part + 1), reach = s->reach;
    const int64_t step = s->pass.step, ring = (reach + 1) * step;
    float *above = s->room + part * s->each, *below = above + reach * s->line,
          *sum = below + reach * s->line;
    csrec_dct_pass p = s->pass;
    p.work = sum + (reach + 1) * s->line;
    memset(sum, 0, (size_t)((reach + 1) * s->line) * sizeof *sum);
    for (int64_t line = part ? from - reach : 0; line < to; line++) {
        for (int64_t i = 0, row = line * step + down; i < p.block; i++, row++) {
            p.sum[i] = sum + row % ring * s->width;
            p.picture[i] = row < from * step ? above + (row - (from - reach) * step) * s->width
                           : row < to * step ? s->picture + row * s->width
                                             : below + (row - to * step) * s->width;
        }
        if (line < s->axis[0].blocks) s->simd->pass(&p);
        for (int64_t row = line * step; row < (line + 1) * step; row++) {
            float *own = sum + row % ring * s->width, *u = s->picture + row * s->width;
            if (line < from)
                memset(own, 0, (size_t)s->width * sizeof *own);
            else
                s->squares[row] =
                    s->simd->blend(&p, s->axis[0].share[row], s->target + row * s->width, own, u);
        }
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
    s->pass.relax = (float)step->relax;
    s->pass.impose = (float)step->impose;
    count_cover(&s->pass, down, &s->axis[0]);
    count_cover(&s->pass, s->pass.right, &s->axis[1]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) keep_lines(s, part);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) step_lines(s, down, part);
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
