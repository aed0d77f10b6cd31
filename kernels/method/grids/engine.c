/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - recovery as the mean over dyadic grids on a CUDA device.
 *
 * The counterpart of src/method/grids/grids.c. Positions and samples are uploaded once; each grid's
 * rows are computed and sorted on the device; the pursuits run many at once (batches.c) or one
 * after another (sequential.c); their fits are added to the signal on the device, grid by grid. */
#include "base/inline.h"
#include "kernels/method/grids/engine.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/method/grids/job.h"
#include "base/stop.h"
#include "base/threads.h"
#include "kernels/method/grids/fill.h"
#include "kernels/device/pipe.h"
#include "method/history.h"
#include "solver/solver.h"
#include "base/clock.h"

/* Measured on an H200 with N/4 atoms, milliseconds of a whole recovery (batches, sequential):
 *
 *     signals      1           3           4           8          16
 *     N = 2^12     4,   7      4,  14      4,  20      5,  38      7,  76
 *     N = 2^14     8,   6      9,  15     13,  38     14,  71     16, 147
 *     N = 2^16    30,  10     30,  30     39,  66    106, 148    109, 296
 *     N = 2^18   111,  26    113,  77    174, 172    692, 375    729, 792
 *     N = 2^20   447, 111    478, 347    770, 654 */
csrec_cuda_grids_engine csrec_cuda_grids_choose(int64_t signals, int64_t n) {
    enum { ALONE = 1 << 14, EACH = 1 << 15, MOST = 8 };
    bool sequential = signals == 1 ? n >= ALONE : signals <= MOST && signals <= n / EACH;
    return sequential ? CSREC_CUDA_GRIDS_SEQUENTIAL : CSREC_CUDA_GRIDS_BATCHES;
}

/* ------------------------------------------------------------------ planes
 *
 * A dyadic grid as the device reads it, and the sorted rows of the samples on it. */

static void describe_grid(const csrec_grid *grid, csrec_cuda_grid *g) {
    *g = (csrec_cuda_grid){.dims = grid->shape.dims};
    int64_t stride = 1;
    for (int a = 0; a < g->dims; a++) {
        g->dim[a] = grid->shape.dim[a];
        g->axis[a] = -1;
    }
    for (int d = g->dims - 1; d >= 0; d--) {
        const csrec_grid_axis *axis = &grid->axis[d];
        int a = axis->axis;
        g->shift[a] = axis->shift;
        g->unit_bits[a] = axis->bits;
        g->units[a] = (uint32_t)axis->units;
        g->slots[a] = (uint32_t)axis->slots;
        g->phase[a] = (uint32_t)axis->phase;
        if (grid->order == CSREC_ORDER_RASTER) g->stride[a] = stride;
        stride *= grid->domain.dim[d];
    }
    if (grid->order == CSREC_ORDER_RASTER) return;
    int fewest = 64;
    for (int d = 0; d < g->dims; d++) {
        if (grid->domain.dim[d] == 1) continue;
        g->axis[grid->axis[d].axis] = g->axes;
        g->bits[g->axes] = csrec_bits_for(grid->domain.dim[d]);
        if (g->bits[g->axes] < fewest) fewest = g->bits[g->axes];
        g->axes++;
    }
    if (grid->order == CSREC_ORDER_HILBERT && g->axes) g->hilbert_bits = fewest;
    /* Where the bits of each axis lie in the row: interleaved, least significant first, the last
     * axis lowest; an axis without bits left is skipped. */
    int place = 0;
    for (int b = 0; b < 64; b++)
        for (int a = g->axes - 1; a >= 0; a--)
            if (b < g->bits[a]) g->place[a][b] = (uint8_t)place++;
}

static csrec_status take_memory(csrec_cuda_plane *p, int64_t n, csrec_error *error) {
    *p = (csrec_cuda_plane){0};
    for (int pass = 0; pass < 2; pass++) {
        p->rows = csrec_cuda_block_take(&p->block, n, sizeof *p->rows);
        p->order = csrec_cuda_block_take(&p->block, n, sizeof *p->order);
        csrec_status status =
            pass ? CSREC_OK : csrec_cuda_block_create(&p->block, "the rows of a grid", error);
        if (status) return status;
    }
    return CSREC_OK;
}

static csrec_status sort_rows(csrec_cuda_job *j, int levels, const csrec_cuda_grid *described,
                              csrec_cuda_grid *grid, csrec_cuda_plane *p) {
    csrec_cuda_workspace *s = &j->work;
    int64_t n = j->m->n;
    CSREC_TRY(csrec_cuda_upload(grid, described, sizeof *grid, NULL, j->error));
    CSREC_TRY(csrec_cuda_grid_rows(grid, n, s->index, s->rows, s->sample, NULL, j->error));
    return csrec_cuda_sort(n, levels, s->rows, s->sample, p->rows, p->order, s->scratch, j->error);
}

csrec_status csrec_cuda_plane_create(csrec_cuda_job *j, int64_t number, int64_t place,
                                     csrec_cuda_plane *p) {
    csrec_grid grid;
    *p = (csrec_cuda_plane){0};
    csrec_status status = csrec_grid_create(&j->m->shape, j->options->order, number,
                                            j->options->shifts, j->options->seed, &grid);
    if (status)
        return csrec_fail(j->error, status,
                          "the shape needs more than 62 levels; sample a smaller shape or use "
                          "order raster");
    csrec_cuda_grid described;
    describe_grid(&grid, &described);
    j->report.levels = grid.levels;
    status = take_memory(p, j->m->n, j->error);
    return status ? status : sort_rows(j, grid.levels, &described, j->work.grid + place, p);
}

/* ------------------------------------------------------------------ sums between ranks
 *
 * (src/method/grids/chain.h), through host memory: a hand-over is short beside the pursuits of a
 * batch. */

bool csrec_cuda_hear(csrec_cuda_job *j, const csrec_progress *now) {
    const csrec_solve_options *solve = &j->options->solve;
    j->last = *now;
    if (!j->stopped && solve->progress) j->stopped = solve->progress(now, solve->context);
    return j->stopped;
}

static csrec_status pass_chunk(csrec_cuda_job *j, const csrec_cuda_pass *p, int64_t at,
                               int64_t count, double *values) {
    const int64_t channels = j->m->channels;
    double *sums = j->work.signal + at;
    const size_t bytes = (size_t)count * sizeof *sums;
    csrec_status status = CSREC_OK;
    if (p->receive) status = csrec_grids_chain_receive(&j->chain, at, values, j->error);
    if (!status && p->receive) status = csrec_cuda_copy(sums, values, bytes, j->error);
    if (!status && p->add) status = p->add(p->context, at / channels, count / channels, j->error);
    if (status || !p->send) return status;
    status = csrec_cuda_copy(values, sums, bytes, j->error);
    return status ? status : csrec_grids_chain_send(&j->chain, at, values, j->error);
}

csrec_status csrec_cuda_sum_pass(csrec_cuda_job *j, const csrec_cuda_pass *p) {
    csrec_status status = CSREC_OK;
    if (!csrec_grids_chain_shared(&j->chain))
        return p->add ? p->add(p->context, 0, j->entries, j->error) : CSREC_OK;
    double *values = malloc((size_t)csrec_grids_chain_chunk(&j->chain, 0) * sizeof *values);
    if (!values) return csrec_fail(j->error, CSREC_MEMORY, "out of memory for a message");
    for (int64_t at = 0, count; !status && (count = csrec_grids_chain_chunk(&j->chain, at)) > 0;
         at += count)
        status = pass_chunk(j, p, at, count, values);
    free(values);
    return status;
}

static bool supported(const csrec_recover_options *options) {
    const char *solver = options->solve.solver;
    return (!solver || strcmp(solver, csrec_solver_mp.name) == 0) && !options->solve.reference &&
           options->shifts >= 1;
}

static void lay_out_workspace(csrec_cuda_job *j, bool batches) {
    csrec_cuda_workspace *s = &j->work;
    csrec_cuda_block *block = &s->block;
    const int64_t n = j->m->n, channels = j->m->channels;
    s->index = csrec_cuda_block_take(block, n, sizeof *s->index);
    s->y = batches ? csrec_cuda_block_take(block, n * channels, sizeof *s->y) : NULL;
    s->rows = csrec_cuda_block_take(block, n, sizeof *s->rows);
    s->sample = csrec_cuda_block_take(block, n, sizeof *s->sample);
    s->grid = csrec_cuda_block_take(block, CSREC_CUDA_PART, sizeof *s->grid);
    size_t bytes = csrec_cuda_sort_scratch(n);
    if (batches) bytes = csrec_cuda_larger(bytes, csrec_cuda_tree_scratch(n, j->options->columns));
    s->scratch = csrec_cuda_block_take(block, (int64_t)bytes, 1);
    s->signal = NULL;
    if (j->entries)
        s->signal = csrec_cuda_block_take(block, j->entries * channels, sizeof *s->signal);
}

static csrec_status create_workspace(csrec_cuda_job *j, bool batches, csrec_cuda_pipe *pipe) {
    const csrec_measurement *m = j->m;
    csrec_cuda_workspace *s = &j->work;
    lay_out_workspace(j, batches);
    CSREC_TRY(csrec_cuda_block_create(&s->block, "the samples and the signal", j->error));
    lay_out_workspace(j, batches);
    size_t n = (size_t)m->n, values = n * (size_t)m->channels;
    csrec_status status =
        csrec_cuda_pipe_send(pipe, s->index, m->index, n * sizeof *s->index, j->error);
    if (!status && batches)
        status = csrec_cuda_pipe_send(pipe, s->y, m->y, values * sizeof *s->y, j->error);
    size_t bytes = (size_t)(j->entries * m->channels) * sizeof *s->signal;
    return status || !bytes ? status : csrec_cuda_clear(s->signal, bytes, NULL, j->error);
}

/* Of ranks the first has the sums on the host. */
static csrec_status deliver(csrec_cuda_job *j, csrec_cuda_pipe *pipe, double *signal) {
    const int64_t values = j->entries * j->m->channels, added = j->chain.added;
    if (!signal) return CSREC_OK;
    if (csrec_grids_chain_shared(&j->chain)) {
#pragma omp parallel for schedule(static) num_threads(csrec_threads(j->options->threads))
        for (int64_t k = 0; k < values; k++)
            if (added > 1) signal[k] /= (double)added;
        return CSREC_OK;
    }
    csrec_status status = CSREC_OK;
    if (added > 1)
        status = csrec_cuda_divide(values, j->work.signal, (double)added, NULL, j->error);
    return status ? status
                  : csrec_cuda_pipe_receive(pipe, signal, j->work.signal,
                                            (size_t)values * sizeof *signal, j->error);
}

static void report_waiting(void *job) {
    csrec_cuda_job *j = job;
    const csrec_progress last = j->last;
    if (csrec_ticker_passed(&j->pace)) csrec_cuda_hear(j, &last);
}

static csrec_status run_all(csrec_cuda_job *j, csrec_cuda_grids_engine engine, double *signal,
                            csrec_atoms *atoms) {
    const bool batches = engine == CSREC_CUDA_GRIDS_BATCHES;
    const int64_t values = j->entries * j->m->channels;
    csrec_cuda_pipe pipe;
    csrec_cuda_pipe_create((size_t)values * sizeof *signal, &pipe);
    j->last = (csrec_progress){"pursuit", 0, 0, -1.0};
    j->chain = (csrec_grids_chain){.comm = j->options->comm,
                                   .shifts = j->options->shifts,
                                   .channels = j->m->channels,
                                   .length = values,
                                   .sum = signal,
                                   .waits = report_waiting,
                                   .context = j};
    csrec_status status = create_workspace(j, batches, &pipe);
    if (!status)
        status = batches ? csrec_cuda_run_batches(j, atoms) : csrec_cuda_run_sequential(j, atoms);
    double start = csrec_seconds();
    if (!status) status = csrec_grids_chain_close(&j->chain, j->error);
    if (!status) status = deliver(j, &pipe, signal);
    j->report.seconds_synthesis += csrec_seconds() - start;
    if (j->stopped) j->report.outcome = CSREC_INTERRUPTED;
    csrec_cuda_block_destroy(&j->work.block);
    csrec_cuda_pipe_destroy(&pipe);
    return status;
}

static csrec_status check(const csrec_measurement *m, const csrec_recover_options *options,
                          csrec_cuda_grids_engine engine, csrec_error *error) {
    const csrec_stop *stop = &options->solve.stop;
    if (!supported(options))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: has the eager pursuit of solver mp only; use backend "
                          "cpu");
    int64_t most = engine == CSREC_CUDA_GRIDS_BATCHES ? CSREC_CUDA_SAMPLES_MAX : INT32_MAX;
    if (m->n > most)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: %lld samples, at most %lld; use backend cpu",
                          (long long)m->n, (long long)most);
    if (engine == CSREC_CUDA_GRIDS_SEQUENTIAL && stop->stagnation > 0.0)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: stagnation is watched in batches only");
    return csrec_stop_check(stop, error);
}

/* By the signals of a rank. The dense signal of a grid may be far larger than the entries; then,
 * and for stagnation, only batches work. */
static csrec_cuda_grids_engine choose(const csrec_measurement *m,
                                      const csrec_recover_options *options, bool signal) {
    const int ranks = csrec_comm_size(options->comm);
    const int64_t signals = (options->shifts + ranks - 1) / ranks * m->channels;
    csrec_cuda_grids_engine engine = csrec_cuda_grids_choose(signals, m->n);
    if (options->solve.stop.stagnation > 0.0) engine = CSREC_CUDA_GRIDS_BATCHES;
    csrec_grid grid;
    csrec_cuda_size size;
    if (engine == CSREC_CUDA_GRIDS_BATCHES ||
        csrec_grid_create(&m->shape, options->order, 0, options->shifts, options->seed, &grid) ||
        csrec_cuda_measure(&size, NULL))
        return CSREC_CUDA_GRIDS_BATCHES;
    size_t bytes = signal ? csrec_cuda_fill_bytes(grid.levels, m->n) : 0;
    return bytes < size.free / 2 ? engine : CSREC_CUDA_GRIDS_BATCHES;
}

static csrec_status run(csrec_cuda_job *j, csrec_cuda_grids_engine engine, double *signal,
                        csrec_atoms *atoms) {
    const csrec_measurement *m = j->m;
    const bool sums = signal || csrec_comm_size(j->options->comm) > 1;
    csrec_status status = supported(j->options) ? csrec_cuda_enter(j->context, j->error) : CSREC_OK;
    if (!status && sums && csrec_shape_count(&m->shape, &j->entries))
        status = csrec_fail(j->error, CSREC_DATA, "the shape has too many entries");
    if (!status && engine == CSREC_CUDA_GRIDS_AUTO) engine = choose(m, j->options, sums);
    if (!status) status = check(m, j->options, engine, j->error);
    return status ? status : run_all(j, engine, signal, atoms);
}

csrec_status csrec_cuda_recover_grids_by(csrec_cuda_grids_engine engine,
                                         const csrec_recovery *recovery, csrec_error *error) {
    const csrec_measurement *m = recovery->measurement;
    csrec_cuda_job job = {
        .context = recovery->context, .m = m, .options = recovery->options, .error = error};
    const size_t channels = (size_t)m->channels;
    csrec_atoms *found = recovery->atoms ? calloc(channels, sizeof *found) : NULL;
    if (recovery->atoms && !found) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = run(&job, engine, recovery->signal, found);
    for (size_t c = 0; found && c < channels; c++) {
        if (status)
            csrec_atoms_clear(&found[c]);
        else
            recovery->atoms[c] = found[c];
    }
    free(found);
    if (!status) *recovery->report = job.report;
    return status;
}

static csrec_status run_any(const csrec_recovery *recovery, csrec_error *error) {
    return csrec_cuda_recover_grids_by(CSREC_CUDA_GRIDS_AUTO, recovery, error);
}

const csrec_grids_engine csrec_grids_cuda = {run_any};
