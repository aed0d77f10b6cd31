/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c - recovery of pictures by a network that was trained on synthetic ones (docs/prior.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "method/gaussian/gaussian.h"
#include "learn/net/pass.h"

static const csrec_param params[] = {
    {"turns", 1, 1, 8, "passes over the picture, flipped and turned, whose results are averaged"},
    {"steps", 0, 0, 1000000,
     "steps that fit the network further to the samples of this picture; 0: none"},
    {"copies", 0, 0, 64, "parts of the picture in a step; 0: 6 on a device, 1 on the CPU"},
    {"groups", 0, 0, 1, "1: then rounds of Gaussian groups, averaged with the network's result"},
    {"together", 0, 0, 1,
     "1: red, green and blue in one network, in a third of the time; 0: the gray one for each"},
    {0}};

/* Of the network's result in that with groups. */
static const double START_SHARE = 0.3;

static int setting(const csrec_recovery *r, const char *name) {
    const csrec_param *param = csrec_param_find(params, name);
    return (int)csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, name, param->value);
}

typedef struct job {
    const csrec_recovery *r;
    const csrec_measurement *m;
    csrec_prior_pass pass;
    int64_t height, width;
    double unit, *middle;   /* value = middle[c] + unit * tones */
    float *values, *result; /* [channels][height][width] in tones */
    float *squares;         /* as result: expected squared errors, or NULL */
    uint8_t *known;
    csrec_pool pool; /* of all arrays */
    csrec_call call;
} job;

/* Where all is known, with noise, a denoiser is wanted. What is fitted sees samples hidden. */
static int64_t prior_for(const job *j) {
    const bool whole = j->m->n == j->height * j->width && j->m->sigma > 0.0;
    if (setting(j->r, "together") != 0) return j->m->channels;
    return whole && setting(j->r, "steps") == 0 ? CSREC_PRIOR_NOISE : 1;
}

static csrec_status open_network(job *j, csrec_error *error) {
    const csrec_net_options options = {.threads = j->r->options->threads,
                                       .fast = setting(j->r, "steps") > 0};
    const csrec_prior_from from = {j->r->options->model, j->r->options->priors};
    return csrec_prior_pass_create(&from, j->m->channels, prior_for(j), j->r->context, &options,
                                   j->height, j->width, &j->pass, error);
}

static csrec_status allocate(job *j, csrec_error *error) {
    size_t n = (size_t)(j->height * j->width), channels = (size_t)j->m->channels;
    CSREC_ZEROS(&j->pool, j->middle, channels);
    CSREC_ZEROS(&j->pool, j->values, channels * n);
    CSREC_ZEROS(&j->pool, j->result, channels * n);
    if (j->r->variance) CSREC_ZEROS(&j->pool, j->squares, channels * n);
    CSREC_ZEROS(&j->pool, j->known, n);
    if (!j->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for a picture of %lld x %lld",
                      (long long)j->height, (long long)j->width);
}

static int threads_for(const job *j) {
    return csrec_threads_for(j->height * j->width, j->r->options->threads);
}

static void gather(job *j) {
    const csrec_measurement *m = j->m;
    int64_t n = j->height * j->width;
    j->unit = csrec_tones_unit(m, j->r->whole, j->middle);
#pragma omp parallel for schedule(static) num_threads(threads_for(j))
    for (int64_t i = 0; i < m->n; i++) {
        j->known[m->index[i]] = 1;
        for (int64_t c = 0; c < m->channels; c++)
            j->values[c * n + m->index[i]] =
                (float)((m->y[i * m->channels + c] - j->middle[c]) / j->unit);
    }
}

static csrec_prior_samples samples_of(const job *j, int64_t first) {
    return (csrec_prior_samples){.channels = j->pass.channels,
                                 .height = j->height,
                                 .width = j->width,
                                 .values = j->values + first * j->height * j->width,
                                 .known = j->known,
                                 .sigma = csrec_tones_sigma(j->m, j->unit),
                                 .tone = 1.0f,
                                 .threads = j->r->options->threads};
}

static void divide(job *j, int64_t first, int64_t end, float passes) {
#pragma omp parallel for schedule(static) num_threads(threads_for(j))
    for (int64_t i = first; i < end; i++) {
        j->result[i] /= passes;
        if (j->squares) j->squares[i] /= passes;
    }
}

/* The channels from `first` on. A later group's fit continues from that of the one before. */
static csrec_status recover_channels(job *j, int64_t first, csrec_error *error) {
    int turns = setting(j->r, "turns");
    csrec_prior_samples s = samples_of(j, first);
    const csrec_fit_source source = csrec_prior_source(&(csrec_prior_part){&s, j->pass.multiple});
    csrec_fit_options fit = csrec_fit_usual(j->r->context, setting(j->r, "steps"),
                                            setting(j->r, "copies"), j->r->options->threads);
    fit.seconds = j->r->options->seconds * j->pass.channels / (double)j->m->channels;
    fit.seed = j->r->options->seed;
    int64_t done = 0, n = j->height * j->width;
    csrec_status status = CSREC_OK;
    if (fit.steps > 0) status = csrec_net_fit(j->pass.net, &source, &fit, &j->call, &done, error);
    int passes = 0;
    for (; passes < turns && !status; passes++) {
        bool stop = csrec_call_report(&j->call, &(csrec_progress){"network", passes, turns, -1.0});
        if (stop && passes > 0) break;
        /* what was fitted before the stop deserves a pass */
        status = csrec_prior_pass_add(&j->pass, &s, passes, stop && done > 0 ? NULL : &j->call,
                                      j->result + first * n,
                                      j->squares ? j->squares + first * n : NULL, error);
    }
    if (!status) divide(j, first * n, (first + j->pass.channels) * n, (float)passes);
    j->r->report->iterations += done;
    return status;
}

static void deliver(const job *j) {
    const csrec_measurement *m = j->m;
    int64_t n = j->height * j->width;
#pragma omp parallel for schedule(static) num_threads(threads_for(j))
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < m->channels; c++) {
            const int64_t to = i * m->channels + c, from = c * n + i;
            j->r->signal[to] = j->middle[c] + j->unit * (double)j->result[from];
            if (j->squares) j->r->variance[to] = j->unit * j->unit * (double)j->squares[from];
        }
    csrec_samples_restore(m, j->r->signal);
}

static csrec_status run_network(const csrec_recovery *r, csrec_error *error) {
    job j = {.r = r,
             .m = r->measurement,
             .height = r->measurement->shape.dim[0],
             .width = r->measurement->shape.dim[1]};
    csrec_call_begin(&j.call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"network", 0, 1, -1.0});
    csrec_status status = open_network(&j, error);
    if (!status) status = allocate(&j, error);
    if (!status) gather(&j);
    const bool constant = csrec_whole_constant(r->whole, j.m->channels);
    for (int64_t c = 0; c < j.m->channels && !status && !constant; c += j.pass.channels)
        status = recover_channels(&j, c, error);
    if (!status) deliver(&j);
    r->report->outcome = csrec_call_stopped(&j.call) ? CSREC_INTERRUPTED : CSREC_DONE;
    csrec_call_end(&j.call);
    csrec_prior_pass_clear(&j.pass);
    csrec_pool_clear(&j.pool);
    return status;
}

/* The start of the groups remains a part of the result: both err in other places. */
static csrec_status add_groups(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    int64_t values = m->shape.dim[0] * m->shape.dim[1] * m->channels;
    double *start = malloc((size_t)values * sizeof *start);
    if (!start) return csrec_memory_fail(error, NULL);
    memcpy(start, r->signal, (size_t)values * sizeof *start);
    csrec_recover_options options = csrec_options_within(r->options, NULL);
    csrec_recovery own = *r;
    options.history = r->options->history;
    own.options = &options;
    own.variance = NULL; /* that of the network stays */
    csrec_status status = csrec_gaussian_refine(&own, error);
    for (int64_t i = 0; i < values && !status; i++)
        r->signal[i] += START_SHARE * (start[i] - r->signal[i]);
    if (!status) csrec_samples_restore(m, r->signal);
    free(start);
    return status;
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    double began = csrec_seconds();
    CSREC_TRY(csrec_fit_check(setting(r, "steps"), r->options->seconds, error));
    CSREC_TRY(run_network(r, error));
    if (setting(r, "groups") && r->report->outcome == CSREC_DONE) CSREC_TRY(add_groups(r, error));
    r->report->pursuits = 1;
    r->report->seconds_pursuit = csrec_seconds() - began;
    return CSREC_OK;
}

static bool suits(const csrec_measurement *measurement) {
    const int64_t most = INT64_C(1) << 30;
    return measurement->shape.dims == 2 && measurement->shape.dim[0] <= most &&
           measurement->shape.dim[1] <= most / measurement->shape.dim[0] &&
           measurement->channels <= 4096;
}

/* Of a network of 32 to 256 channels, by 16.9 GMAC for 256 x 256 pixels (bench/cuda.py). */
static const double PASS = 2.1e-6; /* seconds a pixel and channel, one thread */

/* Bytes of its weights, also packed, and of results a pixel. */
static const double WEIGHTS = 4.5e7, TILE_BYTES = 256.0;

enum { HALVES = 8 }; /* what its extents are multiples of */

/* Of the picture as the network works on it: at its coarsest scale thin ones fill no block. */
static double worked_pixels(const int64_t extent[2]) {
    const double least = 28.0;
    return fmax(least, (double)csrec_prior_padded(extent[0], HALVES)) *
           fmax(least, (double)csrec_prior_padded(extent[1], HALVES));
}

/* Of the largest tile that takes 1 GiB, as csrec_net_run cuts them. */
static double tile_pixels(const int64_t extent[2]) {
    const double margin = 256.0;
    double side[2] = {(double)csrec_prior_padded(extent[0], HALVES),
                      (double)csrec_prior_padded(extent[1], HALVES)};
    while (TILE_BYTES * side[0] * side[1] > 0x1p30) {
        double *longer = &side[side[1] > side[0]];
        *longer = *longer / 2.0 + margin;
    }
    return side[0] * side[1];
}

static csrec_need need_of(const csrec_task *task) {
    double pixels = (double)task->entries, channels = (double)task->channels;
    double turns = csrec_task_param(task, &params[0]), steps = csrec_task_param(task, &params[1]);
    double runs = channels == 3.0 && csrec_task_param(task, &params[4]) != 0.0 ? 1.0 : channels;
    double copies = csrec_task_param(task, &params[2]);
    double tile = TILE_BYTES * tile_pixels(task->shape.dim);
    double fit = steps > 0.0 ? csrec_fit_bytes(pixels, copies) : 0.0;
    double passes = runs * turns * PASS * worked_pixels(task->shape.dim);
    double seconds = passes + runs * steps * csrec_fit_seconds(pixels, copies);
    if (task->options->seconds > 0.0) seconds = fmin(seconds, task->options->seconds + passes);
    csrec_need need = {.bytes = csrec_signal_bytes(task) + pixels * (13.0 * channels + 60.0) +
                                WEIGHTS + fmax(tile, fit),
                       .seconds = CSREC_PRIOR_LOAD + csrec_task_share(task, seconds, 1 << 20)};
    if (csrec_task_param(task, &params[3]) == 0.0) return need;
    csrec_recover_options plain = csrec_options_within(task->options, NULL);
    csrec_task groups = csrec_task_with(task, &plain);
    csrec_need then = csrec_gaussian_refine_need(&groups);
    const double kept = task->options->priors && steps == 0.0 ? WEIGHTS + tile : 0.0; /* priors.c */
    need.bytes = fmax(need.bytes, kept + then.bytes + csrec_signal_bytes(task));
    need.seconds += then.seconds;
    return need;
}

static bool device_faster(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

static const csrec_setting cheap_settings[] = {{"turns", 1}, {"steps", 0}, {"groups", 0}, {0}};

const csrec_method_type csrec_method_net = {
    .info = {.name = "net",
             .topic = "pictures",
             .brief = "a convolutional network that was trained on synthetic pictures",
             .source = "docs/prior.md",
             .model = "net",
             .accepts = CSREC_ACCEPTS(MODEL) | CSREC_ACCEPTS(SECONDS),
             .predicts_error = true,
             .device = "all"},
    .params = params,
    .cheap_settings = cheap_settings,
    .excess = -0.25,
    .suits = suits,
    .wants = "a picture (two axes)",
    .need = need_of,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = recover};
