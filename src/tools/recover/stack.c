/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c - --sequence of one array: its axis of time comes first for the library alone; files,
 * masks, truths and pages keep the array's own order. */
#include <stdlib.h>
#include <string.h>

#include "recover.h"

typedef struct axes {
    int64_t outer, n, inner; /* entries before the axis, of it, behind it */
} axes;

static axes axes_of(const cli_job *job) {
    const csrec_shape *shape = &job->in.measurement.shape;
    const int time = job->in.time - 1;
    axes a = {1, shape->dim[time], 1};
    for (int d = 0; d < shape->dims; d++)
        if (d != time) *(d < time ? &a.outer : &a.inner) *= shape->dim[d];
    return a;
}

/* Entries of so many bytes, from the order of the file to that with time first, or back. */
static void move(const axes *a, size_t bytes, const void *from, void *to, bool back) {
    const size_t run = (size_t)a->inner * bytes;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t t = 0; t < a->n; t++) {
            const size_t own = (size_t)(o * a->n + t) * run,
                         first = (size_t)(t * a->outer + o) * run;
            memcpy((char *)to + (back ? own : first), (const char *)from + (back ? first : own),
                   run);
        }
}

static csrec_status move_guides(const axes *a, csrec_measurement *m, csrec_error *error) {
    const csrec_guides *guides = m->guides;
    if (!guides) return CSREC_OK;
    const size_t entries = (size_t)(a->outer * a->n * a->inner);
    m->guides = malloc(sizeof *m->guides);
    if (!m->guides) return cli_fail(error, CSREC_MEMORY, "out of memory");
    *m->guides = *guides;
    m->guides->values = malloc((size_t)guides->n * entries * sizeof *guides->values);
    if (!m->guides->values) return cli_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t k = 0; k < guides->n; k++)
        move(a, sizeof *guides->values, guides->values + (size_t)k * entries,
             m->guides->values + (size_t)k * entries, false);
    return CSREC_OK;
}

csrec_status cli_stack_check(cli_job *job, csrec_error *error) {
    csrec_measurement *m = &job->in.measurement;
    if (m->shape.dims != 3 || m->through || m->is_complex)
        return cli_fail(error, CSREC_UNSUPPORTED,
                        "%s: --sequence takes an array of three axes with real values, of which "
                        "one is time, or several files; omit --sequence",
                        job->input);
    m->sequence = job->in.time == 1;
    return CSREC_OK;
}

/* Of a frame that has none: one of 0, as presets and plans are those of samples. */
static csrec_status stand_in(csrec_measurement *stack, csrec_error *error) {
    stack->n = 1;
    stack->guides = NULL;
    stack->rays = stack->deviation = NULL;
    stack->index = calloc(1, sizeof *stack->index);
    stack->y = calloc((size_t)stack->channels, sizeof *stack->y);
    return stack->index && stack->y ? CSREC_OK : cli_fail(error, CSREC_MEMORY, "out of memory");
}

/* Merging sorts the samples, and so what is drawn of them does not depend on the file's order. */
csrec_status cli_stack_make(const cli_job *job, csrec_measurement *stack, csrec_error *error) {
    const csrec_measurement *m = &job->in.measurement;
    csrec_measurement moved = *m;
    const csrec_measurement *const parts[] = {&moved};
    moved.sequence = true;
    *stack = moved;
    if (job->request->frames && m->shape.dims == 2)
        stack->shape = (csrec_shape){3, {1, m->shape.dim[0], m->shape.dim[1]}};
    if (job->request->frames) stack->sequence = m->shape.dims == 2;
    if (cli_job_is_empty(job)) return stand_in(stack, error);
    if (job->request->frames || job->in.time == 1) return CSREC_OK;
    const axes a = axes_of(job);
    for (int d = job->in.time - 1; d > 0; d--) moved.shape.dim[d] = m->shape.dim[d - 1];
    moved.shape.dim[0] = a.n;
    moved.pattern = CSREC_PATTERN_NONE; /* draws other positions in this shape */
    moved.count = 0;
    moved.index = malloc((size_t)m->n * sizeof *moved.index);
    csrec_status status = moved.index ? move_guides(&a, &moved, error)
                                      : cli_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < m->n && !status; i++) {
        const int64_t at = m->index[i], row = at / a.inner;
        moved.index[i] = (row % a.n * a.outer + row / a.n) * a.inner + at % a.inner;
    }
    if (!status) status = csrec_measurement_merge(1, parts, stack, NULL, error);
    free(moved.index);
    if (moved.guides && moved.guides != m->guides) free(moved.guides->values);
    if (moved.guides != m->guides) free(moved.guides);
    return status;
}

void cli_stack_drop(const cli_job *job, csrec_measurement *stack) {
    if (stack->index != job->in.measurement.index) csrec_measurement_clear(stack);
}

typedef csrec_status work(const csrec_measurement *stack, const csrec_recover_options *options,
                          double *signal, double *other, void *result, csrec_error *error);

static csrec_status recover(const csrec_measurement *stack, const csrec_recover_options *options,
                            double *signal, double *other, void *result, csrec_error *error) {
    (void)other;
    return csrec_recover(stack, options, signal, NULL, result, error);
}

static csrec_status expect(const csrec_measurement *stack, const csrec_recover_options *options,
                           double *signal, double *other, void *result, csrec_error *error) {
    return csrec_uncertainty_promise(stack, options, signal, other, result, error);
}

/* The work on the job's signal, and another array or NULL, with time first. */
static csrec_status with_time_first(cli_job *job, const csrec_recover_options *options, work *call,
                                    double *other, void *result, csrec_error *error) {
    csrec_measurement stack;
    const axes a = axes_of(job);
    const size_t entry = (size_t)job->in.measurement.channels * sizeof(double),
                 bytes = (size_t)cli_entries(&job->in.measurement) * entry;
    csrec_status status = cli_stack_make(job, &stack, error);
    if (!status && a.outer == 1) { /* the order is the same */
        status = call(&stack, options, job->result.signal, other, result, error);
        cli_stack_drop(job, &stack);
        return status;
    }
    double *signal = malloc(bytes), *map = other ? malloc(bytes) : NULL;
    if (!status && (!signal || (other && !map)))
        status = cli_fail(error, CSREC_MEMORY, "out of memory");
    if (!status) move(&a, entry, job->result.signal, signal, false);
    if (!status) status = call(&stack, options, signal, map, result, error);
    if (!status) move(&a, entry, signal, job->result.signal, true);
    if (!status && map) move(&a, entry, map, other, true);
    free(signal);
    free(map);
    cli_stack_drop(job, &stack);
    return status;
}

csrec_status cli_stack_recover(cli_job *job, csrec_recover_report *report, csrec_error *error) {
    return with_time_first(job, &job->setup.options, recover, NULL, report, error);
}

csrec_status cli_stack_expect(cli_job *job, const csrec_recover_options *options,
                              csrec_promise *promise, csrec_error *error) {
    return with_time_first(job, options, expect, job->result.uncertainty, promise, error);
}
