/* SPDX-License-Identifier: BSD-3-Clause */
/* tile_simd.h - inner products of convolutions, a template over instruction sets
 * (cmake/simd.cmake). */
#include "conv/conv.h"

typedef float vec32 __attribute__((vector_size(SIMD_BYTES), aligned(4)));
typedef double vec64 __attribute__((vector_size(SIMD_BYTES), aligned(8)));

enum { LANES_32 = SIMD_BYTES / 4, LANES_64 = SIMD_BYTES / 8 };

/* Of a tile in registers, and of a dot product's: as many as the set has registers for. */
enum {
    HEIGHT = SIMD_BYTES == 64 ? 8 : 4,
    VECS = SIMD_BYTES == 16 ? 2 : 3,
    DOT = SIMD_BYTES == 64   ? 6
          : SIMD_BYTES == 32 ? 3
                             : 2
};

/* All HEIGHT x VECS sums stay in registers; - 0 broadcasts a number at no cost, + 0 would not. */
#define DEFINE_TILE(name, real, vec, LANES)                                                        \
    static void name(int64_t k, const real *a, const real *b, real *c, int64_t ld, bool add) {     \
        vec sum[HEIGHT][VECS] = {{{0}}};                                                           \
        for (int i = 0; add && i < HEIGHT; i++)                                                    \
            for (int j = 0; j < VECS; j++) sum[i][j] = *(const vec *)(c + i * ld + j * LANES);     \
        for (; k > 0; k--, a += HEIGHT, b += ld) {                                                 \
            vec bj[VECS];                                                                          \
            for (int j = 0; j < VECS; j++) bj[j] = *(const vec *)(b + j * LANES);                  \
            _Pragma("GCC unroll 8") for (int i = 0; i < HEIGHT; i++) {                             \
                vec ai = a[i] - (vec){0};                                                          \
                for (int j = 0; j < VECS; j++) sum[i][j] += ai * bj[j];                            \
            }                                                                                      \
        }                                                                                          \
        for (int i = 0; i < HEIGHT; i++)                                                           \
            for (int j = 0; j < VECS; j++) *(vec *)(c + i * ld + j * LANES) = sum[i][j];           \
    }

DEFINE_TILE(tile_f32, float, vec32, LANES_32)
DEFINE_TILE(tile_f64, double, vec64, LANES_64)

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

static void axpy_f64(int64_t n, double t, const double *d, double *c) {
    int64_t i = 0;
    for (; i + LANES_64 <= n; i += LANES_64)
        *(vec64 *)(c + i) += (t - (vec64){0}) * *(const vec64 *)(d + i);
    for (; i < n; i++) c[i] += t * d[i];
}

static double peak_f64(int64_t n, const double *c, const double *w) {
    double most[LANES_64] = {0};
    int64_t i = 0;
    for (; i + LANES_64 <= n; i += LANES_64)
        for (int l = 0; l < LANES_64; l++) {
            double v = __builtin_fabs(c[i + l]) * w[i + l];
            most[l] = v > most[l] ? v : most[l];
        }
    for (; i < n; i++) {
        double v = __builtin_fabs(c[i]) * w[i];
        most[0] = v > most[0] ? v : most[0];
    }
    for (int l = 1; l < LANES_64; l++) most[0] = most[l] > most[0] ? most[l] : most[0];
    return most[0];
}

const csrec_conv_simd SIMD_TABLE = {.height = HEIGHT,
                                    .width_f32 = VECS * LANES_32,
                                    .width_f64 = VECS * LANES_64,
                                    .dot = DOT,
                                    .tile_f32 = tile_f32,
                                    .tile_f64 = tile_f64,
                                    .dot_f32 = dot_f32,
                                    .axpy_f64 = axpy_f64,
                                    .peak_f64 = peak_f64};
