/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.cu - the signal that a list of atoms stands for: the inverse fast Haar transform.
 *
 * The readable counterpart is synthesize_tile of src/haar/atoms.c: one value per block of a level
 * becomes two of the next, and the atoms of the level are added to theirs. Each value receives its
 * terms coarse to fine, so the result is equal to the last bit. */
#include "kernels/method/grids/fill.h"

#include "kernels/method/grids/grid_rows.cuh"

extern "C" {
#include "haar/tree.h"
}

enum { THREADS = 256, LEVELS_MAX = 40 };

typedef struct fill_memory {
    csrec_cuda_block block;
    uint64_t *column;
    double *coefficient;
    int64_t *count;
    double *value[2]; /* of the blocks of even and odd levels */
} fill_memory;

static void lay_out(fill_memory *m, int levels, int64_t atoms) {
    csrec_cuda_take(&m->block, atoms, &m->column, &m->coefficient, &m->count);
    csrec_cuda_take(&m->block, INT64_C(1) << levels, &m->value[0]);
    csrec_cuda_take(&m->block, (INT64_C(1) << levels) / 2, &m->value[1]);
}

size_t csrec_cuda_fill_bytes(int levels, int64_t atoms) {
    fill_memory m = {};
    if (levels > LEVELS_MAX) return SIZE_MAX;
    lay_out(&m, levels, atoms);
    return m.block.used;
}

__global__ static void halve(int64_t blocks, const double *from, double2 *to) {
    int64_t b = csrec_cuda_thread();
    if (b < blocks) to[b] = make_double2(from[b], from[b]);
}

/* first: the column of the level's block 0. */
__global__ static void add_atoms(int64_t atoms, const uint64_t *column, const double *coefficient,
                                 const int64_t *count, uint64_t first, const double *from,
                                 double2 *to) {
    int64_t i = csrec_cuda_thread();
    if (i >= atoms) return;
    uint64_t b = column[i] - first;
    double sum = from[b], x = coefficient[i] / sqrt((double)count[i]);
    to[b] = make_double2(sum + x, sum - x);
}

__global__ static void add_entries(const csrec_cuda_grid *grid, int64_t entries, int64_t channels,
                                   const double *value, double *signal) {
    int64_t entry = csrec_cuda_thread();
    if (entry < entries) signal[entry * channels] += value[row_of(*grid, entry)];
}

static csrec_status upload(const fill_memory *m, const csrec_atoms *atoms, csrec_error *error) {
    size_t bytes = (size_t)atoms->n * 8;
    csrec_status status = csrec_cuda_copy(m->column, atoms->column, bytes, error);
    if (!status) status = csrec_cuda_copy(m->coefficient, atoms->coefficient, bytes, error);
    return status ? status : csrec_cuda_copy(m->count, atoms->count, bytes, error);
}

static csrec_status descend(const fill_memory *m, int levels, const csrec_atoms *atoms,
                            csrec_error *error) {
    int64_t at = atoms->n > 0 && atoms->column[0] == 0;
    double mean = at ? atoms->coefficient[0] / sqrt((double)atoms->count[0]) : 0.0;
    csrec_status status = csrec_cuda_copy(m->value[levels % 2], &mean, sizeof mean, error);
    for (int level = levels; level > 0 && !status; level--) {
        int64_t blocks = INT64_C(1) << (levels - level);
        const double *from = m->value[level % 2];
        double2 *to = (double2 *)m->value[(level - 1) % 2];
        halve<<<csrec_cuda_blocks(blocks, THREADS), THREADS>>>(blocks, from, to);
        int64_t end = csrec_bound(atoms->column, at, atoms->n, (uint64_t)blocks * 2);
        if (end > at)
            add_atoms<<<csrec_cuda_blocks(end - at, THREADS), THREADS>>>(
                end - at, m->column + at, m->coefficient + at, m->count + at, (uint64_t)blocks,
                from, to);
        status = csrec_cuda_launched("synthesis", error);
        at = end;
    }
    return status;
}

csrec_status csrec_cuda_fill(const csrec_cuda_grid *grid, int levels, const csrec_atoms *atoms,
                             int64_t entries, int64_t channels, double *signal,
                             csrec_error *error) {
    fill_memory m = {};
    if (levels > LEVELS_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%d levels, at most %d; use backend cpu",
                          levels, LEVELS_MAX);
    csrec_status status =
        csrec_cuda_lay(&m.block, "the synthesis", error, [&] { lay_out(&m, levels, atoms->n); });
    if (!status) status = upload(&m, atoms, error);
    if (!status) status = descend(&m, levels, atoms, error);
    if (!status)
        status = CSREC_CUDA_EACH(add_entries, entries, THREADS, error, grid, entries, channels,
                                 m.value[0], signal);
    if (!status) status = csrec_cuda_check(cudaDeviceSynchronize(), "synthesis", error);
    csrec_cuda_block_destroy(&m.block);
    return status;
}
