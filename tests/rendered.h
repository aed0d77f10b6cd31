/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.h - samples of random renderings, and what their tests have in common. */
#pragma once

#include "learn/net/rendered.h"
#include "prior_model.h"

enum { TAKES = 20, MAKES = 8 };

static inline float pick(int count, const float *values) {
    return values[check_below(&seed, count)];
}

static inline float *draw_floats(int64_t n, double low, double high) {
    float *v = floats(n);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(low + (high - low) * check_uniform(&seed));
    return v;
}

/* Some of n entries become this. */
static inline void strew(int64_t n, float value, float *v) {
    for (int64_t i = 0; i < n; i++)
        if (check_uniform(&seed) < 0.05) v[i] = value;
}

/* With what is left out: values that are not finite, numbers of rays that are none. */
static inline void draw_light(int64_t n, csrec_rendered_samples *s) {
    static const float counts[] = {0.0f, 0.0f, 1.0f, 4.0f, 64.0f, 256.0f, 1e4f, -3.0f, NAN};
    float *y = floats(3 * n), *rays = floats(n);
    for (int64_t i = 0; i < 3 * n; i++) y[i] = (float)(40.0 * pow(check_normal(&seed), 2.0));
    strew(3 * n, NAN, y);
    strew(3 * n, INFINITY, y);
    strew(3 * n, -2.0f, y);
    for (int64_t i = 0; i < n; i++) rays[i] = pick(9, counts);
    const int64_t one = check_below(&seed, n), lamp = check_below(&seed, n);
    for (int k = 0; k < 3; k++) y[k * n + lamp] = 1e6f; /* beyond the last tone */
    for (int k = 0; k < 3; k++) y[k * n + one] = 7.0f;
    rays[lamp] = rays[one] = 1.0f;
    s->radiance = y;
    s->rays = rays;
}

/* Every combination of AOVs in 8 rounds. */
static inline csrec_rendered_samples draw_samples(int64_t h, int64_t w, int round) {
    static const float depths[] = {0.0f, -1.0f, INFINITY, NAN},
                       counts[] = {0.0f, 0.0f, 1.0f, 16.0f};
    const int64_t n = h * w;
    csrec_rendered_samples s = {.height = h, .width = w, .threads = 1 + round % 3};
    draw_light(n, &s);
    float *deviation = draw_floats(3 * n, 0.0, 90.0), *albedo = draw_floats(3 * n, -0.2, 1.2);
    float *depth = draw_floats(n, 0.1, 9.0), *known = floats(n);
    strew(3 * n, -1.0f, deviation);
    strew(3 * n, NAN, deviation);
    strew(3 * n, NAN, albedo);
    for (int k = 0; k < 4; k++) strew(n, depths[k], depth);
    for (int64_t i = 0; i < n && round % 7 < 5; i++) known[i] = pick(4, counts);
    if (round % 3) s.deviation = deviation;
    if (round & 1) s.albedo = albedo;
    if (round & 2) s.normal = draw_floats(3 * n, -1.2, 1.2);
    if (round & 4) s.depth = depth;
    if (round % 5 % 2) s.aov_rays = known;
    return s;
}

static inline bool three_finite(const float *planes, int64_t n, int64_t i) {
    return isfinite(planes[i]) && isfinite(planes[n + i]) && isfinite(planes[2 * n + i]);
}

static inline double rays_at(const csrec_rendered_samples *s, int64_t i) {
    const bool well = s->rays[i] > 0.0f && three_finite(s->radiance, s->height * s->width, i);
    return well ? fmin((double)s->rays[i], 256.0) : 0.0;
}

static inline double tone_of(double c) {
    return log(1.0 + 20.0 * c) / 3.0;
}

static inline void open_rendered(const csrec_model *model, int64_t h, int64_t w,
                                 csrec_rendered *r) {
    const csrec_net_options options = {.threads = 2};
    assert_well(csrec_rendered_create(&(csrec_prior_from){.model = model}, &csrec_context_cpu,
                                      &options, h, w, r, &told));
}

static inline void expect_near(double got, double wanted, double tolerance, const char *what,
                               int64_t i) {
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s, entry %lld: %g, not %g", what, (long long)i, got, wanted);
}
