/* SPDX-License-Identifier: BSD-3-Clause */
/* OMP on the Haar tree: its least squares, its picks against a plain OMP, its residuals against OMP
 * on the matrix written out. */
#include "problem.h"
#include "solvers.h"

#include "operator/operator.h"

SEED(seed);

/* The sampled Haar matrix of an operator, written out column by column, row-major. */
static double *written_out(const csrec_operator *A) {
    int64_t m, n;
    csrec_operator_size(A, &m, &n);
    double *matrix = malloc((size_t)(m * n) * sizeof *matrix), *a = malloc((size_t)m * sizeof *a);
    for (int64_t j = 0; j < n; j++) {
        assert_ok(csrec_operator_column(A, j, a));
        for (int64_t i = 0; i < m; i++) matrix[i * n + j] = a[i];
    }
    free(a);
    return matrix;
}

static csrec_operator *haar_operator(const problem *p) {
    csrec_operator_spec spec = {
        .name = "haar", .levels = p->levels, .m = p->n, .rows = p->rows, .columns = p->columns};
    return operator_of(&spec);
}

/* On any support: r = y - A_S x, and r is orthogonal to every chosen column, which is what makes it
 * the shortest. */
TEST(tree_projection_is_least_squares) {
    for (int t = 0; t < 1500; t++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 30, 40);
        ENDS_BY(end_operator) csrec_operator *A = haar_operator(&p);
        int64_t m, n;
        csrec_operator_size(A, &m, &n);
        OWNED double *matrix = written_out(A), *x = malloc((size_t)n * sizeof *x);
        OWNED double *r = malloc((size_t)m * sizeof *r), *c = malloc((size_t)n * sizeof *c);
        double share = check_uniform(&seed);
        OWNED bool *chosen = malloc((size_t)n * sizeof *chosen);
        for (int64_t j = 0; j < n; j++) chosen[j] = check_uniform(&seed) < share;
        assert_ok(A->type->fit(A, chosen, p.y, x, r));
        double bound =
            1e-11 * length_of(m, 1, p.y); /* 30 samples, depth 30: 10^3 roundings at most */
        for (int64_t i = 0; i < m; i++) {
            double fit = r[i];
            for (int64_t j = 0; j < n; j++) fit += matrix[i * n + j] * x[j];
            assert_true(fabs(fit - p.y[i]) <= bound);
        }
        apply_turned(m, n, matrix, r, c);
        for (int64_t j = 0; j < n; j++) assert_true(chosen[j] ? fabs(c[j]) <= bound : x[j] == 0.0);
    }
}

TEST(omp_on_the_tree_equals_plain_omp) {
    for (int t = 0; t < 4000; t++) {
        int levels = 4 + (int)check_below(&seed, 30);
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, levels, 8 + check_below(&seed, 8), (csrec_columns)(t & 1),
                                   t % 3 ? 0 : PROBLEM_WAVES, levels > 12 && t % 5 == 0);
        ENDS_BY(end_operator) csrec_operator *A = haar_operator(&p);
        int64_t m, n;
        csrec_operator_size(A, &m, &n);
        OWNED double *matrix = written_out(A);
        check_omp(A, m, n, matrix, p.y, 1 + check_below(&seed, m < n ? m / 2 : n / 2));
    }
}

/* Larger trees, whose searches leave most of the tree alone, against OMP on the same matrix written
 * out: the same residual after every step. Of values drawn at random two columns tie only where
 * they are parallel once the chosen ones are projected out, and then either leaves the same span:
 * so the residuals are compared, not the columns. */
TEST(omp_on_the_tree_equals_omp_on_its_matrix) {
    for (int t = 0; t < 300; t++) {
        int levels = 8 + (int)check_below(&seed, 30);
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, levels, 40 + check_below(&seed, 200),
                                   (csrec_columns)(t & 1), 0, levels > 12 && t % 5 == 0);
        ENDS_BY(end_operator) csrec_operator *A = haar_operator(&p), *D;
        int64_t m, n;
        csrec_operator_size(A, &m, &n);
        double *matrix = written_out(A), history[2][240], r[2][240], length = 0.0;
        D = dense_operator(NULL, m, n, matrix);
        for (int k = 0; k < 2; k++) {
            csrec_solve_options options = {.solver = "omp",
                                           .stop = {.atoms = m / 3},
                                           .history = history[k],
                                           .history_size = 240};
            CLEARED(csrec_atoms) atoms;
            csrec_solve_report report;
            assert_ok(csrec_solve(k ? D : A, p.y, &options, &atoms, r[k], &report, NULL));
            assert_int_equal(report.iterations, m / 3);
            assert_int_equal(atoms.n, m / 3);
        }
        for (int64_t i = 0; i < m; i++) length += p.y[i] * p.y[i];
        /* 80 columns of condition up to 10^4, and 240 roundings. */
        for (int64_t i = 0; i < m / 3; i++)
            assert_true(fabs(history[0][i] - history[1][i]) <= 1e-10);
        for (int64_t i = 0; i < m; i++)
            assert_true(fabs(r[0][i] - r[1][i]) <= 1e-10 * sqrt(length));
        free(matrix);
    }
}
