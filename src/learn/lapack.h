/* lapack.h - the symmetric eigenproblem by LAPACK, which OpenBLAS exports under Fortran names
 * (Debian's OpenBLAS has no LAPACKE). */
#ifndef CSREC_LEARN_LAPACK_H
#define CSREC_LEARN_LAPACK_H

#include "base/error.h"

/* The `count` largest eigenvalues of the symmetric A [n][n], largest first, and their unit
 * vectors as rows of V [count][n], the largest entry of each positive. Reads the lower triangle of
 * A and overwrites it. n <= 2^15. */
csrec_status csrec_eigen_largest(int n, double *A, int count, double *values, double *V,
                                 csrec_error *error);

/* Chooses the sign of an eigenvector so that its largest entry is positive. */
void csrec_eigen_sign(int64_t n, double *v);

#endif
