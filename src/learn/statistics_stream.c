/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics_stream.c - mean and covariance of data that are read in pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/data.h"

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

static csrec_status read_held(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    const csrec_held *held = context;
    int64_t n = held->data.n;
    (void)error;
    memcpy(X, held->X + first * n, (size_t)(count * n) * sizeof *X);
    return CSREC_OK;
}

csrec_status csrec_data_each(const csrec_data *data, const csrec_data_pass *pass, bool *stopped,
                             csrec_error *error) {
    const int64_t rows = csrec_data_piece(data);
    const csrec_held *held = data->read == read_held ? data->context : NULL;
    float *piece = held ? NULL : malloc((size_t)(rows * data->n) * sizeof *piece);
    csrec_status status = CSREC_OK;
    if (!held && !piece)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for a piece of the data");
    for (int64_t first = 0; first < data->m && !status && !*stopped; first += rows) {
        int64_t count = data->m - first < rows ? data->m - first : rows;
        csrec_progress now = {pass->stage, pass->number * data->m + first,
                              pass->of > 0 ? pass->of * data->m : data->m, -1.0};
        if (pass->progress && pass->progress(&now, pass->context)) *stopped = true;
        const float *X = held ? held->X + first * data->n : piece;
        if (!held && !*stopped) status = data->read(data->context, first, count, piece, error);
        if (!status && !*stopped) status = pass->take(pass->taker, first, count, X, error);
    }
    free(piece);
    return status;
}

/* ------------------------------------------------------------------ in memory */

static csrec_status keep_piece(void *context, int64_t first, int64_t count, const float *X,
                               csrec_error *error) {
    csrec_held *held = context;
    int64_t n = held->data.n;
    (void)error;
    memcpy(held->X + first * n, X, (size_t)(count * n) * sizeof *X);
    return CSREC_OK;
}

csrec_status csrec_data_hold(const csrec_data *data, const csrec_data_pass *pass, csrec_held *held,
                             bool *stopped, csrec_error *error) {
    *held = (csrec_held){.data = *data};
    csrec_data_pass own = {"reading", pass->progress, pass->context, keep_piece, held, 0, 0};
    uint64_t bytes = (uint64_t)data->m * (uint64_t)data->n * sizeof(float);
    if (csrec_memory_check(bytes, 2, "data", NULL)) return CSREC_OK;
    held->X = malloc((size_t)bytes);
    csrec_status status = held->X ? csrec_data_each(data, &own, stopped, error)
                                  : csrec_fail(error, CSREC_MEMORY, "out of memory for the data");
    held->data.read = read_held;
    held->data.context = held;
    return status;
}

/* ------------------------------------------------------------------ statistics */

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
    csrec_status status = csrec_data_check(data, error);
    if (!status) status = csrec_statistics_create(data->n, threads, &t.statistics, error);
    if (status) return status;
    status = stream_run(data, &pass, mean, C, stopped, error);
    csrec_statistics_destroy(t.statistics);
    return status;
}
