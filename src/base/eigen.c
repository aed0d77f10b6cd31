/* SPDX-License-Identifier: BSD-3-Clause */
/* eigen.c - the symmetric eigenproblem on the calling thread: Householder's reduction to a
 * tridiagonal matrix, then QR steps with Wilkinson's shift (Golub and Van Loan 2013, Matrix
 * Computations, algorithms 8.3.1 to 8.3.3).
 *
 * LAPACK is not called inside a parallel region: its BLAS gives blocks of 64 x 64 to its own
 * threads, which wait for a core while the region's threads spin. All loops add whole rows to rows,
 * which vectorises without changing the order of a sum. */
#include "base/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/pool.h"
#include "base/unit.h"

enum { STEPS = 30 }; /* QR steps an eigenvalue; two are usual */

static void add_row(int n, double f, const double *restrict x, double *restrict y) {
    for (int j = 0; j < n; j++) y[j] += f * x[j];
}

/* Overwrites v [count] with the vector of the reflection 1 - beta v v^T that maps v to (result, 0,
 * ...). */
static double reflect(int count, double *v, double *result) {
    double rest = csrec_dot(count - 1, v + 1, v + 1), length = sqrt(v[0] * v[0] + rest);
    *result = v[0];
    if (rest == 0.0) return 0.0;
    *result = v[0] > 0.0 ? -length : length; /* the sign that avoids cancellation */
    v[0] -= *result;
    return 2.0 / (v[0] * v[0] + rest);
}

/* A = Q T Q^T: T has the diagonal d and e beside it; row k of A keeps reflection k right of its
 * diagonal. w: [n] */
static void reduce(int n, double *A, double *d, double *e, double *beta, double *w) {
    for (int k = 0; k < n; k++) {
        double *v = A + (size_t)k * (size_t)n + k + 1;
        int count = n - k - 1;
        d[k] = v[-1];
        if (!count) break;
        beta[k] = reflect(count, v, &e[k]);
        if (beta[k] == 0.0) continue;
        memset(w, 0, (size_t)count * sizeof *w);
        for (int i = 0; i < count; i++)
            add_row(count, beta[k] * v[i], v + (size_t)(i + 1) * (size_t)n, w);
        add_row(count, -0.5 * beta[k] * csrec_dot(count, v, w), v, w);
        for (int i = 0; i < count; i++) { /* v_i w_j + w_i v_j is exactly symmetric */
            double *row = v + (size_t)(i + 1) * (size_t)n, vi = v[i], wi = w[i];
            for (int j = 0; j < count; j++) row[j] -= vi * w[j] + wi * v[j];
        }
    }
}

/* V = Q^T. A: as `reduce` left it, then Q. w: [n] */
static void collect(int n, double *A, const double *beta, double *V, double *w) {
    size_t rows = (size_t)n;
    memset(V, 0, rows * rows * sizeof *V);
    for (size_t i = 0; i < rows; i++) V[i * (rows + 1)] = 1.0;
    for (int k = n - 2; k >= 0; k--) {
        const double *v = A + (size_t)k * rows + k + 1;
        double *to = V + (size_t)(k + 1) * (rows + 1);
        int count = n - k - 1;
        if (beta[k] == 0.0) continue;
        memset(w, 0, (size_t)count * sizeof *w);
        for (int i = 0; i < count; i++) add_row(count, beta[k] * v[i], to + (size_t)i * rows, w);
        for (int i = 0; i < count; i++) add_row(count, -v[i], w, to + (size_t)i * rows);
    }
    memcpy(A, V, rows * rows * sizeof *A);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) V[i * rows + j] = A[j * rows + i];
}

static void rotate(int n, double c, double s, double *restrict a, double *restrict b) {
    for (int j = 0; j < n; j++) {
        double was = a[j];
        a[j] = c * was + s * b[j];
        b[j] = c * b[j] - s * was;
    }
}

/* A QR step with shift on rows lo .. hi of the tridiagonal matrix; V takes the rotations. */
static void step(int n, int lo, int hi, double *d, double *e, double *V) {
    double half = 0.5 * (d[hi - 1] - d[hi]), last = e[hi - 1];
    double shift = d[hi] - last * last / (half + copysign(sqrt(half * half + last * last), half));
    double x = d[lo] - shift, z = e[lo];
    for (int k = lo; k < hi; k++) {
        double r = sqrt(x * x + z * z), c = r > 0.0 ? x / r : 1.0, s = r > 0.0 ? z / r : 0.0;
        double a = d[k], b = d[k + 1], f = e[k];
        if (k > lo) e[k - 1] = r;
        d[k] = c * c * a + 2.0 * c * s * f + s * s * b;
        d[k + 1] = s * s * a - 2.0 * c * s * f + c * c * b;
        x = e[k] = c * s * (b - a) + (c * c - s * s) * f;
        rotate(n, c, s, V + (size_t)k * (size_t)n, V + (size_t)(k + 1) * (size_t)n);
        if (k + 1 == hi) break;
        z = s * e[k + 1];
        e[k + 1] *= c;
    }
}

static bool diagonalise(int n, double *d, double *e, double *V) {
    int left = STEPS * n, lo;
    for (int hi = n - 1; hi > 0;) {
        for (lo = hi; lo > 0 && fabs(e[lo - 1]) > 0.5 * DBL_EPSILON; lo--) continue;
        if (lo == hi) {
            hi--;
            continue;
        }
        if (!left--) return false;
        step(n, lo, hi, d, e, V);
    }
    return true;
}

bool csrec_eigen_all(int n, double *A, double *values, double *V, double *work) {
    double *e = work, *beta = work + n, *w = work + 2 * n, largest = 0.0;
    size_t squares = (size_t)n * (size_t)n;
    for (size_t i = 0; i < squares; i++) {
        if (!isfinite(A[i])) return false;
        if (fabs(A[i]) > largest) largest = fabs(A[i]);
    }
    /* Scales by a power of two, which is exact, so that squares neither overflow nor underflow. */
    int exponent = 0;
    frexp(largest, &exponent);
    for (size_t i = 0; i < squares; i++) A[i] = ldexp(A[i], -exponent);
    reduce(n, A, values, e, beta, w);
    collect(n, A, beta, V, w);
    if (!diagonalise(n, values, e, V)) return false;
    for (int i = 0; i < n; i++) values[i] = ldexp(values[i], exponent);
    return true;
}

/* Relatively robust representations: LAPACK Users' Guide, 3rd edition, section 2.4.4. The lengths
 * of the strings are hidden last arguments, as Fortran compilers pass them. */
extern void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *A,
                    const int *lda, const double *vl, const double *vu, const int *il,
                    const int *iu, const double *abstol, int *m, double *w, double *z,
                    const int *ldz, int *isuppz, double *work, const int *lwork, int *iwork,
                    const int *liwork, int *info, size_t, size_t, size_t);

typedef struct problem {
    int n, first, last, found, info;
    double *A, *w, *z, *work;
    int *support, *iwork;
    csrec_pool pool; /* of all arrays but A */
} problem;

static void call(problem *p, double *work, int lwork, int *iwork, int liwork) {
    double none = 0.0, tolerance = 0.0;
    const char *range = p->first > 1 ? "I" : "A";
    dsyevr_("V", range, "U", &p->n, p->A, &p->n, &none, &none, &p->first, &p->last, &tolerance,
            &p->found, p->w, p->z, &p->n, p->support, work, &lwork, iwork, &liwork, &p->info, 1, 1,
            1);
}

static csrec_status solve(problem *p, csrec_error *error) {
    double wanted;
    int iwanted;
    if (!csrec_blas_begin(1))
        return csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", p->n);
    call(p, &wanted, -1, &iwanted, -1);
    if (p->info == 0) {
        CSREC_TAKE(&p->pool, p->work, wanted);
        CSREC_TAKE(&p->pool, p->iwork, iwanted);
        if (!p->pool.lacks) call(p, p->work, (int)wanted, p->iwork, iwanted);
    }
    csrec_blas_end(1);
    if (p->pool.lacks)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", p->n);
    if (p->info || p->found != p->last - p->first + 1)
        return csrec_fail(error, CSREC_DATA,
                          "the eigenvectors of %d x %d did not converge; check that the data are "
                          "finite",
                          p->n, p->n);
    return CSREC_OK;
}

void csrec_eigen_sign(int64_t n, double *v) {
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(v[i]) > fabs(v[largest]) * (1.0 + 1e-9)) largest = i;
    if (v[largest] < 0.0)
        for (int64_t i = 0; i < n; i++) v[i] = -v[i];
}

csrec_status csrec_eigen_largest(int n, double *A, int count, double *values, double *V,
                                 csrec_error *error) {
    problem p = {.n = n, .first = n - count + 1, .last = n, .A = A};
    if (n < 1 || n > 1 << 15 || count < 1 || count > n)
        return csrec_fail(error, CSREC_ARGUMENT, "%d eigenvectors of %d x %d; at most 32768", count,
                          n, n);
    CSREC_TAKE(&p.pool, p.w, n);
    CSREC_TAKE(&p.pool, p.z, (size_t)n * (size_t)count);
    CSREC_TAKE(&p.pool, p.support, 2 * (size_t)n);
    csrec_status status =
        p.pool.lacks ? csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", n)
                     : solve(&p, error);
    for (int k = 0; k < count && !status; k++) { /* ascending there */
        values[k] = p.w[count - 1 - k];
        memcpy(V + (size_t)k * (size_t)n, p.z + (size_t)(count - 1 - k) * (size_t)n,
               (size_t)n * sizeof *V);
        csrec_eigen_sign(n, V + (size_t)k * (size_t)n);
    }
    csrec_pool_clear(&p.pool);
    return status;
}
