/* test_contracts_solve.c - runs every solver of the table, and that of the examples of
 * CONTRIBUTING.md, as solver.h says: unknown settings are refused, x and r belong together, results
 * that are not wanted may be NULL, a request to stop ends the work with what there is, one thread
 * and three give the same bits; for 1 x 1, one sample, and prime sides. And the example of an
 * operator. */
#include "contracts.h"
#include "solver/solver.h"

static uint64_t seed;

typedef struct problem {
    int64_t m, n;
    double *y, *x, *r; /* y of three right-hand sides */
    csrec_operator *A;
} problem;

/* The frame of cosines, of which each solver can solve. */
static problem draw_problem(const csrec_shape *shape, int64_t m) {
    problem p = {.m = m};
    int64_t entries, *index = malloc((size_t)m * sizeof *index);
    assert_ok(csrec_shape_count(shape, &entries));
    for (int64_t k = 0; k < m; k++) index[k] = k * entries / m;
    const csrec_operator_spec spec = {
        .name = "dct", .m = m, .shape = shape, .index = index, .block = 8, .step = 4};
    if (csrec_operator_create(&spec, &p.A, &error)) fail_msg("%s", error.text);
    csrec_operator_size(p.A, &p.m, &p.n);
    p.y = malloc((size_t)(3 * m) * sizeof *p.y);
    p.r = malloc((size_t)m * sizeof *p.r);
    p.x = calloc((size_t)p.n, sizeof *p.x);
    for (int64_t i = 0; i < 3 * m; i++) p.y[i] = check_normal(&seed);
    free(index);
    return p;
}

static void drop_problem(problem *p) {
    csrec_operator_destroy(p->A);
    free(p->y);
    free(p->r);
    free(p->x);
}

/* r = y - A x for its atoms, ascending, each column once; report->residual is its length. Sums of
 * some hundred products of order 1 over at most 400 steps: 1e-9 is far above their rounding. */
static void check_solution(const problem *p, const char *name, const csrec_atoms *atoms,
                           const double *r, const csrec_solve_report *report) {
    double *Ax = malloc((size_t)p->m * sizeof *Ax), left = 0.0, whole = 0.0;
    memset(p->x, 0, (size_t)p->n * sizeof *p->x);
    for (int64_t i = 0; i < atoms->n; i++) {
        assert_true(atoms->column[i] < (uint64_t)p->n);
        assert_true(i == 0 || atoms->column[i] > atoms->column[i - 1]);
        p->x[atoms->column[i]] = atoms->coefficient[i];
    }
    assert_ok(csrec_operator_forward(p->A, p->x, Ax));
    for (int64_t i = 0; i < p->m; i++) {
        if (!(fabs(p->y[i] - Ax[i] - r[i]) <= 1e-9))
            fail_msg("%s: r[%d] = %g, not %g", name, (int)i, r[i], p->y[i] - Ax[i]);
        left += r[i] * r[i];
        whole += p->y[i] * p->y[i];
    }
    if (!(fabs(report->residual - sqrt(left / whole)) <= 1e-9))
        fail_msg("%s: residual %g, not %g", name, report->residual, sqrt(left / whole));
    assert_non_null(csrec_outcome_text(report->outcome));
    free(Ax);
}

static void expect_solver_refusals(const problem *p, const char *name) {
    const char *const wrong[] = {"nobody", "method.k", "basis.k", "nobody.k", "solver.", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const csrec_setting set = {wrong[i], 1.0};
        const csrec_solve_options o = {.solver = name, .settings = &set, .n_settings = 1};
        expect_line(csrec_solve(p->A, p->y, &o, NULL, NULL, NULL, &error), name);
        assert_non_null(strstr(error.text, "no parameter"));
        expect_line(csrec_solve_many(p->A, 1, p->y, &o, 1, NULL, NULL, NULL, &error), name);
    }
}

/* Three right-hand sides on one thread and on three. */
static void expect_same_bits(const problem *p, const csrec_solve_options *o) {
    double *r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = malloc((size_t)(3 * p->m) * sizeof *r[i]);
        assert_ok(csrec_solve_many(p->A, 3, p->y, o, i ? 3 : 1, NULL, r[i], NULL, &error));
    }
    assert_memory_equal(r[0], r[1], (size_t)(3 * p->m) * sizeof(double));
    free(r[0]);
    free(r[1]);
}

static void try_solver(const problem *p, const char *name) {
    csrec_atoms atoms = {0};
    csrec_solve_report report;
    listener l = {.stops = true};
    csrec_solve_options o = {.solver = name,
                             .stop = {.epsilon = 1e-3, .atoms = p->m < 40 ? p->m : 40}};
    if (csrec_solve(p->A, p->y, &o, &atoms, p->r, &report, &error)) fail_msg("%s", error.text);
    check_solution(p, name, &atoms, p->r, &report);
    csrec_atoms_clear(&atoms);
    assert_ok(csrec_solve(p->A, p->y, &o, NULL, NULL, NULL, &error));
    expect_same_bits(p, &o);
    expect_solver_refusals(p, name);
    o.progress = listen;
    o.context = &l;
    assert_ok(csrec_solve(p->A, p->y, &o, &atoms, p->r, &report, &error));
    check_solution(p, name, &atoms, p->r, &report);
    if (l.calls) assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    csrec_atoms_clear(&atoms);
    double *zero = calloc((size_t)p->m, sizeof *zero);
    o.progress = NULL;
    assert_ok(csrec_solve(p->A, zero, &o, &atoms, p->r, &report, &error));
    for (int64_t i = 0; i < atoms.n; i++) assert_true(atoms.coefficient[i] == 0.0);
    csrec_atoms_clear(&atoms);
    free(zero);
}

static void solvers_keep_their_contract(void **state) {
    (void)state;
    static const struct {
        csrec_shape shape;
        int64_t m;
    } sizes[] = {{{2, {1, 1}}, 1},
                 {{2, {1, 13}}, 5},
                 {{1, {17}}, 1},
                 {{2, {13, 11}}, 60},
                 {{3, {3, 5, 2}}, 11}};
    const char *name, *brief, *source;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        problem p = draw_problem(&sizes[k].shape, sizes[k].m);
        for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) try_solver(&p, name);
        drop_problem(&p);
    }
}

/* ------------------------------------------------------------------ the example of an operator */

/* Sums by their definition; <A x, y> = <x, A^T y>. Other rows: test_operators.c. */
static void staircase_is_what_it_says(void **state) {
    (void)state;
    for (int64_t m = 1; m <= 41; m += 8) {
        double x[41], y[41], Ax[41], Aty[41], left = 0.0, right = 0.0;
        const csrec_operator_spec spec = {.name = "staircase", .m = m};
        csrec_operator *A;
        assert_ok(csrec_operator_create(&spec, &A, &error));
        for (int64_t k = 0; k < m; k++) {
            x[k] = check_normal(&seed);
            y[k] = check_normal(&seed);
        }
        assert_ok(csrec_operator_forward(A, x, Ax));
        assert_ok(csrec_operator_adjoint(A, y, Aty));
        for (int64_t k = 0; k < m; k++) {
            double sum = 0.0;
            for (int64_t i = 0; i <= k; i++) sum += x[i];
            assert_true(fabs(Ax[k] - sum) < 1e-12);
            left += Ax[k] * y[k];
            right += x[k] * Aty[k];
        }
        assert_true(fabs(left - right) < 1e-10);
        csrec_operator_destroy(A);
    }
    csrec_operator *A = NULL;
    expect_line(csrec_operator_create(&(csrec_operator_spec){.name = "staircase"}, &A, &error),
                "staircase");
    assert_null(A);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_keep_their_contract),
        cmocka_unit_test(staircase_is_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
