/* SPDX-License-Identifier: BSD-3-Clause */
/* synthesis.cu - rows of samples and entries, and the signal that pursuits have found.
 *
 * The readable counterpart is src/haar/atoms.c. An
 * entry's value on a grid is a sum down the chain of blocks that hold its row, coarse to fine, the
 * terms and their order those of the CPU, so that the result is equal to the last bit; one thread
 * an entry adds the grids in their order.
 */
#include "kernels/method/grids/synthesis.h"

#include "kernels/method/grids/grid_rows.cuh"
#include "shim/shim.h"

enum { THREADS = 256, CHANNELS = 4 };

__global__ static void entry_rows(const csrec_cuda_grid *grid, int64_t n, const int64_t *index,
                                  uint64_t *rows, uint32_t *order) {
    int64_t k = csrec_cuda_thread();
    if (k >= n) return;
    rows[k] = row_of(*grid, index[k]);
    order[k] = (uint32_t)k;
}

csrec_status csrec_cuda_grid_rows(const csrec_cuda_grid *grid, int64_t n, const int64_t *index,
                                  uint64_t *rows, uint32_t *order, void *stream,
                                  csrec_error *error) {
    entry_rows<<<csrec_cuda_blocks(n, THREADS), THREADS, 0, (cudaStream_t)stream>>>(grid, n, index,
                                                                                    rows, order);
    return csrec_cuda_launched("entry_rows", error);
}

size_t csrec_cuda_sort_scratch(int64_t n) {
    size_t bytes = 0;
    return csrec_shim_sort(NULL, &bytes, n, 62, NULL, NULL, NULL, NULL, NULL) ? 0 : bytes;
}

csrec_status csrec_cuda_sort(int64_t n, int bits, const uint64_t *rows, const uint32_t *order,
                             uint64_t *sorted_rows, uint32_t *sorted_order, void *scratch,
                             csrec_error *error) {
    size_t bytes = csrec_cuda_sort_scratch(n);
    return csrec_shim_sort(scratch, &bytes, n, bits > 0 ? bits : 1, rows, sorted_rows, order,
                           sorted_order, error);
}

/* The value of an atom in its left half, as the atom list of the CPU gives it: its coefficient is
 * x sqrt(count) / units. */
__device__ static inline double atom_value(double x, double count, double unit) {
    double norm = sqrt(count);
    return x * norm * unit / norm;
}

/* x becomes the item's value. */
__global__ static void scale_atoms(csrec_cuda_tree tree, double unit, double *x) {
    int64_t i = csrec_cuda_thread();
    if (i >= tree.items) return;
    uint64_t shape = tree.shape[i];
    double value = x[i];
    bool sum = (shape >> 28 & 0xfffffff) == 0;
    if (sum && tree.rows[tree.first[i]] >> (int)((shape >> 56) - 1) & 1) value = -value;
    x[i] = atom_value(value, (double)(shape & 0xfffffff), unit);
}

/* Adds item i to the sums of a row in its block, and goes on to the next item of the chain; -1: the
 * chain ends. */
template <int COUNT>
__device__ static inline int64_t descend(const csrec_cuda_tree &tree, double *const *x, int64_t i,
                                         uint64_t row, double *sum) {
    uint64_t shape = __ldg(tree.shape + i);
    int level = (int)(shape >> 56);
    int64_t size = shape & 0xfffffff, left = shape >> 28 & 0xfffffff;
    if ((row ^ __ldg(tree.rows + __ldg(tree.first + i))) >> level) return -1;
    bool right = row >> (level - 1) & 1;
#pragma unroll
    for (int c = 0; c < COUNT; c++) sum[c] += right ? -__ldg(x[c] + i) : __ldg(x[c] + i);
    if (!tree.one_sided) {
        if ((right ? size - left : left) == 1) return -1;
        return right ? i + left : i + 1;
    }
    int64_t mid = tree.mid[i], end = tree.end[i];
    if (!left) return i + 1 < end ? i + 1 : -1;
    if (right) return mid < end ? mid : -1;
    return i + 1 < mid ? i + 1 : -1;
}

/* Channels channel .. channel + COUNT - 1 of one entry. */
template <int COUNT>
__global__ static void add_grids(int64_t first, int64_t entries, int64_t grids,
                                 const csrec_cuda_grid *grid, const csrec_cuda_tree *trees,
                                 const csrec_cuda_signal *signals, int64_t channels,
                                 int64_t channel, double *signal) {
    int64_t entry = csrec_cuda_thread();
    if (entry >= entries) return;
    entry += first;
    double *out = signal + entry * channels + channel;
    double total[COUNT];
    for (int c = 0; c < COUNT; c++) total[c] = out[c];
    for (int64_t g = 0; g < grids; g++) {
        const csrec_cuda_tree &tree = trees[g];
        const csrec_cuda_signal *s = signals + g * channels + channel;
        uint64_t row = row_of(grid[g], entry);
        double sum[COUNT];
        double *x[COUNT];
        for (int c = 0; c < COUNT; c++) {
            sum[c] = atom_value(s[c].x_all, (double)tree.n, s[c].unit);
            x[c] = s[c].x;
        }
        int64_t i = tree.items > 0 ? 0 : -1;
        while (i >= 0) i = descend<COUNT>(tree, x, i, row, sum);
        for (int c = 0; c < COUNT; c++) total[c] += sum[c];
    }
    for (int c = 0; c < COUNT; c++) out[c] = total[c];
}

template <int COUNT>
static csrec_status add(const csrec_cuda_batch *batch, const csrec_cuda_grid *grids, int64_t first,
                        int64_t entries, int64_t channel, double *signal, csrec_error *error) {
    add_grids<COUNT>
        <<<csrec_cuda_blocks(entries, THREADS), THREADS, 0, (cudaStream_t)batch->stream>>>(
            first, entries, batch->trees, grids, batch->device_tree, batch->device_signal,
            batch->channels, channel, signal);
    return csrec_cuda_launched("add_grids", error);
}

csrec_status csrec_cuda_scale(csrec_cuda_batch *batch, csrec_error *error) {
    for (int64_t s = 0; s < batch->signals; s++) {
        const csrec_cuda_tree *tree = &batch->tree[batch->signal[s].tree];
        if (tree->items < 1) continue;
        scale_atoms<<<csrec_cuda_blocks(tree->items, THREADS), THREADS, 0,
                      (cudaStream_t)batch->stream>>>(*tree, batch->signal[s].unit,
                                                     batch->signal[s].x);
        CSREC_TRY(csrec_cuda_launched("scale_atoms", error));
    }
    return CSREC_OK;
}

csrec_status csrec_cuda_synthesize(const csrec_cuda_batch *batch, const csrec_cuda_grid *grids,
                                   int64_t first, int64_t count, double *signal,
                                   csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t c = 0; c < batch->channels && !status;) {
        int64_t rest = batch->channels - c;
        if (rest >= CHANNELS)
            status = add<CHANNELS>(batch, grids, first, count, c, signal, error);
        else if (rest == 3)
            status = add<3>(batch, grids, first, count, c, signal, error);
        else if (rest == 2)
            status = add<2>(batch, grids, first, count, c, signal, error);
        else
            status = add<1>(batch, grids, first, count, c, signal, error);
        c += rest < CHANNELS ? rest : (int64_t)CHANNELS;
    }
    return status;
}

__global__ static void divide(int64_t count, double *signal, double divisor) {
    int64_t k = csrec_cuda_thread();
    if (k < count) signal[k] /= divisor;
}

csrec_status csrec_cuda_divide(int64_t count, double *signal, double divisor, void *stream,
                               csrec_error *error) {
    divide<<<csrec_cuda_blocks(count, THREADS), THREADS, 0, (cudaStream_t)stream>>>(count, signal,
                                                                                    divisor);
    return csrec_cuda_launched("divide", error);
}
