/* SPDX-License-Identifier: BSD-3-Clause */
/* What fista and bpdn minimise and bound: weights, x >= 0, ||x||_1 <= tau, and rows of X that many
 * right-hand sides share. The conditions of each minimum are computed apart from the solvers. */

#include "l1.h"

/* Where x_e is not 0, <a_e, r> = lambda w_e x_e / |x_e|; elsewhere no larger. Returns lambda. */
static double expect_minimum(problem *p) {
    const double lambda = largest(p, p->r);
    for (int64_t e = 0; e < p->n / p->parts; e++) {
        const double size = entry(p, p->x, e), w = p->weights[e];
        for (int64_t k = 0; k < p->count && size > 0.0; k++)
            for (int i = 0; i < p->parts; i++) {
                const int64_t j = k * p->n + e * p->parts + i;
                if (p->nonnegative) assert_true(p->x[j] >= 0.0);
                if (fabs(p->c[j] - lambda * w * p->x[j] / size) > 1e-5 * lambda * w)
                    fail_msg("entry %d: %g, not %g", (int)e, p->c[j], lambda * w * p->x[j] / size);
            }
    }
    return lambda;
}

/* A problem of some kind: real or complex, weights or none, x >= 0, one right-hand side or more. */
static int draw(problem *p, csrec_setting settings[2]) {
    const int parts = 1 + (int)check_below(&seed, 2);
    const int64_t count = check_below(&seed, 2) ? 1 : 2 + check_below(&seed, 3);
    open_problem(p, PLAIN, parts, count);
    p->nonnegative = parts == 1 && count == 1 && check_below(&seed, 2);
    if (check_below(&seed, 2)) weigh_alike(p);
    settings[0] = (csrec_setting){"joint", count > 1};
    settings[1] = (csrec_setting){"nonnegative", p->nonnegative};
    return 2;
}

enum { ROUNDS = 24 };

TEST(fista_of_all_kinds) {
    for (int round = 0; round < ROUNDS; round++) {
        ENDS_BY(close_problem) problem p = {0};
        csrec_setting settings[3];
        int count = draw(&p, settings);
        const double share = 0.02 + 0.8 * check_uniform(&seed);
        settings[count++] = (csrec_setting){"lambda", share};
        solve(&p, "fista", settings, count, 0.0, round % 2);
        const double lambda = expect_minimum(&p), wanted = share * largest(&p, p.y);
        assert_true(fabs(lambda - wanted) <= 1e-6 * wanted);
    }
}

/* Where rounds on few columns cease to help, they are not the end: that is the minimum, or it is
 * said not to be. */
TEST(hard_columns) {
    for (int round = 0; round < 16; round++) {
        ENDS_BY(close_problem) problem p = {0};
        open_problem(&p, round % 2 ? HARD_ALIKE : HARD_LENGTHS, 1 + (round / 2) % 2, 1);
        weigh_alike(&p);
        const csrec_setting set = {"lambda", pow(10.0, -3.0 - 2.0 * check_uniform(&seed))};
        solve(&p, "fista", &set, 1, 0.0, false);
        const double miss = worst_miss(&p, set.value * largest(&p, p.y));
        if (p.report.outcome == CSREC_CONVERGED && miss > 2e-10)
            fail_msg("round %d misses the minimum by %g lambda", round, miss);
        if (p.report.outcome != CSREC_CONVERGED)
            assert_int_equal(p.report.outcome, CSREC_STEP_LIMIT);
    }
}

TEST(bounds_of_the_residual) {
    for (int round = 0; round < ROUNDS; round++) {
        ENDS_BY(close_problem) problem p = {0};
        csrec_setting settings[2];
        const int count = draw(&p, settings);
        const double epsilon = 0.05 + 0.9 * check_uniform(&seed);
        const bool by_sigma = p.count == 1 && round % 4 < 2;
        if (by_sigma) p.sigma = epsilon * length_of(p.m, 1, p.y) / sqrt((double)p.m);
        solve(&p, "bpdn", settings, count, by_sigma ? 0.0 : epsilon, round % 2);
        const double left = length_of(p.count * p.m, 1, p.r) / length_of(p.count * p.m, 1, p.y);
        if (p.report.outcome == CSREC_CONVERGED) {
            expect_minimum(&p);
            assert_true(fabs(left - epsilon) <= 1e-7 * epsilon);
        } else { /* least squares do not meet it */
            assert_true(left > epsilon);
            assert_true(largest(&p, p.r) < 1e-6 * largest(&p, p.y));
        }
    }
}

TEST(bounds_of_the_norm) {
    for (int round = 0; round < ROUNDS; round++) {
        ENDS_BY(close_problem) problem p = {0};
        csrec_setting settings[3];
        int count = draw(&p, settings);
        settings[count++] = (csrec_setting){"tau", exp(2.0 * check_normal(&seed))};
        solve(&p, "bpdn", settings, count, 0.0, round % 2);
        const double tau = settings[2].value, whole = largest(&p, p.y), lambda = largest(&p, p.r);
        assert_int_equal(p.report.outcome, CSREC_CONVERGED);
        assert_true(norm(&p) <= tau * (1.0 + 1e-6));
        /* Inside of the bound x is one of least squares. */
        if (norm(&p) < tau * (1.0 - 1e-6)) assert_true(lambda <= 1e-6 * whole);
        if (lambda > 1e-6 * whole) expect_minimum(&p);
    }
}

/* max_j |<a_j, r>| / ||a_j||: by how much one column shortens r. */
static double shortens(problem *p) {
    double most = 0.0, *column = check_keep((size_t)p->m * sizeof *column);
    largest(p, p->r);
    for (int64_t j = 0; j < p->n; j++) {
        assert_ok(csrec_operator_column(p->A, j, column));
        most = fmax(most, fabs(p->c[j]) / length_of(p->m, 1, column));
    }
    return most;
}

/* Columns of very different lengths: a result is the minimum, or said not to be. */
TEST(bounds_of_the_norm_of_hard_columns) {
    for (int round = 0; round < 16; round++) {
        ENDS_BY(close_problem) problem p = {0};
        open_problem(&p, HARD_LENGTHS, 1 + round % 2, 1);
        weigh_alike(&p);
        const csrec_setting tau = {"tau", pow(10.0, 3.0 * check_uniform(&seed) - 2.0)};
        solve(&p, "bpdn", &tau, 1, 0.0, false);
        const bool met = norm(&p) >= tau.value * (1.0 - 1e-6);
        if (p.report.outcome == CSREC_CONVERGED) {
            assert_true(norm(&p) <= tau.value * (1.0 + 1e-6));
            if (!met && shortens(&p) > 1e-6 * length_of(p.m, 1, p.y))
                fail_msg("round %d: a column shortens r by %g", round, shortens(&p));
        }
    }
}

/* Near x = 0 the path is a ray, whatever tau: it is met to rounding. */
TEST(small_bounds_of_the_norm) {
    const double least[] = {1e-100, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4};
    for (int round = 0; round < 4 * ROUNDS; round++) {
        ENDS_BY(close_problem) problem p = {0};
        csrec_setting settings[3];
        int count = draw(&p, settings);
        const double tau = least[round % 6] * (0.5 + check_uniform(&seed));
        settings[count++] = (csrec_setting){"tau", tau};
        solve(&p, "bpdn", settings, count, 0.0, round % 2);
        assert_int_equal(p.report.outcome, CSREC_CONVERGED);
        const bool some = largest(&p, p.y) > 0.0; /* x >= 0 may leave 0 alone */
        if (fabs(norm(&p) - some * tau) > 2e-9 * tau) fail_msg("%.12g, not %.12g", norm(&p), tau);
        expect_minimum(&p);
    }
}

/* No column meets y: x = 0 is within every bound of ||x||_1, and the least squares. */
TEST(nothing_to_fit) {
    const double matrix[6] = {0.0}, y[2] = {1.0, -2.0};
    const csrec_setting tau = {"tau", 1.0};
    const csrec_solve_options o = solver_by("bpdn", (csrec_stop){0}, &tau);
    double x[3];
    ENDS_BY(end_operator) csrec_operator *A = dense_operator(NULL, 2, 3, matrix);
    const csrec_solve_report report = solve_for(A, y, &o, x, NULL);
    assert_true(x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0);
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_true(report.residual == 1.0);
}

TEST(refusals) {
    ENDS_BY(close_problem) problem real = {0}, pairs = {0};
    open_problem(&real, PLAIN, 1, 1);
    open_problem(&pairs, PLAIN, 2, 1);
    double *zero = kept_normals(&seed, real.n);
    for (int64_t j = 0; j < real.n; j++) zero[j] = j ? fabs(zero[j]) : 0.0;
    const csrec_setting sign = {"nonnegative", 1}, tau = {"tau", 1}, fit[] = {sign, {"debias", 1}};
    const struct {
        const problem *p;
        csrec_solve_options o;
        const char *word;
    } wrong[] = {{&pairs, {"fista", .settings = &sign, .n_settings = 1}, "nonnegative"},
                 {&real, {"bpdn", .settings = &tau, .n_settings = 1, .stop.epsilon = 0.1}, "tau"},
                 {&real, {"fista", .settings = fit, .n_settings = 2}, "debias"},
                 {&real, {"omp", .weights = real.weights}, "weights"},
                 {&real, {"iht", .settings = &sign, .n_settings = 1}, "nonnegative"},
                 {&real, {"bpdn", .weights = zero}, "weights"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        csrec_atoms atoms = {0};
        csrec_error error = {""};
        const problem *p = wrong[k].p;
        if (!csrec_solve(p->A, p->y, &wrong[k].o, &atoms, NULL, NULL, &error) ||
            !strstr(error.text, wrong[k].word))
            fail_msg("'%s' does not name %s", error.text, wrong[k].word);
    }
}
