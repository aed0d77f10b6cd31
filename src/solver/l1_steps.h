/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_steps.h - accelerated proximal gradient steps on all columns for
 *
 *     min 1/2 ||A x - y||^2 + lambda ||x||_1,
 *
 * by products with A alone, or over x >= 0 where the support says so. Of entries of several parts,
 * as of complex x, the norm is the sum of the magnitudes. The step is 1 / L with L = ||A||^2 found
 * by power iteration and raised where a step proves it too small (Beck and Teboulle's
 * backtracking). */
#ifndef CSREC_SOLVER_L1_STEPS_H
#define CSREC_SOLVER_L1_STEPS_H

#include "solver/support.h"

/* The rounding of a product in doubles, as a share of its length. */
#define CSREC_L1_ROUNDING 0x1p-50

typedef struct csrec_l1_steps {
    csrec_support *s; /* x, r and y are there; s->g, s->p, s->q are scratch */
    double lambda, L, t;
    double *z, *next; /* [n] extrapolated x, next x */
    double *at_z;     /* [m] y - A z */
    double size_y;    /* ||y|| */
    double rounding;  /* of a product, as a share of its length: that of doubles, or of the floats
                         that a caller's product computes with */
    double moved;     /* ||next - z|| of the last step */
    double change;    /* of x by the last step, as a share of ||x||^2 */
} csrec_l1_steps;

/* Memory only, of the run's pool. CSREC_MEMORY. */
csrec_status csrec_l1_steps_create(csrec_support *s, csrec_l1_steps *steps);

/* The rows `nonnegative` and `joint` of the parameters of solvers of l1 problems (l1_read). */
#define CSREC_L1_PARAMS                                                                            \
    {"nonnegative", 0, 0, 1, "1: every x_j >= 0"}, {                                               \
        "joint", 0, 0, 1,                                                                          \
            "1: of many right-hand sides, sum_j ||row j of X||_2 in place of ||x||_1"              \
    }

/* Sets s->nonnegative, and to 0 what is negative at the start. CSREC_UNSUPPORTED: entries of
 * several parts have no sign. */
csrec_status csrec_l1_read(csrec_run *run, csrec_support *s, csrec_error *error);

/* ||x||_1, of entries of several parts the sum of their magnitudes. */
double csrec_l1_norm(const csrec_operator *A, const double *x);

/* max_j |v_j|, of an entry of several parts the magnitude; where x >= 0, of v_j, at least 0. */
double csrec_l1_largest(const csrec_support *s, const double *v);

/* By how much the worst entry of s->x misses the conditions of the minimum, c = A^T (y - A x):
 * c_j = lambda x_j / |x_j| where x_j is not 0, else |c_j| <= lambda. */
double csrec_l1_miss(const csrec_support *s, const double *c, double lambda);

/* *largest = max |<a_j, y>|, of an entry of several parts the magnitude; where x >= 0, of <a_j, y>.
 * Finds L and the rounding, too. Call it before the first step. */
csrec_status csrec_l1_steps_start(csrec_l1_steps *steps, double *largest);

/* The next step has no momentum and begins at s->x, whose residual is s->r: after a start and
 * whenever x, r or lambda were changed. */
void csrec_l1_steps_restart(csrec_l1_steps *steps);

/* By how much rounding of the products may change A^T (y - A x). */
double csrec_l1_steps_rounding(const csrec_l1_steps *steps);

/* One step: x, r and the energy of s. False: there is none, because x does not change, numbers
 * leave the range of a double, or s->run->fault is set. */
bool csrec_l1_steps_step(csrec_l1_steps *steps);

#endif
