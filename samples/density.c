/* SPDX-License-Identifier: BSD-3-Clause */
/* density.c - the density of samples as a picture: means under a Gaussian. */
#include "density.h"

#include <math.h>
#include <stdlib.h>

enum { BELL = 3, REACH = 3 * BELL }; /* its standard deviation, where it ends: pixels */

/* The weighted mean around entry i of a line of n, `step` apart, of which value is entry i. */
static double mean_around(const double *value, int64_t i, int64_t n, int64_t step) {
    double sum = 0, weights = 0;
    for (int64_t k = i < REACH ? 0 : i - REACH; k < n && k <= i + REACH; k++) {
        double away = (double)(k - i) / BELL, weight = exp(-0.5 * away * away);
        sum += weight * value[step * (k - i)];
        weights += weight;
    }
    return sum / weights;
}

static void color(double share, uint8_t rgb[3]) {
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)lround(255 * fmin(fmax(3 * share - c, 0), 1));
}

csrec_status density_draw(const csrec_measurement *scan, uint8_t *rgb) {
    int64_t height = scan->shape.dim[0], width = scan->shape.dim[1], pixels = height * width;
    double *sampled = calloc((size_t)pixels * 2, sizeof *sampled);
    if (!sampled) return CSREC_MEMORY;
    double *across = sampled + pixels;
    for (int64_t k = 0; k < scan->n; k++) sampled[scan->index[k]] = 1;
    for (int64_t i = 0; i < pixels; i++) across[i] = mean_around(sampled + i, i % width, width, 1);
    for (int64_t i = 0; i < pixels; i++)
        color(mean_around(across + i, i / width, height, width), rgb + 3 * i);
    free(sampled);
    return CSREC_OK;
}
