/* SPDX-License-Identifier: BSD-3-Clause */
/* solve_many.c - many right-hand sides: in parallel, or all at once by a solver that can. */
#include <string.h>

#include "base/threads.h"
#include "haar/atoms.h"
#include "operator/ordinary.h"
#include "solver/solver.h"
#include "solver/units.h"

/* The progress callback of one right-hand side; it reports for all of them. */
static bool hear_stop(const csrec_progress *progress, void *context) {
    (void)progress;
    return csrec_call_poll(context);
}

csrec_solve_options csrec_many_options(const csrec_many *job, int64_t k) {
    csrec_solve_options options = *job->options;
    options.look = NULL;
    if (options.history) options.history += k * options.history_size;
    if (options.progress) options.progress = hear_stop;
    options.context = job->call;
    return options;
}

bool csrec_many_stops(const csrec_many *job, int64_t done) {
    csrec_progress progress = {"right-hand sides", done, job->count, -1.0};
    return csrec_call_report(job->call, &progress);
}

csrec_status csrec_many_leave_out(const csrec_many *job, int64_t k) {
    const double *y = job->y + k * job->A->m;
    const double residual = csrec_largest(job->A->m, y) > 0.0 ? 1.0 : 0.0;
    if (job->r) memcpy(job->r + k * job->A->m, y, (size_t)job->A->m * sizeof *y);
    if (job->reports) job->reports[k] = (csrec_solve_report){CSREC_INTERRUPTED, 0, residual};
    return job->atoms ? csrec_atoms_create(0, job->atoms + k) : CSREC_OK;
}

csrec_status csrec_many_solve(const csrec_many *job, int64_t k, csrec_error *error) {
    csrec_solve_options options = csrec_many_options(job, k);
    return csrec_solve_one(
        job->A, job->y + k * job->A->m, &options, job->atoms ? job->atoms + k : NULL,
        job->r ? job->r + k * job->A->m : NULL, job->reports ? job->reports + k : NULL, error);
}

static csrec_status one_by_one(const csrec_many *job, csrec_error *error) {
    int64_t done = 0;
#pragma omp parallel num_threads(job->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t k = 0; k < job->count; k++) {
            csrec_error text = {"out of memory"};
            csrec_status own = csrec_call_stopped(job->call) ? csrec_many_leave_out(job, k)
                                                             : csrec_many_solve(job, k, &text);
            int64_t so_far;
#pragma omp atomic capture
            so_far = ++done;
            if (own) csrec_call_fail(job->call, k, own, text.text);
            csrec_many_stops(job, so_far);
        }
        csrec_call_gather(job->call);
    }
    const csrec_call *call = job->call;
    return call->status ? csrec_fail(error, call->status, "right-hand side %lld: %.400s",
                                     (long long)call->place, call->error.text)
                        : CSREC_OK;
}

static csrec_status check_many(const csrec_solver_type *type, const csrec_many *job,
                               csrec_error *error) {
    if (job->options->history && job->options->history_size < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "history_size = %lld; must not be negative",
                          (long long)job->options->history_size);
    for (int64_t k = 0; k < job->count; k++) {
        csrec_error text;
        csrec_status status =
            csrec_solve_check(type, job->A, job->y + k * job->A->m, job->options, &text);
        if (status)
            return csrec_fail(error, status, "right-hand side %lld: %.400s", (long long)k,
                              text.text);
    }
    return CSREC_OK;
}

/* Other solvers need one unit for each right-hand side. */
static bool are_ordinary(const csrec_many *job) {
    if (job->A->exponent) return false;
    for (int64_t k = 0; k < job->count; k++)
        if (csrec_unit_of(csrec_largest(job->A->m, job->y + k * job->A->m)) != 1.0) return false;
    return true;
}

static csrec_status solve_apart(const csrec_solver_type *type, const csrec_many *job,
                                csrec_error *error) {
    csrec_status status = type->many && are_ordinary(job) ? type->many(job) : CSREC_UNSUPPORTED;
    if (status == CSREC_UNSUPPORTED) return one_by_one(job, error);
    if (status)
        csrec_fail(error, status, "solver %s: %s, with %lld right-hand sides", type->name,
                   csrec_status_text(status), (long long)job->count);
    return status;
}

static csrec_status solve_all(const csrec_solver_type *type, csrec_many *job, int threads,
                              csrec_error *error) {
    csrec_call call;
    const csrec_solve_options *options = job->options;
    const double work = (double)job->count * (double)job->A->m * (double)job->A->n;
    const bool single = job->count == 1 || job->A->serial;
    job->threads = csrec_threads_for(single          ? 1
                                     : work < 0x1p62 ? (int64_t)work
                                                     : INT64_MAX,
                                     threads);
    job->call = &call;
    csrec_call_begin(&call, options->progress, options->context,
                     (csrec_progress){"right-hand sides", 0, job->count, -1.0});
    if (job->atoms) memset(job->atoms, 0, (size_t)job->count * sizeof *job->atoms);
    csrec_status status = csrec_setting_value(options, CSREC_OF_SOLVER, "joint", 0.0) != 0.0
                              ? csrec_joint_solve(job, error)
                              : solve_apart(type, job, error);
    csrec_call_end(&call);
    for (int64_t k = 0; status && job->atoms && k < job->count; k++)
        csrec_atoms_clear(job->atoms + k);
    return status;
}

csrec_status csrec_solve_many(const csrec_operator *A, int64_t count, const double *y,
                              const csrec_solve_options *options, int threads, csrec_atoms *atoms,
                              double *r, csrec_solve_report *reports, csrec_error *error) {
    const csrec_solver_type *type;
    csrec_status known = csrec_solver_take(options->solver, &type, error);
    if (known) return known;
    if (count < 0 || threads < 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%lld right-hand sides, %d threads; neither may be negative",
                          (long long)count, threads);
    if (count == 0) return csrec_solve_check(type, A, NULL, options, error);
    csrec_operator *ordinary;
    csrec_many job = {A, count, y, options, 1, atoms, r, reports, NULL};
    csrec_status status = check_many(type, &job, error);
    if (!status) status = csrec_ordinary_create(A, &ordinary, error);
    if (status) return status;
    if (ordinary) job.A = ordinary;
    status = solve_all(type, &job, threads, error);
    csrec_operator_destroy(ordinary);
    return status;
}
