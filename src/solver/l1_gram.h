/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_gram.h - the l1 problem on a few columns W, by their Gram matrix G:
 *
 *     min 1/2 ||A_W x - y||^2 + lambda ||x||_1,   c = A_W^T (y - A_W x),   G = A_W^T A_W
 *
 * where a step costs k^2 for k columns, whatever m and n are. */
#ifndef CSREC_SOLVER_L1_GRAM_H
#define CSREC_SOLVER_L1_GRAM_H

#include "operator/dense.h"
#include "solver/solver.h"

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

#endif
