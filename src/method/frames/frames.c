/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c - recovery by thresholded blocks: the mean over frames of cosine blocks of several
 * sizes, each with a falling threshold and the samples put back (docs/bases.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "method/frames/engine.h"
#include "method/sparse/sparse.h"
#include "operator/dct.h"
#include "solver/threshold.h"

/* The mean over block sizes is better than each: their errors are in different places. Returns
 * the number of sizes. */
static int make_specs(const csrec_recover_options *options, const csrec_shape *shape, int64_t n,
                      const int64_t *index, csrec_operator_spec specs[CSREC_SPARSE_FRAMES]) {
    static const int blocks[CSREC_SPARSE_FRAMES] = {8, 16, 32};
    const csrec_param *block = csrec_param_find(csrec_operator_dct.params, "block");
    const csrec_param *step = csrec_param_find(csrec_operator_dct.params, "step");
    bool several =
        csrec_setting_value(&options->solve, CSREC_OF_BASIS, block->name, block->value) == 0.0;
    bool apart =
        csrec_setting_value(&options->solve, CSREC_OF_BASIS, step->name, step->value) != 0.0;
    int frames = several ? CSREC_SPARSE_FRAMES : 1;
    for (int f = 0; f < frames; f++) {
        specs[f] = csrec_sparse_spec(options, shape, n, index);
        if (!several) break;
        specs[f].block = blocks[f];
        if (!apart) specs[f].step = (blocks[f] + 1) / 2;
    }
    return frames;
}

static const csrec_frames_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(NULL, &csrec_frames_cuda);

/* Whether the device runs the whole iteration; otherwise it computes the operators' products. */
static bool has_engine(const csrec_recovery *r) {
    const csrec_solve_options *solve = &r->options->solve;
    return engines[r->context->kind] && r->measurement->shape.dims == 2 &&
           solve->stop.epsilon == 0.0 && solve->stop.stagnation == 0.0 && !solve->start;
}

static void note_channel(csrec_sparse_job *j, int64_t channel, const csrec_frames_job *work,
                         const double *energy) {
    double whole = csrec_squares(work->m, work->y);
    for (int f = 0; f < j->frames; f++) {
        csrec_solve_report *report = &j->reports[channel * j->frames + f];
        report->iterations = work->rounds;
        report->residual = whole > 0.0 ? sqrt(energy[f] / whole) : 0.0;
        report->outcome = energy[f] > 0.0 ? CSREC_DONE : CSREC_CONVERGED;
        if (work->rounds == 0) { /* if stopped before the first threshold */
            report->residual = whole > 0.0 ? 1.0 : 0.0;
            report->outcome = CSREC_INTERRUPTED;
        }
    }
    j->done += j->frames;
}

/* Runs all frames of a channel at once: the result of the first is their mean, or the guess if
 * stopped. */
static csrec_status run_channel(csrec_sparse_job *j, const csrec_context *context, int64_t channel,
                                const double *y, csrec_shrink_step **rounds, csrec_error *error) {
    const csrec_operator *A = j->A[0];
    csrec_setting settings[CSREC_SPARSE_SETTINGS + 1];
    csrec_solve_options solve = csrec_sparse_options(j, channel, settings);
    csrec_run run = {.type = j->solver, .A = A, .y = y, .options = &solve};
    CSREC_TRY(csrec_solve_check(run.type, A, y, &solve, error));
    csrec_threshold_schedule schedule;
    csrec_threshold_plan(&run, &schedule);
    csrec_frames_job work = {.shape = &A->mask->shape,
                             .frames = j->frames,
                             .m = A->m,
                             .index = A->mask->index,
                             .y = y,
                             .rounds = schedule.steps};
    if (j->solve.stop.atoms && j->solve.stop.atoms < work.rounds) work.rounds = j->solve.stop.atoms;
    *rounds = malloc((size_t)work.rounds * sizeof **rounds);
    double *mean = j->result + channel * j->frames * j->entries;
    double energy[CSREC_SPARSE_FRAMES] = {0};
    csrec_status status = *rounds ? csrec_threshold_start(A->mask, y, mean) : CSREC_MEMORY;
    if (status) return csrec_fail(error, status, "out of memory");
    for (int64_t k = 0; k < work.rounds; k++) (*rounds)[k] = csrec_threshold_step(&schedule, k);
    for (int f = 0; f < j->frames; f++) {
        work.block[f] = j->spec[f].block;
        work.step[f] = j->spec[f].step;
    }
    work.round = *rounds;
    if (csrec_call_stopped(&j->call))
        work.rounds = 0;
    else
        status = engines[context->kind]->threshold(context, &work, mean, energy, error);
    if (!status) note_channel(j, channel, &work, energy);
    return status;
}

static csrec_status run_device(csrec_sparse_job *j, const csrec_context *context,
                               csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    double *y = malloc((size_t)m->n * sizeof *y);
    csrec_status status = y ? CSREC_OK : csrec_memory_fail(error, NULL);
    csrec_progress progress = {.total = j->tasks, .residual = -1.0};
    for (int64_t c = 0; c < m->channels && !status; c++) {
        csrec_sparse_progress(&progress, j);
        csrec_shrink_step *rounds = NULL;
        for (int64_t k = 0; k < m->n; k++) y[k] = m->y[k * m->channels + c];
        status = run_channel(j, context, c, y, &rounds, error);
        free(rounds);
    }
    free(y);
    j->joined = true;
    return status;
}

/* A process's first use of a device takes 0.2 s, in which a core thresholds about 2^19 pixels with
 * one size of blocks (docs/bases.md). */
static bool device_faster(const csrec_task *task) {
    enum { FRAMES = CSREC_SPARSE_FRAMES, PIXELS = 1 << 20 };
    int64_t threads = csrec_threads_wanted(task->options->threads);
    int64_t rounds = (FRAMES * task->channels + threads - 1) / threads;
    return task->shape.dims == 2 && rounds * task->entries >= PIXELS;
}

static bool works_with(const char *solver, const char *basis) {
    return (!solver || strcmp(solver, csrec_solver_threshold.name) == 0) &&
           (!basis || strcmp(basis, csrec_operator_dct.name) == 0);
}

static bool is_chosen(const csrec_recover_options *options) {
    const char *basis = options->basis, *solver = options->solve.solver;
    return (basis || (solver && options->shifts == 0)) && works_with(solver, basis);
}

static bool suits(const csrec_measurement *measurement) {
    return measurement->shape.dims <= 3;
}

/* The schedule determines when to stop. */
static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    (void)measurement, (void)atoms;
    options->basis = csrec_operator_dct.name;
    options->solve.solver = csrec_solver_threshold.name;
    if (options->solve.stop.epsilon == CSREC_EPSILON_UNSET) options->solve.stop.epsilon = 0.0;
}

static csrec_need need_of(const csrec_task *task) {
    csrec_operator_spec specs[CSREC_SPARSE_FRAMES];
    int frames = make_specs(task->options, &task->shape, task->n, NULL, specs);
    return csrec_sparse_need(task, frames, specs);
}

/* Blocks are local; a given start covers the whole signal. */
static bool has_parts(const csrec_task *task) {
    return !task->options->solve.start;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    csrec_operator_spec specs[CSREC_SPARSE_FRAMES];
    int frames = make_specs(r->options, &m->shape, m->n, m->index, specs);
    return csrec_sparse_run(r, frames, specs, has_engine(r) ? run_device : NULL, error);
}

const csrec_method_type csrec_method_frames = {
    .info = {.name = "frames",
             .topic = "pictures",
             .brief = "thresholded block cosines: the mean of three block sizes",
             .source = "Guleryuz 2006, algorithm of section III; docs/bases.md",
             .accepts = CSREC_ACCEPTS(SOLVER) | CSREC_ACCEPTS(BASIS) | CSREC_ACCEPTS(EPSILON) |
                        CSREC_ACCEPTS(ATOMS) | CSREC_ACCEPTS(SIGMA) | CSREC_ACCEPTS(STAGNATION) |
                        CSREC_ACCEPTS(START),
             .iterates = true,
             .device = "thresholding; of volumes and other signals the products"},
    .chosen = is_chosen,
    .works_with = works_with,
    .suits = suits,
    .wants = "one to three axes",
    .complete = complete,
    .by_channels = true,
    .need = need_of,
    .parts = has_parts,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
