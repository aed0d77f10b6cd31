/* SPDX-License-Identifier: BSD-3-Clause */
/* test_holes.c - large holes of pictures, which presets fill by what their samples choose. */
#include "check.h"
#include "csrec/recover.h"

enum { SIDE = 128, ENTRIES = SIDE * SIDE };
SEED(seed);

/* A surface of a few waves of random direction, of periods above 150 entries. */
static void draw(double *x, double rough) {
    double k[4][3];
    for (int w = 0; w < 4; w++)
        for (int a = 0; a < 3; a++) k[w][a] = (check_uniform(&seed) - 0.5) * (a < 2 ? 0.08 : 9.0);
    for (int i = 0; i < ENTRIES; i++) {
        x[i] = rough * check_uniform(&seed);
        for (int w = 0; w < 4; w++)
            x[i] += 20.0 * sin(k[w][0] * (i / SIDE) + k[w][1] * (i % SIDE) + k[w][2]);
    }
}

/* All entries but a disc of the radius; radius 0: every second of a lattice. */
static int64_t choose(double radius, int64_t *index) {
    int64_t n = 0;
    for (int64_t i = 0; i < ENTRIES; i++) {
        const double dy = (double)(i / SIDE) - 60.0, dx = (double)(i % SIDE) - 70.0;
        const bool known = radius > 0.0 ? hypot(dy, dx) > radius : (i / SIDE + i % SIDE) % 2;
        if (known) index[n++] = i;
    }
    return n;
}

static double error_of(const csrec_recover_options *options, const csrec_measurement *m,
                       const double *truth, csrec_recover_report *report, double *x) {
    assert_ok(csrec_recover(m, options, x, NULL, report, NULL));
    return sqrt(ENTRIES) * check_rms(ENTRIES, x, truth);
}

/* The surface passes through smooth ones; what is in a hole of noise nobody knows, and the mean of
 * its rim, which the membrane has, errs least: sqrt(1/12) an entry and little more. */
TEST(large_holes_are_filled_by_what_errs_least) {
    static const struct {
        double radius, rough, sigma;
        const char *choice;
    } cases[] = {{20.0, 0.0, 0.0, "smoothest surface"},
                 {20.0, 1e4, 0.0, "membrane"},
                 {4.0, 0.0, 0.0, NULL},
                 {0.0, 0.0, 0.0, NULL},
                 {20.0, 0.0, 0.1, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *truth = check_room(ENTRIES), *x = check_room(ENTRIES), *plain = check_room(ENTRIES);
        csrec_measurement m = room_for_samples((csrec_shape){2, {SIDE, SIDE}}, 1, ENTRIES);
        csrec_recover_options preset, method;
        csrec_recover_report report;
        draw(truth, cases[i].rough);
        m.sigma = cases[i].sigma;
        m.n = choose(cases[i].radius, m.index);
        for (int64_t k = 0; k < m.n; k++) m.y[k] = truth[m.index[k]];
        csrec_recover_preset(0, &m, &preset);
        preset.backend = "cpu";
        assert_true(preset.by_samples);
        method = preset;
        method.by_samples = false;
        const double without = error_of(&method, &m, truth, &report, plain);
        assert_null(report.choice);
        const double with = error_of(&preset, &m, truth, &report, x);
        if (!cases[i].choice) {
            assert_null(report.choice);
            assert_memory_equal(x, plain, ENTRIES * 8);
            continue;
        }
        if (!strstr(report.choice, cases[i].choice)) fail_msg("%s", report.choice);
        for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == plain[m.index[k]]);
        if (cases[i].rough > 0.0)
            assert_true(with < 1.1 * cases[i].rough * sqrt((ENTRIES - m.n) / 12.0));
        else
            assert_true(with < 0.5 * without);
    }
}
