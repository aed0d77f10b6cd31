/* SPDX-License-Identifier: BSD-3-Clause */
/* l1.h - problems of the l1 norm on drawn matrices, and how far a result is from the conditions of
 * their minimum, which are computed apart from the solvers. */
#pragma once

#include "linear.h"
#include "operators_drawn.h"

SEED(seed);

/* X [n][count] and the residuals of a problem of `parts` numbers an entry: 1, or 2 if complex. */
typedef struct problem {
    csrec_operator *A, *alone; /* stored, and known by its products */
    int64_t m, n, count;       /* m, n with parts */
    int parts;
    double *y, *r, *x, *c, *weights; /* [count][m], [count][m], [count][n], [count][n], [entries] */
    bool nonnegative;
    double sigma; /* a bound of ||r|| / sqrt(m), or 0 */
    csrec_solve_report report;
} problem;

/* Columns: normal; with something in common; every fifth another's multiple or zero; of different
 * lengths; and with nearly one direction; of very different lengths. */
enum { PLAIN, ALIKE, REPEATED, LENGTHS, KINDS, HARD_ALIKE = KINDS, HARD_LENGTHS };

static inline double *draw_matrix(int kind, int parts, int64_t m, int64_t n) {
    double *matrix = kept_normals(&seed, parts * m * n);
    for (int64_t i = 0; (kind == ALIKE || kind == HARD_ALIKE) && i < m; i++) {
        const double common = (kind == ALIKE ? 2.0 : 30.0) * check_normal(&seed);
        for (int64_t j = 0; j < n; j++) matrix[parts * (i * n + j)] += common;
    }
    for (int64_t j = 1; kind == REPEATED && j < n; j++) {
        const int64_t other = check_below(&seed, j), times = check_below(&seed, 3) - 1;
        if (check_below(&seed, 5)) continue;
        for (int64_t i = 0; i < m; i++)
            for (int k = 0; k < parts; k++)
                matrix[parts * (i * n + j) + k] =
                    (double)times * matrix[parts * (i * n + other) + k];
    }
    for (int64_t j = 0; (kind == LENGTHS || kind == HARD_LENGTHS) && j < n; j++) {
        const double decades = kind == LENGTHS ? 1.0 : 3.0;
        const double size = pow(10.0, decades * (2.0 * check_uniform(&seed) - 1.0));
        for (int64_t i = 0; i < m; i++)
            for (int k = 0; k < parts; k++) matrix[parts * (i * n + j) + k] *= size;
    }
    return matrix;
}

static inline void open_sized(problem *p, int kind, int parts, int64_t m, int64_t n,
                              int64_t count) {
    double *matrix = draw_matrix(kind, parts, m, n);
    csrec_operator_spec spec = {
        .name = "dense", .m = m, .n = n, .matrix = matrix, .complex_signal = parts == 2};
    *p = (problem){.m = parts * m, .n = parts * n, .count = count, .parts = parts};
    assert_well(csrec_operator_create(&spec, &p->A, &told));
    spec.name = "callback";
    spec.forward = forward_of_operator;
    spec.adjoint = adjoint_of_operator;
    spec.context = p->A;
    assert_well(csrec_operator_create(&spec, &p->alone, &told));
    p->y = kept_normals(&seed, count * p->m);
    p->r = check_keep((size_t)(count * p->m) * sizeof *p->r);
    p->x = check_keep((size_t)(count * p->n) * sizeof *p->x);
    p->c = check_keep((size_t)(count * p->n) * sizeof *p->c);
    p->weights = kept_normals(&seed, n);
    for (int64_t j = 0; j < n; j++) p->weights[j] = exp(p->weights[j]);
}

static inline void open_problem(problem *p, int kind, int parts, int64_t count) {
    const int64_t m = 5 + check_below(&seed, 25), n = 5 + check_below(&seed, 50);
    open_sized(p, kind, parts, m, n, count);
}

static inline void close_problem(problem *p) {
    csrec_operator_destroy(p->A);
    csrec_operator_destroy(p->alone);
}

/* The length of entry e of all [count][n]. */
static inline double entry(const problem *p, const double *v, int64_t e) {
    double sum = 0.0;
    for (int64_t k = 0; k < p->count; k++)
        for (int i = 0; i < p->parts; i++) {
            const double one = v[k * p->n + e * p->parts + i];
            sum += one * one;
        }
    return sqrt(sum);
}

/* The sum of w_e |x_e|. */
static inline double norm(const problem *p) {
    double sum = 0.0;
    for (int64_t e = 0; e < p->n / p->parts; e++) sum += p->weights[e] * entry(p, p->x, e);
    return sum;
}

/* max_e |<a_e, v>| / w_e, of v [count][m]; c becomes the products. */
static inline double largest(problem *p, const double *v) {
    double most = 0.0;
    for (int64_t k = 0; k < p->count; k++)
        assert_ok(csrec_operator_adjoint(p->A, v + k * p->m, p->c + k * p->n));
    for (int64_t e = 0; e < p->n / p->parts; e++)
        most = fmax(most, (p->nonnegative ? p->c[e] : entry(p, p->c, e)) / p->weights[e]);
    return most;
}

/* x and the true r. */
static inline void solve(problem *p, const char *solver, const csrec_setting *settings, int count,
                         double epsilon, bool products) {
    const csrec_solve_options o = {.solver = solver,
                                   .stop = {.epsilon = epsilon, .sigma = p->sigma, .atoms = 50000},
                                   .settings = settings,
                                   .n_settings = count,
                                   .weights = p->weights};
    OWNED csrec_atoms *atoms = calloc((size_t)p->count, sizeof *atoms);
    OWNED csrec_solve_report *reports = calloc((size_t)p->count, sizeof *reports);
    assert_well(csrec_solve_many(products ? p->alone : p->A, p->count, p->y, &o, 1, atoms, NULL,
                                 reports, &told));
    memset(p->x, 0, (size_t)(p->count * p->n) * sizeof *p->x);
    for (int64_t k = 0; k < p->count; k++) {
        double *x = p->x + k * p->n, *r = p->r + k * p->m;
        for (int64_t i = 0; i < atoms[k].n; i++) x[atoms[k].column[i]] = atoms[k].coefficient[i];
        assert_ok(csrec_operator_forward(p->A, x, r));
        for (int64_t i = 0; i < p->m; i++) r[i] = p->y[k * p->m + i] - r[i];
        const double told = length_of(p->m, 1, r) / length_of(p->m, 1, p->y + k * p->m);
        assert_true(fabs(reports[k].residual - told) < 1e-8);
        csrec_atoms_clear(atoms + k);
    }
    p->report = reports[0];
}

static inline void weigh_alike(problem *p) {
    for (int64_t e = 0; e < p->n / p->parts; e++) p->weights[e] = 1.0;
}

/* By how much the worst entry misses its condition for lambda, as a share of it, beyond the
 * rounding of sums of m and of n terms. */
static inline double worst_miss(problem *p, double lambda) {
    const int64_t m = p->m, n = p->n;
    double worst = 0.0, terms = length_of(m, 1, p->y);
    double *column = check_keep((size_t)m * sizeof *column);
    double *norms = check_keep((size_t)n * sizeof *norms);
    largest(p, p->r);
    for (int64_t j = 0; j < n; j++) {
        assert_ok(csrec_operator_column(p->A, j, column));
        norms[j] = length_of(m, 1, column);
        terms += fabs(p->x[j]) * norms[j];
    }
    for (int64_t j = 0; j < n; j += p->parts) {
        const double size = length_of(p->parts, 1, p->x + j);
        double off[2], rounding = (double)(m + n + 64) * 0x1p-52 * terms * norms[j];
        for (int i = 0; i < p->parts; i++)
            off[i] = p->c[j + i] - (size > 0.0 ? lambda * p->x[j + i] / size : 0.0);
        worst = fmax(worst, length_of(p->parts, 1, off) - (size > 0.0 ? 0.0 : lambda) - rounding);
    }
    return worst / lambda;
}
