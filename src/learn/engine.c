/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - statistics and eigenvectors on the device that a name says. */
#include <stdlib.h>

#include "learn/engine.h"

/* ---- mean and covariance of data that are read in pieces. */

int64_t csrec_data_piece(const csrec_data *data) {
    int64_t floats = INT64_C(1) << 20, rows = data->n < floats / 8 ? floats / data->n : 8;
    return rows < data->m ? rows : data->m;
}

csrec_status csrec_data_check(const csrec_data *data, csrec_error *error) {
    if (data->m < 1 || data->n < 1 || data->n > INT64_C(1) << 24 || !data->read)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "data: %lld rows of %lld; both must be at least 1, columns at most 2^24",
                          (long long)data->m, (long long)data->n);
    return CSREC_OK;
}

csrec_status csrec_data_each(const csrec_data *data, const csrec_data_pass *pass, bool *stopped,
                             csrec_error *error) {
    const int64_t rows = csrec_data_piece(data);
    float *piece = malloc((size_t)(rows * data->n) * sizeof *piece);
    csrec_status status = CSREC_OK;
    if (!piece) return csrec_fail(error, CSREC_MEMORY, "out of memory for a piece of the data");
    for (int64_t first = 0; first < data->m && !status && !*stopped; first += rows) {
        int64_t count = data->m - first < rows ? data->m - first : rows;
        csrec_progress now = {pass->stage, pass->number * data->m + first,
                              pass->of > 0 ? pass->of * data->m : data->m, -1.0};
        if (pass->progress && pass->progress(&now, pass->context)) *stopped = true;
        if (!*stopped) status = data->read(data->context, first, count, piece, error);
        if (!status && !*stopped) status = pass->take(pass->taker, first, count, piece, error);
    }
    free(piece);
    return status;
}

typedef struct taker {
    csrec_statistics *statistics;
    const double *weights;
} taker;

static csrec_status take_mean(void *context, int64_t first, int64_t count, const float *X,
                              csrec_error *error) {
    taker *t = context;
    return csrec_statistics_add_mean(t->statistics, count, X,
                                     t->weights ? t->weights + first : NULL, error);
}

static csrec_status take_covariance(void *context, int64_t first, int64_t count, const float *X,
                                    csrec_error *error) {
    taker *t = context;
    return csrec_statistics_add_covariance(t->statistics, count, X,
                                           t->weights ? t->weights + first : NULL, error);
}

/* The results are written only after both passes. */
static csrec_status stream_run(const csrec_data *data, csrec_data_pass *pass, double *mean,
                               double *C, bool *stopped, csrec_error *error) {
    taker *t = pass->taker;
    pass->stage = "mean";
    pass->of = C ? 2 : 1;
    pass->take = take_mean;
    csrec_status status = csrec_data_each(data, pass, stopped, error);
    pass->stage = "covariance";
    pass->number = 1;
    pass->take = take_covariance;
    if (!status && C && !*stopped) status = csrec_statistics_mean(t->statistics, NULL, error);
    if (!status && C && !*stopped) status = csrec_data_each(data, pass, stopped, error);
    if (status || *stopped) return status;
    if (C) status = csrec_statistics_covariance(t->statistics, C, error);
    return status ? status : csrec_statistics_mean(t->statistics, mean, error);
}

csrec_status csrec_statistics_stream(const csrec_data *data, const double *weights, int threads,
                                     csrec_progress_fn progress, void *context, double *mean,
                                     double *C, bool *stopped, csrec_error *error) {
    bool own = false;
    taker t = {.weights = weights};
    csrec_data_pass pass = {.progress = progress, .context = context, .taker = &t};
    if (!stopped) stopped = &own;
    *stopped = false;
    CSREC_TRY(csrec_data_check(data, error));
    CSREC_TRY(csrec_statistics_create(data->n, threads, &t.statistics, error));
    csrec_status status = stream_run(data, &pass, mean, C, stopped, error);
    csrec_statistics_destroy(t.statistics);
    return status;
}

/* ---- statistics and eigenvectors on the CPU, the reference for every device. */

static csrec_status mean(const csrec_context *context, const csrec_rows *rows, double *mean,
                         csrec_error *error) {
    (void)context;
    return csrec_mean(rows->m, rows->n, rows->X, rows->weights, rows->threads, mean, error);
}

static csrec_status center(const csrec_context *context, const csrec_rows *rows, const double *mean,
                           csrec_error *error) {
    (void)context;
    return csrec_center(rows->m, rows->n, rows->X, mean, rows->threads, error);
}

static csrec_status covariance(const csrec_context *context, const csrec_rows *rows,
                               const double *mean, double *C, csrec_error *error) {
    (void)context;
    return csrec_covariance(rows->m, rows->n, rows->X, rows->weights, mean, rows->threads, C,
                            error);
}

static csrec_status stream(const csrec_context *context, const csrec_data *data, int threads,
                           csrec_progress_fn progress, void *caller, double *mean, double *C,
                           bool *stopped, csrec_error *error) {
    (void)context;
    return csrec_statistics_stream(data, NULL, threads, progress, caller, mean, C, stopped, error);
}

static csrec_status eigen(const csrec_context *context, int n, double *A, int count, double *values,
                          double *V, csrec_error *error) {
    (void)context;
    return csrec_eigen_largest(n, A, count, values, V, error);
}

const csrec_learn_engine csrec_learn_cpu = {
    .mean = mean, .center = center, .covariance = covariance, .stream = stream, .eigen = eigen};

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
