/* grids.c - recovery as the mean over dyadic grids, a pursuit on each, in parallel.
 *
 * Grids are worked through in batches: the pursuits of a batch (grids x channels) run in parallel,
 * then their fits are added to the signal, grid after grid, in parallel over blocks of rows. Every
 * entry receives its terms in the order of the grids, so the sum does not depend on the number of
 * threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "base/team.h"
#include "base/threads.h"
#include "haar/atoms.h"
#include "operator/engine.h"
#include "operator/haar.h"
#include "method/grids/engine.h"
#include "method/grid.h"
#include "method/history.h"
#include "method/method.h"
#include "solver/solver.h"

enum { BATCH = 32, BLOCK = 1 << 14 };

/* One grid with its operator and the results of the pursuits, one for each channel. */
typedef struct grid_run {
    csrec_grid grid;
    csrec_operator *A;
    int64_t *order;     /* [n] sample of each row, rows ascending */
    csrec_atoms *atoms; /* [channels] */
    csrec_solve_report *reports;
    csrec_status status; /* status of building it */
    csrec_error error;
} grid_run;

typedef struct job {
    const csrec_measurement *measurement;
    const csrec_recover_options *options;
    double *signal;  /* [values], or NULL */
    double *squares; /* NULL, or as signal: sums of squares, then the variance of the mean */
    int64_t values;
    csrec_recover_report report;
    const csrec_context *context; /* the operators' device, for the reference pursuit */
    int threads;
    csrec_team team;
    int64_t added; /* grids in the signal */
    int64_t pursuits_done;
    csrec_record *mean; /* of the grids so far */
} job;

static void clear_run(grid_run *run, int64_t channels) {
    csrec_operator_destroy(run->A);
    free(run->order);
    for (int64_t c = 0; run->atoms && c < channels; c++) csrec_atoms_clear(&run->atoms[c]);
    free(run->atoms);
    free(run->reports);
    *run = (grid_run){0};
}

static csrec_status build_grid(const job *j, int64_t number, grid_run *run) {
    const csrec_measurement *m = j->measurement;
    csrec_status status = csrec_grid_create(&m->shape, j->options->order, number,
                                            j->options->shifts, j->options->seed, &run->grid);
    if (status)
        return csrec_fail(&run->error, status,
                          "the shape needs more than 62 levels; sample a "
                          "smaller shape or use --order raster");
    uint64_t *rows = malloc((size_t)m->n * sizeof *rows);
    run->order = malloc((size_t)m->n * sizeof *run->order);
    run->atoms = calloc((size_t)m->channels, sizeof *run->atoms);
    run->reports = calloc((size_t)m->channels, sizeof *run->reports);
    status = rows && run->order && run->atoms && run->reports ? CSREC_OK : CSREC_MEMORY;
    if (!status) status = csrec_grid_rows(&run->grid, m->n, m->index, rows);
    for (int64_t k = 0; !status && k < m->n; k++) run->order[k] = k;
    if (!status) status = csrec_sort_rows(m->n, rows, run->order);
    if (status) {
        csrec_fail(&run->error, status, "out of memory for %lld samples", (long long)m->n);
    } else {
        csrec_operator_spec spec = {.name = "haar",
                                    .levels = run->grid.levels,
                                    .m = m->n,
                                    .rows = rows,
                                    .columns = j->options->columns};
        status = csrec_operator_create_on(j->context, &spec, &run->A, &run->error);
    }
    free(rows);
    return status;
}

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
    return csrec_team_report(&j->team, &seen);
}

static csrec_status pursue(job *j, grid_run *run, int64_t channel, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    double *y = malloc((size_t)m->n * sizeof *y);
    if (!y) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t k = 0; k < m->n; k++) y[k] = m->y[run->order[k] * m->channels + channel];
    csrec_solve_options solve = j->options->solve;
    solve.progress = pass_progress;
    solve.context = j;
    csrec_grid_record to = {NULL, &run->grid};
    if (j->options->shifts == 1)
        to.record = csrec_history_record(j->options->history, 0, "pursuit", "iteration", channel);
    const csrec_watch watch = {csrec_follow_grid, &to};
    csrec_status status = csrec_solve_watched(run->A, y, &solve, to.record ? &watch : NULL, NULL,
                                              &run->atoms[channel], &run->reports[channel], error);
    bool numbered = strcmp(solve.solver, csrec_solver_mp.name) == 0;
    if (!status && !numbered) {
        status = csrec_haar_number(run->A, &run->atoms[channel]);
        if (status) csrec_fail(error, status, "%s", csrec_status_text(status));
    }
    free(y);
#pragma omp atomic
    j->pursuits_done++;
    return status;
}

/* Adds the fit of one block of rows, all channels. */
static csrec_status add_block(const job *j, const grid_run *run, uint64_t first, int64_t rows,
                              uint64_t *row, int64_t *entry, double *value) {
    csrec_status status = csrec_grid_entries(&run->grid, first, rows, row, entry);
    int64_t channels = j->measurement->channels;
    for (int64_t c = 0; c < channels && !status; c++) {
        csrec_atoms_fill(run->grid.levels, &run->atoms[c], first, rows, value);
        for (int64_t k = 0; k < rows; k++)
            if (entry[k] >= 0) j->signal[entry[k] * channels + c] += value[k];
        for (int64_t k = 0; j->squares && k < rows; k++)
            if (entry[k] >= 0) j->squares[entry[k] * channels + c] += value[k] * value[k];
    }
    return status;
}

static csrec_status add_grid(const job *j, const grid_run *run) {
    int64_t rows = INT64_C(1) << run->grid.levels, blocks = (rows + BLOCK - 1) / BLOCK;
    csrec_status status = CSREC_OK;
#pragma omp parallel num_threads(j->threads)
    {
        uint64_t *row = malloc(BLOCK * sizeof *row);
        int64_t *entry = malloc(BLOCK * sizeof *entry);
        double *value = malloc(BLOCK * sizeof *value);
        csrec_status own = row && entry && value ? CSREC_OK : CSREC_MEMORY;
#pragma omp for schedule(dynamic, 4)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * BLOCK, count = rows - first < BLOCK ? rows - first : BLOCK;
            if (!own) own = add_block(j, run, (uint64_t)first, count, row, entry, value);
        }
        if (own) {
#pragma omp atomic write
            status = own;
        }
        free(row);
        free(entry);
        free(value);
    }
    return status;
}

static void add_report(job *j, const grid_run *run) {
    csrec_recover_report *total = &j->report;
    total->levels = run->grid.levels;
    for (int64_t c = 0; c < j->measurement->channels; c++) {
        const csrec_solve_report *one = &run->reports[c];
        total->pursuits++;
        total->iterations += one->iterations;
        if (one->outcome > total->outcome) total->outcome = one->outcome;
        total->residual = fmax(total->residual, one->residual);
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

static csrec_status first_failure(const grid_run *runs, int64_t count, csrec_error *error) {
    for (int64_t g = 0; g < count; g++)
        if (runs[g].status)
            return csrec_fail(error, runs[g].status, "%s",
                              runs[g].error.text[0] ? runs[g].error.text : "out of memory");
    return CSREC_OK;
}

/* A pursuit stopped just after its start would make the mean worse. */
static bool is_complete(const grid_run *run, int64_t channels) {
    for (int64_t c = 0; c < channels; c++)
        if (run->reports[c].outcome == CSREC_INTERRUPTED) return false;
    return true;
}

/* Grids take different times, so threads share many. One thread takes one grid at a time, which
 * leaves less to add after a stop. */
static int64_t batch_of(int threads, int64_t shifts) {
    int64_t most = threads > 1 ? BATCH : 1;
    return shifts < most ? shifts : most;
}

static csrec_status run_batch(job *j, int64_t first, int64_t count, grid_run *runs,
                              csrec_error *error) {
    double start = csrec_seconds();
#pragma omp parallel for schedule(dynamic, 1) num_threads(j->threads)
    for (int64_t g = 0; g < count; g++) runs[g].status = build_grid(j, first + g, &runs[g]);
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
            if (own) csrec_team_fail(&j->team, p, own, text.text);
        }
        csrec_team_gather(&j->team);
    }
    if (j->team.status) status = csrec_fail(error, j->team.status, "%s", j->team.error.text);
    double pursued = csrec_seconds();
    bool some = j->added > 0;
    for (int64_t g = 0; g < count && !some; g++) some = is_complete(&runs[g], channels);
    for (int64_t g = 0; g < count && !status; g++) {
        if (some && !is_complete(&runs[g], channels)) continue;
        add_report(j, &runs[g]);
        if (j->signal) status = add_grid(j, &runs[g]);
        j->added++;
        if (!status) status = take_down(j, j->added);
        if (status) csrec_fail(error, status, "out of memory during synthesis");
    }
    j->report.seconds_tree += built - start;
    j->report.seconds_pursuit += pursued - built;
    j->report.seconds_synthesis += csrec_seconds() - pursued;
    return status;
}

static csrec_status run_all(job *j, csrec_atoms *atoms, csrec_error *error) {
    int64_t shifts = j->options->shifts, channels = j->measurement->channels, begun = 0;
    int64_t batch = batch_of(j->threads, shifts);
    grid_run *runs = calloc(BATCH, sizeof *runs);
    csrec_status status = runs ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
    while (begun < shifts && !status && !csrec_team_stopped(&j->team)) {
        int64_t count = shifts - begun < batch ? shifts - begun : batch;
        csrec_team_poll(&j->team);
        status = run_batch(j, begun, count, runs, error);
        begun += count;
        for (int64_t c = 0; atoms && !status && c < channels; c++) {
            atoms[c] = runs[0].atoms[c];
            runs[0].atoms[c] = (csrec_atoms){0};
        }
        for (int g = 0; g < BATCH; g++) clear_run(&runs[g], channels);
    }
    free(runs);
    for (int64_t k = 0; j->signal && j->added > 1 && k < j->values; k++)
        j->signal[k] /= (double)j->added;
    if (csrec_team_stopped(&j->team)) j->report.outcome = CSREC_INTERRUPTED;
    return status;
}

/* Of independent grids; a single one tells nothing. */
static void set_variance(const job *j) {
    double grids = (double)j->added;
    for (int64_t k = 0; k < j->values; k++) {
        double off = j->squares[k] / grids - j->signal[k] * j->signal[k];
        j->squares[k] = j->added > 1 ? fmax(off, 0.0) / (grids - 1.0) : -1.0;
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
    if (r->variance && r->signal) j.squares = r->variance;
    if (j.squares) memset(j.squares, 0, (size_t)j.values * sizeof *j.squares);
    csrec_team_begin(&j.team, options->solve.progress, options->solve.context,
                     (csrec_progress){"grids", 0, options->shifts, -1.0});
    status = run_all(&j, r->atoms, error);
    csrec_team_end(&j.team);
    if (j.squares) set_variance(&j);
    if (!status) *r->report = j.report;
    return status;
}

/* ------------------------------------------------------------------ the table row */

/* For each grid of a batch its samples' order, tree and atoms; for each running pursuit its state.
 * The number of atoms depends on the data: rates are for pictures. */
static csrec_need need_of(const csrec_task *task) {
    static const double per_row = 7e-8, per_sample = 3.5e-7; /* seconds */
    const double tree = 41.0, pursuit = 26.0, atoms = 24.0;  /* bytes per sample */
    double n = (double)task->n, channels = (double)task->channels;
    int64_t shifts = task->options->shifts, kept = batch_of(task->threads, shifts);
    int64_t runs = kept * task->channels;
    double abreast = (double)(task->threads < runs ? task->threads : runs);
    double work = (double)shifts * channels * (per_row * (double)task->entries + per_sample * n);
    return (csrec_need){(double)kept * n * (tree + atoms * channels / 3.0) + abreast * n * pursuit +
                            csrec_signal_bytes(task),
                        csrec_task_share(task, work, shifts * task->channels)};
}

static bool works_with(const char *solver, const char *basis) {
    (void)solver;
    return !basis || strcmp(basis, csrec_operator_haar.name) == 0;
}

/* Options that choose pursuits on plain grids. */
static bool is_chosen(const csrec_recover_options *o) {
    const csrec_stop *stop = &o->solve.stop;
    if (!works_with(NULL, o->basis)) return false;
    return o->shifts != 0 || o->solve.solver || o->solve.reference || o->solve.start ||
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

static bool by_channels(const csrec_recover_options *options) {
    (void)options;
    return true;
}

static bool on_device(const csrec_task *task) {
    const csrec_solve_options *solve = &task->options->solve;
    return strcmp(solve->solver, csrec_solver_mp.name) == 0 && !solve->start &&
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
static bool pays(const csrec_task *task) {
    enum { SAMPLES = 1 << 19 };
    int64_t threads = csrec_threads_wanted(task->options->threads);
    int64_t rounds = (task->options->shifts * task->channels + threads - 1) / threads;
    return !task->options->solve.reference && rounds * task->n >= SAMPLES;
}

const csrec_grids_engine csrec_grids_cpu = {run_here};

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    if (r->atoms && r->options->shifts != 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "coefficients belong to a single grid: give --shifts 1");
    static const csrec_grids_engine *const engines[CSREC_DEVICE_KINDS] =
        CSREC_ENGINES(&csrec_grids_cpu, &csrec_grids_cuda);
    /* The CPU engine runs it on every device: the operator computes its steps on the device. */
    const csrec_grids_engine *engine =
        r->options->solve.reference ? &csrec_grids_cpu : engines[r->context->kind];
    if (!engine) return csrec_device_lacks(r->context, "method grids", NULL, error);
    csrec_status status = engine->run(r, error);
    r->report->backend = csrec_device_name(r->context->kind);
    return status;
}

const csrec_method_type csrec_method_grids = {
    .shown = {.name = "grids",
              .brief = "the mean of pursuits on dyadic Haar grids; a single grid has atoms",
              .source = "Park 2015, method table 1; docs/pursuit.md",
              .takes = CSREC_TAKES(SOLVER) | CSREC_TAKES(BASIS) | CSREC_TAKES(SHIFTS) |
                       CSREC_TAKES(ORDER) | CSREC_TAKES(COLUMNS) | CSREC_TAKES(REFERENCE) |
                       CSREC_TAKES(EPSILON) | CSREC_TAKES(ATOMS) | CSREC_TAKES(MIN_COEFFICIENT) |
                       CSREC_TAKES(SIGMA) | CSREC_TAKES(STAGNATION) | CSREC_TAKES(START) |
                       CSREC_TAKES(COEFFICIENTS),
              .iterates = true,
              .device = "all; not with another solver than mp, nor with a start"},
    .chosen = is_chosen,
    .works_with = works_with,
    .complete = complete,
    .by_channels = by_channels,
    .need = need_of,
    .on_device = on_device,
    .pays = pays,
    .run = run};
