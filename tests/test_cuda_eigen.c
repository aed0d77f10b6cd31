/* test_cuda_eigen.c - eigenvectors by cuSOLVER against their definition, eigenvalues against
 * LAPACK's. */
#include "device.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/engine.h"

static uint64_t seed;

/* Reports what is missing: a device, or cuSOLVER. */
static bool no_solver(void) {
    csrec_error error;
    if (!csrec_learn_usable("cuda", &error)) return false;
    print_message("SKIPPED: %s\n", error.text);
    return true;
}

/* Symmetric matrices of some kinds: any, of low rank, diagonal, nearly flat as the covariances of
 * patches are, of integers with equal eigenvalues, zero. */
static double *draw(int kind, int n) {
    int rank = kind == 1 ? 1 + (int)check_below(&seed, n) : n;
    double scale = ldexp(1.0, (int)check_below(&seed, 201) - 100);
    double *v = malloc((size_t)n * sizeof *v), *A = calloc((size_t)n * (size_t)n, sizeof *A);
    assert_true(v && A);
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
    free(v);
    return A;
}

static double norm_of(int n, const double *A) {
    double sum = 0.0;
    for (int i = 0; i < n * n; i++) sum += A[i] * A[i];
    return sqrt(sum);
}

/* Orthogonal transformations in turn, each good to a few units of rounding: errors grow no faster
 * than with n (Golub and Van Loan 2013, section 8.3.5). */
static double allowed(int n) {
    return 8.0 * n * DBL_EPSILON;
}

/* Unit rows at right angles, largest entry positive, A v = l v, l falling. */
static void check_vectors(int n, const double *A, int count, const double *values,
                          const double *V) {
    double norm = norm_of(n, A);
    for (int a = 0; a < count; a++) {
        const double *v = V + a * n;
        double off = 0.0, largest = 0.0;
        assert_true(a == 0 || values[a] <= values[a - 1]);
        for (int i = 0; i < n; i++) {
            double sum = -values[a] * v[i];
            for (int j = 0; j < n; j++) sum += A[i * n + j] * v[j];
            off += sum * sum;
            if (fabs(v[i]) > fabs(largest) * (1.0 + 1e-9)) largest = v[i];
        }
        assert_true(largest > 0.0);
        assert_true(sqrt(off) <= allowed(n) * norm);
        for (int b = 0; b <= a; b++) {
            double dot = 0.0;
            for (int i = 0; i < n; i++) dot += v[i] * V[b * n + i];
            assert_true(fabs(dot - (a == b)) <= allowed(n));
        }
    }
}

static void solve(const char *backend, int n, const double *A, int count, double *values,
                  double *V) {
    double *copy = malloc((size_t)n * (size_t)n * sizeof *A);
    const char *used = NULL;
    csrec_error error;
    assert_non_null(copy);
    for (int i = 0; i < n * n; i++) copy[i] = i % n > i / n ? NAN : A[i]; /* is not to be read */
    for (int i = 0; i < count; i++) values[i] = NAN;
    for (int i = 0; i < count * n; i++) V[i] = NAN;
    if (csrec_eigen_largest_on(backend, n, copy, count, values, V, &used, &error))
        fail_msg("%s", error.text);
    assert_string_equal(used, backend);
    free(copy);
}

static void compare(int kind, int n, int count) {
    size_t entries = (size_t)count * (size_t)n;
    double *A = draw(kind, n), *V = malloc(entries * sizeof *V),
           *again = malloc(entries * sizeof *V);
    double *values = malloc(2 * (size_t)count * sizeof *values), *lapack = values + count;
    double norm = norm_of(n, A);
    assert_true(V && again && values);
    solve("cuda", n, A, count, values, V);
    check_vectors(n, A, count, values, V);
    solve("cuda", n, A, count, lapack, again);
    assert_memory_equal(V, again, entries * sizeof *V);
    solve("cpu", n, A, count, lapack, again);
    for (int i = 0; i < count; i++) /* both are off by as much */
        assert_true(fabs(values[i] - lapack[i]) <= 2.0 * allowed(n) * norm);
    free(A);
    free(V);
    free(again);
    free(values);
}

static void follows_the_definition_and_lapack(void **state) {
    (void)state;
    if (no_solver()) skip();
    for (int kind = 0; kind < 6; kind++) {
        const int sizes[] = {1, 2, 3, 7, 32, 33, 1 + (int)check_below(&seed, 200), 65, 300};
        const size_t count = getenv("CSREC_TEST_BRIEF") ? 6 : sizeof sizes / sizeof *sizes;
        for (size_t s = 0; s < count; s++) {
            int n = sizes[s];
            compare(kind, n, n);
            compare(kind, n, 1 + (int)check_below(&seed, n));
        }
    }
}

static void mistakes_are_refused(void **state) {
    (void)state;
    double A[4] = {1, 0, 0, 2}, values[2], V[4];
    const char *used;
    csrec_error error;
    assert_int_equal(csrec_learn_usable("gpu", &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_eigen_largest_on("gpu", 2, A, 2, values, V, &used, &error),
                     CSREC_ARGUMENT);
    assert_ok(csrec_learn_usable("auto", &error));
    if (no_solver()) {
        assert_int_equal(csrec_learn_usable("cuda", &error), CSREC_DEVICE);
        assert_non_null(strstr(error.text, "backend cpu"));
        assert_int_equal(csrec_eigen_largest_on("cuda", 2, A, 2, values, V, &used, &error),
                         CSREC_DEVICE);
        return;
    }
    csrec_context cuda;
    assert_ok(csrec_context_create("cuda", &cuda, NULL));
    assert_int_equal(csrec_learn_cuda.eigen(&cuda, 2, A, 3, values, V, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_learn_cuda.eigen(&cuda, 0, A, 0, values, V, &error), CSREC_ARGUMENT);
    assert_ok(csrec_learn_cuda.eigen(&cuda, 2, A, 2, values, V, &error));
    assert_true(values[0] == 2.0 && values[1] == 1.0 && V[1] == 1.0 && V[2] == 1.0);
    A[2] = INFINITY;
    assert_int_equal(csrec_learn_cuda.eigen(&cuda, 2, A, 2, values, V, &error), CSREC_DATA);
    csrec_context_destroy(&cuda);
}

/* auto succeeds even where a device refuses. */
static void auto_always_works(void **state) {
    (void)state;
    enum { N = 2 };
    double A[N * N] = {2, NAN, 1, 2}, values[N], V[N * N]; /* the lower triangle counts */
    const char *used = NULL;
    assert_ok(csrec_eigen_largest_on("auto", N, A, N, values, V, &used, NULL));
    assert_string_equal(used, "cpu"); /* too small to pay */
    assert_true(fabs(values[0] - 3.0) < 1e-14 && fabs(values[1] - 1.0) < 1e-14);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_definition_and_lapack),
                                       cmocka_unit_test(mistakes_are_refused),
                                       cmocka_unit_test(auto_always_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
