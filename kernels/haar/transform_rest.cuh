/* SPDX-License-Identifier: BSD-3-Clause */
/* transform_rest.cuh - the kernels: one resolves the tiles of samples, the other all later passes
 * and the end of the run.
 *
 * The first hands on about 1 % of the gaps: the blocks of the second share the tiles of these, and
 * the last block to finish runs the later passes alone until one tile is left. */
#pragma once

#include "kernels/haar/transform_pass.cuh"

struct transform_result {
    uint64_t counts; /* one-sided columns */
    csrec_cuda_best best;
};

struct transform_run {
    uint64_t M; /* 2^levels */
    int64_t n;
    int64_t tiles; /* of samples */
    pass_input in[PASSES];
    pass_output out[PASSES];
    csrec_cuda_best *tile_best;  /* [tiles] of samples */
    csrec_cuda_best *block_best; /* of the second kernel */
    unsigned *arrived;           /* blocks of the second kernel; 0 between runs */
    transform_result *result;
};

template <bool ONE_SIDED, bool COUNTED>
static __global__ void __launch_bounds__(THREADS, 5)
    transform_samples(const __grid_constant__ transform_run run) {
    __shared__ tile_memory tile;
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    csrec_cuda_best best = {0, ~UINT64_C(0)};
    const tile_place place = {blockIdx.x, run.n};
    if (run_tile<true, ONE_SIDED, COUNTED>(run.in[0], run.out[0], place, run.M, run.n, 0, tile,
                                           NULL, best))
        best = best_of_block(tile, best);
    if (threadIdx.x == 0) run.tile_best[blockIdx.x] = best;
}

/* Gaps that a pass handed on. */
static __device__ int64_t gaps_of(uint64_t counts) {
    return (int64_t)((counts & COUNTS) >> GAPS_SHIFT);
}

/* This block's tiles of a pass after the first; counts: of the passes before. */
template <bool ONE_SIDED, bool COUNTED>
static __device__ void run_pass(const transform_run &run, int pass, uint64_t counts, int64_t first,
                                int64_t step, tile_memory &tile, uint32_t *position,
                                csrec_cuda_best &best) {
    tile_place place = {first, gaps_of(counts)};
    for (; place.index < place.tiles(); place.index += step) {
        run_tile<false, ONE_SIDED, COUNTED>(run.in[pass], run.out[pass], place, run.M, run.n,
                                            (int64_t)(counts & COLUMNS), tile, position, best);
        __syncthreads();
    }
}

static __device__ void clear(uint64_t *state, int64_t tiles, int64_t first, int64_t step) {
    for (int64_t at = first; at < tiles; at += step) state[at] = 0;
}

static __device__ void collect(const csrec_cuda_best *bests, int64_t count, int64_t first,
                               int64_t step, csrec_cuda_best &best) {
    for (int64_t at = first; at < count; at += step)
        improve(best, __ldcg((const long long *)&bests[at].key), __ldcg(&bests[at].column));
}

/* Whether this is the last block to arrive; it then sees the writes of the others. */
static __device__ bool arrive_last(unsigned *arrived) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

template <bool ONE_SIDED, bool COUNTED>
static __global__ void __launch_bounds__(THREADS, 2)
    transform_rest(const __grid_constant__ transform_run run) {
    __shared__ tile_memory tile;
    __shared__ uint32_t position[TILE + 1];
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    const int64_t thread = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    const int64_t threads = (int64_t)gridDim.x * THREADS;
    csrec_cuda_best best = {0, ~UINT64_C(0)};
    uint64_t counts = __ldcg(run.out[0].counts);
    run_pass<ONE_SIDED, COUNTED>(run, 1, counts, blockIdx.x, gridDim.x, tile, position, best);
    clear(run.out[0].state, run.tiles, thread, threads);
    collect(run.tile_best, run.tiles, thread, threads, best);
    best = best_of_block(tile, best);
    if (threadIdx.x == 0) run.block_best[blockIdx.x] = best;
    if (!arrive_last(run.arrived)) return;

    for (int pass = 1; gaps_of(counts); pass++) {
        if (pass > 1) run_pass<ONE_SIDED, COUNTED>(run, pass, counts, 0, 1, tile, position, best);
        __syncthreads();
        clear(run.out[pass].state, (gaps_of(counts) + TILE - 1) / TILE, threadIdx.x, THREADS);
        counts = __ldcg(run.out[pass].counts);
    }
    collect(run.block_best, gridDim.x, threadIdx.x, THREADS, best);
    best = best_of_block(tile, best);
    if (threadIdx.x > 0) return;
    *run.result = {counts & COLUMNS, best};
    *run.arrived = 0;
    *run.out[0].threshold = 0;
}
