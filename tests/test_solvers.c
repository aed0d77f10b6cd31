/* SPDX-License-Identifier: BSD-3-Clause */
/* The solver family on stored and procedural operators: exact recovery inside the guarantees, OMP
 * against a plain OMP with its own least squares, the l1 solver against its optimality conditions,
 * devices against the CPU. */
#include "backends.h"
#include "operators.h"
#include "solvers.h"

SEED(seed);

static const char *const exact_solvers[] = {"omp", "romp", "cosamp", "iht", "htp"};

TEST_ON_EACH(sparse_signals_are_recovered_exactly) {
    const char *backend = check_backend(state);
    for (int s = 0; s < 5; s++)
        for (int k = 0; k < cases(backend, 20); k++) {
            /* m = 16 k: deep inside the region where each succeeds with overwhelming odds. */
            dense_problem p = draw_dense(&seed, backend, 96, 160, 1 + check_below(&seed, 5));
            csrec_setting set = {"k", (double)p.k};
            csrec_solve_options options = {.solver = exact_solvers[s],
                                           .stop = {.epsilon = 1e-12, .atoms = 90},
                                           .settings = &set,
                                           .n_settings = s > 0};
            csrec_atoms atoms;
            csrec_solve_report report;
            assert_ok(csrec_solve(p.A, p.y, &options, &atoms, NULL, &report, NULL));
            double *x = calloc((size_t)p.n, sizeof *x), most = 0.0;
            for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
            for (int64_t j = 0; j < p.n; j++) most = fmax(most, fabs(p.x[j]));
            for (int64_t j = 0; j < p.n; j++)
                if (!(fabs(x[j] - p.x[j]) <= 1e-10 * most)) {
                    print_message("%s: x[%d] = %g for %g (k = %d, %s after %d)\n", exact_solvers[s],
                                  (int)j, x[j], p.x[j], (int)p.k,
                                  csrec_outcome_text(report.outcome), (int)report.iterations);
                    fail();
                }
            free(x);
            csrec_atoms_clear(&atoms);
            drop_dense(&p);
        }
}

TEST_ON_EACH(omp_equals_plain_omp) {
    const char *backend = check_backend(state);
    for (int t = 0; t < cases(backend, 300); t++) {
        dense_problem p =
            draw_dense(&seed, backend, 20 + check_below(&seed, 20), 30 + check_below(&seed, 50), 3);
        for (int64_t i = 0; i < p.m; i++) p.y[i] = check_normal(&seed);
        check_omp(p.A, p.m, p.n, p.matrix, p.y, 1 + check_below(&seed, 12));
        drop_dense(&p);
    }
}

/* The k largest |v_j|. */
static void choose_largest(int64_t n, const double *v, int64_t k, uint64_t *S) {
    for (int64_t found = 0; found < k; found++) {
        int64_t best = -1;
        for (int64_t j = 0; j < n; j++) {
            bool taken = false;
            for (int64_t i = 0; i < found; i++) taken = taken || S[i] == (uint64_t)j;
            if (!taken && (best < 0 || fabs(v[j]) > fabs(v[best]))) best = j;
        }
        S[found] = (uint64_t)best;
    }
}

/* Where htp ends, its step with mu = 1 (Foucart 2011) leads to no fit with a shorter residual; its
 * x is the least squares of its support. Tight problems, of which some end early. */
TEST_ON("cpu", htp_ends_where_its_step_ends) {
    const char *backend = check_backend(state);
    for (int t = 0; t < cases(backend, 400); t++) {
        dense_problem p = draw_dense(&seed, backend, 30, 60, 3 + check_below(&seed, 5));
        csrec_setting set = {"k", (double)p.k};
        csrec_solve_options options = {
            .solver = "htp", .stop = {.epsilon = 1e-12}, .settings = &set, .n_settings = 1};
        csrec_atoms atoms;
        double r[30], other[30], v[60] = {0};
        uint64_t S[60];
        assert_ok(csrec_solve(p.A, p.y, &options, &atoms, r, NULL, NULL));
        const double size = length_of(p.m, 1, p.y), left = length_of(p.m, 1, r);
        plain_residual(p.m, p.n, p.matrix, p.y, atoms.n, atoms.column, other);
        assert_true(fabs(length_of(p.m, 1, other) - left) <= 1e-9 * size);
        for (int64_t i = 0; i < atoms.n; i++) v[atoms.column[i]] = atoms.coefficient[i];
        for (int64_t j = 0; j < p.n; j++) {
            double norm = length_of(p.m, p.n, p.matrix + j), c = 0.0;
            for (int64_t i = 0; i < p.m; i++) c += p.matrix[i * p.n + j] * r[i];
            v[j] = v[j] * norm + c / norm;
        }
        choose_largest(p.n, v, p.k, S);
        plain_residual(p.m, p.n, p.matrix, p.y, p.k, S, other);
        if (length_of(p.m, 1, other) < left - 1e-9 * size)
            fail_msg("htp, k = %d: ends at %g, and a step leads to %g", (int)p.k, left,
                     length_of(p.m, 1, other));
        csrec_atoms_clear(&atoms);
        drop_dense(&p);
    }
}

/* At the minimum: |<a_j, r>| <= lambda, and = lambda with the sign of x_j where x_j is not 0. */
/* Steps before the end fit roughly; what is given is fitted to rounding, wherever it ends. */
TEST_ON("cpu", what_ends_is_fitted_exactly) {
    static const char *const solvers[] = {"htp", "romp"};
    const char *backend = *state;
    for (int c = 0; c < cases(backend, 30); c++) {
        dense_problem p = draw_dense(&seed, backend, 80, 120, 12);
        const csrec_setting k = {"k", 20};
        double r[80], size = 0.0;
        for (int i = 0; i < p.m; i++) p.y[i] += check_normal(&seed);
        for (int i = 0; i < p.m; i++) size += p.y[i] * p.y[i];
        for (int way = 0; way < 6; way++) {
            const csrec_solve_options options = {
                .solver = solvers[way % 2],
                .settings = &k,
                .n_settings = 1,
                .stop = {.atoms = way / 2, .epsilon = way / 2 == 2 ? 0.5 : 0.0}};
            csrec_atoms atoms = {0};
            assert_ok(csrec_solve(p.A, p.y, &options, &atoms, r, NULL, NULL));
            for (int64_t i = 0; i < atoms.n; i++)
                if (correlation(p.m, p.n, p.matrix, r, (int64_t)atoms.column[i]) >
                    1e-10 * sqrt(size))
                    fail_msg("%s, way %d: a gradient on its columns", options.solver, way);
            csrec_atoms_clear(&atoms);
        }
        drop_dense(&p);
    }
}

TEST_ON("cpu", fista_meets_its_optimality_conditions) {
    const char *backend = check_backend(state);
    for (int t = 0; t < 30; t++) {
        dense_problem p = draw_dense(&seed, backend, 30, 60, 5);
        for (int64_t i = 0; i < p.m; i++) p.y[i] += 0.05 * check_normal(&seed);
        csrec_setting set = {"lambda", 0.05 + 0.3 * check_uniform(&seed)};
        csrec_solve_options options = {
            .solver = "fista", .stop = {.atoms = 200000}, .settings = &set, .n_settings = 1};
        csrec_atoms atoms;
        double r[30], largest = 0.0, *c = calloc((size_t)p.n, sizeof *c);
        OWNED double *x = calloc((size_t)p.n, sizeof *x);
        assert_ok(csrec_solve(p.A, p.y, &options, &atoms, r, NULL, NULL));
        for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
        for (int64_t j = 0; j < p.n; j++) {
            double at_0 = 0.0;
            for (int64_t i = 0; i < p.m; i++) {
                at_0 += p.matrix[i * p.n + j] * p.y[i];
                c[j] += p.matrix[i * p.n + j] * r[i];
            }
            largest = fmax(largest, fabs(at_0));
        }
        double lambda = set.value * largest;
        /* x is still to 13 digits; columns differ in length by 100, so c moves 10^4 times that. */
        for (int64_t j = 0; j < p.n; j++) {
            assert_true(fabs(c[j]) <= lambda * (1.0 + 1e-6));
            if (x[j] != 0.0) assert_true(fabs(c[j] - copysign(lambda, x[j])) <= 1e-6 * lambda);
        }
        free(c);
        csrec_atoms_clear(&atoms);
        drop_dense(&p);
    }
}

TEST_ON("cpu", wrong_settings_are_refused) {
    const char *backend = check_backend(state);
    dense_problem p = draw_dense(&seed, backend, 10, 20, 2);
    csrec_error error;
    csrec_setting set = {"k", 11.0};
    csrec_solve_options options = {.solver = "cosamp", .settings = &set, .n_settings = 1};
    assert_int_equal(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &error), CSREC_ARGUMENT);
    set.name = "step";
    assert_int_equal(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &error), CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "step"));
    options = (csrec_solve_options){.solver = "omp", .stop = {.atoms = 11}};
    assert_int_equal(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &error), CSREC_ARGUMENT);
    options = (csrec_solve_options){.solver = "fista", .stop = {.min_coefficient = 1.0}};
    assert_int_equal(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &error), CSREC_UNSUPPORTED);
    drop_dense(&p);
}

/* Each with one line that says what is wrong, and nothing delivered. */
TEST_ON("cpu", unusable_problems_are_refused) {
    double matrix[6] = {1, 2, 3, 4, 5, 6}, y[3] = {1, 2, 3};
    csrec_operator *A = NULL;
    csrec_error error;
    csrec_operator_spec spec = {.name = "dense", .m = 3, .n = 2, .matrix = matrix};
    for (int bad = 0; bad < 2; bad++) {
        matrix[3] = bad ? INFINITY : NAN;
        assert_int_equal(csrec_operator_create(&spec, &A, &error), CSREC_DATA);
        assert_non_null(strstr(error.text, "(1, 1)"));
        assert_null(A);
    }
    matrix[3] = 4;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    csrec_solve_options options = {.solver = "omp", .stop = {.atoms = 3}};
    assert_int_equal(csrec_solve(A, y, &options, NULL, NULL, NULL, &error), CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "2 columns"));
    assert_int_equal(csrec_solve_many(A, 1, y, &options, 1, NULL, NULL, NULL, &error),
                     CSREC_ARGUMENT);
    options.stop.atoms = 2;
    y[1] = NAN;
    assert_int_equal(csrec_solve(A, y, &options, NULL, NULL, NULL, &error), CSREC_DATA);
    assert_int_equal(csrec_solve_many(A, 1, y, &options, 1, NULL, NULL, NULL, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "y[1]"));
    csrec_operator_destroy(A);
}

/* Columns of zeros are never picked. */
TEST_ON_EACH(columns_of_zeros_are_left_alone) {
    const char *backend = check_backend(state);
    for (int s = 0; s < 5; s++) {
        dense_problem p = draw_dense(&seed, backend, 30, 50, 3);
        for (int64_t i = 0; i < p.m; i++) p.matrix[i * p.n] = p.matrix[i * p.n + 7] = 0.0;
        csrec_operator_destroy(p.A);
        csrec_operator_spec spec = {
            .name = "dense", .m = p.m, .n = p.n, .matrix = p.matrix, .backend = backend};
        assert_ok(csrec_operator_create(&spec, &p.A, NULL));
        csrec_setting set = {"k", 4};
        csrec_solve_options options = {.solver = exact_solvers[s],
                                       .stop = {.atoms = 12},
                                       .settings = &set,
                                       .n_settings = s > 0};
        csrec_atoms atoms;
        csrec_solve_report report;
        assert_ok(csrec_solve(p.A, p.y, &options, &atoms, NULL, &report, NULL));
        assert_true(isfinite(report.residual));
        assert_false(holds(&atoms, 0));
        assert_false(holds(&atoms, 7));
        csrec_atoms_clear(&atoms);
        drop_dense(&p);
    }
}

/* A solver on an operator and a backend: ||y - A x|| / ||y|| and x. */
static double solve_there(const drawn *d, const char *there, const char *solver, const double *y,
                          double *x) {
    csrec_operator_spec spec = d->spec;
    csrec_operator *A;
    csrec_solve_options options = {.solver = solver, .stop = {.atoms = d->m < d->n ? d->m : d->n}};
    if (options.stop.atoms > 6) options.stop.atoms = 6;
    csrec_setting set = {"k", (double)(options.stop.atoms + 1) / 2};
    if (strcmp(solver, "mp") && strcmp(solver, "omp") && strcmp(solver, "fista")) {
        options.settings = &set;
        options.n_settings = 1;
        set.value = floor(set.value);
    }
    csrec_atoms atoms;
    csrec_solve_report report;
    csrec_error error;
    spec.shape = &d->shape;
    spec.backend = there;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    if (csrec_solve(A, y, &options, &atoms, NULL, &report, &error))
        fail_msg("%s, %s on %s: %s", d->text, solver, there, error.text);
    memset(x, 0, (size_t)d->n * sizeof *x);
    for (int64_t i = 0; i < atoms.n; i++)
        if (atoms.column[i] < (uint64_t)d->n) x[atoms.column[i]] = atoms.coefficient[i];
    csrec_atoms_clear(&atoms);
    csrec_operator_destroy(A);
    return report.residual;
}

/* Every solver on every operator whose device products are the CPU's to the bit: the same x. */
TEST_ON("cuda", devices_solve_as_the_cpu) {
    static const char *const solvers[] = {"mp", "omp", "romp", "cosamp", "iht", "htp", "fista"};
    static const char *const bases[] = {"dct", "wavelet", "mask"};
    const char *backend = check_backend(state);
    for (int b = 0; b < 3; b++)
        for (int s = 0; s < 7; s++)
            for (int k = 0; k < cases(backend, 30); k++) {
                drawn d = draw_operator(&seed, bases[b], "cpu");
                double *y = malloc((size_t)d.m * sizeof *y), *x[2];
                for (int64_t i = 0; i < d.m; i++) y[i] = check_normal(&seed);
                double residual[2];
                for (int i = 0; i < 2; i++) {
                    x[i] = malloc((size_t)d.n * sizeof **x);
                    residual[i] = solve_there(&d, i ? backend : "cpu", solvers[s], y, x[i]);
                }
                if (residual[0] != residual[1])
                    fail_msg("%s, %s: residual %.17g, not %.17g", d.text, solvers[s], residual[1],
                             residual[0]);
                for (int64_t j = 0; j < d.n; j++) assert_true(x[0][j] == x[1][j]);
                free(x[0]);
                free(x[1]);
                free(y);
                drop_drawn(&d);
            }
}

/* Products to rounding: of atoms that meet the same sample alone either may be picked, which leaves
 * the residual as it is. Six steps with sums of some hundred products of order 1: 1e-12, and a
 * thousandfold for systems of neighbouring atoms, which are much alike. */
TEST_ON("cuda", devices_solve_dictionaries_to_rounding) {
    static const char *const solvers[] = {"mp", "omp", "fista"};
    const char *backend = check_backend(state);
    for (int s = 0; s < 3; s++)
        for (int k = 0; k < cases(backend, 100); k++) {
            drawn d = draw_operator(&seed, "conv", "cpu");
            double *y = malloc((size_t)d.m * sizeof *y), residual[2];
            OWNED double *x = malloc((size_t)d.n * sizeof *x);
            for (int64_t i = 0; i < d.m; i++) y[i] = check_normal(&seed);
            for (int i = 0; i < 2; i++)
                residual[i] = solve_there(&d, i ? backend : "cpu", solvers[s], y, x);
            if (!(fabs(residual[0] - residual[1]) <= 1e-9))
                fail_msg("%s, %s: residual %.17g, not %.17g", d.text, solvers[s], residual[1],
                         residual[0]);
            free(y);
            drop_drawn(&d);
        }
}
