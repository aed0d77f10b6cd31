/* batches.c - grids in parts: the pursuits of as many grids as fit into memory run at once. */
#include "kernels/method/grids/job.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

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

/* As many grids from `first` on as fit with their signals; at least one. */
static csrec_status build_part(part *p, int64_t first) {
    csrec_cuda_job *j = p->job;
    const int64_t rest = j->options->shifts - first;
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
    if (options->solve.progress && options->solve.progress(&progress, options->solve.context))
        j->stopped = true;
    return j->stopped;
}

static void add_reports(part *p, const csrec_cuda_batch *batch) {
    csrec_recover_report *total = &p->job->report;
    for (int64_t s = 0; s < batch->signals; s++) {
        const csrec_cuda_signal *one = &batch->signal[s];
        total->pursuits++;
        total->iterations += one->iterations;
        if ((csrec_outcome)one->outcome > total->outcome)
            total->outcome = (csrec_outcome)one->outcome;
        total->residual = fmax(total->residual, csrec_cuda_signal_residual(one));
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

static csrec_status run_batch(part *p, csrec_cuda_batch *batch, csrec_atoms *atoms) {
    csrec_cuda_job *j = p->job;
    double start = csrec_seconds();
    csrec_status status = start_batch(p, batch);
    if (!status) status = csrec_cuda_batch_run(batch, 0, report_progress, p, j->error);
    double pursued = csrec_seconds();
    if (!status) add_reports(p, batch);
    for (int64_t c = 0; atoms && c < j->m->channels && !status; c++)
        status = csrec_cuda_signal_atoms(&batch->tree[0], &batch->signal[c], &atoms[c], j->error);
    if (!status && j->work.signal)
        status = csrec_cuda_synthesize(batch, j->work.grid, j->entries, j->work.signal, j->error);
    if (!status) status = csrec_cuda_wait(NULL, j->error);
    j->report.seconds_pursuit += pursued - start;
    j->report.seconds_synthesis += csrec_seconds() - pursued;
    return status;
}

/* *again: the signals did not fit beside their grids; nothing is done, and half as many grids may
 * fit. The trees belong to the batch. */
static csrec_status run_part(part *p, int64_t first, csrec_atoms *atoms, bool *again) {
    csrec_cuda_job *j = p->job;
    double start = csrec_seconds();
    csrec_cuda_batch batch = {0};
    csrec_status status = build_part(p, first);
    j->report.seconds_tree += csrec_seconds() - start;
    bool built = !status;
    if (built) {
        status =
            csrec_cuda_batch_create(p->count, p->trees, j->m->channels, NULL, &batch, j->error);
        *again = status == CSREC_MEMORY && p->count > 1;
    }
    if (!status) status = run_batch(p, &batch, atoms);
    csrec_cuda_batch_destroy(&batch);
    for (int64_t k = 0; k < p->count; k++) clear_grid(p, k);
    if (*again) p->most = p->count / 2;
    return *again ? CSREC_OK : status;
}

static csrec_status start_channels(part *p) {
    const csrec_cuda_job *j = p->job;
    const csrec_measurement *m = j->m;
    bool failed = false;
    p->starts = calloc((size_t)m->channels, sizeof *p->starts);
#pragma omp parallel for schedule(dynamic, 1) if (m->channels * m->n > 100000)
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

csrec_status csrec_cuda_run_batches(csrec_cuda_job *j, csrec_atoms *atoms, int64_t *added) {
    *added = 0;
    part *p = calloc(1, sizeof *p);
    if (!p) return csrec_fail(j->error, CSREC_MEMORY, "out of memory");
    p->job = j;
    p->most = CSREC_CUDA_PART;
    csrec_status status = start_channels(p);
    while (!status && *added < j->options->shifts && !j->stopped) {
        bool again = false;
        status = run_part(p, *added, atoms, &again);
        if (!again) *added += p->count;
    }
    free(p->starts);
    free(p);
    return status;
}
