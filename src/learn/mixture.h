/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.h - evaluation of a mixture of Gaussians: factors of its covariances, posteriors of rows.
 */
#ifndef CSREC_LEARN_MIXTURE_H
#define CSREC_LEARN_MIXTURE_H

#include "csrec/learn.h"
#include "base/call.h"
#include "base/error.h"
#include "base/pool.h"

typedef struct csrec_mixture {
    int K, d;
    double *weights, *means, *C; /* [K], [K][d], [K][d][d] */
    double *whiten;              /* [K] inverse Cholesky factors, packed (whiten.h) */
    double *offset;              /* [K] log weight - (d log 2 pi + log |C|) / 2 */
    csrec_pool pool;             /* of these arrays */
} csrec_mixture;

enum { CSREC_MIXTURE_MOST = 4096 }; /* components, and entries of a vector */

csrec_status csrec_mixture_create(int K, int d, csrec_mixture *mixture, csrec_error *error);
void csrec_mixture_clear(csrec_mixture *mixture);

/* From a model of kind gmm. */
csrec_status csrec_mixture_from(const csrec_model *model, csrec_mixture *mixture,
                                csrec_error *error);

/* Raises eigenvalues of each C below `least` to it, which gives the largest likelihood of all
 * covariances with that bound. Then computes the factors. least > 0. If the call (may be NULL) is
 * stopped, some are not computed. */
csrec_status csrec_mixture_prepare(csrec_mixture *mixture, double least, int threads,
                                   csrec_call *call, csrec_error *error);

/* Room for csrec_mixture_posteriors, one a thread. */
size_t csrec_mixture_work(const csrec_mixture *mixture);

/* exp(-40) = 4e-18 of the largest does not change the last bit of their sum. */
#define CSREC_MIXTURE_NOTHING -40.0

/* Posterior r [count][K] of the components for rows X [count][d], count up to CSREC_WHITEN_ROWS;
 * returns the sum of the rows' log-likelihoods. A row that is far from all components belongs to
 * the nearest. */
double csrec_mixture_posteriors(const csrec_mixture *mixture, int count, const float *X,
                                double *work, double *r);

/* The most likely component of each such row, the first of several; 0 for a row that is not finite.
 * work: that much, and count * K more. */
void csrec_mixture_choose(const csrec_mixture *mixture, int count, const float *X, double *work,
                          int *choice);

/* C = L L^T, rows of d, the lower triangle of A replaced by L; false: not positive definite. */
bool csrec_cholesky(int d, double *A);
/* W = L^-1, lower, zero above. */
void csrec_triangle_invert(int d, const double *L, double *W);

#endif
