/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec_adaptive: the samples it asks for, that they help, its stops, and what it refuses. */

#include "check.h"

SEED(seed);

/* A picture whose right third is noise, and an instrument that reads it. */
typedef struct scene {
    csrec_shape shape;
    int64_t entries, channels, calls, fails_at;
    double *truth;
    uint8_t *taken; /* [entries] */
} scene;

static scene draw(int64_t height, int64_t width, int64_t channels) {
    scene s = {.shape = {2, {height, width}}, .entries = height * width, .channels = channels};
    s.truth = check_keep((size_t)(s.entries * channels) * sizeof *s.truth);
    s.taken = check_keep_zeros((size_t)s.entries, 1);
    for (int64_t i = 0; i < s.entries * channels; i++) {
        bool busy = i / channels % width >= 2 * width / 3;
        s.truth[i] =
            100.0 + (busy ? 40.0 * check_normal(&seed) : 0.1 * (double)(i / channels / width));
    }
    return s;
}

static csrec_status read_scene(int64_t n, const int64_t *index, double *y, void *context) {
    scene *s = context;
    if (++s->calls == s->fails_at) return CSREC_DEVICE;
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(index[i], 0, s->entries - 1);
        assert_false(s->taken[index[i]]); /* nothing is measured twice */
        s->taken[index[i]] = 1;
        memcpy(y + i * s->channels, s->truth + index[i] * s->channels,
               (size_t)s->channels * sizeof *y);
    }
    return CSREC_OK;
}

static csrec_measurement nothing(const scene *s) {
    return (csrec_measurement){
        .shape = s->shape, .channels = s->channels, .dtype = CSREC_F64, .scale = {0.0, 255.0}};
}

static csrec_recover_options frames(void) {
    return options_on_cpu("frames", NULL);
}

TEST(samples_go_where_errors_are) {
    for (int64_t channels = 1; channels <= 3; channels += 2) {
        scene s = draw(48, 60, channels);
        CLEARED(csrec_measurement) m = nothing(&s);
        csrec_recover_options recover = frames();
        csrec_adaptive_options o = {.budget = 720, .recover = &recover, .seed = check_next(&seed)};
        double expected = -1.0;
        assert_well(csrec_adaptive(&o, read_scene, &s, &m, &expected, &told));
        assert_int_equal(m.n, 720);
        assert_int_equal(s.calls, 9);
        assert_ok(csrec_measurement_check(&m, "m", NULL));
        int64_t busy = 0, even = 0;
        for (int64_t i = 0; i < m.n; i++) {
            assert_memory_equal(m.y + i * channels, s.truth + m.index[i] * channels,
                                (size_t)channels * sizeof *m.y);
            bool there = m.index[i] % 60 >= 40;
            busy += there;
            even += i < 144 && there;
        }
        assert_in_range(even, 144 / 4, 144 / 2); /* a third of the area */
        assert_true(busy > 720 / 2);
    }
}

static bool stop_late(const csrec_progress *now, void *context) {
    int64_t *most = context;
    return now->done >= *most;
}

/* A stopped measurement that goes on asks for the same budget. */
TEST(a_stop_can_go_on) {
    scene s = draw(40, 40, 1);
    CLEARED(csrec_measurement) m = nothing(&s);
    csrec_recover_options recover = frames();
    int64_t most = 150;
    csrec_adaptive_options o = {
        .budget = 400, .rounds = 4, .recover = &recover, .progress = stop_late, .context = &most};
    assert_ok(csrec_adaptive(&o, read_scene, &s, &m, NULL, NULL));
    assert_int_equal(m.n, 160); /* 80, then 80 a round */
    o.progress = NULL;
    assert_ok(csrec_adaptive(&o, read_scene, &s, &m, NULL, NULL));
    assert_int_equal(m.n, 400);
}

TEST(goals_end_it) {
    scene s = draw(40, 40, 1);
    CLEARED(csrec_measurement) m = nothing(&s);
    csrec_recover_options recover = frames();
    csrec_adaptive_options o = {.budget = 1600, .recover = &recover, .goal = 1e9};
    double expected;
    assert_ok(csrec_adaptive(&o, read_scene, &s, &m, &expected, NULL));
    assert_int_equal(m.n, 320); /* the even round */
    assert_true(expected > 0.0 && expected < 1e9);
    o.goal = 1e-9;
    assert_ok(csrec_adaptive(&o, read_scene, &s, &m, &expected, NULL));
    assert_int_equal(m.n, 1600);
}

static csrec_status read_nan(int64_t n, const int64_t *index, double *y, void *context) {
    csrec_status status = read_scene(n, index, y, context);
    if (((scene *)context)->calls == 2) y[n - 1] = NAN;
    return status;
}

TEST(failures_keep_what_is_there) {
    scene s = draw(32, 32, 1), t = draw(32, 32, 1);
    CLEARED(csrec_measurement) m = nothing(&s), r = nothing(&t);
    csrec_recover_options recover = frames();
    csrec_adaptive_options o = {.budget = 300, .rounds = 2, .recover = &recover};
    s.fails_at = 2;
    assert_refused(csrec_adaptive(&o, read_scene, &s, &m, NULL, &told), CSREC_DEVICE, "instrument");
    assert_int_equal(m.n, 60);
    assert_refused(csrec_adaptive(&o, read_nan, &t, &r, NULL, &told), CSREC_DATA, "not finite");
    assert_int_equal(r.n, 60);
    const csrec_adaptive_options wrong[] = {{.budget = 0},
                                            {.budget = 1025},
                                            {.budget = 9, .first = 10},
                                            {.budget = 9, .rounds = -1},
                                            {.budget = 9, .goal = NAN}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(csrec_adaptive(&wrong[k], read_scene, &t, &r, NULL, NULL), CSREC_ARGUMENT);
}
