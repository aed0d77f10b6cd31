/* SPDX-License-Identifier: BSD-3-Clause */
/* blas.c - BLAS and LAPACK in plain loops, for a browser: the presets of pictures call none of it,
 * and the methods that do are as right here as elsewhere, but slower. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/engine.h"

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[(long)i * incx] * y[(long)i * incy];
    return sum;
}

/* Scaled, so that squares neither overflow nor underflow. */
double cblas_dnrm2(int n, const double *x, int incx) {
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++)
        if (!(fabs(x[(long)i * incx]) <= largest)) largest = fabs(x[(long)i * incx]);
    if (largest == 0.0 || !isfinite(largest)) return largest;
    for (int i = 0; i < n; i++)
        sum += (x[(long)i * incx] / largest) * (x[(long)i * incx] / largest);
    return largest * sqrt(sum);
}

void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy) {
    for (int i = 0; i < n; i++) y[(long)i * incy] += alpha * x[(long)i * incx];
}

void cblas_dscal(int n, double alpha, double *x, int incx) {
    for (int i = 0; i < n; i++) x[(long)i * incx] *= alpha;
}

/* Entry (i, j) of a matrix is at i * row + j * column. */
typedef struct strides {
    long row, column;
} strides;

static strides strides_of(cblas_order order, cblas_transpose trans, int ld) {
    const bool by_rows = (order == CblasRowMajor) == (trans == CblasNoTrans);
    return by_rows ? (strides){ld, 1} : (strides){1, ld};
}

/* beta = 0 forgets y, NaN too. */
static double scaled(double beta, double y) {
    return beta == 0.0 ? 0.0 : beta * y;
}

void cblas_dgemv(cblas_order order, cblas_transpose trans, int m, int n, double alpha,
                 const double *A, int lda, const double *x, int incx, double beta, double *y,
                 int incy) {
    const strides a = strides_of(order, trans, lda);
    const int rows = trans == CblasNoTrans ? m : n, columns = trans == CblasNoTrans ? n : m;
    for (int i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int j = 0; j < columns; j++) sum += A[i * a.row + j * a.column] * x[(long)j * incx];
        y[(long)i * incy] = alpha * sum + scaled(beta, y[(long)i * incy]);
    }
}

/* Each entry of C is a sum over k in its order. */
#define DEFINE_GEMM(name, real)                                                                    \
    void name(cblas_order order, cblas_transpose transA, cblas_transpose transB, int m, int n,     \
              int k, real alpha, const real *A, int lda, const real *B, int ldb, real beta,        \
              real *C, int ldc) {                                                                  \
        const strides a = strides_of(order, transA, lda), b = strides_of(order, transB, ldb),      \
                      c = strides_of(order, CblasNoTrans, ldc);                                    \
        for (long i = 0; i < m; i++)                                                               \
            for (long j = 0; j < n; j++) {                                                         \
                real sum = 0, *to = C + i * c.row + j * c.column;                                  \
                for (long l = 0; l < k; l++)                                                       \
                    sum += A[i * a.row + l * a.column] * B[l * b.row + j * b.column];              \
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to);                                  \
            }                                                                                      \
    }

DEFINE_GEMM(cblas_dgemm, double)
DEFINE_GEMM(cblas_sgemm, float)

void cblas_dsyrk(cblas_order order, cblas_uplo uplo, cblas_transpose trans, int n, int k,
                 double alpha, const double *A, int lda, double beta, double *C, int ldc) {
    const strides a = strides_of(order, trans, lda), c = strides_of(order, CblasNoTrans, ldc);
    for (int i = 0; i < n; i++) {
        const int first = uplo == CblasLower ? 0 : i, end = uplo == CblasLower ? i + 1 : n;
        for (int j = first; j < end; j++) {
            double sum = 0.0, *to = C + i * c.row + j * c.column;
            for (int l = 0; l < k; l++)
                sum += A[i * a.row + l * a.column] * A[j * a.row + l * a.column];
            *to = alpha * sum + scaled(beta, *to);
        }
    }
}

int openblas_get_num_threads(void) {
    return 1;
}

void openblas_set_num_threads(int count) {
    (void)count;
}

/* ------------------------------------------------------------------ dsyevr -------------------- */

typedef struct pair {
    double value;
    int at;
} pair;

static int compare(const void *a, const void *b) {
    const double left = ((const pair *)a)->value, right = ((const pair *)b)->value;
    return (left > right) - (left < right);
}

/* The other triangle. */
static void complete(int n, double *A, bool upper) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double *low = A + (long)j * n + i, *high = A + (long)i * n + j; /* by columns */
            if (upper)
                *low = *high;
            else
                *high = *low;
        }
}

/* As eigen.c calls it: jobz "V", range "A" or "I", lda = ldz = n. work: [n^2 + 6 n]. */
void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *A,
             const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
             const double *abstol, int *m, double *w, double *z, const int *ldz, int *isuppz,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t a,
             size_t b, size_t c) {
    (void)jobz, (void)lda, (void)vl, (void)vu, (void)abstol, (void)ldz, (void)isuppz;
    (void)a, (void)b, (void)c;
    const long size = *n;
    *info = 0;
    if (*lwork < 0 || *liwork < 0) {
        *work = (double)(size * size + 7 * size);
        *iwork = 1;
        return;
    }
    double *V = work, *values = V + size * size, *room = values + size;
    pair *order = (pair *)(room + 4 * size); /* two doubles each */
    complete(*n, A, *uplo == 'U');
    *info = !csrec_eigen_all(*n, A, values, V, room);
    for (int i = 0; i < *n; i++) order[i] = (pair){values[i], i};
    qsort(order, (size_t)size, sizeof *order, compare);
    const int first = *range == 'I' ? *il - 1 : 0, end = *range == 'I' ? *iu : *n;
    *m = end - first;
    for (int i = 0; i < *m; i++) {
        w[i] = order[first + i].value;
        memcpy(z + i * size, V + order[first + i].at * size, (size_t)size * sizeof *z);
    }
}
