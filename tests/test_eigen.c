/* test_eigen.c - the eigenvectors of small matrices against LAPACK's and their definition. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/eigen.h"
#include "learn/lapack.h"

enum { MOST = 70 };

static uint64_t seed;

static double normal(void) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += check_uniform(&seed);
    return sum;
}

/* Symmetric matrices of some kinds: any, of low rank, diagonal, nearly flat as the covariances of
 * patches are, of integers with equal eigenvalues, zero. */
static void draw(int kind, int n, double *A) {
    int rank = kind == 1 ? 1 + (int)check_below(&seed, n) : n;
    double scale = ldexp(1.0, (int)check_below(&seed, 1001) - 500), v[MOST];
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int k = 0; k < rank && kind < 4; k++) {
        double size = kind == 3 ? pow(10.0, -12.0 * k / n) : kind == 0 ? normal() : 1.0;
        for (int i = 0; i < n; i++) v[i] = kind == 2 ? (i == k) * normal() : normal();
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) A[i * n + j] += size * (v[i] * v[j]);
    }
    for (int i = 0; i < n && kind == 4; i++) {
        A[i * n + i] = 2.0;
        if (i % 3 && n > 1) A[i * n + i - 1] = A[(i - 1) * n + i] = 1.0;
    }
    for (int i = 0; i < n * n; i++) A[i] *= scale;
}

static double norm_of(int n, const double *A) {
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < n * n; i++) largest = fmax(largest, fabs(A[i]));
    for (int i = 0; i < n * n && largest > 0.0; i++) sum += (A[i] / largest) * (A[i] / largest);
    return largest * sqrt(sum);
}

static int ascend(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Orthogonal transformations in turn, each good to a few units of rounding: errors grow no faster
 * than with n (Golub and Van Loan 2013, section 8.3.5). */
static double allowed(int n) {
    return 8.0 * n * DBL_EPSILON;
}

static void check_vectors(int n, const double *A, const double *values, const double *V) {
    double norm = norm_of(n, A);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double unit = 0.0, entry = 0.0;
            for (int k = 0; k < n; k++) {
                unit += V[a * n + k] * V[b * n + k];
                entry += V[k * n + a] * values[k] * V[k * n + b];
            }
            assert_true(fabs(unit - (a == b)) <= allowed(n));
            assert_true(fabs(entry - A[a * n + b]) <= allowed(n) * norm);
        }
}

static void follow_lapack(void **state) {
    (void)state;
    static double A[MOST * MOST], B[MOST * MOST], V[MOST * MOST], W[MOST * MOST];
    double values[MOST], wanted[MOST], work[4 * MOST];
    for (int trial = 0; trial < 40; trial++) {
        int n = trial < 8 ? 1 + trial / 2 : 1 + (int)check_below(&seed, MOST);
        draw(trial % 6, n, A);
        memcpy(B, A, sizeof B);
        assert_true(csrec_eigen_all(n, B, values, V, work));
        check_vectors(n, A, values, V);
        memcpy(B, A, sizeof B);
        assert_ok(csrec_eigen_largest(n, B, n, wanted, W, NULL));
        qsort(values, (size_t)n, sizeof *values, ascend);
        for (int k = 0; k < n; k++)
            assert_true(fabs(values[k] - wanted[n - 1 - k]) <= allowed(n) * norm_of(n, A));
    }
}

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    double A[64], V[64], values[8], work[32];
    for (int trial = 0; trial < 12; trial++) {
        int i = (int)check_below(&seed, 8), j = (int)check_below(&seed, 8);
        draw(0, 8, A);
        A[i * 8 + j] = A[j * 8 + i] = bad[trial % 3];
        assert_false(csrec_eigen_all(8, A, values, V, work));
    }
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follow_lapack),
        cmocka_unit_test(what_is_not_finite_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
