/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - mean, covariance and eigenvectors as a device is asked for them. */
#ifndef CSREC_LEARN_ENGINE_H
#define CSREC_LEARN_ENGINE_H

#include "csrec/learn.h"
#include "device/device.h"

/* A data matrix in host memory: X [m][n] rows, weights [m] or NULL. */
typedef struct csrec_rows {
    int64_t m, n;
    float *X; /* changed by `center` alone */
    const double *weights;
    int threads; /* the CPU's */
} csrec_rows;

/* As csrec_mean, csrec_center, csrec_covariance, csrec_statistics_stream (which may write the mean
 * without C) and csrec_eigen_largest of learn/eigen.h. */
typedef struct csrec_learn_engine {
    csrec_status (*mean)(const csrec_context *context, const csrec_rows *rows, double *mean,
                         csrec_error *error);
    csrec_status (*center)(const csrec_context *context, const csrec_rows *rows, const double *mean,
                           csrec_error *error);
    /* mean: NULL, or the one to take. */
    csrec_status (*covariance)(const csrec_context *context, const csrec_rows *rows,
                               const double *mean, double *C, csrec_error *error);
    csrec_status (*stream)(const csrec_context *context, const csrec_data *data, int threads,
                           csrec_progress_fn progress, void *caller, double *mean, double *C,
                           bool *stopped, csrec_error *error);
    csrec_status (*eigen)(const csrec_context *context, int n, double *A, int count, double *values,
                          double *V, csrec_error *error);
    /* Whether what `eigen` needs is there; NULL: always. */
    csrec_status (*eigen_usable)(csrec_error *error);
    /* Whether auto should take the device, transfers counted. A mean or a centring alone never
     * covariance_pays: the CPU has read the rows before they are there. */
    bool (*covariance_pays)(int64_t m, int64_t n, int threads);
    bool (*eigen_pays)(int n, int count);
} csrec_learn_engine;

extern const csrec_learn_engine csrec_learn_cpu, csrec_learn_cuda;

/* CSREC_OK if a learner can work on the device of this name, so that it does not fail half way:
 * CSREC_ARGUMENT, CSREC_DEVICE. auto always can. */
csrec_status csrec_learn_usable(const char *backend, csrec_error *error);

/* csrec_statistics_stream and csrec_eigen_largest (A is destroyed) on the device of this name;
 * *used is the name of the one that did it. */
csrec_status csrec_stream_on(const char *backend, const csrec_data *data, int threads,
                             csrec_progress_fn progress, void *context, double *mean, double *C,
                             bool *stopped, const char **used, csrec_error *error);
csrec_status csrec_eigen_largest_on(const char *backend, int n, double *A, int count,
                                    double *values, double *V, const char **used,
                                    csrec_error *error);

#endif
