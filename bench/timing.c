/* SPDX-License-Identifier: BSD-3-Clause */
/* timing.c - runs the pursuit and the transforms under the clock. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const csrec_pursuit_type *const eager = &csrec_pursuit_eager;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return hash;
}

uint64_t bench_atoms_hash(const csrec_atoms *atoms) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    hash = hash_bytes(hash, atoms->column, (size_t)atoms->n * sizeof *atoms->column);
    return hash_bytes(hash, atoms->coefficient, (size_t)atoms->n * sizeof *atoms->coefficient);
}

static uint64_t hash_result(const void *state, const double *y) {
    csrec_atoms atoms;
    bench_check(eager->result(state, y, &atoms, NULL), "atoms");
    uint64_t hash = bench_atoms_hash(&atoms);
    csrec_atoms_clear(&atoms);
    return hash;
}

/* The energy is asked for each atom as csrec_solve does. */
static int64_t pursue(void *state, int64_t from, int64_t to) {
    double energy = 1.0;
    for (; from < to && energy > 0.0; from++) {
        eager->select(state);
        if (!eager->update(state)) break;
        energy = eager->energy(state);
    }
    return from;
}

static void run_once(const bench_problem *p, csrec_columns columns, const csrec_eager_simd *simd,
                     bench_times *t) {
    int64_t before = bench_bytes_live();
    bench_bytes_reset();
    csrec_tree tree;
    void *state;
    double clock[5];
    clock[0] = bench_seconds();
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &tree), "tree");
    clock[1] = bench_seconds();
    t->tree_bytes = bench_bytes_live() - before;
    bench_check(eager->create(&tree, p->y, &state), "pursuit");
    clock[2] = bench_seconds();
    t->bytes = bench_bytes_live() - before;
    t->peak_bytes = bench_bytes_peak() - before;
    if (simd) ((csrec_eager *)state)->simd = simd;
    t->atoms[0] = pursue(state, 0, p->n / 20);
    clock[3] = bench_seconds();
    t->atoms[1] = pursue(state, t->atoms[0], p->n / 4);
    clock[4] = bench_seconds();
    t->tree_ns = (clock[1] - clock[0]) * 1e9 / (double)p->n;
    t->start_ns = (clock[2] - clock[1]) * 1e9 / (double)p->n;
    for (int k = 0; k < 2; k++)
        t->atom_ns[k] = (clock[3 + k] - clock[2]) * 1e9 / (double)t->atoms[k];
    t->hash = hash_result(state, p->y);
    eager->destroy(state);
    csrec_tree_clear(&tree);
}

bench_times bench_time_pursuit(const bench_problem *problem, csrec_columns columns,
                               const csrec_eager_simd *simd, double least) {
    bench_times best, now;
    double start = bench_seconds();
    run_once(problem, columns, simd, &best);
    while (bench_seconds() - start < least) {
        run_once(problem, columns, simd, &now);
        best.tree_ns = fmin(best.tree_ns, now.tree_ns);
        best.start_ns = fmin(best.start_ns, now.start_ns);
        for (int k = 0; k < 2; k++) best.atom_ns[k] = fmin(best.atom_ns[k], now.atom_ns[k]);
    }
    return best;
}

uint64_t bench_pursuit_hash(const bench_problem *problem, csrec_columns columns) {
    csrec_tree tree;
    void *state;
    bench_check(csrec_tree_create(problem->levels, problem->n, problem->rows, columns, &tree),
                "tree");
    bench_check(eager->create(&tree, problem->y, &state), "pursuit");
    pursue(state, 0, problem->n / 4);
    uint64_t hash = hash_result(state, problem->y);
    eager->destroy(state);
    csrec_tree_clear(&tree);
    return hash;
}

/* The leanest transform we know: sums from the leaves to the root, the largest score on the way,
 * nothing listed. Where each node's samples begin is found beforehand. */
typedef struct lean {
    csrec_tree tree;
    int32_t *first; /* [nodes] */
    double *sums;   /* [nodes] */
} lean;

static lean lean_create(const bench_problem *p, csrec_columns columns) {
    lean l;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &l.tree), "tree");
    l.first = bench_allocate(p->n, sizeof *l.first);
    l.sums = bench_allocate(p->n, sizeof *l.sums);
    csrec_tree_walk walk = csrec_tree_walk_start(&l.tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);)
        if (block.node >= 0) l.first[block.node] = block.first;
    return l;
}

static double lean_iteration(const lean *l, const double *r) {
    const csrec_tree *tree = &l->tree;
    double best = 0.0;
    for (int32_t i = tree->n - 2; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left, first = l->first[i];
        double a = left == 1 ? r[first] : l->sums[i + 1];
        double b = right == 1 ? r[first + left] : l->sums[i + left];
        l->sums[i] = a + b;
        best = fmax(best, fabs(a - b) * tree->scale[i]);
        int edges = tree->one_sided ? tree->edges[i] : 0;
        if (edges & CSREC_TREE_LEVEL) best = fmax(best, fabs(a + b) * tree->scale[i]);
        if (edges & CSREC_TREE_LEFT_LEAF) best = fmax(best, fabs(a));
        if (edges & CSREC_TREE_RIGHT_LEAF) best = fmax(best, fabs(b));
    }
    return best;
}

double bench_time_tree_iteration(const bench_problem *p, csrec_columns columns) {
    lean l = lean_create(p, columns);
    /* The largest is used, so that no compiler can leave out the work. */
    double best = INFINITY, begin = bench_seconds(), largest = 0.0;
    for (int k = 0; k < 3 || (k < 1000 && bench_seconds() - begin < 0.03); k++) {
        double start = bench_seconds();
        largest = fmax(largest, lean_iteration(&l, p->y));
        best = fmin(best, bench_seconds() - start);
    }
    if (!(largest >= 0.0)) bench_fail("transform", "not a number");
    free(l.first);
    free(l.sums);
    csrec_tree_clear(&l.tree);
    return best;
}

double bench_time_iteration(const bench_problem *p, csrec_columns columns,
                            const csrec_pursuit_type *type) {
    csrec_tree tree;
    void *state;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &tree), "tree");
    bench_check(type->create(&tree, p->y, &state), "pursuit");
    double best = INFINITY, begin = bench_seconds();
    for (int k = 0; k < 2 || (k < 1000 && bench_seconds() - begin < 0.05); k++) {
        double start = bench_seconds();
        if (type->select(state) < 0.0 || !type->update(state)) bench_fail("pursuit", "failed");
        best = fmin(best, bench_seconds() - start);
    }
    type->destroy(state);
    csrec_tree_clear(&tree);
    return best;
}
