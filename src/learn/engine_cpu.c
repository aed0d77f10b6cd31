/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - statistics and eigenvectors on the CPU, the reference for every device. */
#include "learn/engine.h"
#include "learn/eigen.h"

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
