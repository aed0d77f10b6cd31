/* SPDX-License-Identifier: BSD-3-Clause */
/* joint.c - many right-hand sides as one problem, whose entries are rows of X: the operator of all
 * x, in which the copies of an entry follow each other (operator/pairs.c). */
#include <stdlib.h>
#include <string.h>

#include "haar/atoms.h"
#include "solver/solver.h"
#include "solver/units.h"

typedef struct joint {
    const csrec_many *job;
    csrec_operator *A;
    int64_t parts, y_parts; /* of an entry of one x, and of one y */
    double *y, *r;          /* [m][count], entries as a whole */
    csrec_atoms start, found;
} joint;

static void joint_clear(joint *o) {
    csrec_operator_destroy(o->A);
    free(o->y);
    free(o->r);
    csrec_atoms_clear(&o->start);
    csrec_atoms_clear(&o->found);
}

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
    csrec_status status = csrec_operator_create(&spec, &o->A, error);
    if (status) return status;
    o->parts = A->parts;
    o->y_parts = A->complex_y ? 2 : 1;
    o->y = malloc(numbers * sizeof *o->y);
    o->r = malloc(numbers * sizeof *o->r);
    status = o->y && o->r ? copy_start(o) : CSREC_MEMORY;
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

csrec_status csrec_joint_solve(const csrec_many *job, csrec_error *error) {
    joint o = {.job = job};
    csrec_solve_report report;
    csrec_solve_options options = *job->options;
    csrec_status status = joint_create(&o, error);
    options.look = NULL;
    if (options.start) options.start = &o.start;
    if (!status) status = csrec_solve_one(o.A, o.y, &options, &o.found, o.r, &report, error);
    if (!status && deliver(&o, &report))
        status = csrec_fail(error, CSREC_MEMORY, "joint: out of memory for the results");
    joint_clear(&o);
    return status;
}
