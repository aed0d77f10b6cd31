/* omp_ahead.h - OMP's picks on a dense matrix, several for one pass over the screen. */
#ifndef CSREC_SOLVER_OMP_AHEAD_H
#define CSREC_SOLVER_OMP_AHEAD_H

#include "operator/dense.h"
#include "solver/omp_basis.h"

typedef struct csrec_ahead csrec_ahead;

/* NULL in *ahead where the matrix is not dense or too small to gain. CSREC_MEMORY. */
csrec_status csrec_ahead_create(const csrec_operator *A, csrec_ahead **ahead);
void csrec_ahead_destroy(csrec_ahead *ahead);

/* The column that `skip` leaves with the largest correlation with r, -1 if none; c: it. */
int64_t csrec_ahead_select(csrec_ahead *ahead, csrec_basis *basis, bool *skip, const double *r,
                           double *c, csrec_status *status);

/* Is the basis vector of the pick already where csrec_basis_add would put it? */
bool csrec_ahead_added(const csrec_ahead *ahead);

/* The pick was taken. */
void csrec_ahead_advance(csrec_ahead *ahead);

#endif
