/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - statistics and eigenvectors on a device. The same bits for the same shape and device
 * memory. */
#include "learn/engine.h"

#include <math.h>

#include "base/threads.h"
#include "kernels/device/device.h"
#include "kernels/device/pipe.h"
#include "kernels/learn/statistics.h"
#include "shim/eigen.h"

/* Uploaded whole or in chunks. */
typedef struct rows {
    int64_t m, n, chunk; /* chunk: rows on the device at once, a multiple of 4 or all */
    const float *X;
    const double *weights;
    double weight;
    bool there; /* all are on the device */
    csrec_cuda_block memory;
    csrec_cuda_pipe pipe;
    float *chunk_X;
    double *chunk_weights;
    csrec_cuda_statistics *statistics;
} rows;

static void lay_out(rows *r) {
    r->chunk_X = csrec_cuda_block_take(&r->memory, r->chunk * r->n, sizeof *r->chunk_X);
    if (r->weights)
        r->chunk_weights = csrec_cuda_block_take(&r->memory, r->chunk, sizeof *r->chunk_weights);
}

/* All rows if they fit beside what the covariance needs for them, else the most that do. */
static csrec_status choose_chunk(rows *r, bool covariance, csrec_error *error) {
    enum { LEAST = 1 << 10 };
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    const int64_t room = (int64_t)(size.free - size.free / 8), row = r->n * 4 + 8;
    r->chunk = r->m;
    while (r->chunk > LEAST &&
           r->chunk * row + csrec_cuda_statistics_bytes(r->n, r->chunk, covariance) > room)
        r->chunk = (r->chunk + 7) / 8 * 4;
    return CSREC_OK;
}

static csrec_status weigh(rows *r, csrec_error *error) {
    if (r->m < 1 || r->n < 1 || r->n > INT64_C(1) << 24)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "m = %lld rows, n = %lld columns; must be at least 1, n at most 2^24",
                          (long long)r->m, (long long)r->n);
    for (int64_t i = 0; i < r->m; i++) {
        double weight = r->weights ? r->weights[i] : 1.0;
        if (!(weight >= 0.0 && isfinite(weight)))
            return csrec_fail(error, CSREC_DATA, "weights: %g at row %lld; must be finite, >= 0",
                              weight, (long long)i);
        r->weight += weight;
    }
    if (!(r->weight > 0.0))
        return csrec_fail(error, CSREC_DATA, "weights: their sum is 0; give rows with weight");
    return CSREC_OK;
}

static csrec_status start(rows *r, const csrec_context *context, bool covariance,
                          csrec_error *error) {
    CSREC_TRY(csrec_cuda_enter(context, error));
    CSREC_TRY(weigh(r, error));
    CSREC_TRY(choose_chunk(r, covariance, error));
    lay_out(r);
    CSREC_TRY(csrec_cuda_block_create(&r->memory, "a chunk of rows", error));
    lay_out(r);
    csrec_cuda_pipe_create((size_t)(r->chunk * r->n) * sizeof(float), &r->pipe);
    return csrec_cuda_statistics_create(r->n, r->chunk, covariance, &r->statistics, error);
}

static void finish(rows *r) {
    csrec_cuda_statistics_destroy(r->statistics);
    csrec_cuda_pipe_destroy(&r->pipe);
    csrec_cuda_block_destroy(&r->memory);
}

static csrec_status send(rows *r, int64_t first, int64_t count, csrec_error *error) {
    if (r->there) return CSREC_OK;
    csrec_status status = csrec_cuda_pipe_send(&r->pipe, r->chunk_X, r->X + first * r->n,
                                               (size_t)(count * r->n) * sizeof *r->X, error);
    if (!status && r->weights)
        status = csrec_cuda_pipe_send(&r->pipe, r->chunk_weights, r->weights + first,
                                      (size_t)count * sizeof *r->weights, error);
    r->there = r->chunk == r->m;
    return status;
}

typedef csrec_status (*pass_fn)(csrec_cuda_statistics *statistics, int64_t m, const float *X,
                                const double *weights, csrec_error *error);

static csrec_status pass(rows *r, pass_fn add, csrec_error *error) {
    for (int64_t i = 0; i < r->m; i += r->chunk) {
        int64_t count = r->m - i < r->chunk ? r->m - i : r->chunk;
        CSREC_TRY(send(r, i, count, error));
        CSREC_TRY(
            add(r->statistics, count, r->chunk_X, r->weights ? r->chunk_weights : NULL, error));
    }
    return CSREC_OK;
}

static csrec_status find_mean(rows *r, csrec_error *error) {
    csrec_status status = pass(r, csrec_cuda_statistics_add_mean, error);
    return status ? status : csrec_cuda_statistics_mean(r->statistics, r->weight, error);
}

static csrec_status check_finite(int64_t n, const double *values, int64_t step,
                                 csrec_error *error) {
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(values[j * step]))
            return csrec_fail(error, CSREC_DATA, "X: column %lld is not finite", (long long)j);
    return CSREC_OK;
}

static rows rows_of(const csrec_rows *given) {
    return (rows){.m = given->m, .n = given->n, .X = given->X, .weights = given->weights};
}

static csrec_status mean(const csrec_context *context, const csrec_rows *given, double *mean,
                         csrec_error *error) {
    rows r = rows_of(given);
    csrec_status status = start(&r, context, false, error);
    if (!status) status = find_mean(&r, error);
    if (!status) status = csrec_cuda_statistics_get_mean(r.statistics, mean, error);
    finish(&r);
    return status ? status : check_finite(given->n, mean, 1, error);
}

static csrec_status center(const csrec_context *context, const csrec_rows *given,
                           const double *mean, csrec_error *error) {
    rows r = rows_of(given);
    int64_t n = r.n;
    csrec_status status = start(&r, context, false, error);
    if (!status) status = csrec_cuda_statistics_set_mean(r.statistics, mean, error);
    for (int64_t i = 0; i < r.m && !status; i += r.chunk) {
        int64_t count = r.m - i < r.chunk ? r.m - i : r.chunk;
        status = send(&r, i, count, error);
        if (!status) status = csrec_cuda_statistics_center(r.statistics, count, r.chunk_X, error);
        if (!status)
            status = csrec_cuda_pipe_receive(&r.pipe, given->X + i * n, r.chunk_X,
                                             (size_t)(count * n) * sizeof *given->X, error);
    }
    finish(&r);
    if (status) return status;
    return csrec_statistics_check_centred(given->m, n, given->X, given->threads, error);
}

static csrec_status covariance(const csrec_context *context, const csrec_rows *given,
                               const double *mean, double *C, csrec_error *error) {
    rows r = rows_of(given);
    int64_t n = r.n;
    double *device_C = NULL;
    csrec_status status = start(&r, context, true, error);
    if (!status)
        status =
            mean ? csrec_cuda_statistics_set_mean(r.statistics, mean, error) : find_mean(&r, error);
    if (!status) status = pass(&r, csrec_cuda_statistics_add_covariance, error);
    if (!status)
        status = csrec_cuda_statistics_covariance(r.statistics, r.weight, &device_C, error);
    if (!status)
        status = csrec_cuda_pipe_receive(&r.pipe, C, device_C, (size_t)(n * n) * sizeof *C, error);
    finish(&r);
    return status ? status : check_finite(n, C, n + 1, error);
}

/* Seconds, measured from host memory to host memory (bench/cuda.py): a thread of the CPU takes
 * 7e10 products a second, rows are uploaded at 10e9 bytes a second, and a process's first use of a
 * device takes 0.2 s. */
static bool covariance_pays(int64_t m, int64_t n, int threads) {
    const double entries = (double)m * (double)n;
    return entries * (double)n / (7e10 * csrec_threads_wanted(threads)) >
           0.2 + 4.0 * entries / 10e9;
}

/* Rows are buffered on the device: each call for a covariance reads and writes the whole matrix. */
typedef struct stream {
    int64_t n, room, waiting;
    float *X; /* [room][n] on the device */
    csrec_cuda_block memory;
    csrec_cuda_pipe pipe;
    csrec_cuda_statistics *statistics;
    pass_fn add;
} stream;

static csrec_status add_waiting(stream *s, csrec_error *error) {
    const int64_t count = s->waiting;
    s->waiting = 0;
    return count ? s->add(s->statistics, count, s->X, NULL, error) : CSREC_OK;
}

static csrec_status take_piece(void *context, int64_t first, int64_t count, const float *X,
                               csrec_error *error) {
    stream *s = context;
    (void)first;
    CSREC_TRY(s->waiting + count > s->room ? add_waiting(s, error) : CSREC_OK);
    CSREC_TRY(csrec_cuda_pipe_send(&s->pipe, s->X + s->waiting * s->n, X,
                                   (size_t)(count * s->n) * sizeof *X, error));
    s->waiting += count;
    return CSREC_OK;
}

static csrec_status pass_over(stream *s, const csrec_data *data, csrec_data_pass *pass,
                              const char *stage, pass_fn add, bool *stopped, csrec_error *error) {
    pass->stage = stage;
    s->add = add;
    csrec_status status = csrec_data_each(data, pass, stopped, error);
    return status || *stopped ? status : add_waiting(s, error);
}

static csrec_status run_stream(stream *s, const csrec_data *data, csrec_data_pass *pass,
                               double *mean, double *C, bool *stopped, csrec_error *error) {
    const double m = (double)data->m;
    double *found = NULL;
    csrec_status status =
        pass_over(s, data, pass, "mean", csrec_cuda_statistics_add_mean, stopped, error);
    if (status || *stopped) return status;
    status = csrec_cuda_statistics_mean(s->statistics, m, error);
    if (!status) status = csrec_cuda_statistics_get_mean(s->statistics, mean, error);
    if (!status) status = check_finite(s->n, mean, 1, error);
    if (!status)
        status = pass_over(s, data, pass, "covariance", csrec_cuda_statistics_add_covariance,
                           stopped, error);
    if (status || *stopped) return status;
    status = csrec_cuda_statistics_covariance(s->statistics, m, &found, error);
    if (!status)
        status =
            csrec_cuda_pipe_receive(&s->pipe, C, found, (size_t)(s->n * s->n) * sizeof *C, error);
    return status ? status : check_finite(s->n, C, s->n + 1, error);
}

static csrec_status start_stream(stream *s, const csrec_data *data, int64_t piece,
                                 csrec_error *error) {
    const int64_t row = s->n * (int64_t)sizeof(float), most = (INT64_C(64) << 20) / row;
    s->room = most > piece ? most : piece;
    if (s->room > data->m) s->room = data->m;
    csrec_cuda_block_take(&s->memory, s->room * s->n, sizeof *s->X);
    CSREC_TRY(csrec_cuda_block_create(&s->memory, "pieces of the data", error));
    s->X = csrec_cuda_block_take(&s->memory, s->room * s->n, sizeof *s->X);
    csrec_cuda_pipe_open((size_t)(piece * row), &s->pipe);
    return csrec_cuda_statistics_create(s->n, s->room, true, &s->statistics, error);
}

/* Pieces are uploaded as they are read, so data may be larger than either memory. CSREC_MEMORY: a
 * covariance of n columns does not fit. */
static csrec_status stream_data(const csrec_context *context, const csrec_data *data, int threads,
                                csrec_progress_fn progress, void *caller, double *mean, double *C,
                                bool *stopped, csrec_error *error) {
    stream s = {.n = data->n};
    bool own = false;
    csrec_data_pass pass = {
        .progress = progress, .context = caller, .take = take_piece, .taker = &s};
    (void)threads;
    CSREC_TRY(csrec_data_check(data, error));
    CSREC_TRY(csrec_cuda_enter(context, error));
    if (!stopped) stopped = &own;
    *stopped = false;
    csrec_status status = start_stream(&s, data, csrec_data_piece(data), error);
    if (!status) status = run_stream(&s, data, &pass, mean, C, stopped, error);
    csrec_cuda_statistics_destroy(s.statistics);
    csrec_cuda_pipe_destroy(&s.pipe);
    csrec_cuda_block_destroy(&s.memory);
    return status;
}

static void swap(int64_t count, double *a, double *b) {
    for (int64_t i = 0; i < count; i++) {
        double was = a[i];
        a[i] = b[i];
        b[i] = was;
    }
}

/* From ascending order to that of csrec_eigen_largest. */
static void turn_round(int n, int count, double *values, double *V) {
    for (int k = 0; k < count / 2; k++) {
        swap(1, values + k, values + count - 1 - k);
        swap(n, V + (int64_t)k * n, V + (int64_t)(count - 1 - k) * n);
    }
    for (int k = 0; k < count; k++) csrec_eigen_sign(n, V + (int64_t)k * n);
}

static csrec_status check_matrix(int n, const double *A, int count, csrec_error *error) {
    if (n < 1 || n > 1 << 15 || count < 1 || count > n)
        return csrec_fail(error, CSREC_ARGUMENT, "%d eigenvectors of %d x %d; at most 32768", count,
                          n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!isfinite(A[i * n + j]))
                return csrec_fail(error, CSREC_DATA,
                                  "the eigenvectors of %d x %d were not found; is the data finite?",
                                  n, n);
    return CSREC_OK;
}

/* By cuSOLVER (shim/eigen.h), in double. A is not changed. */
static csrec_status eigen(const csrec_context *context, int n, double *A, int count, double *values,
                          double *V, csrec_error *error) {
    csrec_status status = check_matrix(n, A, count, error);
    if (!status) status = csrec_cuda_enter(context, error);
    if (!status) status = csrec_shim_eigen(n, A, count, values, V, error);
    if (!status) turn_round(n, count, values, V);
    return status;
}

/* Seconds, with 16 threads and an H200 (bench/cuda.py): LAPACK takes 4.6e-11 n^3, and 1.1e-10
 * n^2 for each vector; cuSOLVER 0.09 for all of n = 2,048, but its first use 0.3, and 0.9 where the
 * library comes from the disk. */
static bool eigen_pays(int n, int count) {
    const double squares = (double)n * (double)n;
    return squares * (4.6e-11 * n + 1.1e-10 * count) > 0.5;
}

const csrec_learn_engine csrec_learn_cuda = {.mean = mean,
                                             .center = center,
                                             .covariance = covariance,
                                             .stream = stream_data,
                                             .eigen = eigen,
                                             .eigen_usable = csrec_shim_eigen_usable,
                                             .covariance_pays = covariance_pays,
                                             .eigen_pays = eigen_pays};
