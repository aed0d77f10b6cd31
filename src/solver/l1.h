/* SPDX-License-Identifier: BSD-3-Clause */
/* l1.h - the l1 problem on a few columns W, by their Gram matrix G:
 *
 *     min 1/2 ||A_W x - y||^2 + lambda ||x||_1,   c = A_W^T (y - A_W x),   G = A_W^T A_W
 *
 * where a step costs k^2 for k columns, whatever m and n are. */
#pragma once

#include "operator/dense.h"
#include "solver/support.h"

typedef struct csrec_l1_gram {
    csrec_run *run; /* that is asked whether to stop */
    int64_t size, room, stride;
    int64_t parts; /* columns of an entry, which follow each other: 1 unless the caller sets it */
    bool nonnegative; /* x >= 0, without parts; false unless the caller sets it */
    double lambda;
    double *x, *c;   /* [room] as they stand */
    double *allowed; /* [room] by how much |c_j| may miss its bound, for rounding */
    double *G;       /* [size][stride] */
    const csrec_dense_simd *simd;
    double L;     /* of the steps: at least ||G|| as far as they have shown; 0: none taken */
    double sigma; /* of the next proximal point of groups; 0: none taken */
    double bare;  /* share of 1 / s that leaps leave out; else 0 */
    double near;  /* lambda of the last one */
    double *x0, *c0, *next, *c_next, *z, *c_z, *d, *slope; /* [room] */
    double *R;     /* [size][stride] Cholesky factor, lower */
    int64_t *free; /* [room] columns that Newton's step moves */
} csrec_l1_gram;

/* No columns yet. Memory of the pool that no column uses is not touched. CSREC_MEMORY. */
csrec_status csrec_l1_gram_create(csrec_run *run, int64_t room, double lambda, csrec_pool *pool,
                                  csrec_l1_gram *q);

/* Makes place for `size` <= room columns; the caller fills x, c, allowed and the rows of G. */
void csrec_l1_gram_grow(csrec_l1_gram *q, int64_t size);

/* Only the columns kept[0] < kept[1] < ... stay. */
void csrec_l1_gram_keep(csrec_l1_gram *q, int64_t count, const int64_t *kept);

/* By how much the worst column misses the optimality conditions beyond what is allowed:
 * c_j = lambda sign(x_j) where x_j is not 0, else |c_j| <= lambda, or c_j <= lambda if x >= 0. */
double csrec_l1_gram_miss(const csrec_l1_gram *q);

/* Improves x, until the miss is at most `enough`, a share of a second has gone or the run is
 * stopped; c follows. */
void csrec_l1_gram_solve(csrec_l1_gram *q, double enough);

/* ---- the problem on the Gram matrix whose entries are groups of `parts`
 * columns, as of complex x, whose norm is the sum of the lengths of the groups. */

/* By how much the worst group misses its conditions beyond what is allowed: c = lambda x / |x|
 * where x is not 0, else |c| <= lambda. */
double csrec_l1_groups_miss(const csrec_l1_gram *q);

/* next = z + c_z / L, each group shortened by lambda / L. */
void csrec_l1_groups_shrink(csrec_l1_gram *q);

/* A proximal point by Newton's steps. True: another one would not help now. */
bool csrec_l1_groups_newton(csrec_l1_gram *q);

/* Newton's whole steps to where the miss is at most `enough`, from an x that is near. false: they
 * do not lead there in a few; x is as it was. */
bool csrec_l1_groups_leap(csrec_l1_gram *q, double enough);

/* Shared with the other parts: the increase of the objective from x = z, where c was c_z;
 * c_v of v; R^T d = d. */
double csrec_l1_gram_rise(const csrec_l1_gram *q);
void csrec_l1_gram_gradient(csrec_l1_gram *q, const double *v, double *c_v);
void csrec_l1_gram_solve_back(const csrec_l1_gram *q, int64_t k, double *d);

/* ---- the problem on the Gram matrix by the signs of x: the feature-sign
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

/* As csrec_l1_gram_solve, without parts. false: x is as it was, as rounding hides the way or the
 * run is stopped. */
bool csrec_l1_signs_solve(csrec_l1_gram *q, double enough);

/* ---- Newton's step of the l1 problem on the entries that x uses, and the slope of the
 * path of minima there, by conjugate gradients. */

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

/* ---- accelerated proximal gradient steps on all columns for
 *
 *     min 1/2 ||A x - y||^2 + lambda ||x||_1,
 *
 * by products with A alone, or over x >= 0 where the support says so. Of entries of several parts,
 * as of complex x, the norm is the sum of the magnitudes. The step is 1 / L with L = ||A||^2 found
 * by power iteration and raised where a step proves it too small (Beck and Teboulle's
 * backtracking). */

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

/* ---- the l1 problem on an operator with its columns in memory: solves it on a working
 * set of columns and proves that no other column belongs to the set. */

typedef struct csrec_active csrec_active;

/* For the share `lambda` > 0 of max_j |<a_j, y>|, from s->x and s->r. A: s->A, or another operator
 * with the same columns, which outlives the rounds. *active is NULL if A has no
 * column access or x has too many non-zero entries. CSREC_MEMORY. */
csrec_status csrec_active_create(csrec_support *s, const csrec_operator *A, double lambda,
                                 csrec_active **active);
void csrec_active_destroy(csrec_active *active);

/* The columns of an operator that is known by products, computed when steps have cost as much. */
typedef struct csrec_active_columns {
    csrec_operator *stored; /* or NULL; the solver destroys it after the rounds */
    int64_t walked;         /* steps */
} csrec_active_columns;

/* Counts a step. Whether it is time to store columns, which take no more than 64 MiB. */
bool csrec_active_is_due(csrec_active_columns *columns, const csrec_support *s);

/* Stores them for csrec_active_create; *active is NULL, too, if there is no memory for them. */
csrec_status csrec_active_store(csrec_active_columns *columns, csrec_support *s, double lambda,
                                csrec_active **active);

/* Result of a round: x and r have improved; they are the minimum, or the run is stopped; roughly
 * the minimum; or steps on all columns have to go on from here: more columns are needed than a Gram
 * matrix pays for, or rounds help no longer and x is not the minimum. */
typedef enum csrec_round {
    CSREC_ROUND_BETTER,
    CSREC_ROUND_DONE,
    CSREC_ROUND_ROUGH,
    CSREC_ROUND_FULL,
    CSREC_ROUND_STUCK
} csrec_round;

/* The lambda of the last round, which falls to that of csrec_active_lambda. */
double csrec_active_reached(const csrec_active *active);

/* The lambda that rounds lead to. */
double csrec_active_lambda(const csrec_active *active);

/* The next rounds are for this lambda > 0, in the units of <a_j, y>; rough: the share of it by
 * which a rough minimum may miss its conditions, 0 for none. */
void csrec_active_aim(csrec_active *active, double lambda, double rough);

csrec_round csrec_active_round(csrec_active *active);

/* ---- the state of a path of minima, and whether a point of it is the solution. */

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
