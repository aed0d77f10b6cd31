/* sparse.c - recovery on a basis or frame: each channel on each frame, then the mean of the frames.
 * The result does not depend on the number of threads. */
#include "method/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "operator/mask.h"
#include "method/adaptive/adaptive.h"
#include "method/history.h"
#include "method/model.h"
#include "recover/normal.h"
#include "recover/recover.h"
#include "method/tones.h"
#include "solver/solver.h"
#include "solver/threshold.h"

enum { FRAMES = 3, SETTINGS = 32 };

typedef struct job {
    const csrec_measurement *measurement;
    const csrec_whole *whole;
    const csrec_recover_options *options;
    csrec_solve_options solve;
    csrec_setting settings[SETTINGS]; /* of the solver alone */
    csrec_operator_spec spec[FRAMES];
    double *filters; /* of basis conv, as long as their amplitudes */
    csrec_operator *A[FRAMES];
    int frames;
    int64_t entries, tasks, done;
    double *adaptive; /* [entries * channels], or NULL */
    double *result;   /* [tasks][entries], task = channel * frames + frame */
    csrec_solve_report *reports;
    csrec_team team;
    bool joined;          /* the first frame has the mean of all */
    const char *backend;  /* where it ran */
    const char *products; /* backend of the operators, or NULL */
} job;

bool csrec_basis_wanted(const csrec_recover_options *options) {
    return options->basis && strcmp(options->basis, "haar") != 0;
}

/* Number of the basis in the table; -1: there is none of that name that has parameters. */
static int find_basis(const char *name) {
    const char *each, *brief;
    for (int i = 0; csrec_operator_info(i, &each, &brief); i++)
        if (strcmp(each, name) == 0) return csrec_operator_param(i, 0) ? i : -1;
    return -1;
}

static const csrec_param *basis_param(int basis, const char *name) {
    const csrec_param *param;
    for (int i = 0; (param = csrec_operator_param(basis, i)); i++)
        if (strcmp(param->name, name) == 0) return param;
    return NULL;
}

/* The value that the settings give a parameter of the basis, else its default. */
static double value_of(const job *j, int basis, const char *name) {
    const csrec_param *param = basis_param(basis, name);
    return param ? csrec_setting_value(&j->options->solve, name, param->value) : 0.0;
}

/* Settings of the basis are checked here, those of the solver by the solver. */
static csrec_status sort_settings(job *j, int basis, csrec_error *error) {
    const csrec_solve_options *given = &j->options->solve;
    if (given->n_settings > SETTINGS)
        return csrec_fail(error, CSREC_ARGUMENT, "%d settings; at most %d", given->n_settings,
                          SETTINGS);
    int n = 0;
    for (int i = 0; i < given->n_settings; i++) {
        const csrec_setting *set = &given->settings[i];
        const csrec_param *param = basis_param(basis, set->name);
        if (!param) {
            j->settings[n++] = *set;
        } else if (!(set->value >= param->least && set->value <= param->most) ||
                   set->value != floor(set->value)) {
            return csrec_fail(error, CSREC_ARGUMENT, "%s = %g; must be a whole number, %g to %g",
                              set->name, set->value, param->least, param->most);
        }
    }
    j->solve = *given;
    j->solve.settings = j->settings;
    j->solve.n_settings = n;
    if (!j->solve.solver) j->solve.solver = "threshold";
    bool threshold = strcmp(j->solve.solver, "threshold") == 0;
    /* The default is a pursuit's; thresholding ends with its schedule. */
    if (threshold && given->stop.epsilon == CSREC_EPSILON_DEFAULT) j->solve.stop.epsilon = 0.0;
    if (j->solve.stop.sigma == 0.0) j->solve.stop.sigma = j->measurement->sigma;
    return CSREC_OK;
}

/* Blocks average well: each size fails elsewhere. */
static void set_frames(job *j, int basis) {
    static const char *const kinds[] = {"haar", "cdf53", "cdf97"};
    static const int blocks[FRAMES] = {8, 16, 32};
    const csrec_measurement *m = j->measurement;
    int block = (int)value_of(j, basis, "block"), step = (int)value_of(j, basis, "step");
    bool several = strcmp(j->options->basis, "dct") == 0 && block == 0 &&
                   strcmp(j->solve.solver, "threshold") == 0;
    j->frames = several ? FRAMES : 1;
    for (int f = 0; f < j->frames; f++) {
        int edge = several ? blocks[f] : block ? block : 8;
        j->spec[f] = (csrec_operator_spec){.name = j->options->basis,
                                           .m = m->n,
                                           .shape = &m->shape,
                                           .index = m->index,
                                           .block = edge,
                                           .step = step ? step : (edge + 1) / 2,
                                           .levels = (int)value_of(j, basis, "levels"),
                                           .kind = kinds[(int)value_of(j, basis, "kind")],
                                           .backend = j->products};
    }
}

/* Filters of the model as long as their amplitudes: what is expected to be large is charged less.
 * Their products take the threads that the channels leave. */
static csrec_status set_filters(job *j, csrec_error *error) {
    const csrec_array *filters = csrec_model_array(j->options->model, "filters");
    const csrec_array *amplitudes = csrec_model_array(j->options->model, "amplitudes");
    int threads = csrec_threads(j->options->threads);
    int64_t K = filters->shape.dim[0], size = filters->count / K;
    free(j->filters);
    j->filters = malloc((size_t)filters->count * sizeof *j->filters);
    if (!j->filters) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < filters->count; i++)
        j->filters[i] = csrec_array_value(filters, i) *
                        (amplitudes ? csrec_array_value(amplitudes, i / size) : 1.0);
    j->spec[0].filters = j->filters;
    j->spec[0].n_filters = K;
    j->spec[0].kernel = filters->shape.dim + 1;
    j->spec[0].threads = j->measurement->channels > 1 ? 1 : threads;
    return CSREC_OK;
}

/* The picture from adaptive grids, by their own defaults. */
static csrec_status make_adaptive(job *j, const csrec_backend *backend, csrec_error *error) {
    csrec_recover_options options;
    csrec_recover_report report;
    csrec_recover_defaults(j->measurement, &options);
    options.seed = j->options->seed;
    options.threads = j->options->threads;
    options.solve.progress = j->options->solve.progress;
    options.solve.context = j->options->solve.context;
    j->adaptive = malloc((size_t)(j->entries * j->measurement->channels) * sizeof *j->adaptive);
    if (!j->adaptive) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = csrec_recover_adaptive(j->measurement, j->whole, &options,
                                                 backend->adaptive, j->adaptive, &report, error);
    if (!status && report.outcome == CSREC_INTERRUPTED) csrec_team_stop(&j->team);
    return status;
}

/* Every task reports through here; a request to stop reaches them all. */
static bool pass_progress(const csrec_progress *progress, void *context) {
    job *j = context;
    csrec_progress seen = *progress;
    int64_t done;
#pragma omp atomic read
    done = j->done;
    seen.stage = j->solve.solver;
    /* A schedule is as long for every task; other solvers end when they end. */
    bool planned = strcmp(j->solve.solver, "threshold") == 0;
    int64_t each = j->tasks == 1 || planned ? progress->total : 1;
    seen.total = j->tasks * each;
    seen.done = j->tasks == 1 || planned ? done * each + progress->done : done;
    return csrec_team_report(&j->team, &seen);
}

/* The frames of a size of block, or the basis, are a track. */
static csrec_record *record_of(const job *j, int64_t task) {
    char name[40];
    int frame = (int)(task % j->frames), edge = j->spec[frame].block;
    snprintf(name, sizeof name, "%s", j->options->basis);
    if (strcmp(name, "dct") == 0) snprintf(name, sizeof name, "dct, blocks of %d", edge);
    return csrec_history_record(j->options->history, frame, name, "iteration", task / j->frames);
}

/* Thresholds are shares of the range that the channel has in the whole signal. */
static csrec_solve_options solve_options(const job *j, int64_t channel,
                                         csrec_setting settings[SETTINGS + 1]) {
    csrec_solve_options solve = j->solve;
    double range = j->whole->most[channel] - j->whole->least[channel];
    if (strcmp(solve.solver, "threshold") == 0)
        csrec_setting_prepend(&solve, (csrec_setting){"range", range}, settings);
    return solve;
}

static csrec_status run_task(job *j, int64_t task, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    csrec_setting settings[SETTINGS + 1];
    double *y = malloc((size_t)m->n * sizeof *y);
    if (!y) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t k = 0; k < m->n; k++) y[k] = m->y[k * m->channels + task / j->frames];
    csrec_solve_options solve = solve_options(j, task / j->frames, settings);
    solve.progress = pass_progress;
    solve.context = j;
    const csrec_watch watch = {csrec_follow_signal, record_of(j, task)};
    csrec_status status =
        csrec_solve_watched(j->A[task % j->frames], y, &solve, watch.context ? &watch : NULL,
                            j->result + task * j->entries, NULL, &j->reports[task], error);
    free(y);
#pragma omp atomic
    j->done++;
    return status;
}

static csrec_status run_all(job *j, csrec_error *error) {
    int threads = csrec_threads(j->options->threads);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t task = 0; task < j->tasks; task++) {
            csrec_error text = {{0}};
            csrec_status own = run_task(j, j->tasks - 1 - task, &text); /* large blocks first */
            if (own) csrec_team_fail(&j->team, task, own, text.text);
        }
        csrec_team_gather(&j->team);
    }
    return j->team.status ? csrec_fail(error, j->team.status, "%s", j->team.error.text) : CSREC_OK;
}

/* ---- on a device: all frames of a channel at once, their mean comes back */

static bool for_device(const job *j, const csrec_backend *backend) {
    const csrec_solve_options *solve = &j->solve;
    return backend->threshold && strcmp(j->options->basis, "dct") == 0 &&
           strcmp(solve->solver, "threshold") == 0 && j->measurement->shape.dims == 2 &&
           solve->stop.epsilon == 0.0 && solve->stop.stagnation == 0.0 && !solve->start &&
           !solve->history;
}

static void note_channel(job *j, int64_t channel, const csrec_threshold_job *work,
                         const double *energy) {
    double whole = 0.0;
    for (int64_t k = 0; k < work->m; k++) whole += work->y[k] * work->y[k];
    for (int f = 0; f < j->frames; f++) {
        csrec_solve_report *report = &j->reports[channel * j->frames + f];
        report->iterations = work->rounds;
        report->residual = whole > 0.0 ? sqrt(energy[f] / whole) : 0.0;
        report->outcome = energy[f] > 0.0 ? CSREC_ATOM_LIMIT : CSREC_CONVERGED;
        if (work->rounds == 0) { /* stopped: nothing is thresholded */
            report->residual = whole > 0.0 ? 1.0 : 0.0;
            report->outcome = CSREC_INTERRUPTED;
        }
    }
    j->done += j->frames;
}

/* The mean of the frames becomes the result of the first; stopped, the guess does. */
static csrec_status run_on(const csrec_backend *backend, job *j, int64_t channel, const double *y,
                           csrec_shrink_step **rounds, csrec_error *error) {
    const csrec_operator *A = j->A[0];
    csrec_setting settings[SETTINGS + 1];
    csrec_solve_options solve = solve_options(j, channel, settings);
    csrec_run run = {.type = &csrec_solver_threshold, .A = A, .y = y, .options = &solve};
    csrec_status status = csrec_solve_check(run.type, A, y, &solve, error);
    if (status) return status;
    csrec_threshold_schedule schedule;
    csrec_threshold_plan(&run, &schedule);
    csrec_threshold_job work = {.shape = &A->mask->shape,
                                .frames = j->frames,
                                .m = A->m,
                                .index = A->mask->index,
                                .y = y,
                                .rounds = schedule.steps};
    if (j->solve.stop.atoms && j->solve.stop.atoms < work.rounds) work.rounds = j->solve.stop.atoms;
    *rounds = malloc((size_t)work.rounds * sizeof **rounds);
    double *mean = j->result + channel * j->frames * j->entries, energy[FRAMES] = {0};
    status = *rounds ? csrec_threshold_start(A->mask, y, mean) : CSREC_MEMORY;
    if (status) return csrec_fail(error, status, "out of memory");
    for (int64_t k = 0; k < work.rounds; k++) (*rounds)[k] = csrec_threshold_step(&schedule, k);
    for (int f = 0; f < j->frames; f++) {
        work.block[f] = j->spec[f].block;
        work.step[f] = j->spec[f].step;
    }
    work.round = *rounds;
    if (csrec_team_stopped(&j->team))
        work.rounds = 0;
    else
        status = backend->threshold(&work, mean, energy, error);
    if (!status) note_channel(j, channel, &work, energy);
    return status;
}

static csrec_status run_device(const csrec_backend *backend, job *j, csrec_error *error) {
    const csrec_measurement *m = j->measurement;
    double *y = malloc((size_t)m->n * sizeof *y);
    csrec_status status = y ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_progress progress = {.total = j->tasks, .residual = -1.0};
    for (int64_t c = 0; c < m->channels && !status; c++) {
        pass_progress(&progress, j);
        csrec_shrink_step *rounds = NULL;
        for (int64_t k = 0; k < m->n; k++) y[k] = m->y[k * m->channels + c];
        status = run_on(backend, j, c, y, &rounds, error);
        free(rounds);
    }
    free(y);
    j->joined = true;
    j->backend = backend->name;
    return status;
}

/* Where a device has no way of its own for the whole iteration, the operators compute their
 * products there. */
static csrec_status run_somewhere(const csrec_backend *backend, job *j, csrec_error *error) {
    if (backend != &csrec_backend_cpu && !j->products && for_device(j, backend))
        return run_device(backend, j, error);
    j->backend = j->products ? j->products : csrec_backend_cpu.name;
    return run_all(j, error);
}

static csrec_status make_operators(job *j, int basis, csrec_error *error) {
    csrec_status status = CSREC_OK;
    set_frames(j, basis);
    if (j->options->model) status = set_filters(j, error);
    for (int f = 0; f < j->frames && !status; f++)
        status = csrec_operator_create(&j->spec[f], &j->A[f], error);
    return status;
}

static csrec_status set_up(job *j, const csrec_backend *backend, csrec_error *error) {
    int basis = find_basis(j->options->basis);
    if (basis < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "basis '%s' is unknown; use haar, dct or wavelet",
                          j->options->basis);
    if (strcmp(j->options->basis, "conv") == 0 && !j->options->model)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "basis conv needs a model of filters; learn one with cslearn conv");
    csrec_status status = sort_settings(j, basis, error);
    if (status) return status;
    /* Thresholding by products alone pays nowhere. */
    bool products =
        !csrec_device_automatic(j->options->backend) || strcmp(j->solve.solver, "threshold") != 0;
    if (backend != &csrec_backend_cpu && !for_device(j, backend) && products)
        j->products = backend->name;
    status = make_operators(j, basis, error);
    if (status) return status;
    csrec_shape_count(&j->measurement->shape, &j->entries);
    j->tasks = j->measurement->channels * j->frames;
    j->result = malloc((size_t)(j->tasks * j->entries) * sizeof *j->result);
    j->reports = calloc((size_t)j->tasks, sizeof *j->reports);
    if (j->options->mean && csrec_adaptive_suits(j->measurement)) {
        status = make_adaptive(j, backend, error);
        if (status) return status;
    }
    return j->result && j->reports ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
}

static void deliver(const job *j, double *signal, csrec_recover_report *report) {
    int64_t channels = j->measurement->channels;
    int frames = j->joined ? 1 : j->frames;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < j->entries; i++) {
            double sum = 0.0;
            for (int f = 0; f < frames; f++) sum += j->result[(c * j->frames + f) * j->entries + i];
            sum /= frames;
            if (j->adaptive) sum = 0.5 * (sum + j->adaptive[i * channels + c]);
            signal[i * channels + c] = sum;
        }
    for (int64_t t = 0; t < j->tasks; t++) {
        report->pursuits++;
        report->iterations += j->reports[t].iterations;
        if (j->reports[t].outcome > report->outcome) report->outcome = j->reports[t].outcome;
        report->residual = fmax(report->residual, j->reports[t].residual);
    }
}

static csrec_status recover(const csrec_measurement *measurement, const csrec_whole *whole,
                            const csrec_recover_options *options, const csrec_backend *backend,
                            double *signal, csrec_recover_report *report, csrec_error *error) {
    job j = {.measurement = measurement, .whole = whole, .options = options};
    double start = csrec_seconds();
    csrec_team_begin(&j.team, options->solve.progress, options->solve.context,
                     (csrec_progress){"basis", 0, 0, -1.0});
    csrec_status status = set_up(&j, backend, error);
    double ready = csrec_seconds();
    if (!status) status = run_somewhere(backend, &j, error);
    if (!status) deliver(&j, signal, report);
    report->backend = j.backend;
    report->seconds_tree = ready - start;
    report->seconds_pursuit = csrec_seconds() - ready;
    csrec_team_end(&j.team);
    for (int f = 0; f < FRAMES; f++) csrec_operator_destroy(j.A[f]);
    free(j.adaptive);
    free(j.filters);
    free(j.result);
    free(j.reports);
    return status;
}

/* Thresholds cut at a value, in float: what rounding does to a value decides whether it stays. In
 * tones the values are the same whatever units they come in, and so is what stays. */
static csrec_status recover_in_tones(const csrec_measurement *measurement, const csrec_whole *whole,
                                     const csrec_recover_options *options, double unit,
                                     const csrec_backend *backend, double *signal,
                                     csrec_recover_report *report, csrec_error *error) {
    csrec_normal normal;
    csrec_whole own = {0};
    csrec_status status = csrec_normal_create(measurement, options, unit, &normal, error);
    if (!status) status = csrec_whole_copy(whole, measurement->channels, &own, error);
    for (int64_t c = 0; c < measurement->channels && !status; c++) {
        own.least[c] /= unit;
        own.most[c] /= unit;
    }
    csrec_history_unit(options->history, unit);
    if (!status) status = recover(&normal.m, &own, &normal.options, backend, signal, report, error);
    if (!status) status = csrec_normal_deliver(&normal, signal, NULL, error);
    if (!status && options->solve.stop.sigma == 0.0) csrec_samples_restore(measurement, signal);
    csrec_history_unit(options->history, 1.0);
    csrec_whole_clear(&own);
    csrec_normal_clear(&normal);
    return status;
}

csrec_status csrec_recover_basis(const csrec_measurement *measurement, const csrec_whole *whole,
                                 const csrec_recover_options *options, const csrec_backend *backend,
                                 double *signal, csrec_recover_report *report, csrec_error *error) {
    const char *solver = options->solve.solver;
    bool threshold = !solver || strcmp(solver, "threshold") == 0;
    double unit = threshold ? csrec_tones_unit(measurement, whole, NULL) : 1.0;
    return unit == 1.0 ? recover(measurement, whole, options, backend, signal, report, error)
                       : recover_in_tones(measurement, whole, options, unit, backend, signal,
                                          report, error);
}
