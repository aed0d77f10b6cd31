/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_gaussian_recover.c - recoveries by Gaussian groups on the device: the start there, and
 * the rounds on it; of colours and volumes, the rounds of both backends on one start. */
#include "scene.h"
#include "recover/recover.h"

/* Samples in floats from -127.5 to 127.5, so that scaling them changes none. */
static csrec_measurement draw_samples(const scene *s, double rate) {
    int64_t area = entries_of(s);
    bool volume = s->p.depth > 1;
    const csrec_shape shape = volume ? (csrec_shape){3, {s->p.depth, s->p.height, s->p.width}}
                                     : (csrec_shape){2, {s->p.height, s->p.width}};
    csrec_measurement m = room_for_samples(shape, s->p.channels, area);
    m.sigma = (double)s->p.sigma;
    m.scale[0] = -127.5, m.scale[1] = 127.5;
    m.uncut = true; /* else a start would be brought back twice */
    for (int64_t i = 0; i < area; i++) {
        s->mask[i] = i == 0 || i == area - 1 || check_uniform(&seed) < rate;
        for (int c = 0; c < s->p.channels && s->mask[i]; c++) {
            double value = i == 0 ? -127.5 : i == area - 1 ? 127.5 : (double)s->y[c][i];
            s->y[c][i] = (float)fmin(fmax(value, -127.5), 127.5);
            m.y[m.n * m.channels + c] = (double)s->y[c][i];
        }
        if (s->mask[i]) m.index[m.n++] = i;
    }
    return m;
}

static bool stop_before_rounds(const csrec_progress *progress, void *context) {
    (void)context;
    return strcmp(progress->stage, "Gaussian groups") == 0;
}

static size_t values_of(const csrec_measurement *m) {
    return (size_t)(entries_in(&m->shape) * m->channels);
}

/* The picture and, unless NULL, its variances; or the start alone. */
static double *recover(const csrec_measurement *m, double effort, const char *backend, bool start,
                       double *variance) {
    csrec_setting set = {"effort", effort};
    csrec_recover_options options = options_by(NULL);
    csrec_recover_report report;
    options.solve.solver = "gaussian";
    use_settings(&options.solve, 1, &set);
    options.backend = backend;
    if (start) options.solve.progress = stop_before_rounds;
    double *signal = check_keep(values_of(m) * sizeof *signal);
    assert_well(variance ? csrec_recover_variance(m, &options, signal, variance, &report, &told)
                         : csrec_recover(m, &options, signal, NULL, &report, &told));
    assert_string_equal(report.backend, backend);
    assert_int_equal(report.outcome, start ? CSREC_INTERRUPTED : CSREC_DONE);
    return signal;
}

/* The start by itself: thresholded cosines there. */
static double *threshold_there(const csrec_measurement *m) {
    csrec_recover_options options = options_by(NULL);
    options.basis = "dct";
    options.backend = "cuda";
    double *signal = check_keep(values_of(m) * sizeof *signal);
    assert_ok(csrec_recover(m, &options, signal, NULL, NULL, NULL));
    return signal;
}

/* Samples stay; elsewhere the start is that of the device to the bit, which the CPU's is not. */
TEST_THERE(start_is_there, false) {
    for (int k = 0; k < 4; k++) {
        scene s = draw(32 + (int)check_below(&seed, 9), 32 + (int)check_below(&seed, 9),
                       k % 2 ? CHANNELS : 1, 0.0, 0.0f);
        csrec_measurement m = draw_samples(&s, 0.3);
        double *start = recover(&m, k / 2, "cuda", true, NULL), *wanted = threshold_there(&m);
        for (int64_t i = 0; i < (int64_t)s.p.height * s.p.width * s.p.channels; i++) {
            double value = s.mask[i / s.p.channels]
                               ? (double)s.y[i % s.p.channels][i / s.p.channels]
                               : (double)(float)wanted[i];
            if (start[i] != value) fail_msg("pixel %d: %.9g, not %.9g", (int)i, start[i], value);
        }
    }
}

/* A recovery is the rounds of its effort (docs/gaussian.md) on its start: to the bit. Pictures too
 * small for blocks of 32 pixels have their start from the CPU. */
TEST_THERE(recoveries_are_rounds_on_the_start, false) {
    csrec_gaussian_round rounds[2] = {round_of(8, 6, 40, 24), round_of(8, 6, 40, 24)};
    rounds[0].trust = rounds[1].trust = 0.5f;
    rounds[1].again = true;
    for (int k = 0; k < 2; k++) {
        int least = k ? 20 : 32;
        scene s = draw(least + (int)check_below(&seed, 6), least + (int)check_below(&seed, 6), 1,
                       0.0, 0.0f);
        int64_t area = (int64_t)s.p.height * s.p.width;
        csrec_measurement m = draw_samples(&s, 0.3);
        double *start = recover(&m, 0, "cuda", true, NULL),
               *whole = recover(&m, 0, "cuda", false, NULL);
        double *cpu = recover(&m, 0, "cpu", true, NULL);
        for (int64_t i = 0; i < area; i++) {
            s.u[0][i] = (float)start[i];
            s.variance[0][i] = 0.0f;
        }
        if (k) assert_memory_equal(start, cpu, (size_t)area * sizeof *start);
        for (int r = 0; r < 2; r++) rounds[r].margin = m.n < 0.17 * (double)area ? 3 : 0;
        /* The library draws from options.seed, 1 by default. */
        void *there = NULL;
        assert_ok(create_there(picture(&s), rounds, 2, 1, &there, NULL));
        for (int r = 0; r < 2; r++) assert_ok(csrec_gaussian_cuda.run(there, &rounds[r], r, NULL));
        assert_ok(csrec_gaussian_cuda.get(there, picture(&s), NULL));
        csrec_gaussian_cuda.destroy(there);
        for (int64_t i = 0; i < area; i++)
            if (whole[i] != (double)s.u[0][i])
                fail_msg("pixel %d: %.9g, not %.9g", (int)i, whole[i], (double)s.u[0][i]);
    }
}

typedef struct refined {
    size_t n;
    double *signal, *variance;
} refined;

static refined refine(const csrec_measurement *m, double effort, const char *backend,
                      const double *start) {
    refined r = {.n = values_of(m)};
    r.signal = memcpy(check_keep(r.n * sizeof *start), start, r.n * sizeof *start);
    r.variance = check_keep(r.n * sizeof *r.variance);
    csrec_setting set = {"effort", effort};
    csrec_recover_options options = options_by(NULL);
    csrec_recover_report report = {0};
    ENDS_BY(csrec_context_destroy) csrec_context context = {0};
    CLEARED(csrec_whole) whole = {0};
    use_settings(&options.solve, 1, &set);
    assert_ok(csrec_context_create(backend, &context, NULL));
    assert_ok(csrec_whole_of(m, &whole, NULL));
    const csrec_recovery recovery = {.measurement = m,
                                     .whole = &whole,
                                     .options = &options,
                                     .context = &context,
                                     .unit = 1.0,
                                     .signal = r.signal,
                                     .variance = r.variance,
                                     .report = &report};
    assert_well(csrec_gaussian_refine(&recovery, &told));
    return r;
}

/* Of signals and variances. */
static double off(const refined *a, const refined *b) {
    const int64_t n = (int64_t)a->n;
    return hypot(check_rms(n, a->signal, b->signal), check_rms(n, a->variance, b->variance));
}

/* The most by which one of `times` starts moved by 1e-4 changes the CPU's result. */
static double moved_most(const csrec_measurement *m, double effort, const double *start,
                         const refined *cpu, int times) {
    double most = 0.0, *moved = check_keep(cpu->n * sizeof *moved);
    for (int k = 0; k < times; k++) {
        for (size_t i = 0; i < cpu->n; i++)
            moved[i] = start[i] + 2e-4 * (check_uniform(&seed) - 0.5);
        refined r = refine(m, effort, "cpu", moved);
        most = fmax(most, off(cpu, &r));
    }
    return most;
}

static double psnr(const scene *s, const double *signal) {
    double sum = 0.0;
    int64_t n = entries_of(s) * s->p.channels;
    for (int64_t k = 0; k < n; k++) {
        double e = signal[k] - (double)s->y[k % s->p.channels][k / s->p.channels];
        sum += e * e;
    }
    return 10.0 * log10(255.0 * 255.0 * (double)n / sum);
}

static void show_differences(const double *a, const double *b, size_t n, const char *what) {
    for (size_t i = 0, shown = 0; i < n && shown < 5; i++)
        if (a[i] != b[i]) {
            print_message("    %s %d: %.9g and %.9g\n", what, (int)i, a[i], b[i]);
            shown++;
        }
}

/* A whole recovery is the rounds on its start (of a picture with effort 1, after a quick round),
 * and these are the CPU's as far as those of test_cuda_gaussian.c are. The start of noisy colours
 * was turned to their axes and back, which rounds it; others are equal to the bit. Returns the
 * failures. */
static int compare_backends(const scene *s, double effort) {
    csrec_measurement m = draw_samples(s, 0.25);
    refined all = {.n = values_of(&m), .variance = check_keep(values_of(&m) * sizeof(double))};
    double *start = recover(&m, effort, "cuda", true, NULL);
    all.signal = recover(&m, effort, "cuda", false, all.variance);
    refined there = refine(&m, effort, "cuda", start), cpu = refine(&m, effort, "cpu", start);
    bool turned = s->p.depth == 1 && s->p.sigma > 0.0f, quick = s->p.depth == 1 && effort > 0.0;
    double least = off(&cpu, &there), again = quick ? 0.0 : off(&all, &there);
    double moved = moved_most(&m, effort, start, &cpu, 1);
    if (!(fmax(least, again) <= 10.0 * moved + 1e-2))
        moved = fmax(moved, moved_most(&m, effort, start, &cpu, 30));
    double bound = 10.0 * moved + 1e-2;
    bool same = again <= (turned ? bound : 0.0), close = least <= bound;
    print_message("%d x %d x %d, %d channels, sigma %g, effort %g: %.3f dB, CPU %.3f dB, rms %.3g, "
                  "of moved ones %.3g\n",
                  s->p.depth, s->p.height, s->p.width, s->p.channels, (double)s->p.sigma, effort,
                  psnr(s, there.signal), psnr(s, cpu.signal), least, moved);
    if (!same) {
        print_message("FAILED: a recovery is not the rounds on its start: rms %g\n", again);
        show_differences(all.signal, there.signal, all.n, "value");
        show_differences(all.variance, there.variance, all.n, "variance");
    }
    if (!close) {
        print_message("FAILED: rms %g\n", least);
        show_differences(cpu.signal, there.signal, all.n, "value");
        show_differences(cpu.variance, there.variance, all.n, "variance");
    }
    return !same + !close;
}

TEST_THERE(colours_and_volumes_are_those_of_the_cpu, false) {
    int failures = 0;
    for (int k = 0; k < 8; k++) {
        float sigma = k / 2 % 2 ? 5.0f : 0.0f;
        int side = k % 4 == 0 ? 33 : 20; /* whose start is there, and on the CPU */
        scene s = k < 4
                      ? draw(side + (int)check_below(&seed, 7), side + (int)check_below(&seed, 7),
                             CHANNELS, 0.0, sigma)
                      : draw_volume(8 + (int)check_below(&seed, 5), 9 + (int)check_below(&seed, 5),
                                    10 + (int)check_below(&seed, 5), k % 4 == 1 ? CHANNELS : 1, 0.0,
                                    sigma);
        failures += compare_backends(&s, k % 2);
    }
    if (failures) fail_msg("%d comparisons failed", failures);
}
