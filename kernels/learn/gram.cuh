/* SPDX-License-Identifier: BSD-3-Clause */
/* gram.cuh - sums of products of columns over rows, in double and in the order of the rows: moments
 * of Gaussians and matrices of normal equations. Only for kernels/.
 *
 * A block of CSREC_GRAM_THREADS has one tile of TILE x TILE pairs of columns, a thread four of
 * them. Rows pass through shared memory, STEP at a time. */
#pragma once

#include <stdint.h>

enum { CSREC_GRAM_TILE = 32, CSREC_GRAM_STEP = 16, CSREC_GRAM_THREADS = 256 };

/* Tiles on and above the diagonal. */
static inline __host__ __device__ int csrec_gram_tiles(int columns) {
    const int across = (columns + CSREC_GRAM_TILE - 1) / CSREC_GRAM_TILE;
    return across * (across + 1) / 2;
}

/* Rows a <= b of tiles that pair `number` has. */
static __device__ __forceinline__ void csrec_gram_place(int number, int *a, int *b) {
    *b = 0;
    while (number > *b) number -= ++*b;
    *a = number;
}

/* The pair of columns of a thread's sum (u, v). */
static __device__ __forceinline__ int csrec_gram_row(int a, int u) {
    return a * CSREC_GRAM_TILE + (int)threadIdx.x / 16 + 16 * u;
}
static __device__ __forceinline__ int csrec_gram_column(int b, int v) {
    return b * CSREC_GRAM_TILE + (int)threadIdx.x % 16 + 16 * v;
}

/* sum += of rows 0 .. n - 1. Rows: double left(row, column), right(row, column), 0 beyond the
 * columns, and bool matters(row), whether a row is other than 0. All threads of the block. */
template <typename Rows>
static __device__ __forceinline__ void csrec_gram_add(int64_t n, int a, int b, const Rows &rows,
                                                      double (&sum)[2][2]) {
    enum { TILE = CSREC_GRAM_TILE, STEP = CSREC_GRAM_STEP };
    __shared__ double left[STEP][TILE], right[STEP][TILE];
    const int down = (int)threadIdx.x / 16, across = (int)threadIdx.x % 16;
    for (int64_t first = 0; first < n; first += STEP) {
        const int64_t own = first + threadIdx.x;
        if (!__syncthreads_or(threadIdx.x < STEP && own < n && rows.matters(own))) continue;
        for (int t = (int)threadIdx.x; t < STEP * TILE; t += CSREC_GRAM_THREADS) {
            const int64_t row = first + t / TILE;
            const int column = t % TILE;
            left[t / TILE][column] = row < n ? rows.left(row, a * TILE + column) : 0.0;
            right[t / TILE][column] = row < n ? rows.right(row, b * TILE + column) : 0.0;
        }
        __syncthreads();
        for (int s = 0; s < STEP; s++)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int v = 0; v < 2; v++)
                    sum[u][v] = fma(left[s][down + 16 * u], right[s][across + 16 * v], sum[u][v]);
    }
}
