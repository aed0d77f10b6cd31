/* SPDX-License-Identifier: BSD-3-Clause */
/* The l1 problem on stored matrices, which fista solves on a working set of columns: its optimality
 * conditions over all columns, in double from the matrix itself; for columns alike, of zeros and of
 * very different lengths, any lambda, wide and tall matrices. */

#include "check.h"

SEED(seed);

typedef struct lasso {
    int64_t m, n;
    double *matrix, *y, *norms; /* [m][n] */
    double share, lambda;       /* lambda = share max |<a_j, y>| */
    csrec_operator *A;
    char text[160];
} lasso;

enum { PLAIN, ALIKE, REPEATED, LENGTHS, KINDS };

/* Column j of the kind; every fifth REPEATED one is another's multiple or zero. */
static void draw_column(lasso *p, int kind, int64_t j, const double *common) {
    double length = kind == LENGTHS ? pow(10.0, 2.0 * check_uniform(&seed) - 1.0) : 1.0;
    int64_t other = j > 0 ? check_below(&seed, j) : 0;
    bool repeated = kind == REPEATED && j > 0 && check_below(&seed, 5) == 0;
    double times = (double)(check_below(&seed, 3) - 1);
    for (int64_t i = 0; i < p->m; i++) {
        double own = check_normal(&seed) + (kind == ALIKE ? 2.0 * common[i] : 0.0);
        p->matrix[i * p->n + j] = repeated ? times * p->matrix[i * p->n + other] : length * own;
    }
}

static double product(const lasso *p, int64_t j, const double *r) {
    double sum = 0.0;
    for (int64_t i = 0; i < p->m; i++) sum += p->matrix[i * p->n + j] * r[i];
    return sum;
}

static void measure(lasso *p) {
    double largest = 0.0;
    for (int64_t j = 0; j < p->n; j++) {
        double squares = 0.0;
        for (int64_t i = 0; i < p->m; i++)
            squares += p->matrix[i * p->n + j] * p->matrix[i * p->n + j];
        p->norms[j] = sqrt(squares);
        largest = fmax(largest, fabs(product(p, j, p->y)));
    }
    p->lambda = p->share * largest;
}

static lasso draw(int64_t m, int64_t n, int kind, double share) {
    lasso p = {.m = m, .n = n, .share = share};
    p.matrix = check_keep((size_t)(m * n) * sizeof *p.matrix);
    p.y = kept_normals(&seed, m);
    p.norms = check_keep((size_t)n * sizeof *p.norms);
    const double *common = kept_normals(&seed, m);
    for (int64_t j = 0; j < n; j++) draw_column(&p, kind, j, common);
    for (int64_t i = 0; i < m; i++) p.y[i] *= 0.1;
    for (int64_t k = 0; k < 1 + m / 10; k++) {
        int64_t j = check_below(&seed, n);
        double x = check_below(&seed, 2) ? 1.0 : -1.5;
        for (int64_t i = 0; i < m; i++) p.y[i] += x * p.matrix[i * n + j];
    }
    measure(&p);
    p.A = dense_operator(NULL, m, n, p.matrix);
    snprintf(p.text, sizeof p.text, "%lld x %lld, kind %d, lambda %g", (long long)m, (long long)n,
             kind, share);
    return p;
}

static void drop(lasso *p) {
    csrec_operator_destroy(p->A);
}

/* <a_j, y - A x> = lambda sign(x_j) where x_j is not 0, else at most lambda in size: to 2e-10
 * lambda, which docs/solvers.md promises, and to the rounding of sums of m and of n products, here
 * and there. */
static void check_minimum(const lasso *p, const csrec_atoms *atoms, const double *r) {
    OWNED double *x = calloc((size_t)p->n, sizeof *x), *own = malloc((size_t)p->m * sizeof *own);
    double summed = 0.0, squares = 0.0;
    for (int64_t i = 0; i < atoms->n; i++) x[atoms->column[i]] = atoms->coefficient[i];
    for (int64_t j = 0; j < p->n; j++) summed += fabs(x[j]) * p->norms[j];
    for (int64_t i = 0; i < p->m; i++) {
        own[i] = p->y[i];
        squares += p->y[i] * p->y[i];
        for (int64_t j = 0; j < p->n; j++) own[i] -= p->matrix[i * p->n + j] * x[j];
    }
    summed += sqrt(squares);
    double rounding = (double)(p->m + p->n + 64) * 0x1p-52 * summed;
    for (int64_t i = 0; i < p->m; i++)
        if (fabs(own[i] - r[i]) > rounding) fail_msg("%s: r[%lld]", p->text, (long long)i);
    for (int64_t j = 0; j < p->n; j++) {
        double c = product(p, j, own), miss = fabs(c) - p->lambda;
        if (x[j] != 0.0) miss = fabs(c - copysign(p->lambda, x[j]));
        if (miss > 2e-10 * p->lambda + rounding * p->norms[j])
            fail_msg("%s: column %lld, x = %g, misses by %g of lambda", p->text, (long long)j, x[j],
                     miss / p->lambda);
    }
}

static void solve(const lasso *p, const csrec_atoms *from, int64_t most, csrec_atoms *atoms,
                  double *r, csrec_solve_report *report) {
    csrec_setting set = {"lambda", p->share};
    csrec_solve_options options = {.solver = "fista",
                                   .stop = {.atoms = most},
                                   .settings = &set,
                                   .n_settings = 1,
                                   .start = from};
    csrec_error error;
    if (csrec_solve(p->A, p->y, &options, atoms, r, report, &error))
        fail_msg("%s: %s", p->text, error.text);
}

static void check_solve(const lasso *p) {
    CLEARED(csrec_atoms) atoms = {0};
    csrec_solve_report report;
    OWNED double *r = malloc((size_t)p->m * sizeof *r);
    solve(p, NULL, 10000, &atoms, r, &report);
    check_minimum(p, &atoms, r);
}

/* lambda from near its largest, where x has an entry or two, to a thousandth. */
static double draw_share(void) {
    return check_below(&seed, 6) == 0 ? 1.0 - 0.01 * check_uniform(&seed)
                                      : pow(10.0, -3.0 * check_uniform(&seed));
}

TEST(minima_of_any_matrix) {
    for (int t = 0; t < 60; t++) {
        int64_t m = 1 + check_below(&seed, 40), n = 1 + check_below(&seed, 100);
        ENDS_BY(drop) lasso p = draw(m, n, t % KINDS, draw_share());
        check_solve(&p);
    }
}

/* Large enough for bounds in place of products, and for columns to leave the working set. */
TEST(minima_behind_bounds) {
    int count = getenv("CSREC_TEST_BRIEF") ? 1 : 3;
    for (int t = 0; t < count * KINDS; t++) {
        int64_t m = 60 + check_below(&seed, 40), n = 300 + check_below(&seed, 200);
        ENDS_BY(drop) lasso p = draw(m, n, t % KINDS, draw_share());
        check_solve(&p);
    }
}

/* Any start satisfies the same conditions; a start at the minimum ends at once. */
TEST(starts_lead_to_the_minimum) {
    for (int t = 0; t < 30; t++) {
        ENDS_BY(drop)
        lasso p =
            draw(10 + check_below(&seed, 30), 20 + check_below(&seed, 60), t % KINDS, draw_share());
        CLEARED(csrec_atoms) found = {0}, again = {0};
        csrec_solve_report report;
        OWNED double *x = calloc((size_t)p.n, sizeof *x), *r = malloc((size_t)p.m * sizeof *r);
        for (int64_t k = 0; k < 1 + p.n / 4; k++) x[check_below(&seed, p.n)] = check_normal(&seed);
        uint64_t column[128];
        double coefficient[128];
        csrec_atoms from = {.column = column, .coefficient = coefficient};
        for (int64_t j = 0; j < p.n; j++) {
            if (x[j] == 0.0) continue;
            column[from.n] = (uint64_t)j;
            coefficient[from.n++] = x[j];
        }
        solve(&p, &from, 10000, &found, r, &report);
        check_minimum(&p, &found, r);
        solve(&p, &found, 10000, &again, r, &report);
        check_minimum(&p, &again, r);
        if (report.iterations > 3)
            fail_msg("%s: %lld rounds from the minimum", p.text, (long long)report.iterations);
    }
}

/* Every stop applies between rounds: a residual bound, an iteration limit, a request. */
TEST(stops_are_heeded) {
    ENDS_BY(drop) lasso p = draw(100, 400, PLAIN, 1e-3);
    csrec_setting set = {"lambda", p.share};
    double history[8];
    int calls = 0;
    csrec_solve_options options = {.solver = "fista",
                                   .settings = &set,
                                   .n_settings = 1,
                                   .history = history,
                                   .history_size = 8};
    csrec_solve_report report;
    options.stop.epsilon = 0.3;
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
    ENDS_BY(drop) lasso p = draw(30, 50, PLAIN, 1.0);
    OWNED double *r = malloc((size_t)p.m * sizeof *r);
    CLEARED(csrec_atoms) atoms = {0};
    solve(&p, NULL, 0, &atoms, r, NULL);
    assert_int_equal(atoms.n, 0);
    assert_memory_equal(r, p.y, (size_t)p.m * sizeof *r);
}
