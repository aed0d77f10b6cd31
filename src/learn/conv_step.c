/* SPDX-License-Identifier: BSD-3-Clause */
/* conv_step.c - the two steps of learning filters: codes of a picture, and the filters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "learn/conv.h"

/* ---- the smooth layer of a sampled picture, by normalised convolution. */

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

void csrec_learn_pack(csrec_learning *l, const float *d) {
    for (int t = 0; t < 2; t++)
        csrec_conv_pack_f32(&l->coded[0].conv, t, l->work.simd, d, l->packed[t]);
}

void csrec_learn_synthesize(const csrec_learning *l, const csrec_coded *c, const float *x,
                            float *picture) {
    csrec_conv_apply_f32(&c->conv, true, &l->work, l->packed[1], x, NULL, picture);
}

double csrec_learn_misfit(const csrec_coded *c, const float *picture) {
    double sum = 0.0;
    for (int64_t i = 0; i < c->entries; i++) {
        double off = (double)c->mask[i] * ((double)picture[i] - (double)c->s[i]);
        sum += off * off;
    }
    return 0.5 * sum;
}

static int64_t blocks_of(int64_t n) {
    return (n + CSREC_LEARN_BLOCK - 1) / CSREC_LEARN_BLOCK;
}

/* Sums in blocks, the same for any number of threads. */
static double sum_parts(const csrec_learning *l, int64_t n) {
    double sum = 0.0;
    for (int64_t b = 0; b < blocks_of(n); b++) sum += l->part[b];
    return sum;
}

double csrec_learn_objective(const csrec_learning *l, const csrec_coded *c) {
#pragma omp parallel for num_threads(l->work.threads)
    for (int64_t b = 0; b < blocks_of(c->codes); b++) {
        int64_t first = b * CSREC_LEARN_BLOCK, left = c->codes - first;
        int64_t some = left < CSREC_LEARN_BLOCK ? left : CSREC_LEARN_BLOCK;
        double sum = 0.0;
        for (int64_t i = first; i < first + some; i++) sum += (double)fabsf(c->x[i]);
        l->part[b] = sum;
    }
    return csrec_learn_misfit(c, c->picture) + l->lambda * sum_parts(l, c->codes);
}

/* next = soft(z + g / L, lambda / L) with z = x + beta (x - before), in place of g; sum |next|. */
static double shrink(csrec_learning *l, const csrec_coded *c, float beta, float *g) {
    float by = (float)(1.0 / l->L), limit = (float)(l->lambda / l->L);
#pragma omp parallel for num_threads(l->work.threads)
    for (int64_t b = 0; b < blocks_of(c->codes); b++) {
        int64_t first = b * CSREC_LEARN_BLOCK, left = c->codes - first;
        int64_t some = left < CSREC_LEARN_BLOCK ? left : CSREC_LEARN_BLOCK;
        double sum = 0.0;
        for (int64_t i = first; i < first + some; i++) {
            float v = c->x[i] + beta * (c->x[i] - c->before[i]) + by * g[i];
            float size = fabsf(v) - limit;
            g[i] = size > 0.0f ? copysignf(size, v) : 0.0f;
            sum += (double)fabsf(g[i]);
        }
        l->part[b] = sum;
    }
    return sum_parts(l, c->codes);
}

static void swap(float **a, float **b) {
    float *held = *a;
    *a = *b;
    *b = held;
}

/* Beck and Teboulle 2009. A step that raises F is rejected: the momentum is reset, or, without
 * momentum, L was too small. S is linear, so the picture at z needs no product. */
void csrec_learn_code(csrec_learning *l, csrec_coded *c) {
    double t = 0.5 * (1.0 + sqrt(1.0 + 4.0 * c->momentum * c->momentum));
    double beta = (c->momentum - 1.0) / t;
    for (int64_t i = 0; i < c->entries; i++) {
        double at_z =
            (double)c->picture[i] + beta * ((double)c->picture[i] - (double)c->picture_before[i]);
        l->r[i] = c->mask[i] * (float)((double)c->s[i] - at_z);
    }
    csrec_conv_apply_f32(&c->conv, false, &l->work, l->packed[0], l->r, NULL, l->codes);
    if (csrec_call_poll(l->work.call)) return;
    double size = shrink(l, c, (float)beta, l->codes);
    csrec_learn_synthesize(l, c, l->codes, l->r);
    double objective = csrec_learn_misfit(c, l->r) + l->lambda * size;
    if (csrec_call_poll(l->work.call)) return; /* the picture may be incomplete */
    if (!(objective <= c->objective)) {
        if (beta == 0.0) l->L *= 1.5;
        c->momentum = 1.0;
        return;
    }
    swap(&c->before, &c->x); /* before = x, x = codes; the oldest array becomes scratch */
    swap(&c->x, &l->codes);
    memcpy(c->picture_before, c->picture, (size_t)c->entries * sizeof *c->picture);
    memcpy(c->picture, l->r, (size_t)c->entries * sizeof *c->picture);
    c->momentum = t;
    c->objective = objective;
}

double csrec_learn_norm(csrec_learning *l, csrec_coded *c) {
    double square = 1.0;
    for (int64_t i = 0; i < c->entries; i++)
        l->r[i] = (float)csrec_random_normal(1, 0, (uint64_t)i);
    for (int round = 0; round < 10 && !csrec_call_poll(l->work.call); round++) {
        double sum = 0.0;
        for (int64_t i = 0; i < c->entries; i++) sum += (double)l->r[i] * (double)l->r[i];
        square = sqrt(sum);
        if (square == 0.0) return 1.0;
        for (int64_t i = 0; i < c->entries; i++) l->r[i] = (float)((double)l->r[i] / square);
        csrec_conv_apply_f32(&c->conv, false, &l->work, l->packed[0], l->r, NULL, l->codes);
        csrec_learn_synthesize(l, c, l->codes, l->r);
    }
    return square;
}

/* ---- filters */

/* The descent direction sum_p of <atoms' windows of the residual, x>: dW of the analysis with the
 * residual as input and the codes as output's gradient. Adds up squares of the codes. */
static void find_gradient(csrec_learning *l) {
    int64_t n = l->filters * l->size;
    memset(l->gradient, 0, (size_t)n * sizeof *l->gradient);
    memset(l->square, 0, (size_t)l->filters * sizeof *l->square);
    for (int64_t p = 0; p < l->count; p++) {
        const csrec_coded *c = &l->coded[p];
        int64_t places = c->codes / l->filters;
        for (int64_t i = 0; i < c->entries; i++) l->r[i] = c->mask[i] * (c->s[i] - c->picture[i]);
        if (csrec_call_poll(l->work.call)) return;
        csrec_conv_gradient(&c->conv, &l->work, l->r, c->x, l->d_next);
        for (int64_t i = 0; i < n; i++) l->gradient[i] += l->d_next[i];
#pragma omp parallel for num_threads(l->work.threads)
        for (int64_t k = 0; k < l->filters; k++) {
            double sum = 0.0;
            for (int64_t j = k * places; j < (k + 1) * places; j++)
                sum += (double)c->x[j] * (double)c->x[j];
            l->square[k] += sum;
        }
    }
}

/* d_next = d + step gradient / curvature, projected to the sphere of its amplitude. The curvature
 * of a filter is sum x_k^2 if its codes do not overlap. Unused filters do not change. */
static void move(csrec_learning *l, double step) {
    for (int64_t k = 0; k < l->filters; k++) {
        const float *d = l->d + k * l->size, *g = l->gradient + k * l->size;
        float *to = l->d_next + k * l->size;
        double by = l->square[k] > 0.0 ? step / l->square[k] : 0.0, sum = 0.0;
        for (int64_t i = 0; i < l->size; i++) {
            to[i] = (float)((double)d[i] + by * (double)g[i]);
            sum += (double)to[i] * (double)to[i];
        }
        double scale = sum > 0.0 ? l->amplitude[k] / sqrt(sum) : 0.0;
        for (int64_t i = 0; i < l->size; i++)
            to[i] = sum > 0.0 ? (float)(scale * (double)to[i]) : d[i];
    }
}

/* The data term of F over all pictures with the packed filters; writes to picture_before, which is
 * scratch. */
static double try_pictures(csrec_learning *l) {
    double sum = 0.0;
    for (int64_t p = 0; p < l->count; p++) {
        csrec_coded *c = &l->coded[p];
        csrec_learn_synthesize(l, c, c->x, c->picture_before);
        sum += csrec_learn_misfit(c, c->picture_before);
    }
    return sum;
}

static void accept(csrec_learning *l) {
    swap(&l->d, &l->d_next);
    for (int64_t p = 0; p < l->count; p++) {
        csrec_coded *c = &l->coded[p];
        c->objective +=
            csrec_learn_misfit(c, c->picture_before) - csrec_learn_misfit(c, c->picture);
        swap(&c->picture, &c->picture_before);
    }
}

bool csrec_learn_filters(csrec_learning *l) {
    double misfit = 0.0;
    bool lower = false;
    for (int64_t p = 0; p < l->count; p++)
        misfit += csrec_learn_misfit(&l->coded[p], l->coded[p].picture);
    if (csrec_call_poll(l->work.call)) return false;
    find_gradient(l);
    for (int tries = 0; tries < 8 && !lower && !csrec_call_poll(l->work.call); tries++) {
        move(l, l->step);
        csrec_learn_pack(l, l->d_next);
        lower = try_pictures(l) < misfit && !csrec_call_stopped(l->work.call);
        l->step *= lower ? 1.5 : 0.25;
    }
    if (lower)
        accept(l);
    else
        csrec_learn_pack(l, l->d);
    /* The previous step used other filters, so the momentum is reset. */
    for (int64_t p = 0; p < l->count; p++) {
        csrec_coded *c = &l->coded[p];
        memcpy(c->picture_before, c->picture, (size_t)c->entries * sizeof *c->picture);
        c->momentum = 1.0;
    }
    return lower;
}
