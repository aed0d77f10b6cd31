/* SPDX-License-Identifier: BSD-3-Clause */
/* learn.c - adapts a prior to pictures: batches, steps of Adam, validation (docs/prior.md). */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/call.h"
#include "base/threads.h"
#include "learn/model.h"
#include "learn/net/data.h"
#include "learn/net/prior.h"

enum { WARM = 500, RECORDS = 64 };

/* Constants of docs/prior.md: of the loss, the share of the likelihood in it, and of Adam. */
static const double FLOOR = 1e-4, LIKELIHOOD = 0.02, MOST_RATIO = 100.0, LAST_RATE = 0.003;
static const csrec_net_adam ADAM = {
    .beta1 = 0.9, .beta2 = 0.98, .decay = 1e-4, .clip = 1.0, .average = 0.999};

typedef struct training {
    csrec_net_learn_options o;
    csrec_model *installed; /* that o.from is where none was given */
    int64_t count;
    const csrec_net_picture *pictures;
    csrec_net_layer layers[CSREC_NET_LAYERS];
    int n;
    int64_t weights;
    csrec_net *net, *trial; /* trial: has the mean of the weights */
    csrec_net_data *data;
    csrec_net_batch batch[2], validation;
    float *Y, *dY, *w; /* w: [weights] */
    csrec_pool pool;   /* of these */
    double loss[RECORDS], psnr[RECORDS], sum, began;
    int64_t summed, records, step;
    char stage[64];
    csrec_model *model;
    csrec_call call;
} training;

static csrec_status open_networks(training *t, const csrec_context *context, csrec_error *error) {
    const csrec_net_options options = {.threads = t->o.threads, .fast = !t->o.exact};
    csrec_status status = CSREC_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = csrec_prior_create(t->o.from, 2 * csrec_prior_channels(t->o.from) + 2, context,
                                    &options, i ? &t->trial : &t->net, error);
    if (status) return status;
    csrec_net_info(t->net, &t->weights, NULL, NULL);
    return CSREC_TAKE(&t->pool, t->w, t->weights)
               ? CSREC_OK
               : csrec_fail(error, CSREC_MEMORY, "out of memory for the weights");
}

static csrec_status prepare(training *t, const csrec_context *context, csrec_error *error) {
    t->n = csrec_prior_layers(t->o.from, t->layers);
    const csrec_net_data_options data = {.count = t->count,
                                         .pictures = t->pictures,
                                         .channels = (int)t->o.channels,
                                         .side = (int)t->o.patch,
                                         .threads = csrec_threads(t->o.threads),
                                         .batch = t->o.batch,
                                         .seed = t->o.seed};
    csrec_status status = csrec_net_data_create(&data, &t->data, error);
    for (int i = 0; i < 2 && !status; i++)
        status = csrec_net_batch_create(t->data, &t->batch[i], error);
    if (!status) status = csrec_net_batch_create(t->data, &t->validation, error);
    if (!status) status = open_networks(t, context, error);
    size_t floats = (size_t)(t->o.batch * 2 * t->o.channels * t->o.patch * t->o.patch);
    CSREC_TAKE(&t->pool, t->Y, floats);
    CSREC_TAKE(&t->pool, t->dY, floats);
    if (!status && t->pool.lacks)
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for a batch");
    if (!status) csrec_net_data_validation(t->data, &t->validation);
    return status;
}

/* All but options and inputs. */
static void training_clear(training *t) {
    csrec_net_destroy(t->net);
    csrec_net_destroy(t->trial);
    csrec_net_data_destroy(t->data);
    csrec_net_batch_clear(&t->batch[0]);
    csrec_net_batch_clear(&t->batch[1]);
    csrec_net_batch_clear(&t->validation);
    csrec_pool_clear(&t->pool);
    t->net = t->trial = NULL;
    t->data = NULL;
    t->step = t->records = t->summed = 0;
    t->sum = 0.0;
}

/* Of picture i with error e = F + D - z at weighed pixels, mse their mean square and s the log
 * variances: log(mse + FLOOR) + LIKELIHOOD mean(s + e^2 exp(-s)) / 2, where e counts as given in
 * the second part. Sets the gradient, divided by the batch. Returns the loss; *mse: NAN if no pixel
 * counts. */
static double measure(const training *t, const csrec_net_batch *b, const float *Y, int64_t i,
                      float *dY, double *mse) {
    int64_t n = t->o.patch * t->o.patch, channels = t->o.channels;
    const float *F = b->X + i * (2 * channels + 2) * n, *D = Y + i * 2 * channels * n;
    const float *z = b->target + i * channels * n, *weight = b->weight + i * n;
    double squares = 0.0, count = 0.0, likelihood = 0.0;
    for (int64_t k = 0; k < channels * n; k++) {
        if (weight[k % n] == 0.0f) continue;
        double e = (double)(F[k] + D[k] - z[k]);
        squares += e * e;
        count += 1.0;
    }
    *mse = count > 0.0 ? squares / count : NAN;
    if (dY) memset(dY + i * 2 * channels * n, 0, (size_t)(2 * channels * n) * sizeof *dY);
    if (count == 0.0) return 0.0;
    double scale = 2.0 / (*mse + FLOOR) / count / (double)t->o.batch;
    double share = 0.5 * LIKELIHOOD / count / (double)t->o.batch;
    for (int64_t k = 0; k < channels * n; k++) {
        if (weight[k % n] == 0.0f) continue;
        double e = (double)(F[k] + D[k] - z[k]);
        double s = fmin(fmax((double)D[channels * n + k], -20.0), 20.0), ratio = e * e * exp(-s);
        likelihood += s + ratio;
        if (!dY) continue;
        float *at = dY + i * 2 * channels * n + k;
        *at = (float)(scale * e);
        at[channels * n] = (float)(share * (1.0 - fmin(ratio, MOST_RATIO)));
    }
    return log(*mse + FLOOR) + 0.5 * LIKELIHOOD * likelihood / count;
}

static csrec_status take_step(training *t, const csrec_net_batch *b, double rate,
                              csrec_error *error) {
    csrec_net_adam adam = ADAM;
    double loss[4096], sum = 0.0;
    adam.rate = rate;
    csrec_status status =
        csrec_net_forward(t->net, t->o.batch, t->o.patch, t->o.patch, b->X, t->Y, error);
    if (status) return status;
#pragma omp parallel for schedule(static) num_threads(csrec_threads(t->o.threads))
    for (int64_t i = 0; i < t->o.batch; i++) {
        double mse;
        loss[i] = measure(t, b, t->Y, i, t->dY, &mse);
    }
    for (int64_t i = 0; i < t->o.batch; i++) sum += loss[i] / (double)t->o.batch;
    t->sum += sum;
    t->summed++;
    status = csrec_net_backward(t->net, t->dY, NULL, NULL, error);
    if (!status) status = csrec_net_step(t->net, &adam, error);
    if (status == CSREC_DATA)
        return csrec_fail(error, status,
                          "rate = %g: the training diverged in step %lld; take a lower rate",
                          t->o.rate, (long long)t->step + 1);
    return status;
}

/* Mean PSNR of the validation pictures with the mean of the weights. */
static csrec_status validate(training *t, double *psnr, csrec_error *error) {
    int64_t n = t->o.patch * t->o.patch, channels = t->o.channels;
    csrec_status status = csrec_net_weights(t->net, t->step > 0, t->w, error);
    if (!status) status = csrec_net_set_weights(t->trial, t->w, error);
    double sum = 0.0;
    int64_t count = t->o.batch < 32 ? t->o.batch : 32, measured = 0;
    for (int64_t i = 0; i < count && !status; i++) {
        float *Y = t->Y + i * 2 * channels * n;
        status =
            csrec_net_apply(t->trial, t->o.patch, t->o.patch,
                            t->validation.X + i * (2 * channels + 2) * n, Y, 0, NULL, NULL, error);
        double mse;
        if (!status) measure(t, &t->validation, t->Y, i, NULL, &mse);
        if (status || !(mse > 0.0)) continue;
        double unit = t->validation.unit[i];
        sum += 10.0 * log10(255.0 * 255.0 / (mse * unit * unit));
        measured++;
    }
    *psnr = measured ? sum / (double)measured : 0.0;
    return status;
}

/* The batch of the next step, made by another thread while a device works. */
typedef struct maker {
    training *t;
    int64_t step;
    pthread_t thread;
    bool runs;
} maker;

static void *make_batch(void *context) {
    maker *m = context;
    csrec_net_data_make(m->t->data, m->step, &m->t->batch[m->step % 2], &m->t->call);
    return NULL;
}

static void maker_start(maker *m, int64_t step, bool beside) {
    m->step = step;
    m->runs = beside && pthread_create(&m->thread, NULL, make_batch, m) == 0;
    if (!m->runs) make_batch(m);
}

static void maker_wait(maker *m) {
    if (m->runs) pthread_join(m->thread, NULL);
    m->runs = false;
}

/* How much of the training is over, 0 to 1. */
static double share_done(const training *t) {
    double by_steps = t->o.steps ? (double)t->step / (double)t->o.steps : 0.0;
    double by_time =
        t->o.minutes > 0.0 ? (csrec_seconds() - t->began) / (60.0 * t->o.minutes) : 0.0;
    return fmin(fmax(by_steps, by_time), 1.0);
}

/* Cosine to a small rest (Loshchilov and Hutter 2017), after a warm-up. */
static double rate_at(const training *t, double share) {
    double warm = fmin(1.0, (double)(t->step + 1) / WARM);
    return t->o.rate * warm * (0.5 * (1.0 + cos(3.141592653589793 * share)) + LAST_RATE);
}

/* Records loss and PSNR when the next of RECORDS parts of the training is over. */
static csrec_status record(training *t, double share, bool last, csrec_error *error) {
    bool due = share * (RECORDS - 1) >= (double)t->records || last;
    if (!due || t->records == RECORDS || t->summed == 0) return CSREC_OK;
    double psnr;
    csrec_status status = validate(t, &psnr, error);
    if (status) return status;
    t->loss[t->records] = t->sum / (double)t->summed;
    t->psnr[t->records++] = psnr;
    t->sum = 0.0;
    t->summed = 0;
    return CSREC_OK;
}

static bool report(training *t, double share) {
    int64_t last = t->records - 1;
    if (last >= 0)
        snprintf(t->stage, sizeof t->stage, "training, loss %.3f, %.2f dB", t->loss[last],
                 t->psnr[last]);
    csrec_progress now = {last < 0 ? "training" : t->stage, (int64_t)(share * 1e6), 1000000, -1.0};
    return csrec_call_report(&t->call, &now);
}

static csrec_status train(training *t, csrec_error *error) {
    bool beside = strcmp(csrec_net_info(t->net, NULL, NULL, NULL), "cpu") != 0;
    maker m = {.t = t};
    t->began = csrec_seconds();
    double share = 0.0;
    csrec_status status = CSREC_OK;
    maker_start(&m, 0, false);
    while (!status && share < 1.0 && !report(t, share)) {
        const csrec_net_batch *now = &t->batch[t->step % 2];
        if (beside) maker_start(&m, t->step + 1, true);
        status = take_step(t, now, rate_at(t, share), error);
        t->step++;
        share = share_done(t);
        if (beside)
            maker_wait(&m);
        else if (!status && share < 1.0)
            maker_start(&m, t->step, false);
        if (!status) status = record(t, share, share >= 1.0, error);
    }
    return status ? status : record(t, 1.0, true, error);
}

static csrec_status build(training *t, csrec_error *error) {
    double *weights = malloc((size_t)t->weights * sizeof *weights);
    csrec_status status = weights ? csrec_net_weights(t->net, t->step > 0, t->w, error)
                                  : csrec_fail(error, CSREC_MEMORY, "out of memory for the model");
    if (!status) {
        double rows[4 * CSREC_NET_LAYERS], channels = (double)t->o.channels;
        for (int64_t i = 0; i < t->weights; i++) weights[i] = (double)t->w[i];
        for (int i = 0; i < t->n; i++) {
            const csrec_net_layer *l = &t->layers[i];
            const double row[4] = {l->kind, (double)l->channels, (double)l->add, l->relu};
            memcpy(rows + 4 * i, row, sizeof row);
        }
        csrec_model_parts parts = {0};
        csrec_model_add(&parts, "layers", (csrec_shape){2, {t->n, 4}}, rows);
        csrec_model_add(&parts, "weights", (csrec_shape){1, {t->weights}}, weights);
        csrec_model_add(&parts, "channels", (csrec_shape){0}, &channels);
        if (t->records) {
            csrec_model_add(&parts, "loss", (csrec_shape){1, {t->records}}, t->loss);
            csrec_model_add(&parts, "psnr", (csrec_shape){1, {t->records}}, t->psnr);
        }
        status = csrec_model_assemble("net", &parts, &t->model, error);
    }
    if (!status &&
        csrec_model_set_text(t->model, "backend", csrec_net_info(t->net, NULL, NULL, NULL)))
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for the model");
    free(weights);
    return status;
}

static csrec_status learn_on(const csrec_context *context, void *job, csrec_error *error) {
    training *t = job;
    csrec_status status = prepare(t, context, error);
    if (!status) status = train(t, error);
    if (!status) status = build(t, error);
    training_clear(t);
    return status;
}

/* A device trains some hundred times as fast. */
static bool learn_pays(csrec_device_kind kind, const void *job) {
    (void)kind;
    (void)job;
    return true;
}

/* The installed prior in place of none. */
static csrec_status find_start(training *t, csrec_error *error) {
    if (t->o.from) return CSREC_OK;
    csrec_status status = csrec_prior_find(t->o.channels, &t->installed, error);
    t->o.from = t->installed;
    return status ? status : csrec_net_learn_check(&t->o, error);
}

csrec_status csrec_net_learn(int64_t count, const csrec_net_picture *pictures,
                             const csrec_net_learn_options *options, csrec_model **model,
                             bool *stopped, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = learn_pays, .run = learn_on};
    training *t = calloc(1, sizeof *t);
    if (!t) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    t->o = *options;
    t->count = count;
    t->pictures = pictures;
    csrec_net_learn_complete(&t->o);
    csrec_call_begin(&t->call, options->progress, options->context,
                     (csrec_progress){"training", 0, 1000000, -1.0});
    csrec_status status = csrec_net_learn_check(&t->o, error);
    if (!status) status = csrec_net_pictures_check(count, pictures, t->o.channels, error);
    if (!status) status = find_start(t, error);
    if (!status) status = csrec_device_run(options->backend, &work, t, NULL, error);
    if (!status) *model = t->model;
    if (!status && stopped) *stopped = csrec_call_stopped(&t->call);
    csrec_call_end(&t->call);
    csrec_model_destroy(t->installed);
    free(t);
    return status;
}
