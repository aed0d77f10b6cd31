/* SPDX-License-Identifier: BSD-3-Clause */
/* condition_simd.h - a Gaussian conditioned on samples, and products V^T V: a part of the template
 * gaussian_simd.h.
 *
 * With samples S and C_SS + noise I = L L^T, row i of V = L^-1 C_S is
 *     V_i = (C_{s_i} - sum_{j<i} L_ij V_j) / L_ii,   L_ij = V_j[s_i],   L_ii^2 = P_ii + noise,
 * so no factor is stored. Then z = L^-1 (y - mean_S), the posterior mean is mean + x, x = V^T z,
 * and the posterior covariance is P = C - V^T V. Both grow row by row: before row i, x is what the
 * samples before predict, so z_i = (y_i - mean_i - x_i) / L_ii, and the diagonal of P has its
 * pivot. */
#include <math.h>

#include "method/gaussian/gaussian.h"

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

/* Sample number n, at `pixel`, of channels that share V: 1 / L_nn and z, and what they add to. */
typedef struct observation {
    int n, pixel, channels;
    float scale, z[CSREC_GROUP_CHANNELS];
    float *V, *x, *variance; /* x [channels], `apart` floats from each other; variance: P_ii */
    int64_t apart;
} observation;

/* Row n of V over `vecs` registers from column c: row `pixel` of C minus the part explained by the
 * n observations before, scaled. */
INLINE void reduce_row(const float *C, const observation *o, int stride, int c, int vecs) {
    const float *from = C + (int64_t)o->pixel * stride + c;
    float *row = o->V + c, *variance = o->variance + c;
    vec r[8];
    for (int t = 0; t < vecs; t++) r[t] = load(from + t * LANES);
    for (int j = 0; j < o->n; j++, row += stride) {
        vec l = spread(row[o->pixel - c]);
        for (int t = 0; t < vecs; t++) r[t] -= l * load(row + t * LANES);
    }
    for (int t = 0; t < vecs; t++) {
        r[t] *= o->scale;
        store(row + t * LANES, r[t]);
        store(variance + t * LANES, load(variance + t * LANES) - r[t] * r[t]);
    }
    for (int k = 0; k < o->channels; k++) {
        float *x = o->x + k * o->apart + c;
        for (int t = 0; t < vecs; t++) store(x + t * LANES, load(x + t * LANES) + o->z[k] * r[t]);
    }
}

/* With the number of registers known to the compiler. */
INLINE void reduce(const float *C, const observation *o, int stride) {
#define REDUCE_CASE(vecs)                                                                          \
    case vecs:                                                                                     \
        reduce_row(C, o, stride, c, vecs);                                                         \
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
