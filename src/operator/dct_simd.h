/* SPDX-License-Identifier: BSD-3-Clause */
/* dct_simd.h - one pass over all blocks of a picture, a template over instruction sets
 * (cmake/simd.cmake). Every block has the same operations for any LANES, and every pixel the same
 * order of additions, so all sets give the same bits. */
#include <string.h>

#include "operator/dct.h"

enum { LANES = SIMD_BYTES / 4 };

typedef float vec __attribute__((vector_size(SIMD_BYTES)));
typedef int32_t bits __attribute__((vector_size(SIMD_BYTES)));

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
    bits keep = (x > t) | (x < -t);
    vec none = {0}, minus = none - less, plus = none + less;
    bits negative = x < none;
    vec loss = (vec)(((bits)minus & negative) | ((bits)plus & ~negative));
    return (vec)((bits)(x - loss) & keep);
}

/* Address of pixel (i, j) of the blocks from position k on. */
INLINE int64_t place(const csrec_dct_pass *p, int i, int j, int64_t k) {
    int y = i + p->down, x = j + p->right, s = p->step;
    return ((int64_t)(y % s) * s + x % s) * p->plane + k + y / s * p->across + x / s;
}

/* edge: some are other threads' cells. */
INLINE void add(const csrec_dct_pass *p, int i, int j, int64_t k, vec x, bool edge) {
    float *to = p->sum + place(p, i, j, k);
    if (!edge) {
        store(to, load(to) + x);
        return;
    }
    const int64_t cell = k + (i + p->down) / p->step * p->across + (j + p->right) / p->step;
    for (int l = 0; l < LANES; l++)
        if (cell + l >= p->from && cell + l < p->to) to[l] += x[l];
}

/* The blocks at positions k .. k + LANES - 1: columns, rows there and back, columns back.
 *
 * Every pixel adds the blocks that cover it in the order of their positions, as a device does: from
 * the last rows and columns of blocks to the first, for these are of the earlier positions. Where
 * LANES positions are less than a line of cells, two of them cover a pixel by the same row of both
 * only, and the order of rows does not matter. */
#define DEFINE_BLOCKS(N)                                                                           \
    INLINE void blocks##N(const csrec_dct_pass *p, int64_t k, vec *work, bool edge) {              \
        vec x[N], valid = load(p->valid + k);                                                      \
        for (int j = 0; j < N; j++) {                                                              \
            for (int i = 0; i < N; i++) x[i] = load(p->picture + place(p, i, j, k));               \
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
        const bool narrow = p->across < LANES + N / p->step;                                       \
        for (int j = N - 1; j >= 0; j--) {                                                         \
            for (int i = 0; i < N; i++) x[i] = work[i * N + j];                                    \
            transposed##N(x);                                                                      \
            for (int i = 0; i < N; i++)                                                            \
                if (narrow)                                                                        \
                    work[i * N + j] = x[i];                                                        \
                else                                                                               \
                    add(p, i, j, k, x[i] * valid, edge);                                           \
        }                                                                                          \
        for (int i = N - 1; i >= 0 && narrow; i--)                                                 \
            for (int j = N - 1; j >= 0; j--) add(p, i, j, k, work[i * N + j] * valid, edge);       \
    }                                                                                              \
    static void inner##N(const csrec_dct_pass *p, int64_t k, vec *work) {                          \
        blocks##N(p, k, work, false);                                                              \
    }                                                                                              \
    static void edge##N(const csrec_dct_pass *p, int64_t k, vec *work) {                           \
        blocks##N(p, k, work, true);                                                               \
    }

DEFINE_BLOCKS(4)
DEFINE_BLOCKS(8)
DEFINE_BLOCKS(16)
DEFINE_BLOCKS(32)

typedef void blocks_fn(const csrec_dct_pass *p, int64_t k, vec *work);

static blocks_fn *const of_size[2][4] = {{inner4, inner8, inner16, inner32},
                                         {edge4, edge8, edge16, edge32}};

static void pass(const csrec_dct_pass *p) {
    const int size = p->block == 4 ? 0 : p->block == 8 ? 1 : p->block == 16 ? 2 : 3;
    const int64_t reach = p->block / p->step * (p->across + 1); /* of a block's cells */
    const int64_t end = p->blocks < p->to ? p->blocks : p->to;
    for (int64_t k = p->from > reach ? p->from - reach : 0; k < end; k += LANES) {
        const bool edge = k < p->from || k + LANES + reach > p->to;
        of_size[edge][size](p, k, p->work);
    }
}

static void blend(const csrec_dct_blend *b) {
    const float *share = b->share, *sampled = b->sampled, *target = b->target;
    float *restrict sum = b->sum, *restrict u = b->u;
    for (int64_t i = 0; i < b->n; i++) {
        float each = b->down * share[i], v = each > 0.0f ? sum[i] * each : u[i];
        float moved = b->relax * (v - u[i]) * (1.0f - sampled[i]);
        sum[i] = v;
        u[i] = v + moved + b->impose * sampled[i] * (target[i] - v);
    }
}

const csrec_dct_simd SIMD_TABLE = {pass, blend};
