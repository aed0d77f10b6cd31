/* SPDX-License-Identifier: BSD-3-Clause */
/* solve_many.c - many right-hand sides: in parallel, or all at once by a solver that can. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "haar/tree.h"
#include "solver/solver.h"

/* ---- many right-hand sides as one problem, whose entries are rows of X: the operator of all
 * x, in which the copies of an entry follow each other (operator/chain.c). */

typedef struct joint {
    const csrec_many *job;
    csrec_operator *A;
    int64_t parts, y_parts; /* of an entry of one x, and of one y */
    double *y, *r;          /* [m][count], entries as a whole */
    csrec_atoms start, found;
} joint;

/* Where number i of copy k is, of entries of so many parts. */
static int64_t place(const joint *o, int64_t parts, int64_t i, int64_t k) {
    return (i / parts * o->job->count + k) * parts + i % parts;
}

/* The start of one x is that of all. */
static csrec_status copy_start(joint *o) {
    const csrec_atoms *from = o->job->options->start;
    const int64_t count = o->job->count;
    csrec_status status = from ? csrec_atoms_create(from->n * count, &o->start) : CSREC_OK;
    for (int64_t i = 0; from && !status && i < from->n * count; i++) {
        const int64_t column = (int64_t)from->column[i / count];
        o->start.column[i] = (uint64_t)place(o, o->parts, column, i % count);
        o->start.coefficient[i] = from->coefficient[i / count];
    }
    return status;
}

static csrec_status joint_create(joint *o, csrec_error *error) {
    const csrec_operator *A = o->job->A;
    const csrec_operator_spec spec = {.name = "pairs", .first = A, .n = o->job->count};
    const size_t numbers = (size_t)A->m * (size_t)o->job->count;
    CSREC_TRY(csrec_operator_create(&spec, &o->A, error));
    o->parts = A->parts;
    o->y_parts = A->complex_y ? 2 : 1;
    o->y = malloc(numbers * sizeof *o->y);
    o->r = malloc(numbers * sizeof *o->r);
    csrec_status status = o->y && o->r ? copy_start(o) : CSREC_MEMORY;
    if (status)
        return csrec_fail(error, status, "joint: out of memory for %lld right-hand sides",
                          (long long)o->job->count);
    for (int64_t k = 0; k < o->job->count; k++)
        for (int64_t i = 0; i < A->m; i++)
            o->y[place(o, o->y_parts, i, k)] = o->job->y[k * A->m + i];
    return CSREC_OK;
}

/* The atoms of x number k: those found are in the order of entries, then of x. */
static csrec_status take_atoms(const joint *o, int64_t k, csrec_atoms *atoms) {
    const int64_t count = o->job->count;
    int64_t own = 0;
    for (int64_t i = 0; i < o->found.n; i++)
        own += (int64_t)o->found.column[i] / o->parts % count == k;
    csrec_status status = csrec_atoms_create(own, atoms);
    own = 0;
    for (int64_t i = 0; i < o->found.n && !status; i++) {
        const int64_t column = (int64_t)o->found.column[i];
        if (column / o->parts % count != k) continue;
        atoms->column[own] = (uint64_t)(column / o->parts / count * o->parts + column % o->parts);
        atoms->coefficient[own++] = o->found.coefficient[i];
    }
    return status;
}

/* r of right-hand side k, and its share of y. */
static double take_residual(const joint *o, int64_t k) {
    const int64_t m = o->job->A->m;
    const double *y = o->job->y + k * m;
    const double most = csrec_largest(m, y), unit = most > 0.0 ? most : 1.0;
    double left = 0.0, whole = 0.0;
    for (int64_t i = 0; i < m; i++) {
        const double r = o->r[place(o, o->y_parts, i, k)];
        if (o->job->r) o->job->r[k * m + i] = r;
        left += (r / unit) * (r / unit);
        whole += (y[i] / unit) * (y[i] / unit);
    }
    return whole > 0.0 ? sqrt(left / whole) : 0.0;
}

static csrec_status deliver(const joint *o, const csrec_solve_report *report) {
    const csrec_many *job = o->job;
    const csrec_solve_options *options = job->options;
    csrec_status status = CSREC_OK;
    for (int64_t k = 0; k < job->count && !status; k++) {
        const double residual = take_residual(o, k);
        if (job->reports) {
            job->reports[k] = *report;
            job->reports[k].residual = residual;
        }
        if (options->history && k > 0)
            memcpy(options->history + k * options->history_size, options->history,
                   (size_t)options->history_size * sizeof *options->history);
        if (job->atoms) status = take_atoms(o, k, job->atoms + k);
    }
    return status;
}

/* All right-hand sides as one problem whose entries are the rows of X (parameter `joint`). Atoms
 * are of the caller to clear. */
static csrec_status joint_solve(const csrec_many *job, csrec_error *error) {
    joint o = {.job = job};
    csrec_solve_report report;
    csrec_solve_options options = *job->options;
    csrec_status status = joint_create(&o, error);
    options.look = NULL;
    if (options.start) options.start = &o.start;
    if (!status) status = csrec_solve_one(o.A, o.y, &options, &o.found, o.r, &report, error);
    if (!status && deliver(&o, &report))
        status = csrec_fail(error, CSREC_MEMORY, "joint: out of memory for the results");
    csrec_operator_destroy(o.A);
    free(o.y);
    free(o.r);
    csrec_atoms_clear(&o.start);
    csrec_atoms_clear(&o.found);
    return status;
}

/* ---- lengths in another unit, and back. */

double csrec_in_unit(double length, double unit) {
    return fmax(-0x1p300, fmin(0x1p300, length / unit));
}

csrec_status csrec_atoms_copy(const csrec_atoms *from, csrec_atoms *to) {
    CSREC_TRY(csrec_atoms_create(from->n, to));
    memcpy(to->column, from->column, (size_t)from->n * sizeof *to->column);
    memcpy(to->coefficient, from->coefficient, (size_t)from->n * sizeof *to->coefficient);
    return CSREC_OK;
}

/* v 2^exponent / unit, clamped as csrec_in_unit; a recovery's unit may be any number. */
static double in_units(double v, double unit, int exponent) {
    int own;
    const double mantissa = frexp(unit, &own);
    return fmax(-0x1p300, fmin(0x1p300, ldexp(v / mantissa, exponent - own)));
}

/* The start is near the size of y, whatever it was. */
static csrec_status scale_start(const csrec_atoms *start, double unit, int exponent,
                                csrec_atoms *to) {
    csrec_status status = csrec_atoms_copy(start, to);
    const double largest = csrec_largest(start->n, start->coefficient);
    const int size = largest > 0.0 ? ilogb(largest) + exponent - ilogb(unit) : 0;
    if (size > 64 || size < -300) exponent -= size;
    for (int64_t i = 0; i < to->n && !status; i++)
        to->coefficient[i] = in_units(to->coefficient[i], unit, exponent);
    return status;
}

csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, int exponent,
                                 csrec_scaled *to) {
    *to = (csrec_scaled){.solve = *solve};
    to->solve.stop.sigma = csrec_in_unit(solve->stop.sigma, unit);
    to->solve.stop.min_coefficient = csrec_in_unit(solve->stop.min_coefficient, unit);
    size_t settings = (size_t)solve->n_settings * sizeof *to->settings;
    if (settings && (unit != 1.0 || exponent)) {
        to->settings = malloc(settings);
        if (!to->settings) return CSREC_MEMORY;
        memcpy(to->settings, solve->settings, settings);
        to->solve.settings = to->settings;
        for (int i = 0; i < solve->n_settings; i++)
            if (csrec_solver_measures(solve->solver, to->settings[i].name))
                to->settings[i].value = in_units(to->settings[i].value, unit, exponent);
    }
    if (!solve->start) return CSREC_OK;
    to->solve.start = &to->start;
    return scale_start(solve->start, unit, exponent, &to->start);
}

void csrec_scaled_clear(csrec_scaled *scaled) {
    free(scaled->settings);
    csrec_atoms_clear(&scaled->start);
}

int64_t csrec_scale_back(int64_t n, double unit, double *v) {
    int64_t fault = n;
    const int threads = csrec_threads_for(n, 0);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : fault)
    for (int64_t i = 0; i < n; i++) {
        v[i] *= unit;
        if (i < fault && !isfinite(v[i])) fault = i;
    }
    return fault < n ? fault : -1;
}

bool csrec_atoms_scale_back(csrec_atoms *atoms, double unit, int exponent) {
    const int shift = ilogb(unit) - exponent;
    bool exact = true;
    double largest = 0.0;
    for (int64_t i = 0; i < atoms->n && shift; i++) {
        const double v = ldexp(atoms->coefficient[i], shift);
        if (!isfinite(v)) return false;
        exact = exact && ldexp(v, -shift) == atoms->coefficient[i];
        largest = fmax(largest, fabs(v));
        atoms->coefficient[i] = v;
    }
    return exact || largest >= DBL_MIN;
}

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
                              ? joint_solve(job, error)
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
    CSREC_TRY(check_many(type, &job, error));
    CSREC_TRY(csrec_ordinary_create(A, &ordinary, error));
    if (ordinary) job.A = ordinary;
    csrec_status status = solve_all(type, &job, threads, error);
    csrec_operator_destroy(ordinary);
    return status;
}
