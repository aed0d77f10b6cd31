/* SPDX-License-Identifier: BSD-3-Clause */
/* net.cu - the size of a network's gradient and its steps; products are in kernels/conv.
 *
 * Energy: thread k of THREADS BLOCKS adds the squares of entries k, k + THREADS BLOCKS, .. in
 * double, a block adds those of its threads as a tree, a second kernel of one block so those of the
 * blocks. A step: a thread a weight, with the operations of the CPU in their order. */
#include "kernels/device/device.h"
#include "kernels/net/net.h"

enum { THREADS = 256, BLOCKS = 256 };

/* The sum of all threads' values, in thread 0. */
__device__ __forceinline__ double add_threads(double value) {
    __shared__ double sums[THREADS];
    sums[threadIdx.x] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    return sums[0];
}

__global__ void __launch_bounds__(THREADS)
    sum_squares(int64_t count, const float *array, double *parts) {
    double sum = 0.0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)BLOCKS * THREADS)
        sum += (double)array[i] * (double)array[i];
    sum = add_threads(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) add_blocks(const double *parts, double *all) {
    static_assert(BLOCKS == THREADS, "a thread a block");
    const double sum = add_threads(parts[threadIdx.x]);
    if (threadIdx.x == 0) *all = sum;
}

__global__ void __launch_bounds__(THREADS)
    step(int64_t count, csrec_cuda_net_factors f, const float *gradient, float *weights,
         float *first, float *second, float *mean) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    const float g = gradient[i] * f.scale;
    const float m = f.beta1 * first[i] + (1.0f - f.beta1) * g;
    const float v = f.beta2 * second[i] + (1.0f - f.beta2) * g * g;
    const float w = weights[i] * f.shrink - f.rate * m / (sqrtf(v) * f.root + 1e-8f);
    first[i] = m;
    second[i] = v;
    weights[i] = w;
    if (mean) mean[i] += f.change * (w - mean[i]);
}

csrec_status csrec_cuda_net_put(int64_t planes, int64_t height, int64_t width, const float *host,
                                int64_t line, int64_t plane, float *array, csrec_error *error) {
    const size_t size = sizeof *array;
    for (int64_t k = 0; k < planes; k++)
        CSREC_TRY(csrec_cuda_check(cudaMemcpy2D(array + k * height * width, (size_t)width * size,
                                                host + k * plane, (size_t)line * size,
                                                (size_t)width * size, (size_t)height,
                                                cudaMemcpyHostToDevice),
                                   "copy", error));
    return CSREC_OK;
}

size_t csrec_cuda_net_energy_room(void) {
    return (BLOCKS + 1) * sizeof(double);
}

csrec_status csrec_cuda_net_energy(int64_t count, const float *array, void *scratch, double *sum,
                                   csrec_error *error) {
    double *parts = (double *)scratch;
    CSREC_TRY(CSREC_CUDA_RUN(sum_squares, BLOCKS, THREADS, error, count, array, parts));
    csrec_status status = CSREC_CUDA_RUN(add_blocks, 1, THREADS, error, parts, parts + BLOCKS);
    return status ? status : csrec_cuda_copy(sum, parts + BLOCKS, sizeof *sum, error);
}

csrec_status csrec_cuda_net_step(int64_t count, const csrec_cuda_net_factors *factors,
                                 const float *gradient, float *weights, float *first, float *second,
                                 float *mean, csrec_error *error) {
    return CSREC_CUDA_EACH(step, count, THREADS, error, count, *factors, gradient, weights, first,
                           second, mean);
}
