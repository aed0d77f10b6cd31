/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - the mean over dyadic grids on the CPU: a pursuit on each, in parallel.
 *
 * Grids are worked through in batches: the pursuits of a batch (grids x channels) run in parallel,
 * then their fits are added to the signal, grid after grid, in parallel over blocks of rows. Every
 * entry receives its terms in the order of the grids, so the sum does not depend on the number of
 * threads. Ranks have batches of their own (chain.h): each keeps the fits of a batch until the sums
 * over the grids before arrive. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "operator/haar.h"
#include "method/grids/chain.h"

enum { BATCH = 32, FITS = 8 };

typedef struct job {
    const csrec_measurement *measurement;
    const csrec_recover_options *options;
    double *signal;  /* [values], or NULL */
    double *squares; /* NULL, or as signal: sums of squares, then the variance of the mean */
    int64_t values;
    csrec_recover_report report;
    const csrec_context *context; /* the operators' */
    int threads;
    csrec_call call;
    csrec_grids_chain chain; /* chain.added: grids in the signal */
    double *fits;            /* [batch][values] of ranks */
    csrec_pool pool;         /* of these and chain.sum */
    int64_t pursuits_done;
    csrec_record *mean; /* of the grids so far */
} job;

/* Progress of every pursuit; a request to stop reaches all of them. */
static bool pass_progress(const csrec_progress *progress, void *context) {
    job *j = context;
    const csrec_recover_options *options = j->options;
    csrec_progress seen = *progress;
    if (options->shifts > 1) seen.stage = "grids";
    if (options->shifts * j->measurement->channels > 1) {
        seen.total = options->shifts * j->measurement->channels;
#pragma omp atomic read
        seen.done = j->pursuits_done;
    }
    return csrec_call_report(&j->call, &seen);
}

static csrec_status solve_alone(job *j, csrec_grid_run *run, int64_t channel, const double *y,
                                const csrec_solve_options *solve, csrec_error *error) {
    csrec_grid_record to = {NULL, &run->grid};
    if (j->options->shifts == 1)
        to.record = csrec_history_record(j->options->history, 0, "pursuit", "iteration", channel);
    const csrec_watch watch = {csrec_follow_grid, &to};
    csrec_status status = csrec_solve_watched(run->A, y, solve, to.record ? &watch : NULL, NULL,
                                              &run->atoms[channel], &run->reports[channel], error);
    bool numbered = strcmp(solve->solver, csrec_solver_mp.name) == 0;
    if (!status && !numbered) {
        status = csrec_haar_number(run->A, &run->atoms[channel]);
        if (status) csrec_fail(error, status, "%s", csrec_status_text(status));
    }
    return status;
}

static csrec_status pursue(job *j, csrec_grid_run *run, int64_t channel, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    double *y = malloc((size_t)m->n * sizeof *y);
    if (!y) return csrec_memory_fail(error, NULL);
    for (int64_t k = 0; k < m->n; k++) y[k] = m->y[run->order[k] * m->channels + channel];
    csrec_solve_options solve = j->options->solve;
    solve.progress = pass_progress;
    solve.context = j;
    csrec_status status = solve_alone(j, run, channel, y, &solve, error);
    free(y);
#pragma omp atomic
    j->pursuits_done++;
    return status;
}

static void add_report(job *j, const csrec_grid_run *run) {
    csrec_recover_report *total = &j->report;
    total->levels = run->grid.levels;
    for (int64_t c = 0; c < j->measurement->channels; c++) {
        const csrec_solve_report *one = &run->reports[c];
        total->pursuits++;
        total->iterations += one->iterations;
        if (one->outcome > total->outcome) total->outcome = one->outcome;
        total->unexplained = fmax(total->unexplained, one->residual);
        csrec_history_atoms(j->options->history, run->grid.levels, &run->atoms[c]);
    }
}

/* The mean of the first `grids`, after all are added. */
static csrec_status take_down(const job *j, int64_t grids) {
    if (!csrec_record_wants(j->mean, grids) && grids < j->options->shifts) return CSREC_OK;
    double *mean = j->mean ? malloc((size_t)j->values * sizeof *mean) : NULL;
    for (int64_t k = 0; mean && k < j->values; k++) mean[k] = j->signal[k] / (double)grids;
    if (mean) csrec_record_signal(j->mean, grids, mean);
    free(mean);
    return mean || !j->mean ? CSREC_OK : CSREC_MEMORY;
}

static csrec_status first_failure(const csrec_grid_run *runs, int64_t count, csrec_error *error) {
    for (int64_t g = 0; g < count; g++)
        if (runs[g].status)
            return csrec_fail(error, runs[g].status, "%s",
                              csrec_words_of(runs[g].status, &runs[g].error));
    return CSREC_OK;
}

static bool is_complete(const csrec_grid_run *run, int64_t channels) {
    for (int64_t c = 0; c < channels; c++)
        if (run->reports[c].outcome == CSREC_INTERRUPTED) return false;
    return true;
}

/* Grids take different times, so threads share many. One thread takes one grid at a time, which
 * leaves less to add after a stop. Ranks keep the fits of a batch. */
int64_t csrec_grids_batch(int threads, const csrec_recover_options *options) {
    int64_t most = threads > 1 ? BATCH : 1, shifts = options->shifts;
    if (csrec_comm_size(options->comm) > 1 && most > FITS) most = threads > FITS ? threads : FITS;
    if (most > BATCH) most = BATCH;
    return shifts < most ? shifts : most;
}

/* Grids that are left out after a stop: a pursuit stopped just after its start would make the mean
 * worse. If none is complete, there is nothing better. */
static void choose_grids(const job *j, const csrec_grid_run *runs, int64_t count, bool *used) {
    bool some = j->chain.added > 0;
    for (int64_t g = 0; g < count; g++) {
        used[g] = is_complete(&runs[g], j->measurement->channels);
        some = some || used[g];
    }
    for (int64_t g = 0; g < count; g++) used[g] = used[g] || !some;
}

static csrec_status add_here(job *j, const csrec_grid_run *runs, int64_t count,
                             csrec_error *error) {
    bool used[BATCH];
    csrec_status status = CSREC_OK;
    choose_grids(j, runs, count, used);
    for (int64_t g = 0; g < count && !status; g++) {
        if (!used[g]) continue;
        add_report(j, &runs[g]);
        if (j->signal)
            status = csrec_grid_run_add(&runs[g], j->measurement->channels, j->threads, j->signal,
                                        j->squares);
        status = status ? status : csrec_grids_chain_give(&j->chain, j->chain.added + 1, error);
        if (!status) status = take_down(j, j->chain.added);
    }
    return status ? csrec_fail(error, status, "out of memory during synthesis") : CSREC_OK;
}

static csrec_status keep_fits(job *j, const csrec_grid_run *runs, int64_t count,
                              csrec_error *error) {
    csrec_status status = CSREC_OK;
    memset(j->fits, 0, (size_t)(count * j->values) * sizeof *j->fits);
    for (int64_t g = 0; g < count && !status; g++)
        status = csrec_grid_run_add(&runs[g], j->measurement->channels, j->threads,
                                    j->fits + g * j->values, NULL);
    return status ? csrec_fail(error, status, "out of memory during synthesis") : CSREC_OK;
}

/* Adds the fits to the chunk of sums from `at` on: sums of values, then, if there are any, of their
 * squares. */
static void add_fits(const job *j, const bool *used, int64_t grids, int64_t at, int64_t count,
                     double *sums) {
#pragma omp parallel for schedule(static) num_threads(j->threads) if (count > 10000)
    for (int64_t k = 0; k < count; k++) {
        int64_t value = (at + k) % j->values;
        for (int64_t g = 0; g < grids; g++) {
            double fit = j->fits[g * j->values + value];
            if (used[g]) sums[k] += at + k < j->values ? fit : fit * fit;
        }
    }
}

static csrec_status add_to_chain(job *j, const csrec_grid_run *runs, int64_t count,
                                 csrec_error *error) {
    bool used[BATCH];
    int64_t n = 0;
    csrec_grids_chain *chain = &j->chain;
    csrec_status status = keep_fits(j, runs, count, error);
    if (!status) status = csrec_grids_chain_take(chain, error);
    if (status || chain->over) return status;
    choose_grids(j, runs, count, used);
    for (int64_t g = 0; g < count; g++) {
        if (used[g]) add_report(j, &runs[g]);
        n += used[g];
    }
    double *sums = malloc((size_t)csrec_grids_chain_chunk(chain, 0) * sizeof *sums);
    status = sums ? csrec_grids_chain_give(chain, chain->added + n, error)
                  : csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    for (int64_t at = 0, size; !status && (size = csrec_grids_chain_chunk(chain, at)) > 0;
         at += size) {
        status = csrec_grids_chain_receive(chain, at, sums, error);
        if (!status) add_fits(j, used, count, at, size, sums);
        if (!status) status = csrec_grids_chain_send(chain, at, sums, error);
    }
    free(sums);
    return status;
}

static void poll_call(void *call) {
    csrec_call_poll(call);
}

/* Squares travel after the values; rank 0 takes them apart. */
static csrec_status open_chain(job *j, csrec_error *error) {
    const bool shared = csrec_comm_size(j->options->comm) > 1;
    csrec_grids_chain *chain = &j->chain;
    *chain = (csrec_grids_chain){.comm = j->options->comm,
                                 .shifts = j->options->shifts,
                                 .channels = j->measurement->channels,
                                 .length = j->squares ? 2 * j->values : j->values,
                                 .waits = poll_call,
                                 .context = &j->call};
    csrec_status status =
        csrec_grids_chain_open(chain, csrec_grids_batch(j->threads, j->options), error);
    if (status || !shared) return status;
    CSREC_TAKE(&j->pool, j->fits, chain->batch * j->values);
    if (csrec_comm_rank(chain->comm) == 0) CSREC_TAKE(&j->pool, chain->sum, chain->length);
    if (!j->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for %lld grids", (long long)chain->batch);
}

static csrec_status close_chain(job *j, csrec_error *error) {
    csrec_grids_chain *chain = &j->chain;
    csrec_status status = csrec_grids_chain_close(chain, error);
    if (status || !chain->sum || !j->signal) return status;
    memcpy(j->signal, chain->sum, (size_t)j->values * sizeof *j->signal);
    if (j->squares)
        memcpy(j->squares, chain->sum + j->values, (size_t)j->values * sizeof *j->squares);
    return CSREC_OK;
}

static csrec_status run_batch(job *j, int64_t first, int64_t count, csrec_grid_run *runs,
                              csrec_error *error) {
    double start = csrec_seconds();
#pragma omp parallel for schedule(dynamic, 1) num_threads(j->threads)
    for (int64_t g = 0; g < count; g++)
        runs[g].status =
            csrec_grid_run_create(j->measurement, j->options, j->context, first + g, &runs[g]);
    csrec_status status = first_failure(runs, count, error);
    if (status) return status;
    double built = csrec_seconds();
    int64_t channels = j->measurement->channels;
#pragma omp parallel num_threads(j->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t p = 0; p < count * channels; p++) {
            csrec_error text = {{0}};
            csrec_status own = pursue(j, &runs[p / channels], p % channels, &text);
            if (own) csrec_call_fail(&j->call, p, own, text.text);
        }
        csrec_call_gather(&j->call);
    }
    if (j->call.status) status = csrec_fail(error, j->call.status, "%s", j->call.error.text);
    double pursued = csrec_seconds();
    if (!status)
        status =
            (csrec_grids_chain_shared(&j->chain) ? add_to_chain : add_here)(j, runs, count, error);
    j->report.seconds_tree += built - start;
    j->report.seconds_pursuit += pursued - built;
    j->report.seconds_synthesis += csrec_seconds() - pursued;
    return status;
}

static csrec_status run_all(job *j, csrec_atoms *atoms, csrec_error *error) {
    int64_t channels = j->measurement->channels, first, count;
    csrec_grid_run *runs = calloc(BATCH, sizeof *runs);
    csrec_status status = runs ? open_chain(j, error) : csrec_memory_fail(error, NULL);
    while (!status && !csrec_call_stopped(&j->call) &&
           csrec_grids_chain_next(&j->chain, &first, &count)) {
        csrec_call_poll(&j->call);
        status = run_batch(j, first, count, runs, error);
        for (int64_t c = 0; atoms && !status && c < channels; c++) {
            atoms[c] = runs[0].atoms[c];
            runs[0].atoms[c] = (csrec_atoms){0};
        }
        for (int g = 0; g < BATCH; g++) csrec_grid_run_clear(&runs[g], channels);
        j->chain.turn++;
    }
    if (!status) status = close_chain(j, error);
    free(runs);
    csrec_pool_clear(&j->pool);
    for (int64_t k = 0; j->signal && j->chain.added > 1 && k < j->values; k++)
        j->signal[k] /= (double)j->chain.added;
    if (csrec_call_stopped(&j->call)) j->report.outcome = CSREC_INTERRUPTED;
    return status;
}

/* Of independent grids; a single one tells nothing. */
static void set_variance(const job *j) {
    double grids = (double)j->chain.added;
    for (int64_t k = 0; k < j->values; k++) {
        double off = j->squares[k] / grids - j->signal[k] * j->signal[k];
        j->squares[k] = j->chain.added > 1 ? fmax(off, 0.0) / (grids - 1.0) : -1.0;
    }
}

static csrec_status run_here(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_recover_options *options = r->options;
    job j = {.measurement = m,
             .options = options,
             .signal = r->signal,
             .context = r->context,
             .threads = csrec_threads(options->threads)};
    int64_t entries;
    csrec_status status = csrec_shape_count(&m->shape, &entries);
    if (status) return csrec_fail(error, status, "the shape has too many entries");
    j.values = entries * m->channels;
    if (r->signal && options->shifts > 1)
        j.mean = csrec_history_record(options->history, 0, "mean over grids", "grid", -1);
    if (r->signal) memset(r->signal, 0, (size_t)j.values * sizeof *r->signal);
    if (r->variance && j.signal) j.squares = r->variance;
    if (j.squares) memset(j.squares, 0, (size_t)j.values * sizeof *j.squares);
    csrec_call_begin(&j.call, options->solve.progress, options->solve.context,
                     (csrec_progress){"grids", 0, options->shifts, -1.0});
    status = run_all(&j, r->atoms, error);
    csrec_call_end(&j.call);
    if (j.squares) set_variance(&j);
    if (!status) *r->report = j.report;
    return status;
}

const csrec_grids_engine csrec_grids_cpu = {run_here};
