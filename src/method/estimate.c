/* estimate.c - which method options want, and what it needs. */
#include "method/estimate.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "method/adaptive/adaptive.h"
#include "method/sparse/sparse.h"
#include "method/gaussian/gaussian.h"
#include "method/mixture/mixture.h"
#include "solver/solver.h"

double csrec_task_share(const csrec_task *task, double seconds, int64_t lanes) {
    int64_t threads = task->threads < lanes ? task->threads : lanes;
    int64_t turns = (lanes + threads - 1) / threads;
    return seconds * (double)turns / (double)lanes;
}

double csrec_task_setting(const csrec_task *task, const char *name, double otherwise) {
    return csrec_setting_value(&task->options->solve, name, otherwise);
}

double csrec_task_param(const csrec_task *task, const csrec_param *param) {
    double value = csrec_task_setting(task, param->name, param->value);
    return value >= param->least && value <= param->most ? value : param->value;
}

/* ------------------------------------------------------------------ methods */

static bool has_model(const csrec_recover_options *options, const char *kind) {
    return options->model && strcmp(csrec_model_kind(options->model), kind) == 0;
}
static bool wants_pca(const csrec_recover_options *options) {
    return has_model(options, "pca");
}
static bool wants_conv(const csrec_recover_options *options) {
    return has_model(options, "conv");
}
static bool wants_gmm(const csrec_recover_options *options) {
    return has_model(options, "gmm") || csrec_gmm_wanted(options);
}
static bool wants_adaptive(const csrec_recover_options *options) {
    return options->shifts == 0;
}
static bool wants_any(const csrec_recover_options *options) {
    (void)options;
    return true;
}

static bool always(const csrec_task *task) {
    (void)task;
    return true;
}

/* Blocks are local; a sparse solver's columns compete with those of the whole signal. */
static bool is_local(const csrec_task *task) {
    const char *solver = task->options->solve.solver;
    return strcmp(task->options->basis, "dct") == 0 &&
           (!solver || strcmp(solver, "threshold") == 0) && !task->options->solve.start;
}

/* In the order in which csrec_recover looks at the options. */
static const csrec_method methods[] = {
    {"pca", wants_pca, csrec_need_of_pca, NULL},
    {"conv", wants_conv, csrec_need_of_conv, NULL},
    {"gmm", wants_gmm, csrec_need_of_gmm, always},
    {"gaussian", csrec_gaussian_wanted, csrec_need_of_gaussian, always},
    {"basis", csrec_basis_wanted, csrec_need_of_basis, is_local},
    {"adaptive", wants_adaptive, csrec_need_of_adaptive, always},
    {"grids", wants_any, csrec_need_of_grids, NULL},
};

const csrec_method *csrec_method_of(const csrec_recover_options *options) {
    const csrec_method *method = methods;
    while (!method->wanted(options)) method++;
    return method;
}

csrec_task csrec_task_of(const csrec_measurement *measurement,
                         const csrec_recover_options *options) {
    csrec_task task = {.shape = measurement->shape,
                       .entries = 0,
                       .n = measurement->n,
                       .channels = measurement->channels,
                       .threads = csrec_threads(options->threads),
                       .noisy = measurement->sigma > 0.0,
                       .options = options};
    csrec_shape_count(&measurement->shape, &task.entries);
    task.rate = (double)task.n / (double)task.entries;
    return task;
}
