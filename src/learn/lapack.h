/* lapack.h - the symmetric eigenproblem by LAPACK, which OpenBLAS brings under its Fortran names
 * (Debian's has no LAPACKE). */
#ifndef CSREC_LEARN_LAPACK_H
#define CSREC_LEARN_LAPACK_H

#include "base/error.h"

/* The `count` largest eigenvalues of the symmetric A [n][n], largest first, and their unit
 * vectors as rows of V [count][n], the largest entry of each positive. Of A the lower triangle is
 * read; it is destroyed. n <= 2^15. */
csrec_status csrec_eigen_largest(int n, double *A, int count, double *values, double *V,
                                 csrec_error *error);

/* Of an eigenvector and its negative the one whose largest entry is positive. */
void csrec_eigen_sign(int64_t n, double *v);

#endif
