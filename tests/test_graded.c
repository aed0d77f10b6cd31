/* SPDX-License-Identifier: BSD-3-Clause */
/* test_graded.c - samples of differing noise, recovered by methods that know one sigma, against the
 * three steps done by hand: the bits that stay, history, interrupts, and what it is good for. */
#include "prior_model.h"
#include "rays.h"

enum { H = 44, W = 36, ENTRIES = H * W };

typedef struct scene {
    csrec_measurement m;
    csrec_recover_options o;
    double *truth, *signal;
    int64_t values;
} scene;

/* Waves and an edge, of which a part is sampled with deviations from 0.08 to 0.64. */
static scene draw_scene(int64_t channels, const char *method) {
    scene s = {.m = draw_light_at((csrec_shape){2, {H, W}}, channels, 600)};
    s.values = ENTRIES * channels;
    s.truth = check_room(s.values);
    s.signal = check_room(s.values);
    s.m.deviation = check_room(s.m.n * channels);
    for (int64_t c = 0; c < channels; c++) {
        const double a = 0.3 * check_uniform(&seed), b = 0.3 * check_uniform(&seed);
        const int64_t edge = check_below(&seed, W);
        for (int64_t i = 0; i < ENTRIES; i++)
            s.truth[i * channels + c] =
                2.0 + sin(a * (double)(i / W) + b * (double)(i % W)) + (i % W < edge ? 1.0 : 0.0);
    }
    for (int64_t i = 0; i < s.m.n * channels; i++) {
        s.m.deviation[i] = 0.08 * pow(8.0, check_uniform(&seed));
        s.m.y[i] = s.truth[s.m.index[i / channels] * channels + i % channels] +
                   s.m.deviation[i] * check_normal(&seed);
    }
    s.o = options_on_cpu(method, NULL);
    s.o.threads = 1;
    return s;
}

static double *recover(const scene *s, const csrec_measurement *m, csrec_recover_report *report) {
    double *signal = check_room(s->values);
    assert_well(csrec_recover(m, &s->o, signal, NULL, report, &told));
    return signal;
}

static csrec_measurement of_one(const csrec_measurement *m, double sigma) {
    csrec_measurement one = *m;
    one.rays = one.deviation = NULL;
    one.sigma = sigma;
    return one;
}

/* The mean of deviations > 0 to the power p, to the power 1 / p. */
static double mean_deviation(const csrec_measurement *m, double p) {
    double sum = 0.0, n = 0.0;
    for (int64_t i = 0; i < m->n * m->channels; i++) {
        if (isnan(m->y[i]) || m->deviation[i] == 0.0) continue;
        sum += pow(m->deviation[i], p);
        n += 1.0;
    }
    return pow(sum / n, 1.0 / p);
}

/* The samples of the step behind x; bounds: the sigma is what noise they have. */
static csrec_measurement next_step(const csrec_measurement *m, const double *x, bool bounds) {
    const int64_t C = m->channels;
    double squares = 0.0, n = 0.0;
    csrec_measurement one = of_one(m, mean_deviation(m, -2.0));
    one.y = check_room(m->n * C);
    for (int64_t i = 0; i < m->n * C; i++) {
        const double at = x[m->index[i / C] * C + i % C], s = m->deviation[i];
        const double weight = s > one.sigma ? one.sigma * one.sigma / (s * s) : 1.0;
        one.y[i] = (1.0 - weight) * at + weight * m->y[i];
        if (weight == 1.0 || isnan(at)) one.y[i] = m->y[i];
        if (isnan(m->y[i]) || s == 0.0) continue;
        squares += weight * s * weight * s;
        n += 1.0;
    }
    if (bounds) one.sigma = sqrt(squares / n);
    return one;
}

/* last: or NULL, to the measurement of the last step. */
static double *by_hand(const scene *s, csrec_measurement *last) {
    const int64_t C = s->m.channels;
    csrec_measurement one = of_one(&s->m, mean_deviation(&s->m, 2.0));
    const bool bounds = strcmp(s->o.method, "smooth") == 0 || strcmp(s->o.method, "tv") == 0;
    double *x = recover(s, &one, NULL);
    for (int k = 0; k < 2; k++) {
        one = next_step(&s->m, x, bounds);
        x = recover(s, &one, NULL);
    }
    for (int64_t i = 0; i < s->m.n * C; i++)
        if (s->m.deviation[i] == 0.0 && !isnan(s->m.y[i]))
            x[s->m.index[i / C] * C + i % C] = s->m.y[i];
    if (last) *last = one;
    return x;
}

static const struct {
    const char *method;
    int64_t channels;
    bool gaps;
} cases[] = {{"frames", 1, false},  {"frames", 3, false}, {"gaussian", 1, false},
             {"gaussian", 3, true}, {"smooth", 1, false}, {"smooth", 2, true},
             {"tv", 1, false},      {"net", 1, false},    {"net", 3, false}};

enum { CASES = sizeof cases / sizeof *cases };

/* Its model: to be destroyed. */
static csrec_model *draw_case(int k, scene *s) {
    *s = draw_scene(cases[k].channels, cases[k].method);
    csrec_model *model =
        strcmp(cases[k].method, "net") == 0 ? draw_model((int)cases[k].channels) : NULL;
    s->o.model = model;
    for (int64_t i = 0; i < s->m.n && cases[k].gaps; i++)
        if (check_below(&seed, 3) == 0) s->m.y[i * s->m.channels + 1] = NAN;
    return model;
}

static void expect_signals(const scene *s, const char *name, const double *a, const double *b) {
    for (int64_t i = 0; i < s->values; i++) expect_number(a[i], b[i], 2e-5, name, i);
}

TEST(it_is_three_steps_of_one_sigma) {
    for (int k = 0; k < CASES; k++) {
        scene s;
        if (sanitized_leaves()) continue;
        ENDS_BY(end_model) csrec_model *model = draw_case(k, &s);
        if (check_below(&seed, 2)) sprinkle(s.m.n * s.m.channels, 0.2, 0.0, s.m.deviation);
        csrec_recover_report report;
        const double *got = recover(&s, &s.m, &report), *wanted = by_hand(&s, NULL);
        expect_signals(&s, cases[k].method, got, wanted);
        double off = 0.0, all = 0.0;
        for (int64_t i = 0; i < s.m.n * s.m.channels; i++) {
            const double y = s.m.y[i];
            const double x = got[s.m.index[i / s.m.channels] * s.m.channels + i % s.m.channels];
            if (isnan(y)) continue;
            if (s.m.deviation[i] == 0.0) assert_true(x == y);
            off += (x - y) * (x - y);
            all += y * y;
        }
        assert_string_equal(report.method, cases[k].method);
        expect_number(report.residual, sqrt(off / all), 1e-9, "residual", k);
    }
}

static void expect_same(const scene *s, const csrec_measurement *a, const csrec_measurement *b) {
    csrec_recover_report report[2];
    const double *x = recover(s, a, &report[0]), *y = recover(s, b, &report[1]);
    assert_memory_equal(x, y, (size_t)s->values * sizeof *x);
    check_same_report(&report[0], &report[1]);
}

TEST(equal_deviations_are_one_sigma_and_rays_are_deviations) {
    for (int k = 0; k < CASES; k++) {
        scene s;
        if (sanitized_leaves()) continue;
        ENDS_BY(end_model) csrec_model *model = draw_case(k, &s);
        csrec_measurement one = of_one(&s.m, 0.1 + check_uniform(&seed)), rays = one, same = s.m;
        same.deviation = check_room(s.m.n * s.m.channels);
        for (int64_t i = 0; i < s.m.n * s.m.channels; i++) same.deviation[i] = one.sigma;
        expect_same(&s, &one, &same);
        rays.rays = draw_rays(s.m.n);
        for (int64_t i = 0; i < s.m.n * s.m.channels; i++)
            same.deviation[i] = one.sigma / sqrt(rays.rays[i / s.m.channels]);
        expect_same(&s, &rays, &same);
        for (int64_t i = 0; i < s.m.n; i++) rays.rays[i] = 1.0;
        expect_same(&s, &rays, &one);
        s.o.threads = 3;
        expect_same(&s, &same, &same);
    }
}

TEST(its_history_is_that_of_the_last_step) {
    scene s = draw_scene(1, "frames");
    csrec_measurement last;
    const double *wanted = by_hand(&s, &last);
    const csrec_history_step *steps;
    const char *name, *unit;
    int64_t n, all[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        ENDS_BY(end_history) csrec_history *history = NULL;
        assert_well(csrec_history_create(s.truth, 3.0, &history));
        s.o.history = history;
        const double *got = recover(&s, k ? &last : &s.m, NULL);
        expect_signals(&s, "with a history", got, wanted);
        for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++) all[k] += n;
        const double psnr = 20.0 * log10(3.0 / check_rms(s.values, got, s.truth));
        assert_string_equal(name, "result");
        expect_number(steps[n - 1].psnr, psnr, 1e-6, "psnr", k);
    }
    assert_true(all[0] == all[1] && all[0] > 1);
}

/* The first step's result, as far as it came. */
TEST(interrupts_leave_what_there_is) {
    for (int k = 0; k < CASES; k++)
        for (int calls = 0; calls < 8; calls = 3 * calls + 2) {
            int left = calls;
            scene s;
            ENDS_BY(end_model) csrec_model *model = draw_case(k, &s);
            const int64_t C = s.m.channels;
            csrec_measurement one = of_one(&s.m, mean_deviation(&s.m, 2.0));
            csrec_recover_report report;
            sprinkle(s.m.n * C, 0.2, 0.0, s.m.deviation);
            one.sigma = mean_deviation(&s.m, 2.0);
            report_to(&s.o.solve, stop_by_count, &left);
            const double *got = recover(&s, &s.m, &report);
            if (left < 0 && calls == 0) assert_int_equal(report.outcome, CSREC_INTERRUPTED);
            for (int64_t i = 0; i < s.m.n * C; i++)
                if (s.m.deviation[i] == 0.0 && !isnan(s.m.y[i]))
                    assert_true(got[s.m.index[i / C] * C + i % C] == s.m.y[i]);
            for (int64_t i = 0; i < s.values; i++) assert_true(isfinite(got[i]));
            if (calls > 0) continue;
            report_to(&s.o.solve, stop_by_count, &(int){calls});
            double *wanted = recover(&s, &one, NULL);
            for (int64_t i = 0; i < s.m.n * C; i++)
                if (s.m.deviation[i] == 0.0 && !isnan(s.m.y[i]))
                    wanted[s.m.index[i / C] * C + i % C] = s.m.y[i];
            expect_signals(&s, "interrupted", got, wanted);
        }
}

/* By the mean of ten pictures, of deviations that differ by a factor of up to 8. */
TEST(errors_are_smaller_than_with_the_mean_noise) {
    static const char *const methods[] = {"frames", "gaussian", "smooth", "tv"};
    skip_sanitized();
    for (int k = 0; k < 4; k++) {
        double own = 0.0, mean = 0.0;
        for (int round = 0; round < 10; round++) {
            const scene s = draw_scene(1, methods[k]);
            const csrec_measurement one = of_one(&s.m, mean_deviation(&s.m, 2.0));
            const double a = check_rms(s.values, recover(&s, &s.m, NULL), s.truth);
            const double b = check_rms(s.values, recover(&s, &one, NULL), s.truth);
            own += a / 10.0;
            mean += b / 10.0;
        }
        if (!(own < mean)) fail_msg("%s: %g, with the mean noise %g", methods[k], own, mean);
    }
}
