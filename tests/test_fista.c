/* SPDX-License-Identifier: BSD-3-Clause */
/* The l1 problem on stored matrices, which fista solves on a working set of columns: its optimality
 * conditions over all columns; for columns alike, of zeros and of different lengths, any lambda,
 * wide and tall matrices. */

#include "l1.h"

/* y of some columns and noise. */
static void draw_problem(problem *p, int64_t m, int64_t n, int kind) {
    open_sized(p, kind, 1, m, n, 1);
    weigh_alike(p);
    double *column = check_keep((size_t)m * sizeof *column);
    for (int64_t i = 0; i < m; i++) p->y[i] *= 0.1;
    for (int64_t k = 0; k < 1 + m / 10; k++) {
        assert_ok(csrec_operator_column(p->A, check_below(&seed, n), column));
        const double x = check_below(&seed, 2) ? 1.0 : -1.5;
        for (int64_t i = 0; i < m; i++) p->y[i] += x * column[i];
    }
}

/* lambda from near its largest, where x has an entry or two, to a thousandth. */
static double draw_share(void) {
    return check_below(&seed, 6) == 0 ? 1.0 - 0.01 * check_uniform(&seed)
                                      : pow(10.0, -3.0 * check_uniform(&seed));
}

/* To 2e-10 lambda, which docs/solvers.md promises. */
static void expect_conditions(problem *p, int kind, double share) {
    const double miss = worst_miss(p, share * largest(p, p->y));
    if (miss > 2e-10)
        fail_msg("%d x %d, kind %d, lambda %g: misses by %g of it", (int)p->m, (int)p->n, kind,
                 share, miss);
}

static void check_solve(int64_t m, int64_t n, int kind) {
    ENDS_BY(close_problem) problem p = {0};
    const csrec_setting set = {"lambda", draw_share()};
    draw_problem(&p, m, n, kind);
    solve(&p, "fista", &set, 1, 0.0, false);
    expect_conditions(&p, kind, set.value);
}

TEST(minima_of_any_matrix) {
    for (int t = 0; t < 60; t++)
        check_solve(1 + check_below(&seed, 40), 1 + check_below(&seed, 100), t % KINDS);
}

/* Large enough for bounds in place of products, and for columns to leave the working set. */
TEST(minima_behind_bounds) {
    int count = getenv("CSREC_TEST_BRIEF") ? 1 : 3;
    for (int t = 0; t < count * KINDS; t++)
        check_solve(60 + check_below(&seed, 40), 300 + check_below(&seed, 200), t % KINDS);
}

static void solve_from(problem *p, const csrec_setting *set, const csrec_atoms *from,
                       csrec_atoms *atoms, csrec_solve_report *report) {
    csrec_solve_options options = solver_by("fista", (csrec_stop){.atoms = 10000}, set);
    options.start = from;
    assert_well(csrec_solve(p->A, p->y, &options, atoms, p->r, report, &told));
    memset(p->x, 0, (size_t)p->n * sizeof *p->x);
    for (int64_t i = 0; i < atoms->n; i++) p->x[atoms->column[i]] = atoms->coefficient[i];
}

/* Any start satisfies the same conditions; a start at the minimum ends at once. */
TEST(starts_lead_to_the_minimum) {
    for (int t = 0; t < 30; t++) {
        ENDS_BY(close_problem) problem p = {0};
        CLEARED(csrec_atoms) found = {0}, again = {0};
        csrec_solve_report report;
        const csrec_setting set = {"lambda", draw_share()};
        uint64_t column[128];
        double coefficient[128];
        csrec_atoms from = {.column = column, .coefficient = coefficient};
        draw_problem(&p, 10 + check_below(&seed, 30), 20 + check_below(&seed, 60), t % KINDS);
        for (int64_t j = 0; j < p.n; j++) {
            if (check_below(&seed, 4)) continue;
            column[from.n] = (uint64_t)j;
            coefficient[from.n++] = check_normal(&seed);
        }
        solve_from(&p, &set, &from, &found, &report);
        expect_conditions(&p, t % KINDS, set.value);
        solve_from(&p, &set, &found, &again, &report);
        expect_conditions(&p, t % KINDS, set.value);
        if (report.iterations > 3)
            fail_msg("kind %d, lambda %g: %d rounds from the minimum", t % KINDS, set.value,
                     (int)report.iterations);
    }
}

/* Every stop applies between rounds: a residual bound, an iteration limit, a request. */
TEST(stops_are_heeded) {
    ENDS_BY(close_problem) problem p = {0};
    const csrec_setting set = {"lambda", 1e-3};
    double history[8];
    int calls = 0;
    csrec_solve_options options = solver_by("fista", (csrec_stop){.epsilon = 0.3}, &set);
    csrec_solve_report report;
    options.history = history;
    options.history_size = 8;
    draw_problem(&p, 100, 400, PLAIN);
    assert_ok(csrec_solve(p.A, p.y, &options, NULL, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_true(report.residual <= 0.3 && history[report.iterations - 1] == report.residual);
    options.stop = (csrec_stop){.atoms = 2};
    assert_ok(csrec_solve(p.A, p.y, &options, NULL, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_STEP_LIMIT);
    assert_int_equal(report.iterations, 2);
    options.stop = (csrec_stop){0};
    report_to(&options, stop_by_count, &calls);
    assert_ok(csrec_solve(p.A, p.y, &options, NULL, NULL, &report, NULL));
    assert_true(report.outcome == (calls < 0 ? CSREC_INTERRUPTED : CSREC_CONVERGED));
}

/* At the largest lambda x = 0; with y = 0 all solvers have it (test_contracts_run.c). */
TEST(nothing_where_nothing_is) {
    ENDS_BY(close_problem) problem p = {0};
    CLEARED(csrec_atoms) atoms = {0};
    const csrec_setting set = {"lambda", 1.0};
    draw_problem(&p, 30, 50, PLAIN);
    solve_from(&p, &set, NULL, &atoms, NULL);
    assert_int_equal(atoms.n, 0);
    assert_memory_equal(p.r, p.y, (size_t)p.m * sizeof *p.r);
}
