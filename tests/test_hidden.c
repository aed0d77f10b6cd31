/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that an operator removes, but for rounding of its products, are no columns: pursuits by
 * products leave them out, and take those that are as short but exact. */

#include "linear.h"

SEED(seed);
enum { ROWS = 40, COLUMNS = 80, LONG = 30, PICKED = 4 };

/* A = S U^T H U U^T: x are coefficients of the orthonormal rows of U, H weakens the entries of U v,
 * S keeps rows. Exactly, column j is H_j times that of U^T; of products that compute U U^T, it has
 * rounding of the longest. */
typedef struct smoother {
    double U[COLUMNS * COLUMNS], H[COLUMNS];
    bool exact; /* U U^T is left out */
} smoother;

static void turn(const smoother *s, const double *in, double *out) {
    apply_matrix(COLUMNS, COLUMNS, s->U, in, out);
}

static void turn_back(const smoother *s, const double *in, double *out) {
    apply_turned(COLUMNS, COLUMNS, s->U, in, out);
}

static csrec_status smooth(const double *x, double *y, void *context) {
    const smoother *s = context;
    double signal[COLUMNS], spectrum[COLUMNS];
    turn_back(s, x, signal);
    turn(s, signal, spectrum);
    for (int j = 0; j < COLUMNS; j++) spectrum[j] = s->H[j] * (s->exact ? x : spectrum)[j];
    turn_back(s, spectrum, signal);
    memcpy(y, signal, ROWS * sizeof *y);
    return CSREC_OK;
}

static csrec_status smooth_back(const double *y, double *x, void *context) {
    const smoother *s = context;
    double signal[COLUMNS] = {0.0}, spectrum[COLUMNS];
    memcpy(signal, y, ROWS * sizeof *y);
    turn(s, signal, x);
    for (int j = 0; j < COLUMNS; j++) x[j] *= s->H[j];
    if (s->exact) return CSREC_OK;
    memcpy(spectrum, x, sizeof spectrum);
    turn_back(s, spectrum, signal);
    turn(s, signal, x);
    return CSREC_OK;
}

static csrec_operator *create(smoother *s, bool exact) {
    s->exact = exact;
    return operator_of(&(csrec_operator_spec){.name = "callback",
                                              .m = ROWS,
                                              .n = COLUMNS,
                                              .forward = smooth,
                                              .adjoint = smooth_back,
                                              .context = s});
}

static void draw(double shortest, smoother *s) {
    s->exact = true;
    draw_orthonormal(&seed, COLUMNS, COLUMNS, s->U);
    for (int j = 0; j < COLUMNS; j++) s->H[j] = j < LONG ? 1.0 + check_uniform(&seed) : shortest;
}

TEST(removed_columns_are_left_out) {
    static const char *const solvers[] = {"omp", "mp", "romp", "cosamp"};
    for (size_t k = 0; k < 4; k++)
        for (double shortest = 1e-12; shortest > 1e-17; shortest *= 0.1) {
            smoother s;
            double x[COLUMNS] = {0.0}, y[ROWS];
            draw(shortest, &s);
            for (int p = 0; p < PICKED; p++) x[check_below(&seed, LONG)] = 1.0;
            assert_ok(smooth(x, y, &s));
            for (int i = 0; i < ROWS; i++) y[i] += 0.05 * check_normal(&seed);
            ENDS_BY(end_operator) csrec_operator *A = create(&s, false);
            const csrec_setting set = {"k", PICKED};
            const csrec_solve_options options =
                solver_by(solvers[k], (csrec_stop){.epsilon = 1e-3}, k > 1 ? &set : NULL);
            const csrec_solve_report report = solve_for(A, y, &options, x, NULL);
            assert_true(report.residual < 1.0);
            for (int j = LONG; j < COLUMNS; j++)
                if (x[j] != 0.0)
                    fail_msg("%s: x[%d] = %g of a column that is %g long", solvers[k], j, x[j],
                             shortest);
            /* So few columns do not fit the noise. */
            assert_true(report.outcome != CSREC_CONVERGED && report.residual > 1e-3);
        }
}

TEST(short_but_exact_columns_stay) {
    static const char *const solvers[] = {"omp", "mp", "romp"};
    for (size_t k = 0; k < 3; k++) {
        smoother s;
        double x[COLUMNS] = {0.0}, y[ROWS];
        draw(1e-12, &s);
        const int64_t j = LONG + check_below(&seed, COLUMNS - LONG);
        x[j] = 3e12;
        assert_ok(smooth(x, y, &s));
        ENDS_BY(end_operator) csrec_operator *A = create(&s, true);
        CLEARED(csrec_atoms) found = {0};
        const csrec_setting set = {"k", 1};
        const csrec_solve_options options = {
            .solver = solvers[k], .settings = &set, .n_settings = k > 1};
        assert_ok(csrec_solve(A, y, &options, &found, NULL, NULL, NULL));
        assert_true(found.n == 1 && (int64_t)found.column[0] == j);
        assert_true(fabs(found.coefficient[0] / x[j] - 1.0) < 1e-9);
    }
}

/* Columns from 1 down to where rounding nearly hides them: no fit is worse than x = 0, and the
 * residual told is that of x. */
TEST(fits_on_short_columns_do_not_lengthen_r) {
    static const char *const solvers[] = {"romp", "htp", "cosamp", "omp"};
    for (int round = 0; round < 40; round++) {
        smoother s;
        double x[COLUMNS] = {0.0}, y[ROWS], Ax[ROWS], whole = 0.0, left = 0.0;
        draw(1.0, &s);
        for (int j = 0; j < COLUMNS; j++) s.H[j] = pow(10.0, -10.5 * j / COLUMNS);
        for (int i = 0; i < ROWS; i++) y[i] = check_normal(&seed);
        ENDS_BY(end_operator) csrec_operator *A = create(&s, false);
        const csrec_setting set = {"k", 16};
        const csrec_solve_options options = solver_by(
            solvers[round % 4], (csrec_stop){.epsilon = 1e-4}, round % 4 < 3 ? &set : NULL);
        const csrec_solve_report report = solve_for(A, y, &options, x, NULL);
        assert_ok(csrec_operator_forward(A, x, Ax));
        for (int i = 0; i < ROWS; i++) {
            whole += y[i] * y[i];
            left += (y[i] - Ax[i]) * (y[i] - Ax[i]);
        }
        const double told = report.residual, true_one = sqrt(left / whole);
        if (!(told <= 1.0 + 1e-9) || fabs(told - true_one) > 1e-4 + 1e-6 * true_one)
            fail_msg("%s: residual %g, of x %g", options.solver, told, true_one);
    }
}
