/* SPDX-License-Identifier: BSD-3-Clause */
/* lengths.h - lengths of columns, by few products: an operator that does not know them is probed
 * with random vectors, and a length is computed where it decides a pick.
 *
 * Of Gaussian v, (A^T v)_j has the variance ||a_j||^2, so the mean of T squares has the
 * distribution
 * ||a_j||^2 chi^2_T / T exactly, whatever A is. The probes are the same in every run. */
#ifndef CSREC_SOLVER_LENGTHS_H
#define CSREC_SOLVER_LENGTHS_H

#include "solver/solver.h"

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
 * probes, these are doubled, up to 512 (23 % too long). CSREC_STOPPED, or the status of a product.
 */
csrec_status csrec_lengths_pick(csrec_lengths *lengths, const bool *skip, double *c, int64_t *pick,
                                double *size);

#endif
