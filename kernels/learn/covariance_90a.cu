/* SPDX-License-Identifier: BSD-3-Clause */
/* covariance_90a.cu - covariance.cu's tiles by products of warpgroups, which on compute capability
 * 9.0 run at 1.5 times the rate of mma.sync and need no ldmatrix.
 *
 * A thread block takes two neighbouring tiles, 128 x 256 entries: each of two warpgroups 64 x 256,
 * tile after tile, while one thread of a third warpgroup copies the next rows. The packed layout is
 * the one that the products read. An accumulator lasts for 32 rows; a warpgroup waits for it and
 * adds it up while the tensor cores work for the other. */
#include "kernels/learn/statistics_state.h"
#include "kernels/learn/triangle.cuh"
#include "kernels/device/wgmma.cuh"

enum {
    BLOCK = CSREC_COVARIANCE_BLOCK,
    ROWS = CSREC_COVARIANCE_ROWS,
    PIECE = CSREC_COVARIANCE_PIECE,
    TILE = CSREC_COVARIANCE_TILE,
    OPERAND = 4 * PIECE, /* bytes: both pieces of a block */
    STAGE = 3 * OPERAND,
    STAGES = 2,
    SHARED = STAGES * STAGE + 2 * STAGES * (int)sizeof(uint64_t),
    GROUP = 128,
    WORKERS = 2 * GROUP,
    THREADS = WORKERS + GROUP,
    DEPTH = 2, /* of 16 rows, of an accumulator */
    ENTRIES = 64 * BLOCK / GROUP
};

/* Tiles (i, j) and, if j < i, (i, j + 1), j even; `count` stages of ROWS rows. */
typedef struct work {
    int64_t i, j, slice, first, count;
    int tiles;
} work;

__device__ __forceinline__ work work_of(int64_t blocks, int64_t slice, int64_t steps) {
    const int64_t pairs = (blocks + 1) / 2, unit = blockIdx.x / 2, all = pairs * (pairs + 1) / 2;
    work w;
    csrec_triangle_find(unit % all, &w.i, &w.j);
    w.i = 2 * w.i + blockIdx.x % 2;
    w.j *= 2;
    w.tiles = w.j < w.i ? 2 : 1;
    w.slice = unit / all;
    w.first = w.slice * slice;
    w.count = w.first + slice < steps ? slice : steps - w.first;
    return w;
}

/* A stage holds its rows of block i, of block j and of block j + 1. */
__device__ __forceinline__ void copy_stages(const work *w, int64_t blocks, const char *packed,
                                            char *stages, uint64_t *full, uint64_t *empty) {
    const char *from = packed + w->first * blocks * OPERAND;
    for (int64_t step = 0; step < w->count; step++, from += blocks * OPERAND) {
        const int s = (int)(step % STAGES);
        char *to = stages + s * STAGE;
        if (step >= STAGES) csrec_barrier_wait(empty + s, (uint32_t)(step / STAGES - 1) & 1);
        csrec_barrier_expect(full + s, (1 + w->tiles) * OPERAND);
        csrec_bulk_copy(to, from + w->i * OPERAND, OPERAND, full + s);
        csrec_bulk_copy(to + OPERAND, from + w->j * OPERAND, w->tiles * OPERAND, full + s);
    }
}

/* sum += 32 rows' products, those with a low piece first. */
__device__ __forceinline__ void multiply_rows(uint64_t a, uint64_t b, float *sum) {
    const uint64_t low = 2 * PIECE / 16, further = 2;
    float c[ENTRIES] = {};
    csrec_wgmma_begin();
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        csrec_wgmma_f16(c, a + low + k * further, b + k * further, k > 0);
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        csrec_wgmma_f16(c, a + k * further, b + low + k * further, true);
#pragma unroll
    for (int k = 0; k < DEPTH; k++) csrec_wgmma_f16(c, a + k * further, b + k * further, true);
    csrec_wgmma_wait(c);
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) sum[e] += c[e];
}

__device__ __forceinline__ void multiply_stages(const work *w, int tiles, const char *stages,
                                                uint64_t *full, uint64_t *empty,
                                                float (&sum)[2][ENTRIES]) {
    const int group = threadIdx.x / GROUP;
    for (int64_t step = 0; step < w->count; step++) {
        const int s = (int)(step % STAGES);
        const char *at = stages + s * STAGE;
        const uint64_t a = csrec_wgmma_operand(at + group * 64 * ROWS * 2);
        csrec_barrier_wait(full + s, (uint32_t)(step / STAGES) & 1);
#pragma unroll
        for (int k = 0; k < ROWS / 16; k += DEPTH)
#pragma unroll
            for (int t = 0; t < 2; t++) {
                const uint64_t b = csrec_wgmma_operand(at + OPERAND * (1 + t));
                if (t < tiles) multiply_rows(a + 2 * k, b + 2 * k, sum[t]);
            }
        if (threadIdx.x % 32 == 0) csrec_barrier_arrive(empty + s);
    }
}

__device__ __forceinline__ void write_tile(const float *sum, float *tile) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    float *to = tile + row * BLOCK + lane % 4 * 2;
#pragma unroll
    for (int e = 0; e < ENTRIES; e += 4) {
        *(float2 *)(to + 2 * e) = make_float2(sum[e], sum[e + 1]);
        *(float2 *)(to + 2 * e + 8 * BLOCK) = make_float2(sum[e + 2], sum[e + 3]);
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    multiply_pairs(int64_t n, int64_t tiles, int64_t blocks, int64_t slice, int64_t steps,
                   const char *packed, float *partial) {
    extern __shared__ __align__(1024) char stages[];
    uint64_t *full = (uint64_t *)(stages + STAGES * STAGE), *empty = full + STAGES;
    const work w = work_of(blocks, slice, steps);
    if (w.i >= blocks) return;
    if (threadIdx.x < STAGES) {
        csrec_barrier_init(full + threadIdx.x, 1);
        csrec_barrier_init(empty + threadIdx.x, WORKERS / 32);
        csrec_barrier_publish();
    }
    __syncthreads();
    if (threadIdx.x >= WORKERS) {
        csrec_registers_give<24>();
        if (threadIdx.x == WORKERS) copy_stages(&w, blocks, packed, stages, full, empty);
    } else {
        csrec_registers_take<240>();
        /* The lower half of the last block may lie beyond the matrix. */
        const int mine = w.i * BLOCK + threadIdx.x / GROUP * 64 < n ? w.tiles : 0;
        float sum[2][ENTRIES] = {};
        multiply_stages(&w, mine, stages, full, empty, sum);
        float *to = partial + (w.slice * tiles + w.i * (w.i + 1) / 2 + w.j) * TILE;
        for (int t = 0; t < 2; t++)
            if (t < mine) write_tile(sum[t], to + t * TILE);
    }
}

csrec_status csrec_cuda_covariance_multiply_90a(const csrec_cuda_covariance *c, int64_t slices,
                                                int64_t slice, int64_t steps,
                                                const unsigned short *packed, csrec_error *error) {
    const int64_t pairs = (c->blocks + 1) / 2;
    csrec_status status = csrec_cuda_check(
        cudaFuncSetAttribute(multiply_pairs, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED),
        "multiply_pairs", error);
    if (status) return status;
    multiply_pairs<<<(unsigned)(slices * pairs * (pairs + 1)), THREADS, SHARED>>>(
        c->n, c->tiles, c->blocks, slice, steps, (const char *)packed, c->partial);
    return csrec_cuda_launched("multiply_pairs", error);
}
