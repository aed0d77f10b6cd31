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

/* ---- data in memory */

typedef struct rows_job {
    csrec_rows rows;
    const double *given; /* a mean, or NULL */
    double *result;
} rows_job;

static csrec_status run_mean(const csrec_context *context, void *job, csrec_error *error) {
    const rows_job *j = job;
    return engines[context->kind]->mean(context, &j->rows, j->result, error);
}

static csrec_status run_center(const csrec_context *context, void *job, csrec_error *error) {
    const rows_job *j = job;
    return engines[context->kind]->center(context, &j->rows, j->given, error);
}

static csrec_status run_covariance(const csrec_context *context, void *job, csrec_error *error) {
    const rows_job *j = job;
    return engines[context->kind]->covariance(context, &j->rows, j->given, j->result, error);
}

static bool covariance_pays(csrec_device_kind kind, const void *job) {
    const csrec_rows *rows = &((const rows_job *)job)->rows;
    return engines[kind] && engines[kind]->covariance_pays(rows->m, rows->n, rows->threads);
}

static csrec_rows rows_of(int64_t m, int64_t n, const float *X, const double *weights,
                          int threads) {
    return (csrec_rows){m, n, (float *)(uintptr_t)X, weights, threads};
}

csrec_status csrec_mean_on(const char *backend, int64_t m, int64_t n, const float *X,
                           const double *weights, int threads, double *mean, csrec_error *error) {
    static const csrec_device_work work = {.run = run_mean};
    rows_job job = {.rows = rows_of(m, n, X, weights, threads), .result = mean};
    return csrec_device_run(backend, &work, &job, NULL, error);
}

csrec_status csrec_center_on(const char *backend, int64_t m, int64_t n, float *X,
                             const double *mean, int threads, csrec_error *error) {
    static const csrec_device_work work = {.run = run_center};
    rows_job job = {.rows = rows_of(m, n, X, NULL, threads), .given = mean};
    return csrec_device_run(backend, &work, &job, NULL, error);
}

csrec_status csrec_covariance_on(const char *backend, int64_t m, int64_t n, const float *X,
                                 const double *weights, const double *mean, int threads, double *C,
                                 csrec_error *error) {
    static const csrec_device_work work = {.device_faster = covariance_pays, .run = run_covariance};
    rows_job job = {.rows = rows_of(m, n, X, weights, threads), .given = mean, .result = C};
    return csrec_device_run(backend, &work, &job, NULL, error);
}

/* ---- data read in pieces */

typedef struct stream_job {
    const csrec_data *data;
    int threads;
    csrec_progress_fn progress;
    void *caller;
    double *mean, *C;
    bool *stopped;
} stream_job;

static csrec_status run_stream(const csrec_context *context, void *job, csrec_error *error) {
    const stream_job *j = job;
    return engines[context->kind]->stream(context, j->data, j->threads, j->progress, j->caller,
                                          j->mean, j->C, j->stopped, error);
}

static bool stream_pays(csrec_device_kind kind, const void *job) {
    const stream_job *j = job;
    return engines[kind] && engines[kind]->covariance_pays(j->data->m, j->data->n, j->threads);
}

csrec_status csrec_stream_on(const char *backend, const csrec_data *data, int threads,
                             csrec_progress_fn progress, void *context, double *mean, double *C,
                             bool *stopped, const char **used, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = stream_pays, .run = run_stream};
    stream_job job = {data, threads, progress, context, mean, C, stopped};
    csrec_device_ran ran;
    csrec_status status = csrec_device_run(backend, &work, &job, &ran, error);
    *used = ran.device;
    return status;
}

/* ---- eigenvectors */

typedef struct eigen_job {
    int n, count;
    double *A, *values, *V;
} eigen_job;

static csrec_status run_eigen(const csrec_context *context, void *job, csrec_error *error) {
    const eigen_job *j = job;
    return engines[context->kind]->eigen(context, j->n, j->A, j->count, j->values, j->V, error);
}

static bool eigen_pays(csrec_device_kind kind, const void *job) {
    const eigen_job *j = job;
    return engines[kind] && engines[kind]->eigen_pays(j->n, j->count);
}

csrec_status csrec_eigen_largest_on(const char *backend, int n, double *A, int count,
                                    double *values, double *V, const char **used,
                                    csrec_error *error) {
    static const csrec_device_work work = {.device_faster = eigen_pays, .run = run_eigen};
    eigen_job job = {n, count, A, values, V};
    csrec_device_ran ran;
    csrec_status status = csrec_device_run(backend, &work, &job, &ran, error);
    *used = ran.device;
    return status;
}
