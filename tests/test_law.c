/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise that grows with the light: its law is found, samples are changed by it and back, beside
 * sums over Poisson counts and the formulas of the header; and much salt. */
#include "samples.h"

#include "measurement/law.h"

SEED(seed);

enum { SIDE = 128, N = SIDE * SIDE };
static const csrec_shape square = {2, {SIDE, SIDE}};

/* Slow waves, of 0.05 to 1. */
static double light(int64_t flat) {
    const double u = (double)(flat / SIDE) / SIDE, v = (double)(flat % SIDE) / SIDE;
    return 0.525 + 0.475 * sin(5.0 * u + 1.0) * cos(4.0 * v);
}

static double poisson(double mean) {
    double n = 0.0;
    for (double t = -log(check_uniform(&seed) + 1e-300); t < mean; n++)
        t -= log(check_uniform(&seed) + 1e-300);
    return n;
}

/* Half of them: gain counts + offset of at most `most`, or gamma noise of `rays`. */
static csrec_measurement make(double gain, double offset, double most, int rays) {
    csrec_measurement m = draw_places(&square, 1, CSREC_PATTERN_UNIFORM, N / 2, check_next(&seed));
    for (int64_t i = 0; i < m.n; i++) {
        m.y[i] = rays ? 0.0 : gain * poisson(most * light(m.index[i])) + offset;
        for (int r = 0; r < rays; r++)
            m.y[i] -= light(m.index[i]) * log(check_uniform(&seed) + 1e-300) / rays;
    }
    return m;
}

static csrec_noise_law find(const csrec_measurement *m, const char *text, double *sigma) {
    csrec_noise_law law;
    assert_well(csrec_noise_parse(text, sigma, &law, &told));
    assert_well(csrec_noise_find(m, sigma, &law, &told));
    return law;
}

TEST(texts_are_read) {
    static const struct {
        const char *text;
        double sigma;
        csrec_noise_law law;
    } good[] = {{"0", 0, {0, 0, 0}},
                {"2.5", 2.5, {0, 0, 0}},
                {"auto", NAN, {0, 0, 0}},
                {"poisson", 0, {NAN, NAN, 0}},
                {"poisson:2", 0, {2, 0, 0}},
                {"poisson:2,30", 0, {2, -60, 0}},
                {"poisson:2,30,4", 0, {2, -44, 0}},
                {"light", 0, {0, 0, NAN}},
                {"light:.5", 0, {0, 0, .5}}};
    static const char *const bad[] = {"",
                                      "x",
                                      "-1",
                                      "nan",
                                      "inf",
                                      "poisson:0",
                                      "poisson:",
                                      "poisson2",
                                      "light:0",
                                      "light:1,2",
                                      "poisson:1,",
                                      "poisson:1,2,-3",
                                      "poisson:1,2,3,4",
                                      "1e301"};
    csrec_noise_law law;
    double sigma;
    char text[CSREC_NOISE_TEXT];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_well(csrec_noise_parse(good[i].text, &sigma, &law, &told));
        const double got[] = {sigma, law.gain, law.base, law.log};
        const double want[] = {good[i].sigma, good[i].law.gain, good[i].law.base, good[i].law.log};
        for (int k = 0; k < 4; k++)
            if (got[k] != want[k] && !(isnan(got[k]) && isnan(want[k])))
                fail_msg("%s: %d: %g", good[i].text, k, got[k]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(csrec_noise_parse(bad[i], &sigma, &law, &told), CSREC_ARGUMENT, "neither");
    assert_true(csrec_noise_text(&(csrec_noise_law){2.0, -60.0, 0.0}, text));
    assert_string_equal(text, "poisson:2,30");
    assert_false(csrec_noise_text(&(csrec_noise_law){0.0, 0.0, 0.0}, text));
}

/* Whether the law that is found in counts up to `most` has their variance, within 40 %; of plain
 * ones without being told that they are counts, and exactly. */
static bool finds_counts(double most, double offset) {
    double sigma;
    const double gain = 0.5 + 3.0 * check_uniform(&seed);
    CLEARED(csrec_measurement) m = make(gain, offset, most, 0);
    for (int64_t i = 0; i < m.n && most < 10.0; i++) m.y[i] = (double)(float)m.y[i];
    const csrec_noise_law law = find(&m, offset == 0.0 ? "auto" : "poisson", &sigma);
    if (offset == 0.0) return fabs(law.gain / gain - 1.0) < 1e-6 && law.base == 0.0 && sigma == 0.0;
    bool right = sigma == 0.0 && law.log == 0.0;
    for (int at = 0; at < 3; at++) { /* in the dark, the middle, in the light */
        const double counts = most * (0.15 + 0.4 * at);
        const double v = law.base + law.gain * (gain * counts + offset);
        right = right && fabs(v / (gain * gain * counts) - 1.0) < 0.4;
    }
    return right;
}

static bool finds_light(int64_t rays, double deviation, const char *text) {
    double sigma;
    CLEARED(csrec_measurement) m = make(0.0, 0.0, 0.0, rays);
    const csrec_noise_law law = find(&m, text, &sigma);
    return law.gain == 0.0 && fabs(law.log / deviation - 1.0) < 0.25;
}

static bool finds_white(void) {
    double sigma;
    CLEARED(csrec_measurement) white = make(1.0, 0.0, 0.0, 0);
    for (int64_t i = 0; i < white.n; i++)
        white.y[i] = round(100.0 * light(white.index[i]) + 3.0 * check_normal(&seed));
    return find(&white, "auto", &sigma).gain == 0.0 && sigma > 2.5 && sigma < 3.5;
}

/* One drawing in 40 or so is wrong: of 15, 8 are less than once in 10^8. */
TEST(laws_are_found) {
    static const double most[] = {5.0, 20.0, 100.0}, offset[] = {0.0, 40.0, -7.0};
    static const double deviation[] = {1.2825, 0.5328, 0.2540}; /* root of trigamma(rays) */
    int right[7] = {0};
    for (int draw = 0; draw < 15; draw++) {
        for (int k = 0; k < 3; k++) {
            right[k] += finds_counts(most[k], offset[k]);
            right[3 + k] += finds_light(1 << 2 * k, deviation[k], k ? "auto" : "light");
        }
        right[6] += finds_white();
    }
    for (int k = 0; k < 7; k++)
        if (right[k] < 8) fail_msg("case %d: %d of 15", k, right[k]);
}

/* Of means of changed counts the mean of counts: sums over the distribution. */
TEST(the_way_back_has_no_bias) {
    const csrec_noise_law law = {2.5, -2.5 * 30.0, 0.0};
    for (double mean = 0.05; mean < 200.0; mean *= 1.3) {
        double u = 0.0, p = exp(-mean);
        for (int k = 0; k < 600; p *= mean / ++k)
            u += p * csrec_law_into(&law, 0.0, 2.5 * k + 30.0);
        const double back = (csrec_law_back(&law, 0.0, 1.0, u) - 30.0) / 2.5;
        if (!(fabs(back - mean) < 0.03 * sqrt(mean + 1.0))) fail_msg("%g: %g", mean, back);
    }
}

static csrec_recover_options options_of(csrec_noise_law law) {
    csrec_recover_options o;
    csrec_recover_defaults(&o);
    o.method = "frames";
    o.threads = 1;
    o.law = law;
    return o;
}

/* A recovery by hand: change, recover with sigma 1, change back. And expected errors. */
TEST(recovery_is_that_of_changed_samples) {
    const double g = 1.5, base = 4.0;
    CLEARED(csrec_measurement) m = make(g, 10.0, 30.0, 0);
    double *x = malloc(5 * N * sizeof *x), *other = x + N, *map = x + 2 * N, *changed = x + 3 * N;
    double *y = m.y, expected, there;
    csrec_recover_options o = options_of((csrec_noise_law){g, base, 0.0}),
                          plain = options_of((csrec_noise_law){.log = 0.0});
    csrec_recover_report report;
    assert_well(csrec_recover(&m, &o, x, NULL, &report, &told));
    assert_well(csrec_uncertainty(&m, &o, x, map, &expected, &told));
    m.y = changed;
    m.sigma = 1.0;
    for (int64_t i = 0; i < m.n; i++)
        m.y[i] = 2.0 / g * sqrt(fmax(g * y[i] + 0.375 * g * g + base, 0.0));
    assert_well(csrec_recover(&m, &plain, other, NULL, NULL, &told));
    double squares = 0.0;
    for (int i = 0; i < N; i++) {
        const double d = fmax(other[i], sqrt(1.5));
        const double n = d * d / 4.0 + sqrt(1.5) / (4.0 * d) - 11.0 / (8.0 * d * d) +
                         5.0 * sqrt(1.5) / (8.0 * d * d * d) - 0.125;
        if (!(fabs(x[i] - (g * n - base / g)) < 1e-9 * (1.0 + fabs(x[i])))) fail_msg("%d", i);
        squares += map[i] * map[i] / N;
        other[i] = 2.0 / g * sqrt(fmax(g * x[i] + 0.375 * g * g + base, 0.0));
    }
    assert_true(fabs(expected - sqrt(squares)) < 1e-9 * expected && report.residual > 0.0);
    assert_well(csrec_uncertainty(&m, &plain, other, x + 4 * N, &there, &told));
    for (int i = 0; i < N; i++) {
        const double slope = sqrt(fmax(base + g * x[i], 0.0) + 0.375 * g * g);
        if (!(fabs(map[i] - slope * x[4 * N + i]) < 1e-9 * (map[i] + 1e-3))) fail_msg("map %d", i);
    }
    m.y = y;
    free(x);
}

/* The mean of the result is that of the light, though that of its logarithm is not. */
TEST(light_keeps_its_mean) {
    CLEARED(csrec_measurement) m = make(0.0, 0.0, 0.0, 4);
    double *x = malloc(N * sizeof *x), sum = 0.0, truth = 0.0, sigma;
    const csrec_recover_options o = options_of(find(&m, "light", &sigma));
    assert_well(csrec_recover(&m, &o, x, NULL, NULL, &told));
    for (int i = 0; i < N; i++) sum += x[i], truth += light(i);
    if (!(fabs(sum / truth - 1.0) < 0.08)) fail_msg("%g times the light", sum / truth);
    free(x);
}

TEST(what_has_no_law_is_refused) {
    CLEARED(csrec_measurement) m = make(1.0, 0.0, 9.0, 0);
    double *x = malloc(N * sizeof *x), *rays = calloc((size_t)m.n, sizeof *rays), sigma;
    const csrec_recover_options good = options_of((csrec_noise_law){1.0, 0.0, 0.0});
    csrec_recover_options o = good;
    csrec_noise_law law = {NAN, NAN, 0.0};
    o.law.log = 1.0;
    assert_refused(csrec_recover(&m, &o, x, NULL, NULL, &told), CSREC_ARGUMENT, "the other 0");
    o.law = law;
    assert_refused(csrec_recover(&m, &o, x, NULL, NULL, &told), CSREC_ARGUMENT, "csrec_noise_find");
    o = good;
    o.labels = true;
    assert_refused(csrec_recover(&m, &o, x, NULL, NULL, &told), CSREC_UNSUPPORTED, "labels");
    o = good;
    o.curve = CSREC_CURVE_LOG;
    assert_refused(csrec_recover(&m, &o, x, NULL, NULL, &told), CSREC_UNSUPPORTED, "curve log");
    assert_refused(csrec_uncertainty_density(&m, &good, x, &told), CSREC_UNSUPPORTED, "as a whole");
    m.rays = rays;
    assert_refused(csrec_recover(&m, &good, x, NULL, NULL, &told), CSREC_UNSUPPORTED, "rays");
    m.rays = NULL;
    for (int64_t i = 0; i < m.n; i++) m.y[i] = 40.0 - m.y[i]; /* noise grows with the dark */
    assert_refused(csrec_noise_find(&m, &sigma, &law, &told), CSREC_DATA, "tell no gain");
    m.y[0] = -1.0;
    law = (csrec_noise_law){0.0, 0.0, NAN};
    assert_refused(csrec_noise_find(&m, &sigma, &law, &told), CSREC_DATA, "samples below 0");
    free(rays);
    free(x);
}

/* Grains are neighbours of each other. Of 8 neighbours six alike are one in 10^3 grains at most, of
 * 1 % salt none. */
TEST(salt_is_found) {
    static const double shares[] = {0.01, 0.05, 0.1, 0.2, 0.4};
    uint8_t outlier[N];
    bool bad[N];
    for (int k = 0; k < 5; k++) {
        CLEARED(csrec_measurement) m = make(1.0, 0.0, 0.0, 0);
        int64_t found, missed = 0, wrong = 0;
        for (int64_t i = 0; i < m.n; i++) {
            bad[i] = check_uniform(&seed) < shares[k];
            m.y[i] =
                bad[i] ? 255.0 * (double)check_below(&seed, 2) : 20.0 + 200.0 * light(m.index[i]);
        }
        assert_well(csrec_outliers_find(&m, (int)check_below(&seed, 3), outlier, &found, &told));
        for (int64_t i = 0; i < m.n; i++) {
            missed += bad[i] && !outlier[i];
            wrong += !bad[i] && outlier[i];
        }
        if (missed > (k ? 40 : 2) || wrong > 0)
            fail_msg("%g: %d missed, %d wrong", shares[k], (int)missed, (int)wrong);
    }
}
