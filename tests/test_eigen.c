/* SPDX-License-Identifier: BSD-3-Clause */
/* test_eigen.c - eigenvectors against their definition, and eigenvalues against LAPACK's: of small
 * matrices on the CPU, and the largest ones on a device (cuSOLVER). LAPACK's own are by relatively
 * robust representations, which this bound does not hold for. */
#include "backends.h"
#include <float.h>
#include "learn/engine.h"

SEED(seed);

/* Symmetric matrices of some kinds, scaled by 2^-most to 2^most: any, of low rank, diagonal, nearly
 * flat as the covariances of patches are, of integers with equal eigenvalues, zero. */
static double *draw(int kind, int n, int most) {
    int rank = kind == 1 ? 1 + (int)check_below(&seed, n) : n;
    double scale = ldexp(1.0, (int)check_below(&seed, 2 * most + 1) - most);
    OWNED double *v = malloc((size_t)n * sizeof *v);
    double *A = check_keep_zeros((size_t)n * (size_t)n, sizeof *A);
    for (int k = 0; k < rank && kind < 4; k++) {
        double size = kind == 3 ? pow(10.0, -12.0 * k / n) : kind == 0 ? check_normal(&seed) : 1.0;
        for (int i = 0; i < n; i++)
            v[i] = kind == 2 ? (i == k) * check_normal(&seed) : check_normal(&seed);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) A[i * n + j] += size * (v[i] * v[j]);
    }
    for (int i = 0; i < n && kind == 4; i++) {
        A[i * n + i] = 2.0;
        if (i % 3) A[i * n + i - 1] = A[(i - 1) * n + i] = 1.0;
    }
    for (int i = 0; i < n * n; i++) A[i] *= scale;
    return A;
}

/* Of squares that overflow. */
static double norm_of(int n, const double *A) {
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(A[i]));
    for (int i = 0; i < n && largest > 0.0; i++) sum += (A[i] / largest) * (A[i] / largest);
    return largest * sqrt(sum);
}

/* Orthogonal transformations in turn, each good to a few units of rounding: errors grow no faster
 * than with n (Golub and Van Loan 2013, section 8.3.5). */
static double allowed(int n) {
    return 8.0 * n * DBL_EPSILON;
}

/* Unit rows at right angles, A v = l v. */
static void check_vectors(int n, const double *A, int count, const double *values,
                          const double *V) {
    double norm = norm_of(n * n, A), *off = check_keep((size_t)n * sizeof *off);
    for (int a = 0; a < count; a++) {
        const double *v = V + a * n;
        for (int i = 0; i < n; i++) {
            off[i] = -values[a] * v[i];
            for (int j = 0; j < n; j++) off[i] += A[i * n + j] * v[j];
        }
        assert_true(norm_of(n, off) <= allowed(n) * norm);
        for (int b = 0; b <= a; b++) {
            double dot = 0.0;
            for (int i = 0; i < n; i++) dot += v[i] * V[b * n + i];
            assert_true(fabs(dot - (a == b)) <= allowed(n));
        }
    }
}

enum { MOST = 70 };

TEST(follow_lapack) {
    static double B[MOST * MOST], V[MOST * MOST], W[MOST * MOST];
    double values[MOST], wanted[MOST], work[4 * MOST];
    for (int trial = 0; trial < 40; trial++) {
        int n = trial < 8 ? 1 + trial / 2 : 1 + (int)check_below(&seed, MOST);
        double *A = draw(trial % 6, n, 500);
        memcpy(B, A, (size_t)(n * n) * sizeof *B);
        assert_true(csrec_eigen_all(n, B, values, V, work));
        check_vectors(n, A, n, values, V);
        memcpy(B, A, (size_t)(n * n) * sizeof *B);
        assert_ok(csrec_eigen_largest(n, B, n, wanted, W, NULL));
        qsort(values, (size_t)n, sizeof *values, check_ascend_reals);
        for (int k = 0; k < n; k++)
            assert_true(fabs(values[k] - wanted[n - 1 - k]) <= allowed(n) * norm_of(n * n, A));
    }
}

TEST(what_is_not_finite_is_refused) {
    const double bad[] = {NAN, INFINITY, -INFINITY};
    double V[64], values[8], work[32];
    for (int trial = 0; trial < 12; trial++) {
        int i = (int)check_below(&seed, 8), j = (int)check_below(&seed, 8);
        double *A = draw(0, 8, 500);
        A[i * 8 + j] = A[j * 8 + i] = bad[trial % 3];
        assert_false(csrec_eigen_all(8, A, values, V, work));
    }
}

/* Skips without a device, or without cuSOLVER. */
static const char *solver_of(void **state) {
    const char *backend = check_backend(state);
    csrec_error error;
    if (!csrec_learn_usable(backend, &error)) return backend;
    print_message("SKIPPED: %s\n", error.text);
    skip();
    return NULL;
}

static void solve(const char *backend, int n, const double *A, int count, double *values,
                  double *V) {
    OWNED double *copy = malloc((size_t)n * (size_t)n * sizeof *A);
    const char *used = NULL;
    for (int i = 0; i < n * n; i++) copy[i] = i % n > i / n ? NAN : A[i]; /* is not to be read */
    for (int i = 0; i < count; i++) values[i] = NAN;
    for (int i = 0; i < count * n; i++) V[i] = NAN;
    assert_well(csrec_eigen_largest_on(backend, n, copy, count, values, V, &used, &told));
    assert_string_equal(used, backend);
}

/* Values fall, the largest entry of a vector is positive; the same bits again. */
static void check_largest(const char *backend, int kind, int n, int count) {
    size_t entries = (size_t)count * (size_t)n;
    double *A = draw(kind, n, 100), *V = check_keep(entries * sizeof *V);
    double *again = check_keep(entries * sizeof *V);
    double *values = check_keep(2 * (size_t)count * sizeof *values), *lapack = values + count;
    solve(backend, n, A, count, values, V);
    check_vectors(n, A, count, values, V);
    for (int a = 0; a < count; a++) {
        double largest = 0.0;
        for (int i = 0; i < n; i++)
            if (fabs(V[a * n + i]) > fabs(largest) * (1.0 + 1e-9)) largest = V[a * n + i];
        assert_true(largest > 0.0 && (a == 0 || values[a] <= values[a - 1]));
    }
    solve(backend, n, A, count, lapack, again);
    assert_memory_equal(V, again, entries * sizeof *V);
    solve("cpu", n, A, count, lapack, again);
    for (int i = 0; i < count; i++) /* both are off by as much */
        assert_true(fabs(values[i] - lapack[i]) <= 2.0 * allowed(n) * norm_of(n * n, A));
}

TEST_ON("cuda", follows_the_definition_and_lapack) {
    const char *backend = solver_of(state);
    for (int kind = 0; kind < 6; kind++) {
        const int sizes[] = {1, 2, 3, 7, 32, 33, 1 + (int)check_below(&seed, 200), 65, 300};
        const size_t count = getenv("CSREC_TEST_BRIEF") ? 6 : sizeof sizes / sizeof *sizes;
        for (size_t s = 0; s < count; s++) {
            int n = sizes[s];
            check_largest(backend, kind, n, n);
            check_largest(backend, kind, n, 1 + (int)check_below(&seed, n));
        }
    }
}

TEST_ON("cuda", mistakes_are_refused_there) {
    const char *backend = solver_of(state), *used;
    double A[4] = {1, 0, 0, 2}, values[2], V[4];
    csrec_error error;
    assert_int_equal(csrec_eigen_largest_on(backend, 2, A, 3, values, V, &used, &error),
                     CSREC_ARGUMENT);
    assert_int_equal(csrec_eigen_largest_on(backend, 0, A, 0, values, V, &used, &error),
                     CSREC_ARGUMENT);
    assert_ok(csrec_eigen_largest_on(backend, 2, A, 2, values, V, &used, &error));
    assert_true(values[0] == 2.0 && values[1] == 1.0 && V[1] == 1.0 && V[2] == 1.0);
    A[2] = INFINITY;
    assert_int_equal(csrec_eigen_largest_on(backend, 2, A, 2, values, V, &used, &error),
                     CSREC_DATA);
}

TEST(mistakes_are_refused) {
    double A[4] = {1, 0, 0, 2}, values[2], V[4];
    const char *used;
    csrec_error error;
    assert_int_equal(csrec_learn_usable("gpu", &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_eigen_largest_on("gpu", 2, A, 2, values, V, &used, &error),
                     CSREC_ARGUMENT);
    assert_ok(csrec_learn_usable("auto", &error));
    if (!csrec_learn_usable("cuda", &error)) return;
    assert_refused(csrec_learn_usable("cuda", &told), CSREC_DEVICE, "backend cpu");
    assert_int_equal(csrec_eigen_largest_on("cuda", 2, A, 2, values, V, &used, &error),
                     CSREC_DEVICE);
}

/* auto succeeds even where a device refuses. */
TEST(auto_always_works) {
    enum { N = 2 };
    double A[N * N] = {2, NAN, 1, 2}, values[N], V[N * N]; /* the lower triangle counts */
    const char *used = NULL;
    assert_ok(csrec_eigen_largest_on("auto", N, A, N, values, V, &used, NULL));
    assert_string_equal(used, "cpu"); /* too small to pay */
    assert_true(fabs(values[0] - 3.0) < 1e-14 && fabs(values[1] - 1.0) < 1e-14);
}
