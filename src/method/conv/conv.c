/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.c - recovery of a picture with learned filters: a smooth layer plus a sparse sum of filters
 * (docs/conv.md). */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "learn/conv.h"
#include "method/history.h"
#include "method/sparse/sparse.h"

enum { ITERATIONS = 100 };

/* Computes base [entries * channels]; y [n * channels] becomes the samples minus the base. */
static csrec_status take_base(const csrec_measurement *m, double sigma, csrec_call *call, double *y,
                              double *base) {
    int64_t entries = m->shape.dim[0] * m->shape.dim[1];
    double *layer = malloc((size_t)(entries + m->n) * sizeof *layer);
    csrec_status status = layer ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < m->channels && !status; c++) {
        double *own = layer + entries;
        for (int64_t k = 0; k < m->n; k++) own[k] = m->y[k * m->channels + c];
        status = csrec_conv_base(m->shape.dim[0], m->shape.dim[1], m->n, m->index, own, sigma, call,
                                 layer);
        for (int64_t i = 0; i < entries && !status; i++) base[i * m->channels + c] = layer[i];
        for (int64_t k = 0; k < m->n && !status; k++)
            y[k * m->channels + c] = own[k] - layer[m->index[k]];
    }
    free(layer);
    return status;
}

/* Filters of the model, scaled by their amplitudes, so that coefficients that are expected to be
 * large have a smaller penalty; the caller frees them. Their products use the threads left
 * by the channels. */
static csrec_status make_spec(const csrec_recovery *r, csrec_operator_spec *spec, double **filters,
                              csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_array *d = csrec_model_array(r->options->model, "filters");
    const csrec_array *amplitudes = csrec_model_array(r->options->model, "amplitudes");
    int64_t size = d->count / d->shape.dim[0];
    *filters = malloc((size_t)d->count * sizeof **filters);
    if (!*filters) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < d->count; i++)
        (*filters)[i] =
            csrec_array_value(d, i) * (amplitudes ? csrec_array_value(amplitudes, i / size) : 1.0);
    *spec = csrec_sparse_spec(r->options, &m->shape, m->n, m->index);
    spec->filters = *filters;
    spec->n_filters = d->shape.dim[0];
    spec->kernel = d->shape.dim + 1;
    spec->threads = m->channels > 1 ? 1 : csrec_threads(r->options->threads);
    return CSREC_OK;
}

/* The solver gets the samples minus the base. */
static csrec_status solve(const csrec_recovery *r, csrec_call *call, double *y,
                          csrec_error *error) {
    csrec_measurement rest = *r->measurement;
    csrec_recover_options options = *r->options;
    csrec_recovery own = *r;
    csrec_setting settings[CSREC_SPARSE_SETTINGS + 1];
    csrec_operator_spec spec;
    csrec_whole whole;
    double *filters = NULL;
    rest.y = y;
    options.solve.progress = csrec_call_hear;
    options.solve.context = call;
    bool fista = strcmp(options.solve.solver, csrec_solver_fista.name) == 0;
    if (fista && options.solve.n_settings < CSREC_SPARSE_SETTINGS)
        csrec_setting_prepend(&options.solve, (csrec_setting){"lambda", 0.001}, settings);
    own.measurement = &rest;
    own.options = &options;
    own.whole = &whole;
    csrec_status status = csrec_whole_of(&rest, &whole, error);
    if (!status) status = make_spec(&own, &spec, &filters, error);
    if (!status) status = csrec_sparse_run(&own, 1, &spec, NULL, error);
    csrec_whole_clear(&whole);
    free(filters);
    return status;
}

static double base_width(const csrec_recover_options *options) {
    const csrec_param *param = csrec_operator_conv.params;
    return csrec_setting_value(&options->solve, CSREC_OF_BASIS, param->name, param->value);
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_recover_options *options = r->options;
    int64_t values = m->shape.dim[0] * m->shape.dim[1] * m->channels;
    double *base = malloc((size_t)(values + m->n * m->channels) * sizeof *base);
    csrec_call call;
    csrec_call_begin(&call, options->solve.progress, options->solve.context,
                     (csrec_progress){"base layer", 0, 0, -1.0});
    csrec_status status =
        base ? take_base(m, base_width(options), &call, base + values, base) : CSREC_MEMORY;
    if (status)
        csrec_fail(error, status, "out of memory for the base layer");
    else {
        csrec_history_layer(options->history, base);
        status = solve(r, &call, base + values, error);
        csrec_history_layer(options->history, NULL);
    }
    for (int64_t i = 0; i < values && !status; i++) r->signal[i] += base[i];
    if (!status) csrec_samples_restore(m, r->signal);
    if (r->report->outcome == CSREC_STEP_LIMIT && options->solve.stop.atoms == ITERATIONS)
        r->report->outcome = CSREC_DONE;
    csrec_call_end(&call);
    free(base);
    return status;
}

/* ------------------------------------------------------------------ the table row */

static bool suits(const csrec_measurement *measurement) {
    return measurement->shape.dims == 2;
}

static bool works_with(const char *solver, const char *basis) {
    (void)solver;
    return !basis || strcmp(basis, csrec_operator_conv.name) == 0;
}

static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    (void)measurement;
    (void)atoms;
    csrec_solve_options *solve = &options->solve;
    options->basis = csrec_operator_conv.name;
    if (!solve->solver) solve->solver = csrec_solver_fista.name;
    bool fista = strcmp(solve->solver, csrec_solver_fista.name) == 0;
    if (fista && solve->stop.atoms == 0) solve->stop.atoms = ITERATIONS;
    const csrec_solver_type *solver = csrec_solver_find(solve->solver);
    bool ends = fista || (solver && solver->planned);
    if (solve->stop.epsilon == CSREC_EPSILON_UNSET)
        solve->stop.epsilon = ends ? 0.0 : CSREC_EPSILON_DEFAULT;
}

/* The smooth layer and the sparse part. */
static csrec_need need_of(const csrec_task *task) {
    const csrec_array *filters = csrec_model_array(task->options->model, "filters");
    csrec_operator_spec spec = csrec_sparse_spec(task->options, &task->shape, task->n, NULL);
    spec.n_filters = filters->shape.dim[0];
    spec.kernel = filters->shape.dim + 1;
    spec.threads = task->channels > 1 ? 1 : task->threads;
    csrec_need need = csrec_sparse_need(task, 1, &spec);
    need.bytes += csrec_signal_bytes(task) + 8.0 * (double)(task->n * task->channels);
    need.n_stages = 0; /* the smooth layer is not counted apart */
    return need;
}

const csrec_method_type csrec_method_conv = {
    .info = {.name = "conv",
             .topic = "learned models",
             .brief = "learned filters: a smooth layer plus a sparse sum of a model's filters",
             .source = "docs/conv.md",
             .model = "conv",
             .accepts = CSREC_ACCEPTS(MODEL) | CSREC_ACCEPTS(SOLVER) | CSREC_ACCEPTS(BASIS) |
                        CSREC_ACCEPTS(EPSILON) | CSREC_ACCEPTS(ATOMS) |
                        CSREC_ACCEPTS(MIN_COEFFICIENT) | CSREC_ACCEPTS(SIGMA) |
                        CSREC_ACCEPTS(STAGNATION) | CSREC_ACCEPTS(START),
             .iterates = true},
    .works_with = works_with,
    .suits = suits,
    .wants = "a picture",
    .needs_model = true,
    .complete = complete,
    .need = need_of,
    .run = recover};
