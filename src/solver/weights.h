/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.h - sum_j w_j |x_j| in place of ||x||_1: the problem of the columns a_j / w_j and of the
 * unknowns w_j x_j. */
#ifndef CSREC_SOLVER_WEIGHTS_H
#define CSREC_SOLVER_WEIGHTS_H

#include "solver/solver.h"

typedef struct csrec_weighted csrec_weighted;

/* The operator of the columns a_j / w_j, for one run at a time. weights: of the entries of x, > 0.
 * A must outlive it. CSREC_MEMORY. */
csrec_status csrec_weighted_create(const csrec_operator *A, const double *weights,
                                   csrec_weighted **weighted);
void csrec_weighted_destroy(csrec_weighted *weighted);
const csrec_operator *csrec_weighted_operator(const csrec_weighted *weighted);

/* To the unknowns w_j x_j, and back. */
void csrec_weighted_apply(const csrec_weighted *weighted, csrec_atoms *atoms);
/* false: a coefficient is beyond the range of a double. */
bool csrec_weighted_undo(const csrec_weighted *weighted, csrec_atoms *atoms);

/* CSREC_ARGUMENT, CSREC_UNSUPPORTED: weights that are not numbers above 0, or a solver without. */
csrec_status csrec_weights_check(const csrec_solver_type *type, const csrec_operator *A,
                                 const double *weights, csrec_error *error);

#endif
