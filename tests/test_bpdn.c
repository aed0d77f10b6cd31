/* SPDX-License-Identifier: BSD-3-Clause */
/* Basis pursuit denoise: bounds near rounding, of stored matrices and of products in floats, and
 * known sparse solutions of the exact problem. The conditions of its minimum are in test_l1.c. */

#include "linear.h"
#include "operators_drawn.h"

SEED(seed);

typedef struct problem {
    csrec_operator *A;
    int64_t m, n;
    double *y, *x, *r; /* r = y - A x of the result */
} problem;

static void open_problem(problem *p, const csrec_operator_spec *spec) {
    assert_well(csrec_operator_create(spec, &p->A, &told));
    csrec_operator_size(p->A, &p->m, &p->n);
    p->y = check_keep((size_t)p->m * sizeof *p->y);
    p->r = check_keep((size_t)p->m * sizeof *p->r);
    p->x = check_keep_zeros((size_t)p->n, sizeof *p->x);
}

static void close_problem(problem *p) {
    csrec_operator_destroy(p->A);
}

/* It ends long before its limit of 100,000 steps. */
enum { STEPS_MOST = 1500 };

static void solve(problem *p, double sigma, double epsilon) {
    csrec_solve_options o = {.solver = "bpdn", .stop = {.sigma = sigma, .epsilon = epsilon}};
    const csrec_solve_report report = solve_for(p->A, p->y, &o, p->x, NULL);
    assert_ok(csrec_operator_forward(p->A, p->x, p->r));
    for (int64_t i = 0; i < p->m; i++) p->r[i] = p->y[i] - p->r[i];
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_true(report.iterations <= STEPS_MOST);
}

enum { SIDE = 40, SIDES = 2 * SIDE };

/* Products in single precision. */
static csrec_status single(csrec_status (*product)(const csrec_operator *, const double *,
                                                   double *),
                           const double *in, double *out, void *context) {
    double rounded[SIDES];
    for (int i = 0; i < SIDES; i++) rounded[i] = (float)in[i];
    csrec_status status = product(context, rounded, out);
    for (int i = 0; i < SIDES; i++) out[i] = (float)out[i];
    return status;
}

static csrec_status forward_single(const double *x, double *y, void *context) {
    return single(csrec_operator_forward, x, y, context);
}

static csrec_status adjoint_single(const double *y, double *x, void *context) {
    return single(csrec_operator_adjoint, y, x, context);
}

/* Bounds that are 0, or near what the products round, are met as far as these can; of a square
 * matrix the solution is near the one of A x = y. It is found on a line of minima to lambda = 0,
 * which multiplies the rounding of the last one by largest / lambda, hundreds here. */
TEST(tight_bounds_end) {
    const double bounds[] = {0.0, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6};
    double *matrix = check_keep(2 * SIDE * SIDE * sizeof *matrix), truth[SIDES] = {0};
    problem both[2];
    /* The columns of an orthonormal matrix, rounded to floats, as complex numbers without imaginary
     * part. */
    OWNED double *q = malloc((size_t)(SIDE * SIDE) * sizeof *q);
    draw_orthonormal(&seed, SIDE, SIDE, q);
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        matrix[2 * i] = (float)q[i];
        matrix[2 * i + 1] = 0.0;
    }
    csrec_operator_spec spec = {
        .name = "dense", .m = SIDE, .n = SIDE, .matrix = matrix, .complex_signal = true};
    open_problem(&both[0], &spec);
    spec.name = "callback";
    spec.forward = forward_single;
    spec.adjoint = adjoint_single;
    spec.context = both[0].A;
    open_problem(&both[1], &spec);
    for (int k = 0; k < 10; k++) truth[2 * check_below(&seed, SIDE)] = check_normal(&seed);
    assert_ok(csrec_operator_forward(both[0].A, truth, both[0].y));
    memcpy(both[1].y, both[0].y, SIDES * sizeof *both[0].y);
    const double whole = length_of(SIDES, 1, both[0].y);
    for (int i = 0; i < 14; i++) {
        problem *p = &both[i % 2];
        const double bound = bounds[i / 2], rounding = i % 2 ? 1e-5 : 1e-11;
        solve(p, 0.0, bound);
        assert_true(length_of(SIDES, 1, p->r) <= (bound * (1.0 + 1e-6) + rounding) * whole);
        for (int j = 0; j < SIDES; j++)
            assert_true(fabs(p->x[j] - truth[j]) <= 2.0 * (bound + rounding) * whole);
    }
    for (int k = 2; k-- > 0;) close_problem(&both[k]);
}

/* Far fewer non-zeros than the phase transition of Donoho and Tanner allows: the solution of A x =
 * y of least norm is the sparse one. */
TEST(sparse_signals_are_found) {
    enum { M = 100, N = 200, K = 8 };
    for (int round = 0; round < 6; round++) {
        double *matrix = kept_normals(&seed, M * N), truth[N] = {0};
        ENDS_BY(close_problem) problem p = {0};
        open_problem(&p, &(csrec_operator_spec){.name = "dense", .m = M, .n = N, .matrix = matrix});
        for (int k = 0; k < K; k++) truth[check_below(&seed, N)] = 3.0 * check_normal(&seed);
        assert_ok(csrec_operator_forward(p.A, truth, p.y));
        solve(&p, 0.0, 0.0);
        for (int64_t j = 0; j < N; j++) assert_true(fabs(p.x[j] - truth[j]) < 1e-7);
    }
}

/* x = 0 meets the constraint. */
TEST(noise_alone_gives_nothing) {
    double matrix[6] = {1, 2, 3, 4, 5, 6};
    ENDS_BY(close_problem) problem p = {0};
    open_problem(&p, &(csrec_operator_spec){.name = "dense", .m = 2, .n = 3, .matrix = matrix});
    p.y[0] = 0.3, p.y[1] = -0.2;
    solve(&p, 1.0, 0.0);
    for (int j = 0; j < 3; j++) assert_true(p.x[j] == 0.0);
}
