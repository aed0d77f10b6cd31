/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.c - quality of a recovered picture against the truth: PSNR and SSIM. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/threads.h"
#include "base/unit.h"
#include "csrec/recover.h"

/* Scale factor for values, so that their squares neither overflow nor underflow: a power of two, 1
 * for a peak of ordinary size, so that scaling does not round. */
static double factor_of(double peak) {
    return 1 / fmax(csrec_unit_of(fabs(peak)), DBL_MIN);
}

double csrec_psnr(int64_t n, const double *a, const double *b, double peak) {
    double sum = 0, factor = factor_of(peak), white = factor * peak;
    for (int64_t k = 0; k < n; k++) {
        double off = factor * a[k] - factor * b[k];
        sum += off * off;
    }
    return sum == 0 ? INFINITY : 10 * log10(white * white / (sum / (double)n));
}

/* SSIM: Z. Wang, A. Bovik, H. Sheikh, E. Simoncelli, "Image quality assessment: from error
 * visibility to structural similarity", IEEE Trans. Image Processing 13 (2004), equation 13,
 * averaged over the windows that lie wholly inside the picture: no border is invented. */
enum { RADIUS = 5, WINDOW = 2 * RADIUS + 1, MOMENTS = 5 };

typedef struct {
    int64_t width; /* of the pictures; width - 2 RADIUS windows in a row */
    const double *a, *b;
    double weight[WINDOW];
    double factor, c1, c2; /* c1, c2: for values times the factor */
} similarity;

static void gaussian(double sigma, double *weight) {
    double sum = 0;
    for (int i = 0; i < WINDOW; i++) {
        const double x = (i - RADIUS) / sigma;
        sum += weight[i] = exp(-x * x / 2);
    }
    for (int i = 0; i < WINDOW; i++) weight[i] /= sum;
}

/* Weighted sums down the columns of the window rows that begin at row y, of a, b, a a, b b, a b:
 * moment[k * width + x]. The Gaussian is separable; this is its vertical half. */
static void column_moments(const similarity *s, int64_t y, double *moment) {
    const int64_t width = s->width;
    for (int64_t k = 0; k < MOMENTS * width; k++) moment[k] = 0;
    for (int i = 0; i < WINDOW; i++) {
        const double w = s->weight[i];
        const double *a = s->a + (y + i) * width, *b = s->b + (y + i) * width;
        for (int64_t x = 0; x < width; x++) {
            const double u = s->factor * a[x], v = s->factor * b[x];
            moment[x] += w * u;
            moment[width + x] += w * v;
            moment[2 * width + x] += w * u * u;
            moment[3 * width + x] += w * v * v;
            moment[4 * width + x] += w * u * v;
        }
    }
}

/* Similarity of one window from its mean values of a, b, a a, b b, a b. */
static double window_similarity(const similarity *s, const double *mean) {
    const double ab = mean[0] * mean[1], aa = mean[0] * mean[0], bb = mean[1] * mean[1];
    const double variance_a = mean[2] - aa, variance_b = mean[3] - bb, covariance = mean[4] - ab;
    return (2 * ab + s->c1) * (2 * covariance + s->c2) /
           ((aa + bb + s->c1) * (variance_a + variance_b + s->c2));
}

/* Sum over the windows whose first row is y. */
static double row_similarity(const similarity *s, int64_t y, double *moment) {
    column_moments(s, y, moment);
    double sum = 0;
    for (int64_t x = 0; x + WINDOW <= s->width; x++) {
        double mean[MOMENTS] = {0};
        for (int k = 0; k < MOMENTS; k++)
            for (int i = 0; i < WINDOW; i++) mean[k] += s->weight[i] * moment[k * s->width + x + i];
        sum += window_similarity(s, mean);
    }
    return sum;
}

csrec_status csrec_ssim(int64_t height, int64_t width, const double *a, const double *b,
                        double peak, double *ssim) {
    if (height < WINDOW || width < WINDOW || !(peak > 0)) return CSREC_ARGUMENT;
    similarity s = {.width = width, .a = a, .b = b, .factor = factor_of(peak)};
    const double white = s.factor * peak;
    gaussian(1.5, s.weight);
    s.c1 = (0.01 * white) * (0.01 * white);
    s.c2 = (0.03 * white) * (0.03 * white);

    const int64_t rows = height - 2 * RADIUS;
    double *row_sum = malloc((size_t)rows * sizeof *row_sum);
    if (!row_sum) return CSREC_MEMORY;
    bool memory = true;
    /* One sum a row, added in order afterwards: the result does not depend on the threads. */
    const int threads = csrec_threads_for(MOMENTS * rows * width, 0);
#pragma omp parallel num_threads(threads) reduction(&& : memory)
    {
        double *moment = malloc((size_t)(MOMENTS * width) * sizeof *moment);
        memory = moment != NULL;
#pragma omp for schedule(static)
        for (int64_t y = 0; y < rows; y++)
            if (moment) row_sum[y] = row_similarity(&s, y, moment);
        free(moment);
    }
    double sum = 0;
    for (int64_t y = 0; y < rows && memory; y++) sum += row_sum[y];
    free(row_sum);
    if (!memory) return CSREC_MEMORY;
    *ssim = sum / ((double)rows * (double)(width - 2 * RADIUS));
    return CSREC_OK;
}
