/* SPDX-License-Identifier: BSD-3-Clause */
/* reference.cu - the steps of the reference pursuit on a device: a launch a level for the
 * transform, in which each thread keeps the best column of the groups that it reduced; the largest
 * of those; a launch for the update. Only r and the entries of one transform are stored. */
#include "kernels/haar/reference.h"

#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/haar/levels.cuh"
#include "shim/shim.h"

extern "C" {
#include "haar/tree.h"
}

enum { THREADS = 256 };

/* The best columns of the threads so far. */
struct candidates {
    int64_t *key;               /* [n] of csrec_pursuit_key, -1: none */
    csrec_reference_pick *pick; /* [n] */
};

static __device__ void keep(const candidates &best, int64_t k, csrec_reference_pick pick) {
    int64_t key = csrec_pursuit_key(pick.sum, csrec_haar_scale(pick.count), pick.level);
    if (key <= best.key[k]) return;
    best.key[k] = key;
    best.pick[k] = pick;
}

static __global__ void start(level_entries e, const double *r, candidates best) {
    int64_t k = csrec_cuda_thread();
    if (k >= e.n) return;
    start_entry(e, k, r);
    best.key[k] = -1;
}

/* Step n: span 2^n, the group of each row, its members' halves. */
static __global__ void reduce(level_entries e, int n, bool one_sided, candidates best) {
    int64_t k = csrec_cuda_thread();
    if (k >= e.n) return;
    double sub;
    bool two_sided;
    if (!reduce_entry(e, k, n, &sub, &two_sided) || !(two_sided || one_sided)) return;
    keep(best, k, {n, e.rows[k] >> n, e.size[k], sub});
}

static __global__ void column_0(level_entries e, candidates best) {
    keep(best, 0, {CSREC_REFERENCE_ALL, 0, e.n, e.add[0]});
}

static __global__ void update(level_entries e, csrec_reference_pick pick, double d, double *r) {
    int64_t k = csrec_cuda_thread();
    if (k < e.n) r[k] -= d * csrec_reference_sign(pick.level, pick.group, e.rows[k]);
}

struct engine {
    int levels;
    bool one_sided;
    level_arrays a;
    candidates best;
    void *temporary;
    size_t bytes;
    csrec_cuda_block block;
};

static void lay_out(engine *g) {
    int64_t n = g->a.e.n;
    csrec_cuda_block *b = &g->block;
    take_arrays(b, &g->a);
    csrec_cuda_take(b, n, &g->best.key, &g->best.pick);
    g->temporary = csrec_cuda_block_take(b, (int64_t)g->bytes, 1);
}

static void device_destroy(void *state) {
    engine *g = (engine *)state;
    csrec_cuda_block_destroy(&g->block);
    free(g);
}

static csrec_status device_create(const csrec_tree *tree, const double *r, void **state) {
    engine *g = (engine *)calloc(1, sizeof *g);
    if (!g) return CSREC_MEMORY;
    g->levels = tree->levels;
    g->one_sided = tree->one_sided;
    g->a.e.n = tree->n;
    g->bytes = (size_t)tree->n / 4 + (1 << 20); /* more than the maximum needs */
    csrec_status status =
        csrec_cuda_lay(&g->block, "the reference pursuit", NULL, [&] { lay_out(g); });
    if (!status) status = fill_arrays(&g->a, tree->rows, r, NULL);
    return CSREC_SETTLE(status, device_destroy(g), *state = g);
}

/* Keys of different levels differ; of equal ones the first, as the maximum is, has the smallest
 * column. */
static csrec_status device_find(void *state, csrec_reference_pick *pick) {
    engine *g = (engine *)state;
    const unsigned blocks = csrec_cuda_blocks(g->a.e.n, THREADS);
    int64_t place = 0;
    start<<<blocks, THREADS>>>(g->a.e, g->a.r, g->best);
    for (int n = 1; n <= g->levels; n++)
        reduce<<<blocks, THREADS>>>(g->a.e, n, g->one_sided, g->best);
    column_0<<<1, 1>>>(g->a.e, g->best);
    csrec_status status = csrec_cuda_launched("the reference pursuit", NULL);
    if (!status)
        status = csrec_shim_max(g->temporary, g->bytes, g->a.e.n, g->best.key, &place, NULL);
    return status ? status : csrec_cuda_copy(pick, g->best.pick + place, sizeof *pick, NULL);
}

static csrec_status device_subtract(void *state, const csrec_reference_pick *pick, double d) {
    engine *g = (engine *)state;
    return CSREC_CUDA_EACH(update, g->a.e.n, THREADS, NULL, g->a.e, *pick, d, g->a.r);
}

static csrec_status device_residual(const void *state, double *r) {
    const engine *g = (const engine *)state;
    return csrec_cuda_copy(r, g->a.r, (size_t)g->a.e.n * sizeof *r, NULL);
}

static const csrec_reference_engine device = {device_create, device_destroy, device_find,
                                              device_subtract, device_residual};

static csrec_status create_pursuit(const csrec_tree *tree, const double *y, void **state) {
    return csrec_reference_create(&device, tree, y, state);
}

const csrec_pursuit_type csrec_cuda_pursuit_reference = {
    create_pursuit,         csrec_reference_destroy, csrec_reference_select,
    csrec_reference_update, csrec_reference_energy,  csrec_reference_result};
