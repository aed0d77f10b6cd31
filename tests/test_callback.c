/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of the caller's functions: solvers use their products alone, one call at a time; a
 * failure and a value that is not finite end in a line that names it. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>
#include "operators.h"

SEED(seed);
enum { ROWS = 40, COLUMNS = 90, PICKED = 5 };

typedef struct given {
    struct drawn_matrix drawn;
    int calls, most;  /* after `most` of them NaN, or a failure */
    const char *last; /* that was called */
    bool nan;
} given;

static csrec_status end_of(given *g, const char *name, double *out) {
    g->last = name;
    if (++g->calls <= g->most) return CSREC_OK;
    if (!g->nan) return CSREC_UNSUPPORTED;
    out[0] = NAN;
    return CSREC_OK;
}

static csrec_status times(const double *x, double *y, void *context) {
    times_drawn(x, y, &((given *)context)->drawn);
    return end_of(context, "forward", y);
}

static csrec_status transposed_times(const double *y, double *x, void *context) {
    transposed_times_drawn(y, x, &((given *)context)->drawn);
    return end_of(context, "adjoint", x);
}

/* Of the functions, or of the matrix. */
static csrec_operator *create_given(given *g, bool dense) {
    const csrec_operator_spec spec = {.name = dense ? "dense" : "callback",
                                      .m = g->drawn.m,
                                      .n = g->drawn.n,
                                      .matrix = g->drawn.matrix,
                                      .forward = times,
                                      .adjoint = transposed_times,
                                      .context = g};
    return operator_of(&spec);
}

/* A sparse x, and what the solvers make of its products: with the matrix and with the functions. */
TEST(solvers_need_products_alone) {
    static const char *const solvers[] = {"fista", "iht", "htp", "cosamp", "romp", "omp", "mp"};
    double matrix[ROWS * COLUMNS], x[COLUMNS] = {0.0}, y[ROWS];
    for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = check_normal(&seed) / sqrt((double)ROWS);
    for (int k = 0; k < PICKED; k++) x[check_below(&seed, COLUMNS)] = 1.0 + check_uniform(&seed);
    given g = {.drawn = {ROWS, COLUMNS, matrix}, .most = 1 << 30};
    times(x, y, &g);
    ENDS_BY(end_operator)
    csrec_operator *A = create_given(&g, false), *dense = create_given(&g, true);
    for (int s = 0; s < 7; s++) {
        const csrec_setting settings[] = {{s == 0 ? "lambda" : "k", s == 0 ? 0.01 : PICKED}};
        csrec_solve_options options = {.solver = solvers[s],
                                       .settings = settings,
                                       .n_settings = s < 5,
                                       .stop.atoms = s < 5 ? 0 : PICKED};
        double a[COLUMNS], b[COLUMNS];
        solve_for(A, y, &options, a, NULL);
        solve_for(dense, y, &options, b, NULL);
        for (int j = 0; j < COLUMNS; j++)
            if (fabs(a[j] - b[j]) > 1e-6) fail_msg("%s: x[%d] = %g, %g", solvers[s], j, a[j], b[j]);
    }
}

/* Lengths from 0.01 to 100, which are too many to measure: the picks are those of exact lengths,
 * and few products are taken; and so many picks that the estimates become sharper. */
TEST(picks_are_those_of_exact_lengths) {
    enum { M = 40, N = 3000, ATOMS = 8, MANY = 24 };
    double *matrix = kept_normals(&seed, M * N), *y = kept_normals(&seed, M), x[2][N];
    for (int j = 0; j < N; j++) {
        const double scale = pow(10.0, 4.0 * check_uniform(&seed) - 2.0);
        for (int i = 0; i < M; i++) matrix[i * N + j] *= scale;
    }
    for (int s = 0; s < 3; s++) {
        given g = {.drawn = {M, N, matrix}, .most = 1 << 30};
        const csrec_solve_options options = {.solver = s == 1 ? "mp" : "omp",
                                             .stop.atoms = s == 2 ? MANY : ATOMS};
        for (int o = 0; o < 2; o++) {
            ENDS_BY(end_operator) csrec_operator *A = create_given(&g, o);
            solve_for(A, y, &options, x[o], NULL);
        }
        for (int j = 0; j < N; j++)
            if (!(fabs(x[0][j] - x[1][j]) <= 1e-9 * (1e-2 + fabs(x[1][j]))))
                fail_msg("%s: x[%d] = %g, not %g", options.solver, j, x[0][j], x[1][j]);
        if (g.calls > N / 2) fail_msg("%s: %d products", options.solver, g.calls);
    }
}

/* So many picks that x and r come by products: picks and x are those of a dense matrix, also where
 * the second half of the columns are those of the first but for 10^-4. */
TEST(many_picks_fit_as_few) {
    enum { M = 110, N = 120, ATOMS = 90 };
    static double matrix[M * N];
    double y[M], x[2][N], most = 0.0;
    for (int close = 0; close < 2; close++) {
        for (int i = 0; i < M * N; i++)
            matrix[i] = close && i % N >= N / 2 ? matrix[i - N / 2] + 1e-4 * check_normal(&seed)
                                                : check_normal(&seed);
        for (int i = 0; i < M; i++) y[i] = check_normal(&seed);
        given g = {.drawn = {M, N, matrix}, .most = 1 << 30};
        const csrec_solve_options options = {.solver = "omp", .stop.atoms = ATOMS};
        for (int o = 0; o < 2; o++) {
            ENDS_BY(end_operator) csrec_operator *A = create_given(&g, o);
            double r[M], image[M];
            assert_int_equal(solve_for(A, y, &options, x[o], r).iterations, ATOMS);
            assert_ok(csrec_operator_forward(A, x[o], image));
            for (int i = 0; i < M; i++) assert_true(fabs(image[i] + r[i] - y[i]) <= 1e-9);
        }
        for (int j = 0; j < N; j++) most = fmax(most, fabs(x[1][j]));
        for (int j = 0; j < N; j++)
            if (!(fabs(x[0][j] - x[1][j]) <= 1e-9 * most))
                fail_msg("%d: x[%d] = %g, not %g", close, j, x[0][j], x[1][j]);
    }
}

/* The status of the function is that of the solver, NaN are data, the line names the function. */
TEST(failures_of_products_end_a_solver) {
    double *matrix = kept_normals(&seed, ROWS * COLUMNS), *y = kept_normals(&seed, ROWS);
    for (int nan = 0; nan < 2; nan++)
        for (int most = 0; most < 6; most++) {
            given g = {.drawn = {ROWS, COLUMNS, matrix}, .most = most, .nan = nan};
            ENDS_BY(end_operator) csrec_operator *A = create_given(&g, false);
            const csrec_setting k = {"k", PICKED};
            csrec_solve_options options = {.solver = "iht", .settings = &k, .n_settings = 1};
            CLEARED(csrec_atoms) found = {0};
            csrec_error error = {""};
            csrec_status status = csrec_solve(A, y, &options, &found, NULL, NULL, &error);
            const char *out = *g.last == 'f' ? "y" : "x";
            const char *words = check_print(nan ? "%s gives %s[0] = " : "%s failed", g.last, out);
            assert_true(check_answer(status, nan ? CSREC_DATA : CSREC_UNSUPPORTED, words, &error));
        }
}

typedef struct shared {
    struct drawn_matrix drawn;
    atomic_int inside, overlaps, calls;
    double *buffer;           /* that the functions share */
    csrec_operator *self;     /* forward uses it, too */
    pthread_barrier_t *meets; /* a call waits for another one here */
} shared;

static void enter(shared *s) {
    atomic_fetch_add(&s->calls, 1);
    if (atomic_fetch_add(&s->inside, 1) > 0 && !s->meets) atomic_fetch_add(&s->overlaps, 1);
    if (s->meets) pthread_barrier_wait(s->meets);
}

static void leave(shared *s, int64_t n, double *out) {
    if (!s->meets) {
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        memcpy(out, s->buffer, (size_t)n * sizeof *out);
    }
    atomic_fetch_sub(&s->inside, 1);
}

static csrec_status shared_adjoint(const double *y, double *x, void *context) {
    shared *s = context;
    enter(s);
    transposed_times_drawn(y, s->meets ? x : s->buffer, &s->drawn);
    leave(s, s->drawn.n, x);
    return CSREC_OK;
}

static csrec_status shared_forward(const double *x, double *y, void *context) {
    shared *s = context;
    csrec_operator *self = s->self;
    if (self) { /* once: a call in a call is no overlap */
        OWNED double *own = calloc((size_t)(s->drawn.m + s->drawn.n), sizeof *own);
        s->self = NULL;
        assert_ok(csrec_operator_adjoint(self, own, own + s->drawn.m));
    }
    enter(s);
    times_drawn(x, s->meets ? y : s->buffer, &s->drawn);
    leave(s, s->drawn.m, y);
    return CSREC_OK;
}

static csrec_operator *create_shared(shared *s, bool parallel) {
    const csrec_operator_spec spec = {.name = "callback",
                                      .m = s->drawn.m,
                                      .n = s->drawn.n,
                                      .forward = shared_forward,
                                      .adjoint = shared_adjoint,
                                      .context = s,
                                      .parallel = parallel};
    return operator_of(&spec);
}

enum { SIGNALS = 6 };

/* The same x by any number of threads, as of the matrix. */
static void solve_by_threads(const csrec_operator *A, const csrec_operator *dense, shared *s) {
    int64_t m, n;
    csrec_operator_size(A, &m, &n);
    double *y = kept_normals(&seed, SIGNALS * m);
    double *r[2] = {kept_normals(&seed, SIGNALS * m), kept_normals(&seed, SIGNALS * m)};
    const csrec_setting k = {"k", 3};
    /* before ||r|| is flat, where rounding decides whether a step is taken that moves r by 1e-8 */
    const csrec_stop stop = {.atoms = 5, .stagnation = 1e-3};
    const csrec_solve_options options = {
        .solver = "iht", .settings = &k, .n_settings = 1, .stop = stop};
    for (int threads = 1; threads <= 4; threads += 3) {
        assert_well(
            csrec_solve_many(A, SIGNALS, y, &options, threads, NULL, r[threads > 1], NULL, &told));
    }
    assert_memory_equal(r[0], r[1], (size_t)(SIGNALS * m) * sizeof *y);
    assert_int_equal(atomic_load(&s->overlaps), 0);
    if (dense) assert_ok(csrec_solve_many(dense, SIGNALS, y, &options, 1, NULL, r[1], NULL, NULL));
    for (int64_t i = 0; i < SIGNALS * m; i++)
        if (fabs(r[0][i] - r[1][i]) > 1e-9) fail_msg("r[%d] = %g, %g", (int)i, r[0][i], r[1][i]);
}

static void *use(void *A) {
    double x[COLUMNS] = {1.0}, y[ROWS];
    for (int i = 0; i < 50; i++) {
        assert_ok(csrec_operator_forward(A, x, y));
        assert_ok(csrec_operator_adjoint(A, y, x));
    }
    return NULL;
}

static void use_twice(csrec_operator *A) {
    pthread_t other[2];
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&other[k], NULL, use, A), 0);
    for (int k = 0; k < 2; k++) pthread_join(other[k], NULL);
}

TEST(calls_come_one_at_a_time) {
    double *matrix = kept_normals(&seed, ROWS * COLUMNS), buffer[COLUMNS];
    double *square = kept_normals(&seed, ROWS * ROWS);
    shared s = {.drawn = {ROWS, COLUMNS, matrix}, .buffer = buffer};
    const csrec_operator_spec specs[] = {
        {.name = "dense", .m = ROWS, .n = ROWS, .matrix = square},
        {.name = "dense", .m = ROWS, .n = COLUMNS, .matrix = matrix}};
    ENDS_BY(end_operator)
    csrec_operator *A = create_shared(&s, false), *D = operator_of(&specs[0]),
                   *dense = operator_of(&specs[1]);
    const csrec_operator_spec with[] = {{.name = "chain", .first = A, .second = D},
                                        {.name = "pairs", .first = A}};
    csrec_operator *of[] = {operator_of(&with[0]), operator_of(&with[1])};
    s.self = A;
    solve_by_threads(A, dense, &s);
    for (int k = 0; k < 2; k++) solve_by_threads(of[k], NULL, &s);
    use_twice(A);
    assert_int_equal(atomic_load(&s.overlaps), 0);
    for (int k = 0; k < 2; k++) csrec_operator_destroy(of[k]);
}

/* Two calls that wait for each other: they end because both are under way. */
TEST(parallel_calls_overlap) {
    double matrix[ROWS * COLUMNS] = {1.0};
    pthread_barrier_t meets;
    pthread_barrier_init(&meets, NULL, 2);
    shared s = {.drawn = {ROWS, COLUMNS, matrix}, .meets = &meets};
    ENDS_BY(end_operator) csrec_operator *A = create_shared(&s, true);
    use_twice(A);
    pthread_barrier_destroy(&meets);
}
