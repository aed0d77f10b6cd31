/* SPDX-License-Identifier: BSD-3-Clause */
/* whiten_simd.h - whitening of rows, a template over instruction sets (cmake/simd.cmake). A lane is
 * a row, so nothing is summed across lanes. */
#include "learn/whiten.h"

typedef double vec __attribute__((vector_size(SIMD_BYTES), aligned(8)));

enum { LANES = SIMD_BYTES / 8 };
enum { ROWS = CSREC_WHITEN_ROWS, TILE = CSREC_WHITEN_TILE, VECS = LANES == 8 ? 2 : 1 };

/* Outputs i .. i + TILE - 1 of some rows, columns 0 .. end - 1 of the triangle. */
static inline void tile(int end, const double *W, const double *x, double *length) {
    vec sum[TILE][VECS] = {{{0}}};
    for (int j = 0; j < end; j++, W += TILE, x += ROWS) {
        vec value[VECS];
        for (int v = 0; v < VECS; v++) value[v] = *(const vec *)(x + v * LANES);
#pragma GCC unroll 8
        for (int t = 0; t < TILE; t++) {
            vec w = W[t] - (vec){0};
            for (int v = 0; v < VECS; v++) sum[t][v] += w * value[v];
        }
    }
    for (int v = 0; v < VECS; v++) {
        vec squares = *(vec *)(length + v * LANES);
        for (int t = 0; t < TILE; t++) squares += sum[t][v] * sum[t][v];
        *(vec *)(length + v * LANES) = squares;
    }
}

void SIMD_TABLE(int d, const double *packed, const double *mean, const double *x, double *work,
                double *length) {
    for (int i = 0; i < d; i++)
        for (int k = 0; k < ROWS; k++) work[i * ROWS + k] = x[i * ROWS + k] - mean[i];
    for (int i = d * ROWS; i < (d + TILE - 1) / TILE * TILE * ROWS; i++) work[i] = 0.0;
    for (int k = 0; k < ROWS; k++) length[k] = 0.0;
    for (int i = 0; i < d; i += TILE) {
        for (int k = 0; k < ROWS; k += VECS * LANES) tile(i + TILE, packed, work + k, length + k);
        packed += (i + TILE) * TILE;
    }
}
