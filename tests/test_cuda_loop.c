/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's loop on the device: every pick of the reference pursuit against the CPU's, in
 * lock-step; and what csrec_solve makes of it, on an operator of backend cuda, against the eager
 * pursuit on the CPU: picks in their order, atoms, residual and report to the bit. */
#include "device.h"
#include "problem.h"
#include "kernels/haar/reference.h"

SEED(seed);

static void same_results(const problem *p, void *cpu, void *cuda) {
    assert_same_results(p, &csrec_pursuit_reference, cpu, &csrec_cuda_pursuit_reference, cuda);
}

/* The atoms after each of the first picks name the picks in their order. */
static int64_t run_together(const problem *p, int64_t limit) {
    CLEARED(csrec_tree) tree = {0};
    void *cpu, *cuda;
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    assert_ok(csrec_pursuit_reference.create(&tree, p->y, &cpu));
    assert_ok(csrec_cuda_pursuit_reference.create(&tree, p->y, &cuda));
    int64_t steps = 0;
    for (bool more = true; more && steps < limit; steps++) {
        double a = csrec_pursuit_reference.select(cpu);
        double b = csrec_cuda_pursuit_reference.select(cuda);
        assert_true(a == b);
        more = csrec_pursuit_reference.update(cpu);
        assert_int_equal(csrec_cuda_pursuit_reference.update(cuda), more);
        assert_true(csrec_pursuit_reference.energy(cpu) ==
                    csrec_cuda_pursuit_reference.energy(cuda));
        if (steps < 30) same_results(p, cpu, cuda);
    }
    same_results(p, cpu, cuda);
    csrec_pursuit_reference.destroy(cpu);
    csrec_cuda_pursuit_reference.destroy(cuda);
    return steps;
}

TEST_THERE(every_pick_equals_the_cpu, false) {
    int64_t steps = 0;
    for (int k = 0; k < (brief() ? 5 : 300); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, k % 10 ? 60 : 1000, 62);
        steps += run_together(&p, brief() ? 5 : k % 10 ? 3 * p.n + 10 : 50);
    }
    print_message("%lld steps in lock-step\n", (long long)steps);
}

TEST_THERE(large_problems, true) {
    for (int k = 0; k < 4; k++) {
        ENDS_BY(problem_drop)
        problem p =
            problem_create(&seed, k % 2 ? 40 : 19, k < 2 ? 65537 : 100003,
                           k % 2 ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED, k, k == 3);
        run_together(&p, 15);
    }
}

typedef struct found {
    csrec_atoms atoms;
    double *r, history[200];
    csrec_solve_report report;
} found;

static found solve(const problem *p, const char *backend, bool reference, csrec_stop stop) {
    csrec_operator_spec spec = {.name = "haar",
                                .levels = p->levels,
                                .m = p->n,
                                .rows = p->rows,
                                .columns = p->columns,
                                .backend = backend};
    found f = {.r = check_keep((size_t)p->n * sizeof *f.r)};
    const csrec_solve_options options = {
        .stop = stop, .reference = reference, .history = f.history, .history_size = 200};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_ok(csrec_solve(A, p->y, &options, &f.atoms, f.r, &f.report, NULL));
    return f;
}

static csrec_stop draw_stop(void) {
    csrec_stop stop = {.atoms = 1 + check_below(&seed, 200)};
    const int64_t kind = check_below(&seed, 4);
    if (kind == 0) stop.epsilon = 0.9 * check_uniform(&seed);
    if (kind == 1) stop.min_coefficient = 2.0 * check_uniform(&seed);
    if (kind == 2) stop.stagnation = 0.1 * check_uniform(&seed);
    return stop;
}

TEST_THERE(a_solve_equals_the_eager_one, false) {
    for (int k = 0; k < (brief() ? 3 : 60); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, brief() ? 50 : 3000, 62);
        csrec_stop stop = draw_stop();
        found a = solve(&p, "cpu", false, stop), b = solve(&p, "cuda", true, stop);
        assert_int_equal(a.report.iterations, b.report.iterations);
        assert_int_equal(a.report.outcome, b.report.outcome);
        assert_true(a.report.residual == b.report.residual);
        assert_memory_equal(a.history, b.history, (size_t)a.report.iterations * sizeof *a.history);
        assert_memory_equal(a.r, b.r, (size_t)p.n * sizeof *a.r);
        assert_same_atoms(&a.atoms, &b.atoms);
        csrec_atoms_clear(&a.atoms);
        csrec_atoms_clear(&b.atoms);
    }
}
