/* test_adaptive.c - what must hold of pictures recovered over adaptive grids. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "method/adaptive/fit.h"

static uint64_t seed;

typedef struct picture {
    csrec_measurement m;
    double *truth; /* [entries * channels] */
    int64_t entries;
} picture;

/* Samples of `truth(y, x)` in a random order. */
static picture sample(int64_t height, int64_t width, int64_t channels, double rate,
                      double (*truth)(double y, double x)) {
    picture p = {.m = {.shape = {2, {height, width}}, .channels = channels, .dtype = CSREC_F64},
                 .entries = height * width};
    size_t entries = (size_t)p.entries;
    p.truth = malloc(entries * (size_t)channels * sizeof *p.truth);
    p.m.index = malloc(entries * sizeof *p.m.index);
    p.m.y = malloc(entries * (size_t)channels * sizeof *p.m.y);
    for (int64_t i = 0; i < p.entries; i++) {
        double v = truth((double)(i / width), (double)(i % width));
        for (int64_t c = 0; c < channels; c++) p.truth[i * channels + c] = v;
        p.m.index[i] = i;
    }
    int64_t wanted = (int64_t)(rate * (double)p.entries + 0.5);
    p.m.n = wanted > 1 ? wanted : 1;
    for (int64_t i = 0; i < p.m.n; i++) {
        int64_t j = i + check_below(&seed, p.entries - i), index = p.m.index[j];
        p.m.index[j] = p.m.index[i];
        p.m.index[i] = index;
        memcpy(p.m.y + i * channels, p.truth + index * channels, (size_t)channels * sizeof *p.m.y);
    }
    return p;
}

static void clear(picture *p) {
    csrec_measurement_clear(&p->m);
    free(p->truth);
}

static double *recover(const picture *p, int threads, csrec_recover_report *report) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.method = "adaptive";
    options.threads = threads;
    options.seed = 7;
    double *signal = malloc((size_t)(p->entries * p->m.channels) * sizeof *signal);
    assert_ok(csrec_recover(&p->m, &options, signal, NULL, report, NULL));
    return signal;
}

static double noise(double y, double x) {
    (void)y;
    (void)x;
    return 100.0 * check_uniform(&seed);
}

static double level;

static double constant(double y, double x) {
    (void)y;
    (void)x;
    return level;
}

static double affine(double y, double x) {
    return 40.0 + 1.5 * x - 0.5 * y;
}

/* Stripes on a ramp, an edge and a disc. */
static double drawing(double y, double x) {
    double v = 60.0 + 0.5 * x + (x + 0.3 * y > 70.0 ? 60.0 : 0.0);
    if ((x - 30) * (x - 30) + (y - 60) * (y - 60) < 400) v = 200.0;
    return v + (y < 40 ? 30.0 * sin(0.5 * x + 0.2 * y) : 0.0);
}

static void constants_are_exact(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        level = k ? ldexp(check_uniform(&seed) - 0.5, (int)check_below(&seed, 200) - 100) : 0.0;
        picture p =
            sample(9 + check_below(&seed, 30), 9 + check_below(&seed, 30), 1, 0.2, constant);
        double *signal = recover(&p, 1, NULL);
        for (int64_t i = 0; i < p.entries; i++) assert_true(signal[i] == level);
        free(signal);
        clear(&p);
    }
}

/* A slope of 1.6 a pixel between samples 2 pixels apart on average: nearest samples alone would be
 * off by about 1.6; the mean over grids must be clearly below. */
static void a_slope_is_followed(void **state) {
    (void)state;
    picture p = sample(64, 64, 1, 0.25, affine);
    double *signal = recover(&p, 2, NULL), square = 0.0;
    for (int64_t i = 0; i < p.entries; i++) {
        assert_true(fabs(signal[i] - p.truth[i]) <= 16.0);
        square += (signal[i] - p.truth[i]) * (signal[i] - p.truth[i]);
    }
    assert_true(square / (double)p.entries <= 1.0);
    free(signal);
    clear(&p);
}

static void samples_are_kept_and_threads_do_not_matter(void **state) {
    (void)state;
    picture p = sample(50 + check_below(&seed, 30), 40, 2, 0.3, noise);
    size_t bytes = (size_t)(p.entries * p.m.channels) * sizeof(double);
    csrec_recover_report report;
    double *one = recover(&p, 1, &report);
    assert_int_equal(report.outcome, CSREC_DONE);
    assert_true(report.pursuits > 0 && report.iterations > report.pursuits);
    for (int64_t i = 0; i < p.m.n; i++)
        for (int64_t c = 0; c < 2; c++) assert_true(one[p.m.index[i] * 2 + c] == p.m.y[i * 2 + c]);
    for (int threads = 2; threads < 40; threads += 1 + (int)check_below(&seed, 12)) {
        double *other = recover(&p, threads, NULL);
        assert_memory_equal(one, other, bytes);
        free(other);
    }
    free(one);
    clear(&p);
}

static void equal_channels_are_as_one(void **state) {
    (void)state;
    uint64_t start = seed;
    picture one = sample(33, 47, 1, 0.2, drawing);
    seed = start;
    picture three = sample(33, 47, 3, 0.2, drawing);
    double *a = recover(&one, 1, NULL), *b = recover(&three, 1, NULL);
    for (int64_t i = 0; i < one.entries; i++)
        for (int64_t c = 0; c < 3; c++) assert_true(b[3 * i + c] == a[i]);
    free(a);
    free(b);
    clear(&one);
    clear(&three);
}

static void any_shape_is_taken(void **state) {
    (void)state;
    const int64_t shapes[][2] = {{1, 1},  {1, 2}, {2, 1}, {1, 97},
                                 {83, 1}, {2, 2}, {3, 5}, {130, 7}};
    const double rates[] = {0.0, 0.1, 0.5, 0.97, 1.0};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            picture p = sample(shapes[k][0], shapes[k][1], 1, rates[r], noise);
            if (r == 1) p.m.sigma = 5.0;
            if (r == 2) p.m.scale[1] = 1e-3;
            if (r == 3) p.m.scale[1] = 1e6;
            double *signal = recover(&p, 1 + (int)(k % 3), NULL);
            for (int64_t i = 0; i < p.entries; i++)
                assert_true(signal[i] > -1000.0 && signal[i] < 1000.0);
            free(signal);
            clear(&p);
        }
}

/* All samples in one corner, in values at the ends of the range of a double. */
static void extremes_stay_finite(void **state) {
    (void)state;
    picture p = sample(70, 70, 1, 0.5, noise);
    int64_t kept = 0;
    for (int64_t i = 0; i < p.m.n; i++)
        if (p.m.index[i] % 70 < 9 && p.m.index[i] / 70 < 9) {
            p.m.y[kept] = (p.m.y[i] - 50.0) * 1e306; /* a slope goes on beyond samples */
            p.m.index[kept++] = p.m.index[i];
        }
    p.m.n = kept;
    if (kept) {
        double *signal = recover(&p, 1, NULL);
        for (int64_t i = 0; i < p.entries; i++) assert_true(isfinite(signal[i]));
        free(signal);
    }
    clear(&p);
}

static double psnr_of_nearest(const picture *p) {
    double *nearest = malloc((size_t)p->entries * sizeof *nearest);
    int64_t width = p->m.shape.dim[1];
    for (int64_t i = 0; i < p->entries; i++) {
        int64_t best = INT64_MAX;
        for (int64_t k = 0; k < p->m.n; k++) {
            int64_t dy = p->m.index[k] / width - i / width, dx = p->m.index[k] % width - i % width;
            if (dy * dy + dx * dx >= best) continue;
            best = dy * dy + dx * dx;
            nearest[i] = p->m.y[k];
        }
    }
    double psnr = csrec_psnr(p->entries, nearest, p->truth, 255.0);
    free(nearest);
    return psnr;
}

static void pictures_are_better_than_nearest_samples(void **state) {
    (void)state;
    picture p = sample(96, 112, 1, 0.25, drawing);
    double *signal = recover(&p, 0, NULL);
    double psnr = csrec_psnr(p.entries, signal, p.truth, 255.0);
    print_message("adaptive %.2f dB, nearest samples %.2f dB\n", psnr, psnr_of_nearest(&p));
    assert_true(psnr > psnr_of_nearest(&p) + 2.0);
    free(signal);
    clear(&p);
}

/* With the noise's sigma known, the recovery is better at the samples than they are. */
static void noise_is_removed(void **state) {
    (void)state;
    picture p = sample(96, 112, 1, 0.3, drawing);
    double before = 0.0, after = 0.0;
    for (int64_t i = 0; i < p.m.n; i++) {
        double unit = 0.0; /* variance 1 of 12 uniform numbers */
        for (int k = 0; k < 12; k++) unit += check_uniform(&seed);
        p.m.y[i] += 25.0 * (unit - 6.0);
    }
    p.m.sigma = 25.0;
    double *signal = recover(&p, 0, NULL);
    for (int64_t i = 0; i < p.m.n; i++) {
        int64_t at = p.m.index[i];
        before += (p.m.y[i] - p.truth[at]) * (p.m.y[i] - p.truth[at]);
        after += (signal[at] - p.truth[at]) * (signal[at] - p.truth[at]);
    }
    assert_true(after < 0.5 * before);
    free(signal);
    clear(&p);
}

typedef struct patience {
    int calls, most;
    bool backward;
    int64_t done;
} patience;

static bool stop_after(const csrec_progress *progress, void *context) {
    patience *p = context;
    p->backward = p->backward || progress->done > progress->total || progress->done < 1;
    return ++p->calls >= p->most;
}

static void interruption_delivers_the_best_so_far(void **state) {
    (void)state;
    const int limits[] = {1, 3, 50, 64, 70, 140, 200};
    picture p = sample(64, 64, 1, 0.25, drawing);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
        for (int threads = 1; threads <= 2; threads++) {
            patience limit = {.most = limits[k]};
            csrec_recover_options options;
            csrec_recover_report report;
            csrec_recover_defaults(&options);
            options.method = "adaptive";
            options.threads = threads;
            options.solve.progress = stop_after;
            options.solve.context = &limit;
            double *signal = malloc((size_t)p.entries * sizeof *signal);
            assert_ok(csrec_recover(&p.m, &options, signal, NULL, &report, NULL));
            if (threads == 1) assert_int_equal(report.outcome, CSREC_INTERRUPTED);
            assert_false(limit.backward);
            double psnr = csrec_psnr(p.entries, signal, p.truth, 255.0);
            assert_true(psnr > (limit.calls > 60 ? psnr_of_nearest(&p) : 10.0));
            free(signal);
        }
    clear(&p);
}

static void options_of_plain_grids_are_refused(void **state) {
    (void)state;
    picture p = sample(8, 8, 1, 0.5, noise);
    double signal[64];
    csrec_error error;
    csrec_recover_options options;
    for (int k = 0; k < 6; k++) {
        csrec_recover_defaults(&options);
        options.method = "adaptive";
        if (k == 0) options.solve.stop.epsilon = 0.1;
        if (k == 1) options.solve.stop.atoms = 5;
        if (k == 2) options.solve.stop.min_coefficient = 0.1;
        if (k == 3) options.solve.reference = true;
        if (k == 4) options.columns = CSREC_COLUMNS_PAPER;
        if (k == 5) options.order = CSREC_ORDER_HILBERT;
        assert_int_equal(csrec_recover(&p.m, &options, signal, NULL, NULL, &error), CSREC_ARGUMENT);
        assert_non_null(strstr(error.text, "grids"));
    }
    p.m.shape = (csrec_shape){1, {64}};
    csrec_recover_defaults(&options);
    options.method = "adaptive";
    assert_int_equal(csrec_recover(&p.m, &options, signal, NULL, NULL, &error), CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "two axes"));
    clear(&p);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_exact),
        cmocka_unit_test(a_slope_is_followed),
        cmocka_unit_test(samples_are_kept_and_threads_do_not_matter),
        cmocka_unit_test(equal_channels_are_as_one),
        cmocka_unit_test(any_shape_is_taken),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(pictures_are_better_than_nearest_samples),
        cmocka_unit_test(noise_is_removed),
        cmocka_unit_test(interruption_delivers_the_best_so_far),
        cmocka_unit_test(options_of_plain_grids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
