/* SPDX-License-Identifier: BSD-3-Clause */
/* test_defaults.c - what recovers signals of one axis, tables and volumes where nothing is asked
 * for. */
#include "line.h"

/* The share of entries [n], and their values. */
static csrec_measurement some_of(const csrec_shape *shape, const double *truth, double rate) {
    const int64_t n = entries_in(shape);
    csrec_measurement m = room_for_samples(*shape, 1, n);
    for (int64_t i = 0; i < n; i++) {
        if (i && check_uniform(&seed) >= rate) continue;
        m.index[m.n] = i;
        m.y[m.n++] = truth[i];
    }
    return m;
}

/* By the defaults (-1) or preset i. */
static csrec_recover_report recover_by(int i, const csrec_measurement *m, double *x) {
    csrec_recover_options options;
    csrec_recover_report report;
    if (i < 0)
        csrec_recover_defaults(&options);
    else
        assert_non_null(csrec_recover_preset(i, m, &options));
    assert_well(csrec_recover(m, &options, x, NULL, &report, &told));
    return report;
}

/* In float they would have few digits; what thresholds keep of the rest may differ by rounding. */
TEST(values_far_from_0_are_as_others) {
    enum { SIDE = 60, AREA = SIDE * SIDE };
    const csrec_shape shape = {2, {SIDE, SIDE}};
    double *truth = check_room(AREA), *near = check_room(AREA), *far = check_room(AREA);
    for (int round = 0; round < 4; round++) {
        const double pitch = 0.1 + 0.3 * check_uniform(&seed), offset = 1e9 * check_normal(&seed);
        for (int64_t i = 0; i < AREA; i++)
            truth[i] = 100.0 * sin(pitch * (double)(i % SIDE)) * cos(0.2 * (double)(i / SIDE));
        csrec_measurement m = some_of(&shape, truth, 0.3);
        assert_string_equal(recover_by(0, &m, near).method, "frames");
        for (int64_t i = 0; i < m.n; i++) m.y[i] += offset;
        recover_by(0, &m, far);
        for (int64_t i = 0; i < AREA; i++) far[i] -= offset;
        const double off = check_rms(AREA, near, truth), moved = check_rms(AREA, far, truth);
        if (!(moved < 1.2 * off + 0.5)) fail_msg("error %g, %g at %g", off, moved, offset);
        for (int64_t i = 0; i < m.n; i++) assert_true(far[m.index[i]] == m.y[i] - offset);
    }
}

TEST(lines_keep_their_samples_whatever_the_preset) {
    line l;
    const csrec_shape shape = {1, {LENGTH}};
    for (int i = -1; i < 4; i++) {
        double off = 0.0, plain = 0.0;
        for (int round = 0; round < 10; round++) {
            OWNED double *x = malloc(LENGTH * sizeof *x);
            draw_walk(&l);
            csrec_measurement m = some_of(&shape, l.truth, 0.5);
            assert_string_equal(recover_by(i, &m, x).method, "smooth");
            const csrec_series s = {.n = LENGTH, .m = m.n, .at = m.index, .v = m.y};
            for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == m.y[k]);
            csrec_series_linear(&s, l.x);
            for (int64_t e = 0; e < LENGTH; e++) off += fabs(x[e] - l.truth[e]);
            for (int64_t e = 0; e < LENGTH; e++) plain += fabs(l.x[e] - l.truth[e]);
        }
        assert_true(off < 1.05 * plain);
    }
}

enum { ROWS = 240, SERIES = 5 };

/* Walks of unlike levels and sizes, the last one follows the first two. */
static void draw_table(double *truth) {
    double walk[SERIES] = {0.0};
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < SERIES; c++) {
            walk[c] += check_normal(&seed);
            const double follows = walk[0] - 2.0 * walk[1] + 0.1 * check_normal(&seed);
            truth[i * SERIES + c] = pow(10.0, c) * (40.0 + (c == SERIES - 1 ? follows : walk[c]));
        }
}

static void turn(int64_t rows, int64_t columns, const double *x, double *turned) {
    for (int64_t i = 0; i < rows * columns; i++) turned[i % columns * rows + i / columns] = x[i];
}

/* A table, upright and lying, is filled by series, and by the others where they tell more; not if a
 * preset is named. */
TEST(tables_are_told_and_filled_by_their_series) {
    double whole = 0.0, plain = 0.0;
    for (int round = 0; round < 8; round++) {
        double *truth = check_room(2 * ROWS * SERIES), *x = check_room(ROWS * SERIES);
        const csrec_shape shape = {2, {round % 2 ? SERIES : ROWS, round % 2 ? ROWS : SERIES}};
        draw_table(truth + ROWS * SERIES);
        memcpy(truth, truth + ROWS * SERIES, ROWS * SERIES * sizeof *truth);
        if (round % 2) turn(ROWS, SERIES, truth + ROWS * SERIES, truth);
        csrec_measurement m = some_of(&shape, truth, 0.7);
        assert_int_equal(csrec_table_axis(&m), round % 2);
        assert_null(recover_by(0, &m, x).choice);
        const csrec_recover_report report = recover_by(-1, &m, x);
        assert_string_equal(report.method, "smooth");
        assert_non_null(report.choice);
        for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == m.y[k]);
        for (int c = 0; c < SERIES; c++) {
            line l = {.s = {.n = ROWS, .at = l.at, .v = l.v}};
            const int64_t from = round % 2 ? c * ROWS : c, step = round % 2 ? 1 : SERIES;
            for (int64_t k = 0; k < m.n; k++) {
                const int64_t at = m.index[k] - from;
                if (at < 0 || at % step || at / step >= ROWS) continue;
                l.at[l.s.m] = at / step;
                l.v[l.s.m++] = m.y[k];
            }
            csrec_series_linear(&l.s, l.x);
            double off[2] = {0.0};
            for (int64_t i = 0; i < ROWS; i++) {
                off[0] += fabs(x[from + i * step] - truth[from + i * step]);
                off[1] += fabs(l.x[i] - truth[from + i * step]);
            }
            if (off[0] > 1.3 * off[1]) fail_msg("series %d: %g, by a line %g", c, off[0], off[1]);
            if (c == SERIES - 1) whole += off[0], plain += off[1];
        }
    }
    assert_true(whole < 0.6 * plain);
}

/* Waves that run across, of any slant, are no table; nor is noise. */
TEST(pictures_are_no_tables) {
    for (int round = 0; round < 60; round++) {
        const csrec_shape shape = {2, {16 + check_below(&seed, 80), 16 + check_below(&seed, 80)}};
        const double v = check_uniform(&seed), u = check_uniform(&seed), noise = round % 3;
        OWNED double *truth = malloc((size_t)entries_in(&shape) * sizeof *truth);
        for (int64_t i = 0; i < entries_in(&shape); i++)
            truth[i] = 128.0 + 9.0 * noise * check_normal(&seed) +
                       90.0 * sin(v * (double)(i / shape.dim[1]) + u * (double)(i % shape.dim[1]));
        csrec_measurement m = some_of(&shape, truth, 0.3 + 0.7 * check_uniform(&seed));
        if (v > 0.3 * u && u > 0.3 * v) assert_int_equal(csrec_table_axis(&m), -1);
    }
}

enum { EDGE = 16 };

/* 0: waves; 1: boxes of noise; 2: planes that have nothing in common. */
static void draw_volume(int what, double *truth) {
    double wave[EDGE], turn_by[EDGE];
    for (int z = 0; z < EDGE; z++) {
        wave[z] = what == 2 ? 0.2 + 0.3 * check_uniform(&seed) : 0.2;
        turn_by[z] = what == 2 ? 6.3 * check_uniform(&seed) : 0.1 * z;
    }
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        const int z = i / (EDGE * EDGE), y = i / EDGE % EDGE, x = i % EDGE;
        truth[i] = 128.0 + 90.0 * sin(wave[z] * x + turn_by[z]) * cos(0.15 * y + turn_by[z]);
        if (what == 1) truth[i] = 200.0 * ((x / 5 + y / 6 + z / 7) % 2) + check_normal(&seed);
    }
}

/* Of a measurement's planes the first one's samples, in all. */
static void sample_alike(const double *truth, csrec_measurement *m) {
    const int64_t area = EDGE * EDGE;
    for (int64_t k = 0; k < m->n; k++)
        if (m->index[k] >= area) m->n = k;
    for (int64_t k = 0, each = m->n; k < each * (EDGE - 1); k++) {
        m->index[m->n] = m->index[m->n - each] + area;
        m->y[m->n] = truth[m->index[m->n]];
        m->n++;
    }
}

/* What is chosen is what its method gives, and at most a little worse than the best way: in the
 * mean of planes that are drawn at random, of which a volume may suit some. */
TEST(volumes_are_recovered_by_what_their_samples_choose) {
    enum { DRAWS = 6 };
    static const char *const methods[] = {"frames", "smooth"}, *const words[] = {"smoothest",
                                                                                 "block",
                                                                                 "plane by"};
    const csrec_shape shape = {3, {EDGE, EDGE, EDGE}};
    const int64_t n = entries_in(&shape);
    double *truth = check_room(n), *x = check_room(n), *other = check_room(n), worse[3] = {0.0};
    for (int draw = 0; draw < 2 + DRAWS; draw++) {
        const int what = draw < 2 ? draw : 2;
        double least = INFINITY;
        bool is_one = false;
        draw_volume(what, truth);
        csrec_measurement m = some_of(&shape, truth, 0.35);
        if (what == 2) sample_alike(truth, &m);
        const csrec_recover_report report = recover_by(-1, &m, x);
        assert_string_equal(report.method, "trial");
        assert_non_null(strstr(report.choice, words[what]));
        for (int way = 0; way < 2; way++) {
            const csrec_recover_options options = options_by(methods[way]);
            assert_ok(csrec_recover(&m, &options, other, NULL, NULL, NULL));
            least = fmin(least, check_rms(n, other, truth));
            is_one = is_one || memcmp(other, x, (size_t)n * sizeof *x) == 0;
        }
        worse[what] += log(check_rms(n, x, truth) / least) / (what < 2 ? 1 : DRAWS);
        assert_true(is_one == (what < 2));
    }
    for (int what = 0; what < 3; what++) assert_true(worse[what] <= log(sqrt(1.2)));
}
