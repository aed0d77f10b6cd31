/* SPDX-License-Identifier: BSD-3-Clause */
/* block_pack.c - packed weights of a network's layers, and the memory of their products. */

#include "base/inline.h"
#include "net/block.h"
#include "net/block_rooms.h"

/* V and M should take a small part of the second cache of a core. Chunks are as many as threads, or
 * more. */
csrec_block_cut csrec_block_cut_of(const csrec_block_simd *simd, const csrec_block_shape *shape,
                                   int threads) {
    enum { FLOATS = 120000 };
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

csrec_block_cut csrec_block_panel_cut(const csrec_block_simd *simd,
                                      const csrec_block_shape *shape) {
    enum { FLOATS = 2400000 };
    const int64_t count = csrec_block_tiles_of(shape).count;
    const int64_t most = csrec_larger(FLOATS / (CSREC_BLOCK_TAPS * shape->in), 1);
    const int64_t groups = (count + most - 1) / most, tiles = (count + groups - 1) / groups;
    csrec_block_cut cut = {.tiles = (int)tiles,
                           .V_apart = tiles * shape->in + CSREC_BLOCK,
                           .M_apart = tiles * simd->width + CSREC_BLOCK,
                           .U_apart = shape->in * simd->width + CSREC_BLOCK};
    cut.floats = CSREC_BLOCK_TAPS * (cut.U_apart + cut.M_apart);
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
                        bool packed, bool gradient) {
    const csrec_block_cut cut =
        packed ? csrec_block_cut_of(simd, shape, threads) : csrec_block_panel_cut(simd, shape);
    int64_t floats = threads * cut.floats + (packed ? 0 : CSREC_BLOCK_TAPS * cut.V_apart);
    if (gradient) {
        floats = csrec_larger(floats, csrec_block_gradient_cut(shape).floats);
        floats = csrec_larger(floats, CSREC_BLOCK_PARTS * csrec_larger(shape->in, shape->out));
    }
    return (size_t)floats * sizeof(float);
}

int64_t csrec_block_packed3(int64_t in, int64_t out) {
    return CSREC_BLOCK_TAPS * csrec_block_padded(in) * csrec_block_padded(out);
}

bool csrec_block_packs3(int64_t in, int64_t out) {
    return csrec_block_packed3(in, out) < CSREC_BLOCK_TAPS * 128 * 128;
}

/* packed: for each tap, products of simd->width channels, [in][columns] each. */
void csrec_block_pack3(const csrec_block_simd *simd, int threads,
                       const csrec_block_kernels *kernels, float *packed) {
    const int64_t rows = csrec_block_padded(kernels->turned ? kernels->out : kernels->in);
    const int64_t all = csrec_block_padded(kernels->turned ? kernels->in : kernels->out);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < all; k += simd->width)
        simd->pack(kernels, k, csrec_block_columns(simd, all, k), packed + rows * k, rows * all);
}

int64_t csrec_block_packed2(int64_t small, int64_t large) {
    return 4 * csrec_block_padded(small) * csrec_block_padded(large);
}

/* down: products of width channels, [2][2][large][columns] each; up: the same for each tap,
 * [small][columns]. */
void csrec_block_pack2(const csrec_block_simd *simd, int threads, int64_t small, int64_t large,
                       const float *W, bool up, float *packed) {
    int64_t s_all = csrec_block_padded(small), l_all = csrec_block_padded(large);
    int64_t rows = up ? s_all : l_all, all = up ? l_all : s_all;
#pragma omp parallel for schedule(static) num_threads(threads) collapse(2)
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
