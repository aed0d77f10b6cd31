/* SPDX-License-Identifier: BSD-3-Clause */
/* Label maps: results have classes of the samples alone, and fewer wrong entries than the nearest
 * sample gives; on one axis they are the nearest sample. Channels: python/tests/test_labels.py. */
#include "samples.h"

SEED(seed);
enum { CELLS = 14, CLASSES = 6 };
static const double classes[CLASSES] = {-3, 0, 11, 21, 95, 65536};

/* The value of the nearest of n points, of equally near ones the smallest; value [n]. */
static double nearest(const csrec_shape *shape, int64_t i, int64_t n, const int64_t *point,
                      const double *value) {
    double best = INFINITY, class = 0.0;
    for (int64_t k = 0; k < n; k++) {
        const double far = distance_of(shape, i, point[k]);
        if (far < best || (far == best && value[k] < class)) best = far, class = value[k];
    }
    return class;
}

/* Cells of random points, of random classes. */
static void draw_map(const csrec_shape *shape, double *map) {
    int64_t point[CELLS];
    double class[CELLS];
    for (int c = 0; c < CELLS; c++) {
        point[c] = check_below(&seed, entries_in(shape));
        class[c] = classes[check_below(&seed, CLASSES)];
    }
    for (int64_t i = 0; i < entries_in(shape); i++) map[i] = nearest(shape, i, CELLS, point, class);
}

static bool has(const csrec_measurement *m, double class) {
    int64_t k = 0;
    while (k < m->n && m->y[k] != class) k++;
    return k < m->n;
}

/* Six maps of 64 x 64 have 500 to 900 wrong entries by the nearest sample; a fifth fewer is more
 * than five deviations. */
TEST(a_map_has_classes_of_its_samples_and_fewer_errors_than_the_nearest) {
    const csrec_shape shapes[] = {{1, {700}}, {2, {64, 64}}, {3, {14, 15, 16}}};
    for (int round = 0; round < 18; round++) {
        static int64_t ours[3], theirs[3];
        const int s = round % 3;
        const csrec_shape *shape = &shapes[s];
        const int64_t n = entries_in(shape);
        OWNED double *map = malloc((size_t)n * sizeof *map), *x = malloc((size_t)n * sizeof *x);
        CLEARED(csrec_measurement) m = draw_places(shape, 1, CSREC_PATTERN_UNIFORM, n / 5, seed++);
        csrec_recover_options o;
        csrec_recover_report report;
        draw_map(shape, map);
        take_samples(&m, map, &seed);
        csrec_labels_preset(round == 1, &m, &o);
        assert_ok(csrec_recover(&m, &o, x, NULL, &report, NULL));
        for (int c = 0; c < CLASSES; c++) report.classes -= has(&m, classes[c]);
        assert_int_equal(report.classes, 0);
        for (int64_t k = 0; k < m.n; k++) assert_true(x[m.index[k]] == m.y[k]);
        for (int64_t i = 0; i < n; i++) {
            const double near = nearest(shape, i, m.n, m.index, m.y);
            assert_true(has(&m, x[i]) && (s > 0 || x[i] == near));
            ours[s] += x[i] != map[i];
            theirs[s] += near != map[i];
        }
        if (round == 16 && ours[1] > 0.8 * (double)theirs[1])
            fail_msg("%lld wrong, %lld by the nearest", (long long)ours[1], (long long)theirs[1]);
    }
}

TEST(what_has_no_classes_is_refused) {
    static const char *const words[] = {"a sample is 1.5", "more than 256", "omit sigma",
                                        "no history",      "no atoms",      "expected errors"};
    ENDS_BY(end_history) csrec_history *history = NULL;
    csrec_atoms atoms;
    assert_ok(csrec_history_create(NULL, 1.0, &history));
    for (int k = 0; k < 6; k++) {
        csrec_recover_options o = {.labels = true, .history = k == 3 ? history : NULL};
        csrec_error error = {""};
        double x[400];
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m =
            draw_places(&(csrec_shape){2, {20, 20}}, 1, CSREC_PATTERN_UNIFORM, 300, seed++);
        for (int i = 0; i < 300; i++) m.y[i] = k == 1 ? i : k == 0 ? i % 2 + 0.5 : i % 3;
        m.sigma = k == 2;
        if (k == 0) m.y[0] = 1.5;
        if (k == 5)
            csrec_uncertainty(&m, &o, x, x, NULL, &error);
        else
            csrec_recover(&m, &o, x, k == 4 ? &atoms : NULL, NULL, &error);
        if (!strstr(error.text, words[k])) fail_msg("%d: %s", k, error.text);
    }
}
