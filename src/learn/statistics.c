/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.c - mean, centring and covariance of the rows of a float matrix, whole or in chunks.
 *
 * Two passes: means are summed in double; the covariance sums products of centred rows, so large
 * numbers do not cancel. Rows are collected to blocks of a fixed number, so the result does not
 * depend on the chunks or the number of threads, to the bit. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "learn/gram.h"
#include "learn/engine.h"

enum { BLOCK = CSREC_GRAM_BLOCK, ROWS = CSREC_GRAM_PACKED, GROUP = 4 };

struct csrec_statistics {
    int64_t n, blocks;
    int threads;
    double *mean;            /* [n] sums, then means */
    double weight, weight_2; /* of the rows of the first and the second pass */
    bool has_mean;
    int packed;  /* rows waiting */
    float *pack; /* [blocks][ROWS][BLOCK] rows less the mean, times the root of their weight */
    double *C;   /* [blocks (blocks + 1) / 2][BLOCK * BLOCK], blocks of the lower triangle */
    const csrec_gram_set *gram;
};

void csrec_statistics_destroy(csrec_statistics *s) {
    if (!s) return;
    free(s->mean);
    free(s->pack);
    free(s->C);
    free(s);
}

csrec_status csrec_statistics_create(int64_t n, int threads, csrec_statistics **statistics,
                                     csrec_error *error) {
    if (n < 1 || n > INT64_C(1) << 24)
        return csrec_fail(error, CSREC_ARGUMENT, "n = %lld columns; must be 1 to 2^24",
                          (long long)n);
    csrec_statistics *s = calloc(1, sizeof *s);
    if (s) {
        s->n = n;
        s->blocks = (n + BLOCK - 1) / BLOCK;
        s->threads = csrec_threads(threads);
        s->gram = CSREC_CPU_CHOOSE(csrec_gram);
        s->mean = calloc((size_t)n, sizeof *s->mean);
    }
    if (!s || !s->mean) {
        csrec_statistics_destroy(s);
        return csrec_memory_fail(error, NULL);
    }
    *statistics = s;
    return CSREC_OK;
}

/* Adds the weights to *sum one by one, so that chunks do not matter. */
static csrec_status weigh(int64_t m, const double *weights, double *sum, csrec_error *error) {
    double total = *sum;
    if (m < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "m = %lld rows; must be at least 1", (long long)m);
    for (int64_t i = 0; i < m; i++) {
        double weight = weights ? weights[i] : 1.0;
        if (!(weight >= 0.0 && isfinite(weight)))
            return csrec_fail(error, CSREC_DATA, "weights: %g at row %lld; must be finite, >= 0",
                              weight, (long long)i);
        total += weight;
    }
    *sum = total;
    return CSREC_OK;
}

/* Each column is summed over the rows in order, one by one. */
static void add_strip(const csrec_statistics *s, int64_t m, int64_t count, const float *X,
                      const double *weights, double *sum) {
    int64_t i = 0;
    for (; !weights && i + CSREC_SUM_ROWS <= m; i += CSREC_SUM_ROWS)
        s->gram->add(s->n, count, X + i * s->n, sum);
    for (; i < m; i++) {
        double w = weights ? weights[i] : 1.0;
        for (int64_t j = 0; j < count; j++) sum[j] += w * (double)X[i * s->n + j];
    }
}

/* Each thread sums a strip of columns of whole cache lines; more strips if their sums would leave
 * the cache. */
static void add_rows(csrec_statistics *s, int64_t m, const float *X, const double *weights) {
    enum { LINE = 16, MOST = 4096 };
    int64_t n = s->n, strips = (n + s->threads - 1) / s->threads;
    int64_t strip = strips < MOST ? (strips + LINE - 1) / LINE * LINE : MOST;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t first = 0; first < n; first += strip)
        add_strip(s, m, n - first < strip ? n - first : strip, X + first, weights, s->mean + first);
}

csrec_status csrec_statistics_add_mean(csrec_statistics *s, int64_t m, const float *X,
                                       const double *weights, csrec_error *error) {
    if (s->has_mean)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "the mean was computed already; add rows before it");
    CSREC_TRY(weigh(m, weights, &s->weight, error));
    add_rows(s, m, X, weights);
    return CSREC_OK;
}

static csrec_status finish_mean(int64_t n, double weight, double *mean, csrec_error *error) {
    if (!(weight > 0.0))
        return csrec_fail(error, CSREC_DATA, "weights: their sum is 0; give rows with weight");
    for (int64_t j = 0; j < n; j++) {
        mean[j] /= weight;
        if (!isfinite(mean[j]))
            return csrec_fail(error, CSREC_DATA, "X: column %lld is not finite", (long long)j);
    }
    return CSREC_OK;
}

csrec_status csrec_statistics_mean(csrec_statistics *s, double *mean, csrec_error *error) {
    if (!s->has_mean) {
        CSREC_TRY(finish_mean(s->n, s->weight, s->mean, error));
        s->has_mean = true;
    }
    if (mean) memcpy(mean, s->mean, (size_t)s->n * sizeof *mean);
    return CSREC_OK;
}

static int64_t block_at(int64_t i, int64_t j) {
    return i * (i + 1) / 2 + j;
}

/* Pads with rows of zeros to a whole number of the product's steps. */
static int fill_up(csrec_statistics *s) {
    int step = CSREC_GRAM_ROWS, rows = (s->packed + step - 1) / step * step;
    for (int64_t b = 0; b < s->blocks; b++)
        memset(s->pack + (b * ROWS + s->packed) * BLOCK, 0,
               (size_t)((rows - s->packed) * BLOCK) * sizeof *s->pack);
    return rows;
}

/* C += P^T P of the collected rows, lower blocks only. One thread computes each block. Groups of
 * column blocks stay in the cache while the others are read. */
static void flush(csrec_statistics *s) {
    int64_t groups = (s->blocks + GROUP - 1) / GROUP, tasks = groups * s->blocks;
    int rows = fill_up(s);
#pragma omp parallel for schedule(dynamic, 8) num_threads(s->threads)
    for (int64_t task = 0; task < tasks; task++) {
        int64_t first = task / s->blocks * GROUP, j = task % s->blocks;
        int64_t end = first + GROUP < s->blocks ? first + GROUP : s->blocks;
        for (int64_t i = first > j ? first : j; i < end; i++)
            s->gram->multiply(rows, s->pack + i * ROWS * BLOCK, s->pack + j * ROWS * BLOCK,
                              s->C + block_at(i, j) * BLOCK * BLOCK);
    }
    s->packed = 0;
}

static void pack_rows(csrec_statistics *s, int64_t rows, const float *X, const double *weights) {
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t b = 0; b < s->blocks; b++)
        for (int64_t i = 0; i < rows; i++) {
            float *to = s->pack + (b * ROWS + s->packed + i) * BLOCK;
            double root = weights ? sqrt(weights[i]) : 1.0;
            int64_t first = b * BLOCK, count = s->n - first < BLOCK ? s->n - first : BLOCK;
            for (int64_t j = 0; j < count; j++)
                to[j] = (float)(root * ((double)X[i * s->n + first + j] - s->mean[first + j]));
            for (int64_t j = count; j < BLOCK; j++) to[j] = 0.0f;
        }
    s->packed += (int)rows;
}

static csrec_status prepare_second(csrec_statistics *s, csrec_error *error) {
    csrec_status status = csrec_statistics_mean(s, NULL, error);
    size_t bytes = (size_t)block_at(s->blocks, 0) * BLOCK * BLOCK * sizeof *s->C;
    if (status || s->C) return status;
    s->pack =
        aligned_alloc(CSREC_GRAM_ALIGNMENT, (size_t)(s->blocks * ROWS * BLOCK) * sizeof *s->pack);
    s->C = aligned_alloc(CSREC_GRAM_ALIGNMENT, bytes);
    if (s->pack && s->C) {
        memset(s->C, 0, bytes);
        return CSREC_OK;
    }
    free(s->pack);
    free(s->C);
    s->pack = NULL;
    s->C = NULL;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for the covariance of %lld columns",
                      (long long)s->n);
}

csrec_status csrec_statistics_add_covariance(csrec_statistics *s, int64_t m, const float *X,
                                             const double *weights, csrec_error *error) {
    CSREC_TRY(prepare_second(s, error));
    CSREC_TRY(weigh(m, weights, &s->weight_2, error));
    for (int64_t i = 0; i < m;) {
        int64_t rows = m - i < ROWS - s->packed ? m - i : ROWS - s->packed;
        pack_rows(s, rows, X + i * s->n, weights ? weights + i : NULL);
        if (s->packed == ROWS) flush(s);
        i += rows;
    }
    return CSREC_OK;
}

csrec_status csrec_statistics_covariance(csrec_statistics *s, double *C, csrec_error *error) {
    if (!(s->weight_2 > 0.0))
        return csrec_fail(error, CSREC_DATA,
                          "weights: the second pass has none; give the rows again");
    if (s->packed > 0) flush(s);
    for (int64_t j = 0; j < s->n; j++) {
        int64_t b = block_at(j / BLOCK, j / BLOCK) * BLOCK * BLOCK;
        if (!isfinite(s->C[b + (j % BLOCK) * (BLOCK + 1)]))
            return csrec_fail(error, CSREC_DATA,
                              "X: squares of column %lld overflow or are not finite; scale it",
                              (long long)j);
    }
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++) {
            int64_t r = i > j ? i : j, c = i > j ? j : i;
            const double *block = s->C + block_at(r / BLOCK, c / BLOCK) * BLOCK * BLOCK;
            C[i * s->n + j] = block[(r % BLOCK) * BLOCK + c % BLOCK] / s->weight_2;
        }
    return CSREC_OK;
}

csrec_status csrec_mean(int64_t m, int64_t n, const float *X, const double *weights, int threads,
                        double *mean, csrec_error *error) {
    csrec_statistics *s;
    CSREC_TRY(csrec_statistics_create(n, threads, &s, error));
    csrec_status status = csrec_statistics_add_mean(s, m, X, weights, error);
    if (!status) status = csrec_statistics_mean(s, mean, error);
    csrec_statistics_destroy(s);
    return status;
}

static csrec_status judge_centred(bool finite, csrec_error *error) {
    return finite ? CSREC_OK
                  : csrec_fail(error, CSREC_DATA,
                               "X minus its mean is beyond the range of float32; scale it");
}

csrec_status csrec_center(int64_t m, int64_t n, float *X, const double *mean, int threads,
                          csrec_error *error) {
    if (m < 1 || n < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "m = %lld, n = %lld; must be at least 1",
                          (long long)m, (long long)n);
    bool finite = true;
#pragma omp parallel for schedule(static) num_threads(csrec_threads(threads)) reduction(&& : finite)
    for (int64_t i = 0; i < m; i++) {
        bool row = true;
        for (int64_t j = 0; j < n; j++) {
            X[i * n + j] = (float)((double)X[i * n + j] - mean[j]);
            row &= fabsf(X[i * n + j]) <= FLT_MAX;
        }
        finite = finite && row;
    }
    return judge_centred(finite, error);
}

csrec_status csrec_statistics_check_centred(int64_t m, int64_t n, const float *X, int threads,
                                            csrec_error *error) {
    bool finite = true;
#pragma omp parallel for schedule(static) num_threads(csrec_threads(threads)) reduction(&& : finite)
    for (int64_t i = 0; i < m * n; i++) finite = finite && fabsf(X[i]) <= FLT_MAX;
    return judge_centred(finite, error);
}

csrec_status csrec_covariance(int64_t m, int64_t n, const float *X, const double *weights,
                              const double *mean, int threads, double *C, csrec_error *error) {
    csrec_statistics *s;
    csrec_status status = csrec_statistics_create(n, threads, &s, error);
    if (status) return status;
    if (mean) {
        memcpy(s->mean, mean, (size_t)n * sizeof *mean);
        s->has_mean = true;
    } else {
        status = csrec_statistics_add_mean(s, m, X, weights, error);
    }
    if (!status) status = csrec_statistics_add_covariance(s, m, X, weights, error);
    if (!status) status = csrec_statistics_covariance(s, C, error);
    csrec_statistics_destroy(s);
    return status;
}
