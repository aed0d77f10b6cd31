/* SPDX-License-Identifier: BSD-3-Clause */
/* block_gradient.c - gradients of a network's weights: sums over all positions, in one order. */
#include <string.h>

#include "net/block.h"
#include "net/block_rooms.h"

typedef struct gradient3 {
    const csrec_block_work *work;
    const csrec_block_shape *shape;
    const float *x, *dy;
    csrec_block_tiles tiles;
    csrec_block_cut cut;
    float *V, *D, *U;
} gradient3;

static void spread_tile(const gradient3 *g, int64_t tile, int64_t at) {
    int64_t in = g->shape->in, out = g->shape->out, width = g->shape->width;
    csrec_block_place place = csrec_block_locate(&g->tiles, tile);
    csrec_block_part inputs = csrec_block_inputs(&g->tiles, &place);
    csrec_block_part outputs = csrec_block_outputs(&g->tiles, &place);
    const csrec_block_simd *simd = g->work->simd;
    simd->spread(g->x + (place.pixel - width - 1) * in, width * in, in, &inputs, g->V + at * in,
                 g->cut.V_apart);
    simd->spread_gradient(g->dy + place.pixel * out, width * out, out, &outputs, g->D + at * out,
                          g->cut.M_apart);
}

/* U[tap][c][k] += sum over tiles V[tap][tile][c] D[tap][tile][k], some rows of a tap. */
static void add_rows(const gradient3 *g, int64_t tap, int64_t c, int count, bool more) {
    const csrec_block_simd *simd = g->work->simd;
    int64_t in = g->shape->in, out = g->shape->out;
    int rows = csrec_block_clip(in - c, simd->rows);
    for (int64_t k = 0; k < out; k += simd->width)
        simd->multiply(rows, csrec_block_columns(simd, out, k), count,
                       g->V + tap * g->cut.V_apart + c, 1, in, g->D + tap * g->cut.M_apart + k, out,
                       g->U + (tap * in + c) * out + k, out, more);
}

/* All tiles; U is complete afterwards. Each barrier is the end of a loop. */
static void add_tiles(const gradient3 *g) {
    int64_t blocks = (g->shape->in + g->work->simd->rows - 1) / g->work->simd->rows;
#pragma omp parallel num_threads(g->work->threads)
    for (int64_t first = 0; first < g->tiles.count; first += g->cut.tiles) {
        int64_t left = g->tiles.count - first;
        int count = (int)(left < g->cut.tiles ? left : g->cut.tiles);
#pragma omp for schedule(static)
        for (int t = 0; t < count; t++)
            if (!csrec_call_poll(g->work->call)) spread_tile(g, first + t, t);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < CSREC_BLOCK_TAPS * blocks; i++)
            if (!csrec_call_poll(g->work->call))
                add_rows(g, i / blocks, i % blocks * g->work->simd->rows, count, first > 0);
    }
}

/* A number of each of a block's kernels. */
typedef float lanes[CSREC_BLOCK];

/* g = G^T u, 6 to 3, of a block of kernels */
static void collect_weights(lanes *u, int from, lanes *g, int to) {
    for (int l = 0; l < CSREC_BLOCK; l++) {
        float sum = u[from][l] + u[2 * from][l], sum2 = u[3 * from][l] + u[4 * from][l];
        g[0][l] = u[0][l] / 4.0f - sum / 6.0f + sum2 / 24.0f;
        g[to][l] = (u[2 * from][l] - u[from][l]) / 6.0f + (u[3 * from][l] - u[4 * from][l]) / 12.0f;
        g[2 * to][l] = -sum / 6.0f + sum2 / 6.0f + u[5 * from][l];
    }
}

/* The weights from channel c to channels k .. k + CSREC_BLOCK - 1. */
static void collect_kernels(const gradient3 *g, int64_t in, int64_t out, int64_t c, int64_t k,
                            float *dW) {
    lanes u[CSREC_BLOCK_TAPS], t[18], w[9];
    int64_t apart = g->shape->in * g->shape->out;
    for (int tap = 0; tap < CSREC_BLOCK_TAPS; tap++)
        memcpy(u[tap], g->U + tap * apart + c * g->shape->out + k, sizeof u[tap]);
    for (int j = 0; j < 6; j++) collect_weights(u + j, 6, t + j, 6);
    for (int i = 0; i < 3; i++) collect_weights(t + 6 * i, 1, w + 3 * i, 1);
    for (int64_t l = 0; l < CSREC_BLOCK && k + l < out; l++)
        for (int i = 0; i < 9; i++) dW[((k + l) * in + c) * 9 + i] = w[i][l];
}

void csrec_block_gradient3(const csrec_block_work *work, const csrec_block_shape *shape, int64_t in,
                           int64_t out, const float *x, const float *dy, float *dW) {
    gradient3 g = {
        work,         shape, x,   dy, csrec_block_tiles_of(shape), csrec_block_gradient_cut(shape),
        work->memory, NULL,  NULL};
    g.D = g.V + CSREC_BLOCK_TAPS * g.cut.V_apart;
    g.U = g.D + CSREC_BLOCK_TAPS * g.cut.M_apart;
    add_tiles(&g);
#pragma omp parallel for schedule(static) num_threads(work->threads)
    for (int64_t c = 0; c < in; c++)
        for (int64_t k = 0; k < out; k += CSREC_BLOCK) collect_kernels(&g, in, out, c, k, dW);
}

typedef struct gradient2 {
    const csrec_block_work *work;
    const csrec_block_shape *shape; /* in: of the larger picture */
    const float *small, *large;
    float *U; /* [tap][large][small] */
} gradient2;

/* Rows l .. of U[tap], summed over all lines of the smaller pictures. */
static void add_lines(const gradient2 *g, int tap, int64_t l) {
    const csrec_block_simd *simd = g->work->simd;
    const csrec_block_shape *s = g->shape;
    int rows = csrec_block_clip(s->in - l, simd->rows);
    for (int64_t line = 0; line < s->batch * s->height; line++) {
        const float *from = g->large + ((2 * line + tap / 2) * 2 * s->width + tap % 2) * s->in + l;
        for (int64_t k = 0; k < s->out; k += simd->width)
            simd->multiply(rows, csrec_block_columns(simd, s->out, k), s->width, from, 1, 2 * s->in,
                           g->small + line * s->width * s->out + k, s->out,
                           g->U + (tap * s->in + l) * s->out + k, s->out, line > 0);
    }
}

void csrec_block_gradient2(const csrec_block_work *work, const csrec_block_shape *shape,
                           int64_t channels_small, int64_t channels_large, const float *small,
                           const float *large, float *dW) {
    gradient2 g = {work, shape, small, large, work->memory};
    int64_t blocks = (shape->in + work->simd->rows - 1) / work->simd->rows;
#pragma omp parallel for schedule(static) num_threads(work->threads)
    for (int64_t i = 0; i < 4 * blocks; i++)
        if (!csrec_call_poll(work->call))
            add_lines(&g, (int)(i / blocks), i % blocks * work->simd->rows);
    for (int64_t s = 0; s < channels_small; s++)
        for (int64_t l = 0; l < channels_large; l++)
            for (int tap = 0; tap < 4; tap++)
                dW[(s * channels_large + l) * 4 + tap] =
                    g.U[(tap * shape->in + l) * shape->out + s];
}

void csrec_block_bias(const csrec_block_work *work, int64_t pixels, int64_t padded, int64_t out,
                      const float *dy, float *db) {
    float *parts = work->memory;
#pragma omp parallel for schedule(static) num_threads(work->threads)
    for (int64_t p = 0; p < CSREC_BLOCK_PARTS; p++) {
        float *part = parts + p * padded;
        memset(part, 0, (size_t)padded * sizeof *part);
        for (int64_t i = pixels * p / CSREC_BLOCK_PARTS; i < pixels * (p + 1) / CSREC_BLOCK_PARTS;
             i++)
            for (int64_t k = 0; k < padded; k++) part[k] += dy[i * padded + k];
    }
    for (int64_t k = 0; k < out; k++) {
        double sum = 0.0;
        for (int64_t p = 0; p < CSREC_BLOCK_PARTS; p++) sum += (double)parts[p * padded + k];
        db[k] = (float)sum;
    }
}
