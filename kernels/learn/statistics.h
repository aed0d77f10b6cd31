/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.h - mean, centring and covariance of a float matrix on a device.
 *
 * learn/statistics.c is the reference. Sums of the mean are in double; the covariance multiplies
 * rows less the mean on tensor cores, each number as the sum of two halves (covariance.cu). The
 * order of summation depends on the shape only: results are bitwise reproducible. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

typedef struct csrec_cuda_statistics csrec_cuda_statistics;

/* For rows of n columns that come `rows` at a time or fewer. Allocates the memory of all later
 * calls; covariance: also that of the second pass, packed for up to `rows` rows at once or, where
 * that does not fit, for parts of them. CSREC_MEMORY names the bytes needed and had. */
csrec_status csrec_cuda_statistics_create(int64_t n, int64_t rows, bool covariance,
                                          csrec_cuda_statistics **statistics, csrec_error *error);
void csrec_cuda_statistics_destroy(csrec_cuda_statistics *statistics);

/* Upper bound on the bytes of csrec_cuda_statistics_create besides rows and weights. */
int64_t csrec_cuda_statistics_bytes(int64_t n, int64_t rows, bool covariance);

/* X [m][n] and weights [m] (or NULL) lie on the device. First all rows, then
 * csrec_cuda_statistics_mean (weight: the sum of weights, m without them) or, for a mean that is
 * known, csrec_cuda_statistics_set_mean (host); then all rows again for the covariance. */
csrec_status csrec_cuda_statistics_add_mean(csrec_cuda_statistics *statistics, int64_t m,
                                            const float *X, const double *weights,
                                            csrec_error *error);
csrec_status csrec_cuda_statistics_mean(csrec_cuda_statistics *statistics, double weight,
                                        csrec_error *error);
csrec_status csrec_cuda_statistics_set_mean(csrec_cuda_statistics *statistics, const double *mean,
                                            csrec_error *error);
csrec_status csrec_cuda_statistics_get_mean(const csrec_cuda_statistics *statistics, double *mean,
                                            csrec_error *error);

/* X_ij = (float)(X_ij - mean_j). */
csrec_status csrec_cuda_statistics_center(const csrec_cuda_statistics *statistics, int64_t m,
                                          float *X, csrec_error *error);

csrec_status csrec_cuda_statistics_add_covariance(csrec_cuda_statistics *statistics, int64_t m,
                                                  const float *X, const double *weights,
                                                  csrec_error *error);
/* C /= weight. Stays on the device; *C is valid as long as statistics. */
csrec_status csrec_cuda_statistics_covariance(csrec_cuda_statistics *statistics, double weight,
                                              double **C, csrec_error *error);

/* Resets the sums to zero for new rows; nothing is freed. */
csrec_status csrec_cuda_statistics_reset(csrec_cuda_statistics *statistics, csrec_error *error);

CSREC_C_END
