/* SPDX-License-Identifier: BSD-3-Clause */
/* block_pack.c - packed weights of a network's layers, and the memory of their products. */
#include <string.h>

#include "base/inline.h"
#include "net/block.h"
#include "net/block_rooms.h"

/* V and M should stay in the second cache of a core. Chunks are as many as threads, or much more.
 */
csrec_block_cut csrec_block_cut_of(const csrec_block_simd *simd, const csrec_block_shape *shape,
                                   int threads) {
    enum { FLOATS = 400000 };
    int64_t count = csrec_block_tiles_of(shape).count;
    int64_t tiles = FLOATS / (CSREC_BLOCK_TAPS * (shape->in + shape->out));
    int64_t each = (count + threads - 1) / threads;
    tiles -= tiles % simd->rows;
    if (tiles < 2 * simd->rows) tiles = 2 * simd->rows;
    int64_t chunks = (each + tiles - 1) / tiles;
    if (chunks > 0 && chunks < 8) tiles = (each + chunks - 1) / chunks;
    csrec_block_cut cut = {.tiles = (int)tiles,
                           .V_apart = tiles * shape->in + CSREC_BLOCK,
                           .M_apart = tiles * shape->out + CSREC_BLOCK};
    cut.floats = CSREC_BLOCK_TAPS * (cut.V_apart + cut.M_apart);
    return cut;
}

csrec_block_cut csrec_block_gradient_cut(const csrec_block_shape *shape) {
    enum { FLOATS = 600000, LEAST = 32, MOST = 512 };
    int64_t tiles = FLOATS / (CSREC_BLOCK_TAPS * (shape->in + shape->out));
    if (tiles < LEAST) tiles = LEAST;
    if (tiles > MOST) tiles = MOST;
    csrec_block_cut cut = {.tiles = (int)tiles,
                           .V_apart = tiles * shape->in + CSREC_BLOCK,
                           .M_apart = tiles * shape->out + CSREC_BLOCK};
    cut.floats = CSREC_BLOCK_TAPS * (cut.V_apart + cut.M_apart + shape->in * shape->out);
    return cut;
}

size_t csrec_block_room(const csrec_block_simd *simd, const csrec_block_shape *shape, int threads,
                        bool gradient) {
    int64_t floats = threads * csrec_block_cut_of(simd, shape, threads).floats;
    if (gradient) {
        floats = csrec_larger(floats, csrec_block_gradient_cut(shape).floats);
        floats = csrec_larger(floats, CSREC_BLOCK_PARTS * csrec_larger(shape->in, shape->out));
    }
    return (size_t)floats * sizeof(float);
}

int64_t csrec_block_packed3(int64_t in, int64_t out) {
    return CSREC_BLOCK_TAPS * csrec_block_padded(in) * csrec_block_padded(out);
}

/* u = G g, 3 to 6, of a block of kernels */
static void spread_weights(csrec_block_lanes *g, int from, csrec_block_lanes *u, int to) {
    for (int l = 0; l < CSREC_BLOCK; l++) {
        float sum = (g[0][l] + g[2 * from][l]) / 6.0f, middle = g[from][l] / 6.0f;
        float sum2 = g[0][l] / 24.0f + g[2 * from][l] / 6.0f, middle2 = g[from][l] / 12.0f;
        u[0][l] = g[0][l] / 4.0f;
        u[to][l] = -sum - middle;
        u[2 * to][l] = middle - sum;
        u[3 * to][l] = sum2 + middle2;
        u[4 * to][l] = sum2 - middle2;
        u[5 * to][l] = g[2 * from][l];
    }
}

typedef struct packing3 {
    const float *W;
    int64_t in, out, from, to; /* channels of W; of the product */
    bool turned;
} packing3;

/* G g G^T of the kernels from channel c to channels k .. k + CSREC_BLOCK - 1; 0 beyond the last. */
static void spread_kernels(const packing3 *p, int64_t c, int64_t k, csrec_block_lanes *u) {
    csrec_block_lanes g[9] = {{0}}, t[18];
    for (int64_t l = 0; l < CSREC_BLOCK && k + l < p->to && c < p->from; l++) {
        const float *w = p->W + 9 * (p->turned ? c * p->in + k + l : (k + l) * p->in + c);
        for (int i = 0; i < 9; i++) g[i][l] = w[p->turned ? 8 - i : i];
    }
    for (int j = 0; j < 3; j++) spread_weights(g + j, 3, t + j, 3);
    for (int i = 0; i < 6; i++) spread_weights(t + 3 * i, 1, u + 6 * i, 1);
}

/* packed: for each tap, products of simd->width channels, [in][columns] each. */
void csrec_block_pack3(const csrec_block_simd *simd, int threads, int64_t in, int64_t out,
                       const float *W, bool turned, float *packed) {
    packing3 p = {W, in, out, turned ? out : in, turned ? in : out, turned};
    int64_t rows = csrec_block_padded(p.from), all = csrec_block_padded(p.to);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t c = 0; c < rows; c++)
        for (int64_t k = 0; k < all; k += CSREC_BLOCK) {
            csrec_block_lanes u[CSREC_BLOCK_TAPS];
            spread_kernels(&p, c, k, u);
            for (int64_t l = 0, count; l < CSREC_BLOCK; l += count) {
                int64_t first = (k + l) - (k + l) % simd->width;
                int columns = csrec_block_columns(simd, all, first);
                count = csrec_block_clip(columns, CSREC_BLOCK);
                float *at = packed + rows * first + c * columns + k + l - first;
                for (int tap = 0; tap < CSREC_BLOCK_TAPS; tap++)
                    memcpy(at + tap * rows * all, u[tap] + l, (size_t)count * sizeof *at);
            }
        }
}

int64_t csrec_block_packed2(int64_t small, int64_t large) {
    return 4 * csrec_block_padded(small) * csrec_block_padded(large);
}

/* down: products of width channels, [2][2][large][columns] each; up: the same for each tap,
 * [small][columns]. */
void csrec_block_pack2(const csrec_block_simd *simd, int64_t small, int64_t large, const float *W,
                       bool up, float *packed) {
    int64_t s_all = csrec_block_padded(small), l_all = csrec_block_padded(large);
    int64_t rows = up ? s_all : l_all, all = up ? l_all : s_all;
    for (int tap = 0; tap < 4; tap++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < all; k++) {
                int64_t first = k - k % simd->width, s = up ? r : k, l = up ? k : r;
                int columns = csrec_block_columns(simd, all, first);
                int64_t at = up ? rows * (tap * all + first) + r * columns
                                : rows * (4 * first + tap * columns) + r * columns;
                packed[at + k - first] =
                    s < small && l < large ? W[(s * large + l) * 4 + tap] : 0.0f;
            }
}
