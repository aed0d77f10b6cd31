/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics_state.h - declarations shared by the passes of statistics.cu. Only for kernels/. */
#pragma once

#include "kernels/device/device.h"
#include "kernels/learn/statistics.h"

/* Rows are read `group` at a time: group * n floats, a multiple of 4, are `quads` vectors of 16
 * bytes, aligned for every n, and a thread handles the same vector in all groups. */
typedef struct csrec_cuda_groups {
    int64_t n, group, quads;
} csrec_cuda_groups;

csrec_cuda_groups csrec_cuda_groups_of(int64_t n);

/* Maximum number of parts of the groups. */
int64_t csrec_cuda_groups_parts(const csrec_cuda_groups *groups);

/* Accumulates the columns' sums of w x and extremes of x. parts, ends: scratch,
 * [csrec_cuda_groups_parts][4 quads] and twice that. */
csrec_status csrec_cuda_rows_sum(const csrec_cuda_groups *groups, int64_t m, const float *X,
                                 const double *weights, double *parts, float *ends, double *sum,
                                 float *low, float *high, csrec_error *error);
/* peak_j = max_i sqrt(w_i) |x_ij - mean_j| */
csrec_status csrec_cuda_rows_peak(const csrec_cuda_groups *groups, int64_t m, const float *X,
                                  const double *weights, const double *mean, float *ends,
                                  float *peak, csrec_error *error);
csrec_status csrec_cuda_rows_center(int64_t n, int64_t m, float *X, const double *mean,
                                    csrec_error *error);

typedef struct csrec_cuda_covariance {
    int64_t n, blocks, tiles; /* blocks (blocks + 1) / 2 */
    int64_t rows;             /* packed at once, a multiple of 64 */
    int64_t slices;           /* whose tiles are kept at once */
    double *scale, *unscale;  /* [n] powers of two */
    unsigned short *packed;   /* [rows / 64][blocks][2][128][64] halves, swizzled */
    float *partial;           /* [slices][tiles][128][128] */
    double *C;                /* [n][n] */
} csrec_cuda_covariance;

void csrec_cuda_covariance_plan(csrec_cuda_covariance *c, int64_t n, int64_t rows, size_t limit);
void csrec_cuda_covariance_take(csrec_cuda_covariance *c, csrec_cuda_block *block);
csrec_status csrec_cuda_covariance_add(csrec_cuda_covariance *c, int64_t m, const float *X,
                                       const double *weights, const double *mean, const float *peak,
                                       csrec_error *error);
csrec_status csrec_cuda_covariance_divide(csrec_cuda_covariance *c, double weight,
                                          csrec_error *error);
