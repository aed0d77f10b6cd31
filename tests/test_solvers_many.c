/* SPDX-License-Identifier: BSD-3-Clause */
/* Many right-hand sides on one operator: one at a time, threads, Batch-OMP, interruptions. */
#include "backends.h"
#include "solvers.h"

#include "solver/omp.h"

SEED(seed);

/* Residuals step by step, as far as both went: once r is rounding, one may go on longer. */
static void compare_steps(const double *batch, int64_t n, const double *one, int64_t own,
                          int64_t size) {
    for (int64_t i = 0; i < size; i++) {
        if (i < n && i < own && fabs(batch[i] - one[i]) > 1e-9)
            fail_msg("step %lld: %.12g, not %.12g", (long long)i + 1, batch[i], one[i]);
        if (i >= n) assert_true(batch[i] == -1.0);
    }
}

/* Many right-hand sides equal one at a time, for one thread and several. An entry of x that nearly
 * cancels is known to the rounding of y, not to its own: x_k ||a_k|| to 1e-12 ||y||, which leaves
 * a factor of 1,000 over 2^-52 for sums of 24 terms and the condition of 7 random columns. */
TEST_ON_EACH(many_equal_one_by_one) {
    const char *backend = check_backend(state);
    enum { MANY = 9 };
    ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, backend, 24, 40, 3);
    double y[MANY * 24];
    for (int i = 0; i < MANY * 24; i++) y[i] = check_normal(&seed);
    for (int s = 0; s < 2; s++) {
        enum { STEPS = 5 }; /* fewer than there are iterations: the first ones are kept */
        double history[MANY * STEPS], own[STEPS];
        csrec_solve_options options = {.solver = s ? "mp" : "omp",
                                       .stop = {.atoms = 7},
                                       .history = history,
                                       .history_size = STEPS};
        csrec_atoms atoms[MANY];
        assert_ok(csrec_solve_many(p.A, MANY, y, &options, 1 + 2 * s, atoms, NULL, NULL, NULL));
        options.history = own;
        for (int i = 0; i < MANY; i++) {
            CLEARED(csrec_atoms) one;
            assert_ok(csrec_solve(p.A, y + i * 24, &options, &one, NULL, NULL, NULL));
            if (s) assert_memory_equal(own, history + i * STEPS, sizeof own);
            compare_steps(history + i * STEPS, 7, own, 7, STEPS);
            assert_int_equal(one.n, atoms[i].n);
            for (int64_t k = 0; k < one.n; k++) {
                assert_true(one.column[k] == atoms[i].column[k]);
                double off = fabs(one.coefficient[k] - atoms[i].coefficient[k]);
                assert_true(off * length_of(p.m, p.n, p.matrix + one.column[k]) <=
                            1e-12 * length_of(24, 1, y + i * 24));
            }
            csrec_atoms_clear(&atoms[i]);
        }
    }
}

/* Noise, zeros and the problem's own, of any size. */
static void draw_signals(const dense_problem *p, int64_t count, double *y) {
    for (int64_t k = 0; k < count; k++) {
        double scale = ldexp(1.0, (int)check_below(&seed, 200) - 100);
        for (int64_t i = 0; i < p->m; i++)
            y[k * p->m + i] = scale * (k % 3 == 0   ? check_normal(&seed)
                                       : k % 7 == 0 ? 0.0
                                                    : p->y[i]);
    }
}

/* r is what the atoms leave of y, and what one at a time leaves. */
static void expect_left(const dense_problem *p, const double *y, const csrec_atoms *atoms,
                        const double *r, const double *own) {
    const double length = length_of(p->m, 1, y);
    for (int64_t i = 0; i < p->m; i++) {
        double fit = r[i];
        for (int64_t a = 0; a < atoms->n; a++)
            fit += p->matrix[i * p->n + (int64_t)atoms->column[a]] * atoms->coefficient[a];
        assert_true(fabs(fit - y[i]) <= 1e-12 * length);
        assert_true(fabs(r[i] - own[i]) <= 1e-9 * length);
    }
}

/* Batch-OMP against one at a time: noise, exactly sparse signals (whose residual goes to 0), zeros,
 * signals of any size, repeated columns, every stopping rule. Near ties may be picked differently
 * where columns repeat, so what is compared is what both leave of y. */
TEST_ON_EACH(batches_equal_one_by_one) {
    const char *backend = check_backend(state);
    enum { COUNT = 60 };
    int first = (int)check_below(&seed, 60), count = getenv("CSREC_TEST_BRIEF") ? 3 : 40;
    for (int t = first; t < first + count; t++) {
        bool large = t % 13 == 7; /* several panels and pieces of a product */
        int64_t m = large ? 500 + check_below(&seed, 1200) : 40 + check_below(&seed, 60);
        ENDS_BY(drop_dense)
        dense_problem p =
            draw_dense(&seed, backend, m, (large ? 240 : 60) + check_below(&seed, 90), 5);
        if (t % 4 == 0) /* column 1 a multiple of column 0 */
            for (int64_t i = 0; i < p.m; i++) p.matrix[i * p.n + 1] = -3.0 * p.matrix[i * p.n];
        csrec_operator_destroy(p.A);
        p.A = dense_operator(backend, p.m, p.n, p.matrix);
        size_t size = (size_t)(COUNT * p.m);
        OWNED double *y = malloc(size * sizeof *y), *r = malloc(size * sizeof *r);
        draw_signals(&p, COUNT, y);
        csrec_solve_options options = {.solver = "omp", .stop = {.atoms = 4 + t % 13}};
        if (t % 5 == 1) options.stop.epsilon = pow(10.0, -10.0 * check_uniform(&seed));
        if (t % 5 == 2) options.stop.stagnation = 0.05;
        if (t % 5 == 3) options.stop.min_coefficient = 0.3;
        if (t % 5 == 4) options.stop.sigma = 0.1;
        csrec_atoms atoms[COUNT];
        csrec_solve_report reports[COUNT];
        csrec_call call;
        csrec_many job = {p.A, COUNT, y, &options, 1 + t % 3, atoms, r, reports, &call};
        csrec_call_begin(&call, NULL, NULL, (csrec_progress){0});
        /* Room for more iterations than there are: what is past them stays. */
        enum { STEPS = 18 };
        double history[COUNT * STEPS], steps[STEPS];
        for (int k = 0; k < COUNT * STEPS; k++) history[k] = -1.0;
        memset(atoms, 0, sizeof atoms);
        options.history = t % 2 || strcmp(backend, "cpu") == 0 ? history : NULL;
        options.history_size = STEPS;
        assert_ok(csrec_omp_batch(&job));
        csrec_call_end(&call);
        csrec_solve_options single = options;
        single.history = options.history || t % 3 == 0 ? steps : NULL;
        for (int64_t k = 0; k < COUNT; k++) {
            csrec_solve_report one;
            double own[1700];
            assert_ok(csrec_solve(p.A, y + k * p.m, &single, NULL, own, &one, NULL));
            if (options.history)
                compare_steps(history + k * STEPS, reports[k].iterations, steps, one.iterations,
                              STEPS);
            /* Once r is rounding, what is picked and when it ends is too. */
            bool exact = one.residual < 1e-12;
            if (!exact) assert_int_equal(reports[k].outcome, one.outcome);
            if (!exact) assert_int_equal(reports[k].iterations, one.iterations);
            assert_true(fabs(reports[k].residual - one.residual) <= 1e-9);
            expect_left(&p, y + k * p.m, &atoms[k], r + k * p.m, own);
            csrec_atoms_clear(&atoms[k]);
        }
    }
}

static bool stop_at_once(const csrec_progress *progress, void *context) {
    (*(int *)context)++;
    return progress->done > 0;
}

/* Whoever asks to stop is heard: what was not solved is x = 0, and says so. */
TEST(many_can_be_interrupted) {
    ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, "cpu", 24, 40, 3);
    enum { COUNT = 50 };
    double y[COUNT * 24], r[COUNT * 24];
    for (int i = 0; i < COUNT * 24; i++) y[i] = check_normal(&seed);
    int calls = 0;
    csrec_solve_options options = {
        .solver = "romp", .stop = {.atoms = 3}, .progress = stop_at_once, .context = &calls};
    csrec_atoms atoms[COUNT];
    csrec_solve_report reports[COUNT];
    assert_ok(csrec_solve_many(p.A, COUNT, y, &options, 1, atoms, r, reports, NULL));
    assert_true(calls > 0);
    for (int k = 1; k < COUNT; k++) {
        assert_int_equal(reports[k].outcome, CSREC_INTERRUPTED);
        assert_int_equal(atoms[k].n, 0);
        for (int i = 0; i < 24; i++) assert_true(r[k * 24 + i] == y[k * 24 + i]);
        csrec_atoms_clear(&atoms[k]);
    }
    assert_true(atoms[0].n > 0);
    csrec_atoms_clear(&atoms[0]);
    double history[4] = {0};
    options.history = history;
    options.history_size = -1;
    assert_refused(csrec_solve_many(p.A, COUNT, y, &options, 1, NULL, NULL, NULL, &told),
                   CSREC_ARGUMENT, "history_size");
}
