/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_qr.c - Gram-Schmidt, repeated if a pass removes most of the column: orthogonal to rounding
 * (Kahan's "twice is enough", Giraud, Langou and Rozloznik 2005). */
#include "solver/omp_qr.h"

#include <math.h>
#include <string.h>

#include "operator/dense.h"

csrec_status csrec_qr_create(const csrec_operator *A, const double *norms, int64_t room,
                             int64_t columns, csrec_pool *pool, csrec_qr *qr) {
    *qr = (csrec_qr){.A = A, .norms = norms, .room = room};
    CSREC_TAKE(pool, qr->Q, columns * A->m);
    CSREC_TAKE(pool, qr->R, room * room);
    CSREC_TAKE(pool, qr->share, room);
    return csrec_pool_status(pool);
}

/* q -= Q Q^T q; adds Q^T q to column. */
static void project_out(csrec_qr *b, double *q, double *column) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    int64_t m = b->A->m;
    for (int64_t i = 0; i < b->size; i++) {
        b->share[i] = simd->dot(m, b->Q + i * m, q);
        column[i] += b->share[i];
    }
    simd->subtract(m, b->size, b->Q, m, b->share, q);
}

bool csrec_qr_add(csrec_qr *b, int64_t j, csrec_status *status) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    int64_t m = b->A->m, k = b->size;
    if (k == b->room) return false;
    double *q = b->Q + k * m, *column = b->R + k * b->room, length = b->norms[j], before;
    *status = csrec_operator_column(b->A, j, q);
    if (*status) return false;
    memset(column, 0, (size_t)b->room * sizeof *column);
    int pass = 0;
    do {
        before = length;
        project_out(b, q, column);
        length = sqrt(simd->dot(m, q, q));
    } while (++pass < 3 && length < 0.7 * before && length > 0x1p-40 * b->norms[j]);
    if (!(length > 0x1p-40 * b->norms[j])) return false;
    column[k] = length;
    for (int64_t a = 0; a < m; a++) q[a] /= length;
    b->size++;
    return true;
}

void csrec_qr_reduce(const csrec_qr *b, int64_t k, double *r) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    const double *q = b->Q + k * b->A->m;
    double share = simd->dot(b->A->m, q, r);
    simd->subtract(b->A->m, 1, q, b->A->m, &share, r);
}

void csrec_qr_solve(const csrec_qr *b, double *x) {
    for (int64_t k = b->size - 1; k >= 0; k--) {
        x[k] /= b->R[k * b->room + k];
        for (int64_t i = 0; i < k; i++) x[i] -= x[k] * b->R[k * b->room + i];
    }
}

void csrec_qr_solve_transposed(const csrec_qr *b, double *x) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    for (int64_t k = 0; k < b->size; k++) {
        const double *column = b->R + k * b->room;
        x[k] = (x[k] - simd->dot(k, column, x)) / column[k];
    }
}
