/* SPDX-License-Identifier: BSD-3-Clause */
/* The speculative pursuit on the device against the eager one: the result to the bit, and the
 * stopping rules of csrec_solve. */
#include "base/stop.h"
#include "device.h"
#include "problem.h"
#include "kernels/haar/speculate.h"

SEED(seed);

static csrec_speculate_problem speculate_problem(const problem *p) {
    return (csrec_speculate_problem){
        .levels = p->levels, .n = p->n, .rows = p->rows, .y = p->y, .columns = p->columns};
}

/* Atoms and report of csrec_solve; the residual follows from the atoms. */
static void same_result(const problem *p, const csrec_speculate_options *options) {
    csrec_operator_spec spec = {
        .name = "haar", .levels = p->levels, .m = p->n, .rows = p->rows, .columns = p->columns};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    csrec_solve_options solve = {.stop = options->stop};
    CLEARED(csrec_atoms) a = {0}, b = {0};
    csrec_solve_report expected;
    csrec_speculate_report report;
    assert_ok(csrec_solve(A, p->y, &solve, &a, NULL, &expected, NULL));
    csrec_speculate_problem q = speculate_problem(p);
    assert_well(csrec_speculate_solve(&q, options, &b, &report, &told));
    assert_int_equal(expected.iterations, report.solve.iterations);
    assert_int_equal(expected.outcome,
                     csrec_stop_verdict(&options->stop, p->n, report.solve.residual,
                                        report.solve.outcome)); /* as those who call it do */
    assert_true(expected.residual == report.solve.residual);
    assert_same_atoms(&a, &b);
}

static csrec_stop random_stop(int64_t n) {
    csrec_stop stop = {0};
    const int64_t kind = check_below(&seed, 4); /* 3: until nothing is left to gain */
    if (kind == 0) stop.atoms = 1 + check_below(&seed, 2 * n);
    if (kind == 1) stop.epsilon = 0.9 * check_uniform(&seed);
    if (kind == 2) stop.min_coefficient = 2.0 * check_uniform(&seed);
    return stop;
}

static void many_cases(int cases, int64_t largest_n) {
    for (int k = 0; k < cases; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, largest_n, 62);
        csrec_speculate_options options = {.stop = random_stop(p.n)};
        options.subtree = 1 + (int32_t)check_below(&seed, 1 + check_below(&seed, 2 * largest_n));
        same_result(&p, &options);
    }
}

TEST_THERE(speculation_equals_eager, false) {
    many_cases(brief() ? 10 : 800, 60);
    many_cases(brief() ? 2 : 80, brief() ? 300 : 3000);
}

/* Sizes that fill the device, skewed ones too. */
TEST_THERE(large_cases, true) {
    const int64_t sizes[] = {10007, 65536, 300001, 1400003};
    for (int k = 0; k < 4; k++)
        for (int skew = 0; skew < 2; skew++)
            for (int paper = 0; paper < 2; paper++) {
                int kind = (int)check_below(&seed, PROBLEM_KINDS);
                ENDS_BY(problem_drop)
                problem p = problem_create(&seed, skew ? 50 : 23, sizes[k],
                                           paper ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED,
                                           kind, skew);
                same_result(&p, &(csrec_speculate_options){.stop = {.atoms = sizes[k] / 8}});
            }
}

/* An interruption is an outcome, and what was found so far is a correct beginning. */
TEST_THERE(interruption, true) {
    ENDS_BY(problem_drop)
    problem p = problem_create(&seed, 22, 1 << 20, CSREC_COLUMNS_TWO_SIDED, 0, 0);
    int calls = 0;
    csrec_speculate_options options = {.progress = stop_by_count, .context = &calls};
    csrec_speculate_problem q = speculate_problem(&p);
    csrec_speculate_report report;
    assert_ok(csrec_speculate_solve(&q, &options, NULL, &report, NULL));
    assert_true(calls < 0);
    assert_int_equal(report.solve.outcome, CSREC_INTERRUPTED);
    assert_true(report.solve.iterations < 4 << 20);
    options = (csrec_speculate_options){.stop = {.atoms = report.solve.iterations}};
    if (options.stop.atoms > 0 && options.stop.atoms < 200000) same_result(&p, &options);
}

/* What does not fit is refused with the numbers, and the device works on. */
TEST_THERE(too_large, false) {
    uint64_t row = 0;
    double y = 1.0;
    csrec_speculate_problem q = {
        .levels = 60, .n = INT64_C(1) << 31, .rows = &row, .y = &y, .columns = CSREC_COLUMNS_PAPER};
    csrec_speculate_options options = {0};
    assert_int_equal(csrec_speculate_solve(&q, &options, NULL, NULL, NULL), CSREC_ARGUMENT);
    q.n = INT32_MAX;
    assert_refused(csrec_speculate_solve(&q, &options, NULL, NULL, &told), CSREC_MEMORY, "bytes");
    ENDS_BY(problem_drop) problem p = problem_create(&seed, 10, 100, CSREC_COLUMNS_PAPER, 0, 0);
    same_result(&p, &options);
}
