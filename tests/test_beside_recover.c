/* SPDX-License-Identifier: BSD-3-Clause */
/* test_beside_recover.c - recovery of pictures with guides, of bands and of sequences. */
#include "prior_model.h"
#include "recover/parts/parts.h"

typedef struct guided {
    csrec_measurement m; /* not to be cleared */
    csrec_guides guides; /* the first is the texture, the second noise */
    double *truth;
    int64_t entries;
} guided;

/* A texture of random numbers times a smooth factor: no pixel tells of its neighbours. */
static void draw_guided(csrec_shape shape, double rate, guided *d) {
    const int64_t n = entries_in(&shape), width = shape.dim[shape.dims - 1];
    const double a = 6.0 * check_uniform(&seed), b = 6.0 * check_uniform(&seed);
    int64_t *order = check_order(&seed, n);
    *d = (guided){.guides = {.n = 2, .values = floats(2 * n)}, .truth = check_room(n)};
    d->entries = n;
    d->m = room_for_samples(shape, 1, n);
    d->m.guides = &d->guides;
    d->m.n = (int64_t)(rate * (double)n);
    for (int64_t i = 0; i < n; i++) {
        d->guides.values[i] = (float)check_normal(&seed);
        d->guides.values[n + i] = (float)check_normal(&seed);
        const double y = (double)(i / width), x = (double)(i % width);
        d->truth[i] = 100.0 + (double)d->guides.values[i] * 20.0 *
                                  (2.0 + sin(0.05 * x + a) * cos(0.04 * y + b));
    }
    memcpy(d->m.index, order, (size_t)d->m.n * sizeof *order);
    free(order);
    for (int64_t i = 0; i < d->m.n; i++) d->m.y[i] = d->truth[d->m.index[i]];
}

/* By method beside; model NULL: by the fit alone. */
static csrec_recover_options options_beside(const csrec_model *model, bool votes) {
    static const csrec_setting sets[] = {{"vote", 0}, {"network", 0}, {"vote", 1}};
    csrec_recover_options o = options_on_cpu("beside", model);
    o.range[0] = -INFINITY;
    o.range[1] = INFINITY;
    use_settings(&o.solve, model ? 1 : 2, !votes ? sets : model ? sets + 2 : sets + 1);
    return o;
}

/* Until the test's end; samples are kept, and all is finite. */
static double *recover(const csrec_measurement *m, const csrec_recover_options *o,
                       csrec_recover_report *report) {
    const int64_t C = m->channels, values = entries_in(&m->shape) * C;
    double *signal = check_room(values);
    for (int64_t i = 0; i < values; i++) signal[i] = NAN;
    assert_well(csrec_recover(m, o, signal, NULL, report, &told));
    for (int64_t i = 0; i < values; i++) assert_true(isfinite(signal[i]));
    for (int64_t i = 0; i < m->n * C; i++)
        if (!isnan(m->y[i])) assert_true(signal[m->index[i / C] * C + i % C] == m->y[i]);
    return signal;
}

TEST(guides_tell_what_samples_do_not) {
    for (int round = 0; round < 6; round++) {
        guided d;
        draw_guided((csrec_shape){2, {50 + check_below(&seed, 20), 50 + check_below(&seed, 20)}},
                    0.25, &d);
        const csrec_recover_options fit = options_beside(NULL, round % 2);
        csrec_recover_options without = options_on_cpu("frames", NULL);
        csrec_recover_report report;
        const double *signal = recover(&d.m, &fit, &report);
        assert_string_equal(report.method, "beside");
        const double *ignored = recover(&d.m, &without, &report);
        assert_non_null(strstr(report.remark, "guides"));
        d.m.guides = NULL;
        const double *plain = recover(&d.m, &without, &report);
        assert_true(!report.remark || !strstr(report.remark, "guides"));
        assert_memory_equal(ignored, plain, (size_t)d.entries * sizeof *plain);
        const double left = pow(check_rms(d.entries, signal, d.truth), 2.0);
        if (!(left * 10.0 <= pow(check_rms(d.entries, plain, d.truth), 2.0)))
            fail_msg("squared error %g with guides", left);
    }
}

/* Guides that tell all beside a texture, and nothing beside a smooth picture: the vote is close to
 * the better of both ways. */
TEST(the_better_way_counts) {
    for (int round = 0; round < 6; round++) {
        guided d;
        draw_guided((csrec_shape){2, {60 + check_below(&seed, 20), 70}}, 0.3, &d);
        const double pitch = 0.1 + 0.1 * check_uniform(&seed);
        for (int64_t i = 0; i < d.entries && round % 2; i++)
            d.truth[i] = 90.0 * sin(pitch * (double)(i % 70)) * cos(0.15 * (double)(i / 70));
        for (int64_t i = 0; i < d.m.n; i++) d.m.y[i] = d.truth[d.m.index[i]];
        double left[3];
        for (int way = 0; way < 3; way++) {
            csrec_recover_options o = options_beside(NULL, way == 2);
            if (way == 1) o = options_by("frames"), o.backend = "cpu", d.m.guides = NULL;
            left[way] = check_rms(d.entries, recover(&d.m, &o, NULL), d.truth);
            d.m.guides = &d.guides;
        }
        const double better = fmin(left[0], left[1]), worse = fmax(left[0], left[1]);
        if (!(left[2] <= better + 0.25 * (worse - better)))
            fail_msg("errors %g and %g, by vote %g", left[0], left[1], left[2]);
    }
}

/* Powers of two exactly, the rest by rounding. */
TEST(units_and_offsets_do_not_matter) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(1, 2, 0.05);
    for (int round = 0; round < 6; round++) {
        guided d;
        draw_guided((csrec_shape){2, {30 + check_below(&seed, 9), 40}}, 0.3, &d);
        const csrec_recover_options o = options_beside(round % 2 ? model : NULL, round > 3);
        const double *plain = recover(&d.m, &o, NULL), gain = ldexp(1.0, 40 - 16 * round);
        for (int64_t i = 0; i < d.m.n; i++) d.m.y[i] *= gain;
        const double *scaled = recover(&d.m, &o, NULL);
        for (int64_t i = 0; i < d.entries; i++) assert_true(scaled[i] == gain * plain[i]);
        const double own = 1e-3 + 10.0 * check_uniform(&seed), offset = 1e3 * check_normal(&seed);
        for (int64_t i = 0; i < d.m.n; i++) d.m.y[i] = own * (d.m.y[i] / gain) + offset;
        for (int64_t i = 0; i < 2 * d.entries; i++)
            d.guides.values[i] =
                (float)((round % 2 ? 7e4 : -7e4) * (double)d.guides.values[i] + 1e5);
        const double *moved = recover(&d.m, &o, NULL);
        for (int64_t i = 0; i < d.entries && round < 4; i++) /* blocks of cosines have thresholds */
            if (!(fabs(moved[i] - own * plain[i] - offset) <= 0.01 * own))
                fail_msg("%g, not %g", moved[i], own * plain[i] + offset);
    }
}

/* Windows of a large picture have their guides. */
TEST(errors_of_guided_pictures_are_expected) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(1, 2, 0.05);
    guided d;
    draw_guided((csrec_shape){2, {300, 400}}, 0.2, &d);
    for (int network = 0; network < 2; network++) {
        const csrec_recover_options o = options_beside(network ? model : NULL, !network);
        const double *signal = recover(&d.m, &o, NULL);
        double *map = check_room(d.entries), expected = NAN;
        uint8_t *known = check_keep_zeros((size_t)d.entries, 1);
        assert_well(csrec_uncertainty(&d.m, &o, signal, map, &expected, &told));
        assert_true(isfinite(expected) && expected > 0.0);
        for (int64_t i = 0; i < d.m.n; i++) known[d.m.index[i]] = 1;
        for (int64_t i = 0; i < d.entries; i++)
            assert_true(known[i] ? map[i] == 0.0 : map[i] > 0.0 && isfinite(map[i]));
        const double real = check_rms(d.entries, signal, d.truth);
        if (!network && !(expected > real / 2.0 && expected < real * 2.0))
            fail_msg("expected error %g, but it is %g", expected, real);
    }
}

/* What tiles see of guides is the box of their samples. */
TEST(tiles_have_their_guides) {
    guided d;
    draw_guided((csrec_shape){2, {600, 540}}, 0.3, &d);
    csrec_recover_options o = options_beside(NULL, false);
    csrec_recover_report report;
    const double *whole = recover(&d.m, &o, &report);
    assert_int_equal(report.estimate.tiles, 1);
    o.tile = 160000;
    const double *tiled = recover(&d.m, &o, &report);
    assert_true(report.estimate.tiles > 1);
    assert_true(check_rms(d.entries, tiled, whole) < 0.1 * check_rms(d.entries, whole, d.truth));
    const csrec_task task = {.options = &o,
                             .shape = d.m.shape,
                             .entries = d.entries,
                             .channels = 1,
                             .n = d.m.n,
                             .rate = 0.3};
    const csrec_tiling tiling = csrec_tiling_usual(&task);
    assert_int_equal(tiling.tiles, report.estimate.tiles);
    for (int64_t k = 0; k < tiling.tiles; k++) {
        const csrec_box box = csrec_tiling_tile(&tiling, k).box;
        CLEARED(csrec_measurement) part;
        assert_ok(csrec_samples_select(&d.m, &tiling, &box, false, 1, &part));
        const int64_t n = entries_in(&part.shape), width = part.shape.dim[1];
        for (int64_t i = 0; i < 2 * n; i++) {
            const int64_t y = box.at[1][0] + i % n / width, x = box.at[2][0] + i % n % width;
            assert_true(part.guides->values[i] ==
                        d.guides.values[i / n * d.entries + y * d.m.shape.dim[1] + x]);
        }
    }
}

/* Channel 1 of three has gaps; integers, which are the same as guides of floats. */
static csrec_measurement draw_bands(int64_t h, int64_t w) {
    csrec_measurement m = room_for_samples((csrec_shape){2, {h, w}}, 3, h * w);
    m.n = h * w;
    for (int64_t i = 0; i < m.n; i++) {
        m.index[i] = m.n - 1 - i;
        for (int c = 0; c < 3; c++) m.y[3 * i + c] = (double)check_below(&seed, 1000);
        m.y[3 * i + 1] = check_below(&seed, 3) ? NAN : m.y[3 * i] + 2.0 * m.y[3 * i + 2];
    }
    return m;
}

TEST(complete_bands_are_guides) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(1, 2, 0.05);
    for (int round = 0; round < 4; round++) {
        csrec_measurement m = draw_bands(20 + check_below(&seed, 20), 33);
        csrec_measurement one = room_for_samples(m.shape, 1, m.n);
        csrec_guides guides = {.n = 2, .values = floats(2 * m.n)};
        for (int64_t i = 0; i < m.n; i++) {
            guides.values[m.index[i]] = (float)m.y[3 * i];
            guides.values[m.n + m.index[i]] = (float)m.y[3 * i + 2];
            if (isnan(m.y[3 * i + 1])) continue;
            one.index[one.n] = m.index[i];
            one.y[one.n++] = m.y[3 * i + 1];
        }
        one.guides = &guides;
        csrec_recover_options o = options_beside(round % 2 ? model : NULL, round > 1);
        csrec_recover_report report;
        const double *all = recover(&m, &o, &report), *alone = recover(&one, &o, NULL);
        assert_string_equal(report.method, "beside");
        for (int64_t i = 0; i < m.n; i++) assert_true(all[3 * i + 1] == alone[i]);
        for (int64_t i = 0; i < m.n * 3; i++)
            assert_true(i % 3 == 1 ||
                        all[i] == m.y[3 * (m.n - 1) + 2 * (i % 3) - 3 * (i / 3) - i % 3]);
        assert_string_equal(csrec_recover_preset(0, &m, &o), "fast");
        assert_string_equal(o.method, "beside");
        m.bands_apart = true;
        one.guides = NULL;
        csrec_recover_preset(0, &m, &o);
        o.backend = "cpu";
        all = recover(&m, &o, &report);
        alone = recover(&one, &o, NULL);
        assert_string_equal(report.method, "frames");
        for (int64_t i = 0; i < m.n; i++) assert_true(all[3 * i + 1] == alone[i]);
    }
}

enum { T = 6, H = 24, W = 27, AREA = H * W };

static void draw_sequence(double rate, guided *d) {
    draw_guided((csrec_shape){3, {T, H, W}}, rate, d);
    d->m.sequence = true;
}

/* Leaves out the samples of a frame. */
static void empty_frame(csrec_measurement *m, int64_t t) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n; i++)
        if (m->index[i] / AREA != t) {
            m->index[n] = m->index[i];
            m->y[n++] = m->y[i];
        }
    m->n = n;
}

/* Frame t with guides, which are at the given place. */
static csrec_measurement frame_of(const guided *d, int64_t t, csrec_guides *guides) {
    csrec_measurement m = room_for_samples((csrec_shape){2, {H, W}}, 1, AREA);
    for (int64_t i = 0; i < d->m.n; i++)
        if (d->m.index[i] / AREA == t) {
            m.index[m.n] = d->m.index[i] % AREA;
            m.y[m.n++] = d->m.y[i];
        }
    *guides = (csrec_guides){.n = 2, .values = floats(2 * AREA)};
    for (int64_t i = 0; i < 2 * AREA; i++)
        guides->values[i] = d->guides.values[i / AREA * T * AREA + t * AREA + i % AREA];
    if (d->m.guides) m.guides = guides;
    return m;
}

/* A frame between others may have no samples. */
TEST(empty_frames_are_recovered_from_others) {
    for (int frames = 3; frames <= 7; frames += 2) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(frames, 2, 0.05);
        const csrec_recover_options o = options_beside(model, frames == 3);
        guided d;
        draw_sequence(0.3, &d);
        if (frames > 3) d.m.guides = NULL;
        empty_frame(&d.m, 1 + check_below(&seed, T - 2));
        recover(&d.m, &o, NULL);
    }
}

/* 0 at samples; elsewhere what the network expects, or nothing. */
static void check_errors(const csrec_measurement *m, int64_t t, bool network, const double *map) {
    bool known[AREA] = {false};
    for (int64_t i = 0; i < m->n; i++)
        if (m->index[i] / AREA == t) known[m->index[i] % AREA] = true;
    for (int64_t i = 0; i < AREA; i++)
        assert_true(known[i] ? map[i] == 0.0 : network ? map[i] > 0.0 : isnan(map[i]));
}

/* Frames one after another have the bits of the stack. */
TEST(frames_are_those_of_the_stack) {
    for (int round = 0; round < 8; round++) {
        if (sanitized_leaves()) continue;
        ENDS_BY(end_model) csrec_model *model = draw_beside(1 + round % 3 * 2, 2, 0.05);
        const csrec_recover_options o = options_beside(round < 6 ? model : NULL, round % 3 != 1);
        guided d;
        draw_sequence(0.3, &d);
        if (round % 2) d.m.guides = NULL;
        const double *stack = recover(&d.m, &o, NULL);
        ENDS_BY(end_sequence) csrec_sequence *sequence;
        assert_well(csrec_sequence_create(&o, &sequence, &told));
        int64_t taken = 0;
        for (int64_t t = 0; t < T; t++) {
            csrec_guides guides;
            double signal[AREA], map[AREA];
            const csrec_measurement frame = frame_of(&d, t, &guides);
            assert_well(csrec_sequence_push(sequence, &frame, &told));
            if (t == T - 1) csrec_sequence_end(sequence);
            for (; csrec_sequence_ready(sequence); taken++) {
                csrec_recover_report report;
                assert_well(csrec_sequence_take(sequence, signal, map, &report, &told));
                assert_string_equal(report.method, "beside");
                assert_memory_equal(signal, stack + taken * AREA, sizeof signal);
                check_errors(&d.m, taken, round < 6, map);
            }
            const int64_t waits = t == T - 1 ? 0 : csrec_sequence_delay(sequence);
            assert_int_equal(taken, t + 1 > waits ? t + 1 - waits : 0);
        }
        assert_refused(csrec_sequence_take(sequence, (double[AREA]){0}, NULL, NULL, &told),
                       CSREC_ARGUMENT, "ready");
    }
}

/* In frames that are pushed, as in pictures: channel 1 is a sum of the others. */
TEST(complete_bands_guide_frames) {
    const csrec_setting set = {"network", 0};
    csrec_recover_options o = options_on_cpu("beside", NULL);
    o.range[0] = -INFINITY;
    o.range[1] = INFINITY;
    use_settings(&o.solve, 1, &set);
    double off[2] = {0.0, 0.0}, truth[AREA], signal[3 * AREA];
    for (int apart = 0; apart < 2; apart++) {
        csrec_sequence *sequence;
        assert_well(csrec_sequence_create(&o, &sequence, &told));
        for (int round = 0; round < 3; round++) {
            csrec_measurement m = draw_bands(H, W);
            m.bands_apart = apart;
            for (int64_t i = 0; i < AREA; i++)
                truth[m.index[i]] = m.y[3 * i] + 2.0 * m.y[3 * i + 2];
            assert_well(csrec_sequence_push(sequence, &m, &told));
            csrec_sequence_end(sequence);
            assert_well(csrec_sequence_take(sequence, signal, NULL, NULL, &told));
            for (int64_t i = 0; i < AREA; i++) off[apart] += fabs(signal[3 * i + 1] - truth[i]);
            csrec_sequence_destroy(sequence);
            assert_well(csrec_sequence_create(&o, &sequence, &told));
        }
        csrec_sequence_destroy(sequence);
    }
    if (!(off[0] < 0.1 * off[1])) fail_msg("errors %g, and %g without", off[0], off[1]);
}

/* A frame depends on the samples of those beside it (where motion is looked for, unless they seem
 * to show another scene), and on no others; their order is free. */
static void check_those_beside(bool motion) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
    const csrec_setting still[] = {{"vote", 0}, {"motion", 0}};
    csrec_recover_options o = options_beside(model, false);
    if (!motion) use_settings(&o.solve, 2, still);
    guided d;
    draw_sequence(0.4, &d);
    const double *before = recover(&d.m, &o, NULL);
    OWNED int64_t *order = check_order(&seed, d.m.n);
    csrec_measurement m = room_for_samples(d.m.shape, 1, d.m.n);
    const int64_t changed = check_below(&seed, T);
    m.sequence = true;
    m.guides = d.m.guides;
    m.n = d.m.n;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < m.n; i++) {
            m.index[i] = d.m.index[order[i]];
            m.y[i] = d.m.y[order[i]];
            if (pass == 1 && m.index[i] / AREA == changed) m.y[i] += 10.0 * check_uniform(&seed);
        }
        const double *now = recover(&m, &o, NULL);
        for (int64_t t = 0; t < T; t++) {
            const bool far = pass == 0 || t > changed + 1 || t < changed - 1;
            const bool same = !memcmp(before + t * AREA, now + t * AREA, AREA * sizeof *now);
            assert_true(same == far || (motion && !far && t != changed));
        }
    }
}

TEST(frames_depend_on_those_beside_them) {
    check_those_beside(true);
    check_those_beside(false);
}

TEST(wrong_frames_are_refused) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
    csrec_recover_options o = options_beside(model, false);
    ENDS_BY(end_sequence) csrec_sequence *sequence;
    o.labels = true;
    assert_refused(csrec_sequence_create(&o, &sequence, &told), CSREC_ARGUMENT, "labels");
    o.labels = false;
    o.journal = "a";
    assert_refused(csrec_sequence_create(&o, &sequence, &told), CSREC_ARGUMENT, "journal");
    o.journal = NULL;
    assert_well(csrec_sequence_create(&o, &sequence, &told));
    guided d;
    csrec_guides guides;
    draw_sequence(0.3, &d);
    const csrec_measurement fine = frame_of(&d, 0, &guides);
    csrec_measurement wrong = fine;
    wrong.shape = (csrec_shape){1, {AREA}};
#define REFUSED(frame, status, words)                                                              \
    assert_refused(csrec_sequence_push(sequence, frame, &told), status, words)
    REFUSED(&d.m, CSREC_DATA, "has 3 axes");
    REFUSED(&wrong, CSREC_DATA, "has 1 axes");
    assert_int_equal(csrec_sequence_delay(sequence), 0);
    assert_well(csrec_sequence_push(sequence, &fine, &told));
    wrong.shape = (csrec_shape){2, {H + 1, W}};
    wrong.guides = NULL;
    REFUSED(&wrong, CSREC_DATA, "is 25 x 27 with 1 channels, frames before it 24 x 27 with 1");
    assert_false(csrec_sequence_ready(sequence));
    assert_well(csrec_sequence_push(sequence, &fine, &told));
    assert_true(csrec_sequence_ready(sequence));
    REFUSED(&fine, CSREC_ARGUMENT, "take it first");
    assert_well(csrec_sequence_take(sequence, (double[AREA]){0}, NULL, NULL, &told));
    csrec_sequence_end(sequence);
    REFUSED(&fine, CSREC_ARGUMENT, "has ended");
    assert_well(csrec_sequence_take(sequence, (double[AREA]){0}, NULL, NULL, &told));
}
