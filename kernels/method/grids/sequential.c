/* SPDX-License-Identifier: BSD-3-Clause */
/* sequential.c - few and large signals: one pursuit after another, each with the whole device
 * (kernels/haar/speculate.h). */
#include "kernels/method/grids/job.h"

#include <math.h>

#include "base/stop.h"
#include "base/pool.h"
#include "base/threads.h"
#include "kernels/method/grids/fill.h"
#include "kernels/haar/speculate.h"
#include "base/clock.h"

typedef struct run {
    csrec_cuda_job *job;
    csrec_cuda_plane plane;
    csrec_atoms *found; /* [channels] of one grid */
    uint32_t *order;    /* [n] on the host */
    double *y;          /* [n] one channel in the order of the rows */
    csrec_pool pool;    /* of these arrays */
    int64_t iterations; /* of finished pursuits */
} run;

static csrec_status build_grid(run *r, int64_t number) {
    csrec_cuda_job *j = r->job;
    double start = csrec_seconds();
    CSREC_TRY(csrec_cuda_plane_create(j, number, 0, &r->plane));
    CSREC_TRY(
        csrec_cuda_copy(r->order, r->plane.order, (size_t)j->m->n * sizeof *r->order, j->error));
    j->report.seconds_tree += csrec_seconds() - start;
    return CSREC_OK;
}

static bool pass_progress(const csrec_progress *progress, void *context) {
    run *r = context;
    csrec_cuda_job *j = r->job;
    const csrec_solve_options *solve = &j->options->solve;
    int64_t pursuits = j->options->shifts * j->m->channels;
    csrec_progress all = *progress;
    if (pursuits > 1) {
        all.done += r->iterations;
        all.total = solve->stop.atoms * pursuits;
        all.residual = -1.0;
    }
    return csrec_cuda_hear(j, &all);
}

static void add_report(run *r, const csrec_speculate_report *one) {
    csrec_recover_report *total = &r->job->report;
    total->pursuits++;
    total->iterations += one->solve.iterations;
    csrec_outcome outcome = csrec_stop_verdict(&r->job->options->solve.stop, r->job->m->n,
                                               one->solve.residual, one->solve.outcome);
    if (outcome > total->outcome) total->outcome = outcome;
    total->unexplained = fmax(total->unexplained, one->solve.residual);
    total->seconds_tree += one->build_ms * 1e-3;
    total->seconds_pursuit += one->pursuit_ms * 1e-3;
    total->seconds_synthesis += one->result_ms * 1e-3;
    r->iterations = total->iterations;
}

static csrec_status pursue(run *r, int64_t channel, csrec_atoms *found) {
    csrec_cuda_job *j = r->job;
    const csrec_measurement *m = j->m;
    const double *y = m->y + channel;
    const int64_t n = m->n, channels = m->channels;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(csrec_threads(j->options->threads)) if (n > 100000)
    for (int64_t k = 0; k < n; k++) r->y[k] = y[(int64_t)r->order[k] * channels];
    csrec_speculate_problem problem = {.levels = j->report.levels,
                                       .n = n,
                                       .rows = r->plane.rows,
                                       .y = r->y,
                                       .columns = j->options->columns};
    csrec_speculate_options options = {
        .stop = j->options->solve.stop, .progress = pass_progress, .context = r};
    csrec_speculate_report one;
    csrec_status status = csrec_speculate_solve(&problem, &options, found, &one, j->error);
    if (!status) add_report(r, &one);
    return status;
}

/* A csrec_cuda_pass's add, of whole channels. */
static csrec_status fill(run *r) {
    csrec_cuda_job *j = r->job;
    for (int64_t c = 0; c < j->m->channels; c++)
        CSREC_TRY(csrec_cuda_fill(j->work.grid, j->report.levels, &r->found[c], j->entries,
                                  j->m->channels, j->work.signal + c, j->error));
    return CSREC_OK;
}

static csrec_status add_grid(run *r, bool first, bool last) {
    csrec_cuda_job *j = r->job;
    csrec_grids_chain *chain = &j->chain;
    const csrec_cuda_pass in = {.receive = true}, out = {.send = true};
    csrec_status status = first ? csrec_grids_chain_take(chain, j->error) : CSREC_OK;
    if (status || chain->over) return status;
    chain->added++;
    if (j->work.signal && first) status = csrec_cuda_sum_pass(j, &in);
    if (j->work.signal && !status) status = fill(r);
    if (!status && last) status = csrec_grids_chain_give(chain, chain->added, j->error);
    return status || !last || !j->work.signal ? status : csrec_cuda_sum_pass(j, &out);
}

/* After a request to stop the other channels stop at once too, but every channel is in the sum. */
static csrec_status run_grid(run *r, int64_t number, csrec_atoms *atoms, bool first, bool last) {
    csrec_cuda_job *j = r->job;
    csrec_status status = build_grid(r, number);
    for (int64_t c = 0; c < j->m->channels && !status; c++) status = pursue(r, c, &r->found[c]);
    double start = csrec_seconds();
    if (!status) status = add_grid(r, first, last || j->stopped);
    j->report.seconds_synthesis += csrec_seconds() - start;
    for (int64_t c = 0; c < j->m->channels; c++) {
        if (status || !atoms)
            csrec_atoms_clear(&r->found[c]);
        else
            atoms[c] = r->found[c];
        r->found[c] = (csrec_atoms){0};
    }
    csrec_cuda_block_destroy(&r->plane.block);
    return status;
}

csrec_status csrec_cuda_run_sequential(csrec_cuda_job *j, csrec_atoms *atoms) {
    const size_t n = (size_t)j->m->n;
    int64_t first, count;
    run r = {.job = j};
    CSREC_ZEROS(&r.pool, r.found, j->m->channels);
    CSREC_TAKE(&r.pool, r.order, n);
    CSREC_TAKE(&r.pool, r.y, n);
    csrec_status status =
        r.pool.lacks ? csrec_fail(j->error, CSREC_MEMORY, "out of memory for %zu samples", n)
                     : csrec_grids_chain_open(&j->chain, 1, j->error);
    while (!status && !j->stopped && csrec_grids_chain_next(&j->chain, &first, &count)) {
        for (int64_t g = 0; g < count && !status && !j->chain.over && (g == 0 || !j->stopped); g++)
            status = run_grid(&r, first + g, atoms, g == 0, g + 1 == count);
        j->chain.turn++;
    }
    csrec_pool_clear(&r.pool);
    return status;
}
