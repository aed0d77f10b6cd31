/* test_cuda_gaussian.c - rounds of Gaussian groups on the device against the CPU's: groups by their
 * distances, one group's mean, covariance and conditioning, rounds that follow each other; the
 * start there, and whole recoveries. */
#include <math.h>
#include <string.h>

#include "kernels/method/gaussian/engine.h"
#include "device.h"

static uint64_t seed;

enum { CHANNELS = 3, NUMBER = 5 };

typedef struct scene {
    csrec_gaussian_picture p;
    float *y[CHANNELS], *u[CHANNELS], *variance[CHANNELS];
    unsigned char *mask;
} scene;

static float *floats(int64_t n) {
    return malloc((size_t)n * sizeof(float));
}

/* Texture and an edge, an estimate that is off by some. */
static scene draw(int height, int width, int channels, double rate, float sigma) {
    int64_t area = (int64_t)height * width;
    scene s = {.mask = malloc((size_t)area)};
    double slope = check_uniform(&seed);
    for (int c = 0; c < channels; c++) {
        s.y[c] = floats(area);
        s.u[c] = floats(area);
        s.variance[c] = floats(area);
        for (int64_t i = 0; i < area; i++) {
            double a = (double)(i / width), b = (double)(i % width);
            double value = 60.0 * sin(0.9 * a + 0.3 * b) + (a * slope > b ? 50.0 : -30.0) + 5.0 * c;
            if (c == 0) s.mask[i] = check_uniform(&seed) < rate;
            s.y[c][i] = (float)(value + (double)sigma * (2.0 * check_uniform(&seed) - 1.0));
            s.u[c][i] = (float)(value + 20.0 * (check_uniform(&seed) - 0.5));
            s.variance[c][i] = (float)(30.0 * check_uniform(&seed));
            if (s.mask[i] && !(sigma > 0.0f)) s.u[c][i] = s.y[c][i];
        }
    }
    s.p = (csrec_gaussian_picture){.depth = 1,
                                   .height = height,
                                   .width = width,
                                   .channels = channels,
                                   .mask = s.mask,
                                   .sigma = sigma};
    s.p.guide = floats(area);
    return s;
}

/* Arrays are by address: those of this copy. */
static csrec_gaussian_picture *picture(scene *s) {
    s->p.y = s->y;
    s->p.u = s->u;
    s->p.variance = s->variance;
    for (int64_t i = 0; i < (int64_t)s->p.height * s->p.width; i++) {
        float sum = 0.0f;
        for (int c = 0; c < s->p.channels; c++) sum += s->u[c][i];
        s->p.guide[i] = s->p.channels > 1 ? sum / (float)s->p.channels : sum;
    }
    return &s->p;
}

static scene copy(const scene *s) {
    scene other = *s;
    size_t area = (size_t)s->p.height * (size_t)s->p.width;
    other.p.guide = floats((int64_t)area);
    for (int c = 0; c < s->p.channels; c++) {
        other.u[c] = floats((int64_t)area);
        other.variance[c] = floats((int64_t)area);
        memcpy(other.u[c], s->u[c], area * sizeof(float));
        memcpy(other.variance[c], s->variance[c], area * sizeof(float));
    }
    return other;
}

static void drop(scene *s, bool all) {
    for (int c = 0; c < s->p.channels; c++) {
        if (all) free(s->y[c]);
        free(s->u[c]);
        free(s->variance[c]);
    }
    free(s->p.guide);
    if (all) free(s->mask);
}

static double rms(const scene *a, const scene *b) {
    double sum = 0.0;
    int64_t area = (int64_t)a->p.height * a->p.width;
    for (int c = 0; c < a->p.channels; c++)
        for (int64_t i = 0; i < area; i++) {
            double e = (double)a->u[c][i] - (double)b->u[c][i];
            double v = (double)a->variance[c][i] - (double)b->variance[c][i];
            sum += e * e + v * v;
        }
    return sqrt(sum / (double)(area * a->p.channels));
}

static void on_cpu(scene *s, const csrec_gaussian_round *round, uint64_t number,
                   csrec_gaussian_matches *matches) {
    csrec_team team;
    csrec_team_begin(&team, NULL, NULL, (csrec_progress){0});
    assert_ok(csrec_gaussian_run(picture(s), round, number, 2, matches, &team, 0, 1));
    csrec_team_end(&team);
}

/* Rounds, and the picture as it was, on the device. */
static void *make_there(scene *s, const csrec_gaussian_round *rounds) {
    csrec_error error = {{0}};
    void *there = NULL;
    if (csrec_cuda_gaussian_rounds.create(picture(s), rounds, 2, NUMBER, &there, &error))
        fail_msg("%s", error.text);
    return there;
}

/* A round there; its picture comes back into s. */
static void on_device(void *there, const csrec_gaussian_round *round, scene *s) {
    csrec_error error = {{0}};
    if (csrec_cuda_gaussian_rounds.run(there, round, NUMBER, &error) ||
        csrec_cuda_gaussian_rounds.get(there, picture(s), &error))
        fail_msg("%s", error.text);
}

static void assert_same_scene(const scene *a, const scene *b) {
    size_t bytes = (size_t)a->p.height * (size_t)a->p.width * sizeof(float);
    for (int c = 0; c < a->p.channels; c++) {
        assert_memory_equal(a->u[c], b->u[c], bytes);
        assert_memory_equal(a->variance[c], b->variance[c], bytes);
    }
}

static void move_estimate(scene *s) {
    for (int c = 0; c < s->p.channels; c++)
        for (int64_t i = 0; i < (int64_t)s->p.height * s->p.width; i++)
            s->u[c][i] += (float)(2e-4 * (check_uniform(&seed) - 0.5));
}

/* Both solve systems in floats whose largest eigenvalue (patches of 25 to 64 pixels, 50 to either
 * side) is some 20,000 times the noise: values of 100 are good to 0.1 if all roundings agreed, and
 * a tenth of that is allowed. Where two patches are as good as equally near, the groups differ: no
 * more than an estimate moved by 1e-4 makes the CPU's differ, tenfold. */
static void expect_close(const scene *cpu, const scene *device, const scene *moved,
                         const csrec_gaussian_round *round, const char *what) {
    double off = rms(cpu, device), bound = 10.0 * rms(cpu, moved) + 1e-2;
    print_message("%d x %d, patch %d, group %d, em %d, %s: rms %.3g, of moved ones %.3g\n",
                  cpu->p.height, cpu->p.width, round->patch, round->group, round->em, what, off,
                  rms(cpu, moved));
    if (!(off <= bound)) fail_msg("%s: rms %g, more than %g", what, off, bound);
}

typedef struct outcome {
    scene one, alone, both; /* after a round; a second from the CPU's first, and from its own */
} outcome;

/* first: what the CPU has made of start in a round. */
static outcome run_there(const scene *start, const scene *first,
                         const csrec_gaussian_round *rounds) {
    outcome o = {copy(start), copy(first), copy(start)};
    scene again = copy(start);
    void *there = make_there(&o.one, rounds);
    on_device(there, &rounds[0], &o.one);
    on_device(there, &rounds[1], &o.both);
    csrec_cuda_gaussian_rounds.destroy(there);
    there = make_there(&again, rounds);
    on_device(there, &rounds[0], &again);
    assert_same_scene(&o.one, &again); /* the same bits every time */
    assert_ok(csrec_cuda_gaussian_rounds.set(there, picture(&o.alone), NULL));
    on_device(there, &rounds[1], &o.alone);
    csrec_cuda_gaussian_rounds.destroy(there);
    drop(&again, false);
    return o;
}

static void drop_outcome(outcome *o) {
    drop(&o->one, false);
    drop(&o->alone, false);
    drop(&o->both, false);
}

/* Once on the whole window, once on the candidates that this leaves, which stay where they are. */
static void compare_twice(scene *start, csrec_gaussian_round round) {
    csrec_gaussian_round rounds[2] = {round, round};
    rounds[1].again = true;
    csrec_gaussian_matches own = {0}, other = {0};
    scene cpu = copy(start), moved = copy(start);
    move_estimate(&moved);
    on_cpu(&cpu, &rounds[0], NUMBER, &own);
    on_cpu(&moved, &rounds[0], NUMBER, &other);
    outcome o = run_there(start, &cpu, rounds);
    expect_close(&cpu, &o.one, &moved, &round, "first round");
    scene near = copy(&cpu);
    move_estimate(&near);
    on_cpu(&cpu, &rounds[1], NUMBER, &own);
    on_cpu(&near, &rounds[1], NUMBER, &other);
    on_cpu(&moved, &rounds[1], NUMBER, &other);
    expect_close(&cpu, &o.alone, &near, &round, "second");
    expect_close(&cpu, &o.both, &moved, &round, "both");
    csrec_gaussian_matches_clear(&own);
    csrec_gaussian_matches_clear(&other);
    drop_outcome(&o);
    drop(&cpu, false);
    drop(&moved, false);
    drop(&near, false);
}

static void rounds_follow_the_cpu(void **state) {
    (void)state;
    if (no_device()) skip();
    const csrec_gaussian_round rounds[] = {{.patch = 8,
                                            .step = 6,
                                            .group = 48,
                                            .radius = 10,
                                            .diagonal = 2,
                                            .noise = 1,
                                            .em = 1,
                                            .em_diagonal = 0.2f,
                                            .evenness = 5,
                                            .every = 3},
                                           {.patch = 8,
                                            .step = 4,
                                            .group = 32,
                                            .radius = 7,
                                            .diagonal = 2,
                                            .trust = 0.5f,
                                            .noise = 1,
                                            .em = 2,
                                            .em_diagonal = 0.2f,
                                            .evenness = 5,
                                            .every = 3,
                                            .margin = 3},
                                           {.patch = 5,
                                            .step = 3,
                                            .group = 128,
                                            .radius = 6,
                                            .diagonal = 1,
                                            .trust = 0.1f,
                                            .noise = 2,
                                            .em = 1,
                                            .em_diagonal = 0.5f,
                                            .evenness = 1},
                                           {.patch = 10,
                                            .step = 5,
                                            .group = 64,
                                            .radius = 6,
                                            .diagonal = 2,
                                            .trust = 0.5f,
                                            .noise = 1,
                                            .em = 1,
                                            .em_diagonal = 0.2f,
                                            .evenness = 5,
                                            .every = 3}};
    const double rates[] = {0.1, 0.25, 0.6, 1.0, 0.0};
    for (size_t k = 0; k < sizeof rounds / sizeof *rounds; k++)
        for (int round = 0; round < 2; round++) {
            int height = 16 + (int)check_below(&seed, 7), width = 16 + (int)check_below(&seed, 7);
            scene s = draw(height, width, round ? CHANNELS : 1, rates[check_below(&seed, 5)],
                           check_below(&seed, 3) ? 0.0f : 3.0f);
            compare_twice(&s, rounds[k]);
            drop(&s, true);
        }
}

/* Pictures no larger than a patch, lines, single pixels. */
static void small_pictures(void **state) {
    (void)state;
    if (no_device()) skip();
    const csrec_gaussian_round round = {.patch = 8,
                                        .step = 4,
                                        .group = 20,
                                        .radius = 5,
                                        .diagonal = 2,
                                        .noise = 1,
                                        .em = 1,
                                        .em_diagonal = 0.2f,
                                        .evenness = 5};
    const int sizes[][2] = {{1, 1}, {1, 30}, {25, 1}, {3, 9}, {8, 8}, {9, 8}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        scene s = draw(sizes[k][0], sizes[k][1], 1, 0.4, 0.0f);
        compare_twice(&s, round);
        drop(&s, true);
    }
}

static csrec_status attempt(scene *s, const csrec_gaussian_round *round, csrec_error *error) {
    void *there = NULL;
    csrec_status status =
        csrec_cuda_gaussian_rounds.create(picture(s), round, 1, NUMBER, &there, error);
    if (!status) status = csrec_cuda_gaussian_rounds.run(there, round, NUMBER, error);
    csrec_cuda_gaussian_rounds.destroy(there);
    return status;
}

static void limits_are_refused(void **state) {
    (void)state;
    if (no_device()) skip();
    csrec_gaussian_round round = {
        .patch = 12, .step = 4, .group = 20, .radius = 5, .diagonal = 2, .noise = 1, .evenness = 5};
    scene s = draw(20, 20, 1, 0.4, 0.0f);
    csrec_error error;
    assert_int_equal(attempt(&s, &round, &error), CSREC_UNSUPPORTED);
    assert_non_null(strstr(error.text, "pixels"));
    round.patch = 8;
    round.radius = 120;
    assert_int_equal(attempt(&s, &round, &error), CSREC_UNSUPPORTED);
    assert_non_null(strstr(error.text, "radius"));
    round.radius = 5;
    round.again = true; /* no round before */
    assert_int_equal(attempt(&s, &round, &error), CSREC_ARGUMENT);
    round.again = false;
    assert_ok(attempt(&s, &round, &error));
    drop(&s, true);
}

/* ---- whole recoveries */

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
    return strcmp(progress->stage, "gaussian") == 0;
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
        assert_ok(csrec_cuda_gaussian_rounds.create(picture(&s), rounds, 2, 1, &there, NULL));
        for (int r = 0; r < 2; r++)
            assert_ok(csrec_cuda_gaussian_rounds.run(there, &rounds[r], 1, NULL));
        assert_ok(csrec_cuda_gaussian_rounds.get(there, picture(&s), NULL));
        csrec_cuda_gaussian_rounds.destroy(there);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_follow_the_cpu), cmocka_unit_test(small_pictures),
        cmocka_unit_test(limits_are_refused), cmocka_unit_test(start_is_there),
        cmocka_unit_test(recoveries_are_rounds_on_the_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
