/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_predict.c - predicts the next picks, then verifies or corrects them in one pass.
 *
 * A large matrix is limited by memory bandwidth: a step costs one pass over the screen, which for
 * sixteen residuals costs little more than for one. The next picks almost always come from the few
 * columns that were best at the last pass. So up to sixteen steps are taken with those columns
 * alone; one pass then bounds the correlations of all columns with all sixteen residuals. The first
 * wrong prediction is replaced by the better column and ends the plan. The picks are those of full
 * correlations, whatever was predicted. */
#include "solver/omp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this many entries, computing all correlations is cheaper than the second copy. */
enum { SCREEN_FROM = 1 << 14, POOL = 64, COUNT = CSREC_SCREEN_COUNT };

struct csrec_omp_predictor {
    const csrec_operator *A;
    const csrec_screen *screen;
    int64_t pool[POOL]; /* best columns at the last pass */
    int pooled;
    int planned, next; /* verified picks, and those of them used */
    int64_t pick[COUNT];
    double c[COUNT];
    bool added[COUNT]; /* its orthonormal vector is in place */
    double *r;         /* [COUNT][m] residuals before each pick */
    double *upper;     /* [COUNT][n] */
    int8_t *p;         /* scratch of the screen */
};

csrec_status csrec_omp_predictor_create(const csrec_operator *A, csrec_pool *pool,
                                        csrec_omp_predictor **predictor) {
    *predictor = NULL;
    if (!csrec_dense_of(A) || A->complex_x || A->m * A->n < SCREEN_FROM) return CSREC_OK;
    csrec_omp_predictor *a = CSREC_ZEROS(pool, *predictor, 1);
    if (!a) return CSREC_MEMORY;
    a->A = A;
    CSREC_TAKE(pool, a->r, COUNT * A->m);
    CSREC_TAKE(pool, a->upper, COUNT * A->n);
    a->p = csrec_pool_keep(
        pool, aligned_alloc(64, COUNT * (size_t)csrec_screen_padded(A->m) * sizeof *a->p));
    return csrec_pool_status(pool) ? CSREC_MEMORY : csrec_screen_of(A, &a->screen);
}

static int64_t best_in_pool(const csrec_omp_predictor *a, const bool *skip, const double *r) {
    int64_t best = -1;
    double most = 0.0;
    for (int i = 0; i < a->pooled; i++) {
        if (skip[a->pool[i]]) continue;
        double c = fabs(csrec_dense_correlation(a->A, a->pool[i], r));
        if (c <= most) continue;
        most = c;
        best = a->pool[i];
    }
    return best;
}

/* Predicts picks, each with its orthonormal vector and the residual after it. Returns the number of
 * residuals to verify; the prediction for the last may be missing. */
static int guess(csrec_omp_predictor *a, csrec_qr *qr, bool *skip, csrec_status *status) {
    int64_t m = a->A->m;
    for (int k = 0; k < COUNT; k++) {
        a->pick[k] = best_in_pool(a, skip, a->r + k * m);
        a->added[k] = a->pick[k] >= 0 && csrec_qr_add(qr, a->pick[k], status);
        if (!a->added[k] || k + 1 == COUNT) return k + 1;
        skip[a->pick[k]] = true;
        memcpy(a->r + (k + 1) * m, a->r + k * m, (size_t)m * sizeof *a->r);
        csrec_qr_reduce(qr, qr->size - 1, a->r + (k + 1) * m);
    }
    return COUNT;
}

/* Undoes all predictions; verified picks are skipped. */
static void prove(csrec_omp_predictor *a, int count, bool *skip) {
    int64_t n = a->A->n, guessed[COUNT];
    memcpy(guessed, a->pick, sizeof guessed);
    for (int k = 0; k + 1 < count; k++) skip[guessed[k]] = false;
    for (a->planned = 0; a->planned < count;) {
        int k = a->planned++;
        a->c[k] = 0.0;
        a->pick[k] = csrec_screen_settle(a->A, a->r + k * a->A->m, skip, a->upper + k * n,
                                         guessed[k], &a->c[k]);
        a->added[k] = a->added[k] && a->pick[k] == guessed[k];
        if (!a->added[k]) break;
        skip[guessed[k]] = true;
    }
    for (int k = 0; k < a->planned; k++)
        if (a->pick[k] >= 0 && a->added[k]) skip[a->pick[k]] = false;
}

/* A heap-free selection: the POOL largest bounds, by a threshold that rises as the pool fills. */
static void fill_pool(csrec_omp_predictor *a, const double *upper, const bool *skip) {
    int least = 0;
    a->pooled = 0;
    for (int64_t j = 0; j < a->A->n; j++) {
        if (skip[j] || (a->pooled == POOL && upper[j] <= upper[a->pool[least]])) continue;
        a->pool[a->pooled < POOL ? a->pooled++ : least] = j;
        if (a->pooled < POOL) continue;
        least = 0;
        for (int i = 1; i < POOL; i++)
            if (upper[a->pool[i]] < upper[a->pool[least]]) least = i;
    }
}

static void plan(csrec_omp_predictor *a, csrec_qr *qr, bool *skip, const double *r,
                 csrec_status *status) {
    int64_t size = qr->size;
    memcpy(a->r, r, (size_t)a->A->m * sizeof *r);
    int count = guess(a, qr, skip, status);
    qr->size = size;
    csrec_screen_bounds(a->A, a->screen, count, a->r, a->upper, a->p);
    prove(a, count, skip);
    fill_pool(a, a->upper + (a->planned - 1) * a->A->n, skip);
    a->next = 0;
}

int64_t csrec_omp_predictor_select(csrec_omp_predictor *a, csrec_qr *qr, bool *skip,
                                   const double *r, double *c, csrec_status *status) {
    if (a->next == a->planned) plan(a, qr, skip, r, status);
    *c = a->c[a->next];
    return a->pick[a->next];
}

bool csrec_omp_predictor_added(const csrec_omp_predictor *a) {
    return a->added[a->next];
}

void csrec_omp_predictor_advance(csrec_omp_predictor *a) {
    a->next++;
}
