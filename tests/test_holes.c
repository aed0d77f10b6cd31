/* SPDX-License-Identifier: BSD-3-Clause */
/* test_holes.c - large holes of pictures, which presets fill by what their samples choose. */
#include "check.h"

enum { SIDE = 128, ENTRIES = SIDE * SIDE };
SEED(seed);

/* All entries but a disc of the radius; radius 0: every second of a lattice. */
static int64_t choose(double radius, int64_t *index) {
    int64_t n = 0;
    for (int64_t i = 0; i < ENTRIES; i++) {
        const double dy = (double)(i / SIDE) - 60.0, dx = (double)(i % SIDE) - 70.0;
        if (radius > 0.0 ? hypot(dy, dx) > radius : (i / SIDE + i % SIDE) % 2) index[n++] = i;
    }
    return n;
}

static double error_of(const csrec_recover_options *options, const csrec_measurement *m,
                       const double *truth, csrec_recover_report *report, double *x) {
    assert_ok(csrec_recover(m, options, x, NULL, report, NULL));
    return sqrt(ENTRIES) * check_rms(ENTRIES, x, truth);
}

/* What is asked of one draw: that the choice is the expected one, and samples are kept. Adds the
 * squared errors of the preset, and of its method without the choice. */
static void check_draw(double radius, double rough, double sigma, const char *choice,
                       double squares[2]) {
    double *truth = check_room(ENTRIES), *x = check_room(ENTRIES), *plain = check_room(ENTRIES);
    csrec_measurement m = room_for_samples((csrec_shape){2, {SIDE, SIDE}}, 1, ENTRIES);
    csrec_recover_options preset, method;
    csrec_recover_report report;
    /* A wave of random direction, of a period of 125 to 210 entries: in a hole of radius 20 a
     * membrane errs by a tenth of it, and the smoothest surface by a hundredth. */
    const double turn = 6.2831853 * check_uniform(&seed),
                 pitch = 0.03 + 0.02 * check_uniform(&seed),
                 phase = 6.2831853 * check_uniform(&seed);
    for (int i = 0; i < ENTRIES; i++)
        truth[i] = rough * check_uniform(&seed) +
                   20.0 * sin(pitch * (cos(turn) * (i / SIDE) + sin(turn) * (i % SIDE)) + phase);
    m.sigma = sigma;
    m.n = choose(radius, m.index);
    for (int64_t k = 0; k < m.n; k++) m.y[k] = truth[m.index[k]];
    csrec_recover_preset(0, &m, &preset);
    preset.backend = "cpu";
    assert_true(preset.by_samples);
    method = preset;
    method.by_samples = false;
    const double without = error_of(&method, &m, truth, &report, plain);
    assert_null(report.choice);
    const double with = error_of(&preset, &m, truth, &report, x);
    if (!choice) {
        assert_null(report.choice);
        assert_memory_equal(x, plain, ENTRIES * 8);
        return;
    }
    if (!strstr(report.choice, choice)) fail_msg("%s", report.choice);
    for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == plain[m.index[k]]);
    squares[0] += with * with;
    squares[1] += without * without;
}

/* The surface passes through smooth ones. Of one, at a zero of the wave, the method may err little,
 * too. */
TEST(smooth_holes_are_filled_by_the_smoothest_surface) {
    double squares[2] = {0.0, 0.0};
    for (int draws = 0; draws < 6; draws++)
        check_draw(20.0, 0.0, 0.0, "smoothest surface", squares);
    assert_true(squares[0] < 0.25 * squares[1]);
}

/* What is in a hole of noise nobody knows, and the mean of its rim, which the membrane has, errs
 * least: sqrt(1/12) an entry and little more. */
TEST(rough_holes_are_filled_by_the_membrane) {
    double squares[2] = {0.0, 0.0};
    int64_t index[ENTRIES];
    check_draw(20.0, 1e4, 0.0, "membrane", squares);
    assert_true(squares[0] < 1.21e8 * (double)(ENTRIES - choose(20.0, index)) / 12.0);
}

TEST(small_holes_and_noise_are_left_to_the_method) {
    check_draw(4.0, 0.0, 0.0, NULL, NULL);
    check_draw(0.0, 0.0, 0.0, NULL, NULL);
    check_draw(20.0, 0.0, 0.1, NULL, NULL);
}
