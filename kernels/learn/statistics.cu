/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.cu - mean, centring and covariance of rows on a device, whole or in chunks. */
#include <math.h>
#include <stdlib.h>

#include "kernels/learn/statistics_state.h"

struct csrec_cuda_statistics {
    csrec_cuda_block memory;
    csrec_cuda_groups groups;
    int64_t n;
    bool ranged; /* low and high cover all rows, unweighted: no pass for the peaks */
    double *sum, *mean, *parts;
    float *low, *high, *peak, *ends;
    bool has_covariance;
    csrec_cuda_covariance covariance;
};

__global__ void clear_columns(int64_t n, double *sum, float *low, float *high) {
    const int64_t j = csrec_cuda_thread();
    if (j >= n) return;
    sum[j] = 0.0;
    low[j] = INFINITY;
    high[j] = -INFINITY;
}

__global__ void divide_sums(int64_t n, double weight, const double *sum, const float *low,
                            const float *high, double *mean, float *peak) {
    const int64_t j = csrec_cuda_thread();
    if (j >= n) return;
    const double middle = sum[j] / weight;
    mean[j] = middle;
    peak[j] = (float)fmax((double)high[j] - middle, middle - (double)low[j]);
}

static void lay_out(csrec_cuda_statistics *s) {
    csrec_cuda_block *block = &s->memory;
    const int64_t length = csrec_cuda_groups_parts(&s->groups) * 4 * s->groups.quads;
    csrec_cuda_take(block, s->n, &s->sum, &s->mean, &s->low, &s->high, &s->peak);
    csrec_cuda_take(block, length, &s->parts);
    csrec_cuda_take(block, 2 * length, &s->ends);
    if (s->has_covariance) csrec_cuda_covariance_take(&s->covariance, block);
}

static csrec_cuda_statistics plan(int64_t n, int64_t rows, bool covariance, size_t limit) {
    csrec_cuda_statistics s = {};
    s.n = n;
    s.groups = csrec_cuda_groups_of(n);
    s.has_covariance = covariance;
    if (covariance) csrec_cuda_covariance_plan(&s.covariance, n, rows, limit);
    lay_out(&s);
    return s;
}

int64_t csrec_cuda_statistics_bytes(int64_t n, int64_t rows, bool covariance) {
    return (int64_t)plan(n, rows, covariance, (size_t)1 << 62).memory.used;
}

csrec_status csrec_cuda_statistics_create(int64_t n, int64_t rows, bool covariance,
                                          csrec_cuda_statistics **statistics, csrec_error *error) {
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    csrec_cuda_statistics *s = (csrec_cuda_statistics *)malloc(sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    *s = plan(n, rows, covariance, (size_t)1 << 62);
    const size_t most = size.free - size.free / 16;
    if (s->memory.used > most) {
        *s = plan(n, rows, covariance, 0); /* the least */
        const size_t spare = s->memory.used < most ? most - s->memory.used : 0;
        *s = plan(n, rows, covariance, spare);
    }
    csrec_status status = csrec_cuda_block_create(&s->memory, "a covariance", error);
    if (!status) {
        lay_out(s);
        status = csrec_cuda_statistics_reset(s, error);
    }
    return CSREC_SETTLE(status, csrec_cuda_statistics_destroy(s), *statistics = s);
}

void csrec_cuda_statistics_destroy(csrec_cuda_statistics *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

csrec_status csrec_cuda_statistics_reset(csrec_cuda_statistics *s, csrec_error *error) {
    csrec_status status =
        CSREC_CUDA_EACH(clear_columns, s->n, 128, error, s->n, s->sum, s->low, s->high);
    s->ranged = true;
    if (status || !s->has_covariance) return status;
    return csrec_cuda_clear(s->covariance.C, (size_t)(s->n * s->n) * sizeof(double), NULL, error);
}

csrec_status csrec_cuda_statistics_add_mean(csrec_cuda_statistics *s, int64_t m, const float *X,
                                            const double *weights, csrec_error *error) {
    if (weights) s->ranged = false;
    return csrec_cuda_rows_sum(&s->groups, m, X, weights, s->parts, s->ends, s->sum, s->low,
                               s->high, error);
}

csrec_status csrec_cuda_statistics_mean(csrec_cuda_statistics *s, double weight,
                                        csrec_error *error) {
    return CSREC_CUDA_EACH(divide_sums, s->n, 128, error, s->n, weight, s->sum, s->low, s->high,
                           s->mean, s->peak);
}

csrec_status csrec_cuda_statistics_set_mean(csrec_cuda_statistics *s, const double *mean,
                                            csrec_error *error) {
    s->ranged = false;
    return csrec_cuda_copy(s->mean, mean, (size_t)s->n * sizeof *mean, error);
}

csrec_status csrec_cuda_statistics_get_mean(const csrec_cuda_statistics *s, double *mean,
                                            csrec_error *error) {
    return csrec_cuda_copy(mean, s->mean, (size_t)s->n * sizeof *mean, error);
}

csrec_status csrec_cuda_statistics_center(const csrec_cuda_statistics *s, int64_t m, float *X,
                                          csrec_error *error) {
    return csrec_cuda_rows_center(s->n, m, X, s->mean, error);
}

csrec_status csrec_cuda_statistics_add_covariance(csrec_cuda_statistics *s, int64_t m,
                                                  const float *X, const double *weights,
                                                  csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (weights || !s->ranged)
        status = csrec_cuda_rows_peak(&s->groups, m, X, weights, s->mean, s->ends, s->peak, error);
    if (weights) s->ranged = false;
    return status
               ? status
               : csrec_cuda_covariance_add(&s->covariance, m, X, weights, s->mean, s->peak, error);
}

csrec_status csrec_cuda_statistics_covariance(csrec_cuda_statistics *s, double weight, double **C,
                                              csrec_error *error) {
    *C = s->covariance.C;
    return csrec_cuda_covariance_divide(&s->covariance, weight, error);
}
