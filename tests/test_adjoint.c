/* SPDX-License-Identifier: BSD-3-Clause */
/* Adjoints of the caller's functions are tested before a solve: a wrong one, and a map that is not
 * linear in complex numbers, end in a line with both numbers. */
#include "operators.h"

SEED(seed);

/* Products in single precision, of two matrices: the adjoint's may be another one. */
typedef struct twofold {
    int64_t m, n;
    const double *forward, *adjoint; /* [m][n] */
    int calls;
} twofold;

static csrec_status rough_forward(const double *x, double *y, void *context) {
    twofold *t = context;
    t->calls++;
    for (int64_t i = 0; i < t->m; i++) {
        float sum = 0.0f;
        for (int64_t j = 0; j < t->n; j++) sum += (float)t->forward[i * t->n + j] * (float)x[j];
        y[i] = sum;
    }
    return CSREC_OK;
}

static csrec_status rough_adjoint(const double *y, double *x, void *context) {
    twofold *t = context;
    t->calls++;
    for (int64_t j = 0; j < t->n; j++) {
        float sum = 0.0f;
        for (int64_t i = 0; i < t->m; i++) sum += (float)t->adjoint[i * t->n + j] * (float)y[i];
        x[j] = sum;
    }
    return CSREC_OK;
}

static csrec_operator_spec rough_spec(twofold *t, bool complex_signal) {
    const int parts = complex_signal ? 2 : 1;
    return (csrec_operator_spec){.name = "callback",
                                 .m = t->m / parts,
                                 .n = t->n / parts,
                                 .complex_signal = complex_signal,
                                 .forward = rough_forward,
                                 .adjoint = rough_adjoint,
                                 .context = t};
}

/* Solves for y = 0: the test of the adjoint is nearly all there is. */
static csrec_status solve_nothing(const csrec_operator *A, int64_t count, csrec_error *error) {
    int64_t m, n;
    csrec_operator_size(A, &m, &n);
    OWNED double *y = calloc((size_t)(count * m), sizeof *y);
    const csrec_setting lambda = {"lambda", 1.0};
    const csrec_solve_options options = {
        .solver = "fista", .settings = &lambda, .n_settings = 1, .stop.atoms = 1};
    return count == 1 ? csrec_solve(A, y, &options, NULL, NULL, NULL, error)
                      : csrec_solve_many(A, count, y, &options, 2, NULL, NULL, NULL, error);
}

/* The real map of pairs that multiplication with complex numbers is: of the even columns a_j, the
 * odd ones are i a_j. */
static void as_complex_map(int64_t m, int64_t n, double *A) {
    for (int64_t i = 0; i < m; i += 2)
        for (int64_t j = 0; j < n; j += 2) {
            A[i * n + j + 1] = -A[(i + 1) * n + j];
            A[(i + 1) * n + j + 1] = A[i * n + j];
        }
}

/* One of 200 wrong adjoints is missed with a probability of 2e-4 (two normal numbers that happen to
 * be close), five of them in one of 10^9 runs. */
TEST(wrong_adjoints_are_told) {
    int missed = 0;
    for (int round = 0; round < 200; round++) {
        const bool pairs = check_below(&seed, 2);
        const int64_t m = (1 + check_below(&seed, 40)) * (pairs ? 2 : 1),
                      n = (1 + check_below(&seed, 40)) * (pairs ? 2 : 1);
        double *right = kept_normals(&seed, m * n), *wrong = kept_normals(&seed, m * n);
        double scale = 1.0;
        for (int64_t e = check_below(&seed, 300) - 150; e != 0; e -= e > 0 ? 1 : -1)
            scale *= e > 0 ? 1.5 : 1.0 / 1.5;
        for (int64_t i = 0; i < m * n; i++) {
            right[i] *= scale;
            wrong[i] = right[i] + 0.3 * scale * wrong[i];
        }
        if (pairs) as_complex_map(m, n, right);
        twofold t = {m, n, right, right, 0};
        ENDS_BY(end_operator) csrec_operator *A = NULL, *unchecked = NULL;
        csrec_error error = {""};
        csrec_operator_spec spec = rough_spec(&t, pairs);
        assert_ok(csrec_operator_create(&spec, &A, NULL));
        if (solve_nothing(A, 1, &error)) fail_msg("%d x %d: %s", (int)m, (int)n, error.text);
        t.adjoint = wrong;
        csrec_status status = solve_nothing(A, 1, &error);
        missed += status == CSREC_OK;
        /* where the real parts happen to be close, the imaginary ones tell */
        if (status && !strstr(error.text, "adjoint is not that of forward") &&
            !(pairs && strstr(error.text, "is not linear in complex x")))
            fail_msg("%s", error.text);
        spec.unchecked = true;
        assert_ok(csrec_operator_create(&spec, &unchecked, NULL));
        assert_ok(solve_nothing(unchecked, 1, &error));
    }
    if (missed > 4) fail_msg("%d wrong adjoints were missed", missed);
}

/* The adjoint is right, of a map of real and imaginary parts without A(i x) = i A x. */
TEST(maps_of_parts_are_not_complex) {
    int missed = 0;
    for (int round = 0; round < 200; round++) {
        const int64_t m = 2 + 2 * check_below(&seed, 40), n = 2 + 2 * check_below(&seed, 40);
        double *map = kept_normals(&seed, m * n);
        as_complex_map(m, n, map);
        for (int64_t i = 0; i < m * n; i++) /* the real part of x alone, or any map of its parts */
            map[i] = round % 2 ? (i % 2 ? 0.0 : map[i]) : map[i] + 0.3 * check_normal(&seed);
        twofold t = {m, n, map, map, 0};
        csrec_error error = {""};
        const csrec_operator_spec spec = rough_spec(&t, true);
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        csrec_status status = solve_nothing(A, 1 + round % 3, &error);
        missed += status == CSREC_OK;
        if (status && !strstr(error.text, "is not linear in complex x")) fail_msg("%s", error.text);
    }
    if (missed > 4) fail_msg("%d maps were missed", missed);
}

/* Once for all right-hand sides; factors of chains and pairs are tested through these. */
TEST(adjoints_are_tested_once) {
    double *right = kept_normals(&seed, 6), *square = kept_normals(&seed, 9), wrong[6];
    for (int i = 0; i < 6; i++) wrong[i] = 2.0 * right[i];
    csrec_operator *A[2];
    int calls[2][2];
    twofold t = {3, 2, right, right, 0};
    for (int unchecked = 0; unchecked < 2; unchecked++) {
        csrec_operator_spec spec = rough_spec(&t, false);
        spec.unchecked = unchecked;
        assert_ok(csrec_operator_create(&spec, &A[unchecked], NULL));
        for (int many = 0; many < 2; many++) {
            t.calls = 0;
            assert_ok(solve_nothing(A[unchecked], many ? 6 : 1, NULL));
            calls[unchecked][many] = t.calls;
        }
    }
    /* The product with y measures the columns, too, which one product is for without the test. */
    for (int many = 0; many < 2; many++) assert_int_equal(calls[0][many], calls[1][many] + 1);
    const csrec_operator_spec dense = {.name = "dense", .m = 3, .n = 3, .matrix = square};
    ENDS_BY(end_operator) csrec_operator *D = operator_of(&dense);
    t.adjoint = wrong;
    for (int unchecked = 0; unchecked < 2; unchecked++)
        for (int kind = 0; kind < 2; kind++) {
            const csrec_operator_spec with = {
                .name = kind ? "pairs" : "chain", .first = A[unchecked], .second = kind ? NULL : D};
            csrec_error error = {""};
            ENDS_BY(end_operator) csrec_operator *made = operator_of(&with);
            assert_int_equal(solve_nothing(made, 2, &error), unchecked ? CSREC_OK : CSREC_ARGUMENT);
            if (!unchecked && !strstr(error.text, "a relative difference of"))
                fail_msg("%s", error.text);
        }
    for (int k = 0; k < 2; k++) csrec_operator_destroy(A[k]);
}
