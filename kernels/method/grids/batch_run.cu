/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_run.cu - a batch of pursuits: memory, start from the samples, run, results. */
#include <stdlib.h>
#include <time.h>

#include "kernels/method/grids/batch_pursue.h"
#include "shim/scan.h"

enum { THREADS = 256 };

__global__ static void round_samples(int64_t n, const double *y, int64_t stride,
                                     const uint32_t *order, double units, double *r) {
    int64_t j = csrec_cuda_thread();
    if (j < n) r[j] = rint(y[(order ? (int64_t)order[j] : j) * stride] * units);
    if (j == n) r[n] = 0.0;
}

/* Block sums are differences of prefix sums: exact on the grid. */
__global__ static void start_values(csrec_cuda_tree tree, const double *sums, double *value) {
    int64_t i = csrec_cuda_thread();
    if (i >= tree.items) return;
    uint64_t shape = tree.shape[i];
    int64_t first = tree.first[i], size = shape & 0xfffffff, left = shape >> 28 & 0xfffffff;
    double begin = sums[first], end = sums[first + size];
    value[i] = left ? 2.0 * sums[first + left] - begin - end : end - begin;
}

__global__ static void start_records(csrec_cuda_tree tree, const double *value,
                                     csrec_cuda_record *record) {
    int64_t t = csrec_cuda_thread();
    if (t >= tree.tops) return;
    uint32_t item = tree.path[(size_t)tree.top[t].unit * tree.stride + CSREC_UNIT_ITEM];
    csrec_cuda_record r = {value[item], {0, 0}, {CSREC_UNIT_NONE, CSREC_UNIT_NONE}};
    record[t] = r;
}

/* One warp per signal: loads in parallel, adds sequentially as the CPU does. */
__global__ static void norms(const csrec_cuda_tree *trees, csrec_cuda_signal *signals) {
    csrec_cuda_signal *signal = signals + blockIdx.x;
    int64_t n = trees[signal->tree].n, stride = signal->stride;
    const uint32_t *order = signal->order;
    double sum = 0.0;
    for (int64_t first = 0; first < n; first += warpSize) {
        int64_t j = first + threadIdx.x;
        double y = j < n ? signal->y[(order ? (int64_t)order[j] : j) * stride] : 0.0;
        double square = y * y;
#pragma unroll
        for (int i = 0; i < 32; i++) sum += __shfl_sync(0xffffffffu, square, i);
    }
    if (threadIdx.x == 0) signal->whole = sum;
}

static void lay_out(csrec_cuda_block *block, csrec_cuda_batch *batch) {
    int64_t n = 0;
    for (int64_t t = 0; t < batch->trees; t++)
        if (batch->tree[t].n > n) n = batch->tree[t].n;
    csrec_cuda_take(block, batch->trees, &batch->device_tree);
    csrec_cuda_take(block, batch->signals, &batch->device_signal);
    csrec_cuda_take(block, n + 1, &batch->sums);
    batch->scratch_bytes = csrec_shim_sums_bytes(n + 1);
    batch->scratch = csrec_cuda_block_take(block, (int64_t)batch->scratch_bytes, 1);
    for (int64_t s = 0; s < batch->signals; s++) {
        csrec_cuda_signal *signal = &batch->signal[s];
        const csrec_cuda_tree *tree = &batch->tree[s / batch->channels];
        signal->tree = (int32_t)(s / batch->channels);
        csrec_cuda_take(block, tree->items, &signal->value, &signal->x);
        csrec_cuda_take(block, tree->tops, &signal->record);
    }
}

size_t csrec_cuda_signal_bytes(const csrec_cuda_tree *tree) {
    csrec_cuda_block block = {};
    csrec_cuda_block_take(&block, tree->items, 8);
    csrec_cuda_block_take(&block, tree->items, 8);
    csrec_cuda_block_take(&block, tree->tops, sizeof(csrec_cuda_record));
    return block.used;
}

csrec_status csrec_cuda_batch_create(int64_t trees, csrec_cuda_tree *tree, int64_t channels,
                                     void *stream, csrec_cuda_batch *batch, csrec_error *error) {
    *batch = csrec_cuda_batch{};
    batch->trees = trees;
    batch->tree = tree;
    batch->channels = channels;
    batch->signals = trees * channels;
    batch->stream = stream;
    batch->signal = (csrec_cuda_signal *)calloc((size_t)batch->signals, sizeof *batch->signal);
    csrec_status status =
        batch->signal ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
    if (!status)
        status = csrec_cuda_lay(&batch->block, "a batch of pursuits", error,
                                [&] { lay_out(&batch->block, batch); });
    if (!status) {
        void *seen = NULL;
        size_t bytes = (size_t)(1 + batch->signals) * sizeof *batch->seen;
        status = csrec_cuda_check(cudaHostAlloc(&seen, bytes, cudaHostAllocMapped), "pinned memory",
                                  error);
        batch->seen = (volatile int64_t *)seen;
        for (int64_t s = 0; !status && s <= batch->signals; s++) batch->seen[s] = 0;
    }
    if (!status)
        status = csrec_cuda_upload(batch->device_tree, batch->tree,
                                   (size_t)trees * sizeof *batch->tree, stream, error);
    if (status) csrec_cuda_batch_destroy(batch);
    return status;
}

void csrec_cuda_batch_destroy(csrec_cuda_batch *batch) {
    if (!batch) return;
    if (batch->seen) cudaFreeHost((void *)batch->seen);
    for (int64_t t = 0; batch->tree && t < batch->trees; t++)
        csrec_cuda_tree_destroy(&batch->tree[t]);
    free(batch->signal);
    csrec_cuda_block_destroy(&batch->block);
    *batch = csrec_cuda_batch{};
}

csrec_status csrec_cuda_batch_start(csrec_cuda_batch *batch, int64_t s, const double *y,
                                    int64_t stride, const uint32_t *order, csrec_error *error) {
    csrec_cuda_signal *signal = &batch->signal[s];
    const csrec_cuda_tree *tree = &batch->tree[signal->tree];
    signal->y = y;
    signal->order = order;
    signal->stride = stride;
    cudaStream_t stream = (cudaStream_t)batch->stream;
    int64_t n = tree->n;
    round_samples<<<csrec_cuda_blocks(n + 1, THREADS), THREADS, 0, stream>>>(
        n, y, stride, order, 1.0 / signal->unit, batch->sums);
    csrec_status status = csrec_cuda_launched("round_samples", error);
    if (!status)
        status = csrec_shim_sums_f64(batch->sums, batch->sums, n + 1, batch->scratch,
                                     batch->scratch_bytes, stream, error);
    if (!status)
        status =
            csrec_cuda_clear(signal->x, (size_t)tree->items * sizeof *signal->x, stream, error);
    if (status || tree->items < 1) return status;
    start_values<<<csrec_cuda_blocks(tree->items, THREADS), THREADS, 0, stream>>>(
        *tree, batch->sums, signal->value);
    status = csrec_cuda_launched("start_values", error);
    if (status || tree->tops < 1) return status;
    start_records<<<csrec_cuda_blocks(tree->tops, THREADS), THREADS, 0, stream>>>(
        *tree, signal->value, signal->record);
    return csrec_cuda_launched("start_records", error);
}

csrec_status csrec_cuda_batch_norms(csrec_cuda_batch *batch, csrec_error *error) {
    size_t bytes = (size_t)batch->signals * sizeof *batch->signal;
    CSREC_TRY(csrec_cuda_upload(batch->device_signal, batch->signal, bytes, batch->stream, error));
    norms<<<(unsigned)batch->signals, 32, 0, (cudaStream_t)batch->stream>>>(batch->device_tree,
                                                                            batch->device_signal);
    CSREC_TRY(csrec_cuda_launched("norms", error));
    return csrec_cuda_download(batch->signal, batch->device_signal, bytes, batch->stream, error);
}

/* Waits for the stream and reports the signals' progress to `seen`. */
static csrec_status watch(csrec_cuda_batch *batch, bool (*seen)(int64_t, void *), void *context,
                          csrec_error *error) {
    cudaError_t code = cudaErrorNotReady;
    while (seen && (code = cudaStreamQuery((cudaStream_t)batch->stream)) == cudaErrorNotReady) {
        int64_t done = 0;
        for (int64_t s = 1; s <= batch->signals; s++) done += batch->seen[s];
        if (seen(done, context)) batch->seen[0] = 1;
        struct timespec time = {0, 1000000};
        nanosleep(&time, NULL);
    }
    code = cudaStreamSynchronize((cudaStream_t)batch->stream);
    return csrec_cuda_check(code, "pursuits", error);
}

csrec_status csrec_cuda_batch_run(csrec_cuda_batch *batch, int warps,
                                  bool (*seen)(int64_t iterations, void *context), void *context,
                                  csrec_error *error) {
    size_t bytes = (size_t)batch->signals * sizeof *batch->signal;
    int stride = 0;
    for (int64_t t = 0; t < batch->trees; t++)
        if (batch->tree[t].stride > stride) stride = batch->tree[t].stride;
    CSREC_TRY(csrec_cuda_upload(batch->device_signal, batch->signal, bytes, batch->stream, error));
    CSREC_TRY(csrec_cuda_pursue(batch->device_tree, batch->device_signal, batch->signals, warps,
                                stride, batch->seen, batch->seen + 1, batch->stream, error));
    CSREC_TRY(watch(batch, seen, context, error));
    return csrec_cuda_download(batch->signal, batch->device_signal, bytes, batch->stream, error);
}
