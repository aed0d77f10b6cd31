/* stream.c - mean and covariance on a device of data that are read in pieces. */
#include <math.h>

#include "kernels/device/device.h"
#include "kernels/device/pipe.h"
#include "kernels/learn/engine.h"
#include "kernels/learn/statistics.h"
#include "learn/data.h"

typedef csrec_status (*add_fn)(csrec_cuda_statistics *statistics, int64_t m, const float *X,
                               const double *weights, csrec_error *error);

/* Rows are buffered on the device: each call for a covariance reads and writes the whole matrix. */
typedef struct stream {
    int64_t n, room, waiting;
    float *X; /* [room][n] on the device */
    csrec_cuda_block memory;
    csrec_cuda_pipe pipe;
    csrec_cuda_statistics *statistics;
    add_fn add;
} stream;

static csrec_status add_waiting(stream *s, csrec_error *error) {
    int64_t rows = s->waiting;
    s->waiting = 0;
    return rows ? s->add(s->statistics, rows, s->X, NULL, error) : CSREC_OK;
}

static csrec_status take(void *context, int64_t first, int64_t count, const float *X,
                         csrec_error *error) {
    stream *s = context;
    (void)first;
    csrec_status status = s->waiting + count > s->room ? add_waiting(s, error) : CSREC_OK;
    if (!status)
        status = csrec_cuda_pipe_send(&s->pipe, s->X + s->waiting * s->n, X,
                                      (size_t)(count * s->n) * sizeof *X, error);
    s->waiting += count;
    return status;
}

static csrec_status check_finite(int64_t n, const double *values, int64_t step,
                                 csrec_error *error) {
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(values[j * step]))
            return csrec_fail(error, CSREC_DATA, "X: column %lld is not finite", (long long)j);
    return CSREC_OK;
}

static csrec_status pass_over(stream *s, const csrec_data *data, csrec_data_pass *pass,
                              const char *stage, add_fn add, bool *stopped, csrec_error *error) {
    pass->stage = stage;
    s->add = add;
    csrec_status status = csrec_data_each(data, pass, stopped, error);
    return status || *stopped ? status : add_waiting(s, error);
}

static csrec_status run(stream *s, const csrec_data *data, csrec_data_pass *pass, double *mean,
                        double *C, bool *stopped, csrec_error *error) {
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

static csrec_status start(stream *s, const csrec_data *data, int64_t piece, csrec_error *error) {
    const int64_t row = s->n * (int64_t)sizeof(float), most = (INT64_C(64) << 20) / row;
    s->room = most > piece ? most : piece;
    if (s->room > data->m) s->room = data->m;
    csrec_cuda_block_take(&s->memory, s->room * s->n, sizeof *s->X);
    csrec_status status = csrec_cuda_block_create(&s->memory, "pieces of the data", error);
    if (status) return status;
    s->X = csrec_cuda_block_take(&s->memory, s->room * s->n, sizeof *s->X);
    csrec_cuda_pipe_open((size_t)(piece * row), &s->pipe);
    return csrec_cuda_statistics_create(s->n, s->room, true, &s->statistics, error);
}

csrec_status csrec_cuda_stream(const csrec_context *context, const csrec_data *data, int threads,
                               csrec_progress_fn progress, void *caller, double *mean, double *C,
                               bool *stopped, csrec_error *error) {
    stream s = {.n = data->n};
    bool own = false;
    csrec_data_pass pass = {.progress = progress, .context = caller, .take = take, .taker = &s};
    (void)threads;
    csrec_status status = csrec_data_check(data, error);
    if (!status) status = csrec_cuda_enter(context, error);
    if (status) return status;
    if (!stopped) stopped = &own;
    *stopped = false;
    status = start(&s, data, csrec_data_piece(data), error);
    if (!status) status = run(&s, data, &pass, mean, C, stopped, error);
    csrec_cuda_statistics_destroy(s.statistics);
    csrec_cuda_pipe_destroy(&s.pipe);
    csrec_cuda_block_destroy(&s.memory);
    return status;
}
