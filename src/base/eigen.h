/* SPDX-License-Identifier: BSD-3-Clause */
/* eigen.h - eigenvectors of symmetric matrices: of many small ones at a time, or by LAPACK, which
 * OpenBLAS exports under Fortran names (Debian's OpenBLAS has no LAPACKE). */
#pragma once

#include "base/error.h"

/* Above it LAPACK's blocked reduction is faster, with or without threads. */
enum { CSREC_EIGEN_SMALL = 256 };

/* All eigenvalues of the symmetric A [n][n] (destroyed), in no order, and their unit vectors as
 * rows of V [n][n]: A = V^T diag(values) V to a few roundings of the largest entry. work: [4
 * n]. Runs on the calling thread without BLAS. false: not finite, or not converged after 30 steps
 * an eigenvalue. */
bool csrec_eigen_all(int n, double *A, double *values, double *V, double *work);

/* The `count` largest eigenvalues of the symmetric A [n][n], largest first, and their unit
 * vectors as rows of V [count][n], the largest entry of each positive. Reads the lower triangle of
 * A and overwrites it. n <= 2^15. */
csrec_status csrec_eigen_largest(int n, double *A, int count, double *values, double *V,
                                 csrec_error *error);

/* Chooses the sign of an eigenvector so that its largest entry is positive. */
void csrec_eigen_sign(int64_t n, double *v);
