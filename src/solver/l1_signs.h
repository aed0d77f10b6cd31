/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_signs.h - the l1 problem on a Gram matrix (l1_gram.h) by the signs of x: the feature-sign
 * search of Lee, Battle, Raina and Ng 2006, with a Cholesky factor that follows the columns in use.
 *
 * For the columns F that x uses, with signs s, the minimum is
 *
 *     G_FF x_F = A_F^T y - lambda s_F,
 *
 * to which d leads: G_FF d = c_F - lambda s_F. If signs change along d, the step ends at the
 * minimum of the objective along d, which is convex and piecewise quadratic; a column that is 0
 * there leaves F. At the minimum for F the columns outside that violate |c_j| <= lambda most enter
 * it. No step raises the objective, so no F comes twice. A column that depends on those of F takes
 * the place of one of them: along A_F w = a_j only ||x||_1 changes. A column costs k^2 to enter F
 * or leave it. */
#ifndef CSREC_SOLVER_L1_SIGNS_H
#define CSREC_SOLVER_L1_SIGNS_H

#include "solver/l1_gram.h"

/* As csrec_l1_gram_solve, without parts. false: x is as it was, as rounding hides the way or the
 * run is stopped. */
bool csrec_l1_signs_solve(csrec_l1_gram *q, double enough);

#endif
