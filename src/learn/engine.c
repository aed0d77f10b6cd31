/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - statistics and eigenvectors on the device that a name says. */
#include "learn/engine.h"

static const csrec_learn_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_learn_cpu, &csrec_learn_cuda);

csrec_status csrec_learn_usable(const char *backend, csrec_error *error) {
    csrec_context context;
    if (csrec_device_automatic(backend)) return CSREC_OK;
    csrec_status status = csrec_context_create(backend, &context, error);
    if (status) return status;
    const csrec_learn_engine *engine = engines[context.kind];
    if (engine->eigen_usable) status = engine->eigen_usable(error);
    csrec_context_destroy(&context);
    return status;
}

/* What a learner asks of a device, and the arguments; others are not set. */
typedef struct job {
    enum { MEAN, CENTER, COVARIANCE, STREAM, EIGEN } what;
    csrec_rows rows;
    const double *given; /* a mean, or NULL */
    double *result;
    const csrec_data *data;
    csrec_progress_fn progress;
    void *caller;
    double *mean;
    bool *stopped;
    int n, count;
    double *A, *values, *V;
} job;

static csrec_status run(const csrec_context *context, void *asked, csrec_error *error) {
    const csrec_learn_engine *engine = engines[context->kind];
    const job *j = asked;
    switch (j->what) {
    case MEAN:
        return engine->mean(context, &j->rows, j->result, error);
    case CENTER:
        return engine->center(context, &j->rows, j->given, error);
    case COVARIANCE:
        return engine->covariance(context, &j->rows, j->given, j->result, error);
    case STREAM:
        return engine->stream(context, j->data, j->rows.threads, j->progress, j->caller, j->mean,
                              j->result, j->stopped, error);
    default:
        return engine->eigen(context, j->n, j->A, j->count, j->values, j->V, error);
    }
}

static bool pays(csrec_device_kind kind, const void *asked) {
    const csrec_learn_engine *engine = engines[kind];
    const job *j = asked;
    if (!engine || j->what == MEAN || j->what == CENTER) return false;
    return j->what == EIGEN ? engine->eigen_pays(j->n, j->count)
                            : engine->covariance_pays(j->rows.m, j->rows.n, j->rows.threads);
}

static csrec_status run_on(const char *backend, job *j, const char **used, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = pays, .run = run};
    csrec_device_ran ran;
    csrec_status status = csrec_device_run(backend, &work, j, &ran, error);
    if (used) *used = ran.device;
    return status;
}

static csrec_rows rows_of(int64_t m, int64_t n, const float *X, const double *weights,
                          int threads) {
    return (csrec_rows){m, n, (float *)(uintptr_t)X, weights, threads};
}

csrec_status csrec_mean_on(const char *backend, int64_t m, int64_t n, const float *X,
                           const double *weights, int threads, double *mean, csrec_error *error) {
    job j = {.what = MEAN, .rows = rows_of(m, n, X, weights, threads), .result = mean};
    return run_on(backend, &j, NULL, error);
}

csrec_status csrec_center_on(const char *backend, int64_t m, int64_t n, float *X,
                             const double *mean, int threads, csrec_error *error) {
    job j = {.what = CENTER, .rows = rows_of(m, n, X, NULL, threads), .given = mean};
    return run_on(backend, &j, NULL, error);
}

csrec_status csrec_covariance_on(const char *backend, int64_t m, int64_t n, const float *X,
                                 const double *weights, const double *mean, int threads, double *C,
                                 csrec_error *error) {
    job j = {
        .what = COVARIANCE, .rows = rows_of(m, n, X, weights, threads), .given = mean, .result = C};
    return run_on(backend, &j, NULL, error);
}

csrec_status csrec_stream_on(const char *backend, const csrec_data *data, int threads,
                             csrec_progress_fn progress, void *context, double *mean, double *C,
                             bool *stopped, const char **used, csrec_error *error) {
    job j = {.what = STREAM,
             .rows = rows_of(data->m, data->n, NULL, NULL, threads),
             .data = data,
             .progress = progress,
             .caller = context,
             .mean = mean,
             .result = C,
             .stopped = stopped};
    return run_on(backend, &j, used, error);
}

csrec_status csrec_eigen_largest_on(const char *backend, int n, double *A, int count,
                                    double *values, double *V, const char **used,
                                    csrec_error *error) {
    job j = {.what = EIGEN, .n = n, .A = A, .count = count, .values = values, .V = V};
    return run_on(backend, &j, used, error);
}
