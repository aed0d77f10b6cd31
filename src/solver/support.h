/* SPDX-License-Identifier: BSD-3-Clause */
/* support.h - shared by the greedy and thresholding solvers: a dense x, r = y - A x, the k largest
 * entries, and least squares on a support. */
#pragma once

#include "solver/solver.h"

/* ---- lengths of columns, by few products: an operator that does not know them is probed
 * with random vectors, and a length is computed where it decides a pick.
 *
 * Of Gaussian v, (A^T v)_j has the variance ||a_j||^2, so the mean of T squares has the
 * distribution
 * ||a_j||^2 chi^2_T / T exactly, whatever A is. The probes are the same in every run. */

typedef struct csrec_lengths {
    const csrec_operator *A;
    csrec_run *run; /* that is asked whether to stop, or NULL */
    double *norms;  /* [n] ||a_j||, or estimates; both parts of an entry have the same */
    bool *known;    /* [n] the length of the entry at j is exact; NULL: all are */
    double least;   /* what is shorter is rounding: 0 */
    int probes, measured;
    double *column; /* [m] scratch */
} csrec_lengths;

/* compared: a solver compares columns of unit length. Lengths are then exact, by as many products,
 * where A knows them or has few entries, else estimates with a standard deviation of 6 %. If not
 * compared, those that A does not know are estimates from 12 probes. Compared columns that rounding
 * of the products hides, but for a third of the digits of the longest or less, have the length 0:
 * where the shortest is below 2^-12 of the longest, 12 more products tell them. If stopped, 0.
 * The pool has the arrays. CSREC_MEMORY, or the status of a product. */
csrec_status csrec_lengths_create(const csrec_operator *A, bool compared, csrec_run *run,
                                  csrec_pool *pool, csrec_lengths *lengths);

/* Products that csrec_lengths_create takes for n entries whose lengths A does not know. */
double csrec_lengths_products(bool compared, double n);

/* The entry with the largest |c_j|, the first if several are equal, of those not in `skip` [n]
 * (NULL: of all): *pick, -1 if there is none, and *size = |c_j|. c [n] = <a_j, r> / norms_j. An
 * entry whose length is estimated is measured, and its c_j and length corrected, if it may be the
 * best even where the estimate is 47 % too long: of 10^6 columns one is further off once in 10^6
 * problems. So the pick is that of exact lengths. Where twice as many were measured as there were
 * probes, these are doubled, up to 512 (23 % too long). CSREC_STOPPED, or a product's status. */
csrec_status csrec_lengths_pick(csrec_lengths *lengths, const bool *skip, double *c, int64_t *pick,
                                double *size);

typedef struct csrec_support {
    csrec_run *run;
    const csrec_operator *A;
    const double *y;
    csrec_lengths lengths;
    double *norms;     /* [n] of these: column norms, or estimates */
    double *x;         /* [n] */
    double *r;         /* [m] y - A x */
    double *c;         /* [n] correlations <a_j, r> / ||a_j|| of the last csrec_support_correlate */
    bool *chosen;      /* [n] */
    int64_t size;      /* chosen columns */
    double energy;     /* ||r||^2 */
    double *g, *p, *q; /* [n], [n], [m] of the least squares */
    int64_t *largest;  /* [n] scratch of the selection */
    double *sizes;     /* [n / parts] magnitudes, where an entry has several parts; else NULL */
    int64_t k;         /* solvers with a target sparsity: entries to keep */
    bool nonnegative;  /* solvers of l1 problems: x >= 0 is a constraint */
    bool rough;        /* x is that of a rough fit */
} csrec_support;

/* Bytes of a support of n columns and m samples. */
static inline double csrec_support_bytes(const csrec_solver_size *size) {
    return size->n * (5 * sizeof(double) + sizeof(bool) + sizeof(int64_t)) +
           size->m * 2 * sizeof(double);
}

/* The run's pool has all arrays; x is the run's start or 0. If stopped, norms are not computed.
 * CSREC_MEMORY, CSREC_ARGUMENT. */
csrec_status csrec_support_create(csrec_run *run, csrec_support *s, csrec_error *error);

/* x = 0 and r = y. */
void csrec_support_zero(csrec_support *s);

/* y = A x and x = A^T y, with a report before. CSREC_STOPPED: stop was requested; nothing is
 * written. */
csrec_status csrec_support_forward(const csrec_support *s, const double *x, double *y);
csrec_status csrec_support_adjoint(const csrec_support *s, const double *y, double *x);

/* Computes c from the current r. */
csrec_status csrec_support_correlate(csrec_support *s);

/* r = y - A x and its energy; `subtract` without a report. */
csrec_status csrec_support_residual(csrec_support *s);
csrec_status csrec_support_subtract(csrec_support *s);

/* Finds the k entries of v [n] with the largest |v_j|, the smaller index first if equal; the
 * indices of their columns, ascending, are in s->largest. Returns the number of these: at most k,
 * or `parts` times k; without zeros; 0 if stopped. O(n). */
int64_t csrec_support_largest(csrec_support *s, const double *v, int64_t k);

/* min ||y - A x|| over x that are 0 outside the chosen columns, and r. By the operator's `fit`
 * (exact), or by conjugate gradients on the normal equations from the current x (CGLS, Bjorck
 * 1996, 7.4.1): to rounding; or close, until the gradient on unit columns is 10^-12 ||r||; both
 * 1,000 steps at most; or rough, until it is 10^-6 ||r||, or 200 steps, and s->rough is set; or
 * until the run is stopped. CSREC_STOPPED: stopped before it began; r does not belong to x. */
typedef enum csrec_fit { CSREC_FIT_EXACT, CSREC_FIT_CLOSE, CSREC_FIT_ROUGH } csrec_fit;
csrec_status csrec_support_fit(csrec_support *s, csrec_fit fit);

/* Fits x roughly, and goes on to an exact fit unless ||r||^2 is below `energy` then. Whether it is;
 * sets the run's fault. */
bool csrec_support_shortens(csrec_support *s, double energy);

/* For a step that finds nothing left to do: whether x was a rough fit, and the exact one has a
 * shorter r. Sets the run's fault. */
bool csrec_support_settle(csrec_support *s);

/* Keeps the k entries of x with the largest share ||a_j|| |x_j| of A x, and chooses their columns.
 * c is scratch; r is not computed. */
void csrec_support_prune(csrec_support *s, int64_t k);

/* Chooses the columns of the entries of x that are not 0, but for columns of zeros. */
void csrec_support_choose_used(csrec_support *s);

/* Shared table entries: csrec_support as the first member of run->state. */
double csrec_support_energy(const csrec_run *run);
csrec_status csrec_support_result(const csrec_run *run, csrec_atoms *atoms, double *r);

/* The same of solvers whose x is a fit, which becomes exact, and whether it is not yet. */
csrec_status csrec_support_fitted(const csrec_run *run, csrec_atoms *atoms, double *r);
bool csrec_support_settles(const csrec_run *run);

/* ---- the target sparsity k of the solvers that keep k columns. */

/* The table row of parameter "k". */
#define CSREC_SPARSE_PARAM                                                                         \
    { "k", 0, 0, 9e15, "columns to keep; 0: a quarter of the samples" }

/* run->state = a csrec_support at the front of `size` zeroed bytes. */
csrec_status csrec_sparse_create(csrec_run *run, size_t size, csrec_error *error);

/* The same, and its k, where 0 stands for a quarter of the samples. Refuses more than m or n. Of
 * complex x, k, m and n count complex numbers. Of a start the k entries are kept that have the
 * largest share ||a_j|| |x_j|; their columns are chosen. */
csrec_status csrec_sparse_begin(csrec_run *run, size_t size, csrec_error *error);
