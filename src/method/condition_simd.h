/* SPDX-License-Identifier: BSD-3-Clause */
/* condition_simd.h - a Gaussian conditioned on samples, and products V^T V: shared by the
 * templates for patches (cmake/simd.cmake).
 *
 * With samples S and C_SS + noise I = L L^T, row i of V = L^-1 C_S is
 *     V_i = (C_{s_i} - sum_{j<i} L_ij V_j) / L_ii,   L_ij = V_j[s_i],   L_ii^2 = pivot[s_i] +
 * noise, so no factor is stored. Then z = L^-1 (y - mean_S), the posterior mean is mean + V^T z,
 * and the posterior covariance is C - V^T V. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { LANES = SIMD_BYTES / 4 }; /* floats of a register */

typedef float vec __attribute__((vector_size(SIMD_BYTES), aligned(4)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *from) {
    return *(const vec *)from;
}
INLINE void store(float *to, vec v) {
    *(vec *)to = v;
}
INLINE vec spread(float v) {
    return v - (vec){0}; /* v + 0 would cost an addition: -0 + 0 is +0 */
}

/* ------------------------------------------------------------------ products */

enum { TILE = 8, WIDE = 2 * LANES };

/* gram += sign rows^T rows in one tile of TILE rows and `vecs` registers. */
INLINE void gram_tile(const float *rows, int n, int stride, int i, int c, int vecs, float sign,
                      float *gram) {
    vec sum[TILE][2] = {{{0}}};
    for (int k = 0; k < n; k++) {
        const float *row = rows + (int64_t)k * stride;
        vec b0 = load(row + c), b1 = vecs > 1 ? load(row + c + LANES) : b0;
#pragma GCC unroll 8
        for (int t = 0; t < TILE; t++) {
            vec a = spread(row[i + t]);
            sum[t][0] += a * b0;
            if (vecs > 1) sum[t][1] += a * b1;
        }
    }
    for (int t = 0; t < TILE; t++) {
        float *to = gram + (int64_t)(i + t) * stride + c;
        store(to, load(to) + sign * sum[t][0]);
        if (vecs > 1) store(to + LANES, load(to + LANES) + sign * sum[t][1]);
    }
}

/* The tiles that intersect the upper triangle. */
static void add_gram(const float *rows, int n, int stride, float sign, float *gram) {
    for (int c = 0; c < stride; c += WIDE) {
        bool full = c + WIDE <= stride;
        int end = full ? c + WIDE : stride;
        for (int i = 0; i < end; i += TILE) {
            if (full)
                gram_tile(rows, n, stride, i, c, 2, sign, gram);
            else
                gram_tile(rows, n, stride, i, c, 1, sign, gram);
        }
    }
}

/* ------------------------------------------------------------------ conditioning */

/* V[n] over `vecs` registers from column c: row `pixel` of C minus the part explained by the
 * n observations before. */
INLINE void reduce_row(const float *C, float *V, int n, int stride, int pixel, int c, int vecs) {
    vec r[8];
    for (int t = 0; t < vecs; t++) r[t] = load(C + (int64_t)pixel * stride + c + t * LANES);
    for (int j = 0; j < n; j++) {
        const float *row = V + (int64_t)j * stride;
        vec l = spread(row[pixel]);
        for (int t = 0; t < vecs; t++) r[t] -= l * load(row + c + t * LANES);
    }
    for (int t = 0; t < vecs; t++) store(V + (int64_t)n * stride + c + t * LANES, r[t]);
}

/* With the number of registers known to the compiler. */
static void reduce(const float *C, float *V, int n, int stride, int pixel) {
#define REDUCE_CASE(vecs)                                                                          \
    case vecs:                                                                                     \
        reduce_row(C, V, n, stride, pixel, c, vecs);                                               \
        break;
    for (int c = 0; c < stride; c += 8 * LANES) {
        const int left = (stride - c) / LANES;
        switch (left < 8 ? left : 8) {
            REDUCE_CASE(1)
            REDUCE_CASE(2)
            REDUCE_CASE(3)
            REDUCE_CASE(4)
            REDUCE_CASE(5)
            REDUCE_CASE(6)
            REDUCE_CASE(7)
            REDUCE_CASE(8)
        }
    }
#undef REDUCE_CASE
}

/* Row n of V times L_nn, of the sample at `pixel`; returns 1 / L_nn. */
INLINE float reduce_sample(const float *C, float *V, int n, int stride, int pixel, float noise) {
    reduce(C, V, n, stride, pixel);
    float pivot = V[(int64_t)n * stride + pixel];
    /* Rounding must not make a zero pivot negative. */
    return 1.0f / sqrtf((pivot > 0.0f ? pivot : 0.0f) + noise);
}

/* The value of the sample at `pixel` minus its prediction from the n samples before. */
INLINE float innovation(const float *V, int n, int stride, int pixel, float value, const float *z) {
    for (int s = 0; s < n; s++) value -= V[(int64_t)s * stride + pixel] * z[s];
    return value;
}

/* row *= scale, x += z row */
INLINE void scale_and_add(float *row, int stride, float scale, float z, float *x) {
    for (int c = 0; c < stride; c += LANES) {
        vec v = load(row + c) * scale;
        store(row + c, v);
        store(x + c, load(x + c) + z * v);
    }
}

/* x += z row */
INLINE void add_row(const float *row, int stride, float z, float *x) {
    for (int c = 0; c < stride; c += LANES) store(x + c, load(x + c) + z * load(row + c));
}
