/* omp_basis.h - an orthonormal basis of the picked columns, column by column: A_I = Q R. */
#ifndef CSREC_SOLVER_OMP_BASIS_H
#define CSREC_SOLVER_OMP_BASIS_H

#include "operator/operator.h"

typedef struct csrec_basis {
    const csrec_operator *A;
    const double *norms; /* [n] of A's columns; not owned */
    int64_t room, size;
    double *Q, *R; /* [room][m], [room][room]: R[i][j], i <= j, in row j */
    double *share; /* [room] scratch */
} csrec_basis;

/* CSREC_MEMORY. */
csrec_status csrec_basis_create(const csrec_operator *A, const double *norms, int64_t room,
                                csrec_basis *basis);
void csrec_basis_clear(csrec_basis *basis);

/* Adds column j; false if it lies in the span of those before, or *status is set. */
bool csrec_basis_add(csrec_basis *basis, int64_t j, csrec_status *status);

/* r -= <q, r> q of basis vector k. */
void csrec_basis_reduce(const csrec_basis *basis, int64_t k, double *r);

/* R x = b in place; [size]. */
void csrec_basis_solve(const csrec_basis *basis, double *b);

#endif
