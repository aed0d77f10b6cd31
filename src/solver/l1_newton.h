/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_newton.h - Newton's step of the l1 problem on the entries that x uses, and the slope of the
 * path of minima there, by conjugate gradients. */
#ifndef CSREC_SOLVER_L1_NEWTON_H
#define CSREC_SOLVER_L1_NEWTON_H

#include "solver/support.h"

typedef struct csrec_l1_newton {
    csrec_support *s; /* s->chosen, s->c, s->g, s->p and s->q are scratch */
    double lambda;
    double *x, *r;             /* [n], [m] of the minimum that Newton's step expects for lambda */
    double *slope_x, *slope_r; /* [n], [m] by which they change as lambda grows */
} csrec_l1_newton;

/* Memory only, of the run's pool. CSREC_MEMORY. */
csrec_status csrec_l1_newton_create(csrec_support *s, csrec_l1_newton *newton);

/* Fills all from s->x, s->r for lambda > 0. Signs, of complex entries directions, are those of
 * s->x: if those of the minimum differ, the point is not the minimum. *found: false if columns that
 * x uses depend on each other, nearly, so that there is no such point, or it is not x >= 0. */
csrec_status csrec_l1_newton_find(csrec_l1_newton *newton, double lambda, bool *found);

#endif
