/* statistics.h - mean, centring and covariance as backends are asked for them. */
#ifndef CSREC_DEVICE_STATISTICS_H
#define CSREC_DEVICE_STATISTICS_H

#include "base/error.h"

/* As csrec_mean, csrec_center, csrec_covariance; all arrays in host memory. */
typedef struct csrec_statistics_device {
    csrec_status (*mean)(int64_t m, int64_t n, const float *X, const double *weights, double *mean,
                         csrec_error *error);
    csrec_status (*center)(int64_t m, int64_t n, float *X, const double *mean, csrec_error *error);
    csrec_status (*covariance)(int64_t m, int64_t n, const float *X, const double *weights,
                               const double *mean, double *C, csrec_error *error);
    /* Whether auto should take the device for a covariance, transfers counted. A mean or a centring
     * alone never pays: the CPU has read the rows before they are there. */
    bool (*covariance_pays)(int64_t m, int64_t n, int threads);
} csrec_statistics_device;

#endif
