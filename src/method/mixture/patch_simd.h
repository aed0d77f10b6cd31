/* patch_simd.h - conditioning of a patch on its samples, a template over instruction sets
 * (cmake/simd.cmake).
 *
 * With the samples S of a patch and C_SS + noise I = L L^T, row i of V = L^-1 C_S is
 *     V_i = (C_{s_i} - sum_{j<i} L_ij V_j) / L_ii,   L_ij = V_j[s_i],   L_ii^2 = pivot[s_i] +
 * noise, so no factor is stored. Then u = L^-1 (y - mean_S), x = mean + V^T u, and the posterior
 * covariance is C - V^T V. */
#include <math.h>

#include "method/mixture/patch.h"

typedef float vec __attribute__((vector_size(SIMD_BYTES), aligned(4)));

enum { LANES = SIMD_BYTES / 4 };
enum { VECS = CSREC_PATCH_LANES / LANES, TILE = 8 };

static inline vec load(const float *from) {
    return *(const vec *)from;
}

static inline void store(float *to, vec v) {
    *(vec *)to = v;
}

/* to = C_s - sum_j V_j[s] V_j over one block of columns. */
static inline void eliminate(const csrec_patch *p, int i, int column) {
    int s = p->at[i];
    vec sum[VECS];
    const float *row = p->C + s * p->stride + column;
    for (int v = 0; v < VECS; v++) sum[v] = load(row + v * LANES);
    for (int j = 0; j < i; j++) {
        const float *V = p->V + j * p->stride;
        vec l = V[s] - (vec){0};
        for (int v = 0; v < VECS; v++) sum[v] -= l * load(V + column + v * LANES);
    }
    for (int v = 0; v < VECS; v++) store(p->V + i * p->stride + column + v * LANES, sum[v]);
}

static void condition(csrec_patch *p) {
    int stride = p->stride;
    for (int c = 0; c < stride; c++) {
        p->x[c] = p->mean[c];
        p->variance[c] = c < p->d ? p->C[c * stride + c] : 0.0f;
    }
    for (int i = 0; i < p->n; i++) {
        float *V = p->V + i * stride, r = p->y[i] - p->mean[p->at[i]];
        for (int c = 0; c < stride; c += CSREC_PATCH_LANES) eliminate(p, i, c);
        for (int j = 0; j < i; j++) r -= p->V[j * stride + p->at[i]] * p->u[j];
        /* Rounding must not make a pivot of nothing negative. */
        float scale = 1.0f / sqrtf(fmaxf(V[p->at[i]], 0.0f) + p->noise);
        p->u[i] = r * scale;
        for (int c = 0; c < stride; c++) {
            V[c] *= scale;
            p->x[c] += p->u[i] * V[c];
            p->variance[c] -= V[c] * V[c];
        }
    }
    for (int c = 0; c < stride; c++) p->variance[c] = fmaxf(p->variance[c], 0.0f);
}

static inline void gram_tile(int n, int stride, const float *V, int row, int column, float *G) {
    vec sum[TILE][VECS] = {{{0}}};
    for (int k = 0; k < n; k++, V += stride) {
        vec b[VECS];
        for (int v = 0; v < VECS; v++) b[v] = load(V + column + v * LANES);
#pragma GCC unroll 8
        for (int t = 0; t < TILE; t++) {
            vec a = V[row + t] - (vec){0};
            for (int v = 0; v < VECS; v++) sum[t][v] += a * b[v];
        }
    }
    for (int t = 0; t < TILE; t++)
        for (int v = 0; v < VECS; v++) {
            float *to = G + (row + t) * stride + column + v * LANES;
            store(to, load(to) + sum[t][v]);
        }
}

static void gram(int n, int stride, const float *V, float *G) {
    for (int column = 0; column < stride; column += CSREC_PATCH_LANES)
        for (int row = 0; row < column + CSREC_PATCH_LANES; row += TILE)
            gram_tile(n, stride, V, row, column, G);
}

const csrec_patch_simd SIMD_TABLE = {condition, gram};
