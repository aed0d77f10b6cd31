/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels that are measured at positions of their own, against recoveries of each group of
 * channels alone, and against a model for which channels are an axis. */

#include "io_file.h"

SEED(seed);

typedef struct scan {
    csrec_measurement m;
    int64_t entries;
    double *signal;
} scan;

/* A smooth picture; channels 0 and 2 have the same gaps, 1 others, and 3 is measured nowhere. */
static scan draw(int64_t height, int64_t width) {
    const int64_t entries = height * width;
    scan s = {room_for_samples((csrec_shape){2, {height, width}}, 4, entries), entries,
              check_room(4 * entries)};
    const double phase = check_uniform(&seed);
    for (int64_t i = 0; i < s.entries; i++) {
        const bool a = check_below(&seed, 3) > 0, b = check_below(&seed, 2) > 0;
        const double x = (double)(i % width) / 9.0, y = (double)(i / width) / 7.0;
        if (!a && !b) continue;
        double *own = s.m.y + 4 * s.m.n;
        for (int c = 0; c < 4; c++)
            own[c] = (c == 1 ? b : c < 3 && a) ? (c + 1) * sin(x + phase) + cos(y * (c + 1)) : NAN;
        s.m.index[s.m.n++] = i;
    }
    return s;
}

/* Those samples that have channel `first`, with it and, unless negative, `second`. */
static csrec_measurement group_of(const csrec_measurement *m, int first, int second) {
    csrec_measurement g = room_for_samples(m->shape, second < 0 ? 1 : 2, m->n);
    for (int64_t i = 0; i < m->n; i++) {
        if (isnan(m->y[4 * i + first])) continue;
        g.index[g.n] = m->index[i];
        g.y[g.n * g.channels] = m->y[4 * i + first];
        if (second >= 0) g.y[g.n * 2 + 1] = m->y[4 * i + second];
        g.n++;
    }
    return g;
}

/* The group's recovery has the bits of its channels, and samples are kept. */
static void compare(const scan *s, const csrec_recover_options *o, int first, int second) {
    csrec_measurement g = group_of(&s->m, first, second);
    OWNED double *alone = malloc((size_t)(s->entries * g.channels) * sizeof *alone);
    assert_well(csrec_recover(&g, o, alone, NULL, NULL, &told));
    for (int64_t i = 0; i < s->entries; i++) {
        assert_memory_equal(&s->signal[4 * i + first], &alone[i * g.channels], sizeof *alone);
        if (second >= 0)
            assert_memory_equal(&s->signal[4 * i + second], &alone[2 * i + 1], sizeof *alone);
    }
    for (int64_t k = 0; k < g.n && o->shifts == 0; k++) /* which a mean over grids is near */
        if (s->signal[4 * g.index[k] + first] != g.y[k * g.channels])
            fail_msg("%s changes a sample", o->method);
}

TEST(groups_are_recovered_as_alone) {
    const char *const methods[] = {"frames", "smooth", "gaussian", "net", "grids"};
    for (int k = 0; k < 5; k++) {
        if (sanitized_leaves()) continue;
        scan s = draw(24 + (int64_t)check_below(&seed, 9), 30);
        csrec_recover_options o = options_on_cpu(methods[k], NULL);
        csrec_recover_report report;
        csrec_error error = {""};
        if (k == 4) o.shifts = 4;
        if (k == 3 && !csrec_prior_installed(1, 0, NULL)) continue;
        if (csrec_recover(&s.m, &o, s.signal, NULL, &report, &error))
            fail_msg("%s: %s", methods[k], error.text);
        compare(&s, &o, 0, 2);
        compare(&s, &o, 1, -1);
        for (int64_t i = 0; i < s.entries; i++) assert_true(isnan(s.signal[4 * i + 3]));
        assert_true(report.residual <= (o.shifts ? 0.1 : 0.0));
    }
}

/* Tiles, and what tells about samples and results. */
TEST(parts_and_expectations_know_channels) {
    scan s = draw(620, 540);
    csrec_recover_options o;
    csrec_recover_report report;
    csrec_doubts doubts;
    double *map = check_room(4 * s.entries), expected = 0.0;
    csrec_recover_preset(0, &s.m, &o);
    o.backend = "cpu";
    o.tile = 400000;
    assert_well(csrec_recover(&s.m, &o, s.signal, NULL, &report, &told));
    assert_true(report.estimate.tiles > 1);
    for (int64_t k = 0; k < 4 * s.m.n; k++)
        if (!isnan(s.m.y[k])) assert_true(s.signal[4 * s.m.index[k / 4] + k % 4] == s.m.y[k]);
    o.tile = 0;
    assert_ok(csrec_uncertainty(&s.m, &o, s.signal, map, &expected, NULL));
    assert_true(isfinite(expected));
    for (int64_t i = 0; i < 4 * s.entries; i++) {
        assert_int_equal(isnan(map[i]) != 0, i % 4 == 3);
        assert_int_equal(isnan(s.signal[i]) != 0, i % 4 == 3);
    }
    for (int64_t k = 0; k < 4 * s.m.n; k++)
        if (!isnan(s.m.y[k])) assert_true(map[4 * s.m.index[k / 4] + k % 4] == 0.0);
    assert_ok(csrec_doubts_find(&s.m, 2, &doubts, NULL));
    assert_true(!doubts.constant && doubts.grid == 1 && doubts.unreached == 0.0);
}

/* Noise of one standard deviation in all channels, whose gaps differ; and far values of one. */
TEST(noise_and_outliers_of_channels) {
    scan s = draw(120, 110);
    const double sigma = 0.01 + 0.1 * check_uniform(&seed);
    OWNED uint8_t *outlier = malloc((size_t)s.m.n);
    int64_t found = 0, far = (int64_t)check_below(&seed, (uint64_t)s.m.n);
    double estimate = 0.0;
    for (int64_t k = 0; k < 4 * s.m.n; k++) /* details weaker than the noise */
        s.m.y[k] = 0.2 * s.m.y[k] + sigma * check_normal(&seed);
    assert_ok(csrec_noise_estimate(&s.m, &estimate, NULL));
    assert_true(fabs(estimate - sigma) < 0.15 * sigma + 0.01);
    while (isnan(s.m.y[4 * far + 1])) far = (far + 1) % s.m.n;
    s.m.y[4 * far + 1] = 1000.0;
    assert_ok(csrec_outliers_find(&s.m, 2, outlier, &found, NULL));
    assert_true(found >= 1 && outlier[far]);
}

/* The same samples as one scan for each channel, joined; and in a file of integers. */
TEST(channels_join_and_are_written) {
    scan s = draw(20, 20);
    CLEARED(csrec_measurement) back = {0}, joined = {0};
    csrec_measurement part[2];
    const csrec_measurement *parts[] = {&part[0], &part[1]};
    int64_t contradictions[2];
    for (int64_t k = 0; k < 4 * s.m.n; k++) s.m.y[k] = round(20.0 * s.m.y[k]);
    for (int p = 0; p < 2; p++) {
        part[p] = room_for_samples(s.m.shape, 4, s.m.n);
        part[p].dtype = CSREC_I16;
        for (int64_t i = 0; i < s.m.n; i++) {
            if (isnan(s.m.y[4 * i + p])) continue;
            for (int c = 0; c < 4; c++)
                part[p].y[4 * part[p].n + c] = c % 2 == p ? s.m.y[4 * i + c] : NAN;
            part[p].index[part[p].n++] = s.m.index[i];
        }
    }
    assert_ok(csrec_measurement_merge(2, parts, &joined, contradictions, NULL));
    assert_int_equal(contradictions[0], 0);
    assert_int_equal(joined.n, s.m.n);
    assert_ok(csrec_measurement_write(io_path("channels.npz"), parts[0], false, NULL));
    assert_ok(csrec_measurement_read(io_path("channels.npz"), NULL, &back, NULL));
    io_empty_folder();
    assert_int_equal(back.dtype, CSREC_F32);
    for (int64_t k = 0; k < 4 * s.m.n; k++)
        assert_true(joined.y[k] == s.m.y[k] || (isnan(joined.y[k]) && isnan(s.m.y[k])));
    for (int64_t k = 0; k < 4 * back.n; k++)
        assert_true(back.y[k] == part[0].y[k] || (isnan(back.y[k]) && isnan(part[0].y[k])));
}
