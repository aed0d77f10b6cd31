/* SPDX-License-Identifier: BSD-3-Clause */
/* whiten.cuh - log of weight times density of a row under the components of a mixture, operation by
 * operation as learn/whiten_simd.h and csrec_mixture_choose with fused multiply-add (AVX2,
 * AVX-512): the same bits. Only for kernels/.
 *
 * A lane has a row, so nothing is summed across lanes; all lanes of a warp read the same entry of a
 * factor. */
#pragma once

#include "learn/whiten.h"

/* offset - ||W (x - mean)||^2 / 2. W: packed (learn/whiten.h). x: entry j of a lane's row at
 * x[32 j]. */
static __device__ __forceinline__ double
csrec_whiten_score(int d, const double *W, const double *mean, double offset, const double *x) {
    enum { TILE = CSREC_WHITEN_TILE };
    double length = 0.0;
    for (int i = 0; i < d; i += TILE) {
        const int end = i + TILE < d ? i + TILE : d;
        double sum[TILE] = {};
#pragma unroll 2
        for (int j = 0; j < end; j++) {
            const double2 *w = (const double2 *)(W + j * TILE);
            const double value = x[32 * j] - mean[j];
#pragma unroll
            for (int t = 0; t < TILE / 2; t++) {
                const double2 two = w[t];
                sum[2 * t] = fma(two.x, value, sum[2 * t]);
                sum[2 * t + 1] = fma(two.y, value, sum[2 * t + 1]);
            }
        }
        W += (i + TILE) * TILE;
#pragma unroll
        for (int t = 0; t < TILE; t++) length = fma(sum[t], sum[t], length);
    }
    return offset - 0.5 * length;
}
