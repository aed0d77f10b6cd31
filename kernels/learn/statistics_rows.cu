/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics_rows.cu - passes over all rows of a float matrix: sums and extremes of the columns,
 * peaks, centring.
 *
 * A thread a pixel, as in the source document on mean-centring, but four pixels wide: a warp reads
 * 512 successive bytes of a row. Rows of n floats are aligned to 16 bytes for every fourth row
 * only, so threads traverse groups of 4 rows (more if n is small), whose length is always a
 * multiple of 16 bytes; the columns' results of a group are reduced at the end. */
#include "kernels/learn/statistics_state.h"

/* BLOCKS: as many as an H200 has room for at once, 5 a multiprocessor with the registers of
 * peak_groups; a second wave would end with most of them idle, and more parts cost more time. */
enum {
    THREADS = 128,
    BLOCKS = 660,
    PARTS = 1024,
    ACROSS = 32,
    DOWN = 32,
    FLIGHT = 8,
    CENTERERS = 256
};

csrec_cuda_groups csrec_cuda_groups_of(int64_t n) {
    csrec_cuda_groups g = {n, 4 * ((THREADS + n - 1) / n), 0};
    g.quads = g.group * n / 4;
    return g;
}

int64_t csrec_cuda_groups_parts(const csrec_cuda_groups *g) {
    const int64_t parts = BLOCKS / ((g->quads + THREADS - 1) / THREADS);
    return parts < 1 ? 1 : parts < PARTS ? parts : (int64_t)PARTS;
}

/* Calls step(first row of the group, quad) for the groups of this part, `FLIGHT` loads ahead. */
template <class Step>
__device__ __forceinline__ void walk(const csrec_cuda_groups *g, int64_t count, const float *X,
                                     int64_t quad, Step step) {
    const float4 *from = (const float4 *)X + quad;
    int64_t k = count * blockIdx.y / gridDim.y;
    const int64_t end = count * (blockIdx.y + 1) / gridDim.y;
    for (; k + FLIGHT <= end; k += FLIGHT) {
        float4 x[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) x[i] = from[(k + i) * g->quads];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) step(k + i, x[i]);
    }
    for (; k < end; k++) step(k, from[k * g->quads]);
}

template <bool WEIGHTED>
__global__ void __launch_bounds__(THREADS)
    sum_groups(csrec_cuda_groups g, int64_t count, const float *X, const double *weights,
               double *parts, float *ends) {
    const int64_t quad = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (quad >= g.quads) return;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    float low[4], high[4];
    int64_t row[4];
    for (int c = 0; c < 4; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
        row[c] = (4 * quad + c) / g.n;
    }
    walk(&g, count, X, quad, [&](int64_t k, float4 four) {
        const float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int c = 0; c < 4; c++) {
            double v = x[c];
            if (WEIGHTED) v *= weights[k * g.group + row[c]];
            sum[c] += v;
            low[c] = fminf(low[c], x[c]);
            high[c] = fmaxf(high[c], x[c]);
        }
    });
    const int64_t stride = 4 * g.quads, at = blockIdx.y * stride + 4 * quad;
    for (int c = 0; c < 4; c++) {
        parts[at + c] = sum[c];
        ends[at + c] = low[c];
        ends[gridDim.y * stride + at + c] = high[c];
    }
}

/* Sums of the parts of a column, and of the rows that fill no group, in a fixed order. A part is
 * `group` rows of sums: successive rows of one matrix. */
__global__ void __launch_bounds__(ACROSS *DOWN)
    fold_sums(csrec_cuda_groups g, int64_t count, int64_t parts_of, int64_t m, const float *X,
              const double *weights, const double *parts, const float *ends, double *sum,
              float *low, float *high) {
    __shared__ double sums[DOWN][ACROSS];
    __shared__ float lows[DOWN][ACROSS], highs[DOWN][ACROSS];
    const int64_t j = (int64_t)blockIdx.x * ACROSS + threadIdx.x, rows = parts_of * g.group;
    double s = 0.0;
    float a = INFINITY, b = -INFINITY;
    if (j < g.n) {
#pragma unroll 4
        for (int64_t q = threadIdx.y; q < rows; q += DOWN) {
            s += parts[q * g.n + j];
            a = fminf(a, ends[q * g.n + j]);
            b = fmaxf(b, ends[(rows + q) * g.n + j]);
        }
        for (int64_t i = count * g.group + threadIdx.y; i < m; i += DOWN) {
            float x = X[i * g.n + j];
            s += weights ? weights[i] * (double)x : (double)x;
            a = fminf(a, x);
            b = fmaxf(b, x);
        }
    }
    sums[threadIdx.y][threadIdx.x] = s;
    lows[threadIdx.y][threadIdx.x] = a;
    highs[threadIdx.y][threadIdx.x] = b;
    __syncthreads();
    if (threadIdx.y > 0 || j >= g.n) return;
    for (int y = 1; y < DOWN; y++) {
        s += sums[y][threadIdx.x];
        a = fminf(a, lows[y][threadIdx.x]);
        b = fmaxf(b, highs[y][threadIdx.x]);
    }
    sum[j] += s;
    low[j] = fminf(low[j], a);
    high[j] = fmaxf(high[j], b);
}

__device__ __forceinline__ float distance(float x, double mean, const double *weight) {
    double d = fabs((double)x - mean);
    return (float)(weight ? d * sqrt(*weight) : d);
}

__global__ void __launch_bounds__(THREADS)
    peak_groups(csrec_cuda_groups g, int64_t count, const float *X, const double *weights,
                const double *mean, float *ends) {
    const int64_t quad = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (quad >= g.quads) return;
    double middle[4];
    float peak[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    int64_t row[4];
    for (int c = 0; c < 4; c++) {
        row[c] = (4 * quad + c) / g.n;
        middle[c] = mean[(4 * quad + c) % g.n];
    }
    walk(&g, count, X, quad, [&](int64_t k, float4 four) {
        const float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int c = 0; c < 4; c++)
            peak[c] = fmaxf(peak[c], distance(x[c], middle[c],
                                              weights ? weights + k * g.group + row[c] : NULL));
    });
    for (int c = 0; c < 4; c++) ends[blockIdx.y * 4 * g.quads + 4 * quad + c] = peak[c];
}

__global__ void __launch_bounds__(ACROSS *DOWN)
    fold_peaks(csrec_cuda_groups g, int64_t count, int64_t parts_of, int64_t m, const float *X,
               const double *weights, const double *mean, const float *ends, float *peak) {
    __shared__ float peaks[DOWN][ACROSS];
    const int64_t j = (int64_t)blockIdx.x * ACROSS + threadIdx.x, rows = parts_of * g.group;
    float most = 0.0f;
    if (j < g.n) {
#pragma unroll 4
        for (int64_t q = threadIdx.y; q < rows; q += DOWN) most = fmaxf(most, ends[q * g.n + j]);
        for (int64_t i = count * g.group + threadIdx.y; i < m; i += DOWN)
            most = fmaxf(most, distance(X[i * g.n + j], mean[j], weights ? weights + i : NULL));
    }
    peaks[threadIdx.y][threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.y > 0 || j >= g.n) return;
    for (int y = 1; y < DOWN; y++) most = fmaxf(most, peaks[y][threadIdx.x]);
    peak[j] = most;
}

/* Flat, four vectors a thread: the mean is small enough to come from the cache. step: columns from
 * one vector of a thread to its next. */
__global__ void __launch_bounds__(CENTERERS)
    center_quads(int64_t count, int64_t n, int64_t step, float *X, const double *mean) {
    enum { MANY = 4 };
    const int64_t quads = count / 4;
    const int64_t first = (int64_t)blockIdx.x * (CENTERERS * MANY) + threadIdx.x;
    float4 x[MANY], *to = (float4 *)X + first;
#pragma unroll
    for (int i = 0; i < MANY; i++)
        if (first + i * CENTERERS < quads) x[i] = __ldcs(to + i * CENTERERS);
    int64_t j = 4 * first % n;
#pragma unroll
    for (int i = 0; i < MANY; i++) {
        if (first + i * CENTERERS >= quads) break;
        float *v = &x[i].x;
        int64_t column = j;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            v[e] = (float)((double)v[e] - mean[column]);
            if (++column == n) column = 0;
        }
        __stcs(to + i * CENTERERS, x[i]);
        j += step;
        if (j >= n) j -= n;
    }
    const int64_t rest = 4 * quads + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) X[rest] = (float)((double)X[rest] - mean[rest % n]);
}

/* Thread blocks along a group's length and over the groups. Determined by the shape alone, not the
 * device: the order of sums depends on it. */
static dim3 spread(const csrec_cuda_groups *g, int64_t count) {
    int64_t wide = (g->quads + THREADS - 1) / THREADS, parts = csrec_cuda_groups_parts(g);
    if (parts > count / FLIGHT) parts = count / FLIGHT;
    return dim3((unsigned)wide, (unsigned)(parts > 1 ? parts : 1));
}

csrec_status csrec_cuda_rows_sum(const csrec_cuda_groups *g, int64_t m, const float *X,
                                 const double *weights, double *parts, float *ends, double *sum,
                                 float *low, float *high, csrec_error *error) {
    const int64_t count = m / g->group;
    const dim3 grid = spread(g, count);
    csrec_status status = CSREC_OK;
    if (count && weights)
        sum_groups<true><<<grid, THREADS>>>(*g, count, X, weights, parts, ends);
    else if (count)
        sum_groups<false><<<grid, THREADS>>>(*g, count, X, weights, parts, ends);
    if (count) status = csrec_cuda_launched("sum_groups", error);
    if (status) return status;
    return CSREC_CUDA_RUN(fold_sums, csrec_cuda_blocks(g->n, ACROSS), dim3(ACROSS, DOWN), error, *g,
                          count, count ? grid.y : 0, m, X, weights, parts, ends, sum, low, high);
}

csrec_status csrec_cuda_rows_peak(const csrec_cuda_groups *g, int64_t m, const float *X,
                                  const double *weights, const double *mean, float *ends,
                                  float *peak, csrec_error *error) {
    const int64_t count = m / g->group;
    const dim3 grid = spread(g, count);
    csrec_status status = CSREC_OK;
    if (count) {
        status =
            CSREC_CUDA_RUN(peak_groups, grid, THREADS, error, *g, count, X, weights, mean, ends);
    }
    if (status) return status;
    return CSREC_CUDA_RUN(fold_peaks, csrec_cuda_blocks(g->n, ACROSS), dim3(ACROSS, DOWN), error,
                          *g, count, count ? grid.y : 0, m, X, weights, mean, ends, peak);
}

csrec_status csrec_cuda_rows_center(int64_t n, int64_t m, float *X, const double *mean,
                                    csrec_error *error) {
    const unsigned blocks = csrec_cuda_blocks(m * n, 16 * CENTERERS);
    return CSREC_CUDA_RUN(center_quads, blocks, CENTERERS, error, m * n, n, 4 * CENTERERS % n, X,
                          mean);
}
