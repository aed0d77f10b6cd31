/* SPDX-License-Identifier: BSD-3-Clause */
/* grids.c - the method of the mean over dyadic grids: its row, and what it needs. */
#include <string.h>

#include "base/threads.h"
#include "method/grids/chain.h"

/* For each grid of a batch its samples' order, tree and atoms; for each running pursuit its state.
 * The number of atoms depends on the data: rates are for pictures. */
static csrec_need need_of(const csrec_task *task) {
    static const double per_row = 7e-8, per_sample = 3.5e-7; /* seconds */
    const double tree = 41.0, pursuit = 26.0, atoms = 24.0;  /* bytes per sample */
    double n = (double)task->n, channels = (double)task->channels;
    int64_t shifts = task->options->shifts, kept = csrec_grids_batch(task->threads, task->options);
    int64_t runs = kept * task->channels;
    double abreast = (double)(task->threads < runs ? task->threads : runs);
    double rows = task->atoms_alone ? 0.0 : (double)task->entries;
    double work = (double)shifts * channels * (per_row * rows + per_sample * n);
    int ranks = csrec_comm_size(task->options->comm);
    double signals = task->atoms_alone ? 0.0 : ranks > 1 ? (double)kept + 2.0 : 1.0;
    return (csrec_need){.bytes = (double)kept * n * (tree + atoms * channels / 3.0) +
                                 abreast * n * pursuit + signals * csrec_signal_bytes(task),
                        .seconds = csrec_task_share(task, work / ranks, shifts * task->channels)};
}

static bool works_with(const char *solver, const char *basis) {
    (void)solver;
    return !basis || strcmp(basis, csrec_operator_haar.name) == 0;
}

/* Options that choose pursuits on grids. */
static bool is_chosen(const csrec_recover_options *o) {
    const csrec_stop *stop = &o->solve.stop;
    if (!works_with(NULL, o->basis)) return false;
    return o->basis || o->shifts != 0 || o->solve.solver || o->solve.reference || o->solve.start ||
           o->order != CSREC_ORDER_UNSET || o->columns != CSREC_COLUMNS_UNSET ||
           stop->epsilon != CSREC_EPSILON_UNSET || stop->atoms != 0 ||
           stop->min_coefficient != 0.0 || stop->sigma != 0.0 || stop->stagnation != 0.0;
}

/* For a mean over grids, a residual below the grids' spread brings no gain. */
static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    enum { SHIFTS = 64 };
    options->basis = csrec_operator_haar.name;
    if (!options->solve.solver) options->solve.solver = csrec_solver_mp.name;
    if (options->shifts == 0) options->shifts = measurement->shape.dims == 2 && !atoms ? SHIFTS : 1;
    if (options->order == CSREC_ORDER_UNSET) options->order = CSREC_ORDER_MORTON;
    if (options->columns == CSREC_COLUMNS_UNSET) options->columns = CSREC_COLUMNS_TWO_SIDED;
    if (options->solve.stop.epsilon == CSREC_EPSILON_UNSET)
        options->solve.stop.epsilon = options->shifts > 1 ? 0.01 : CSREC_EPSILON_DEFAULT;
}

/* Any number of ranks works on several grids, of which some may have none. */
static int64_t shares(const csrec_recover_options *options, int64_t n, csrec_device_kind kind) {
    (void)n, (void)kind;
    return options->shifts;
}

static bool on_device(const csrec_task *task) {
    const csrec_solve_options *solve = &task->options->solve;
    return strcmp(solve->solver, csrec_solver_mp.name) == 0 && !solve->reference && !solve->start &&
           solve->n_settings == 0;
}

/* A process's first use of a device takes 0.19 s, in which a CPU core recovers a signal of about
 * 2^19 samples; measured, the device included (16 cores, H200):
 *
 *     signals x N   1 x 2^18   1 x 2^20   16 x 2^18   192 x 2^14   192 x 2^16   192 x 2^18
 *     CPU, ms          66         290        1427         176          510         4522
 *     device, ms      217         301         919         225          351         1185
 *
 * so what counts is the samples that one core would have to work through. */
static bool device_faster(const csrec_task *task) {
    enum { SAMPLES = 1 << 19 };
    int64_t threads = csrec_threads_wanted(task->options->threads);
    int64_t rounds = (task->options->shifts * task->channels + threads - 1) / threads;
    return rounds * task->n >= SAMPLES;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    if (r->atoms && r->options->shifts != 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "coefficients belong to a single grid; use shifts 1");
    static const csrec_grids_engine *const engines[CSREC_DEVICE_KINDS] =
        CSREC_ENGINES(&csrec_grids_cpu, &csrec_grids_cuda);
    const csrec_grids_engine *engine = engines[r->context->kind];
    if (!engine) return csrec_device_lacks(r->context, "method grids", NULL, error);
    return engine->run(r, error);
}

const csrec_method_type csrec_method_grids = {
    .info = {.name = "grids",
             .topic = "series and fields",
             .brief = "the mean of pursuits on dyadic Haar grids; a single grid has atoms",
             .source = "Park 2015, method table 1; docs/pursuit.md",
             .accepts = CSREC_ACCEPTS(SOLVER) | CSREC_ACCEPTS(BASIS) | CSREC_ACCEPTS(SHIFTS) |
                        CSREC_ACCEPTS(ORDER) | CSREC_ACCEPTS(COLUMNS) | CSREC_ACCEPTS(REFERENCE) |
                        CSREC_ACCEPTS(EPSILON) | CSREC_ACCEPTS(ATOMS) |
                        CSREC_ACCEPTS(MIN_COEFFICIENT) | CSREC_ACCEPTS(SIGMA) |
                        CSREC_ACCEPTS(STAGNATION) | CSREC_ACCEPTS(START) |
                        CSREC_ACCEPTS(COEFFICIENTS),
             .iterates = true,
             .device = "all; not the reference pursuit, another solver than mp, nor with a start"},
    .chosen = is_chosen,
    .works_with = works_with,
    .complete = complete,
    .by_channels = true,
    .need = need_of,
    .shares = shares,
    .on_device = on_device,
    .device_faster = device_faster,
    .run = run};
