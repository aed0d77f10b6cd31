/* test_cuda_adaptive.c - passes over adaptive grids on the device against the CPU's, to the bit. */
#include <math.h>
#include <string.h>

#include "device.h"
#include "method.h"
#include "method/adaptive/recipe.h"

static uint64_t seed;

typedef struct found {
    double *signal;
    csrec_recover_report report;
} found;

/* Waves and noise, or steps of 40, where rows and values repeat. The samples in any order. */
static csrec_measurement draw(int64_t height, int64_t width, int64_t channels, double rate,
                              double sigma) {
    csrec_measurement m = {.shape = {2, {height, width}},
                           .channels = channels,
                           .dtype = CSREC_F64,
                           .scale = {0, 255},
                           .sigma = sigma};
    int64_t area = height * width, first = check_below(&seed, area);
    bool steps = check_below(&seed, 4) == 0;
    m.index = malloc((size_t)area * sizeof *m.index);
    m.y = malloc((size_t)(area * channels) * sizeof *m.y);
    for (int64_t k = 0; k < area; k++) {
        int64_t i = (first + k) % area;
        if (k > 0 && !(check_uniform(&seed) < rate)) continue;
        for (int64_t c = 0; c < channels; c++) {
            double v = 128.0 + 60.0 * sin(0.3 * (double)(i / width) + 0.2 * (double)(i % width));
            if (!steps) v += (20.0 + 10.0 * sigma) * (check_uniform(&seed) - 0.5);
            m.y[m.n * channels + c] = steps ? 40.0 * floor(v / 40.0) : v;
        }
        m.index[m.n++] = i;
    }
    return m;
}

static void drop(csrec_measurement *m) {
    free(m->index);
    free(m->y);
}

static int64_t values_of(const csrec_measurement *m) {
    return m->shape.dim[0] * m->shape.dim[1] * m->channels;
}

static found recover(const csrec_measurement *m, const csrec_recover_options *options,
                     const csrec_context *context) {
    found f = {.signal = malloc((size_t)values_of(m) * sizeof(double))};
    csrec_error error = {{0}};
    if (run_method(&csrec_method_adaptive, context, m, options, f.signal, NULL, &f.report, &error))
        fail_msg("%s", error.text);
    return f;
}

static void assert_same_picture(const csrec_measurement *m, const found *a, const found *b) {
    for (int64_t i = 0; i < values_of(m); i++)
        if (a->signal[i] != b->signal[i])
            fail_msg("%d x %d x %d, %d samples, sigma %g, value %d: %.9g, not %.9g",
                     (int)m->shape.dim[0], (int)m->shape.dim[1], (int)m->channels, (int)m->n,
                     m->sigma, (int)i, b->signal[i], a->signal[i]);
}

/* The picture, and what the report tells of the grids. */
static void compare(const csrec_measurement *m, const csrec_recover_options *options) {
    found cpu = recover(m, options, &csrec_context_cpu);
    found device = recover(m, options, cuda_context());
    assert_same_picture(m, &cpu, &device);
    assert_int_equal(cpu.report.pursuits, device.report.pursuits);
    assert_int_equal(cpu.report.iterations, device.report.iterations);
    assert_int_equal(cpu.report.levels, device.report.levels);
    assert_int_equal(cpu.report.outcome, device.report.outcome);
    free(cpu.signal);
    free(device.signal);
}

static csrec_recover_options draw_options(void) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.method = "adaptive";
    options.seed = check_next(&seed);
    options.threads = 2;
    return options;
}

static void compare_any(int64_t most) {
    double rate = check_uniform(&seed) * check_uniform(&seed);
    csrec_measurement m = draw(1 + check_below(&seed, most), 1 + check_below(&seed, most),
                               check_below(&seed, 3) ? 1 : 3, rate, check_below(&seed, 3) ? 0 : 5);
    csrec_recover_options options = draw_options();
    compare(&m, &options);
    drop(&m);
}

static void small_pictures(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int k = 0; k < 40; k++) compare_any(k % 2 ? 8 : 40);
}

static void larger_pictures(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int k = 0; k < 3; k++) compare_any(400);
}

/* One sample, one pixel, all pixels, and the same value everywhere. */
static void extremes(void **state) {
    (void)state;
    if (no_device()) skip();
    const int64_t sizes[][2] = {{1, 1}, {1, 37}, {29, 1}, {24, 31}};
    for (int k = 0; k < 12; k++) {
        double rate = k / 4 == 0 ? 0.0 : k / 4 == 1 ? 1.0 : 0.5;
        csrec_measurement m = draw(sizes[k % 4][0], sizes[k % 4][1], 1, rate, 0.0);
        for (int64_t i = 0; k / 4 == 2 && i < m.n; i++) m.y[i] = 7.0;
        csrec_recover_options options = draw_options();
        compare(&m, &options);
        drop(&m);
    }
}

typedef struct stop {
    const char *stage;
    int64_t after; /* so many grids of the stage */
} stop;

static bool stops(const csrec_progress *progress, void *context) {
    const stop *s = context;
    return strcmp(progress->stage, s->stage) == 0 && progress->done > s->after;
}

/* A pass that is stopped does not count, on either; the first class pass counts in part. */
static void interruption(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int pass = 1; pass < CSREC_CLASS_PASSES + CSREC_FEATURE_PASSES; pass++) {
        bool classes = pass < CSREC_CLASS_PASSES;
        stop when = {classes ? "adaptive grids, classes" : "adaptive grids, features",
                     classes ? pass * CSREC_CLASS_GRIDS
                             : (pass - CSREC_CLASS_PASSES) * CSREC_FEATURE_GRIDS};
        csrec_measurement m = draw(20, 30, 1, 0.3, 0.0);
        csrec_recover_options options = draw_options();
        options.solve.progress = stops;
        options.solve.context = &when;
        found cpu = recover(&m, &options, &csrec_context_cpu);
        found device = recover(&m, &options, cuda_context());
        assert_int_equal(cpu.report.outcome, CSREC_INTERRUPTED);
        assert_int_equal(device.report.outcome, CSREC_INTERRUPTED);
        assert_same_picture(&m, &cpu, &device);
        free(cpu.signal);
        free(device.signal);
        drop(&m);
    }
}

static size_t free_bytes(void) {
    csrec_cuda_size size;
    assert_ok(csrec_cuda_measure(&size, NULL));
    return size.free;
}

/* In 24 MB there is no room for 64 grids of some 9,000 samples, 80 bytes each, and sums of 31
 * classes of 32,400 pixels. */
static void less_memory(void **state) {
    (void)state;
    if (no_device()) skip();
    csrec_measurement m = draw(180, 180, 1, 0.3, check_below(&seed, 2) ? 5.0 : 0.0);
    csrec_recover_options options = draw_options();
    found cpu = recover(&m, &options, &csrec_context_cpu);
    found warm = recover(&m, &options, cuda_context()); /* modules are loaded */
    csrec_cuda_block ballast = {.used = free_bytes() - (24 << 20)};
    assert_ok(csrec_cuda_block_create(&ballast, "a test", NULL));
    found device = recover(&m, &options, cuda_context());
    csrec_cuda_block_destroy(&ballast);
    assert_same_picture(&m, &cpu, &warm);
    assert_same_picture(&m, &cpu, &device);
    free(cpu.signal);
    free(warm.signal);
    free(device.signal);
    drop(&m);
}

/* By name, with a history of the passes, as a user asks for it. */
static void backend_by_name(void **state) {
    (void)state;
    if (no_device()) skip();
    csrec_measurement m = draw(25, 33, 3, 0.3, 0.0);
    csrec_recover_options options = draw_options();
    found f[2];
    csrec_history *history[2];
    for (int k = 0; k < 2; k++) {
        options.backend = k ? "cuda" : "cpu";
        assert_ok(csrec_history_create(NULL, 255.0, &history[k]));
        options.history = history[k];
        f[k].signal = malloc((size_t)values_of(&m) * sizeof(double));
        assert_ok(csrec_recover(&m, &options, f[k].signal, NULL, &f[k].report, NULL));
        assert_string_equal(f[k].report.backend, options.backend);
    }
    assert_same_picture(&m, &f[0], &f[1]);
    for (int k = 0; k < 2; k++) {
        csrec_history_destroy(history[k]);
        free(f[k].signal);
    }
    drop(&m);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_pictures), cmocka_unit_test(larger_pictures),
        cmocka_unit_test(extremes),       cmocka_unit_test(interruption),
        cmocka_unit_test(less_memory),    cmocka_unit_test(backend_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
