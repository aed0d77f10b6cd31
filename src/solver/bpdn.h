/* SPDX-License-Identifier: BSD-3-Clause */
/* bpdn.h - the state of a path of minima, and whether a point of it is the solution. */
#ifndef CSREC_SOLVER_BPDN_H
#define CSREC_SOLVER_BPDN_H

#include "solver/fista_active.h"
#include "solver/l1_newton.h"
#include "solver/l1_steps.h"

/* Of lambda, by how much a minimum may miss its conditions at the end; of the goal, the change of
 * ||r|| that is nothing. */
#define BPDN_FINE  1e-10
#define BPDN_CLOSE 1e-7

typedef struct csrec_bpdn {
    csrec_support s;              /* first */
    csrec_active *active;         /* or NULL */
    csrec_active_columns columns; /* of an operator that is known by products */
    csrec_l1_steps steps;         /* where active is NULL, and for all below, too */
    csrec_l1_newton newton;
    bool begun;
    double goal, whole, largest; /* bound of ||r||, ||y||, max |<a_j, y>| */
    double tau;                  /* bound of ||x||_1 in its place, or 0 */
    double lambda, miss;         /* of the minimum looked for */
    double rough;                /* miss for a lambda that is far from the last */
    double above, below;         /* lambdas with ||r|| above and below the goal */
    double lambda_before;        /* of the minimum before */
    double *x_before, *r_before; /* [n], [m] */
    bool anew;                   /* it has begun anew, without Newton's steps, */
    int tangents;                /* of which there were so many */
    int lines;                   /* tried between two lambdas */
    int64_t left, most;          /* steps until Newton's, and after it; most 0: far from the end */
} csrec_bpdn;

/* v = from + t slope */
static inline void csrec_bpdn_combine(int64_t n, const double *from, double t, const double *slope,
                                      double *v) {
    for (int64_t j = 0; j < n; j++) v[j] = from[j] + t * slope[j];
}

/* By how much rounding may change r = y - A x, by the sizes of the terms: sqrt(L) is ||A||. */
double csrec_bpdn_rounding(const csrec_bpdn *o);

/* The same of A^T r, as a share of lambda: by how much a minimum misses its conditions at least. */
double csrec_bpdn_least_miss(const csrec_bpdn *o);

/* Below this lambda A^T r is rounding. */
bool csrec_bpdn_is_last(const csrec_bpdn *o);

/* The length of r on the line at lambda = 0, as a share of its length at lambda. */
double csrec_bpdn_share_that_stays(csrec_bpdn *o);

/* Whether the line at lambda = 0 is the solution of A x = y; then x is. */
bool csrec_bpdn_line_ends(csrec_bpdn *o);

/* v = r of t x. */
void csrec_bpdn_scale_residual(const csrec_support *s, double t, double *v);

/* The path begins as a ray from x = 0, where ||x||_1 near 0 leaves no digits to lambda. Whether x
 * times a number, with ||x||_1 = tau, misses the conditions by at most `most`; then x is that. */
bool csrec_bpdn_takes_scaled(csrec_bpdn *o, double most);

/* There is no other lambda. x is the solution but for the last digits if ||r|| is near the goal, or
 * below one that is small beside y. False. */
bool csrec_bpdn_end_here(csrec_bpdn *o);

/* The constraint is met with equality. */
bool csrec_bpdn_is_met(const csrec_bpdn *o);

/* r is 0 but for its last digits within ||x||_1 <= tau: no minimum has to be known. */
bool csrec_bpdn_fits_within(const csrec_bpdn *o);

#endif
