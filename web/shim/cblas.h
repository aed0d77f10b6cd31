/* SPDX-License-Identifier: BSD-3-Clause */
/* cblas.h - the calls of BLAS that the library makes, as blas.c has them in plain loops. */
#pragma once

typedef enum { CblasRowMajor = 101, CblasColMajor = 102 } cblas_order;
typedef enum { CblasNoTrans = 111, CblasTrans = 112 } cblas_transpose;
typedef enum { CblasUpper = 121, CblasLower = 122 } cblas_uplo;

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
double cblas_dnrm2(int n, const double *x, int incx);
void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);
void cblas_dscal(int n, double alpha, double *x, int incx);
void cblas_dgemv(cblas_order order, cblas_transpose trans, int m, int n, double alpha,
                 const double *A, int lda, const double *x, int incx, double beta, double *y,
                 int incy);
void cblas_dgemm(cblas_order order, cblas_transpose transA, cblas_transpose transB, int m, int n,
                 int k, double alpha, const double *A, int lda, const double *B, int ldb,
                 double beta, double *C, int ldc);
void cblas_sgemm(cblas_order order, cblas_transpose transA, cblas_transpose transB, int m, int n,
                 int k, float alpha, const float *A, int lda, const float *B, int ldb, float beta,
                 float *C, int ldc);
void cblas_dsyrk(cblas_order order, cblas_uplo uplo, cblas_transpose trans, int n, int k,
                 double alpha, const double *A, int lda, double beta, double *C, int ldc);

int openblas_get_num_threads(void);
void openblas_set_num_threads(int count);
