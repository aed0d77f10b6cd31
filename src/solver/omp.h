/* SPDX-License-Identifier: BSD-3-Clause */
/* omp.h - the QR factorisation of the picked columns, one column at a time: A_I = Q R. */
#pragma once

#include "operator/dense.h"
#include "solver/support.h"

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
/* ---- the fit of OMP by products: of A_I = Q R only R is kept, as R^T R = A_I^T A_I
 * solves the normal equations (Bjorck 1996, 2.4.6: corrected seminormal equations).
 *
 * A pick takes four products, however many columns are picked, where Gram-Schmidt reads all of Q
 * twice. Each fit corrects the last x by the gradient that it left, of r = y - A x, so errors do
 * not add up. */

/* Picks from which products take less time than Gram-Schmidt, if a product takes O(n log n); and of
 * an operator, but `most` where that is less or it has its columns in memory. */
double csrec_omp_products_number(double m, double n);
int64_t csrec_omp_products_from(const csrec_operator *A, int64_t most);

/* As csrec_qr_add, by products: a column of R. picks [size] are the columns before. g, p and q of
 * the support are scratch, and so is Q. */
bool csrec_omp_products_add(csrec_support *s, csrec_qr *qr, const int64_t *picks, int64_t j);

/* x on all picks, and r; `from` [size] are the gradients <a_j, r> of the picks at the x before,
 * overwritten. */
csrec_status csrec_omp_products_fit(csrec_support *s, const csrec_qr *qr, const int64_t *picks,
                                    double *from);

/* The same once more, from x as it is, with a product for the gradient. */
csrec_status csrec_omp_products_correct(csrec_support *s, const csrec_qr *qr, const int64_t *picks,
                                        double *scratch);

/* ---- predicts OMP's next picks on a dense matrix and verifies several in one pass over
 * the screen. */

typedef struct csrec_omp_predictor csrec_omp_predictor;

/* *predictor, of the pool, is NULL if the matrix is not dense, is complex, or is too small to gain.
 * CSREC_MEMORY. */
csrec_status csrec_omp_predictor_create(const csrec_operator *A, csrec_pool *pool,
                                        csrec_omp_predictor **predictor);

/* The column, not in `skip`, with the largest correlation c with r; -1: none. */
int64_t csrec_omp_predictor_select(csrec_omp_predictor *predictor, csrec_qr *qr, bool *skip,
                                   const double *r, double *c, csrec_status *status);

/* Whether the orthonormal vector of the pick is already where csrec_qr_add would put it. */
bool csrec_omp_predictor_added(const csrec_omp_predictor *predictor);

/* The pick was taken. */
void csrec_omp_predictor_advance(csrec_omp_predictor *predictor);

/* ---- OMP of many right-hand sides on one dense matrix, through its Gram matrix. */

/* The entry `many` of omp. CSREC_UNSUPPORTED if solving one by one is better: other operators, a
 * Gram matrix that costs more than it saves, few right-hand sides. */
csrec_status csrec_omp_batch(const csrec_many *job);
