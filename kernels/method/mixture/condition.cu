/* SPDX-License-Identifier: BSD-3-Clause */
/* condition.cu - each patch conditioned on its samples under its component, and the sums of V^T V;
 * method/condition_simd.h and method/mixture/engine_cpu.c are the reference, operation by
 * operation: the same bits.
 *
 * A block takes a batch of up to CSREC_PATCH_BATCH patches of one component. A warp conditions a
 * patch, sample after sample; a lane has the columns lane, lane + 32, .. of its rows V and of what
 * is left of its values. Rows are collected, in the order of the patches, until there are
 * CSREC_PATCH_ROWS; then all threads add their products to G, 4 x 4 entries a thread, rows in
 * order. Rows are in shared memory, or in global memory where they do not fit. */
#include "kernels/method/mixture/state.cuh"
#include "method/mixture/patch.h"

enum { WARPS = 8, THREADS = 32 * WARPS, MOST = CSREC_CUDA_MIXTURE_SIZE, SIDE = 4 };

/* A lane's columns of a patch. */
template <int Q> struct columns {
    int column[Q];
    bool inside[Q]; /* of the row, padded by zeros */

    __device__ __forceinline__ explicit columns(int stride) {
#pragma unroll
        for (int q = 0; q < Q; q++) {
            column[q] = (int)threadIdx.x % 32 + 32 * q;
            inside[q] = column[q] < stride;
        }
    }
};

/* A column of a row that is spread over the warp, in all lanes. */
template <int Q> __device__ __forceinline__ float pick(const float (&row)[Q], int column) {
    const int q = column / 32;
    float own = row[0];
#pragma unroll
    for (int k = 1; k < Q; k++) own = q == k ? row[k] : own;
    return __shfl_sync(~0u, own, column % 32);
}

/* Lists the sampled entries, ascending, in `at`; value: samples minus the mean. Returns their
 * number. at, mean NULL: counts. One warp. */
template <int Q>
__device__ __forceinline__ int find_samples(const csrec_mixture_device &g, const columns<Q> &own,
                                            int64_t patch, const float *mean, unsigned char *at,
                                            float (&value)[Q]) {
    const unsigned lower = (1u << threadIdx.x % 32) - 1;
    int channel, n = 0;
    const int64_t corner = csrec_patches_corner(&g.patches, patch, &channel);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int e = own.column[q];
        const int64_t pixel = e < g.d ? csrec_patches_pixel(&g.patches, corner, e) : 0;
        const bool seen = e < g.d && g.mask[pixel];
        const unsigned all = __ballot_sync(~0u, seen);
        value[q] = 0.0f;
        if (at && seen) {
            const int64_t from = pixel * g.patches.channels + channel + e % g.patches.joint;
            at[n + __popc(all & lower)] = (unsigned char)e;
            value[q] = g.y[from] - mean[e];
        }
        n += __popc(all);
    }
    __syncwarp();
    return n;
}

/* Conditions a patch: n rows of V, then x and v of the patch at `to`. One warp. */
template <int Q>
__device__ __forceinline__ void
condition_patch(const csrec_mixture_device &g, const columns<Q> &own, const float *C,
                const float *mean, int64_t patch, unsigned char *at, float *V, int64_t to) {
    float value[Q], x[Q], variance[Q];
    const int n = find_samples<Q>(g, own, patch, mean, at, value), stride = g.stride;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int c = own.column[q];
        x[q] = own.inside[q] ? mean[c] : 0.0f;
        variance[q] = c < g.d ? C[c * stride + c] : 0.0f;
    }
    for (int i = 0; i < n; i++) {
        const int pixel = at[i];
        float r[Q];
#pragma unroll
        for (int q = 0; q < Q; q++) r[q] = own.inside[q] ? C[pixel * stride + own.column[q]] : 0.0f;
#pragma unroll 4
        for (int j = 0; j < i; j++) {
            const float *row = V + j * stride, l = row[pixel];
#pragma unroll
            for (int q = 0; q < Q; q++)
                if (own.inside[q]) r[q] = fmaf(-l, row[own.column[q]], r[q]);
        }
        const float pivot = pick(r, pixel);
        const float scale = 1.0f / sqrtf((pivot > 0.0f ? pivot : 0.0f) + g.noise);
        const float z = pick(value, pixel) * scale;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            r[q] *= scale;
            x[q] = fmaf(z, r[q], x[q]);
            value[q] = fmaf(-r[q], z, value[q]);
            variance[q] = fmaf(-r[q], r[q], variance[q]);
            if (own.inside[q]) V[i * stride + own.column[q]] = r[q];
        }
        __syncwarp();
    }
#pragma unroll
    for (int q = 0; q < Q; q++) {
        if (own.column[q] >= g.d) continue;
        g.x[to * g.d + own.column[q]] = x[q];
        g.v[to * g.d + own.column[q]] = fmaxf(variance[q], 0.0f);
    }
    __syncwarp(); /* `at` is used again */
}

/* G (0 if it is the first) += V^T V for n rows, tiles of SIDE x SIDE on and above the diagonal. All
 * threads of the block. */
__device__ __forceinline__ void add_products(const float *V, int n, int stride, bool begun,
                                             float *G) {
    const int tiles = stride / SIDE;
    for (int pair = (int)threadIdx.x; pair < tiles * (tiles + 1) / 2; pair += THREADS) {
        int a = 0, left = pair;
        while (left >= tiles - a) left -= tiles - a++;
        const int i = SIDE * a, j = SIDE * (a + left);
        float sum[SIDE][SIDE] = {};
#pragma unroll 2
        for (int k = 0; k < n; k++) {
            const float4 four = *(const float4 *)(V + k * stride + i);
            const float4 other = *(const float4 *)(V + k * stride + j);
            const float l[SIDE] = {four.x, four.y, four.z, four.w};
            const float r[SIDE] = {other.x, other.y, other.z, other.w};
#pragma unroll
            for (int s = 0; s < SIDE; s++)
#pragma unroll
                for (int t = 0; t < SIDE; t++) sum[s][t] = fmaf(l[s], r[t], sum[s][t]);
        }
        for (int s = 0; s < SIDE; s++)
            for (int t = 0; t < SIDE; t++) {
                float *to = G + (i + s) * stride + j + t;
                *to = (begun ? *to : 0.0f) + sum[s][t];
            }
    }
}

/* A batch of patches; V: rows for d + CSREC_PATCH_ROWS. All threads. */
template <int Q>
__device__ __forceinline__ void run_batch(const csrec_mixture_device &g, const columns<Q> &own,
                                          int64_t batch, unsigned char *at, int *before, float *V) {
    const int warp = (int)threadIdx.x / 32, k = g.component[batch];
    const int64_t from = g.from[batch];
    const int size = (int)(g.from[batch + 1] - from);
    const float *C = g.C + (int64_t)k * g.d * g.stride, *mean = g.mean + (int64_t)k * g.stride;
    float *G = g.G + batch * g.stride * g.stride, unused[Q];
    for (int p = warp; p < size; p += WARPS) {
        const int n = find_samples<Q>(g, own, g.order[from + p], NULL, NULL, unused);
        if (threadIdx.x % 32 == 0) before[p + 1] = n;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int p = 0; p < size; p++) before[p + 1] += before[p];
    }
    __syncthreads();
    for (int first = 0, end = 0; first < size; first = end) {
        while (end < size && before[end] - before[first] < CSREC_PATCH_ROWS) end++;
        for (int p = first + warp; p < end; p += WARPS)
            condition_patch<Q>(g, own, C, mean, g.order[from + p], at + warp * MOST,
                               V + (before[p] - before[first]) * g.stride, from + p);
        __syncthreads();
        if (g.adapt) add_products(V, before[end] - before[first], g.stride, first > 0, G);
        __syncthreads();
    }
    const int c = (int)threadIdx.x;
    if (!g.adapt || c >= g.d) return;
    double sum = 0.0;
    for (int p = 0; p < size; p++) sum += (double)g.x[(from + p) * g.d + c];
    g.sums[batch * g.d + c] = sum;
}

template <int Q>
__global__ void __launch_bounds__(THREADS)
    condition_batches(const __grid_constant__ csrec_mixture_device g, int rows) {
    extern __shared__ __align__(16) float shared[];
    __shared__ unsigned char at[WARPS * MOST];
    __shared__ int before[CSREC_PATCH_BATCH + 1];
    float *V = g.scratch ? g.scratch + (int64_t)blockIdx.x * rows * g.stride : shared;
    const columns<Q> own(g.stride);
    for (int64_t batch = blockIdx.x; batch < g.batches; batch += gridDim.x)
        run_batch<Q>(g, own, batch, at, before, V);
}

template <int Q>
static csrec_status launch(const csrec_mixture_device *g, int rows, int blocks,
                           csrec_error *error) {
    const int bytes = blocks ? 0 : rows * g->stride * (int)sizeof(float);
    csrec_status status = csrec_cuda_allow_shared((const void *)condition_batches<Q>,
                                                  "condition_batches", NULL, error);
    if (status) return status;
    const int64_t grid = blocks && blocks < g->batches ? blocks : g->batches;
    condition_batches<Q><<<(unsigned)grid, THREADS, (size_t)bytes>>>(*g, rows);
    return csrec_cuda_launched("condition_batches", error);
}

csrec_status csrec_mixture_condition_on(const csrec_mixture_device *g, int rows, int blocks,
                                        csrec_error *error) {
    return g->stride <= 64    ? launch<2>(g, rows, blocks, error)
           : g->stride <= 128 ? launch<4>(g, rows, blocks, error)
                              : launch<8>(g, rows, blocks, error);
}
