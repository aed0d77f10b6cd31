/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_products.c - R of the picked columns and the fit, by products with A. */
#include "solver/omp_products.h"

#include <math.h>
#include <string.h>

#include "operator/dense.h"

double csrec_omp_products_number(double m, double n) {
    return n * log2(n + 1.0) / m;
}

int64_t csrec_omp_products_from(const csrec_operator *A, int64_t most) {
    const double from = csrec_omp_products_number((double)A->m, (double)A->n);
    return A->type->access || from > (double)most ? most : (int64_t)from;
}

/* The share of R^-T A_I^T q that q has in the span of the picks. */
static csrec_status find_share(csrec_support *s, csrec_qr *b, const int64_t *picks) {
    csrec_status status = csrec_support_adjoint(s, s->q, s->g);
    for (int64_t i = 0; i < b->size && !status; i++) b->share[i] = s->g[picks[i]];
    if (!status) csrec_qr_solve_transposed(b, b->share);
    return status;
}

/* q -= A R^-1 share */
static csrec_status take_share(csrec_support *s, csrec_qr *b, const int64_t *picks) {
    csrec_qr_solve(b, b->share);
    memset(s->p, 0, (size_t)s->A->n * sizeof *s->p);
    for (int64_t i = 0; i < b->size; i++) s->p[picks[i]] = b->share[i];
    csrec_status status = csrec_support_forward(s, s->p, b->Q);
    for (int64_t i = 0; i < s->A->m && !status; i++) s->q[i] -= b->Q[i];
    return status;
}

/* What is left of the column is computed itself only where the difference of squares would lose
 * digits, repeated as Gram-Schmidt in omp_qr.c. */
bool csrec_omp_products_add(csrec_support *s, csrec_qr *b, const int64_t *picks, int64_t j) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    const int64_t m = s->A->m, k = b->size;
    csrec_status *status = &s->run->fault;
    if (k == b->room) return false;
    double *column = b->R + k * b->room;
    *status = csrec_operator_column(b->A, j, s->q);
    memset(column, 0, (size_t)b->room * sizeof *column);
    double whole = simd->dot(m, s->q, s->q), square = whole, before;
    int pass = 0;
    do {
        before = square;
        if (!*status) *status = find_share(s, b, picks);
        if (*status) return false;
        for (int64_t i = 0; i < k; i++) column[i] += b->share[i];
        square = before - simd->dot(k, b->share, b->share);
        if (pass == 0 && square >= 0.25 * before) break;
        *status = take_share(s, b, picks);
        square = simd->dot(m, s->q, s->q);
    } while (++pass < 4 && square < 0.5 * before && square > 0x1p-80 * whole);
    if (*status || !(square > 0x1p-80 * whole)) return false;
    column[k] = sqrt(square);
    b->size++;
    return true;
}

csrec_status csrec_omp_products_fit(csrec_support *s, const csrec_qr *b, const int64_t *picks,
                                    double *from) {
    csrec_qr_solve_transposed(b, from);
    csrec_qr_solve(b, from);
    for (int64_t i = 0; i < b->size; i++) s->x[picks[i]] += from[i];
    return csrec_support_residual(s);
}

csrec_status csrec_omp_products_correct(csrec_support *s, const csrec_qr *b, const int64_t *picks,
                                        double *scratch) {
    csrec_status status = csrec_support_adjoint(s, s->r, s->g);
    for (int64_t i = 0; i < b->size && !status; i++) scratch[i] = s->g[picks[i]];
    return status ? status : csrec_omp_products_fit(s, b, picks, scratch);
}
