/* SPDX-License-Identifier: BSD-3-Clause */
/* tile_simd.h - inner products of convolutions, a template over instruction sets
 * (cmake/simd.cmake). */
#include "conv/conv.h"

typedef float vec32 __attribute__((vector_size(SIMD_BYTES), aligned(4)));

enum { LANES_32 = SIMD_BYTES / 4 };

/* Of a tile in registers, and of a dot product's: as many as the set has registers for. */
enum {
    HEIGHT = SIMD_BYTES == 64 ? 8 : 4,
    VECS = SIMD_BYTES == 16 ? 2 : 3,
    DOT = SIMD_BYTES == 64   ? 6
          : SIMD_BYTES == 32 ? 3
                             : 2
};

/* All HEIGHT x VECS sums stay in registers; - 0 broadcasts a number at no cost, + 0 would not. */
static void tile_f32(int64_t k, const float *a, const float *b, float *c, int64_t ld, bool add) {
    vec32 sum[HEIGHT][VECS] = {{{0}}};
    for (int i = 0; add && i < HEIGHT; i++)
        for (int j = 0; j < VECS; j++) sum[i][j] = *(const vec32 *)(c + i * ld + j * LANES_32);
    for (; k > 0; k--, a += HEIGHT, b += ld) {
        vec32 bj[VECS];
        for (int j = 0; j < VECS; j++) bj[j] = *(const vec32 *)(b + j * LANES_32);
#pragma GCC unroll 8
        for (int i = 0; i < HEIGHT; i++) {
            vec32 ai = a[i] - (vec32){0};
            for (int j = 0; j < VECS; j++) sum[i][j] += ai * bj[j];
        }
    }
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < VECS; j++) *(vec32 *)(c + i * ld + j * LANES_32) = sum[i][j];
}

/* Pairwise: the rounding of a sum of lanes grows with the logarithm of their number. */
static inline float lanes_sum(vec32 v) {
    float lane[LANES_32];
    for (int l = 0; l < LANES_32; l++) lane[l] = v[l];
    for (int half = LANES_32 / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}

static void dot_f32(const float *a, const float *b, float *c, int64_t ld) {
    vec32 sum[CSREC_CONV_DOT][DOT] = {{{0}}};
    for (int p = 0; p < CSREC_CONV_LINE; p += LANES_32) {
        vec32 bj[DOT];
        for (int j = 0; j < DOT; j++) bj[j] = *(const vec32 *)(b + j * CSREC_CONV_LINE + p);
#pragma GCC unroll 4
        for (int i = 0; i < CSREC_CONV_DOT; i++) {
            vec32 ai = *(const vec32 *)(a + i * CSREC_CONV_LINE + p);
            for (int j = 0; j < DOT; j++) sum[i][j] += ai * bj[j];
        }
    }
    for (int i = 0; i < CSREC_CONV_DOT; i++)
        for (int j = 0; j < DOT; j++) c[i * ld + j] += lanes_sum(sum[i][j]);
}

const csrec_conv_simd SIMD_TABLE = {.height = HEIGHT,
                                    .width_f32 = VECS * LANES_32,
                                    .dot = DOT,
                                    .tile_f32 = tile_f32,
                                    .dot_f32 = dot_f32};
