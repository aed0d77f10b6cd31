/* SPDX-License-Identifier: BSD-3-Clause */
/* dct_simd.h - one pass over all blocks of a picture, a template over instruction sets
 * (cmake/simd.cmake). Every block has the same operations for any LANES, and every pixel the same
 * order of additions, so all sets give the same bits. */
#include <string.h>

#include "operator/dct.h"

enum { LANES = SIMD_BYTES / 4 };

typedef float vec __attribute__((vector_size(SIMD_BYTES)));
typedef int32_t bits __attribute__((vector_size(SIMD_BYTES)));
typedef float half __attribute__((vector_size(SIMD_BYTES / 2)));
typedef double wide __attribute__((vector_size(SIMD_BYTES))); /* of a half */

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(float *to, vec v) {
    memcpy(to, &v, sizeof v);
}

/* 1 / (2 cos(pi (2 n + 1) / 2 N)), n < N / 2. */
static const float secant4[2] = {0.54119610f, 1.3065630f};
static const float secant8[4] = {0.50979558f, 0.60134489f, 0.89997622f, 2.5629154f};
static const float secant16[8] = {0.50241929f, 0.52249861f, 0.56694403f, 0.64682178f,
                                  0.78815462f, 1.0606777f,  1.7224471f,  5.1011486f};
static const float secant32[16] = {0.50060300f, 0.50547096f, 0.51544731f, 0.53104259f,
                                   0.55310390f, 0.58293497f, 0.62250412f, 0.67480834f,
                                   0.74453627f, 0.83934964f, 0.97256824f, 1.1694399f,
                                   1.4841646f,  2.0577810f,  3.4076084f,  10.190008f};

/* A DCT of N from two of N / 2: X_2k of the sums of opposite entries, X_2k+1 as neighbours' sums
 * of the scaled differences. */
#define DEFINE_DCT(N, HALF, secant)                                                                \
    INLINE void dct##N(vec *x) {                                                                   \
        vec even[HALF], odd[HALF];                                                                 \
        for (int n = 0; n < HALF; n++) {                                                           \
            even[n] = x[n] + x[N - 1 - n];                                                         \
            odd[n] = (x[n] - x[N - 1 - n]) * secant[n];                                            \
        }                                                                                          \
        dct##HALF(even);                                                                           \
        dct##HALF(odd);                                                                            \
        for (int k = 0; k < HALF; k++) {                                                           \
            x[2 * k] = even[k];                                                                    \
            x[2 * k + 1] = k + 1 < HALF ? odd[k] + odd[k + 1] : odd[k];                            \
        }                                                                                          \
    }                                                                                              \
    INLINE void transposed##N(vec *x) {                                                            \
        vec even[HALF], odd[HALF];                                                                 \
        for (int k = 0; k < HALF; k++) {                                                           \
            even[k] = x[2 * k];                                                                    \
            odd[k] = k ? x[2 * k + 1] + x[2 * k - 1] : x[1];                                       \
        }                                                                                          \
        transposed##HALF(even);                                                                    \
        transposed##HALF(odd);                                                                     \
        for (int n = 0; n < HALF; n++) {                                                           \
            vec scaled = odd[n] * secant[n];                                                       \
            x[n] = even[n] + scaled;                                                               \
            x[N - 1 - n] = even[n] - scaled;                                                       \
        }                                                                                          \
    }

INLINE void dct2(vec *x) {
    vec sum = x[0] + x[1];
    x[1] = (x[0] - x[1]) * 0.70710678f;
    x[0] = sum;
}

INLINE void transposed2(vec *x) {
    vec scaled = x[1] * 0.70710678f;
    x[1] = x[0] - scaled;
    x[0] = x[0] + scaled;
}

DEFINE_DCT(4, 2, secant4)
DEFINE_DCT(8, 4, secant8)
DEFINE_DCT(16, 8, secant16)
DEFINE_DCT(32, 16, secant32)

/* x minus a constant if |x| > t, else 0. */
INLINE vec shrink(vec x, float t, float less) {
    const bits sign = (bits){0} + INT32_MIN;
    const vec size = (vec)((bits)x & ~sign),
              loss = (vec)((bits)((vec){0} + less) | ((bits)x & sign));
    return (vec)((bits)(x - loss) & (bits)(size > t));
}

/* The blocks at positions k .. k + LANES - 1: columns, rows there and back, columns back. A pixel
 * adds the blocks that cover it in the order of their positions, as a device does: from their last
 * columns to the first. */
#define DEFINE_BLOCKS(N)                                                                           \
    static void blocks##N(const csrec_dct_pass *p, const int64_t *column, int64_t k, vec valid) {  \
        vec x[N], *work = p->work;                                                                 \
        for (int j = 0; j < N; j++) {                                                              \
            for (int i = 0; i < N; i++) x[i] = load(p->picture[i] + column[j] + k);                \
            dct##N(x);                                                                             \
            for (int i = 0; i < N; i++) work[i * N + j] = x[i];                                    \
        }                                                                                          \
        for (int i = 0; i < N; i++) {                                                              \
            const float *t = p->threshold[i > 0], *less = p->less[i > 0];                          \
            for (int j = 0; j < N; j++) x[j] = work[i * N + j];                                    \
            dct##N(x);                                                                             \
            x[0] = shrink(x[0], t[0], less[0]) * 0.5f;                                             \
            for (int j = 1; j < N; j++) x[j] = shrink(x[j], t[1], less[1]);                        \
            transposed##N(x);                                                                      \
            for (int j = 0; j < N; j++) work[i * N + j] = i ? x[j] : x[j] * 0.5f;                  \
        }                                                                                          \
        for (int j = N - 1; j >= 0; j--) {                                                         \
            for (int i = 0; i < N; i++) x[i] = work[i * N + j];                                    \
            transposed##N(x);                                                                      \
            for (int i = 0; i < N; i++) {                                                          \
                float *to = p->sum[i] + column[j] + k;                                             \
                store(to, load(to) + x[i] * valid);                                                \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_BLOCKS(4)
DEFINE_BLOCKS(8)
DEFINE_BLOCKS(16)
DEFINE_BLOCKS(32)

typedef void blocks_fn(const csrec_dct_pass *p, const int64_t *column, int64_t k, vec valid);

static void pass(const csrec_dct_pass *p) {
    blocks_fn *const blocks = p->block == 4    ? blocks4
                              : p->block == 8  ? blocks8
                              : p->block == 16 ? blocks16
                                               : blocks32;
    int64_t column[CSREC_DCT_MOST];
    for (int j = 0; j < p->block; j++)
        column[j] = (j + p->right) % p->step * p->across + (j + p->right) / p->step;
    for (int64_t k = 0; k < p->blocks; k += LANES) {
        vec valid;
        for (int l = 0; l < LANES; l++) valid[l] = k + l < p->blocks;
        blocks(p, column, k, valid);
    }
}

INLINE vec choose(bits which, vec a, vec b) {
    return (vec)(((bits)a & which) | ((bits)b & ~which));
}

/* LANES pixels; adds the squares. */
INLINE void blend_some(float down, float relax, float impose, const float *share,
                       const float *target, float *sum, float *u, wide *squares) {
    const vec none = {0}, old = load(u), wanted = load(target), each = down * load(share);
    const vec v = choose(each > none, load(sum) * each, old);
    const bits sampled = wanted == wanted;
    const vec error = (vec)((bits)(wanted - v) & sampled);
    store(u, choose(sampled, v + impose * error, v + relax * (v - old)));
    store(sum, none);
    half part[2];
    memcpy(part, &error, sizeof part);
    for (int h = 0; h < 2; h++) {
        const wide e = __builtin_convertvector(part[h], wide);
        squares[h] += e * e;
    }
}

/* Squares are added in as many sums by any instruction set. */
static double blend(const csrec_dct_pass *p, float down, const float *target, float *sum,
                    float *u) {
    enum { PARTS = CSREC_DCT_LANES / LANES };
    const float relax = p->relax, impose = p->impose, *share = p->share;
    wide squares[2 * PARTS] = {{0}};
    double all = 0.0;
    for (int64_t first = 0; first < p->step * p->across; first += p->across)
        for (int64_t i = first; i < first + p->cells; i += CSREC_DCT_LANES)
            for (int k = 0; k < PARTS; k++) {
                const int64_t at = i + k * LANES;
                blend_some(down, relax, impose, share + at, target + at, sum + at, u + at,
                           squares + 2 * k);
            }
    for (int l = 0; l < CSREC_DCT_LANES; l++) all += squares[l / (LANES / 2)][l % (LANES / 2)];
    return all;
}

const csrec_dct_simd SIMD_TABLE = {pass, blend};
