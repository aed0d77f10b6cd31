/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers of complex x: mp and omp step by step against their definitions in complex arithmetic,
 * sparse signals, the conditions of the l1 minimum, and what a factor of y does; on stored
 * matrices, callbacks and frequencies. */
#include <complex.h>

#include "check.h"
#include "operator/operator.h"

SEED(seed);

typedef double complex number;

enum { K_MOST = 8, M_MOST = 64 };

typedef struct problem {
    int64_t m, n, k;   /* complex numbers */
    number *a, *x, *y; /* [m][n]; [n], k of them not 0; [m] */
    int64_t *index;    /* of frequencies; sparse: of rows */
    int64_t *offset;   /* sparse */
    number *columns;   /* sparse: a by columns */
    csrec_operator *A;
} problem;

static double angle(void) {
    return 6.283185307179586 * check_uniform(&seed);
}

static number draw_number(void) {
    double re = check_normal(&seed);
    return re + I * check_normal(&seed);
}

static double length(int64_t n, int64_t step, const number *v) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += creal(v[i * step] * conj(v[i * step]));
    return sqrt(sum);
}

static void multiply(const problem *p, const number *x, number *y) {
    for (int64_t i = 0; i < p->m; i++) {
        y[i] = 0.0;
        for (int64_t j = 0; j < p->n; j++) y[i] += p->a[i * p->n + j] * x[j];
    }
}

/* <a_j, r>, linear in r. */
static number product(const problem *p, int64_t j, const number *r) {
    number sum = 0.0;
    for (int64_t i = 0; i < p->m; i++) sum += conj(p->a[i * p->n + j]) * r[i];
    return sum;
}

static csrec_status forward(const double *x, double *y, void *context) {
    multiply(context, (const number *)x, (number *)y);
    return CSREC_OK;
}

static csrec_status adjoint(const double *y, double *x, void *context) {
    const problem *p = context;
    for (int64_t j = 0; j < p->n; j++) ((number *)x)[j] = product(p, j, (const number *)y);
    return CSREC_OK;
}

/* Parts of y of comparable length, 1 to 2, of any phase. */
static void draw_sparse(problem *p) {
    for (int64_t found = 0; found < p->k;) {
        int64_t j = check_below(&seed, p->n);
        if (p->x[j] != 0.0) continue;
        p->x[j] = (1.0 + check_uniform(&seed)) * cexp(I * angle()) / length(p->m, p->n, p->a + j);
        found++;
    }
    multiply(p, p->x, p->y);
}

/* Distinct frequencies of n entries. */
static void draw_frequencies(problem *p) {
    OWNED int64_t *order = check_order(&seed, p->n);
    p->index = check_keep((size_t)p->n * sizeof *order);
    memcpy(p->index, order, (size_t)p->n * sizeof *order);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            p->a[i * p->n + j] = cexp(-2.0 * I * 3.141592653589793 *
                                      (double)(p->index[i] * j % p->n) / (double)p->n);
}

/* The matrix by columns. */
static void store_columns(problem *p) {
    p->index = check_keep((size_t)(p->m * p->n) * sizeof *p->index);
    p->offset = check_keep((size_t)(p->n + 1) * sizeof *p->offset);
    p->columns = check_keep((size_t)(p->m * p->n) * sizeof *p->columns);
    for (int64_t j = 0; j <= p->n; j++) p->offset[j] = j * p->m;
    for (int64_t k = 0; k < p->m * p->n; k++) {
        p->index[k] = k % p->m;
        p->columns[k] = p->a[k % p->m * p->n + k / p->m];
    }
}

/* kind: dense, callback, sparse or fourier. False: the library has no Fourier transforms. */
static bool open_problem(problem *p, const char *kind, int64_t m, int64_t n, int64_t k) {
    *p = (problem){.m = m, .n = n, .k = k};
    p->a = check_keep((size_t)(m * n) * sizeof *p->a);
    p->x = check_keep_zeros((size_t)n, sizeof *p->x);
    p->y = check_keep((size_t)m * sizeof *p->y);
    if (strcmp(kind, "fourier") == 0)
        draw_frequencies(p);
    else
        /* Columns of lengths from 0.1 to 10. */
        for (int64_t j = 0; j < p->n; j++) {
            double scale = pow(10.0, 2.0 * check_uniform(&seed) - 1.0) / sqrt(2.0 * (double)p->m);
            for (int64_t i = 0; i < p->m; i++) p->a[i * p->n + j] = scale * draw_number();
        }
    if (strcmp(kind, "sparse") == 0) store_columns(p);
    draw_sparse(p);
    const csrec_shape shape = {1, {n}};
    const csrec_operator_spec spec = {.name = kind,
                                      .m = m,
                                      .n = n,
                                      .matrix = (const double *)(p->columns ? p->columns : p->a),
                                      .complex_signal = true,
                                      .shape = &shape,
                                      .index = p->index,
                                      .offset = p->offset,
                                      .forward = forward,
                                      .adjoint = adjoint,
                                      .context = p};
    csrec_error error = {""};
    csrec_status status = csrec_operator_create(&spec, &p->A, &error);
    if (status && status != CSREC_UNSUPPORTED) fail_msg("%s: %s", kind, error.text);
    if (status) print_message("SKIPPED: %s\n", error.text);
    return !status;
}

static void close_problem(problem *p) {
    csrec_operator_destroy(p->A);
}

/* x [n] and r [m]. */
static void solve(const problem *p, csrec_solve_options options, number *x, number *r) {
    solve_for(p->A, (const double *)p->y, &options, (double *)x, (double *)r);
}

/* The column outside `picked` with the largest |<a_j, r>| / ||a_j||. */
static int64_t best_column(const problem *p, const number *r, int64_t k, const int64_t *picked) {
    int64_t best = -1;
    double most = -1.0;
    for (int64_t j = 0; j < p->n; j++) {
        double c = cabs(product(p, j, r)) / length(p->m, p->n, p->a + j);
        for (int64_t i = 0; i < k; i++)
            if (picked[i] == j) c = -2.0;
        if (c > most) most = c, best = j;
    }
    return best;
}

/* G z = b by elimination: G is positive definite, so no pivots are needed. */
static void eliminate(int64_t k, number G[K_MOST][K_MOST], number *b) {
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = c + 1; i < k; i++) {
            number f = G[i][c] / G[c][c];
            for (int64_t j = c; j < k; j++) G[i][j] -= f * G[c][j];
            b[i] -= f * b[c];
        }
    for (int64_t i = k - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < k; j++) b[i] -= G[i][j] * b[j];
        b[i] /= G[i][i];
    }
}

/* x by the normal equations A_S^H A_S x_S = A_S^H y, and r. */
static void fit(const problem *p, int64_t k, const int64_t *S, number *x, number *r) {
    number G[K_MOST][K_MOST], z[K_MOST];
    for (int64_t a = 0; a < k; a++) {
        z[a] = product(p, S[a], p->y);
        for (int64_t b = 0; b < k; b++) {
            G[a][b] = 0.0;
            for (int64_t i = 0; i < p->m; i++)
                G[a][b] += conj(p->a[i * p->n + S[a]]) * p->a[i * p->n + S[b]];
        }
    }
    eliminate(k, G, z);
    memset(x, 0, (size_t)p->n * sizeof *x);
    for (int64_t a = 0; a < k; a++) x[S[a]] = z[a];
    multiply(p, x, r);
    for (int64_t i = 0; i < p->m; i++) r[i] = p->y[i] - r[i];
}

/* Each entry to 1e-9 of y, as a part of A x: the normal equations of a few random columns. */
static void expect_x(const problem *p, const char *what, const number *x, const number *expected) {
    for (int64_t j = 0; j < p->n; j++) {
        double size = length(p->m, p->n, p->a + j);
        if (!(cabs(x[j] - expected[j]) * size <= 1e-9 * length(p->m, 1, p->y)))
            fail_msg("%s: x[%d] = %g + %g i, not %g + %g i", what, (int)j, creal(x[j]), cimag(x[j]),
                     creal(expected[j]), cimag(expected[j]));
    }
}

static const char *const kinds[] = {"dense", "callback", "sparse", "fourier"};

/* Noise alone: every pick is decided by small differences. */
TEST(pursuits_take_their_steps) {
    for (int round = 0; round < 60; round++) {
        ENDS_BY(close_problem) problem p;
        const int64_t n = 20 + check_below(&seed, 40), m = 16 + check_below(&seed, 5);
        if (!open_problem(&p, kinds[round % 4], m, n, 1)) continue;
        OWNED number *x = calloc((size_t)n, sizeof *x), *expected = calloc((size_t)n, sizeof *x);
        number r[M_MOST], plain[M_MOST];
        int64_t S[K_MOST];
        for (int64_t i = 0; i < m; i++) p.y[i] = draw_number();
        memcpy(plain, p.y, (size_t)m * sizeof *plain);
        for (int64_t k = 0; k < K_MOST; k++) { /* mp: columns may come again */
            int64_t j = best_column(&p, plain, 0, S);
            double square = length(m, n, p.a + j) * length(m, n, p.a + j);
            number step = product(&p, j, plain) / square;
            expected[j] += step;
            for (int64_t i = 0; i < m; i++) plain[i] -= step * p.a[i * n + j];
        }
        solve(&p, solver_by("mp", (csrec_stop){.atoms = K_MOST}, NULL), x, r);
        expect_x(&p, "mp", x, expected);
        memcpy(plain, p.y, (size_t)m * sizeof *plain);
        for (int64_t k = 0; k < K_MOST; k++) {
            S[k] = best_column(&p, plain, k, S);
            fit(&p, k + 1, S, expected, plain);
        }
        solve(&p, solver_by("omp", (csrec_stop){.atoms = K_MOST}, NULL), x, r);
        expect_x(&p, "omp", x, expected);
        for (int64_t i = 0; i < m; i++)
            assert_true(cabs(r[i] - plain[i]) <= 1e-9 * length(m, 1, p.y));
    }
}

static const char *const exact_solvers[] = {"omp", "romp", "cosamp", "iht", "htp"};

/* 64 complex samples of at most 3 of 100 entries: deep inside the region where each succeeds. */
TEST(sparse_signals_are_recovered) {
    for (int s = 0; s < 5; s++)
        for (int round = 0; round < 20; round++) {
            ENDS_BY(close_problem) problem p;
            if (!open_problem(&p, kinds[round % 3], 64, 100, 1 + check_below(&seed, 3))) continue;
            const csrec_setting set = {"k", (double)p.k};
            const csrec_stop stop = {.epsilon = 1e-12, .atoms = 60};
            number x[100], r[M_MOST];
            solve(&p, solver_by(exact_solvers[s], stop, s ? &set : NULL), x, r);
            expect_x(&p, exact_solvers[s], x, p.x);
        }
}

/* Of exp(i t) y the solution is exp(i t) x, because only magnitudes are compared: three steps of
 * each solver on noise, and all of fista's, whose rounds on few columns differ on their way. */
TEST(phases_do_not_matter) {
    static const char *const solvers[] = {"mp", "omp", "romp", "cosamp", "iht", "htp", "fista"};
    for (int s = 0; s < 7; s++)
        for (int round = 0; round < 20; round++) {
            ENDS_BY(close_problem) problem p;
            if (!open_problem(&p, kinds[round % 3], 30, 50, 1)) continue;
            const csrec_setting set = {"k", 5.0};
            const csrec_stop stop = {.atoms = s < 6 ? 3 : 0};
            const csrec_solve_options options =
                solver_by(solvers[s], stop, s >= 2 && s < 6 ? &set : NULL);
            number x[50], turned[50], r[M_MOST], by = cexp(I * angle());
            for (int64_t i = 0; i < p.m; i++) p.y[i] = draw_number();
            solve(&p, options, x, r);
            for (int64_t i = 0; i < p.m; i++) p.y[i] *= by;
            solve(&p, options, turned, r);
            for (int64_t j = 0; j < p.n; j++) x[j] *= by;
            expect_x(&p, solvers[s], turned, x);
        }
}

/* The fit of what the l1 problem finds is that of the normal equations. */
TEST(debias_fits_whole_entries) {
    for (int round = 0; round < 12; round++) {
        ENDS_BY(close_problem) problem p;
        if (!open_problem(&p, kinds[round % 4], 48, 64, 3)) continue;
        csrec_setting set[2] = {{"lambda", 0.1}, {"debias", 0.0}};
        csrec_solve_options options = {
            .solver = "fista", .stop = {.atoms = 2000}, .settings = set, .n_settings = 2};
        number x[64], expected[64], r[M_MOST], plain[M_MOST];
        int64_t S[64], k = 0;
        solve(&p, options, x, r);
        for (int64_t j = 0; j < p.n; j++)
            if (x[j] != 0.0) S[k++] = j;
        set[1].value = 1.0;
        solve(&p, options, x, r);
        if (k <= K_MOST) {
            fit(&p, k, S, expected, plain);
            expect_x(&p, "debias", x, expected);
        }
    }
}

/* Many right-hand sides, and the limits count complex numbers. */
TEST(many_and_limits) {
    enum { COUNT = 40, M = 20, N = 30, K = 4 };
    ENDS_BY(close_problem) problem p;
    csrec_atoms many[COUNT], one;
    number y[COUNT][M];
    csrec_solve_options options = {.solver = "omp", .stop = {.atoms = K}};
    assert_true(open_problem(&p, "dense", M, N, 1));
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < M; i++) y[k][i] = draw_number();
    assert_well(csrec_solve_many(p.A, COUNT, (double *)y, &options, 2, many, NULL, NULL, &told));
    for (int k = 0; k < COUNT; k++) {
        assert_ok(csrec_solve(p.A, (double *)y[k], &options, &one, NULL, NULL, NULL));
        assert_int_equal(many[k].n, 2 * K);
        for (int64_t i = 0; i < one.n; i++) {
            assert_true(many[k].column[i] == one.column[i]);
            assert_true(many[k].coefficient[i] == one.coefficient[i]);
        }
        csrec_atoms_clear(&one);
        csrec_atoms_clear(&many[k]);
    }
    options.stop.atoms = M + 1;
    assert_fails(csrec_solve(p.A, (double *)y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT);
    csrec_setting set = {"k", M + 1};
    options = (csrec_solve_options){.solver = "iht", .settings = &set, .n_settings = 1};
    assert_refused(csrec_solve(p.A, (double *)y, &options, NULL, NULL, NULL, &told), CSREC_ARGUMENT,
                   "20 samples of 30");
    p.a[2 * N + 5] = INFINITY * I;
    csrec_operator *A = NULL;
    const csrec_operator_spec spec = {
        .name = "dense", .m = M, .n = N, .matrix = (double *)p.a, .complex_signal = true};
    assert_refused(csrec_operator_create(&spec, &A, &told), CSREC_DATA, "(2, 5)");
}

/* A^T y of pairs is A^H y, of all columns and of some, and of each of several y. */
TEST(adjoints_are_conjugate) {
    for (int64_t round = 0; round < 9; round++) {
        const int64_t copies = 1 + round / 3;
        ENDS_BY(close_problem) problem p;
        assert_true(open_problem(&p, kinds[round % 3], 1 + check_below(&seed, 40),
                                 1 + check_below(&seed, 40), 1));
        const csrec_operator_spec spec = {.name = "pairs", .first = p.A, .n = copies};
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        OWNED number *y = malloc((size_t)A->m * sizeof *y), *x = malloc((size_t)A->n * sizeof *x);
        OWNED number *own = malloc((size_t)p.m * sizeof *own);
        OWNED bool *chosen = calloc((size_t)A->n, sizeof *chosen);
        for (int64_t i = 0; i < copies * p.m; i++)
            y[i] = check_normal(&seed) + I * check_normal(&seed);
        for (int64_t j = 0; j < A->n; j++)
            chosen[j] = j % A->parts ? chosen[j - 1] : check_below(&seed, 2) == 0;
        for (int64_t some = 0; some < 2; some++) {
            assert_ok(
                csrec_operator_adjoint_on(A, 1, some ? chosen : NULL, (double *)y, (double *)x));
            for (int64_t k = 0; k < copies * p.n; k++) {
                const int64_t j = k / copies;
                for (int64_t i = 0; i < p.m; i++) own[i] = y[i * copies + k % copies];
                number expected = some && !chosen[2 * k] ? 0.0 : product(&p, j, own);
                assert_true(cabs(x[k] - expected) <
                            1e-12 * length(p.m, p.n, p.a + j) * (1.0 + length(p.m, 1, own)));
            }
        }
    }
}
