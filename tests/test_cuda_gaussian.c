/* test_cuda_gaussian.c - rounds of Gaussian groups on the device against the CPU's: groups by their
 * distances, one group's mean, covariance and conditioning, rounds that follow each other. */
#include "scene.h"

enum { NUMBER = 5 };

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
    if (create_there(picture(s), rounds, 2, NUMBER, &there, &error))
        fail_msg("%s", error.text);
    return there;
}

/* A round there; its picture comes back into s. */
static void on_device(void *there, const csrec_gaussian_round *round, scene *s) {
    csrec_error error = {{0}};
    if (csrec_gaussian_cuda.run(there, round, 0, &error) ||
        csrec_gaussian_cuda.get(there, picture(s), &error))
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
    csrec_gaussian_cuda.destroy(there);
    there = make_there(&again, rounds);
    on_device(there, &rounds[0], &again);
    assert_same_scene(&o.one, &again); /* the same bits every time */
    assert_ok(csrec_gaussian_cuda.set(there, picture(&o.alone), NULL));
    on_device(there, &rounds[1], &o.alone);
    csrec_gaussian_cuda.destroy(there);
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

static const csrec_gaussian_round usual = {.patch = 8,
                                           .step = 4,
                                           .group = 20,
                                           .radius = 5,
                                           .diagonal = 2,
                                           .noise = 1,
                                           .em = 1,
                                           .em_diagonal = 0.2f,
                                           .evenness = 5,
                                           .every = 3};

static void rounds_follow_the_cpu(void **state) {
    (void)state;
    if (no_device()) skip();
    csrec_gaussian_round rounds[4];
    for (int k = 0; k < 4; k++) rounds[k] = usual;
    rounds[0].step = 6;
    rounds[0].group = 48;
    rounds[0].radius = 10;
    rounds[1].group = 32;
    rounds[1].radius = 7;
    rounds[1].trust = 0.5f;
    rounds[1].em = 2;
    rounds[1].margin = 3;
    rounds[2] = (csrec_gaussian_round){.patch = 5,
                                       .step = 3,
                                       .group = 128,
                                       .radius = 6,
                                       .diagonal = 1,
                                       .trust = 0.1f,
                                       .noise = 2,
                                       .em = 1,
                                       .em_diagonal = 0.5f,
                                       .evenness = 1};
    rounds[3].patch = 10;
    rounds[3].step = 5;
    rounds[3].group = 64;
    rounds[3].radius = 6;
    rounds[3].trust = 0.5f;
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
    csrec_gaussian_round round = usual;
    round.every = 0;
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
        create_there(picture(s), round, 1, NUMBER, &there, error);
    if (!status) status = csrec_gaussian_cuda.run(there, round, 0, error);
    csrec_gaussian_cuda.destroy(there);
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

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_follow_the_cpu),
                                       cmocka_unit_test(small_pictures),
                                       cmocka_unit_test(limits_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
