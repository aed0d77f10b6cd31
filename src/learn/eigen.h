/* eigen.h - eigenvectors of many small symmetric matrices at a time. */
#ifndef CSREC_LEARN_EIGEN_H
#define CSREC_LEARN_EIGEN_H

#include <stdbool.h>

/* Above it LAPACK's blocked reduction (lapack.h) is faster, with or without threads. */
enum { CSREC_EIGEN_SMALL = 256 };

/* All eigenvalues of the symmetric A [n][n] (destroyed), in no order, and their unit vectors as
 * rows of V [n][n]: A = V^T diag(values) V to a few roundings of the largest entry. work: [4
 * n]. Runs on the calling thread without BLAS. false: not finite, or not converged after 30 steps
 * an eigenvalue. */
bool csrec_eigen_all(int n, double *A, double *values, double *V, double *work);

#endif
