/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_qr.h - the QR factorisation of the picked columns, one column at a time: A_I = Q R. */
#ifndef CSREC_SOLVER_OMP_QR_H
#define CSREC_SOLVER_OMP_QR_H

#include "operator/operator.h"

typedef struct csrec_qr {
    const csrec_operator *A;
    const double *norms; /* [n] of A's columns; not owned */
    int64_t room, size;
    double *Q, *R; /* [columns][m], [room][room]: R[i][j], i <= j, in row j */
    double *share; /* [room] scratch */
} csrec_qr;

/* For at most `room` columns, of which csrec_qr_add adds the first `columns`. CSREC_MEMORY. */
csrec_status csrec_qr_create(const csrec_operator *A, const double *norms, int64_t room,
                             int64_t columns, csrec_pool *pool, csrec_qr *qr);

/* Adds column j; false if it lies in the span of those before, or *status is set. */
bool csrec_qr_add(csrec_qr *qr, int64_t j, csrec_status *status);

/* r -= <q, r> q of basis vector k. */
void csrec_qr_reduce(const csrec_qr *qr, int64_t k, double *r);

/* R x = b, and R^T x = b, in place; [size]. */
void csrec_qr_solve(const csrec_qr *qr, double *b);
void csrec_qr_solve_transposed(const csrec_qr *qr, double *b);

#endif
