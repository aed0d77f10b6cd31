/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.c - recovery of pictures by a mixture of Gaussians: start, mixture, result. */
#include <math.h>

#include "base/clock.h"
#include "base/threads.h"
#include "learn/model.h"
#include "method/history.h"
#include "method/method.h"
#include "method/mixture/engine.h"

enum { THREADS_MOST = 256, LEARNING = 8 };

/* Least variance of a learned patch in any direction, of values up to 255. */
static const double LEAST = 1.0;

static const csrec_setting quick_groups[] = {{"effort", 0}}; /* of the start */

typedef struct settings {
    int components, rounds, patch, step;
    bool adapt;
} settings;

/* Values of patches = gain * values of the measurement + offset. */
typedef struct job {
    const csrec_recovery *r;
    const csrec_measurement *m;
    double span; /* one of 255 tones, in the model's units */
    settings set;
    csrec_model_units units;
    csrec_fit_picture picture;
    csrec_mixture mixture;
    int64_t entries;
    float *values; /* [entries * channels] samples, estimate and, if asked for, its variance */
    unsigned char *mask;
    bool stopped;
    csrec_pool pool; /* of values and mask */
    csrec_call call;
    csrec_record *record;
} job;

enum { COMPONENTS, ROUNDS, PATCH, STEP, ADAPT };

static const csrec_param params[] = {
    [COMPONENTS] = {"components", 40, 2, 400, "number of Gaussians; not with a model"},
    [ROUNDS] = {"rounds", 4, 1, 100, "rounds of assigning, conditioning and fitting patches"},
    [PATCH] = {"patch", 8, 2, 24, "edge of a patch; not with a model"},
    [STEP] = {"step", 2, 1, 24, "pixels between patches"},
    [ADAPT] = {"adapt", 1, 0, 1,
               "1: fit the mixture to the samples; 0: keep it (default with a model)"},
    {0}};

static csrec_status check_settings(const csrec_recover_options *options, csrec_error *error) {
    const int of_model[] = {COMPONENTS, PATCH};
    for (int i = 0; i < 2 && options->model; i++) {
        const char *name = params[of_model[i]].name;
        if (isfinite(csrec_setting_value(&options->solve, CSREC_OF_METHOD, name, INFINITY)))
            return csrec_fail(error, CSREC_ARGUMENT, "the model determines %s; omit it", name);
    }
    return CSREC_OK;
}

static csrec_status read_settings(job *j, csrec_error *error) {
    const csrec_solve_options *solve = &j->r->options->solve;
    csrec_status status = check_settings(j->r->options, error);
    int value[ADAPT];
    if (status) return status;
    for (int i = 0; i < ADAPT; i++)
        value[i] =
            (int)csrec_setting_value(solve, CSREC_OF_METHOD, params[i].name, params[i].value);
    bool adapt = csrec_setting_value(solve, CSREC_OF_METHOD, params[ADAPT].name,
                                     j->r->options->model ? 0.0 : 1.0);
    j->set = (settings){value[COMPONENTS], value[ROUNDS], value[PATCH], value[STEP], adapt};
    return CSREC_OK;
}

/* Without a model that has its own units, the range of the samples is scaled to 255. Halves first,
 * so that differences of large values do not overflow. */
static void set_units(job *j) {
    const csrec_measurement *m = j->m;
    double least = j->r->whole->least[0], most = j->r->whole->most[0];
    for (int64_t c = 1; c < m->channels; c++) {
        least = fmin(least, j->r->whole->least[c]);
        most = fmax(most, j->r->whole->most[c]);
    }
    double half = csrec_tones_half(m, most / 2 - least / 2), middle = least / 2 + most / 2;
    if (!(half > 0.0)) half = 127.5;
    j->picture.tone = 1.0f;
    j->units = (csrec_model_units){127.5 / half, -middle * (127.5 / half)};
    if (!j->r->options->model) return;
    const csrec_array *scale = csrec_model_array(j->r->options->model, "scale");
    j->units = csrec_model_units_of(j->r->options->model, m, j->r->unit);
    j->span = fabs(j->units.gain) * 2.0 * half;
    if (scale) j->span = fabs(csrec_array_value(scale, 1) - csrec_array_value(scale, 0));
}

/* Divides all by a power of two, so that the largest deviation of the model's entries is about 1
 * and squares of floats are in their range. This changes the rounding of log determinants
 * only. A tone is at least 2^-20 of that deviation, about the precision of floats. */
static void set_unit_of_model(job *j) {
    const csrec_mixture *m = &j->mixture;
    double most = 0.0;
    int exponent, d = m->d;
    for (int64_t i = 0; i < (int64_t)m->K * d; i++)
        most = fmax(most, m->C[i / d * d * d + i % d * (d + 1)]);
    frexp(most > 0.0 ? sqrt(most) : j->span, &exponent);
    double unit = ldexp(1.0, exponent < -500 ? 500 : -exponent);
    for (int64_t i = 0; i < (int64_t)m->K * d; i++) m->means[i] *= unit;
    for (int64_t i = 0; i < (int64_t)m->K * d * d; i++) m->C[i] *= unit * unit;
    j->units.gain *= unit;
    j->units.offset *= unit;
    j->picture.tone = (float)fmax(unit * j->span / 255.0, 0x1p-20);
}

/* The patches of a model. */
static csrec_status check_model(job *j, csrec_error *error) {
    int64_t channels;
    csrec_shape shape = csrec_model_shape(j->r->options->model, &channels);
    const csrec_measurement *m = j->m;
    bool fits =
        shape.dims == 2 && shape.dim[0] <= m->shape.dim[0] && shape.dim[1] <= m->shape.dim[1];
    if (!fits)
        return csrec_fail(error, CSREC_DATA,
                          "model: array 'shape': its patches do not fit into the picture of %lld x "
                          "%lld; learn from 2-D patches of at most that size",
                          (long long)m->shape.dim[0], (long long)m->shape.dim[1]);
    if (channels != 1 && channels != m->channels)
        return csrec_fail(error, CSREC_DATA,
                          "model: array 'channels': is %lld but the samples have %lld; learn from "
                          "gray pictures, or from pictures with that many channels",
                          (long long)channels, (long long)m->channels);
    j->picture.patches.patch_height = (int)shape.dim[0];
    j->picture.patches.patch_width = (int)shape.dim[1];
    j->picture.patches.joint = (int)channels;
    csrec_status status = csrec_mixture_from(j->r->options->model, &j->mixture, error);
    if (!status) set_unit_of_model(j);
    return status;
}

static csrec_status make_mixture(job *j, csrec_error *error) {
    csrec_fit_picture *p = &j->picture;
    if (j->r->options->model) return check_model(j, error);
    p->patches.joint = 1;
    p->patches.patch_height = j->set.patch < p->patches.height ? j->set.patch : p->patches.height;
    p->patches.patch_width = j->set.patch < p->patches.width ? j->set.patch : p->patches.width;
    return csrec_mixture_create(j->set.components, p->patches.patch_height * p->patches.patch_width,
                                &j->mixture, error);
}

static float value_of(const job *j, double y) {
    return (float)(j->units.gain * y + j->units.offset);
}

static csrec_status set_up(job *j, csrec_error *error) {
    const csrec_measurement *m = j->m;
    csrec_fit_picture *p = &j->picture;
    size_t values = (size_t)(j->entries * m->channels);
    p->patches.height = (int)m->shape.dim[0];
    p->patches.width = (int)m->shape.dim[1];
    p->patches.channels = (int)m->channels;
    set_units(j);
    csrec_status status = make_mixture(j, error);
    if (status) return status;
    CSREC_ZEROS(&j->pool, j->values, (j->r->variance ? 3 : 2) * values);
    CSREC_ZEROS(&j->pool, j->mask, j->entries);
    if (j->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < m->n; i++) {
        j->mask[m->index[i]] = 1;
        for (int64_t c = 0; c < m->channels; c++)
            j->values[m->index[i] * m->channels + c] = value_of(j, m->y[i * m->channels + c]);
    }
    double tone = (double)p->tone, sigma = fabs(j->units.gain) * m->sigma;
    sigma = fmax(tone, fmin(sigma, CSREC_TONES_NOISE * tone));
    p->noise = (float)(sigma * sigma);
    p->keep = !(m->sigma > 0.0);
    p->mask = j->mask;
    p->y = j->values;
    p->u = j->values + values;
    p->variance = j->r->variance ? p->u + values : NULL;
    int edge = p->patches.patch_height < p->patches.patch_width ? p->patches.patch_height
                                                                : p->patches.patch_width;
    p->patches.step = j->set.step < edge ? j->set.step : edge;
    return CSREC_OK;
}

static double tones_of(const void *context, int64_t channel, double y) {
    const job *j = context;
    (void)channel;
    return (double)value_of(j, y) / (double)j->picture.tone;
}

/* Quick rounds of Gaussian groups, on values of about 0 to 255, whose squares are finite. */
static csrec_status start(job *j, csrec_error *error) {
    const int64_t channels = j->m->channels;
    const double tone = (double)j->picture.tone;
    csrec_recover_options options = csrec_options_within(j->r->options, &j->call);
    options.method = csrec_method_gaussian.info.name;
    options.solve.settings = quick_groups;
    options.solve.n_settings = 1;
    const csrec_recovery own = {.measurement = j->m,
                                .whole = j->r->whole,
                                .context = j->r->context,
                                .signal = j->r->signal,
                                .report = j->r->report};
    csrec_status status = csrec_recover_in_tones(
        &own, &options, j->m->sigma * (fabs(j->units.gain) / tone), tones_of, j, error);
    j->stopped = csrec_call_stopped(&j->call);
    for (int64_t i = 0; i < j->entries * channels && !status; i++)
        j->picture.u[i] = j->mask[i / channels] && j->picture.keep
                              ? j->picture.y[i]
                              : (float)(tone * j->r->signal[i]);
    return status;
}

static csrec_status read_patches(void *context, int64_t first, int64_t count, float *X,
                                 csrec_error *error) {
    const job *j = context;
    (void)error;
    for (int64_t i = 0; i < count; i++) csrec_fit_cut(&j->picture, first + i, X + i * j->mixture.d);
    return CSREC_OK;
}

/* Edges and cosines around the picture's mean, with its variance. */
static csrec_status start_edges(job *j, csrec_error *error) {
    const csrec_fit_picture *p = &j->picture;
    int64_t count = j->entries * j->m->channels;
    double mean = 0.0, variance = 0.0;
    for (int64_t i = 0; i < count; i++) mean += p->u[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        variance += (p->u[i] - mean) * (p->u[i] - mean) / (double)count;
    return csrec_gmm_start_edges(p->patches.patch_height, p->patches.patch_width, mean,
                                 fmax(variance, LEAST), &j->mixture, error);
}

/* Without a model: the mixture of the estimate's patches, unless they are all equal. */
static csrec_status start_mixture(job *j, csrec_error *error) {
    csrec_data data = {csrec_patches_count(&j->picture.patches), j->mixture.d, read_patches, j};
    csrec_learn_options o = {.components = j->mixture.K,
                             .rounds = LEARNING,
                             .least = LEAST,
                             .seed = j->r->options->seed,
                             .threads = j->picture.threads,
                             .progress = j->r->options->solve.progress,
                             .context = j->r->options->solve.context};
    csrec_model *model = NULL;
    csrec_status status = csrec_gmm_learn_on(j->r->context, &data, &o, &model, &j->stopped, error);
    if (status == CSREC_DATA) return start_edges(j, error);
    if (status || j->stopped) return status;
    csrec_mixture_clear(&j->mixture);
    status = csrec_mixture_from(model, &j->mixture, error);
    csrec_model_destroy(model);
    return status;
}

static void deliver(const job *j) {
    double *signal = j->r->signal;
    for (int64_t i = 0; i < j->entries * j->m->channels; i++)
        signal[i] = ((double)j->picture.u[i] - j->units.offset) / j->units.gain;
    csrec_samples_restore(j->m, signal);
}

static void deliver_variance(const job *j, double *variance) {
    for (int64_t i = 0; i < j->entries * j->m->channels; i++)
        variance[i] = (double)j->picture.variance[i] / (j->units.gain * j->units.gain);
}

/* Lengths in the units of the patches, where squares are finite. */
static void note_round(int round, double energy, void *context) {
    const job *j = context;
    double whole = 0.0;
    for (int64_t i = 0; i < j->m->n * j->m->channels; i++) {
        double y = j->units.gain * j->m->y[i];
        whole += y * y;
    }
    deliver(j);
    csrec_record_add(j->record, round, energy, whole, csrec_record_error(j->record, j->r->signal));
}

static csrec_status run(job *j, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (!j->r->options->model) status = start_mixture(j, error);
    j->picture.call = &j->call;
    j->picture.round_done = j->record ? note_round : NULL;
    j->picture.context = j;
    if (!status && !j->stopped)
        status = csrec_fit_run(j->r->context, &j->picture, &j->mixture, j->set.rounds, j->set.adapt,
                               error);
    j->stopped = j->stopped || csrec_call_stopped(&j->call);
    return status;
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *measurement = r->measurement;
    const csrec_recover_options *options = r->options;
    csrec_recover_report *report = r->report;
    double began = csrec_seconds();
    job j = {.r = r, .m = measurement};
    csrec_status status = read_settings(&j, error);
    if (status) return status;
    csrec_shape_count(&measurement->shape, &j.entries);
    j.picture.threads = csrec_threads(options->threads);
    if (j.picture.threads > THREADS_MOST) j.picture.threads = THREADS_MOST;
    csrec_call_begin(&j.call, options->solve.progress, options->solve.context,
                     (csrec_progress){"mixture", 0, 0, -1.0});
    status = set_up(&j, error);
    j.record = csrec_history_record(options->history, 0, "rounds of the mixture", "round", -1);
    if (!status) status = start(&j, error);
    if (!status && !j.stopped) status = run(&j, error);
    if (!status) {
        deliver(&j);
        if (r->variance && !j.stopped) deliver_variance(&j, r->variance);
        report->outcome = j.stopped ? CSREC_INTERRUPTED : CSREC_DONE;
        report->seconds_pursuit = csrec_seconds() - began;
    }
    csrec_call_end(&j.call);
    csrec_mixture_clear(&j.mixture);
    csrec_pool_clear(&j.pool);
    return status;
}

/* Seconds of one thread per entry of a patch's covariance: each round of learning and of
 * assignment, per component; each round of conditioning. */
static const double PER_POSTERIOR = 4e-11, PER_CONDITION = 2.5e-10;

static csrec_need need_of(const csrec_task *task) {
    const csrec_model *model = task->options->model;
    double value[ADAPT], joint = 1.0, channels = (double)task->channels;
    for (int i = 0; i < ADAPT; i++) value[i] = csrec_task_param(task, &params[i]);
    double K = value[COMPONENTS], rounds = value[ROUNDS], edge = value[PATCH], d = edge * edge;
    if (model) {
        const csrec_array *means = csrec_model_array(model, "means");
        int64_t each;
        csrec_shape shape = csrec_model_shape(model, &each);
        K = (double)means->shape.dim[0];
        d = (double)means->shape.dim[1];
        joint = (double)each;
        edge = (double)(shape.dim[0] < shape.dim[1] ? shape.dim[0] : shape.dim[1]);
    }
    double extent[2] = {(double)task->shape.dim[0], (double)task->shape.dim[1]};
    double sides[2] = {fmin(edge, extent[0]), fmin(edge, extent[1])};
    if (!model) { /* of a picture that is thinner than a patch */
        d = sides[0] * sides[1];
        edge = fmin(sides[0], sides[1]);
    }
    double step = fmin(value[STEP], edge), entries = (double)task->entries;
    double count = channels / joint;
    for (int a = 0; a < 2; a++) count *= ceil((extent[a] - sides[a]) / step) + 1.0;
    const csrec_recover_options own = {.solve = {.settings = quick_groups, .n_settings = 1}};
    csrec_task first = csrec_task_with(task, &own);
    csrec_need need = csrec_method_gaussian.need(&first); /* of the start, with its stages */
    double values = (8.0 * channels + 1.0) * entries;
    double learner = model ? 0.0 : csrec_gmm_learn_bytes((int64_t)count, (int64_t)d, (int)K);
    double learning = model ? 0.0 : LEARNING * count * K * d * d;
    double fitting =
        PER_POSTERIOR * rounds * count * K * d * d + PER_CONDITION * rounds * count * d * d * 2.0;
    double learned = csrec_task_share(task, PER_POSTERIOR * learning, THREADS_MOST);
    double fitted = csrec_task_share(task, fitting, THREADS_MOST);
    need.bytes = values + fmax(need.bytes + 8.0 * (double)task->n * channels,
                               csrec_signal_bytes(task) +
                                   fmax(learner, csrec_fit_run_bytes(count, K, d, task->threads)));
    need.seconds = need.seconds + learned + fitted;
    csrec_need_stage(&need, "learning", learned);
    csrec_need_stage(&need, "mixture", fitted);
    return need;
}

/* On a device some 0.3 s remain: its first use, k-means++ and the factors of each round, which the
 * CPU computes (bench/cuda.py). */
static bool device_faster(const csrec_task *task) {
    static const double remains = 0.6;
    return need_of(task).seconds > remains;
}

static bool suits(const csrec_measurement *measurement) {
    return measurement->shape.dims == 2 && csrec_method_gaussian.suits(measurement);
}

const csrec_method_type csrec_method_mixture = {
    .info = {.name = "mixture",
             .topic = "learned models",
             .brief = "one mixture of Gaussians over all patches, fitted to the samples or learned",
             .source = "Yu, Sapiro and Mallat 2012, section III; docs/learning.md",
             .model = "gmm",
             .solver = "gmm",
             .accepts = CSREC_ACCEPTS(MODEL),
             .device = "start, learning and rounds; patches of at most 256 entries"},
    .params = params,
    .suits = suits,
    .wants = "a picture, two axes and at most 2^30 pixels",
    .need = need_of,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = recover};
