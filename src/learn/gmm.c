/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm.c - learns a mixture of Gaussians: start, rounds, and the model after each. */
#include "learn/gmm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "learn/model.h"

enum { COMPONENTS = 20, ROUNDS = 50 };

static const double TOLERANCE = 0.005, LEAST = 1e-4;

typedef struct gmm_learning {
    csrec_held held;
    const csrec_context *context;
    const csrec_learn_options *options;
    csrec_data_pass pass;
    csrec_call call;
    bool *stopped;
    csrec_mixture mixture;
    csrec_em *em;
    double *history; /* [rounds] */
    double mean, variance, least, tolerance;
    int rounds, done, threads;
    char stage[96];
} gmm_learning;

static csrec_status gmm_check(const csrec_data *data, const csrec_learn_options *o,
                              csrec_error *error) {
    csrec_status status = csrec_data_check(data, error);
    if (!status) status = csrec_learn_check(o, data->n, error);
    if (status) return status;
    if (o->components > CSREC_MIXTURE_MOST || data->n > CSREC_MIXTURE_MOST)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%lld components of %lld entries; at most %d of each",
                          (long long)o->components, (long long)data->n, CSREC_MIXTURE_MOST);
    if (o->rounds < 0 || o->rounds > 100000 || !(o->tolerance >= 0.0) || !(o->least >= 0.0) ||
        !isfinite(o->least))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "rounds, tolerance and least must be at least 0, rounds at most 100000");
    bool edges = o->start && strcmp(o->start, "edges") == 0;
    if (o->start && !edges && strcmp(o->start, "kmeans") != 0)
        return csrec_fail(error, CSREC_ARGUMENT, "start '%.40s': must be kmeans or edges",
                          o->start);
    if (edges && (o->shape.dims != 2 || o->channels > 1))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "start edges needs 2-D patches of one channel; use kmeans");
    return CSREC_OK;
}

/* Checks the mixture that learning continues from. */
static csrec_status check_from(const gmm_learning *j, csrec_error *error) {
    const csrec_model *from = j->options->from;
    const csrec_array *means =
        strcmp(csrec_model_kind(from), "gmm") == 0 ? csrec_model_array(from, "means") : NULL;
    const csrec_array *history = means ? csrec_model_array(from, "log_likelihood") : NULL;
    if (!history || means->shape.dim[0] != j->mixture.K || means->shape.dim[1] != j->mixture.d)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "the model to continue from is not a mixture of %d components of %d "
                          "entries with a log_likelihood; start over",
                          j->mixture.K, j->mixture.d);
    return CSREC_OK;
}

/* The mean of all entries, and their mean variance. */
static csrec_status measure(gmm_learning *j, csrec_error *error) {
    int64_t d = j->held.data.n;
    double *mean = malloc((size_t)(d + d * d) * sizeof *mean);
    if (!mean) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status =
        csrec_statistics_stream(&j->held.data, NULL, j->threads, j->pass.progress, j->pass.context,
                                mean, mean + d, j->stopped, error);
    for (int64_t i = 0; i < d && !status && !*j->stopped; i++) {
        j->mean += mean[i] / (double)d;
        j->variance += mean[d + i * (d + 1)] / (double)d;
    }
    free(mean);
    if (!status && !*j->stopped && !(j->variance > 0.0))
        status = csrec_fail(error, CSREC_DATA,
                            "all %lld rows of the data are equal; add rows that differ",
                            (long long)j->held.data.m);
    j->least = j->options->least > 0.0 ? j->options->least : LEAST * j->variance;
    return status;
}

static csrec_status take_up(gmm_learning *j, csrec_error *error) {
    csrec_status status = check_from(j, error);
    if (status) return status;
    const csrec_array *history = csrec_model_array(j->options->from, "log_likelihood");
    int K = j->mixture.K;
    size_t d = (size_t)j->mixture.d;
    for (int64_t i = 0; i < history->count && i < j->rounds; i++)
        j->history[j->done++] = csrec_array_value(history, i);
    memcpy(j->mixture.weights, csrec_model_array(j->options->from, "weights")->data,
           (size_t)K * sizeof(double));
    memcpy(j->mixture.means, csrec_model_array(j->options->from, "means")->data,
           (size_t)K * d * sizeof(double));
    memcpy(j->mixture.C, csrec_model_array(j->options->from, "covariances")->data,
           (size_t)K * d * d * sizeof(double));
    return CSREC_OK;
}

static csrec_status prepare(gmm_learning *j, csrec_error *error) {
    csrec_status status = csrec_mixture_prepare(&j->mixture, j->least, j->threads, &j->call, error);
    *j->stopped = csrec_call_stopped(&j->call);
    return status;
}

static csrec_status begin(gmm_learning *j, csrec_error *error) {
    const csrec_learn_options *o = j->options;
    csrec_status status = measure(j, error);
    if (status || *j->stopped) return status;
    if (o->from)
        status = take_up(j, error);
    else if (o->start && strcmp(o->start, "edges") == 0)
        status = csrec_gmm_start_edges((int)o->shape.dim[0], (int)o->shape.dim[1], j->mean,
                                       j->variance, &j->mixture, error);
    else
        status = csrec_gmm_start_kmeans(&j->held.data, &j->call, o->seed, j->threads, &j->mixture,
                                        j->stopped, error);
    return status || *j->stopped ? status : prepare(j, error);
}

static csrec_status make_model(const gmm_learning *j, csrec_model **model, csrec_error *error) {
    const csrec_mixture *m = &j->mixture;
    csrec_model_parts parts = {.n = 0};
    csrec_model_add(&parts, "weights", (csrec_shape){1, {m->K}}, m->weights);
    csrec_model_add(&parts, "means", (csrec_shape){2, {m->K, m->d}}, m->means);
    csrec_model_add(&parts, "covariances", (csrec_shape){3, {m->K, m->d, m->d}}, m->C);
    csrec_model_add(&parts, "log_likelihood", (csrec_shape){1, {j->done}}, j->history);
    return csrec_model_build("gmm", &parts, j->options, m->d, model, error);
}

static csrec_status report(const gmm_learning *j, csrec_error *error) {
    csrec_model *model;
    if (!j->options->round_done) return CSREC_OK;
    csrec_status status = make_model(j, &model, error);
    if (status) return status;
    status = j->options->round_done(model, j->options->round_context, error);
    csrec_model_destroy(model);
    return status;
}

static bool has_settled(const gmm_learning *j) {
    return j->done > 1 && j->history[j->done - 1] - j->history[j->done - 2] < j->tolerance;
}

static csrec_status run_round(gmm_learning *j, csrec_error *error) {
    if (j->done)
        snprintf(j->stage, sizeof j->stage, "learning, round %d of %d, log-likelihood %.4f",
                 j->done + 1, j->rounds, j->history[j->done - 1]);
    j->pass.number = j->done;
    j->pass.of = j->rounds;
    csrec_status status = csrec_em_begin(j->em, error);
    if (!status) status = csrec_data_each(&j->held.data, &j->pass, j->stopped, error);
    *j->stopped = csrec_call_stopped(&j->call);
    if (status || *j->stopped) return status;
    status = csrec_em_finish(j->em, &j->history[j->done], error);
    if (status) return status;
    j->done++;
    status = prepare(j, error);
    return status || *j->stopped ? status : report(j, error);
}

static csrec_status gmm_run(gmm_learning *j, csrec_error *error) {
    csrec_status status = begin(j, error);
    j->pass.take = csrec_em_take;
    j->pass.taker = j->em;
    j->pass.stage = j->stage;
    while (!status && !*j->stopped && j->done < j->rounds && !has_settled(j))
        status = run_round(j, error);
    return status;
}

static csrec_status allocate(gmm_learning *j, csrec_error *error) {
    const csrec_learn_options *o = j->options;
    int64_t piece = csrec_data_piece(&j->held.data);
    int K = o->components ? (int)o->components : COMPONENTS;
    csrec_status status = csrec_mixture_create(K, (int)j->held.data.n, &j->mixture, error);
    if (status) return status;
    j->history = malloc((size_t)j->rounds * sizeof *j->history);
    if (!j->history) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    const csrec_em_plan plan = {j->held.data.m, piece, j->threads, &j->call};
    return csrec_em_create(j->context, &j->mixture, &plan, &j->em, error);
}

/* The rows; a piece of them, with the posteriors of every component; moments and factors. */
double csrec_gmm_learn_bytes(int64_t m, int64_t d, int K) {
    const csrec_data data = {.m = m, .n = d};
    double n = (double)d, piece = (double)csrec_data_piece(&data);
    return 4.0 * (double)m * n + piece * (4.0 * n + 8.0 * K) + 24.0 * K * n * n;
}

csrec_status csrec_gmm_learn_on(const csrec_context *context, const csrec_data *data,
                                const csrec_learn_options *options, csrec_model **model,
                                bool *stopped, csrec_error *error) {
    bool own = false;
    gmm_learning j = {.context = context,
                      .options = options,
                      .stopped = stopped ? stopped : &own,
                      .rounds = options->rounds ? (int)options->rounds : ROUNDS,
                      .tolerance = options->tolerance > 0.0 ? options->tolerance : TOLERANCE,
                      .threads = csrec_threads(options->threads),
                      .stage = "learning, round 1"};
    *j.stopped = false;
    csrec_status status = gmm_check(data, options, error);
    if (status) return status;
    csrec_call_begin(&j.call, options->progress, options->context,
                     (csrec_progress){"reading", 0, data->m, -1.0});
    j.pass = (csrec_data_pass){.progress = csrec_call_hear, .context = &j.call};
    status = csrec_data_hold(data, &j.pass, &j.held, j.stopped, error);
    if (!status && !*j.stopped) status = allocate(&j, error);
    if (!status && !*j.stopped) status = gmm_run(&j, error);
    if (!status && !*j.stopped) status = make_model(&j, model, error);
    csrec_call_end(&j.call);
    csrec_em_destroy(j.em);
    csrec_mixture_clear(&j.mixture);
    free(j.history);
    free(j.held.X);
    return status;
}

typedef struct gmm_job {
    const csrec_data *data;
    const csrec_learn_options *options;
    csrec_model **model;
    bool *stopped;
} gmm_job;

static csrec_status gmm_on(const csrec_context *context, void *job, csrec_error *error) {
    const gmm_job *j = job;
    return csrec_gmm_learn_on(context, j->data, j->options, j->model, j->stopped, error);
}

/* Seconds of a thread of the CPU per row, component and entry of a covariance in a round; rounds
 * that learning takes at least; start of a device. */
static bool gmm_pays(csrec_device_kind kind, const void *job) {
    static const double each = 4e-11, rounds = 8.0, first_use = 0.3;
    const gmm_job *j = job;
    double n = (double)j->data->n, K = (double)j->options->components;
    double most = (double)(j->options->rounds ? j->options->rounds : ROUNDS);
    double work = (double)j->data->m * (K > 0.0 ? K : COMPONENTS) * n * n * fmin(most, rounds);
    (void)kind;
    return each * work / (double)csrec_threads_wanted(j->options->threads) > first_use;
}

csrec_status csrec_gmm_learn(const csrec_data *data, const csrec_learn_options *options,
                             csrec_model **model, bool *stopped, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = gmm_pays, .run = gmm_on};
    gmm_job job = {data, options, model, stopped};
    return csrec_device_run(options->backend, &work, &job, NULL, error);
}
