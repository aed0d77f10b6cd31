/* SPDX-License-Identifier: BSD-3-Clause */
/* batches.c - grids in parts: the pursuits of as many grids as fit into memory run at once. */
#include "kernels/method/grids/job.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/threads.h"

/* The grids that run at once. */
typedef struct part {
    csrec_cuda_job *job;
    int64_t most, count; /* grids */
    csrec_cuda_plane planes[CSREC_CUDA_PART];
    csrec_cuda_tree trees[CSREC_CUDA_PART];
    csrec_cuda_signal *starts; /* [channels] */
    int64_t iterations;        /* of finished parts */
} part;

static void clear_grid(part *p, int64_t k) {
    csrec_cuda_tree_destroy(&p->trees[k]);
    csrec_cuda_block_destroy(&p->planes[k].block);
}

static csrec_status build_grid(part *p, int64_t number, int64_t k) {
    csrec_cuda_job *j = p->job;
    csrec_status status = csrec_cuda_plane_create(j, number, k, &p->planes[k]);
    if (!status)
        status = csrec_cuda_tree_create(j->report.levels, j->m->n, p->planes[k].rows,
                                        j->options->columns, j->work.scratch, NULL, &p->trees[k],
                                        j->error);
    if (status) clear_grid(p, k);
    return status;
}

/* Whether the next grid, about as large as the last one, leaves room for the signals of all; an
 * eighth of the memory is left for the rest. */
static bool room_for_next(const part *p, size_t before, size_t after) {
    size_t signals = 0, own = 0;
    for (int64_t k = 0; k < p->count; k++) {
        own = (size_t)p->job->m->channels * csrec_cuda_signal_bytes(&p->trees[k]);
        signals += own;
    }
    return after / 8 * 7 >= signals + own + (before - after);
}

/* As many of `rest` grids from `first` on as fit with their signals; at least one. */
static csrec_status build_part(part *p, int64_t first, int64_t rest) {
    csrec_cuda_job *j = p->job;
    csrec_cuda_size before, after;
    csrec_status status = csrec_cuda_measure(&before, j->error);
    for (p->count = 0; p->count < rest && p->count < p->most && !status;) {
        status = build_grid(p, first + p->count, p->count);
        if (status) return status == CSREC_MEMORY && p->count > 0 ? CSREC_OK : status;
        p->count++;
        status = csrec_cuda_measure(&after, j->error);
        if (!status && !room_for_next(p, before.free, after.free)) break;
        before = after;
    }
    return status;
}

static bool report_progress(int64_t iterations, void *context) {
    part *p = context;
    csrec_cuda_job *j = p->job;
    const csrec_recover_options *options = j->options;
    int64_t pursuits = options->shifts * j->m->channels;
    csrec_progress progress = {"pursuit", p->iterations + iterations,
                               options->solve.stop.atoms * pursuits, -1.0};
    return csrec_cuda_hear(j, &progress);
}

static void add_reports(part *p, const csrec_cuda_batch *batch) {
    csrec_recover_report *total = &p->job->report;
    for (int64_t s = 0; s < batch->signals; s++) {
        const csrec_cuda_signal *one = &batch->signal[s];
        total->pursuits++;
        total->iterations += one->iterations;
        double residual = csrec_cuda_signal_residual(one);
        csrec_outcome outcome = csrec_stop_verdict(&p->job->options->solve.stop, p->job->m->n,
                                                   residual, (csrec_outcome)one->outcome);
        if (outcome > total->outcome) total->outcome = outcome;
        total->unexplained = fmax(total->unexplained, residual);
    }
    p->iterations = total->iterations;
}

static csrec_status start_batch(part *p, csrec_cuda_batch *batch) {
    csrec_cuda_job *j = p->job;
    int64_t channels = j->m->channels;
    csrec_status status = CSREC_OK;
    for (int64_t s = 0; s < batch->signals && !status; s++) {
        csrec_cuda_signal_start(&batch->signal[s], &p->starts[s % channels]);
        status = csrec_cuda_batch_start(batch, s, j->work.y + s % channels, channels,
                                        p->planes[s / channels].order, j->error);
    }
    if (!status) status = csrec_cuda_batch_norms(batch, j->error);
    for (int64_t s = 0; s < batch->signals && !status; s++)
        csrec_cuda_signal_goal(&batch->signal[s], j->m->n, &j->options->solve.stop);
    return status;
}

typedef struct adding {
    part *p;
    const csrec_cuda_batch *batch;
} adding;

static csrec_status add_range(void *context, int64_t first, int64_t count, csrec_error *error) {
    const adding *a = context;
    const csrec_cuda_workspace *work = &a->p->job->work;
    return csrec_cuda_synthesize(a->batch, work->grid, first, count, work->signal, error);
}

/* This part to the sums, which it takes before the first part of a batch and gives after the last.
 */
static csrec_status add_part(part *p, csrec_cuda_batch *batch, bool first, bool last) {
    csrec_cuda_job *j = p->job;
    csrec_grids_chain *chain = &j->chain;
    const csrec_cuda_pass pass = {first, last, add_range, &(adding){p, batch}};
    csrec_status status = csrec_cuda_scale(batch, j->error);
    if (!status && first) status = csrec_grids_chain_take(chain, j->error);
    if (status || chain->over) return status;
    chain->added += p->count;
    if (last) status = csrec_grids_chain_give(chain, chain->added, j->error);
    if (!status && j->work.signal) status = csrec_cuda_sum_pass(j, &pass);
    return status ? status : csrec_cuda_wait(NULL, j->error);
}

static csrec_status pursue_part(part *p, csrec_cuda_batch *batch, csrec_atoms *atoms) {
    csrec_cuda_job *j = p->job;
    csrec_status status = start_batch(p, batch);
    if (!status) status = csrec_cuda_batch_run(batch, 0, report_progress, p, j->error);
    if (!status) add_reports(p, batch);
    for (int64_t c = 0; atoms && c < j->m->channels && !status; c++)
        status = csrec_cuda_signal_atoms(&batch->tree[0], &batch->signal[c], &atoms[c], j->error);
    return status;
}

/* *again: the signals did not fit beside their grids; nothing is done, and half as many grids may
 * fit. The trees belong to the batch. */
static csrec_status run_part(part *p, int64_t first, int64_t rest, bool starts, csrec_atoms *atoms,
                             bool *again) {
    csrec_cuda_job *j = p->job;
    double start = csrec_seconds();
    csrec_cuda_batch batch = {0};
    csrec_status status = build_part(p, first, rest);
    double built = csrec_seconds(), pursued = built;
    if (!status) {
        status =
            csrec_cuda_batch_create(p->count, p->trees, j->m->channels, NULL, &batch, j->error);
        *again = status == CSREC_MEMORY && p->count > 1;
    }
    if (!status) {
        status = pursue_part(p, &batch, atoms);
        pursued = csrec_seconds();
    }
    if (!status) status = add_part(p, &batch, starts, p->count == rest);
    j->report.seconds_tree += built - start;
    j->report.seconds_pursuit += pursued - built;
    j->report.seconds_synthesis += csrec_seconds() - pursued;
    csrec_cuda_batch_destroy(&batch);
    for (int64_t k = 0; k < p->count; k++) clear_grid(p, k);
    if (*again) p->most = p->count / 2;
    return *again ? CSREC_OK : status;
}

/* A batch of the chain, in as many parts as memory takes. After a stop the rest is left out, but
 * the sums go on. */
static csrec_status run_grids(part *p, int64_t first, int64_t count, csrec_atoms *atoms) {
    csrec_cuda_job *j = p->job;
    csrec_status status = CSREC_OK;
    for (int64_t done = 0; done < count && !status && !j->chain.over;) {
        bool again = false;
        status = run_part(p, first + done, count - done, done == 0, atoms, &again);
        if (again) continue;
        done += p->count;
        if (!j->stopped || done == count || status || j->chain.over) continue;
        const csrec_cuda_pass rest = {.send = true};
        status = csrec_grids_chain_give(&j->chain, j->chain.added, j->error);
        if (!status && j->work.signal) status = csrec_cuda_sum_pass(j, &rest);
        break;
    }
    return status;
}

static csrec_status start_channels(part *p) {
    const csrec_cuda_job *j = p->job;
    const csrec_measurement *m = j->m;
    bool failed = false;
    p->starts = calloc((size_t)m->channels, sizeof *p->starts);
#pragma omp parallel for schedule(dynamic, 1)                                                      \
    num_threads(csrec_threads(j->options->threads)) if (m->channels * m->n > 100000)
    for (int64_t c = 0; c < m->channels; c++) {
        double *y = malloc((size_t)m->n * sizeof *y);
        if (y && p->starts) {
            for (int64_t k = 0; k < m->n; k++) y[k] = m->y[k * m->channels + c];
            csrec_cuda_signal_init(&p->starts[c], m->n, y, &j->options->solve.stop);
        } else {
#pragma omp atomic write
            failed = true;
        }
        free(y);
    }
    if (!failed) return CSREC_OK;
    return csrec_fail(j->error, CSREC_MEMORY, "out of memory for %lld samples", (long long)m->n);
}

csrec_status csrec_cuda_run_batches(csrec_cuda_job *j, csrec_atoms *atoms) {
    int64_t first, count;
    part *p = calloc(1, sizeof *p);
    if (!p) return csrec_fail(j->error, CSREC_MEMORY, "out of memory");
    p->job = j;
    p->most = CSREC_CUDA_PART;
    csrec_status status = start_channels(p);
    if (!status) status = csrec_grids_chain_open(&j->chain, CSREC_CUDA_PART, j->error);
    while (!status && !j->stopped && csrec_grids_chain_next(&j->chain, &first, &count)) {
        status = run_grids(p, first, count, atoms);
        j->chain.turn++;
    }
    free(p->starts);
    free(p);
    return status;
}
