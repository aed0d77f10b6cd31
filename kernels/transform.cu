/* transform.cu - all inner products on the device: working memory and the sequence of passes
 * (transform_pass.cuh, transform_tile.cuh). */
#include "kernels/transform.h"

#include <stdlib.h>

#include "kernels/device.h"
#include "kernels/transform_pass.cuh"

static __global__ void fill_scale(double *scale) {
    int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k <= TILE) scale[k] = 1.0 / sqrt((double)k);
}

struct pass {
    int64_t tiles; /* at most */
    uint64_t *state;
    csrec_cuda_best *best;
    uint64_t *rows, *place; /* gaps handed on */
    double *sum;
};

struct csrec_cuda_transform {
    int levels, passes;
    int64_t n, tiles; /* tiles of all passes */
    bool one_sided;
    bool clean;   /* state and threshold are 0, as a run needs and leaves them */
    bool overlap; /* launches may overlap: compute capability 9 and later */
    pass pass[PASSES];
    uint64_t *state, *counts; /* [tiles + 1], the last for the threshold; [passes] */
    double *scale;
    csrec_cuda_best *best;
    csrec_cuda_block block;
};

static void lay_out(csrec_cuda_transform *t) {
    t->tiles = 0;
    t->passes = 0;
    for (int64_t bound = t->n; bound > 0; t->passes++) {
        pass *p = &t->pass[t->passes];
        p->tiles = (bound + TILE - 1) / TILE;
        t->tiles += p->tiles;
        bound = p->tiles > 1 ? p->tiles * HANDED_ON : 0;
        p->rows = (uint64_t *)csrec_cuda_block_take(&t->block, bound, sizeof *p->rows);
        p->place = (uint64_t *)csrec_cuda_block_take(&t->block, bound, sizeof *p->place);
        p->sum = (double *)csrec_cuda_block_take(&t->block, bound, sizeof *p->sum);
    }
    t->state = (uint64_t *)csrec_cuda_block_take(&t->block, t->tiles + 1, sizeof *t->state);
    t->best = (csrec_cuda_best *)csrec_cuda_block_take(&t->block, t->tiles, sizeof *t->best);
    t->counts = (uint64_t *)csrec_cuda_block_take(&t->block, PASSES, sizeof *t->counts);
    t->scale = (double *)csrec_cuda_block_take(&t->block, TILE + 1, sizeof *t->scale);
    for (int64_t k = 0, at = 0; k < t->passes; at += t->pass[k++].tiles) {
        t->pass[k].state = t->block.base ? t->state + at : NULL;
        t->pass[k].best = t->block.base ? t->best + at : NULL;
    }
}

csrec_status csrec_cuda_transform_create(int levels, int64_t n, csrec_columns columns,
                                         csrec_cuda_transform **transform, csrec_error *error) {
    if (levels < 0 || levels > 62 || n < 1 || n > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: levels 0 .. 62, samples below 2^31");
    csrec_cuda_transform *t = (csrec_cuda_transform *)calloc(1, sizeof *t);
    if (!t) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    t->levels = levels;
    t->n = n;
    t->one_sided = columns == CSREC_COLUMNS_PAPER;
    lay_out(t);
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    t->overlap = !status && size.major >= 9;
    if (!status) status = csrec_cuda_block_create(&t->block, "the transform", error);
    if (!status) {
        lay_out(t);
        fill_scale<<<TILE / WORKERS + 1, WORKERS>>>(t->scale);
        status = csrec_cuda_launched("fill_scale", error);
    }
    if (status)
        csrec_cuda_transform_destroy(t);
    else
        *transform = t;
    return status;
}

void csrec_cuda_transform_destroy(csrec_cuda_transform *t) {
    if (!t) return;
    csrec_cuda_block_destroy(&t->block);
    free(t);
}

/* Launches a pass. All but the first may be made ready while the kernel before still runs; they
 * wait for it by themselves (cudaGridDependencySynchronize). */
static csrec_status launch_pass(const pass_input &in, const pass_output &out, bool leaves,
                                bool overlap, int64_t tiles, csrec_error *error) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3((unsigned)tiles);
    launch.blockDim = dim3(THREADS);
    launch.attrs = &early;
    launch.numAttrs = overlap && !leaves;
    void (*const kernels[])(pass_input, pass_output) = {
        transform_tile<false, false>, transform_tile<false, true>, transform_tile<true, false>,
        transform_tile<true, true>};
    cudaError_t code =
        cudaLaunchKernelEx(&launch, kernels[2 * leaves + (out.count != NULL)], in, out);
    return csrec_cuda_check(code, "transform_tile", error);
}

csrec_status csrec_cuda_transform_run(csrec_cuda_transform *t, const uint64_t *rows,
                                      const double *r, uint64_t *column, double *value,
                                      uint32_t *count, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (!t->clean)
        status = csrec_cuda_check(
            cudaMemsetAsync(t->state, 0, (size_t)(t->tiles + 1) * sizeof *t->state), "memset",
            error);
    pass_input in = {};
    in.M = uint64_t(1) << t->levels;
    in.n = t->n;
    in.rows = rows;
    in.r = r;
    in.scale = t->scale;
    in.one_sided = t->one_sided;
    for (int k = 0; k < t->passes && !status; k++) {
        const pass *p = &t->pass[k];
        pass_output out = {column,
                           value,
                           count,
                           k == t->passes - 1,
                           (unsigned *)(t->state + t->tiles),
                           p->best,
                           p->state,
                           t->counts + k,
                           p->rows,
                           p->place,
                           p->sum};
        status = launch_pass(in, out, k == 0, t->overlap, p->tiles, error);
        in.counts = t->counts + k;
        in.rows = p->rows;
        in.r = p->sum;
        in.place = p->place;
        in.state = p->state;
        in.best = p->best;
        in.tiles = p->tiles;
    }
    t->clean = status == CSREC_OK;
    return status;
}

csrec_status csrec_cuda_transform_wait(csrec_cuda_transform *t, int64_t *found,
                                       csrec_cuda_best *best, csrec_error *error) {
    uint64_t counts = 0;
    csrec_cuda_best own;
    csrec_status status = csrec_cuda_check(
        cudaMemcpy(&counts, t->counts + t->passes - 1, sizeof counts, cudaMemcpyDeviceToHost),
        "transform", error);
    if (!status)
        status = csrec_cuda_check(
            cudaMemcpy(&own, t->pass[t->passes - 1].best, sizeof own, cudaMemcpyDeviceToHost),
            "transform", error);
    if (status) return status;
    *found = t->n + (int64_t)(counts & ((uint64_t(1) << GAPS_SHIFT) - 1));
    if (best) *best = own;
    return CSREC_OK;
}
