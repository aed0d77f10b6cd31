/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.c - models of kind rendered: checks, the planes that their network takes, its passes,
 * and radiance from them. */
#include "learn/net/rendered.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/pyramid.h"

/* Planes; RAYS and SHARE hold n and m until the others are made. */
enum {
    F = 0,
    TONE = 3,
    M = 6,
    RAYS = 7,
    SPREAD = 8,
    Q = 9,
    ALBEDO = 12,
    NORMAL = 15,
    DEPTH = 18,
    SHARE = 19
};

enum { TAKES = CSREC_RENDERED_TAKES, MAKES = CSREC_RENDERED_MAKES };

static const double steep = 20.0, times = 3.0, most = 4.0, dark = 0.04, white = 0.96;

static double tone(double c) {
    return log1p(steep * c) / times;
}

static double untone(double z) {
    return expm1(times * fmin(fmax(z, -0.01), most)) / steep;
}

csrec_status csrec_rendered_check(const csrec_model *model, const char *name, csrec_error *error) {
    const int channels = csrec_prior_channels(model);
    if (channels != 3)
        return csrec_model_fail(name, "channels", error, "is %d; must be 3", channels);
    return csrec_prior_check_layers(model, TAKES, MAKES, name, error);
}

static csrec_status open_network(csrec_rendered *r, const csrec_prior_from *from,
                                 const csrec_context *context, const csrec_net_options *options,
                                 csrec_error *error) {
    CSREC_TRY(csrec_prior_begin(from, CSREC_PRIOR_RENDERED, &r->use, error));
    if (strcmp(csrec_model_kind(r->use.model), "rendered") != 0)
        return csrec_fail(error, CSREC_DATA, "model: is of kind %s; give one of kind rendered",
                          csrec_model_kind(r->use.model));
    csrec_status status = csrec_prior_start(&r->use, TAKES, context, options, error);
    r->net = r->use.net;
    if (!status) csrec_net_info(r->net, NULL, &r->multiple, NULL);
    return status;
}

csrec_status csrec_rendered_create(const csrec_prior_from *from, const csrec_context *context,
                                   const csrec_net_options *options, int64_t height, int64_t width,
                                   csrec_rendered *r, csrec_error *error) {
    *r = (csrec_rendered){.height = height, .width = width, .channel = -1};
    CSREC_TRY(open_network(r, from, context, options, error));
    const int64_t padded =
        csrec_prior_padded(height, r->multiple) * csrec_prior_padded(width, r->multiple);
    CSREC_TAKE(&r->pool, r->planes, TAKES * height * width);
    CSREC_TAKE(&r->pool, r->work, csrec_pyramid_work(height, width));
    CSREC_TAKE(&r->pool, r->turned, TAKES * padded);
    CSREC_TAKE(&r->pool, r->out, MAKES * padded);
    return csrec_pass_room(&r->pool, height, width, error);
}

void csrec_rendered_clear(csrec_rendered *r) {
    csrec_prior_end(&r->use);
    csrec_pool_clear(&r->pool);
}

static float *plane(const csrec_rendered *r, int k) {
    return r->planes + k * r->height * r->width;
}

/* The channel of the samples that is channel k of the planes. */
static int source(const csrec_rendered *r, int k) {
    return r->channel < 0 ? k : r->channel;
}

static bool is_finite(const float *planes, int64_t n, int64_t i) {
    return isfinite(planes[i]) && isfinite(planes[n + i]) && isfinite(planes[2 * n + i]);
}

/* 0: nothing was measured, or it is left out. */
static float rays_of(const csrec_rendered_samples *s, int64_t i) {
    if (!(s->rays[i] > 0.0f) || !is_finite(s->radiance, s->height * s->width, i)) return 0.0f;
    return fminf(s->rays[i], CSREC_RENDERED_EXACT);
}

static float aov_rays_of(const csrec_rendered_samples *s, int64_t i) {
    const int64_t n = s->height * s->width;
    if ((s->aov_rays && !(s->aov_rays[i] > 0.0f)) || (s->albedo && !is_finite(s->albedo, n, i)) ||
        (s->normal && !is_finite(s->normal, n, i)) || (s->depth && isnan(s->depth[i])))
        return 0.0f;
    return s->aov_rays ? fminf(s->aov_rays[i], CSREC_RENDERED_KNOWN) : CSREC_RENDERED_KNOWN;
}

/* Planes M, RAYS, SHARE; the AOVs of `s` that are not known anywhere are none. */
static void count(const csrec_rendered *r, csrec_rendered_samples *s) {
    const int64_t n = r->height * r->width;
    float *known = plane(r, M), *rays = plane(r, RAYS), *share = plane(r, SHARE);
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        rays[i] = rays_of(s, i);
        known[i] = rays[i] > 0.0f ? 1.0f : 0.0f;
        share[i] = aov_rays_of(s, i);
        any = any || share[i] > 0.0f;
    }
    if (!any) s->albedo = s->normal = s->depth = NULL;
}

/* U of the channels that are looked at, by n, and the sum of n. */
static double measure(csrec_rendered *r, const csrec_rendered_samples *s) {
    const int64_t n = r->height * r->width;
    const float *rays = plane(r, RAYS);
    double roots = 0.0, sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double mean = 0.0;
        for (int k = 0; k < 3 && rays[i] > 0.0f; k++)
            mean += (double)s->radiance[source(r, k) * n + i] / 3.0;
        roots += (double)rays[i] * sqrt(fmax(mean, 0.0));
        sum += (double)rays[i];
    }
    const double root = roots / fmax(sum, 1e-30);
    for (int k = 0; k < 3; k++) r->unit[source(r, k)] = fmax(4.0 * root * root, 1e-30);
    return sum;
}

/* fill(to, weight). */
static void fill(const csrec_rendered *r, int threads, const float *weight, float *to) {
    const int64_t n = r->height * r->width;
    float *z = r->work;
    bool whole = true;
    for (int64_t i = 0; i < n; i++) {
        z[i] = weight[i] > 0.0f ? to[i] * weight[i] : 0.0f;
        whole = whole && weight[i] > 0.0f;
    }
    if (!whole) csrec_pyramid_fill(r->height, r->width, threads, z, weight, r->work + n, to);
}

/* Of an AOV from `least` to 1; NULL: `none` everywhere. */
static void look_at_aov(const csrec_rendered *r, const float *aov, float least, double none,
                        int threads, float *to) {
    const int64_t n = r->height * r->width;
    for (int64_t i = 0; i < n; i++) to[i] = aov ? fminf(fmaxf(aov[i], least), 1.0f) : (float)none;
    if (aov) fill(r, threads, plane(r, SHARE), to);
}

static bool is_hit(float depth) {
    return depth > 0.0f && isfinite(depth);
}

static void look_at_depth(const csrec_rendered *r, const csrec_rendered_samples *s) {
    const int64_t n = r->height * r->width;
    const float *share = plane(r, SHARE);
    float *to = plane(r, DEPTH);
    double logs = 0.0, sum = 0.0;
    for (int64_t i = 0; i < n && s->depth; i++) {
        if (!(share[i] > 0.0f) || !is_hit(s->depth[i])) continue;
        logs += log((double)s->depth[i]);
        sum += 1.0;
    }
    const double g = exp(logs / fmax(sum, 1.0));
    for (int64_t i = 0; i < n; i++) {
        to[i] = s->depth ? 1.0f : 0.0f;
        if (s->depth && is_hit(s->depth[i])) to[i] = (float)(1.0 / (1.0 + g / (double)s->depth[i]));
    }
    if (s->depth) fill(r, s->threads, share, to);
}

/* Planes of channel k. */
static void look_at_light(const csrec_rendered *r, const csrec_rendered_samples *s, int k) {
    const int64_t n = r->height * r->width;
    const float *y = s->radiance + source(r, k) * n, *rays = plane(r, RAYS),
                *albedo = plane(r, ALBEDO + k);
    float *filled = plane(r, F + k), *own = plane(r, TONE + k), *quotient = plane(r, Q + k);
    const double unit = r->unit[source(r, k)];
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(n, s->threads))
    for (int64_t i = 0; i < n; i++) {
        const double c = rays[i] > 0.0f ? fmax((double)y[i] / unit, 0.0) : 0.0;
        filled[i] = own[i] = (float)tone(c);
        quotient[i] = (float)tone(c / ((double)albedo[i] + dark));
    }
    fill(r, s->threads, rays, filled);
    fill(r, s->threads, rays, quotient);
}

/* Of a measured pixel. */
static float spread_of(const csrec_rendered *r, const csrec_rendered_samples *s, int64_t i) {
    const int64_t n = r->height * r->width;
    double deviation = 0.0, c = 0.0;
    for (int k = 0; k < 3; k++) {
        const int64_t at = source(r, k) * n + i;
        const double unit = r->unit[source(r, k)];
        if (!s->deviation || !(s->deviation[at] >= 0.0f)) return -0.5f;
        deviation += (double)s->deviation[at] / unit / 3.0;
        c += fmax((double)s->radiance[at] / unit, 0.0) / 3.0;
    }
    return (float)fmin(deviation * steep / (times * (1.0 + steep * c)), 2.0);
}

/* What is left: planes SPREAD, RAYS, SHARE. */
static void look_at_counts(const csrec_rendered *r, const csrec_rendered_samples *s) {
    const int64_t n = r->height * r->width;
    const bool any = s->albedo || s->normal || s->depth;
    float *rays = plane(r, RAYS), *share = plane(r, SHARE), *spread = plane(r, SPREAD);
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(n, s->threads))
    for (int64_t i = 0; i < n; i++) {
        spread[i] = rays[i] > 0.0f ? spread_of(r, s, i) : 0.0f;
        rays[i] = log2f(1.0f + rays[i]) / 6.0f;
        share[i] = any ? fminf(log2f(1.0f + share[i]) / 8.0f, 1.0f) : 0.0f;
    }
}

csrec_status csrec_rendered_look(csrec_rendered *r, const csrec_rendered_samples *samples,
                                 int channel, csrec_error *error) {
    const int64_t n = r->height * r->width;
    csrec_rendered_samples s = *samples;
    r->channel = channel;
    count(r, &s);
    if (!(measure(r, &s) > 0.0))
        return csrec_fail(error, CSREC_DATA,
                          "radiance: no pixel has rays and finite values; give at least one");
    for (int k = 0; k < 3; k++) {
        look_at_aov(r, s.albedo ? s.albedo + source(r, k) * n : NULL, 0.0f, white, s.threads,
                    plane(r, ALBEDO + k));
        look_at_aov(r, s.normal ? s.normal + k * n : NULL, -1.0f, 0.0, s.threads,
                    plane(r, NORMAL + k));
        look_at_light(r, &s, k);
    }
    look_at_depth(r, &s);
    look_at_counts(r, &s);
    return CSREC_OK;
}

/* Channel k of tone(radiance / U) at pixel i, Y_0 there, the next planes so many entries on. */
static double make(const csrec_rendered *r, int k, int64_t i, const float *Y, int64_t step) {
    const double direct = untone((double)plane(r, F + k)[i] + (double)Y[k * step]);
    const double quotient = untone((double)plane(r, Q + k)[i] + (double)Y[(3 + k) * step]);
    const double lit = ((double)plane(r, ALBEDO + k)[i] + dark) * quotient;
    const double w = 1.0 / (1.0 + exp(-(double)Y[6 * step]));
    return tone(fmax(direct + w * (lit - direct), 0.0));
}

/* Y NULL: the pass was stopped. */
static void add_pixel(const csrec_rendered *r, int64_t i, const float *Y, int64_t step,
                      float *result, float *squares) {
    const int64_t n = r->height * r->width;
    const double share = r->channel < 0 ? 1.0 : 1.0 / 3.0;
    for (int k = 0; k < 3; k++) {
        const double z = Y ? make(r, k, i, Y, step) : (double)plane(r, F + k)[i];
        result[source(r, k) * n + i] += (float)(share * z);
        if (Y && squares)
            squares[source(r, k) * n + i] += (float)share * csrec_prior_square(1.0, Y[7 * step]);
    }
}

csrec_status csrec_rendered_add(csrec_rendered *r, int turn, int threads, csrec_call *call,
                                float *result, float *squares, csrec_error *error) {
    const csrec_turn t = {turn, r->width, 0, 0, r->height, r->width};
    const int64_t rows = csrec_turned_rows(&t), columns = csrec_turned_columns(&t);
    const int64_t height = csrec_prior_padded(rows, r->multiple),
                  width = csrec_prior_padded(columns, r->multiple);
    csrec_turn_planes(&t, TAKES, r->planes, height, width, threads, r->turned);
    CSREC_TRY(csrec_net_run(r->net, height, width, r->turned, r->out, 0, call, error));
    const bool stopped = csrec_call_stopped(call);
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(rows *columns, threads))
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++)
            add_pixel(r, csrec_turn_source(&t, y, x), stopped ? NULL : r->out + y * width + x,
                      height * width, result, squares);
    return CSREC_OK;
}

void csrec_rendered_finish(const csrec_rendered *r, const csrec_rendered_samples *s, int passes,
                           float *result, float *squares) {
    const int64_t n = r->height * r->width;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(n, s->threads))
    for (int64_t i = 0; i < n; i++) {
        const bool exact = rays_of(s, i) >= CSREC_RENDERED_EXACT;
        for (int k = 0; k < 3; k++) {
            const double c = untone((double)result[k * n + i] / passes);
            const double step = r->unit[k] / csrec_rendered_slope(c);
            result[k * n + i] = exact ? s->radiance[k * n + i] : (float)(r->unit[k] * c);
            if (squares)
                squares[k * n + i] =
                    exact ? 0.0f : (float)((double)squares[k * n + i] / passes * step * step);
        }
    }
}
