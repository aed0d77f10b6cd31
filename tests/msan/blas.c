/* SPDX-License-Identifier: BSD-3-Clause */
/* blas.c - calls of OpenBLAS under the memory sanitizer. */
#include <cblas.h>

#include "known.h"

typedef enum CBLAS_ORDER order;
typedef enum CBLAS_UPLO triangle;
typedef enum CBLAS_TRANSPOSE transpose;

/* Rows of memory, or columns, of a matrix of the shape that an operation sees. */
#define LINES(layout, turned, rows, columns)                                                       \
    (((layout) == CblasRowMajor) == ((turned) == CblasNoTrans) ? (rows) : (columns))
#define EACH_LINE(mark, values, lines, width, stride)                                              \
    for (int line = 0; line < (lines); line++)                                                     \
    mark((values) + (size_t)line * (size_t)(stride), (width))
#define CHECK_MATRIX(layout, turned, rows, columns, values, stride)                                \
    EACH_LINE(CHECKED, values, LINES(layout, turned, rows, columns),                               \
              LINES(layout, turned, columns, rows), stride)
#define MARK_MATRIX(layout, rows, columns, values, stride)                                         \
    EACH_LINE(WRITTEN, values, LINES(layout, CblasNoTrans, rows, columns),                         \
              LINES(layout, CblasNoTrans, columns, rows), stride)

KNOWN(double, cblas_ddot, const int n, const double *x, const int dx, const double *y,
      const int dy) {
    EACH_LINE(CHECKED, x, n, 1, dx);
    EACH_LINE(CHECKED, y, n, 1, dy);
    return cblas_ddot(n, x, dx, y, dy);
}

KNOWN(double, cblas_dnrm2, const int n, const double *x, const int dx) {
    EACH_LINE(CHECKED, x, n, 1, dx);
    return cblas_dnrm2(n, x, dx);
}

KNOWN(void, cblas_dscal, const int n, const double alpha, double *x, const int dx) {
    EACH_LINE(CHECKED, x, n, 1, dx);
    cblas_dscal(n, alpha, x, dx);
}

KNOWN(void, cblas_daxpy, const int n, const double alpha, const double *x, const int dx, double *y,
      const int dy) {
    EACH_LINE(CHECKED, x, n, 1, dx);
    EACH_LINE(CHECKED, y, n, 1, dy);
    cblas_daxpy(n, alpha, x, dx, y, dy);
}

KNOWN(void, cblas_dgemv, const order layout, const transpose turn, const int m, const int n,
      const double alpha, const double *A, const int lda, const double *x, const int dx,
      const double beta, double *y, const int dy) {
    int inputs = turn == CblasNoTrans ? n : m, outputs = turn == CblasNoTrans ? m : n;
    CHECK_MATRIX(layout, CblasNoTrans, m, n, A, lda);
    EACH_LINE(CHECKED, x, inputs, 1, dx);
    if (beta != 0.0) EACH_LINE(CHECKED, y, outputs, 1, dy);
    cblas_dgemv(layout, turn, m, n, alpha, A, lda, x, dx, beta, y, dy);
    EACH_LINE(WRITTEN, y, outputs, 1, dy);
}

#define KNOWN_GEMM(name, number)                                                                   \
    KNOWN(void, name, const order layout, const transpose left, const transpose right,             \
          const int m, const int n, const int k, const number alpha, const number *A,              \
          const int lda, const number *B, const int ldb, const number beta, number *C,             \
          const int ldc) {                                                                         \
        CHECK_MATRIX(layout, left, m, k, A, lda);                                                  \
        CHECK_MATRIX(layout, right, k, n, B, ldb);                                                 \
        if (beta != 0) CHECK_MATRIX(layout, CblasNoTrans, m, n, C, ldc);                           \
        name(layout, left, right, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                   \
        MARK_MATRIX(layout, m, n, C, ldc);                                                         \
    }
KNOWN_GEMM(cblas_dgemm, double)
KNOWN_GEMM(cblas_sgemm, float)

/* Only one triangle of C is written. */
KNOWN(void, cblas_dsyrk, const order layout, const triangle part, const transpose turn, const int n,
      const int k, const double alpha, const double *A, const int lda, const double beta, double *C,
      const int ldc) {
    CHECK_MATRIX(layout, turn, n, k, A, lda);
    cblas_dsyrk(layout, part, turn, n, k, alpha, A, lda, beta, C, ldc);
    for (int i = 0; i < n; i++) {
        int first = (layout == CblasRowMajor) == (part == CblasLower) ? 0 : i;
        int last = (layout == CblasRowMajor) == (part == CblasLower) ? i : n - 1;
        WRITTEN(C + (size_t)i * (size_t)ldc + first, last - first + 1);
    }
}

/* LAPACK's eigenvectors: with lwork -1 the wanted lengths of the two work arrays. */
KNOWN(void, dsyevr_, const char *jobz, const char *range, const char *uplo, const int *n, double *A,
      const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
      const double *abstol, int *m, double *w, double *z, const int *ldz, int *isuppz, double *work,
      const int *lwork, int *iwork, const int *liwork, int *info, size_t a, size_t b, size_t c) {
    extern __typeof__(known_dsyevr_) dsyevr_; /* no header has it */
    if (*lwork != -1)
        for (int i = 0; i < *n; i++) /* column by column */
            CHECKED(A + (size_t)i * (size_t)*lda + (*uplo == 'U' ? 0 : i),
                    *uplo == 'U' ? i + 1 : *n - i);
    dsyevr_(jobz, range, uplo, n, A, lda, vl, vu, il, iu, abstol, m, w, z, ldz, isuppz, work, lwork,
            iwork, liwork, info, a, b, c);
    WRITTEN(info, 1);
    WRITTEN(m, 1);
    WRITTEN(work, 1);
    WRITTEN(iwork, 1);
    if (*lwork == -1) return;
    WRITTEN(w, *n);
    EACH_LINE(WRITTEN, z, *m, *n, *ldz);
}
