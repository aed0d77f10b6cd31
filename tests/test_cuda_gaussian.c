/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_gaussian.c - rounds of Gaussian groups on the device against the CPU's: groups by their
 * distances, one group's mean, covariance and conditioning, rounds that follow each other; of
 * pictures, colours and volumes. A test runs all its cases before it fails. */
#include "scene.h"

enum { NUMBER = 5, SHOWN = 5 };
static const double rates[] = {0.1, 0.25, 0.6, 1.0, 0.0};

static int failures; /* of the present test */

static void finish(void) {
    int count = failures;
    failures = 0;
    if (count) fail_msg("%d comparisons failed", count);
}

/* The first entries that differ by more than `least`. */
static void show_differences(const scene *a, const scene *b, double least) {
    for (int64_t k = 0, shown = 0; k < entries_of(a) * a->p.channels && shown < SHOWN; k++) {
        int64_t c = k / entries_of(a), i = k % entries_of(a);
        double e = (double)a->u[c][i] - (double)b->u[c][i];
        double v = (double)a->variance[c][i] - (double)b->variance[c][i];
        if (fabs(e) <= least && fabs(v) <= least) continue;
        print_message("    channel %d, entry %d%s: u %.9g and %.9g, variance %.9g and %.9g\n",
                      (int)c, (int)i, a->mask[i] ? " (sample)" : "", (double)a->u[c][i],
                      (double)b->u[c][i], (double)a->variance[c][i], (double)b->variance[c][i]);
        shown++;
    }
}

static void on_cpu(scene *s, const csrec_gaussian_round *round, uint64_t number,
                   csrec_gaussian_matches *matches) {
    csrec_call call;
    csrec_call_begin(&call, NULL, NULL, (csrec_progress){0});
    assert_ok(csrec_gaussian_run(picture(s), round, number, 2, matches, &call, 0, 1));
    csrec_call_end(&call);
}

/* Rounds, and the picture as it was, on the device. */
static void *make_there(scene *s, const csrec_gaussian_round *rounds) {
    void *there = NULL;
    assert_well(create_there(picture(s), rounds, 2, NUMBER, &there, &told));
    return there;
}

/* A round there; its picture comes back into s. */
static void on_device(void *there, const csrec_gaussian_round *round, scene *s) {
    assert_well(csrec_gaussian_cuda.run(there, round, 0, &told));
    assert_well(csrec_gaussian_cuda.get(there, picture(s), &told));
}

static void expect_same_scene(const scene *a, const scene *b, const char *what) {
    size_t bytes = (size_t)entries_of(a) * sizeof(float);
    bool same = true;
    for (int c = 0; c < a->p.channels; c++)
        same = same && memcmp(a->u[c], b->u[c], bytes) == 0 &&
               memcmp(a->variance[c], b->variance[c], bytes) == 0;
    if (same) return;
    print_message("FAILED: %s: not the same bits\n", what);
    show_differences(a, b, 0.0);
    failures++;
}

static void move_estimate(scene *s) {
    for (int c = 0; c < s->p.channels; c++)
        for (int64_t i = 0; i < entries_of(s); i++)
            s->u[c][i] += (float)(2e-4 * (check_uniform(&seed) - 0.5));
}

/* What the CPU makes of a start in so many rounds, the first from `matches` if it is again. */
typedef struct trial {
    const scene *start, *result;
    const csrec_gaussian_round *rounds;
    int count;
    csrec_gaussian_matches *matches;
} trial;

/* The most that the result of one of n moved starts differs. */
static double moved_most(const trial *t, int n) {
    double most = 0.0;
    for (int k = 0; k < n; k++) {
        CLEARED(csrec_gaussian_matches) own = {0};
        scene moved = scene_copy(t->start);
        move_estimate(&moved);
        for (int r = 0; r < t->count; r++)
            on_cpu(&moved, &t->rounds[r], NUMBER, t->matches ? t->matches : &own);
        most = fmax(most, scene_rms(t->result, &moved));
    }
    return most;
}

/* Both solve systems in floats whose largest eigenvalue (patches of 25 to 64 pixels, 50 to either
 * side) is some 20,000 times the noise: values of 100 are good to 0.1 if all roundings agreed, and
 * a tenth of that is allowed. Where two patches are as good as equally near, the groups differ: no
 * more than an estimate moved by 1e-4 makes the CPU's differ, tenfold. Such a pair is about as near
 * as the distances' rounding, a fifth of what a move changes, so that four moves in ten swap it,
 * too: all of 30 leave it with probability 2e-7. */
static void expect_close(const trial *t, const scene *device, const char *what) {
    const scene *cpu = t->result;
    const csrec_gaussian_round *round = t->rounds;
    double off = scene_rms(cpu, device), moved = moved_most(t, 1);
    if (!(off <= 10.0 * moved + 1e-2)) moved = fmax(moved, moved_most(t, 30));
    double bound = 10.0 * moved + 1e-2;
    print_message(
        "%d x %d x %d, %d channels%s, sigma %g, patch %d, group %d, em %d, margin %d, %s: "
        "rms %.3g, of moved ones %.3g\n",
        cpu->p.depth, cpu->p.height, cpu->p.width, cpu->p.channels,
        cpu->p.pooled   ? " pooled"
        : cpu->p.guides ? " apart"
                        : "",
        (double)cpu->p.sigma, round->patch, round->group, round->em, round->margin, what, off,
        moved);
    if (off <= bound) return;
    print_message("FAILED: rms %g, more than %g\n", off, bound);
    show_differences(cpu, device, bound);
    failures++;
}

typedef struct outcome {
    scene one, alone, both; /* after a round; a second from the CPU's first, and from its own */
} outcome;

/* first: what the CPU has made of start in a round. */
static outcome run_there(const scene *start, const scene *first,
                         const csrec_gaussian_round *rounds) {
    outcome o = {scene_copy(start), scene_copy(first), scene_copy(start)};
    scene again = scene_copy(start);
    void *there = make_there(&o.one, rounds);
    on_device(there, &rounds[0], &o.one);
    on_device(there, &rounds[1], &o.both);
    csrec_gaussian_cuda.destroy(there);
    there = make_there(&again, rounds);
    on_device(there, &rounds[0], &again);
    expect_same_scene(&o.one, &again, "a round twice");
    assert_ok(csrec_gaussian_cuda.set(there, picture(&o.alone), NULL));
    on_device(there, &rounds[1], &o.alone);
    csrec_gaussian_cuda.destroy(there);
    return o;
}

/* Once on the whole window, once on the candidates that this leaves, which stay where they are. */
static void compare_twice(scene *start, csrec_gaussian_round round) {
    csrec_gaussian_round rounds[2] = {round, round};
    rounds[1].again = true;
    CLEARED(csrec_gaussian_matches) own = {0};
    scene first = scene_copy(start);
    on_cpu(&first, &rounds[0], NUMBER, &own);
    scene second = scene_copy(&first);
    on_cpu(&second, &rounds[1], NUMBER, &own);
    outcome o = run_there(start, &first, rounds);
    expect_close(&(trial){start, &first, rounds, 1, NULL}, &o.one, "first round");
    expect_close(&(trial){&first, &second, rounds + 1, 1, &own}, &o.alone, "second");
    expect_close(&(trial){start, &second, rounds, 2, NULL}, &o.both, "both");
}

TEST_THERE(rounds_follow_the_cpu, false) {
    csrec_gaussian_round rounds[] = {round_of(8, 6, 48, 10), round_of(8, 4, 32, 7),
                                     round_of(5, 3, 128, 6), round_of(10, 5, 64, 6)};
    rounds[1].trust = rounds[3].trust = 0.5f;
    rounds[1].em = 2;
    rounds[1].margin = 3;
    rounds[2].diagonal = rounds[2].evenness = 1;
    rounds[2].trust = 0.1f;
    rounds[2].noise = 2;
    rounds[2].em_diagonal = 0.5f;
    rounds[2].every = 0;
    for (size_t k = 0; k < sizeof rounds / sizeof *rounds; k++)
        for (int round = 0; round < 2; round++) {
            int height = 16 + (int)check_below(&seed, 7), width = 16 + (int)check_below(&seed, 7);
            scene s = draw(height, width, round ? CHANNELS : 1, rates[check_below(&seed, 5)],
                           check_below(&seed, 3) ? 0.0f : 3.0f);
            compare_twice(&s, rounds[k]);
        }
    finish();
}

/* More groups than the kernels take at a time, 2^16. */
TEST_THERE(many_groups, false) {
    const csrec_gaussian_round round = round_of(3, 1, 6, 2);
    scene s = draw(262, 258, 1, 0.4, 0.0f);
    compare_twice(&s, round);
    finish();
}

/* Channels that share a covariance or, with noise, matches alone; steps of EM, margins, sizes of
 * patches for each width of the kernels. */
TEST_THERE(colours_follow_the_cpu, false) {
    const int patches[] = {8, 10, 5, 11};
    for (int k = 0; k < 10; k++) {
        csrec_gaussian_round round = usual;
        round.patch = patches[k % 4];
        round.group = round.patch > 10 ? 20 : 1 + (int)check_below(&seed, 32);
        round.step = 2 + (int)check_below(&seed, 4); /* at most a patch: no gaps */
        round.em = (int)check_below(&seed, 3);
        round.every = (int)check_below(&seed, 4);
        round.trust = check_below(&seed, 2) ? 0.5f : 0.0f;
        round.margin = check_below(&seed, 2) ? 3 : 0;
        round.floor = 10.0f;
        scene s = draw_colours(15 + (int)check_below(&seed, 9), 15 + (int)check_below(&seed, 9),
                               rates[k % 5], k % 2 ? 3.0f : 0.0f);
        if (k == 8) s.p.guides = 0;    /* pooled, but compared on their mean */
        if (k == 9) s.p.pooled = true; /* with noise */
        compare_twice(&s, round);
    }
    finish();
}

/* Boxes of patches, of one channel or, as in the method, of several on their mean; also windows and
 * steps of their own along the first axis, and volumes thinner than a patch. */
TEST_THERE(volumes_follow_the_cpu, false) {
    for (int k = 0; k < 10; k++) {
        csrec_gaussian_round round = usual;
        round.patch = 2 + (int)check_below(&seed, 4);
        round.step = 1 + (int)check_below(&seed, round.patch < 3 ? 2 : 3); /* no gaps */
        round.radius = 1 + (int)check_below(&seed, 4);
        round.group = 1 + (int)check_below(&seed, 96);
        round.em = (int)check_below(&seed, 3);
        round.trust = check_below(&seed, 2) ? 0.5f : 0.0f;
        round.margin = check_below(&seed, 2) ? 2 : 0;
        round.deep_radius = (int)check_below(&seed, 4);
        round.deep = (int)check_below(&seed, 4);
        round.deep_step = round.deep > 0 ? 1 + (int)check_below(&seed, round.deep) : 0;
        int depth = 2 + (int)check_below(&seed, 8), height = 5 + (int)check_below(&seed, 8);
        scene s = draw_volume(depth, height, 5 + (int)check_below(&seed, 8),
                              k % 3 == 0 ? CHANNELS : 1, rates[k % 5], k % 2 ? 3.0f : 0.0f);
        compare_twice(&s, round);
    }
    finish();
}

/* The rounds of the method, of all kinds and both efforts, with few samples, which have a margin,
 * and with many: as many as fit into the shared memory of compute capability 8.0. */
TEST_THERE(rounds_of_the_method, false) {
    for (int kind = 0; kind < 6; kind++) {
        int count;
        bool volume = kind / 2 == 2, pooled = kind / 2 == 1;
        const csrec_gaussian_round *rounds =
            csrec_gaussian_rounds(volume, pooled, kind % 2, false, &count);
        for (int k = 0; k < 2 * count; k++) {
            csrec_gaussian_round round = rounds[k / 2];
            double rate = k % 2 == 0 ? 0.12 : volume ? 0.5 : 0.95;
            if (round.again) continue;
            round.margin = csrec_gaussian_margin(rate, 1.0, volume);
            scene s = volume   ? draw_volume(11, 13, 12, 1, rate, 2.0f)
                      : pooled ? draw_colours(25, 28, rate, 0.0f)
                               : draw(25, 28, 1, rate, 2.0f);
            compare_twice(&s, round);
        }
    }
    finish();
}

/* Pictures no larger than a patch, lines, single pixels. */
TEST_THERE(small_pictures, false) {
    csrec_gaussian_round round = usual;
    round.every = 0;
    round.floor = 10.0f;
    const int sizes[][2] = {{1, 1}, {1, 30}, {25, 1}, {3, 9}, {8, 8}, {9, 8}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int colours = 0; colours < 2; colours++) {
            scene s = colours ? draw_colours(sizes[k][0], sizes[k][1], 0.4, 0.0f)
                              : draw(sizes[k][0], sizes[k][1], 1, 0.4, 0.0f);
            compare_twice(&s, round);
        }
    finish();
}

static csrec_status attempt(scene *s, const csrec_gaussian_round *round, csrec_error *error) {
    void *there = NULL;
    csrec_status status = create_there(picture(s), round, 1, NUMBER, &there, error);
    if (!status) status = csrec_gaussian_cuda.run(there, round, 0, error);
    csrec_gaussian_cuda.destroy(there);
    return status;
}

TEST_THERE(limits_are_refused, false) {
    csrec_gaussian_round round = round_of(12, 4, 20, 5);
    scene s = draw(20, 20, 1, 0.4, 0.0f);
    csrec_error error;
    assert_refused(attempt(&s, &round, &told), CSREC_UNSUPPORTED, "pixels");
    round.patch = 8;
    round.radius = 120;
    assert_refused(attempt(&s, &round, &told), CSREC_UNSUPPORTED, "radius");
    round.radius = 5;
    round.again = true; /* no round before */
    assert_int_equal(attempt(&s, &round, &error), CSREC_ARGUMENT);
    round.again = false;
    assert_ok(attempt(&s, &round, &error));
    scene cube = draw_volume(6, 6, 6, 1, 0.4, 0.0f);
    round.patch = 6; /* 216 entries */
    assert_refused(attempt(&cube, &round, &told), CSREC_UNSUPPORTED, "pixels");
    scene two = draw(20, 20, 2, 0.4, 0.0f);
    two.p.pooled = true;
    assert_refused(attempt(&two, &usual, &told), CSREC_UNSUPPORTED, "pooled");
    scene colours = draw_colours(20, 20, 0.4, 0.0f);
    round = round_of(11, 4, 128, 5); /* 192 KiB of patches */
    assert_refused(attempt(&colours, &round, &told), CSREC_UNSUPPORTED, "128 patches");
}
