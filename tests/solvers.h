/* SPDX-License-Identifier: BSD-3-Clause */
/* solvers.h - what the tests of the solvers share: random dense problems, a plain OMP by its
 * definition. */
#pragma once

#include "linear.h"

/* Cases of a test: on a device every product is a call to it. */
static inline int cases(const char *backend, int all) {
    return strcmp(backend, "cpu") == 0 ? all : getenv("CSREC_TEST_BRIEF") ? 1 : (all + 9) / 10;
}

typedef struct dense_problem {
    int64_t m, n, k;
    double *matrix, *x, *y; /* row-major; k of x are not 0 */
    csrec_operator *A;
} dense_problem;

/* A Gaussian matrix whose columns have lengths from 0.1 to 10, and a k-sparse x. */
static inline dense_problem draw_dense(uint64_t *seed, const char *backend, int64_t m, int64_t n,
                                       int64_t k) {
    dense_problem p = {.m = m, .n = n, .k = k};
    p.matrix = check_keep((size_t)(m * n) * sizeof *p.matrix);
    p.x = check_keep_zeros((size_t)n, sizeof *p.x);
    p.y = check_keep((size_t)m * sizeof *p.y);
    for (int64_t j = 0; j < n; j++) {
        double length = pow(10.0, 2.0 * check_uniform(seed) - 1.0) / sqrt((double)m);
        for (int64_t i = 0; i < m; i++) p.matrix[i * n + j] = length * check_normal(seed);
    }
    for (int64_t found = 0; found < k;) {
        int64_t j = check_below(seed, n);
        if (p.x[j] != 0.0) continue;
        /* Parts of y of comparable length: sizes 1 to 2, either sign. */
        p.x[j] = (1.0 + check_uniform(seed)) * (check_below(seed, 2) ? 1.0 : -1.0) /
                 length_of(m, n, p.matrix + j);
        found++;
    }
    apply_matrix(m, n, p.matrix, p.x, p.y);
    p.A = dense_operator(backend, m, n, p.matrix);
    return p;
}

static inline void drop_dense(dense_problem *p) {
    csrec_operator_destroy(p->A);
}

/* x [n] of y; r: NULL or [m]. */
static inline csrec_solve_report solve_dense(const dense_problem *p, csrec_solve_options options,
                                             double *x, double *r) {
    return solve_for(p->A, p->y, &options, x, r);
}

enum { PICKS = 64 }; /* at most, of what follows */

/* A_S^T A_S [k][k]. */
static inline void gram_of(int64_t m, int64_t n, const double *matrix, int64_t k, const uint64_t *S,
                           double *gram) {
    for (int64_t at = 0; at < k * k; at++) {
        const double *a = matrix + S[at / k], *b = matrix + S[at % k];
        gram[at] = 0.0;
        for (int64_t i = 0; i < m; i++) gram[at] += a[i * n] * b[i * n];
    }
}

/* r = y - A_S z with z from the normal equations, S given. */
static inline void plain_fit(int64_t m, int64_t n, const double *matrix, const double *y, int64_t k,
                             const uint64_t *S, double *z, double *r) {
    double gram[PICKS * PICKS];
    assert_true(k <= PICKS);
    gram_of(m, n, matrix, k, S, gram);
    for (int64_t a = 0; a < k; a++) {
        z[a] = 0.0;
        for (int64_t i = 0; i < m; i++) z[a] += matrix[i * n + (int64_t)S[a]] * y[i];
    }
    eliminate(k, gram, z);
    for (int64_t i = 0; i < m; i++) {
        r[i] = y[i];
        for (int64_t a = 0; a < k; a++) r[i] -= matrix[i * n + (int64_t)S[a]] * z[a];
    }
}

static inline void plain_residual(int64_t m, int64_t n, const double *matrix, const double *y,
                                  int64_t k, const uint64_t *S, double *r) {
    double z[PICKS];
    plain_fit(m, n, matrix, y, k, S, z, r);
}

/* |<a_j, r>| / ||a_j||. */
static inline double correlation(int64_t m, int64_t n, const double *matrix, const double *r,
                                 int64_t j) {
    double c = 0.0, norm = 0.0;
    for (int64_t i = 0; i < m; i++) {
        c += matrix[i * n + j] * r[i];
        norm += matrix[i * n + j] * matrix[i * n + j];
    }
    return norm > 0.0 ? fabs(c) / sqrt(norm) : 0.0;
}

static inline bool holds(const csrec_atoms *atoms, uint64_t column) {
    for (int64_t i = 0; i < atoms->n; i++)
        if (atoms->column[i] == column) return true;
    return false;
}

/* Supports of 1, 2, .. k atoms are nested; each new column has the largest correlation with the
 * residual of those before, by a plain least squares; and what is left of y is orthogonal to all
 * (so the coefficients are the least squares, whatever the condition of the columns). Of exact
 * ties, which the tree has, either may be picked. */
static inline void check_omp(const csrec_operator *A, int64_t m, int64_t n, const double *matrix,
                             const double *y, int64_t k) {
    csrec_atoms before = {0};
    double r[40], length = 0.0;
    for (int64_t i = 0; i < m; i++) length += y[i] * y[i];
    for (int64_t size = 1; size <= k; size++) {
        const csrec_solve_options options = {.solver = "omp", .stop = {.atoms = size}};
        csrec_atoms atoms;
        assert_ok(csrec_solve(A, y, &options, &atoms, NULL, NULL, NULL));
        assert_int_equal(atoms.n, size);
        plain_residual(m, n, matrix, y, before.n, before.column, r);
        double best = 0.0, picked = -1.0;
        for (int64_t j = 0; j < n; j++) best = fmax(best, correlation(m, n, matrix, r, j));
        for (int64_t i = 0; i < size; i++)
            if (!holds(&before, atoms.column[i]))
                picked = correlation(m, n, matrix, r, (int64_t)atoms.column[i]);
        for (int64_t i = 0; i < before.n; i++) assert_true(holds(&atoms, before.column[i]));
        /* The normal equations of at most 12 columns square a condition of at most 10^3. */
        assert_true(picked >= best - 1e-9 * sqrt(length));
        for (int64_t i = 0; i < m; i++) {
            r[i] = y[i];
            for (int64_t a = 0; a < size; a++)
                r[i] -= matrix[i * n + (int64_t)atoms.column[a]] * atoms.coefficient[a];
        }
        for (int64_t i = 0; i < size; i++)
            assert_true(correlation(m, n, matrix, r, (int64_t)atoms.column[i]) <=
                        1e-10 * sqrt(length));
        csrec_atoms_clear(&before);
        before = atoms;
    }
    csrec_atoms_clear(&before);
}
