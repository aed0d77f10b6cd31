/* SPDX-License-Identifier: BSD-3-Clause */
/* moments.cu - mean and covariance of the patches of each component, and the sum of their V^T V.
 * Sums are in double and in a fixed order: batches for the means, rows for the covariances. */
#include "kernels/learn/gram.cuh"
#include "kernels/method/mixture/state.cuh"

enum { THREADS = 128 };

/* A thread a component and column. */
__global__ void find_centres(const __grid_constant__ csrec_mixture_device g) {
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= (int64_t)g.K * g.d) return;
    const int64_t k = at / g.d, c = at % g.d, n = g.first[k + 1] - g.first[k];
    double sum = 0.0;
    for (int64_t b = g.batch[k]; b < g.batch[k + 1]; b++) sum += g.sums[b * g.d + c];
    g.centres[at] = n > 0 ? sum / (double)n : 0.0;
}

/* The patches of a component less their mean. */
struct centred {
    const float *x;
    const double *mean;
    int d;

    __device__ bool matters(int64_t) const { return true; }
    __device__ double left(int64_t row, int column) const {
        return column < d ? (double)x[row * d + column] - mean[column] : 0.0;
    }
    __device__ double right(int64_t row, int column) const { return left(row, column); }
};

/* A block a component and tile. */
__global__ void __launch_bounds__(CSREC_GRAM_THREADS)
    find_moments(const __grid_constant__ csrec_mixture_device g) {
    const int k = (int)blockIdx.y;
    const int64_t first = g.first[k], n = g.first[k + 1] - first;
    if (n == 0) return;
    int a, b;
    csrec_gram_place((int)blockIdx.x, &a, &b);
    const centred rows = {g.x + first * g.d, g.centres + (int64_t)k * g.d, g.d};
    double sum[2][2] = {};
    csrec_gram_add(n, a, b, rows, sum);
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++) {
            const int i = csrec_gram_row(a, u), j = csrec_gram_column(b, v);
            if (i >= g.d || j < i || j >= g.d) continue;
            const int64_t at = ((int64_t)k * g.d + i) * g.d + j;
            double products = 0.0;
            for (int64_t batch = g.batch[k]; batch < g.batch[k + 1]; batch++)
                products += (double)g.G[(batch * g.stride + i) * g.stride + j];
            g.S[at] = sum[u][v] / (double)n;
            g.T[at] = products;
        }
}

csrec_status csrec_mixture_moments_on(const csrec_mixture_device *g, csrec_error *error) {
    csrec_status status = CSREC_CUDA_EACH(find_centres, (int64_t)g->K * g->d, THREADS, error, *g);
    if (status) return status;
    const dim3 grid((unsigned)csrec_gram_tiles(g->d), (unsigned)g->K);
    return CSREC_CUDA_RUN(find_moments, grid, CSREC_GRAM_THREADS, error, *g);
}
