/* eigen.h - eigenvectors of many small symmetric matrices at a time. */
#ifndef CSREC_LEARN_EIGEN_H
#define CSREC_LEARN_EIGEN_H

#include <stdbool.h>

/* Beyond it LAPACK's blocked reduction (lapack.h) is the faster one, threads or not. */
enum { CSREC_EIGEN_SMALL = 256 };

/* All eigenvalues of the symmetric A [n][n] (destroyed), in no order, and their unit vectors as
 * rows of V [n][n]: A = V^T diag(values) V to a few units of the largest entry's rounding. work: [4
 * n]. On the calling thread alone and without BLAS; false: not finite, or no end after 30 steps an
 * eigenvalue. */
bool csrec_eigen_all(int n, double *A, double *values, double *V, double *work);

#endif
