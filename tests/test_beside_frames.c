/* SPDX-License-Identifier: BSD-3-Clause */
/* test_beside_frames.c - frames one after another: their expected errors. */
#include "prior_model.h"

enum { T = 6, SIDE = 48, AREA = SIDE * SIDE };

typedef struct film {
    csrec_measurement frame[T]; /* not to be cleared */
    double *truth;              /* [T][AREA] */
} film;

/* A wave, and a disc before it, that move; a part is known, and has noise. */
static film draw_film(double rate, double sigma) {
    const double step[2] = {2.0 * check_uniform(&seed) - 1.0, 2.0 * check_uniform(&seed) - 1.0};
    const double pitch = 0.1 + 0.3 * check_uniform(&seed), tone = 60.0 * check_normal(&seed);
    film f = {.truth = check_room(T * AREA)};
    for (int t = 0; t < T; t++) {
        csrec_measurement *m = &f.frame[t];
        *m = room_for_samples((csrec_shape){2, {SIDE, SIDE}}, 1, AREA);
        m->sigma = sigma;
        for (int64_t i = 0; i < AREA; i++) {
            const double y = (double)(i / SIDE) - step[0] * t, x = (double)(i % SIDE) - step[1] * t;
            const bool disc = hypot(y - 24.0, x - 22.0 - t) < 11.0;
            f.truth[t * AREA + i] = 100.0 + 40.0 * sin(pitch * (x + 0.6 * y)) + (disc ? tone : 0.0);
            if (check_uniform(&seed) >= rate) continue;
            m->index[m->n] = i;
            m->y[m->n++] = f.truth[t * AREA + i] + sigma * check_normal(&seed);
        }
    }
    return f;
}

static csrec_recover_options options_of(const csrec_model *model, bool votes) {
    static const csrec_setting sets[] = {{"vote", 0}, {"vote", 1}};
    csrec_recover_options o = options_on_cpu("beside", model);
    o.range[0] = -INFINITY;
    o.range[1] = INFINITY;
    use_settings(&o.solve, 1, sets + votes);
    return o;
}

/* Both [T][AREA]. */
static void recover(const film *f, const csrec_recover_options *o, double *signal, double *map) {
    ENDS_BY(end_sequence) csrec_sequence *sequence;
    assert_well(csrec_sequence_create(o, &sequence, &told));
    for (int t = 0, taken = 0; t < T; t++) {
        assert_well(csrec_sequence_push(sequence, &f->frame[t], &told));
        if (t == T - 1) csrec_sequence_end(sequence);
        for (; csrec_sequence_ready(sequence); taken++)
            assert_well(csrec_sequence_take(sequence, signal + taken * AREA, map + taken * AREA,
                                            NULL, &told));
    }
}

/* Root mean square of error by expected error where there is no sample. */
static double calibration(const film *f, const double *signal, const double *map) {
    double sum = 0.0, count = 0.0;
    for (int t = 0; t < T; t++) {
        bool known[AREA] = {false};
        for (int64_t i = 0; i < f->frame[t].n; i++) known[f->frame[t].index[i]] = true;
        for (int64_t i = 0, at = t * AREA; i < AREA; i++, at++) {
            if (known[i]) continue;
            assert_true(map[at] > 0.0 && isfinite(map[at]));
            sum += pow((signal[at] - f->truth[at]) / map[at], 2.0);
            count += 1.0;
        }
    }
    return sqrt(sum / count);
}

/* Whatever the network expects; without the vote it is far from that. A frame that is known
 * everywhere has no errors. */
TEST(errors_are_scaled_by_samples_left_out) {
    enum { ROUNDS = 25 };
    double *signal = check_room(T * AREA), *map = check_room(T * AREA), found[2][ROUNDS];
    skip_sanitized();
    for (int round = 0; round < ROUNDS; round++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(1 + round % 3 * 2, 0, 0.05);
        const film f = draw_film(0.3, round % 2 ? 4.0 : 0.0);
        for (int votes = 0; votes < 2; votes++) {
            const csrec_recover_options o = options_of(model, votes);
            recover(&f, &o, signal, map);
            found[votes][round] = calibration(&f, signal, map);
        }
    }
    for (int votes = 0; votes < 2; votes++)
        qsort(found[votes], ROUNDS, sizeof(double), check_ascend_reals);
    const double unscaled = found[0][ROUNDS / 2], scaled = found[1][ROUNDS / 2];
    if (!(scaled > 0.7 && scaled < 1.4)) fail_msg("errors are %g of those expected", scaled);
    if (unscaled > 0.7 && unscaled < 1.4) fail_msg("and %g unscaled", unscaled);
}

/* The network's own, to a power, by one factor until the next vote. */
TEST(a_scale_serves_two_frames) {
    const csrec_setting sets[][2] = {{{"vote", 0}, {"motion", 0}}, {{"vote", 1}, {"motion", 0}}};
    double *signal = check_room(T * AREA), *own = check_room(T * AREA), *map = check_room(T * AREA);
    for (int round = 0; round < 4; round++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(3, 0, 0.05);
        film f = draw_film(0.3, round % 2 ? 4.0 : 0.0);
        const int whole = 1 + (int)check_below(&seed, T - 1);
        f.frame[whole].sigma = 0.0;
        for (int64_t i = 0; i < AREA; i++) {
            f.frame[whole].index[i] = i;
            f.frame[whole].y[i] = f.truth[whole * AREA + i];
        }
        f.frame[whole].n = AREA;
        csrec_recover_options o = options_of(model, false);
        use_settings(&o.solve, 2, sets[0]);
        recover(&f, &o, signal, own);
        use_settings(&o.solve, 2, sets[1]);
        recover(&f, &o, signal, map);
        double factor[T] = {0.0};
        for (int64_t i = 0; i < T * AREA; i++) {
            const int64_t votes = i / AREA / 2;
            if (i / AREA == whole) assert_true(map[i] == 0.0);
            if (own[i] == 0.0 || (2 * votes == whole)) continue;
            const double here = map[i] / pow(own[i], 0.75);
            if (factor[votes] == 0.0) factor[votes] = here;
            if (!(fabs(here - factor[votes]) <= 1e-9 * here))
                fail_msg("%g and %g in frame %d", here, factor[votes], (int)(i / AREA));
        }
    }
}

static void check_unknown(const csrec_recover_report *report, const double *signal,
                          const double *map, bool lost) {
    for (int64_t i = 0; i < AREA; i++) {
        assert_true(lost ? isnan(signal[i]) : isfinite(signal[i]));
        assert_true(lost ? isnan(map[i]) : isfinite(map[i]));
    }
    if (lost)
        assert_non_null(strstr(report->remark, "no samples"));
    else
        assert_null(report->remark);
}

/* A frame that has none, and neither the others of its window, is unknown; all others have the
 * values of the stack. */
TEST(frames_without_samples_are_recovered_from_others) {
    enum { REACH = 1 };
    for (int round = 0; round < 6; round++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(2 * REACH + 1, 0, 0.05);
        film f = draw_film(0.3, round % 2 ? 4.0 : 0.0);
        const int from = (int)check_below(&seed, T), n = 1 + (int)check_below(&seed, T - from);
        for (int t = from; t < from + n && n < T; t++)
            f.frame[t] = (csrec_measurement){.shape = f.frame[t].shape, .channels = 1};
        const csrec_recover_options o = options_of(model, round % 3 == 0);
        csrec_measurement stack = room_for_samples((csrec_shape){3, {T, SIDE, SIDE}}, 1, T * AREA);
        stack.sequence = true;
        stack.sigma = round % 2 ? 4.0 : 0.0;
        for (int t = 0; t < T; t++)
            for (int64_t i = 0; i < f.frame[t].n; i++) {
                stack.index[stack.n] = t * AREA + f.frame[t].index[i];
                stack.y[stack.n++] = f.frame[t].y[i];
            }
        double *whole = check_room(T * AREA);
        double *signal = check_room(AREA), *map = check_room(AREA);
        csrec_recover_report report;
        assert_well(csrec_recover(&stack, &o, whole, NULL, &report, &told));
        ENDS_BY(end_sequence) csrec_sequence *sequence;
        assert_well(csrec_sequence_create(&o, &sequence, &told));
        bool any = false;
        for (int t = 0, taken = 0; t < T; t++) {
            assert_well(csrec_sequence_push(sequence, &f.frame[t], &told));
            if (t == T - 1) csrec_sequence_end(sequence);
            for (; csrec_sequence_ready(sequence); taken++) {
                bool lost = n < T;
                for (int k = taken - REACH; k <= taken + REACH; k++)
                    lost = lost && (k < 0 || k >= T || (k >= from && k < from + n));
                any = any || lost;
                csrec_recover_report own;
                assert_well(csrec_sequence_take(sequence, signal, map, &own, &told));
                check_unknown(&own, signal, map, lost);
                for (int64_t i = 0; i < AREA && (from > 0 || !(stack.sigma > 0.0)); i++)
                    assert_true(lost ? isnan(whole[taken * AREA + i])
                                     : signal[i] == whole[taken * AREA + i]);
            }
        }
        assert_true(any == (report.remark != NULL));
    }
}

static csrec_sequence *push_all(const film *f, int frames, const csrec_recover_options *o) {
    csrec_sequence *sequence;
    assert_well(csrec_sequence_create(o, &sequence, &told));
    for (int t = 0; t < frames; t++)
        assert_well(csrec_sequence_push(sequence, &f->frame[t], &told));
    return sequence;
}

/* Of the right half, which changes from frame to frame; the left is still. */
static film draw_half(double rate) {
    film f = draw_film(rate, 0.0);
    for (int t = 0; t < T; t++)
        for (int64_t i = 0; i < f.frame[t].n; i++) {
            const int64_t at = f.frame[t].index[i];
            f.frame[t].y[i] = at % SIDE < SIDE / 2 ? 100.0 : t % 2 ? 180.0 : 20.0;
        }
    return f;
}

static int count_right(const csrec_sampling *next, int64_t count) {
    bool taken[AREA] = {false};
    int right = 0;
    assert_int_equal(next->n, count);
    for (int64_t k = 0; k < count; k++) {
        assert_true(next->index[k] >= 0 && next->index[k] < AREA && !taken[next->index[k]]);
        taken[next->index[k]] = true;
        right += next->index[k] % SIDE >= SIDE / 2;
    }
    return right;
}

/* The deviation of K even places in two halves is at most that of throws of a coin. */
TEST(places_are_where_frames_differ) {
    int right = 0, all = 0;
    for (int round = 0; round < 10; round++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(5, 0, 0.0);
        const csrec_recover_options o = options_of(model, round % 2);
        const film f = draw_half(0.4);
        const int64_t count = 200 + check_below(&seed, 200);
        const csrec_next_options wanted = {.count = count, .seed = (uint64_t)round};
        ENDS_BY(end_sequence) csrec_sequence *sequence = push_all(&f, 3, &o);
        csrec_sampling next = {0}, again = {0};
        assert_well(csrec_sequence_next(sequence, &wanted, &next, &told));
        assert_well(csrec_sequence_next(sequence, &wanted, &again, &told));
        assert_memory_equal(next.index, again.index, (size_t)count * sizeof *next.index);
        right += count_right(&next, count);
        all += (int)count;
        csrec_sampling_clear(&next);
        csrec_sampling_clear(&again);
    }
    if (!(right > 0.5 * all + 4.76 * 0.5 * sqrt(all))) /* 1e-6 */
        fail_msg("%d of %d places are where frames differ", right, all);
}

/* Frames have the same values whether places were asked for, or not. */
TEST(places_change_no_frame) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(5, 0, 0.05);
    const csrec_recover_options o = options_of(model, true);
    const film f = draw_film(0.3, 0.0);
    const csrec_next_options wanted = {.count = 50};
    double *signal = check_room(T * AREA), *map = check_room(T * AREA);
    double *own = check_room(AREA), *own_map = check_room(AREA);
    recover(&f, &o, signal, map);
    ENDS_BY(end_sequence) csrec_sequence *sequence;
    assert_well(csrec_sequence_create(&o, &sequence, &told));
    csrec_sampling next = {0};
    assert_refused(csrec_sequence_next(sequence, &wanted, &next, &told), CSREC_ARGUMENT, "push");
    for (int t = 0, taken = 0; t < T; t++) {
        assert_well(csrec_sequence_push(sequence, &f.frame[t], &told));
        if (t == T - 1) csrec_sequence_end(sequence);
        for (; csrec_sequence_ready(sequence); taken++) {
            assert_well(csrec_sequence_next(sequence, &wanted, &next, &told));
            count_right(&next, 50);
            csrec_sampling_clear(&next);
            assert_well(csrec_sequence_take(sequence, own, own_map, NULL, &told));
            assert_memory_equal(own, signal + taken * AREA, AREA * sizeof *own);
            assert_memory_equal(own_map, map + taken * AREA, AREA * sizeof *own);
        }
    }
    const csrec_next_options many = {.count = AREA + 1};
    assert_refused(csrec_sequence_next(sequence, &many, &next, &told), CSREC_ARGUMENT, "count");
}

/* Without a network the last frame by itself tells. */
TEST(places_need_no_network) {
    static const csrec_setting set = {"network", 0};
    for (int empty = 0; empty < 2; empty++) {
        film f = draw_film(0.3, 0.0);
        csrec_recover_options o = options_of(NULL, true);
        use_settings(&o.solve, 1, &set);
        if (empty) f.frame[0].n = 0;
        const csrec_next_options wanted = {.count = 300, .seed = 5};
        ENDS_BY(end_sequence) csrec_sequence *sequence = push_all(&f, 1, &o);
        CLEARED(csrec_sampling) next = {0};
        assert_well(csrec_sequence_next(sequence, &wanted, &next, &told));
        count_right(&next, 300);
    }
}
