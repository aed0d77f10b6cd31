/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen of a stored matrix: its bounds and its pick against all correlations, and OMP with it
 * against OMP by its definition. */
#include "solvers.h"

#include "operator/dense.h"

SEED(seed);

/* The screen against all correlations by the same sums: the same column, ties included (columns of
 * small integers repeat), for columns of any length and residuals of any. */
TEST(the_screen_finds_the_largest_correlation) {
    for (int t = 0; t < 400; t++) {
        int64_t m = 1 + check_below(&seed, 200), n = 1 + check_below(&seed, 300);
        OWNED double *matrix = malloc((size_t)(m * n) * sizeof *matrix), *r = malloc((size_t)m * 8);
        int lengths = (int)check_below(&seed, 3);
        for (int64_t j = 0; j < n; j++) {
            double length = lengths == 0   ? 1.0
                            : lengths == 1 ? ldexp(1.0, (int)check_below(&seed, 40) - 20)
                                           : ldexp(1.0, (int)check_below(&seed, 1200) - 600);
            for (int64_t i = 0; i < m; i++)
                matrix[i * n + j] =
                    length * (t % 2 ? check_normal(&seed) : (double)(check_below(&seed, 3) - 1));
        }
        double scale = ldexp(1.0, (int)check_below(&seed, 100) - 50);
        for (int64_t i = 0; i < m; i++)
            r[i] = scale * (t % 3 ? check_normal(&seed) : (double)(check_below(&seed, 5) - 2));
        ENDS_BY(end_operator) csrec_operator *A = dense_operator(NULL, m, n, matrix);
        const csrec_screen *screen;
        assert_ok(csrec_screen_of(A, &screen));
        OWNED bool *skip = malloc((size_t)n * sizeof *skip);
        double *upper = malloc((size_t)n * sizeof *upper), found = 0.0, best = 0.0;
        OWNED int8_t *p = malloc(CSREC_SCREEN_COUNT * (size_t)csrec_screen_padded(m) * sizeof *p);
        int64_t at = -1;
        for (int64_t j = 0; j < n; j++) {
            skip[j] = check_below(&seed, 10) == 0;
            double c = csrec_dense_correlation(A, j, r);
            if (skip[j] || (at >= 0 && fabs(c) <= fabs(best))) continue;
            at = j;
            best = c;
        }
        csrec_screen_bounds(A, screen, 1, r, upper, p);
        for (int64_t j = 0; j < n; j++)
            assert_true(fabs(csrec_dense_correlation(A, j, r)) <= upper[j]);
        assert_int_equal(csrec_screen_settle(A, r, skip, upper, -1, &found), at);
        if (at >= 0) assert_true(found == best);
        free(upper);
    }
}

/* OMP with the screen (a matrix large enough) against OMP by its definition. */
TEST(screened_omp_equals_plain_omp) {
    for (int t = 0; t < 4; t++) {
        ENDS_BY(drop_dense)
        dense_problem p = draw_dense(&seed, "cpu", 40, 500 + check_below(&seed, 100), 3);
        for (int64_t i = 0; i < p.m; i++) p.y[i] = check_normal(&seed);
        check_omp(p.A, p.m, p.n, p.matrix, p.y, 12);
    }
}
