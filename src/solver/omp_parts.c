/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_parts.c - Batch-OMP on a device, in parts, between which an interruption is noticed. omp
 * solves the right-hand sides that the device leaves. */
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "haar/atoms.h"
#include "solver/engine.h"
#include "solver/solver.h"

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
