/* document.cuh - the kernels of the source documents on mean-centring and covariance, as they are
 * there, to be read and measured beside the library's: a thread a pixel and a thread an image;
 * naive, symmetric and tiled covariance of centred rows. */
#ifndef CSREC_BENCH_DOCUMENT_CUH
#define CSREC_BENCH_DOCUMENT_CUH

#include <stdint.h>

namespace document {

/* A thread a pixel: a warp reads 32 successive floats (coalesced). */
__global__ void mean(const float *X, float *mean, int64_t m, int64_t n) {
    const int64_t j = (int64_t)blockDim.x * blockIdx.x + threadIdx.x;
    if (j >= n) return;
    float sum = 0.0f;
    for (int64_t i = 0; i < m; i++) sum += X[i * n + j];
    mean[j] = sum / (float)m;
}

__global__ void center_by_pixel(float *X, const float *mean, int64_t m, int64_t n) {
    const int64_t j = (int64_t)blockDim.x * blockIdx.x + threadIdx.x;
    if (j >= n) return;
    const float value = mean[j];
    for (int64_t i = 0; i < m; i++) X[i * n + j] -= value;
}

/* A thread an image: a warp reads 32 floats n apart, of 32 memory transactions one float each. */
__global__ void center_by_image(float *X, const float *mean, int64_t m, int64_t n) {
    const int64_t i = (int64_t)blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= m) return;
    for (int64_t j = 0; j < n; j++) X[i * n + j] -= mean[j];
}

/* A thread an entry; symmetric: those with J <= j, mirrored. */
template <bool SYMMETRIC>
__global__ void covariance(const float *X, float *C, int64_t m, int64_t n) {
    const int64_t J = (int64_t)blockDim.x * blockIdx.x + threadIdx.x;
    const int64_t j = (int64_t)blockDim.y * blockIdx.y + threadIdx.y;
    if (j >= n || J >= n || (SYMMETRIC && J > j)) return;
    float sum = 0.0f;
    for (int64_t i = 0; i < m; i++) sum = fmaf(X[i * n + j], X[i * n + J], sum);
    C[j * n + J] = sum / (float)m;
    if (SYMMETRIC) C[J * n + j] = sum / (float)m;
}

/* CHUNK x CHUNK entries a block, both windows of CHUNK rows in shared memory: CHUNK / 8 operations
 * a byte read (0.25 at 2, 1 at 8). */
template <int CHUNK>
__global__ void covariance_tiled(const float *X, float *C, int64_t m, int64_t n) {
    __shared__ float cache_x[CHUNK][CHUNK], cache_y[CHUNK][CHUNK];
    const int64_t base_x = (int64_t)blockIdx.x * CHUNK, base_y = (int64_t)blockIdx.y * CHUNK;
    const int64_t x = base_x + threadIdx.x, y = base_y + threadIdx.y;
    if (base_x >= base_y + CHUNK) return;
    float sum = 0.0f;
    for (int64_t first = 0; first < m; first += CHUNK) {
        const int64_t row = first + threadIdx.y, column = base_y + threadIdx.x;
        cache_x[threadIdx.y][threadIdx.x] = row < m && x < n ? X[row * n + x] : 0.0f;
        cache_y[threadIdx.y][threadIdx.x] = row < m && column < n ? X[row * n + column] : 0.0f;
        __syncthreads();
        if (x <= y)
            for (int k = 0; k < CHUNK; k++)
                sum = fmaf(cache_y[k][threadIdx.y], cache_x[k][threadIdx.x], sum);
        __syncthreads();
    }
    if (y < n && x <= y) C[y * n + x] = C[x * n + y] = sum / (float)m;
}

} // namespace document

#endif
