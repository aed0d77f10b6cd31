/* SPDX-License-Identifier: BSD-3-Clause */
/* prior_model.h - models of kinds net and beside, small and random, the parts that they
 * are made of, and how samples are spread. */
#pragma once

#include "check.h"
#include "net_design.h"

SEED(seed);

/* Zeros until the test's end. */
static inline float *floats(int64_t n) {
    return check_keep_zeros((size_t)n, sizeof(float));
}

static inline uint8_t *draw_known(int64_t n, double share) {
    uint8_t *known = check_keep((size_t)n);
    for (int64_t i = 0; i < n; i++) known[i] = check_uniform(&seed) < share;
    return known;
}

/* Of a small network for pictures with random weights. */
static inline csrec_model_parts make(int channels, double size) {
    const design d = design_of(channels, 0, 0, 8);
    return parts_of(&d, size, &seed);
}

static inline csrec_status assemble(const csrec_model_parts *parts, csrec_model **model,
                                    csrec_error *error) {
    return csrec_model_assemble("net", parts, model, error);
}

static inline csrec_model *draw_model(int channels) {
    const design d = design_of(channels, 0, 0, 8);
    return model_of(&d, 0.05, &seed);
}

/* Of kind beside; size 0: of a network that makes F. */
static inline csrec_model *draw_beside(int frames, int guides, double size) {
    const design d = design_of(0, frames, guides, 4);
    return model_of(&d, size, &seed);
}

/* The pyramid by its definition: at each level, the mean of what is known under a cell of side
 * 2^level, else the next level between the centres of its cells. */
static inline double spread(int64_t h, int64_t w, const uint8_t *known, const double *z, int level,
                            int64_t y, int64_t x) {
    int64_t side = INT64_C(1) << level;
    double sum = 0.0, count = 0.0;
    for (int64_t i = y * side; i < (y + 1) * side && i < h; i++)
        for (int64_t j = x * side; j < (x + 1) * side && j < w; j++)
            if (known[i * w + j]) sum += z[i * w + j], count += 1.0;
    if (count > 0.0) return sum / count;
    if (side >= h && side >= w) return 0.0;
    int64_t rows = (h + 2 * side - 1) / (2 * side), columns = (w + 2 * side - 1) / (2 * side);
    double at[2] = {((double)y + 0.5) / 2.0 - 0.5, ((double)x + 0.5) / 2.0 - 0.5}, result = 0.0;
    int64_t extent[2] = {rows, columns}, cell[2][2];
    double share[2];
    for (int a = 0; a < 2; a++) {
        double low = floor(at[a]);
        share[a] = at[a] - low;
        for (int k = 0; k < 2; k++) {
            int64_t c = (int64_t)low + k;
            cell[a][k] = c < 0 ? 0 : c >= extent[a] ? extent[a] - 1 : c;
        }
    }
    for (int k = 0; k < 4; k++)
        result += (k / 2 ? share[0] : 1.0 - share[0]) * (k % 2 ? share[1] : 1.0 - share[1]) *
                  spread(h, w, known, z, level + 1, cell[0][k / 2], cell[1][k % 2]);
    return result;
}
