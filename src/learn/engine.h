/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - mean, covariance and eigenvectors as a device is asked for them. */
#pragma once

#include "base/eigen.h"
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
 * without C) and csrec_eigen_largest. */
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

/* ---- passes over a data matrix that is read in pieces, and statistics beyond csrec.h. */

typedef struct csrec_data_pass {
    const char *stage;
    csrec_progress_fn progress; /* may be NULL */
    void *context;
    csrec_status (*take)(void *taker, int64_t first, int64_t count, const float *X,
                         csrec_error *error);
    void *taker;
    int64_t number, of; /* the pass is one of so many; 0: a single one */
} csrec_data_pass;

csrec_status csrec_data_check(const csrec_data *data, csrec_error *error);

/* Rows of a piece: 4 MiB, at least 8 rows. */
int64_t csrec_data_piece(const csrec_data *data);

/* Passes all rows to pass->take in order, a piece at a time. */
csrec_status csrec_data_each(const csrec_data *data, const csrec_data_pass *pass, bool *stopped,
                             csrec_error *error);

/* CSREC_DATA if a row that was centred on a device is not finite, as csrec_center. */
csrec_status csrec_statistics_check_centred(int64_t m, int64_t n, const float *X, int threads,
                                            csrec_error *error);
