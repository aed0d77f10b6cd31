/* test_cuda_gaussian_recover.c - recoveries by Gaussian groups on the device: the start there, and
 * the rounds on it. */
#include "scene.h"

/* Samples in floats from -127.5 to 127.5, so that scaling them changes none. */
static csrec_measurement draw_samples(const scene *s, double rate) {
    int64_t area = (int64_t)s->p.height * s->p.width;
    csrec_measurement m = {.shape = {2, {s->p.height, s->p.width}},
                           .channels = s->p.channels,
                           .dtype = CSREC_F64,
                           .scale = {-127.5, 127.5}};
    m.index = malloc((size_t)area * sizeof *m.index);
    m.y = malloc((size_t)(area * m.channels) * sizeof *m.y);
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

/* The picture, or the start alone. */
static double *recover(const csrec_measurement *m, double effort, const char *backend, bool start) {
    csrec_setting set = {"effort", effort};
    csrec_recover_options options;
    csrec_recover_report report;
    csrec_error error = {{0}};
    csrec_recover_defaults(&options);
    options.solve.solver = "gaussian";
    options.solve.settings = &set;
    options.solve.n_settings = 1;
    options.backend = backend;
    if (start) options.solve.progress = stop_before_rounds;
    double *signal =
        malloc((size_t)(m->shape.dim[0] * m->shape.dim[1] * m->channels) * sizeof *signal);
    if (csrec_recover(m, &options, signal, NULL, &report, &error)) fail_msg("%s", error.text);
    assert_string_equal(report.backend, backend);
    assert_int_equal(report.outcome, start ? CSREC_INTERRUPTED : CSREC_DONE);
    return signal;
}

/* The start of an effort by itself: thresholded cosines there, for effort 1 averaged with adaptive
 * grids. */
static double *threshold_there(const csrec_measurement *m, double effort) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.basis = "dct";
    options.backend = "cuda";
    options.mean = effort > 0.0;
    double *signal =
        malloc((size_t)(m->shape.dim[0] * m->shape.dim[1] * m->channels) * sizeof *signal);
    assert_ok(csrec_recover(m, &options, signal, NULL, NULL, NULL));
    return signal;
}

/* Samples stay; elsewhere the start is that of the device to the bit, which the CPU's is not. */
static void start_is_there(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int k = 0; k < 4; k++) {
        scene s = draw(32 + (int)check_below(&seed, 9), 32 + (int)check_below(&seed, 9),
                       k % 2 ? CHANNELS : 1, 0.0, 0.0f);
        csrec_measurement m = draw_samples(&s, 0.3);
        double *start = recover(&m, k / 2, "cuda", true), *wanted = threshold_there(&m, k / 2);
        for (int64_t i = 0; i < (int64_t)s.p.height * s.p.width * s.p.channels; i++) {
            double value = s.mask[i / s.p.channels]
                               ? (double)s.y[i % s.p.channels][i / s.p.channels]
                               : (double)(float)wanted[i];
            if (start[i] != value) fail_msg("pixel %d: %.9g, not %.9g", (int)i, start[i], value);
        }
        free(start);
        free(wanted);
        csrec_measurement_clear(&m);
        drop(&s, true);
    }
}

/* A recovery is the rounds of its effort (docs/gaussian.md) on its start: to the bit. Pictures too
 * small for blocks of 32 pixels have their start from the CPU. */
static void recoveries_are_rounds_on_the_start(void **state) {
    (void)state;
    if (no_device()) skip();
    csrec_gaussian_round rounds[2] = {{.patch = 8,
                                       .step = 6,
                                       .group = 40,
                                       .radius = 24,
                                       .diagonal = 2,
                                       .trust = 0.5f,
                                       .noise = 1,
                                       .em = 1,
                                       .em_diagonal = 0.2f,
                                       .evenness = 5,
                                       .every = 3}};
    rounds[1] = rounds[0];
    rounds[1].again = true;
    for (int k = 0; k < 2; k++) {
        int least = k ? 20 : 32;
        scene s = draw(least + (int)check_below(&seed, 6), least + (int)check_below(&seed, 6), 1,
                       0.0, 0.0f);
        int64_t area = (int64_t)s.p.height * s.p.width;
        csrec_measurement m = draw_samples(&s, 0.3);
        double *start = recover(&m, 0, "cuda", true), *whole = recover(&m, 0, "cuda", false);
        double *cpu = recover(&m, 0, "cpu", true);
        for (int64_t i = 0; i < area; i++) {
            s.u[0][i] = (float)start[i];
            s.variance[0][i] = 0.0f;
        }
        if (k) assert_memory_equal(start, cpu, (size_t)area * sizeof *start);
        for (int r = 0; r < 2; r++) rounds[r].margin = m.n < 0.17 * (double)area ? 3 : 0;
        /* The library draws from options.seed, 1 by default. */
        void *there = NULL;
        assert_ok(create_there(picture(&s), rounds, 2, 1, &there, NULL));
        for (int r = 0; r < 2; r++)
            assert_ok(csrec_gaussian_cuda.run(there, &rounds[r], r, NULL));
        assert_ok(csrec_gaussian_cuda.get(there, picture(&s), NULL));
        csrec_gaussian_cuda.destroy(there);
        for (int64_t i = 0; i < area; i++)
            if (whole[i] != (double)s.u[0][i])
                fail_msg("pixel %d: %.9g, not %.9g", (int)i, whole[i], (double)s.u[0][i]);
        free(start);
        free(whole);
        free(cpu);
        csrec_measurement_clear(&m);
        drop(&s, true);
    }
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(start_is_there),
                                       cmocka_unit_test(recoveries_are_rounds_on_the_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
