/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_result.cu - the atoms of a pursuit on the device. */
#include <cstdlib>

#include "kernels/haar/speculate_state.h"

extern "C" {
#include "base/sort.h"
#include "haar/tree.h"
}

enum { THREADS = 256 };

typedef struct atom_list {
    uint64_t *column;
    double *coefficient;
    int64_t *count;
    unsigned long long *found; /* one counter */
    int64_t capacity;
} atom_list;

typedef struct result_job {
    csrec_speculate_tree tree;
    const uint64_t *rows;
    int levels;
    double units;
    atom_list atoms;
} result_job;

/* Places are assigned in arbitrary order; the host sorts. */
static __device__ inline void list(const result_job *job, uint64_t row, int level, double sign,
                                   long long x, int64_t count) {
    if (x == 0) return;
    unsigned long long at = atomicAdd(job->atoms.found, 1ull);
    if ((int64_t)at >= job->atoms.capacity) return;
    job->atoms.column[at] = csrec_tree_column(job->levels, row, level);
    job->atoms.coefficient[at] = sign * (double)x * sqrt((double)count) / job->units;
    job->atoms.count[at] = count;
}

static __global__ void list_atoms(result_job job) {
    int64_t j = csrec_cuda_thread();
    if (j >= job.tree.n) return;
    uint64_t row = job.rows[j];
    list(&job, row, job.tree.level[j], 1.0, job.tree.x[j], job.tree.size[j]);
    if (!job.tree.x_sum) return;
    int edge = job.tree.node_edge[j];
    if (edge)
        list(&job, row, edge, csrec_tree_side(row, edge), job.tree.x_sum[j], job.tree.size[j]);
    edge = job.tree.leaf_edge[j];
    if (edge) list(&job, row, edge, csrec_tree_side(row, edge), job.tree.x_leaf[j], 1);
}

static csrec_status run_list(csrec_speculate_state *s, atom_list *atoms, int64_t *found,
                             csrec_error *error) {
    result_job job = {s->tree, s->rows, s->problem->levels, s->rules.units, *atoms};
    CSREC_TRY(csrec_cuda_clear(atoms->found, sizeof *atoms->found, NULL, error));
    CSREC_TRY(CSREC_CUDA_EACH(list_atoms, s->problem->n, THREADS, error, job));
    return csrec_cuda_copy(found, atoms->found, sizeof *found, error);
}

static csrec_status download(const atom_list *from, int64_t n, csrec_atoms *to,
                             csrec_error *error) {
    size_t bytes = (size_t)n * sizeof(double);
    csrec_status status = csrec_cuda_copy(to->column, from->column, bytes, error);
    if (!status) status = csrec_cuda_copy(to->coefficient, from->coefficient, bytes, error);
    return status ? status : csrec_cuda_copy(to->count, from->count, bytes, error);
}

/* Column 0 comes first; the rest in ascending order. `listed` is unordered. */
static csrec_status put_in_order(csrec_atoms *listed, double all, int64_t n, csrec_atoms *atoms) {
    int64_t count = listed->n, head = all != 0.0, *order = NULL;
    csrec_status status = csrec_atoms_create(count + head, atoms);
    if (!status && count) order = (int64_t *)malloc((size_t)count * sizeof *order);
    if (!status && count && !order) status = CSREC_MEMORY;
    for (int64_t i = 0; i < count && !status; i++) order[i] = i;
    if (!status && count) status = csrec_sort_rows(count, listed->column, order);
    for (int64_t i = 0; i < count && !status; i++) {
        atoms->column[i + head] = listed->column[i];
        atoms->coefficient[i + head] = listed->coefficient[order[i]];
        atoms->count[i + head] = listed->count[order[i]];
    }
    if (!status && head) {
        atoms->column[0] = 0;
        atoms->coefficient[0] = all;
        atoms->count[0] = n;
    }
    free(order);
    if (status) csrec_atoms_clear(atoms);
    return status;
}

csrec_status csrec_speculate_state_atoms(csrec_speculate_state *s,
                                         const csrec_speculate_totals *totals, csrec_atoms *atoms,
                                         csrec_error *error) {
    int64_t n = s->problem->n, found = 0;
    atom_list list = {};
    list.found = (unsigned long long *)s->prefix;
    CSREC_TRY(run_list(s, &list, &found, error));
    csrec_cuda_block block = {};
    csrec_atoms listed = {};
    csrec_status status = csrec_cuda_lay(&block, "the list of atoms", error, [&] {
        csrec_cuda_take(&block, found, &list.column, &list.coefficient, &list.count);
    });
    list.capacity = found;
    if (!status) status = run_list(s, &list, &found, error);
    if (!status && csrec_atoms_create(found, &listed))
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for %lld atoms", (long long)found);
    if (!status) status = download(&list, found, &listed, error);
    double all = (double)totals->x_all * sqrt((double)n) / s->rules.units;
    if (!status && put_in_order(&listed, all, n, atoms))
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for %lld atoms", (long long)found);
    csrec_atoms_clear(&listed);
    csrec_cuda_block_destroy(&block);
    return status;
}
