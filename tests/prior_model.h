/* SPDX-License-Identifier: BSD-3-Clause */
/* prior_model.h - models of kinds net, beside and rendered, small and random, the parts that they
 * are made of, how samples are spread, and passes over planes that are turned. */
#pragma once

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

/* Of kind rendered. */
static inline csrec_model *draw_rendered(double size) {
    const design d = design_for_renderings(4);
    return model_of(&d, size, &seed);
}

/* The pyramid by its definition: at each level, the mean by weight of what is under a cell of side
 * 2^level, else the next level between the centres of its cells. */
static inline double spread_by(int64_t h, int64_t w, const double *weight, const double *z,
                               int level, int64_t y, int64_t x) {
    int64_t side = INT64_C(1) << level;
    double sum = 0.0, count = 0.0;
    for (int64_t i = y * side; i < (y + 1) * side && i < h; i++)
        for (int64_t j = x * side; j < (x + 1) * side && j < w; j++)
            if (weight[i * w + j] > 0.0)
                sum += weight[i * w + j] * z[i * w + j], count += weight[i * w + j];
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
                  spread_by(h, w, weight, z, level + 1, cell[0][k / 2], cell[1][k % 2]);
    return result;
}

/* Of samples that are known, all of one weight. */
static inline double spread(int64_t h, int64_t w, const uint8_t *known, const double *z, int level,
                            int64_t y, int64_t x) {
    OWNED double *weight = malloc((size_t)(h * w) * sizeof *weight);
    for (int64_t i = 0; i < h * w; i++) weight[i] = known[i] ? 1.0 : 0.0;
    return spread_by(h, w, weight, z, level, y, x);
}

/* A plane [*h][*w] mirrored along its lines, or along its columns, or transposed. */
static inline void turn_once(int how, int64_t *h, int64_t *w, const double *from, double *to) {
    for (int64_t y = 0; y < *h; y++)
        for (int64_t x = 0; x < *w; x++)
            to[how == 2 ? x * *h + y
                        : (how == 1 ? *h - 1 - y : y) * *w + (how == 0 ? *w - 1 - x : x)] =
                from[y * *w + x];
    const int64_t rows = *h;
    if (how == 2) *h = *w, *w = rows;
}

/* Plane by plane: bit 0 mirrors lines, bit 1 columns, bit 2 then transposes; back: bit 2 first. */
static inline void turn_all(int turn, bool back, int64_t count, int64_t *h, int64_t *w,
                            double *planes) {
    const int64_t n = *h * *w, rows = *h, columns = *w;
    double *held = check_room(n);
    for (int64_t k = 0; k < count; k++) {
        *h = rows, *w = columns;
        for (int step = 0; step < 3; step++) {
            const int how = back ? 2 - step : step;
            if (!(turn >> how & 1)) continue;
            turn_once(how, h, w, planes + k * n, held);
            memcpy(planes + k * n, held, (size_t)n * sizeof *held);
        }
    }
}

static inline int64_t padded(int64_t extent) {
    return (extent + 7) / 8 * 8;
}

/* What the network makes of so many planes, mirrored and transposed, by csrec_net_apply. */
static inline double *apply_to_turned(csrec_net *net, int64_t takes, int64_t makes, int64_t h,
                                      int64_t w, const float *planes, int turn) {
    const int64_t n = h * w;
    double *turned = check_room(takes * n), *out = check_room(makes * n);
    for (int64_t i = 0; i < takes * n; i++) turned[i] = (double)planes[i];
    turn_all(turn, false, takes, &h, &w, turned);
    const int64_t H = padded(h), W = padded(w);
    float *X = floats(takes * H * W), *Y = floats(makes * H * W);
    for (int64_t i = 0; i < takes * H * W; i++) {
        const int64_t y = csrec_prior_reflect(i / W % H, h), x = csrec_prior_reflect(i % W, w);
        X[i] = (float)turned[i / (H * W) * n + y * w + x];
    }
    assert_well(csrec_net_apply(net, H, W, X, Y, 0, NULL, NULL, &told));
    for (int64_t i = 0; i < makes * n; i++)
        out[i] = (double)Y[i / n * H * W + i % n / w * W + i % w];
    turn_all(turn, true, makes, &h, &w, out);
    return out;
}
