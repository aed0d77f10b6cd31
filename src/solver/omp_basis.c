/* omp_basis.c - Gram-Schmidt, again where a pass took most of the column away: orthogonal to
 * rounding (Kahan's "twice is enough", Giraud, Langou and Rozloznik 2005). */
#include "solver/omp_basis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operator/dense.h"

csrec_status csrec_basis_create(const csrec_operator *A, const double *norms, int64_t room,
                                csrec_basis *basis) {
    *basis = (csrec_basis){.A = A, .norms = norms, .room = room};
    basis->Q = malloc((size_t)room * (size_t)A->m * sizeof *basis->Q);
    basis->R = malloc((size_t)room * (size_t)room * sizeof *basis->R);
    basis->share = malloc((size_t)room * sizeof *basis->share);
    return basis->Q && basis->R && basis->share ? CSREC_OK : CSREC_MEMORY;
}

void csrec_basis_clear(csrec_basis *basis) {
    free(basis->Q);
    free(basis->R);
    free(basis->share);
    *basis = (csrec_basis){0};
}

/* q -= Q Q^T q; adds Q^T q to column. */
static void project_out(csrec_basis *b, double *q, double *column) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    int64_t m = b->A->m;
    for (int64_t i = 0; i < b->size; i++) {
        b->share[i] = simd->dot(m, b->Q + i * m, q);
        column[i] += b->share[i];
    }
    simd->subtract(m, b->size, b->Q, m, b->share, q);
}

bool csrec_basis_add(csrec_basis *b, int64_t j, csrec_status *status) {
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

void csrec_basis_reduce(const csrec_basis *b, int64_t k, double *r) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    const double *q = b->Q + k * b->A->m;
    double share = simd->dot(b->A->m, q, r);
    simd->subtract(b->A->m, 1, q, b->A->m, &share, r);
}

void csrec_basis_solve(const csrec_basis *b, double *x) {
    for (int64_t k = b->size - 1; k >= 0; k--) {
        x[k] /= b->R[k * b->room + k];
        for (int64_t i = 0; i < k; i++) x[i] -= x[k] * b->R[k * b->room + i];
    }
}
