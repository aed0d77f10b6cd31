/* SPDX-License-Identifier: BSD-3-Clause */
/* need.c - memory and time of a recovery in a basis or frame. */
#include <math.h>

#include "method/products.h"
#include "method/sparse/sparse.h"
#include "solver/support.h"

/* A threshold schedule: an initial guess, for which threshold.c keeps a pyramid, then the
 * iterations, which begin with the guess and end with the signal. A channel of several has its
 * samples apart. An entry takes 3e-8 s before and after the iterations. */
static csrec_need threshold_need(const csrec_task *task, const csrec_operator_need *f) {
    double entries = (double)task->entries,
           steps = csrec_task_setting(task, CSREC_OF_SOLVER, "steps", 60.0);
    double cells = task->shape.dims == 3 ? 1.0 / 7.0 : task->shape.dims == 2 ? 1.0 / 3.0 : 1.0;
    double start = 8.0 * entries * (1.0 + 2.0 * cells);
    double kept = f->own + (f->stored ? 8.0 * (f->n + 2.0 * entries) + fmax(f->kept, 8.0 * entries)
                                      : f->kept + 8.0 * entries);
    return (csrec_need){
        .bytes = (task->channels > 1 ? 8.0 * (double)task->n : 0.0) + fmax(start, kept),
        .seconds = 3e-8 * entries + steps * (f->stored ? 2.0 * f->product : f->step)};
}

static csrec_need one_need(const csrec_task *task, const csrec_operator_need *f) {
    const csrec_solver_type *type = csrec_solver_find(task->options->solve.solver);
    if (type && type->planned) return threshold_need(task, f);
    csrec_solver_size size = {(double)task->n, f->n, (double)task->options->solve.stop.atoms,
                              csrec_task_setting(task, CSREC_OF_SOLVER, "k", 0.0)};
    csrec_solver_need need = type ? csrec_solver_need_of(type, &size) : (csrec_solver_need){0};
    if (task->through) { /* lengths of columns, which the chain does not know */
        csrec_need measured = csrec_products_need(task);
        need.products += csrec_lengths_products(type && type->norms, f->n);
        need.seconds += need.products * measured.seconds;
        need.bytes += measured.bytes;
    }
    return (csrec_need){.bytes = f->own + (f->stored ? f->kept : 0.0) + 16.0 * size.m +
                                 8.0 * (double)task->entries + need.bytes,
                        .seconds = need.products * f->product + need.seconds};
}

/* Bytes of the `abreast` largest tasks; each frame has one task per channel. */
static double largest(const double *bytes, int frames, int64_t channels, int64_t abreast) {
    double own[CSREC_SPARSE_FRAMES], sum = 0.0;
    for (int i = 0; i < frames; i++) own[i] = bytes[i];
    for (int64_t left = abreast; left > 0; left -= channels) {
        int most = 0;
        for (int i = 1; i < frames; i++)
            if (own[i] > own[most]) most = i;
        sum += own[most] * (double)(left < channels ? left : channels);
        own[most] = 0.0;
    }
    return sum;
}

/* Every frame of every channel has a result, a single one in the signal; one task per thread runs
 * at a time. */
static double peak_of(const csrec_task *task, const double *bytes, int frames) {
    double entries = (double)task->entries, signal = csrec_signal_bytes(task);
    int64_t tasks = task->channels * frames;
    if (tasks == 1) return bytes[0];
    int64_t abreast = task->threads < tasks ? task->threads : tasks;
    double waiting = 8.0 * entries * (double)(tasks - abreast);
    return fmax(waiting + largest(bytes, frames, task->channels, abreast),
                8.0 * entries * (double)tasks + signal);
}

csrec_need csrec_sparse_need(const csrec_task *task, int frames, const csrec_operator_spec *specs) {
    double bytes[CSREC_SPARSE_FRAMES], work = 0.0, own = 0.0;
    const csrec_solver_type *solver = csrec_solver_find(task->options->solve.solver);
    const int64_t tasks = task->channels * frames;
    bool shared = tasks == 1 && solver && solver->planned; /* by all threads: dct_shrink.c */
    for (int i = 0; i < frames; i++) {
        csrec_operator_need f = csrec_operator_find(specs[i].name)->need(&specs[i]);
        csrec_need one = one_need(task, &f);
        bytes[i] = one.bytes - f.own;
        shared = shared && !f.stored;
        own += f.own; /* operators are there all the time, once for all channels */
        work += one.seconds * (double)task->channels;
    }
    if (solver && solver->tones && !task->tones) own += 8.0 * (double)(task->n * task->channels);
    csrec_need need = {.bytes = own + peak_of(task, bytes, frames),
                       .seconds = shared ? work * (0.2 + 0.8 / (double)task->threads)
                                         : csrec_task_share(task, work, tasks)};
    if (solver) csrec_need_stage(&need, csrec_sparse_stage(solver), need.seconds);
    return need;
}

const char *csrec_sparse_stage(const csrec_solver_type *solver) {
    return solver == &csrec_solver_threshold ? "thresholding" : solver->name;
}
