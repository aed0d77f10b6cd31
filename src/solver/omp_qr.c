/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_qr.c - Gram-Schmidt, repeated if a pass removes most of the column: orthogonal to rounding
 * (Kahan's "twice is enough", Giraud, Langou and Rozloznik 2005). */
#include <math.h>
#include <string.h>

#include "solver/omp.h"
#include "base/stop.h"
#include "haar/tree.h"
#include "solver/engine.h"

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

static void solve_transposed(const csrec_qr *b, double *x) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    for (int64_t k = 0; k < b->size; k++) {
        const double *column = b->R + k * b->room;
        x[k] = (x[k] - simd->dot(k, column, x)) / column[k];
    }
}

/* ---- R of the picked columns and the fit, by products with A. */

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
    if (!status) solve_transposed(b, b->share);
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
    solve_transposed(b, from);
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

/* ---- Batch-OMP on a device, in parts, between which an interruption is noticed. omp
 * solves the right-hand sides that the device leaves. */

enum { PART = 16384 };

typedef csrec_status (*solve_fn)(const csrec_omp_part *part, const csrec_omp_result *result);

static csrec_status parts_allocate(csrec_pool *pool, int64_t count, int64_t room,
                                   csrec_omp_result *result) {
    *result = (csrec_omp_result){0};
    CSREC_TAKE(pool, result->outcome, count);
    CSREC_TAKE(pool, result->size, count);
    CSREC_TAKE(pool, result->iterations, count);
    CSREC_TAKE(pool, result->residual, count);
    CSREC_TAKE(pool, result->column, count * room);
    CSREC_TAKE(pool, result->coefficient, count * room);
    return csrec_pool_status(pool);
}

/* By column; zeros are no atoms. */
static csrec_status make_atoms(int64_t size, int32_t *column, double *coefficient,
                               csrec_atoms *atoms) {
    int64_t n = 0;
    for (int64_t k = 0; k < size; k++) {
        int32_t c = column[k];
        double x = coefficient[k];
        if (x == 0.0) continue;
        int64_t at = n++;
        for (; at > 0 && column[at - 1] > c; at--) {
            column[at] = column[at - 1];
            coefficient[at] = coefficient[at - 1];
        }
        column[at] = c;
        coefficient[at] = x;
    }
    csrec_status status = csrec_atoms_create(n, atoms);
    for (int64_t k = 0; k < n && !status; k++) {
        atoms->column[k] = (uint64_t)column[k];
        atoms->coefficient[k] = coefficient[k];
    }
    return status;
}

/* Right-hand side `at` of the job is number k of the part. */
static csrec_status parts_deliver(const csrec_many *job, int64_t at, const csrec_omp_result *result,
                                  int64_t room, int64_t k) {
    if (result->outcome[k] < 0) return csrec_many_solve(job, at, NULL);
    csrec_outcome reached = (csrec_outcome)result->outcome[k];
    if (job->reports)
        job->reports[at] = (csrec_solve_report){
            csrec_stop_verdict(&job->options->stop, job->A->m, result->residual[k], reached),
            result->iterations[k], result->residual[k]};
    return job->atoms ? make_atoms(result->size[k], result->column + k * room,
                                   result->coefficient + k * room, job->atoms + at)
                      : CSREC_OK;
}

static csrec_status solve_part(const csrec_many *job, int64_t start, int64_t count, int64_t room,
                               solve_fn solve, csrec_omp_result *result) {
    int64_t m = job->A->m;
    csrec_omp_part part = {job->A, count, room, job->y + start * m, &job->options->stop};
    result->r = job->r ? job->r + start * m : NULL;
    csrec_status status = solve(&part, result);
    if (status) return status;
#pragma omp parallel num_threads(job->threads)
    {
#pragma omp for schedule(dynamic, 64) nowait
        for (int64_t k = 0; k < count; k++) {
            csrec_status own = parts_deliver(job, start + k, result, room, k);
            if (own) {
#pragma omp atomic write
                status = own;
            }
        }
        csrec_call_gather(job->call);
    }
    return status;
}

csrec_status csrec_omp_in_parts(const csrec_many *job, int64_t room, solve_fn solve) {
    /* A device returns results only, without the residual of each step. */
    if (job->options->history) return CSREC_UNSUPPORTED;
    csrec_omp_result result;
    csrec_pool pool = {0};
    int64_t most = job->count < PART ? job->count : PART, at = 0;
    csrec_status status = parts_allocate(&pool, most, room, &result);
    for (bool stopped = false; at < job->count && !status && !stopped;) {
        int64_t count = job->count - at < most ? job->count - at : most;
        status = solve_part(job, at, count, room, solve, &result);
        at += count;
        stopped = !status && csrec_many_stops(job, at);
    }
    for (; at < job->count && !status; at++) status = csrec_many_leave_out(job, at);
    csrec_pool_clear(&pool);
    return status;
}
