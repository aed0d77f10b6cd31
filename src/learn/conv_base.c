/* SPDX-License-Identifier: BSD-3-Clause */
/* conv_base.c - the smooth layer of a sampled picture, by normalised convolution. */
#include "learn/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* to = line convolved with the kernel; values outside are 0. */
static void blur_line(int64_t n, const double *line, int64_t stride, int64_t reach,
                      const double *kernel, double *to) {
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i - reach > 0 ? i - reach : 0, end = i + reach < n ? i + reach + 1 : n;
        double sum = 0.0;
        for (int64_t j = from; j < end; j++) sum += kernel[llabs(i - j)] * line[j * stride];
        to[i] = sum;
    }
}

/* In place; scratch: [max(height, width)]. If stopped, some lines are left. */
static void blur(int64_t height, int64_t width, int64_t reach, const double *kernel,
                 csrec_call *call, double *picture, double *scratch) {
    for (int64_t y = 0; y < height && !csrec_call_poll(call); y++) {
        blur_line(width, picture + y * width, 1, reach, kernel, scratch);
        memcpy(picture + y * width, scratch, (size_t)width * sizeof *scratch);
    }
    for (int64_t x = 0; x < width && !csrec_call_poll(call); x++) {
        blur_line(height, picture + x, width, reach, kernel, scratch);
        for (int64_t y = 0; y < height; y++) picture[y * width + x] = scratch[y];
    }
}

csrec_status csrec_conv_base(int64_t height, int64_t width, int64_t m, const int64_t *index,
                             const double *y, double sigma, csrec_call *call, double *base) {
    const double least = 1e-6; /* the kernel's value at a sample */
    int64_t entries = height * width, longest = height > width ? height : width;
    int64_t reach = (int64_t)ceil(5.0 * sigma);
    double mean = 0.0;
    for (int64_t k = 0; k < m; k++) mean += y[k] / (double)m;
    for (int64_t i = 0; i < entries; i++) base[i] = sigma > 0.0 ? 0.0 : mean;
    if (!(sigma > 0.0)) return CSREC_OK;
    double *weight = calloc((size_t)(entries + longest + reach + 1), sizeof *weight);
    if (!weight) return CSREC_MEMORY;
    double *scratch = weight + entries, *kernel = scratch + longest;
    /* Below 0.025 the kernel is 1 and zeros; the square of a tiny width would underflow. */
    double spread = fmax(sigma, 1e-3);
    for (int64_t j = 0; j <= reach; j++)
        kernel[j] = exp(-0.5 * (double)(j * j) / (spread * spread));
    for (int64_t k = 0; k < m; k++) {
        base[index[k]] = y[k] - mean;
        weight[index[k]] = 1.0;
    }
    blur(height, width, reach, kernel, call, base, scratch);
    blur(height, width, reach, kernel, call, weight, scratch);
    bool whole = !csrec_call_stopped(call);
    for (int64_t i = 0; i < entries; i++)
        base[i] = whole ? mean + base[i] / (weight[i] + least) : mean;
    free(weight);
    return CSREC_OK;
}
