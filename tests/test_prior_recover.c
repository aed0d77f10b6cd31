/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery by models of kind net: any unit and offset, constants, single samples, tiny pictures. */
#include "recover/recover.h"
#include "learn/net/pass.h"
#include "prior_model.h"

typedef struct sampled {
    csrec_measurement m;
    int64_t values;
} sampled;

static sampled sample(int64_t height, int64_t width, int64_t channels, int64_t n) {
    sampled s = {.m = {.shape = {2, {height, width}}, .n = n, .channels = channels},
                 .values = height * width * channels};
    OWNED int64_t *order = check_order(&seed, height * width);
    s.m.index = memcpy(check_keep((size_t)n * sizeof *order), order, (size_t)n * sizeof *order);
    s.m.y = check_room(n * channels);
    for (int64_t i = 0; i < n * channels; i++) s.m.y[i] = 255.0 * check_uniform(&seed);
    return s;
}

static double *recover(const sampled *s, const csrec_model *model, const char *name, double value) {
    csrec_recover_report report;
    const csrec_setting settings[] = {{name, value}};
    csrec_recover_options o = options_on_cpu(NULL, model);
    o.range[0] = -INFINITY; /* no bound at 0, which an offset moves */
    o.range[1] = INFINITY;
    if (name) o.solve.settings = settings, o.solve.n_settings = 1;
    double *signal = check_room(s->values);
    assert_well(csrec_recover(&s->m, &o, signal, NULL, &report, &told));
    assert_string_equal(report.method, "net");
    for (int64_t i = 0; i < s->m.n && s->m.sigma == 0.0; i++)
        for (int64_t c = 0; c < s->m.channels; c++)
            assert_true(signal[s->m.index[i] * s->m.channels + c] == s->m.y[i * s->m.channels + c]);
    for (int64_t i = 0; i < s->values; i++) assert_true(isfinite(signal[i]));
    return signal;
}

/* Values of 1e-9 or 1e9, with offsets, give the same picture but for rounding, powers of two
 * exactly. */
TEST(units_and_offsets_do_not_matter) {
    for (int round = 0; round < 4; round++) {
        int channels = round % 2 ? 3 : 1;
        ENDS_BY(end_model) csrec_model *model = draw_model(channels);
        sampled s = sample(20 + check_below(&seed, 20), 20 + check_below(&seed, 20), channels, 200);
        if (round > 1) s.m.sigma = 5.0;
        double *plain = recover(&s, model, NULL, 0.0);
        const double gains[] = {1e-9, 1e9, 64.0, -3.0}, offsets[] = {1e-7, -1e10, 0.0, 1e4};
        for (int k = 0; k < 4; k++) {
            sampled t = s;
            t.m.y = check_room(s.m.n * channels);
            t.m.sigma = s.m.sigma * fabs(gains[k]);
            for (int64_t i = 0; i < s.m.n * channels; i++)
                t.m.y[i] = gains[k] * s.m.y[i] + offsets[k];
            double *other = recover(&t, model, NULL, 0.0);
            for (int64_t i = 0; i < s.values && gains[k] > 0.0; i++) {
                double expected = gains[k] * plain[i] + offsets[k];
                if (fabs(other[i] - expected) > 2e-2 * gains[k])
                    fail_msg("gain %g: %g, expected %g", gains[k], other[i], expected);
                if (gains[k] == 64.0) assert_true(other[i] == expected);
            }
        }
    }
}

TEST(constants_and_small_pictures_work) {
    ENDS_BY(end_model) csrec_model *gray = draw_model(1), *colour = draw_model(3);
    const int64_t sizes[][2] = {{1, 1}, {1, 9}, {5, 1}, {3, 4}, {7, 8}, {17, 9}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int channels = 1; channels <= 3; channels += 2) {
            int64_t n = sizes[k][0] * sizes[k][1];
            sampled s = sample(sizes[k][0], sizes[k][1], channels, 1 + check_below(&seed, n));
            recover(&s, channels == 3 ? colour : gray, "turns", 8);
            recover(&s, gray, "steps", 2);
            for (int64_t i = 0; i < s.m.n * channels; i++) s.m.y[i] = 1e6 + (double)(i % channels);
            double *flat = recover(&s, channels == 3 ? colour : gray, NULL, 0.0);
            for (int64_t i = 0; i < s.values; i++)
                assert_true(flat[i] == 1e6 + (double)(i % channels));
        }
}

/* The mean over turns does not change if the picture is turned. */
TEST(eight_turns_are_symmetric) {
    ENDS_BY(end_model) csrec_model *model = draw_model(1);
    sampled s = sample(24, 40, 1, 300), t = s;
    t.m.shape = (csrec_shape){2, {40, 24}};
    t.m.index = check_keep((size_t)s.m.n * sizeof(int64_t));
    for (int64_t i = 0; i < s.m.n; i++)
        t.m.index[i] = s.m.index[i] % 40 * 24 + (23 - s.m.index[i] / 40);
    double *a = recover(&s, model, "turns", 8), *b = recover(&t, model, "turns", 8);
    for (int64_t y = 0; y < 24; y++)
        for (int64_t x = 0; x < 40; x++)
            assert_true(fabs(a[y * 40 + x] - b[x * 24 + 23 - y]) < 2e-2);
}

/* Of a picture of stripes, fitting lowers the error at pixels that it has not seen. */
/* The installed priors: `together` takes the one of three channels, else each has the gray one. */
TEST(colours_go_together_or_apart) {
    sampled s = sample(24, 16, 3, 100);
    for (int together = 0; together < 2; together++) {
        char path[4096];
        ENDS_BY(end_model) csrec_model *model = NULL;
        if (!csrec_prior_installed(together ? 3 : 1, sizeof path, path)) skip();
        assert_ok(csrec_model_read(path, &model, NULL));
        assert_int_equal(csrec_prior_channels(model), together ? 3 : 1);
        double *named = recover(&s, model, NULL, 0.0);
        double *found = recover(&s, NULL, "together", together);
        assert_memory_equal(named, found, (size_t)s.values * sizeof *named);
    }
}

/* Channels of correlation rho and standard deviation 50: presets take the prior for colours where
 * they follow one another, and there is noise or, for balanced, much to do. */
TEST(presets_see_colours_together) {
    static const struct {
        double rho, sigma;
        int64_t side, channels;
        double balanced, others; /* together, expected */
    } rows[] = {{0.9, 0.0, 64, 3, 0, 0},   {0.9, 10.0, 64, 3, 1, 1}, {0.3, 10.0, 64, 3, 0, 0},
                {-0.4, 10.0, 64, 3, 0, 0}, {0.9, 1.0, 64, 3, 0, 0},  {0.9, 0.0, 512, 3, 1, 0},
                {0.3, 0.0, 512, 3, 0, 0},  {0.9, 10.0, 64, 2, 0, 0}, {0.9, 50.0, 64, 3, 1, 1}};
    static const int powers[] = {0, -900, 900}; /* of two: the unit of values */
    if (!csrec_prior_installed(3, 0, NULL)) skip();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int unit = 0; unit < 3; unit++) {
            sampled s = sample(rows[k].side, rows[k].side, rows[k].channels, 4000);
            for (int64_t i = 0; i < s.m.n; i++) {
                const double common = sqrt(fabs(rows[k].rho)) * check_normal(&seed);
                for (int64_t c = 0; c < s.m.channels; c++)
                    s.m.y[i * s.m.channels + c] =
                        ldexp(1000.0 + (c ? 50.0 : copysign(50.0, rows[k].rho)) * common +
                                  50.0 * sqrt(1.0 - fabs(rows[k].rho)) * check_normal(&seed) +
                                  rows[k].sigma * check_normal(&seed),
                              powers[unit]);
            }
            s.m.sigma = ldexp(rows[k].sigma, powers[unit]);
            for (int preset = 1; preset < 4; preset++) {
                csrec_recover_options o;
                (void)csrec_recover_preset(preset, &s.m, &o);
                const double together =
                    csrec_setting_value(&o.solve, CSREC_OF_METHOD, "together", 0.0);
                if (together != (preset == 1 ? rows[k].balanced : rows[k].others))
                    fail_msg("row %zu, preset %d: together=%g", k, preset, together);
            }
            csrec_recover_options own;
            csrec_recover_defaults(&own);
            own.solve.settings = &(csrec_setting){"turns", 2}, own.solve.n_settings = 1;
            (void)csrec_preset_default(&s.m, &own);
            assert_true(csrec_setting_value(&own.solve, CSREC_OF_METHOD, "turns", 1.0) == 2.0);
        }
}

enum { SIDE = 32, STEPS = 400 };

static double stripe(int64_t entry) {
    return entry % SIDE / 3 % 2 ? 200.0 : 50.0;
}

/* Squared errors after fitting as a share of those before; twice the same. */
static double share_left(const sampled *s, const csrec_model *model) {
    double before = 0.0, after = 0.0;
    double *none = recover(s, model, NULL, 0.0), *fitted = recover(s, model, "steps", STEPS);
    double *again = recover(s, model, "steps", STEPS);
    assert_memory_equal(fitted, again, SIDE * SIDE * sizeof *again);
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        before += (none[i] - stripe(i)) * (none[i] - stripe(i));
        after += (fitted[i] - stripe(i)) * (fitted[i] - stripe(i));
    }
    return after / before;
}

/* One in 70 draws of the first weights of eight channels leaves over 0.8, others about 0.45. */
TEST(fitting_learns_what_repeats) {
    enum { DRAWS = 4 };
    sampled s = sample(SIDE, SIDE, 1, SIDE * SIDE / 3);
    for (int64_t i = 0; i < s.m.n; i++) s.m.y[i] = stripe(s.m.index[i]);
    double least = 1.0;
    for (int draw = 0; draw < DRAWS && !(least < 0.8); draw++) {
        ENDS_BY(end_model) csrec_model *model = fresh_model(1, 8, &seed);
        least = fmin(least, share_left(&s, model));
    }
    if (!(least < 0.8)) fail_msg("%g of the squared errors are left", least);
}

/* Weights after a fit whose parts are made while the step before runs, as on a device, or not. */
static float *fit_ahead(const csrec_model *model, bool ahead, int64_t *count) {
    enum { EXTENT = 40 };
    csrec_prior_pass pass;
    const csrec_context cpu = {.kind = CSREC_DEVICE_CPU};
    const csrec_net_options options = {.threads = 3};
    float *values = floats(EXTENT * EXTENT);
    for (int i = 0; i < EXTENT * EXTENT; i++) values[i] = (float)stripe(i);
    uint64_t same = 1;
    uint8_t known[EXTENT * EXTENT];
    for (int i = 0; i < EXTENT * EXTENT; i++) known[i] = check_uniform(&same) < 0.3;
    const csrec_prior_samples s = {1, EXTENT, EXTENT, values, known, .tone = 1.0f, .threads = 3};
    assert_well(csrec_prior_pass_create(&(csrec_prior_from){.model = model}, 1, 1, &cpu, &options,
                                        EXTENT, EXTENT, &pass, &told));
    const csrec_fit_source source = csrec_prior_source(&(csrec_prior_part){&s, pass.multiple});
    const csrec_fit_options fit = {5, .copies = 4, .rate = 1e-3, .threads = 3, .ahead = ahead};
    csrec_call call;
    int64_t done;
    csrec_call_begin(&call, NULL, NULL, (csrec_progress){0});
    assert_well(csrec_net_fit(pass.net, &source, &fit, &call, &done, &told));
    csrec_call_end(&call);
    assert_int_equal(done, 5);
    csrec_net_info(pass.net, count, NULL, NULL);
    float *weights = floats(*count);
    assert_well(csrec_net_weights(pass.net, false, weights, &told));
    csrec_prior_pass_clear(&pass);
    return weights;
}

TEST(parts_made_ahead_change_nothing) {
    ENDS_BY(end_model) csrec_model *model = fresh_model(1, 8, &seed);
    int64_t count;
    const float *plain = fit_ahead(model, false, &count), *ahead = fit_ahead(model, true, &count);
    assert_memory_equal(ahead, plain, (size_t)count * sizeof *plain);
}

/* A network that nobody trained says anything: what it says of its errors stays within e^+-20 times
 * the samples' variance and a squared tone. */
TEST(strange_networks_expect_finite_errors) {
    ENDS_BY(end_model) csrec_model *model = NULL;
    const csrec_model_parts p = make(1, 0.5);
    assert_ok(assemble(&p, &model, NULL));
    sampled s = sample(24, 24, 1, 100);
    double *signal = check_room(s.values), mean = 0.0, square = 1.0;
    double *v = check_room(s.values), farthest = 0.0;
    for (int64_t i = 0; i < s.m.n; i++) mean += s.m.y[i] / (double)s.m.n;
    for (int64_t i = 0; i < s.m.n; i++)
        square += (s.m.y[i] - mean) * (s.m.y[i] - mean) / (double)s.m.n;
    s.m.scale[1] = 255.0;
    csrec_recover_options o = options_on_cpu(NULL, model);
    assert_well(csrec_recover_variance(&s.m, &o, signal, v, NULL, &told));
    for (int64_t i = 0; i < s.values; i++) farthest = fmax(farthest, fabs(log(v[i] / square)));
    assert_true(fabs(farthest - 20.0) <= 1e-4); /* beyond it without a limit */
}
