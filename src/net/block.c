/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c - products of a network's layers: tiles of pictures, shared among threads. */

#include "net/block.h"

#include <omp.h>

#include "base/cpu.h"
#include "net/block_rooms.h"

const csrec_block_simd *csrec_block_simd_choose(void) {
    return CSREC_CPU_CHOOSE(csrec_block);
}

typedef struct conv3 {
    const csrec_block_work *work;
    const csrec_block_shape *shape;
    const csrec_block_kernels *kernels;
    const float *x;
    const csrec_block_finish *finish;
    float *y;
    csrec_block_tiles tiles;
    csrec_block_cut cut;
} conv3;

static void spread_tiles(const conv3 *c, int64_t first, int count, float *V, int64_t apart) {
    int64_t in = c->shape->in, line = c->shape->width * in;
    for (int t = 0; t < count; t++) {
        csrec_block_place place = csrec_block_locate(&c->tiles, first + t);
        csrec_block_part part = csrec_block_inputs(&c->tiles, &place);
        const float *x =
            c->x + place.pixel * in - line - in; /* the tile's input before the first */
        c->work->simd->spread(x, line, in, &part, V + t * in, apart);
    }
}

/* M[tap] = V[tap] U[tap]: the weights of a tap and some channels serve all tiles. */
static void multiply_tiles(const conv3 *c, int count, const float *V, float *M) {
    const csrec_block_simd *simd = c->work->simd;
    int64_t in = c->shape->in, out = c->shape->out;
    const float *U = c->kernels->packed;
    for (int tap = 0; tap < CSREC_BLOCK_TAPS; tap++, V += c->cut.V_apart, M += c->cut.M_apart)
        for (int64_t k = 0; k < out; k += simd->width) {
            int columns = csrec_block_columns(simd, out, k);
            for (int row = 0; row < count; row += simd->rows) {
                int rows = count - row < simd->rows ? count - row : simd->rows;
                simd->multiply(rows, columns, in, V + row * in, in, 1, U, columns,
                               M + row * out + k, out, false);
            }
            U += in * columns;
        }
}

/* Of `columns` channels from k on, which are those of M. */
static void collect_tiles(const conv3 *c, int64_t first, int count, int64_t k, int columns,
                          const float *M) {
    int64_t out = c->shape->out, line = c->shape->width * out;
    for (int t = 0; t < count; t++) {
        csrec_block_place place = csrec_block_locate(&c->tiles, first + t);
        csrec_block_part part = csrec_block_outputs(&c->tiles, &place);
        c->work->simd->collect(M + (int64_t)t * columns, c->cut.M_apart, &part, c->finish, k,
                               columns, place.pixel * out, line, out, c->y);
    }
}

/* Each thread has tiles of its own. */
static void convolve_tiles(const conv3 *c) {
    const csrec_block_cut *cut = &c->cut;
#pragma omp parallel for schedule(dynamic, 1) num_threads(c->work->threads)
    for (int64_t first = 0; first < c->tiles.count; first += cut->tiles) {
        if (csrec_call_poll(c->work->call)) continue;
        float *V = c->work->memory + (int64_t)omp_get_thread_num() * cut->floats;
        float *M = V + CSREC_BLOCK_TAPS * cut->V_apart;
        const int count = csrec_block_clip(c->tiles.count - first, cut->tiles);
        spread_tiles(c, first, count, V, cut->V_apart);
        multiply_tiles(c, count, V, M);
        collect_tiles(c, first, count, 0, (int)c->shape->out, M);
    }
}

/* The results of some tiles, V their inputs, in the channels of the product that begins with k. */
static void convolve_panel(const conv3 *c, int64_t first, int count, int64_t k, const float *V,
                           float *U) {
    const csrec_block_simd *simd = c->work->simd;
    const csrec_block_cut *cut = &c->cut;
    const int64_t in = c->shape->in;
    const int columns = csrec_block_columns(simd, c->shape->out, k);
    float *M = U + CSREC_BLOCK_TAPS * cut->U_apart;
    simd->pack(c->kernels, k, columns, U, cut->U_apart);
    for (int tap = 0; tap < CSREC_BLOCK_TAPS; tap++)
        for (int row = 0; row < count; row += simd->rows)
            simd->multiply(csrec_block_clip(count - row, simd->rows), columns, in,
                           V + tap * cut->V_apart + row * in, in, 1, U + tap * cut->U_apart,
                           columns, M + tap * cut->M_apart + row * columns, columns, false);
    collect_tiles(c, first, count, k, columns, M);
}

/* Each thread has channels of its own, whose weights it packs; where threads are more than such
 * panels, parts of the tiles, too. Each barrier is the end of a loop. */
static void convolve_panels(const conv3 *c) {
    const csrec_block_cut *cut = &c->cut;
    const int64_t in = c->shape->in, width = c->work->simd->width;
    const int64_t panels = (c->shape->out + width - 1) / width;
    const int64_t parts = (c->work->threads + panels - 1) / panels;
    float *V = c->work->memory;
#pragma omp parallel num_threads(c->work->threads)
    for (int64_t first = 0; first < c->tiles.count; first += cut->tiles) {
        const int count = csrec_block_clip(c->tiles.count - first, cut->tiles);
        float *U = V + CSREC_BLOCK_TAPS * cut->V_apart + omp_get_thread_num() * cut->floats;
#pragma omp for schedule(static)
        for (int t = 0; t < count; t++)
            if (!csrec_call_poll(c->work->call))
                spread_tiles(c, first + t, 1, V + t * in, cut->V_apart);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < panels * parts; i++) {
            const int64_t from = count * (i % parts) / parts, end = count * (i % parts + 1) / parts;
            if (!csrec_call_poll(c->work->call))
                convolve_panel(c, first + from, (int)(end - from), i / parts * width, V + from * in,
                               U);
        }
    }
}

void csrec_block_conv3(const csrec_block_work *work, const csrec_block_shape *shape,
                       const csrec_block_kernels *kernels, const float *x,
                       const csrec_block_finish *finish, float *y) {
    conv3 c = {work, shape, kernels, x, finish, y, csrec_block_tiles_of(shape), {0}};
    c.cut = kernels->packed ? csrec_block_cut_of(work->simd, shape, work->threads)
                            : csrec_block_panel_cut(work->simd, shape);
    (kernels->packed ? convolve_tiles : convolve_panels)(&c);
}

/* Pixels of the smaller picture that are computed together. */
typedef struct stretch {
    int64_t line, column; /* line: of all pictures */
    int pixels;
} stretch;

static stretch stretch_of(const csrec_block_simd *simd, const csrec_block_shape *shape, int64_t i) {
    int64_t across = (shape->width + simd->rows - 1) / simd->rows;
    stretch s = {i / across, i % across * simd->rows, simd->rows};
    if (shape->width - s.column < s.pixels) s.pixels = (int)(shape->width - s.column);
    return s;
}

static int64_t stretches(const csrec_block_simd *simd, const csrec_block_shape *shape) {
    return shape->batch * shape->height * ((shape->width + simd->rows - 1) / simd->rows);
}

/* Both lines of inputs are runs of 2 in. */
void csrec_block_down(const csrec_block_work *work, const csrec_block_shape *shape,
                      const float *packed, const float *x, const csrec_block_finish *finish,
                      float *y) {
    const csrec_block_simd *simd = work->simd;
    int64_t pair = 2 * shape->in, count = stretches(simd, shape);
#pragma omp parallel for schedule(static) num_threads(work->threads)
    for (int64_t i = 0; i < count; i++) {
        if (csrec_call_poll(work->call)) continue;
        float sums[CSREC_BLOCK_ROWS * CSREC_BLOCK_WIDTH];
        stretch s = stretch_of(simd, shape, i);
        const float *from = x + (2 * s.line * shape->width + s.column) * pair;
        int64_t pixel = s.line * shape->width + s.column;
        for (int64_t k = 0; k < shape->out; k += simd->width) {
            int columns = csrec_block_columns(simd, shape->out, k);
            const float *U = packed + 2 * pair * k;
            simd->multiply(s.pixels, columns, pair, from, pair, 1, U, columns, sums, columns,
                           false);
            simd->multiply(s.pixels, columns, pair, from + shape->width * pair, pair, 1,
                           U + pair * columns, columns, sums, columns, true);
            simd->deliver(s.pixels, columns, sums, columns, finish, k, pixel * shape->out,
                          shape->out, y);
        }
    }
}

void csrec_block_up(const csrec_block_work *work, const csrec_block_shape *shape,
                    const float *packed, const float *x, const csrec_block_finish *finish,
                    float *y) {
    const csrec_block_simd *simd = work->simd;
    int64_t in = shape->in, out = shape->out, count = stretches(simd, shape);
#pragma omp parallel for schedule(static) num_threads(work->threads)
    for (int64_t i = 0; i < count; i++) {
        if (csrec_call_poll(work->call)) continue;
        float sums[CSREC_BLOCK_ROWS * CSREC_BLOCK_WIDTH];
        stretch s = stretch_of(simd, shape, i);
        const float *from = x + (s.line * shape->width + s.column) * in;
        for (int tap = 0; tap < 4; tap++) {
            int64_t pixel = (2 * s.line + tap / 2) * 2 * shape->width + 2 * s.column + tap % 2;
            for (int64_t k = 0; k < out; k += simd->width) {
                int columns = csrec_block_columns(simd, out, k);
                simd->multiply(s.pixels, columns, in, from, in, 1, packed + in * (tap * out + k),
                               columns, sums, columns, false);
                simd->deliver(s.pixels, columns, sums, columns, finish, k, pixel * out, 2 * out, y);
            }
        }
    }
}
