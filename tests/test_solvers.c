/* SPDX-License-Identifier: BSD-3-Clause */
/* The solver family on stored and procedural operators: OMP against a plain OMP with its own least
 * squares, devices against the CPU. */
#include "backends.h"
#include "operators.h"
#include "solvers.h"

SEED(seed);

static const char *const pursuits[] = {"omp", "romp", "cosamp", "iht", "htp"};

TEST_ON_EACH(omp_equals_plain_omp) {
    const char *backend = check_backend(state);
    for (int t = 0; t < cases(backend, 300); t++) {
        ENDS_BY(drop_dense)
        dense_problem p =
            draw_dense(&seed, backend, 20 + check_below(&seed, 20), 30 + check_below(&seed, 50), 3);
        for (int64_t i = 0; i < p.m; i++) p.y[i] = check_normal(&seed);
        check_omp(p.A, p.m, p.n, p.matrix, p.y, 1 + check_below(&seed, 12));
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
        ENDS_BY(drop_dense)
        dense_problem p = draw_dense(&seed, backend, 30, 60, 3 + check_below(&seed, 5));
        const csrec_setting set = {"k", (double)p.k};
        double r[30], other[30], v[60];
        uint64_t S[60];
        int64_t k = 0;
        solve_dense(&p, solver_by("htp", (csrec_stop){.epsilon = 1e-12}, &set), v, r);
        for (int64_t j = 0; j < p.n; j++)
            if (v[j] != 0.0) S[k++] = (uint64_t)j;
        const double size = length_of(p.m, 1, p.y), left = length_of(p.m, 1, r);
        plain_residual(p.m, p.n, p.matrix, p.y, k, S, other);
        assert_true(fabs(length_of(p.m, 1, other) - left) <= 1e-9 * size);
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
    }
}

/* Steps before the end fit roughly; what is given is fitted to rounding, wherever it ends. */
TEST_ON("cpu", what_ends_is_fitted_exactly) {
    static const char *const solvers[] = {"htp", "romp"};
    const char *backend = *state;
    for (int c = 0; c < cases(backend, 30); c++) {
        ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, backend, 80, 120, 12);
        const csrec_setting k = {"k", 20};
        double r[80], x[120];
        for (int i = 0; i < p.m; i++) p.y[i] += check_normal(&seed);
        const double most = 1e-10 * length_of(p.m, 1, p.y);
        for (int way = 0; way < 6; way++) {
            const csrec_stop stop = {.atoms = way / 2, .epsilon = way / 2 == 2 ? 0.5 : 0.0};
            solve_dense(&p, solver_by(solvers[way % 2], stop, &k), x, r);
            for (int64_t j = 0; j < p.n; j++)
                if (x[j] != 0.0 && correlation(p.m, p.n, p.matrix, r, j) > most)
                    fail_msg("%s, way %d: a gradient on its columns", solvers[way % 2], way);
        }
    }
}

TEST_ON("cpu", wrong_settings_are_refused) {
    ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, check_backend(state), 10, 20, 2);
    csrec_setting set = {"k", 11.0};
    csrec_solve_options options = {.solver = "cosamp", .settings = &set, .n_settings = 1};
    assert_fails(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT);
    set.name = "step";
    assert_refused(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT,
                   "step");
    options = (csrec_solve_options){.solver = "omp", .stop = {.atoms = 11}};
    assert_fails(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT);
    options = (csrec_solve_options){.solver = "fista", .stop = {.min_coefficient = 1.0}};
    assert_fails(csrec_solve(p.A, p.y, &options, NULL, NULL, NULL, &told), CSREC_UNSUPPORTED);
}

/* Each with one line that says what is wrong, and nothing delivered. */
TEST_ON("cpu", unusable_problems_are_refused) {
    double matrix[6] = {1, 2, 3, 4, 5, 6}, y[3] = {1, 2, 3};
    ENDS_BY(end_operator) csrec_operator *A = NULL;
    csrec_operator_spec spec = {.name = "dense", .m = 3, .n = 2, .matrix = matrix};
    for (int bad = 0; bad < 2; bad++) {
        matrix[3] = bad ? INFINITY : NAN;
        assert_refused(csrec_operator_create(&spec, &A, &told), CSREC_DATA, "(1, 1)");
        assert_null(A);
    }
    matrix[3] = 4;
    A = operator_of(&spec);
    csrec_solve_options options = {.solver = "omp", .stop = {.atoms = 3}};
    assert_refused(csrec_solve(A, y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT,
                   "2 columns");
    assert_fails(csrec_solve_many(A, 1, y, &options, 1, NULL, NULL, NULL, &told), CSREC_ARGUMENT);
    options.stop.atoms = 2;
    y[1] = NAN;
    assert_fails(csrec_solve(A, y, &options, NULL, NULL, NULL, &told), CSREC_DATA);
    assert_refused(csrec_solve_many(A, 1, y, &options, 1, NULL, NULL, NULL, &told), CSREC_DATA,
                   "y[1]");
}

/* Columns of zeros are never picked. */
TEST_ON_EACH(columns_of_zeros_are_left_alone) {
    const char *backend = check_backend(state);
    for (int s = 0; s < 5; s++) {
        ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, backend, 30, 50, 3);
        for (int64_t i = 0; i < p.m; i++) p.matrix[i * p.n] = p.matrix[i * p.n + 7] = 0.0;
        csrec_operator_destroy(p.A);
        p.A = dense_operator(backend, p.m, p.n, p.matrix);
        const csrec_setting set = {"k", 4};
        const csrec_solve_options o =
            solver_by(pursuits[s], (csrec_stop){.atoms = 12}, s ? &set : NULL);
        CLEARED(csrec_atoms) atoms;
        csrec_solve_report report;
        assert_ok(csrec_solve(p.A, p.y, &o, &atoms, NULL, &report, NULL));
        assert_true(isfinite(report.residual) && !holds(&atoms, 0) && !holds(&atoms, 7));
    }
}

/* A solver on an operator and a backend: ||y - A x|| / ||y|| and x. */
static double solve_there(const drawn *d, const char *there, const char *solver, const double *y,
                          double *x) {
    csrec_operator_spec spec = d->spec;
    const int64_t least = d->m < d->n ? d->m : d->n, atoms_most = least > 6 ? 6 : least;
    const csrec_setting set = {"k", (double)((atoms_most + 1) / 2)};
    const bool sized = strcmp(solver, "mp") && strcmp(solver, "omp") && strcmp(solver, "fista");
    const csrec_solve_options options =
        solver_by(solver, (csrec_stop){.atoms = atoms_most}, sized ? &set : NULL);
    CLEARED(csrec_atoms) atoms;
    csrec_solve_report report;
    csrec_error error;
    spec.shape = &d->shape;
    spec.backend = there;
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    if (csrec_solve(A, y, &options, &atoms, NULL, &report, &error))
        fail_msg("%s, %s on %s: %s", d->text, solver, there, error.text);
    memset(x, 0, (size_t)d->n * sizeof *x);
    for (int64_t i = 0; i < atoms.n; i++)
        if (atoms.column[i] < (uint64_t)d->n) x[atoms.column[i]] = atoms.coefficient[i];
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
                ENDS_BY(drop_drawn) drawn d = draw_operator(&seed, bases[b], "cpu");
                double *y = kept_normals(&seed, d.m), *x = check_room(2 * d.n);
                double residual[2];
                for (int i = 0; i < 2; i++)
                    residual[i] = solve_there(&d, i ? backend : "cpu", solvers[s], y, x + i * d.n);
                if (residual[0] != residual[1])
                    fail_msg("%s, %s: residual %.17g, not %.17g", d.text, solvers[s], residual[1],
                             residual[0]);
                for (int64_t j = 0; j < d.n; j++) assert_true(x[j] == x[j + d.n]);
            }
}
