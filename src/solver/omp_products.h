/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_products.h - the fit of OMP by products: of A_I = Q R only R is kept, as R^T R = A_I^T A_I
 * solves the normal equations (Bjorck 1996, 2.4.6: corrected seminormal equations).
 *
 * A pick takes four products, however many columns are picked, where Gram-Schmidt reads all of Q
 * twice. Each fit corrects the last x by the gradient that it left, of r = y - A x, so errors do
 * not add up. */
#ifndef CSREC_SOLVER_OMP_PRODUCTS_H
#define CSREC_SOLVER_OMP_PRODUCTS_H

#include "solver/omp_qr.h"
#include "solver/support.h"

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

#endif
