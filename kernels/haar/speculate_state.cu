/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_state.cu - the row tree and the sums of a pursuit built on the device.
 *
 * The node of gap j is the smallest dyadic block with samples j and j + 1; where its samples begin
 * and end is found by galloping from the gap, as rows ascend. Its sums are differences of prefix
 * sums, exact on the grid of haar/pursuit.h.
 */
#include <cstdio>

#include "base/stop.h"
#include "kernels/haar/speculate_state.h"
#include "shim/scan.h"

enum { THREADS = 256 };

static __global__ void to_units(int64_t n, const double *y, double units, long long *u) {
    int64_t j = csrec_cuda_thread();
    if (j <= n + 1) u[j] = j < n ? (long long)rint(y[j] * units) : 0;
}

csrec_status csrec_speculate_sums(csrec_speculate_state *s, csrec_error *error) {
    uint64_t *prefix = (uint64_t *)s->prefix; /* sums of either sign, modulo 2^64 */
    return csrec_shim_sums_u64(prefix, prefix, s->problem->n + 2, s->scratch, s->scratch_bytes,
                               NULL, error);
}

typedef struct tree_build {
    int64_t n;
    const uint64_t *rows;
    const long long *prefix;
    int32_t *first, *size;
    double *scale, *D, *S, *r;
    uint8_t *level, *node_edge, *leaf_edge;
} tree_build;

static __device__ inline bool inside(const tree_build *b, int64_t j, int level, uint64_t block) {
    return j >= 0 && j < b->n && b->rows[j] >> level == block;
}

/* The last sample from `at` on in a direction (+1, -1) that lies in the block; `at` does. */
static __device__ inline int64_t gallop(const tree_build *b, int64_t at, int direction, int level) {
    uint64_t block = b->rows[at] >> level;
    int64_t step = 1;
    while (inside(b, at + direction * step, level, block)) {
        at += direction * step;
        step *= 2;
    }
    for (step /= 2; step; step /= 2)
        if (inside(b, at + direction * step, level, block)) at += direction * step;
    return at;
}

static __device__ inline int gap_of(const tree_build *b, int64_t j) {
    return j < 0 || j + 1 >= b->n ? 64 : csrec_tree_gap(b->rows, b->n, j);
}

static __global__ void build_tree(tree_build b) {
    int64_t j = csrec_cuda_thread();
    if (j >= b.n) return;
    int level = gap_of(&b, j), above = gap_of(&b, j - 1);
    if (b.leaf_edge) {
        b.leaf_edge[j] = (uint8_t)csrec_tree_edge(level < above ? level : above, 0);
        b.r[j] = (double)(b.prefix[j + 1] - b.prefix[j]);
    }
    if (j == b.n - 1) {
        b.first[j] = (int32_t)b.n;
        return;
    }
    int64_t first = gallop(&b, j, -1, level), end = gallop(&b, j, 1, level) + 1;
    long long before = b.prefix[first], after = b.prefix[end];
    b.first[j] = (int32_t)first;
    b.size[j] = (int32_t)(end - first);
    b.scale[j] = 1.0 / sqrt((double)(end - first));
    b.level[j] = (uint8_t)level;
    b.D[j] = (double)(2 * b.prefix[j + 1] - before - after);
    if (!b.node_edge) return;
    int left = gap_of(&b, first - 1), right = gap_of(&b, end - 1);
    b.node_edge[j] = (uint8_t)csrec_tree_edge(left < right ? left : right, level);
    b.S[j] = (double)(after - before);
}

static void lay_out(csrec_speculate_state *s, tree_build *b) {
    csrec_cuda_block *m = &s->memory;
    int64_t n = s->problem->n;
    bool one_sided = s->problem->columns == CSREC_COLUMNS_PAPER;
    csrec_speculate_tree *t = &s->tree;
    t->D = b->D = (double *)csrec_cuda_block_take(m, n, sizeof(double));
    t->scale = b->scale = (double *)csrec_cuda_block_take(m, n, sizeof(double));
    csrec_cuda_take(m, n, &t->x);
    t->first = b->first = (int32_t *)csrec_cuda_block_take(m, n, sizeof(int32_t));
    t->size = b->size = (int32_t *)csrec_cuda_block_take(m, n, sizeof(int32_t));
    t->level = b->level = (uint8_t *)csrec_cuda_block_take(m, n, 1);
    if (one_sided) {
        t->S = b->S = (double *)csrec_cuda_block_take(m, n, sizeof(double));
        t->r = b->r = (double *)csrec_cuda_block_take(m, n, sizeof(double));
        csrec_cuda_take(m, n, &t->x_sum, &t->x_leaf);
        t->node_edge = b->node_edge = (uint8_t *)csrec_cuda_block_take(m, n, 1);
        t->leaf_edge = b->leaf_edge = (uint8_t *)csrec_cuda_block_take(m, n, 1);
    }
    csrec_cuda_take(m, n, &s->rows, &s->y);
    csrec_cuda_take(m, n + 2, &s->prefix);
    s->scratch = csrec_cuda_block_take(m, (int64_t)s->scratch_bytes, 1);
    csrec_cuda_take(m, 1, &s->totals);
}

static csrec_status sum_samples(csrec_speculate_state *s, csrec_error *error) {
    int64_t n = s->problem->n;
    CSREC_TRY(CSREC_CUDA_EACH(to_units, n + 2, THREADS, error, n, s->y, s->rules.units, s->prefix));
    return csrec_speculate_sums(s, error);
}

/* Of the samples and the stopping rules, on the host. */
static void set_rules(csrec_speculate_state *s, const csrec_stop *stop,
                      csrec_speculate_totals *totals) {
    const double *y = s->problem->y;
    const double units = csrec_pursuit_units(s->problem->n, y);
    s->start = 0.0;
    for (int64_t j = 0; j < s->problem->n; j++) {
        double value = rint(y[j] * units);
        s->start += y[j] * y[j];
        totals->total += value;
        totals->energy += (csrec_wide)(int64_t)value * (int64_t)value;
    }
    s->rules.units = units;
    s->rules.inverse = 1.0 / units;
    s->rules.all_scale = 1.0 / sqrt((double)s->problem->n);
    s->rules.goal = csrec_stop_end(stop, s->problem->n, s->start);
    s->rules.min_coefficient = stop->min_coefficient;
    s->rules.limit = stop->atoms ? stop->atoms : 4 * s->problem->n;
}

static csrec_status upload(csrec_speculate_state *s, csrec_error *error) {
    size_t n = (size_t)s->problem->n;
    csrec_status status = csrec_cuda_clear(s->memory.base, s->memory.used, NULL, error);
    if (!status) status = csrec_cuda_copy(s->rows, s->problem->rows, n * sizeof *s->rows, error);
    return status ? status : csrec_cuda_copy(s->y, s->problem->y, n * sizeof *s->y, error);
}

csrec_status csrec_speculate_state_create(csrec_speculate_state *s,
                                          const csrec_speculate_problem *problem,
                                          const csrec_stop *stop, csrec_error *error) {
    if (problem->n < 1 || problem->n > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "%lld samples; must be 1 to 2147483647",
                          (long long)problem->n);
    s->problem = problem;
    tree_build b = {};
    csrec_speculate_totals totals = {};
    char what[64];
    snprintf(what, sizeof what, "a pursuit of %lld samples", (long long)problem->n);
    s->scratch_bytes = csrec_shim_sums_bytes(problem->n + 2);
    csrec_status status = csrec_cuda_lay(&s->memory, what, error, [&] { lay_out(s, &b); });
    if (status) return status;
    s->tree.n = problem->n;
    status =
        csrec_cuda_check(cudaHostAlloc((void **)&s->link, sizeof *s->link, cudaHostAllocMapped),
                         "mapped memory", error);
    if (!status) status = upload(s, error);
    if (status) return status;
    set_rules(s, stop, &totals);
    CSREC_TRY(sum_samples(s, error));
    s->link->iterations = 0;
    s->link->energy = -1.0;
    s->link->stop = 0;
    b.n = problem->n;
    b.rows = s->rows;
    b.prefix = s->prefix;
    status = CSREC_CUDA_EACH(build_tree, problem->n, THREADS, error, b);
    return status ? status : csrec_cuda_copy(s->totals, &totals, sizeof totals, error);
}

void csrec_speculate_state_clear(csrec_speculate_state *s) {
    if (s->link) cudaFreeHost(s->link);
    s->link = NULL;
    csrec_cuda_block_destroy(&s->memory);
}
