/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.cu - the most likely component of each patch of the estimate.
 *
 * A block has 32 patches, a lane one, in shared memory; its warps take turns at the components, and
 * the best of each warp meet at the end: the largest score, of equal ones the first component, as
 * csrec_mixture_choose. */
#include <math.h>

#include "kernels/learn/whiten.cuh"
#include "kernels/method/mixture/state.cuh"

enum { WARPS = 8, LANES = 32 };

__global__ void __launch_bounds__(WARPS *LANES)
    choose_components(const __grid_constant__ csrec_mixture_device g) {
    extern __shared__ __align__(16) double x[]; /* [d][LANES] */
    __shared__ double best[WARPS][LANES];
    __shared__ int at[WARPS][LANES];
    const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
    const int64_t own = (int64_t)blockIdx.x * LANES + lane;
    int channel;
    const int64_t corner =
        csrec_patches_corner(&g.patches, own < g.count ? own : g.count - 1, &channel);
    for (int e = warp; e < g.d; e += WARPS) {
        const int64_t pixel = csrec_patches_pixel(&g.patches, corner, e);
        x[e * LANES + lane] =
            (double)g.u[pixel * g.patches.channels + channel + e % g.patches.joint];
    }
    __syncthreads();
    double most = -INFINITY;
    int k_most = g.K;
    for (int k = warp; k < g.K; k += WARPS) {
        const double score = csrec_whiten_score(g.d, g.whiten + k * (int64_t)csrec_whiten_size(g.d),
                                                g.centre + (int64_t)k * g.d, g.offset[k], x + lane);
        if (!(score > most)) continue;
        most = score;
        k_most = k;
    }
    best[warp][lane] = most;
    at[warp][lane] = k_most;
    __syncthreads();
    if (warp > 0 || own >= g.count) return;
    for (int w = 1; w < WARPS; w++) {
        if (best[w][lane] < most || (best[w][lane] == most && at[w][lane] > k_most)) continue;
        most = best[w][lane];
        k_most = at[w][lane];
    }
    g.key[own] = (uint64_t)(k_most < g.K ? k_most : 0);
    g.number[own] = (uint32_t)own;
}

csrec_status csrec_mixture_choose_on(const csrec_mixture_device *g, csrec_error *error) {
    const int bytes = g->d * LANES * (int)sizeof(double);
    csrec_status status =
        csrec_cuda_allow_shared((const void *)choose_components, "choose_components", NULL, error);
    if (status) return status;
    choose_components<<<csrec_cuda_blocks(g->count, LANES), WARPS * LANES, (size_t)bytes>>>(*g);
    return csrec_cuda_launched("choose_components", error);
}
