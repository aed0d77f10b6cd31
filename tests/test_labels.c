/* SPDX-License-Identifier: BSD-3-Clause */
/* Label maps: results have classes of the samples alone, and fewer wrong entries than the nearest
 * sample gives; on one axis they are the nearest sample. */
#include "samples.h"

SEED(seed);

enum { CELLS = 14 };
static const double classes[] = {-3, 0, 11, 21, 95, 65536};

/* Cells of random points, of random classes. */
static void draw_map(const csrec_shape *shape, double *map) {
    int64_t point[CELLS];
    double class[CELLS];
    for (int c = 0; c < CELLS; c++) {
        point[c] = check_below(&seed, entries_in(shape));
        class[c] = classes[check_below(&seed, 6)];
    }
    for (int64_t i = 0; i < entries_in(shape); i++) {
        int at = 0;
        for (int c = 1; c < CELLS; c++)
            if (distance_of(shape, i, point[c]) < distance_of(shape, i, point[at])) at = c;
        map[i] = class[at];
    }
}

/* Of equally near samples the smaller class. */
static double nearest(const csrec_measurement *m, int64_t i) {
    double best = INFINITY, class = 0.0;
    for (int64_t k = 0; k < m->n; k++) {
        const double far = distance_of(&m->shape, i, m->index[k]);
        if (far < best || (far == best && m->y[k] < class)) best = far, class = m->y[k];
    }
    return class;
}

static int count_classes(const csrec_measurement *m) {
    int n = 0;
    for (int c = 0; c < 6; c++) {
        int64_t k = 0;
        while (k < m->n && m->y[k] != classes[c]) k++;
        n += k < m->n;
    }
    return n;
}

/* Six maps of 64 x 64 have 500 to 900 wrong entries by the nearest sample; a fifth fewer is more
 * than five deviations. */
TEST(a_map_has_classes_of_its_samples_and_fewer_errors_than_the_nearest) {
    const csrec_shape shapes[] = {{1, {700}}, {2, {64, 64}}, {3, {14, 15, 16}}};
    for (int s = 0; s < 3; s++) {
        const csrec_shape *shape = &shapes[s];
        const int64_t n = entries_in(shape);
        OWNED double *map = malloc((size_t)n * sizeof *map), *x = malloc((size_t)n * sizeof *x);
        int64_t ours = 0, theirs = 0;
        for (int round = 0; round < 6; round++) {
            draw_map(shape, map);
            csrec_measurement m = draw_places(shape, 1, CSREC_PATTERN_UNIFORM, n / 5, seed++);
            csrec_recover_options o;
            csrec_recover_report report;
            take_samples(&m, map, &seed);
            csrec_labels_preset(s == 1 && round == 0, &m, &o);
            assert_ok(csrec_recover(&m, &o, x, NULL, &report, NULL));
            assert_int_equal(report.classes, count_classes(&m));
            for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == m.y[k]);
            for (int64_t i = 0; i < n; i++) {
                const double near = nearest(&m, i);
                int64_t k = 0;
                while (k < m.n && m.y[k] != x[i]) k++;
                assert_true(k < m.n && (s > 0 || x[i] == near));
                ours += x[i] != map[i];
                theirs += near != map[i];
            }
            csrec_measurement_clear(&m);
        }
        if (s == 1 && ours > 0.8 * (double)theirs)
            fail_msg("%lld wrong, %lld by the nearest", (long long)ours, (long long)theirs);
    }
}

/* Each channel is a map of its own, where it is measured. */
TEST(channels_are_maps_of_their_own) {
    const csrec_shape shape = {2, {20, 30}};
    OWNED double *map = malloc(600 * sizeof *map), *x = malloc(1800 * sizeof *x);
    double one[600];
    csrec_recover_options o;
    csrec_recover_report report;
    csrec_measurement m = draw_places(&shape, 3, CSREC_PATTERN_UNIFORM, 300, seed++), part;
    draw_map(&shape, map);
    for (int64_t i = 0; i < 900; i++)
        m.y[i] = i % 3 == 2            ? NAN
                 : i % 3 == 1 && i % 2 ? NAN
                                       : map[m.index[i / 3]] + (double)(i % 3);
    csrec_labels_preset(0, &m, &o);
    assert_ok(csrec_recover(&m, &o, x, NULL, &report, NULL));
    for (int c = 0; c < 2; c++) {
        part = m;
        part.channels = 1;
        part.n = 0;
        part.index = malloc(300 * sizeof *part.index);
        part.y = malloc(300 * sizeof *part.y);
        for (int64_t k = 0; k < 300; k++) {
            if (isnan(m.y[3 * k + c])) continue;
            part.index[part.n] = m.index[k];
            part.y[part.n++] = m.y[3 * k + c];
        }
        assert_ok(csrec_recover(&part, &o, one, NULL, NULL, NULL));
        for (int i = 0; i < 600; i++) assert_true(x[3 * i + c] == one[i] && isnan(x[3 * i + 2]));
        csrec_measurement_clear(&part);
    }
    csrec_measurement_clear(&m);
}

TEST(what_has_no_classes_is_refused) {
    static const char *const words[] = {"a sample is 1.5", "more than 256", "omit sigma",
                                        "no history",      "no atoms",      "expected errors"};
    const csrec_shape shape = {2, {20, 20}};
    for (int k = 0; k < 6; k++) {
        csrec_measurement m = draw_places(&shape, 1, CSREC_PATTERN_UNIFORM, 300, seed++);
        csrec_recover_options o = {.labels = true, .solve.stop.epsilon = CSREC_EPSILON_UNSET};
        csrec_error error = {""};
        csrec_plan plan;
        csrec_atoms atoms;
        double x[400];
        csrec_history *history = NULL;
        for (int i = 0; i < 300; i++) m.y[i] = k == 1 ? i : i % 3;
        if (k == 0) m.y[check_below(&seed, 300)] = 1.5;
        if (k == 2) m.sigma = 0.1;
        if (k == 3) assert_ok(csrec_history_create(NULL, 1.0, &history));
        o.history = history;
        if (k < 3)
            assert_int_not_equal(csrec_recover_plan(&m, &o, CSREC_RESULT_SIGNAL, &plan, NULL),
                                 CSREC_OK);
        const csrec_status status =
            k == 5 ? csrec_uncertainty(&m, &o, x, x, NULL, &error)
                   : csrec_recover(&m, &o, x, k == 4 ? &atoms : NULL, NULL, &error);
        if (!status || !strstr(error.text, words[k])) fail_msg("%d: %s", k, error.text);
        csrec_history_destroy(history);
        csrec_measurement_clear(&m);
    }
}
