/* SPDX-License-Identifier: BSD-3-Clause */
/* transform.cu - all inner products on the device: working memory and the two kernels' launches
 * (transform_pass.cuh, transform_tile.cuh). */
#include "kernels/haar/transform.h"

#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/haar/transform_pass.cuh"

/* ---- the kernels: one resolves the tiles of samples, the other all later passes
 * and the end of the run.
 *
 * The first hands on about 1 % of the gaps: the blocks of the second share the tiles of these, and
 * the last block to finish runs the later passes alone until one tile is left. */

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

static __global__ void fill_scale(double *scale) {
    int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k <= TILE) scale[k] = k ? 1.0 / sqrt((double)k) : 0.0;
}

struct csrec_cuda_transform {
    int64_t states; /* of all passes */
    bool one_sided;
    bool clean;      /* states and similar arrays are 0, before and after each run */
    bool overlap;    /* launches may overlap: compute capability 9 and later */
    unsigned blocks; /* of the second kernel */
    uint64_t *state; /* [states + 1], the last for the threshold and arrived */
    double *scale;
    transform_run run;
    csrec_cuda_block block;
};

/* Memory that only the second kernel uses: pass k + 1 processes the gaps that pass k hands on. */
static int64_t lay_out_pass(csrec_cuda_transform *t, int k, int64_t items) {
    const int64_t tiles = (items + TILE - 1) / TILE, bound = tiles > 1 ? tiles * HANDED_ON : 0;
    pass_output *out = &t->run.out[k];
    csrec_cuda_take(&t->block, bound, &out->rows, &out->place, &out->sum);
    csrec_cuda_take(&t->block, 1, &out->counts);
    if (k + 1 < PASSES) {
        t->run.in[k + 1].rows = out->rows;
        t->run.in[k + 1].place = out->place;
        t->run.in[k + 1].r = out->sum;
    }
    return bound;
}

static void lay_out(csrec_cuda_transform *t) {
    int64_t at[PASSES + 1] = {0}, items = t->run.n;
    for (int k = 0; k < PASSES; k++) {
        at[k + 1] = at[k] + (items + TILE - 1) / TILE;
        items = lay_out_pass(t, k, items);
    }
    t->states = at[PASSES];
    csrec_cuda_take(&t->block, t->states + 1, &t->state);
    csrec_cuda_take(&t->block, TILE + 1, &t->scale);
    transform_run *run = &t->run;
    csrec_cuda_take(&t->block, run->tiles, &run->tile_best);
    csrec_cuda_take(&t->block, t->blocks, &run->block_best);
    csrec_cuda_take(&t->block, 1, &run->result);
    if (!t->block.base) return;
    run->arrived = (unsigned *)(t->state + t->states) + 1;
    for (int k = 0; k < PASSES; k++) {
        run->in[k].scale = t->scale;
        run->out[k].state = t->state + at[k];
        run->out[k].threshold = (unsigned *)(t->state + t->states);
    }
}

csrec_status csrec_cuda_transform_create(int levels, int64_t n, csrec_columns columns,
                                         csrec_cuda_transform **transform, csrec_error *error) {
    if (levels < 0 || levels > 62 || n < 1 || n > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: levels 0 .. 62, samples below 2^31");
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    if (status) return status;
    csrec_cuda_transform *t = (csrec_cuda_transform *)calloc(1, sizeof *t);
    if (!t) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    t->run.M = UINT64_C(1) << levels;
    t->run.n = n;
    t->run.tiles = (n + TILE - 1) / TILE;
    t->one_sided = columns == CSREC_COLUMNS_PAPER;
    t->overlap = size.major >= 9;
    const int64_t rest = (t->run.tiles * HANDED_ON + TILE - 1) / TILE;
    const int64_t most = 2 * size.multiprocessors; /* must all be resident at the same time */
    t->blocks = (unsigned)(rest < most ? rest : most);
    status = csrec_cuda_lay(&t->block, "the transform", error, [&] { lay_out(t); });
    if (!status) status = CSREC_CUDA_RUN(fill_scale, TILE / THREADS + 1, THREADS, error, t->scale);
    return CSREC_SETTLE(status, csrec_cuda_transform_destroy(t), *transform = t);
}

void csrec_cuda_transform_destroy(csrec_cuda_transform *t) {
    if (!t) return;
    csrec_cuda_block_destroy(&t->block);
    free(t);
}

/* Launches the second kernel. It may be launched while the first still runs, and waits for it on
 * the device (cudaGridDependencySynchronize). */
static csrec_status launch_rest(const csrec_cuda_transform *t, bool counted, csrec_error *error) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(t->blocks);
    launch.blockDim = dim3(THREADS);
    launch.attrs = &early;
    launch.numAttrs = t->overlap;
    void (*const kernels[])(transform_run) = {
        transform_rest<false, false>, transform_rest<false, true>, transform_rest<true, false>,
        transform_rest<true, true>};
    cudaError_t code = cudaLaunchKernelEx(&launch, kernels[2 * t->one_sided + counted], t->run);
    return csrec_cuda_check(code, "transform_rest", error);
}

csrec_status csrec_cuda_transform_run(csrec_cuda_transform *t, const uint64_t *rows,
                                      const double *r, uint64_t *column, double *value,
                                      uint32_t *count, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (!t->clean)
        status =
            csrec_cuda_clear(t->state, (size_t)(t->states + 1) * sizeof *t->state, NULL, error);
    if (status) return status;
    t->run.in[0].rows = rows;
    t->run.in[0].r = r;
    for (int k = 0; k < PASSES; k++) {
        t->run.out[k].column = column;
        t->run.out[k].value = value;
        t->run.out[k].count = count;
    }
    void (*const kernels[])(transform_run) = {
        transform_samples<false, false>, transform_samples<false, true>,
        transform_samples<true, false>, transform_samples<true, true>};
    void (*const kernel)(transform_run) = kernels[2 * t->one_sided + (count != NULL)];
    kernel<<<(unsigned)t->run.tiles, THREADS>>>(t->run);
    status = csrec_cuda_launched("transform_samples", error);
    if (!status) status = launch_rest(t, count != NULL, error);
    t->clean = status == CSREC_OK;
    return status;
}

csrec_status csrec_cuda_transform_wait(csrec_cuda_transform *t, int64_t *found,
                                       csrec_cuda_best *best, csrec_error *error) {
    transform_result result;
    csrec_status status = csrec_cuda_copy(&result, t->run.result, sizeof result, error);
    if (status) return status;
    *found = t->run.n + (int64_t)result.counts;
    if (best) *best = result.best;
    return CSREC_OK;
}
