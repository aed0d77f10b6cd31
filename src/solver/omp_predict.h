/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_predict.h - predicts OMP's next picks on a dense matrix and verifies several in one pass over
 * the screen. */
#ifndef CSREC_SOLVER_OMP_PREDICT_H
#define CSREC_SOLVER_OMP_PREDICT_H

#include "operator/dense.h"
#include "solver/omp_qr.h"

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

#endif
