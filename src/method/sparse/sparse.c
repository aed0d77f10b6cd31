/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.c - recovery in a basis or frame: each channel on each frame, then the mean of the frames.
 * Of what is measured through an operator, A is its product with the basis. The result does not
 * depend on the number of threads. */
#include "method/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "method/history.h"
#include "method/products.h"

typedef csrec_sparse_job job;

static double param_of(const csrec_recover_options *options, const char *name) {
    const csrec_operator_type *basis = csrec_operator_find(options->basis);
    const csrec_param *param = csrec_param_find(basis->params, name);
    if (!param) return 0.0;
    double value = csrec_setting_value(&options->solve, CSREC_OF_BASIS, name, param->value);
    return value >= param->least && value <= param->most ? value : param->value;
}

csrec_operator_spec csrec_sparse_spec(const csrec_recover_options *options,
                                      const csrec_shape *shape, int64_t n, const int64_t *index) {
    static const char *const kinds[] = {"haar", "cdf53", "cdf97"};
    int block = (int)param_of(options, "block"), step = (int)param_of(options, "step");
    if (block == 0) block = 8;
    return (csrec_operator_spec){.name = options->basis,
                                 .m = n,
                                 .shape = shape,
                                 .index = index,
                                 .block = block,
                                 .step = step ? step : (block + 1) / 2,
                                 .levels = (int)param_of(options, "levels"),
                                 .kind = kinds[(int)param_of(options, "kind")]};
}

/* The solver gets the settings that are not the basis's. */
static csrec_status sort_settings(job *j, csrec_error *error) {
    const csrec_solve_options *given = &j->options->solve;
    const csrec_owner basis = {CSREC_OF_BASIS, j->options->basis,
                               csrec_operator_find(j->options->basis)->params, NULL};
    if (given->n_settings > CSREC_SPARSE_SETTINGS)
        return csrec_fail(error, CSREC_ARGUMENT, "%d settings; at most %d", given->n_settings,
                          CSREC_SPARSE_SETTINGS);
    int n = 0;
    for (int i = 0; i < given->n_settings; i++)
        if (!csrec_setting_param(&basis, &given->settings[i]))
            j->settings[n++] = given->settings[i];
    j->solve = *given;
    j->solve.settings = j->settings;
    j->solve.n_settings = n;
    if (j->solve.stop.sigma == 0.0) j->solve.stop.sigma = j->measurement->sigma;
    return CSREC_OK;
}

/* A schedule has the same length for every task; other solvers decide when to stop. */
bool csrec_sparse_progress(const csrec_progress *progress, void *context) {
    job *j = context;
    csrec_progress seen = *progress;
    int64_t done;
#pragma omp atomic read
    done = j->done;
    seen.stage = csrec_sparse_stage(j->solver);
    bool planned = j->solver->planned != NULL;
    int64_t each = j->tasks == 1 || planned ? progress->total : 1;
    seen.total = j->tasks * each;
    seen.done = j->tasks == 1 || planned ? done * each + progress->done : done;
    return csrec_call_report(&j->call, &seen);
}

/* One history track for each block size, or for the basis. */
static csrec_record *record_of(const job *j, int64_t task) {
    char name[40];
    int frame = (int)(task % j->frames);
    bool blocks = csrec_param_find(csrec_operator_find(j->options->basis)->params, "block");
    if (blocks)
        snprintf(name, sizeof name, "%.10s, blocks of %d", j->options->basis, j->spec[frame].block);
    else
        snprintf(name, sizeof name, "%.30s", j->options->basis);
    return csrec_history_record(j->options->history, frame, name, "iteration", task / j->frames);
}

csrec_solve_options csrec_sparse_options(const job *j, int64_t channel,
                                         csrec_setting settings[CSREC_SPARSE_SETTINGS + 1]) {
    csrec_solve_options solve = j->solve;
    double range = j->whole->most[channel] - j->whole->least[channel];
    if (j->solver->tones) csrec_setting_prepend(&solve, (csrec_setting){"range", range}, settings);
    return solve;
}

/* A chain's x, and with it the signal; a history has the result alone. */
static csrec_status solve_through(job *j, int64_t task, const csrec_solve_options *solve,
                                  const double *y, csrec_error *error) {
    const int f = (int)(task % j->frames);
    const csrec_operator *first = j->pairs[f] ? j->pairs[f] : j->basis[f];
    csrec_atoms atoms = {0};
    csrec_status status =
        csrec_solve_watched(j->A[f], y, solve, NULL, NULL, &atoms, &j->reports[task], error);
    double *signal = j->result + task * j->entries * j->wide;
    double *x = status ? NULL : calloc((size_t)j->A[f]->n, sizeof *x);
    if (!status && !x) status = csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < atoms.n && !status; i++) x[atoms.column[i]] = atoms.coefficient[i];
    if (!status && !first) memcpy(signal, x, (size_t)j->A[f]->n * sizeof *x);
    if (!status && first && first->type->forward(first, x, signal))
        status = csrec_memory_fail(error, NULL);
    csrec_atoms_clear(&atoms);
    free(x);
    return status;
}

static csrec_status run_task(job *j, int64_t task, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    csrec_setting settings[CSREC_SPARSE_SETTINGS + 1];
    const size_t bytes = (size_t)(m->n * j->each) * sizeof(double);
    double *own = m->channels > 1 ? malloc(bytes) : NULL, *y = m->channels > 1 ? own : m->y;
    if (!y) return csrec_memory_fail(error, NULL);
    if (own) csrec_channel_take(m->n, m->channels, task / j->frames, j->each, m->y, own);
    csrec_solve_options solve = csrec_sparse_options(j, task / j->frames, settings);
    solve.progress = csrec_sparse_progress;
    solve.context = j;
    const csrec_watch watch = {csrec_follow_signal, m->through ? NULL : record_of(j, task)};
    csrec_status status =
        m->through
            ? solve_through(j, task, &solve, y, error)
            : csrec_solve_watched(j->A[task % j->frames], y, &solve, watch.context ? &watch : NULL,
                                  j->result + task * j->entries, NULL, &j->reports[task], error);
    free(own);
#pragma omp atomic
    j->done++;
    return status;
}

/* A single task has all threads. */
static csrec_status run_tasks(job *j, csrec_error *error) {
    const int threads = csrec_threads(j->options->threads);
    for (int f = 0; f < j->frames; f++) j->A[f]->threads = j->tasks == 1 ? threads : 1;
#pragma omp parallel num_threads(threads) if (j->tasks > 1)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t task = 0; task < j->tasks; task++) {
            csrec_error text = {{0}};
            csrec_status own = run_task(j, j->tasks - 1 - task, &text); /* large blocks first */
            if (own) csrec_call_fail(&j->call, task, own, text.text);
        }
        csrec_call_gather(&j->call);
    }
    return j->call.status ? csrec_fail(error, j->call.status, "%s", j->call.error.text) : CSREC_OK;
}

static csrec_status create_chain(job *j, int f, const csrec_context *products, csrec_error *error) {
    csrec_operator_spec pairs = {.name = csrec_operator_pairs.name};
    csrec_operator_spec chain = {.name = csrec_operator_chain.name, .second = j->measured.A};
    if (strcmp(j->spec[f].name, csrec_operator_identity.name) == 0) {
        j->A[f] = j->measured.A;
        return CSREC_OK;
    }
    csrec_status status = csrec_operator_create_on(products, &j->spec[f], &j->basis[f], error);
    chain.first = pairs.first = j->basis[f];
    if (!status && j->measured.A->complex_x) {
        status = csrec_operator_create_on(products, &pairs, &j->pairs[f], error);
        chain.first = j->pairs[f];
    }
    return status ? status : csrec_operator_create_on(products, &chain, &j->A[f], error);
}

static csrec_status create_operators(job *j, const csrec_context *products, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    j->wide = j->each = 1;
    if (m->through) {
        CSREC_TRY(csrec_measured_create(products, m, &j->measured, error));
        j->wide = j->measured.wide;
        j->each = j->measured.each;
    }
    for (int f = 0; f < j->frames; f++)
        CSREC_TRY(m->through ? create_chain(j, f, products, error)
                             : csrec_operator_create_on(products, &j->spec[f], &j->A[f], error));
    return CSREC_OK;
}

/* products: the device that computes the operators' products. */
static csrec_status set_up(job *j, const csrec_context *products, csrec_error *error) {
    csrec_status status = sort_settings(j, error);
    csrec_shape_count(&j->measurement->shape, &j->entries);
    if (!status) status = create_operators(j, products, error);
    if (status) return status;
    j->tasks = j->measurement->channels * j->frames;
    const size_t bytes = (size_t)(j->tasks * j->entries * j->wide) * sizeof *j->own;
    if (j->tasks > 1) j->result = j->own = malloc(bytes);
    j->reports = calloc((size_t)j->tasks, sizeof *j->reports);
    return j->result && j->reports ? CSREC_OK : csrec_memory_fail(error, NULL);
}

static void deliver(const job *j, double *signal, csrec_recover_report *report) {
    int64_t channels = j->measurement->channels, values = j->entries * j->wide;
    int frames = j->joined ? 1 : j->frames;
    for (int64_t c = 0; c < channels && j->own; c++)
        for (int64_t i = 0; i < values; i++) {
            int64_t at = (i / j->wide * channels + c) * j->wide + i % j->wide;
            double sum = 0.0;
            for (int f = 0; f < frames; f++) sum += j->result[(c * j->frames + f) * values + i];
            signal[at] = sum / frames;
        }
    for (int64_t t = 0; t < j->tasks; t++) {
        report->pursuits++;
        report->iterations += j->reports[t].iterations;
        if (j->reports[t].outcome > report->outcome) report->outcome = j->reports[t].outcome;
        report->unexplained = fmax(report->unexplained, j->reports[t].residual);
    }
}

static void clear(job *j) {
    for (int f = 0; f < j->frames; f++) {
        if (j->A[f] != j->measured.A) csrec_operator_destroy(j->A[f]);
        csrec_operator_destroy(j->pairs[f]);
        csrec_operator_destroy(j->basis[f]);
    }
    csrec_measured_clear(&j->measured);
    free(j->own);
    free(j->reports);
}

static csrec_status recover(const csrec_recovery *r, int frames, const csrec_operator_spec *specs,
                            csrec_sparse_engine engine, csrec_error *error) {
    const csrec_recover_options *options = r->options;
    job j = {.measurement = r->measurement,
             .whole = r->whole,
             .options = options,
             .solver = csrec_solver_find(options->solve.solver),
             .spec = specs,
             .frames = frames,
             .result = r->signal};
    double start = csrec_seconds();
    csrec_call_begin(&j.call, options->solve.progress, options->solve.context,
                     (csrec_progress){csrec_sparse_stage(j.solver), 0, 0, -1.0});
    csrec_status status = set_up(&j, engine ? &csrec_context_cpu : r->context, error);
    double ready = csrec_seconds();
    if (!status) status = engine ? engine(&j, r->context, error) : run_tasks(&j, error);
    if (!status) deliver(&j, r->signal, r->report);
    if (!status && j.measured.A) /* of the signal, which may be a mean over frames */
        status =
            csrec_products_residual(&j.measured, r->signal, (double[2]){0}, &r->report->residual);
    r->report->seconds_tree = ready - start;
    r->report->seconds_pursuit = csrec_seconds() - ready;
    csrec_call_end(&j.call);
    clear(&j);
    return status;
}

/* A threshold in float depends on the rounding of values. Values in tones do not depend on the
 * units of y, so the kept coefficients do not either. */
static csrec_status recover_in_tones(const csrec_recovery *r, double unit, int frames,
                                     const csrec_operator_spec *specs, csrec_sparse_engine engine,
                                     csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    csrec_recovery scaled = *r;
    csrec_normal normal;
    csrec_whole own = {0};
    csrec_status status = csrec_normal_create(m, r->options, unit, &normal, error);
    if (!status) status = csrec_whole_copy(r->whole, m->channels, &own, error);
    for (int64_t c = 0; c < m->channels && !status; c++) {
        own.least[c] /= unit;
        own.most[c] /= unit;
    }
    scaled.measurement = &normal.m;
    scaled.whole = &own;
    scaled.options = &normal.options;
    csrec_history_unit(r->options->history, unit);
    if (!status) status = recover(&scaled, frames, specs, engine, error);
    if (!status) status = csrec_normal_deliver(&normal, r->signal, NULL, error);
    if (!status && r->options->solve.stop.sigma == 0.0) csrec_samples_restore(m, r->signal);
    csrec_history_unit(r->options->history, 1.0);
    csrec_whole_clear(&own);
    csrec_normal_clear(&normal);
    return status;
}

csrec_status csrec_sparse_run(const csrec_recovery *r, int frames, csrec_operator_spec *specs,
                              csrec_sparse_engine engine, csrec_error *error) {
    const bool tones = csrec_solver_find(r->options->solve.solver)->tones;
    const double unit = tones ? csrec_tones_unit(r->measurement, r->whole, NULL) : 1.0;
    return unit == 1.0 ? recover(r, frames, specs, engine, error)
                       : recover_in_tones(r, unit, frames, specs, engine, error);
}

static bool works_with(const char *solver, const char *basis) {
    (void)solver;
    return !basis || strcmp(basis, csrec_operator_haar.name) != 0;
}

static bool is_chosen(const csrec_recover_options *options) {
    return options->basis && works_with(NULL, options->basis);
}

/* Thresholding puts samples of entries back. */
static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    const bool through = measurement && measurement->through;
    (void)atoms;
    if (!options->basis) options->basis = csrec_operator_wavelet.name;
    if (!options->solve.solver)
        options->solve.solver = through ? csrec_solver_bpdn.name : csrec_solver_threshold.name;
    const csrec_solver_type *solver = csrec_solver_find(options->solve.solver);
    /* A schedule determines when to stop. */
    if (options->solve.stop.epsilon == CSREC_EPSILON_UNSET)
        options->solve.stop.epsilon = solver && solver->planned ? 0.0 : CSREC_EPSILON_DEFAULT;
}

static csrec_need need_of(const csrec_task *task) {
    csrec_operator_spec spec = csrec_sparse_spec(task->options, &task->shape, task->n, NULL);
    return csrec_sparse_need(task, 1, &spec);
}

static csrec_status check_through(const csrec_recover_options *options, csrec_error *error) {
    if (csrec_solver_find(options->solve.solver)->planned)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "solver %s needs samples of entries, but this is measured through an "
                          "operator; use bpdn or fista",
                          options->solve.solver);
    return CSREC_OK;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    csrec_operator_spec spec = csrec_sparse_spec(r->options, &m->shape, m->n, m->index);
    CSREC_TRY(m->through ? check_through(r->options, error) : CSREC_OK);
    if (m->through) {
        spec.index = NULL;
        csrec_shape_count(&m->shape, &spec.m);
    }
    return csrec_sparse_run(r, 1, &spec, NULL, error);
}

static bool on_device(const csrec_task *task) {
    const csrec_operator_type *basis = csrec_operator_find(task->options->basis);
    return basis && basis->need; /* every basis has products on a device */
}

/* For solvers that do little between products. Milliseconds of 40 iterations, products on 16
 * threads of the CPU and on the device (bench/cuda.py), whose first use takes 200:
 *
 *                     dct, fista   dct, iht   wavelet, fista   wavelet, iht
 *     128 x 128          112, 42    157, 53           29, 20         76, 64
 *     512 x 512        1909, 667  4395, 1959        835, 131      1570, 563 */
static bool device_faster(const csrec_task *task) {
    enum { ENTRIES = 1 << 16 };
    const csrec_solver_type *solver = csrec_solver_find(task->options->solve.solver);
    return solver && solver->products_alone && task->entries >= ENTRIES;
}

const csrec_method_type csrec_method_sparse = {
    .info = {.name = "sparse",
             .topic = "pictures",
             .brief = "any solver on the coefficients of a basis or frame",
             .source = "docs/bases.md, docs/solvers.md",
             .accepts = CSREC_ACCEPTS(SOLVER) | CSREC_ACCEPTS(BASIS) | CSREC_ACCEPTS(EPSILON) |
                        CSREC_ACCEPTS(ATOMS) | CSREC_ACCEPTS(MIN_COEFFICIENT) |
                        CSREC_ACCEPTS(SIGMA) | CSREC_ACCEPTS(STAGNATION) | CSREC_ACCEPTS(START),
             .iterates = true,
             .device = "products of the basis"},
    .chosen = is_chosen,
    .works_with = works_with,
    .through = true,
    .complete = complete,
    .by_channels = true,
    .need = need_of,
    .on_device = on_device,
    .device_faster = device_faster,
    .run = run};
