/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.c - an edge-avoiding a-trous filter (Dammertz, Sewtz, Hanika and Lensch 2010) of the light
 * on surfaces, radiance / albedo, that fills pixels without rays and weighs by rays.
 *
 * Level l averages over 5 x 5 pixels 2^l apart, of which q has the weight
 *     b(q - p) n_q exp(-(|a_p - a_q|^2 / (C s_a^2) + |N_p - N_q|^2 / s_N^2 + (z_p + z'(q - p) -
 * z_q)^2 / (s_z z_p)^2 / 2^l
 *                        + (v_p - v_q)^2 / (s_v^2 kappa m^2 (1 / n_p + 1 / n_q)))),
 * b binomial, a albedo of C channels, N normals, z depth, z' its slope, v the light as
 * log(1 + 2 light / U), so that what is bright does not flood what is around, U as of rendered.h, m
 * the mean of both, n the rays that the mean so far is worth: (sum w)^2 / sum(w^2 / n). kappa: the
 * variance of the light of a ray in its mean's squares. Where nothing near is alike,
 * csrec_pyramid_fill of the light, by rays, is. */
#include "method/rendered/filter.h"

#include <math.h>

#include "base/threads.h"

enum { LEVELS = 5 };

static const double KAPPA = 1.0, STEEP = 2.0, BY_ALBEDO = 0.2, BY_NORMAL = 0.2, BY_DEPTH = 0.002,
                    BY_LIGHT = 2.5, DARK = 0.04;

typedef struct filter {
    const csrec_rendered_samples *s;
    int channels;
    int64_t n;
    double unit;
    float *light[2], *rays[2]; /* [channels][n], [n]; of a level, and of the one before */
} filter;

static double albedo_of(const filter *f, int c, int64_t i) {
    const float a = f->s->albedo ? f->s->albedo[c * f->n + i] : 1.0f;
    return isfinite(a) ? fmax((double)a, 0.0) + DARK : 1.0 + DARK;
}

static double tone(const filter *f, double light) {
    return log1p(STEEP * fmax(light, 0.0) / f->unit);
}

static double untone(const filter *f, double v) {
    return f->unit * expm1(v) / STEEP;
}

static double gray(const filter *f, const float *light, int64_t i) {
    double sum = 0.0;
    for (int c = 0; c < f->channels; c++) sum += (double)light[c * f->n + i];
    return sum / f->channels;
}

/* Of a surface: the lesser of both sides. */
static double slope_at(const float *z, int64_t i, int64_t at, int64_t count, int64_t step) {
    const double back = at > 0 ? (double)z[i] - (double)z[i - step] : INFINITY;
    const double ahead = at < count - 1 ? (double)z[i + step] - (double)z[i] : INFINITY;
    const double least = fabs(back) < fabs(ahead) ? back : ahead;
    return isfinite(least) ? least : 0.0;
}

/* Squares of the distance of surfaces, in their widths; slope: of the depth at p, down and across,
 * in doubles, as what is far away is told apart by its rounding. */
static double apart(const filter *f, int64_t p, int64_t q, int64_t dy, int64_t dx, double step,
                    const double slope[2]) {
    const csrec_rendered_samples *s = f->s;
    double sum = 0.0;
    for (int k = 0; k < 3 && s->normal; k++) {
        const double d = (double)s->normal[k * f->n + p] - (double)s->normal[k * f->n + q];
        if (isfinite(d)) sum += d * d / (BY_NORMAL * BY_NORMAL);
    }
    for (int c = 0; c < f->channels && s->albedo; c++) {
        const double d = (albedo_of(f, c, p) - albedo_of(f, c, q)) / BY_ALBEDO;
        sum += d * d / f->channels;
    }
    if (s->depth) {
        const double z = (double)s->depth[p];
        const double ahead = z + slope[0] * (double)dy + slope[1] * (double)dx;
        const double d = (ahead - (double)s->depth[q]) / (BY_DEPTH * sqrt(step) * z);
        if (isfinite(d)) sum += d * d;
    }
    return sum;
}

static double unlike(const filter *f, int64_t p, int64_t q) {
    const double n_p = (double)f->rays[1][p], n_q = (double)f->rays[1][q];
    if (!(n_p > 0.0)) return 0.0;
    const double a = gray(f, f->light[1], p), b = gray(f, f->light[1], q), m = 0.5 * (a + b);
    const double square = BY_LIGHT * BY_LIGHT * KAPPA * m * m * (1.0 / n_p + 1.0 / n_q);
    return square > 0.0 ? (a - b) * (a - b) / square : 0.0;
}

static void average(const filter *f, int64_t y, int64_t x, int64_t step) {
    static const double b[5] = {1.0, 4.0, 6.0, 4.0, 1.0};
    const int64_t H = f->s->height, W = f->s->width, p = y * W + x;
    const float *z = f->s->depth;
    const double slope[2] = {z ? slope_at(z, p, y, H, W) : 0.0, z ? slope_at(z, p, x, W, 1) : 0.0};
    double sum[3] = {0.0, 0.0, 0.0}, weights = 0.0, squares = 0.0;
    for (int64_t i = -2; i <= 2; i++)
        for (int64_t j = -2; j <= 2; j++) {
            const int64_t v = y + i * step, u = x + j * step, q = v * W + u;
            if (v < 0 || v >= H || u < 0 || u >= W || !(f->rays[1][q] > 0.0f)) continue;
            const double rays = (double)f->rays[1][q];
            const double w =
                b[i + 2] * b[j + 2] * rays *
                exp(-fmin(60.0, apart(f, p, q, i * step, j * step, (double)step, slope) +
                                    unlike(f, p, q)));
            for (int c = 0; c < f->channels; c++) sum[c] += w * (double)f->light[1][c * f->n + q];
            weights += w;
            squares += w * w / rays;
        }
    const bool any = squares > 0.0; /* the least weights do not reach it */
    f->rays[0][p] = any ? (float)(weights * weights / squares) : 0.0f;
    for (int c = 0; c < f->channels; c++)
        f->light[0][c * f->n + p] = any ? (float)(sum[c] / weights) : 0.0f;
}

/* 4 (sum n sqrt(light) / sum n)^2, light the mean of the channels. */
static void measure(filter *f) {
    const csrec_rendered_samples *s = f->s;
    double roots = 0.0, rays = 0.0;
    for (int64_t i = 0; i < f->n; i++) {
        double sum = 0.0;
        for (int c = 0; c < f->channels && s->rays[i] > 0.0f; c++)
            sum += (double)s->radiance[c * f->n + i] / albedo_of(f, c, i);
        roots += (double)s->rays[i] * sqrt(fmax(sum / f->channels, 0.0));
        rays += (double)s->rays[i];
    }
    const double root = roots / fmax(rays, 1e-30);
    f->unit = fmax(4.0 * root * root, 1e-30);
}

static void begin(filter *f) {
    measure(f);
    const csrec_rendered_samples *s = f->s;
    for (int64_t i = 0; i < f->n; i++) {
        f->rays[1][i] = s->rays[i];
        for (int c = 0; c < f->channels; c++)
            f->light[1][c * f->n + i] =
                s->rays[i] > 0.0f
                    ? (float)tone(f, (double)s->radiance[c * f->n + i] / albedo_of(f, c, i))
                    : 0.0f;
    }
}

/* Thin surfaces without rays, and pictures of very few. */
static void fill_rest(filter *f, float *work) {
    const csrec_rendered_samples *s = f->s;
    bool whole = true;
    for (int64_t i = 0; i < f->n; i++) whole = whole && f->rays[1][i] > 0.0f;
    for (int c = 0; c < f->channels && !whole; c++) {
        float *light = f->light[1] + c * f->n;
        for (int64_t i = 0; i < f->n; i++) work[i] = light[i] * f->rays[1][i];
        csrec_pyramid_fill(s->height, s->width, s->threads, work, f->rays[1], work + f->n,
                           f->light[0]);
        for (int64_t i = 0; i < f->n; i++)
            if (!(f->rays[1][i] > 0.0f)) light[i] = f->light[0][i];
    }
}

void csrec_filter_light(const csrec_rendered_samples *s, int channels, float *work, float *radiance,
                        float *squares) {
    const int64_t n = s->height * s->width;
    filter f = {.s = s,
                .channels = channels,
                .n = n,
                .light = {work, work + 3 * n},
                .rays = {work + 6 * n, work + 7 * n}};
    begin(&f);
    for (int l = 0; l < LEVELS; l++) {
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(25 * n, s->threads))
        for (int64_t y = 0; y < s->height; y++)
            for (int64_t x = 0; x < s->width; x++) average(&f, y, x, INT64_C(1) << l);
        float *light = f.light[0], *rays = f.rays[0];
        f.light[0] = f.light[1];
        f.rays[0] = f.rays[1];
        f.light[1] = light;
        f.rays[1] = rays;
    }
    fill_rest(&f, work + 8 * n);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < channels; c++) {
            const bool exact = s->rays[i] >= CSREC_RENDERED_EXACT;
            const double light = untone(&f, (double)f.light[1][c * n + i]) * albedo_of(&f, c, i);
            const double v = KAPPA * light * light / fmax((double)f.rays[1][i], 0.1);
            radiance[c * n + i] = exact ? s->radiance[c * n + i] : (float)light;
            if (squares) squares[c * n + i] = exact ? 0.0f : (float)v;
        }
}
