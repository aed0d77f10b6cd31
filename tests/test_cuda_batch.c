/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_batch.c - pursuits on the device against the eager pursuit on the CPU: equal values,
 * coefficients, energies, iterations and outcomes, to the bit. */

#include "kernels/method/grids/signal.h"
#include "cuda_check.h"
#include "base/stop.h"
#include "haar/eager.h"

SEED(seed);

typedef struct problem {
    int levels;
    int64_t n;
    csrec_columns columns;
    uint64_t *rows;
    double *y;
    csrec_stop stop;
} problem;

/* Skewed: rows crowd towards 0, for deep and lopsided trees. */
static void draw_rows(problem *p, int64_t n, bool skew) {
    uint64_t mask = p->levels ? (UINT64_MAX >> (64 - p->levels)) : 0;
    p->rows = check_keep((size_t)n * sizeof *p->rows);
    for (int64_t j = 0; j < n; j++) {
        int shift = skew ? (int)check_below(&seed, p->levels) : 0;
        p->rows[j] = (check_next(&seed) & mask) >> shift;
    }
    qsort(p->rows, (size_t)n, sizeof *p->rows, check_ascend);
    p->n = 1;
    for (int64_t j = 1; j < n; j++)
        if (p->rows[j] != p->rows[p->n - 1]) p->rows[p->n++] = p->rows[j];
}

static problem draw(int64_t n, int levels, bool skew, int kind, csrec_columns columns) {
    problem p = {.levels = levels, .columns = columns};
    if (levels < 40 && n > INT64_C(1) << levels) n = INT64_C(1) << levels;
    draw_rows(&p, n, skew && levels > 0);
    p.y = check_keep((size_t)p.n * sizeof *p.y);
    for (int64_t j = 0; j < p.n; j++) p.y[j] = draw_value(&seed, kind, j);
    return p;
}

/* The CPU's run, by the rules of solver/solve.c. */
static int32_t run_cpu(const problem *p, csrec_eager *e, int64_t *iterations) {
    int64_t limit = p->stop.atoms ? p->stop.atoms : 4 * p->n;
    double whole = 0.0, energy = csrec_pursuit_eager.energy(e);
    for (int64_t j = 0; j < p->n; j++) whole += p->y[j] * p->y[j];
    double goal = csrec_stop_end(&p->stop, p->n, whole);
    double keep = (1.0 - p->stop.stagnation) * (1.0 - p->stop.stagnation);
    for (*iterations = 0;; ++*iterations) {
        if (energy <= goal) return CSREC_CONVERGED;
        if (*iterations >= limit) return CSREC_STEP_LIMIT;
        if (csrec_pursuit_eager.select(e) < p->stop.min_coefficient) return CSREC_SMALL;
        if (!csrec_pursuit_eager.update(e)) return CSREC_EXHAUSTED;
        double before = energy;
        energy = csrec_pursuit_eager.energy(e);
        if (p->stop.stagnation > 0.0 && energy > keep * before) {
            ++*iterations;
            return CSREC_STAGNANT;
        }
    }
}

/* Values of all items, in the device's order. */
static int64_t list_cpu(const csrec_eager *e, double *value) {
    const csrec_tree *tree = e->tree;
    csrec_tree_walk walk = csrec_tree_walk_start(tree);
    int64_t i = 0;
    int32_t node[64]; /* the last one of each level: among them the parent */
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);) {
        if (block.node < 0) {
            if (!tree->one_sided || !csrec_tree_edge(block.parent, 0)) continue;
            int32_t above = node[block.parent];
            double side = csrec_tree_side(tree->rows[block.first], block.parent);
            value[i++] = (e->S[above] + side * e->D[above]) / 2.0;
            continue;
        }
        node[block.level] = block.node;
        if (tree->one_sided && csrec_tree_edge(block.parent, block.level))
            value[i++] = e->S[block.node];
        value[i++] = e->D[block.node];
    }
    return i;
}

typedef struct run {
    csrec_cuda_block memory; /* rows and samples of all problems */
    csrec_cuda_tree *trees;
    csrec_cuda_batch batch;
} run;

static void start_run(run *g, int64_t count, const problem *p) {
    *g = (run){.trees = check_keep_zeros((size_t)count, sizeof *g->trees)};
    size_t scratch_bytes = 1;
    for (int64_t k = 0; k < count; k++) {
        size_t bytes = csrec_cuda_tree_scratch(p[k].n, p[k].columns);
        scratch_bytes = bytes > scratch_bytes ? bytes : scratch_bytes;
    }
    uint64_t **rows = check_keep_zeros((size_t)count, sizeof *rows);
    double **y = check_keep_zeros((size_t)count, sizeof *y);
    void *scratch = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < count; k++) {
            rows[k] = csrec_cuda_block_take(&g->memory, p[k].n, 8);
            y[k] = csrec_cuda_block_take(&g->memory, p[k].n, 8);
        }
        scratch = csrec_cuda_block_take(&g->memory, (int64_t)scratch_bytes, 1);
        if (!pass) assert_ok(csrec_cuda_block_create(&g->memory, "a test", NULL));
    }
    for (int64_t k = 0; k < count; k++) {
        size_t bytes = (size_t)p[k].n * 8;
        assert_well(csrec_cuda_upload(rows[k], p[k].rows, bytes, NULL, &told));
        assert_well(csrec_cuda_upload(y[k], p[k].y, bytes, NULL, &told));
        assert_well(csrec_cuda_tree_create(p[k].levels, p[k].n, rows[k], p[k].columns, scratch,
                                           NULL, &g->trees[k], &told));
    }
    assert_well(csrec_cuda_batch_create(count, g->trees, 1, NULL, &g->batch, &told));
    for (int64_t k = 0; k < count; k++) {
        csrec_cuda_signal_init(&g->batch.signal[k], p[k].n, p[k].y, &p[k].stop);
        assert_well(csrec_cuda_batch_start(&g->batch, k, y[k], 1, NULL, &told));
    }
    assert_well(csrec_cuda_batch_norms(&g->batch, &told));
    for (int64_t k = 0; k < count; k++)
        csrec_cuda_signal_goal(&g->batch.signal[k], p[k].n, &p[k].stop);
}

static void end_run(run *g) {
    csrec_cuda_batch_destroy(&g->batch);
    csrec_cuda_block_destroy(&g->memory);
}

static int64_t compare(const run *g, int64_t k, const problem *p) {
    CLEARED(csrec_tree) tree = {0};
    csrec_eager *e;
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    assert_ok(csrec_pursuit_eager.create(&tree, p->y, (void **)&e));
    int64_t iterations;
    int32_t outcome = run_cpu(p, e, &iterations);
    const csrec_cuda_signal *s = &g->batch.signal[k];
    const csrec_cuda_tree *t = &g->batch.tree[k];
    if (s->iterations != iterations || s->outcome != outcome)
        print_message("case %lld: n %lld levels %d columns %d: %lld iterations, outcome %d; CPU "
                      "%lld, %d\n",
                      (long long)k, (long long)p->n, p->levels, p->columns,
                      (long long)s->iterations, s->outcome, (long long)iterations, outcome);
    assert_int_equal(s->iterations, iterations);
    assert_int_equal(s->outcome, outcome);
    assert_true(s->total == e->total);
    assert_true(s->x_all == e->x_all);
    assert_true(s->energy_low == (uint64_t)e->energy);
    assert_true(s->energy_high == (int64_t)(e->energy >> 64));
    size_t room = (size_t)(3 * p->n + 1) * sizeof(double);
    OWNED double *value = malloc(room), *on_device = malloc(room);
    int64_t items = list_cpu(e, value);
    assert_int_equal(t->items, items);
    CLEARED(csrec_atoms) a = {0}, b = {0};
    assert_ok(csrec_pursuit_eager.result(e, p->y, &a, NULL));
    assert_ok(csrec_cuda_signal_atoms(t, s, &b, NULL));
    assert_same_atoms(&a, &b);
    OWNED uint32_t *slot = malloc(room);
    OWNED csrec_cuda_record *record = malloc((size_t)(t->tops + 1) * sizeof *record);
    assert_ok(csrec_cuda_download(on_device, s->value, (size_t)items * 8, NULL, NULL));
    assert_ok(csrec_cuda_download(slot, t->slot, (size_t)items * 4, NULL, NULL));
    assert_ok(csrec_cuda_download(record, s->record, (size_t)t->tops * sizeof *record, NULL, NULL));
    for (int64_t i = 0, top = 0; i < items; i++)
        if (!slot[i]) on_device[i] = record[top++].value;
    assert_same_bits(on_device, value, items);
    csrec_pursuit_eager.destroy(e);
    return iterations;
}

static void run_and_compare(int64_t count, const problem *p, int warps) {
    ENDS_BY(end_run) run g = {0};
    start_run(&g, count, p);
    assert_well(csrec_cuda_batch_run(&g.batch, warps, NULL, NULL, &told));
    int64_t iterations = 0, deepest = 0;
    for (int64_t k = 0; k < count; k++) {
        iterations += compare(&g, k, &p[k]);
        if (g.batch.tree[k].stride > deepest) deepest = g.batch.tree[k].stride;
    }
    print_message("%lld signals, %lld iterations equal, paths up to %lld words\n", (long long)count,
                  (long long)iterations, (long long)deepest);
}

static void many(int64_t count, int64_t largest_n, int levels_from, int warps) {
    problem *p = check_keep_zeros((size_t)count, sizeof *p);
    for (int64_t k = 0; k < count; k++) {
        int levels = levels_from + (int)check_below(&seed, 63 - levels_from);
        p[k] = draw(1 + check_below(&seed, largest_n), levels, check_below(&seed, 3) == 0,
                    (int)check_below(&seed, 6), draw_columns(&seed));
        p[k].stop = draw_stop(&seed);
    }
    run_and_compare(count, p, warps);
}

TEST_THERE(small_signals, false) {
    many(1000, 40, 0, 1);
    many(1000, 300, 0, 2);
}

TEST_THERE(medium_signals, false) {
    many(120, 3000, 0, 1);
    many(60, 20000, 14, 4);
    many(60, 20000, 14, 16);
}

/* Each size class: a bucket more or less, a whole path load, several rounds of the block. */
TEST_THERE(sizes, false) {
    static const int64_t n[] = {1,  2,  3,    31,   32,   33,   34,   35,    63,     64,
                                65, 66, 1023, 1024, 1056, 1057, 4096, 16384, 100000, 262144};
    enum { SIZES = sizeof n / sizeof *n };
    problem p[2 * SIZES];
    for (int k = 0; k < 2 * SIZES; k++) {
        p[k] = draw(n[k / 2], 30 + k % 2 * 32, false, k % 3 ? 0 : 2,
                    k % 2 ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED);
        p[k].stop.atoms = 20000;
    }
    run_and_compare(2 * SIZES, p, 0);
}

/* A caterpillar: each sample alone beside all before it, 62 deep, over and over. */
TEST_THERE(deepest_paths, false) {
    problem p[4];
    for (int k = 0; k < 4; k++) {
        int64_t crowd = 300;
        p[k] = (problem){.levels = 62,
                         .columns = k % 2 ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED};
        p[k].rows = check_keep((size_t)(crowd + 62) * sizeof *p[k].rows);
        int64_t n = 0;
        for (; n < crowd; n++) p[k].rows[n] = (uint64_t)n * (1 + (uint64_t)k / 2);
        for (int level = 12; level < 62; level++) p[k].rows[n++] = UINT64_C(1) << level;
        p[k].n = n;
        p[k].y = check_keep((size_t)n * sizeof *p[k].y);
        for (int64_t j = 0; j < n; j++) p[k].y[j] = draw_value(&seed, k < 2 ? 0 : 5, j);
    }
    run_and_compare(4, p, 1);
    run_and_compare(4, p, 8);
}

static bool stop_at_once(int64_t iterations, void *context) {
    (void)iterations;
    ++*(int *)context;
    return true;
}

TEST_THERE(interruption, false) {
    problem p = draw(200000, 40, false, 0, CSREC_COLUMNS_TWO_SIDED);
    ENDS_BY(end_run) run g = {0};
    start_run(&g, 1, &p);
    int calls = 0;
    assert_ok(csrec_cuda_batch_run(&g.batch, 16, stop_at_once, &calls, NULL));
    assert_true(calls >= 1);
    assert_int_equal(g.batch.signal[0].outcome, CSREC_INTERRUPTED);
    p.stop.atoms = g.batch.signal[0].iterations;
    g.batch.signal[0].outcome = CSREC_STEP_LIMIT; /* the same after as many iterations */
    compare(&g, 0, &p);
}
