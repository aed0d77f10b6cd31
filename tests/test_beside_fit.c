/* SPDX-License-Identifier: BSD-3-Clause */
/* test_beside_fit.c - the network of method beside fitted further to the samples. */
#include "method/beside/beside.h"
#include "prior_model.h"

enum { SIDE = 40, AREA = SIDE * SIDE, FRAMES = 5 };

/* Samples of a picture, or of frames of it, and guides; until the test's end. */
typedef struct drawn {
    csrec_measurement m;
    csrec_guides guides;
    double *truth;
    int64_t entries;
} drawn;

static void show(drawn *d, int64_t frames, double rate) {
    OWNED int64_t *order = check_order(&seed, d->entries);
    const csrec_shape picture = {2, {SIDE, SIDE}}, film = {3, {frames, SIDE, SIDE}};
    d->m = room_for_samples(frames ? film : picture, 1, d->entries);
    d->m.sequence = frames > 0;
    d->m.n = (int64_t)(rate * (double)d->entries);
    d->m.scale[1] = 255.0;
    memcpy(d->m.index, order, (size_t)d->m.n * sizeof *order);
    for (int64_t i = 0; i < d->m.n; i++) d->m.y[i] = d->truth[order[i]];
}

/* Sums of the first guide at the four pixels beside one, which look alike flipped and turned: of
 * what is at a pixel no guide there tells anything. */
static void draw_odd(drawn *d) {
    *d = (drawn){.guides = {.n = 2, .values = floats(2 * AREA)}, .truth = check_room(AREA)};
    d->entries = AREA;
    for (int64_t i = 0; i < 2 * AREA; i++) d->guides.values[i] = (float)check_normal(&seed);
    for (int64_t i = 0; i < AREA; i++) {
        const int64_t beside[4] = {i + 1, i + AREA - 1, i + SIDE, i + AREA - SIDE};
        d->truth[i] = 120.0;
        for (int k = 0; k < 4; k++)
            d->truth[i] += 25.0 * (double)d->guides.values[beside[k] % AREA];
    }
    show(d, 0, 0.5);
    d->m.guides = &d->guides;
}

/* A texture of random numbers, the same in every frame. */
static void draw_still(drawn *d) {
    *d = (drawn){.truth = check_room(FRAMES * AREA), .entries = FRAMES * AREA};
    for (int64_t i = 0; i < FRAMES * AREA; i++)
        d->truth[i] = i < AREA ? 120.0 + 50.0 * check_normal(&seed) : d->truth[i - AREA];
    show(d, FRAMES, 0.5);
}

static csrec_measurement frame_of(const drawn *d, int64_t t) {
    csrec_measurement m = room_for_samples((csrec_shape){2, {SIDE, SIDE}}, 1, AREA);
    m.scale[1] = 255.0;
    for (int64_t i = 0; i < d->m.n; i++)
        if (d->m.index[i] / AREA == t) {
            m.index[m.n] = d->m.index[i] % AREA;
            m.y[m.n++] = d->m.y[i];
        }
    return m;
}

static double *recover(const drawn *d, const csrec_model *model, double steps, bool votes,
                       int threads, csrec_recover_report *report) {
    const csrec_setting sets[] = {{"steps", steps}, {"vote", votes}};
    csrec_recover_options o = options_on_cpu("beside", model);
    o.threads = threads;
    o.range[0] = -INFINITY;
    o.range[1] = INFINITY;
    use_settings(&o.solve, steps < 0.0 ? 0 : 2, sets);
    double *signal = check_room(d->entries);
    assert_well(csrec_recover(&d->m, &o, signal, NULL, report, &told));
    for (int64_t i = 0; i < d->entries; i++) assert_true(isfinite(signal[i]));
    return signal;
}

static csrec_model *fresh(int frames, int guides, int64_t width) {
    const design d = design_of(0, frames, guides, width);
    return model_of(&d, 0.0, &seed);
}

enum { T = 3, G = 2, H = 30, W = 37, ALL = H * W };

/* A window of random values, some of which are known, and a part of it; of the middle frame of the
 * part fewer are known. One of the others may be missing. */
static void draw_window(const csrec_turn *t, csrec_beside_window *whole, csrec_beside_window *cut) {
    const csrec_turn as_is = {0, W, t->top, t->left, t->rows, t->columns};
    const int64_t n = t->rows * t->columns, none = 1 - check_below(&seed, 3);
    float *guide = floats(G * ALL), *own = floats(G * n);
    *whole = (csrec_beside_window){.frames = T, .guides = G, .tone = 1.0f, .threads = 1};
    *cut = *whole;
    whole->guide = guide;
    cut->guide = own;
    for (int64_t i = 0; i < G * ALL; i++) guide[i] = (float)check_normal(&seed);
    for (int k = 0; k < T; k++) {
        float *values = floats(ALL), *part = floats(n);
        uint8_t *known = draw_known(ALL, 0.4), *shown = check_keep((size_t)n);
        for (int64_t i = 0; i < ALL; i++) values[i] = 50.0f + 20.0f * (float)check_normal(&seed);
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = csrec_turn_source(&as_is, i / t->columns, i % t->columns);
            part[i] = values[from];
            shown[i] = known[from] && (k != T / 2 || check_uniform(&seed) < 0.7);
            for (int g = 0; g < G; g++) own[g * n + i] = guide[g * ALL + from];
        }
        if (k != T / 2 && k == T / 2 + none) continue;
        whole->values[k] = values, whole->known[k] = known;
        cut->values[k] = part, cut->known[k] = shown;
    }
}

/* The planes and the target of the part of a window are those of the small one, turned. */
static void check_part(const csrec_turn *t, const csrec_beside *large, csrec_beside *small) {
    const csrec_turn whole = {t->turn, t->columns, 0, 0, t->rows, t->columns};
    const int64_t n = t->rows * t->columns, rows = csrec_turned_rows(t),
                  columns = csrec_turned_columns(t);
    csrec_beside_window w, cut;
    draw_window(t, &w, &cut);
    uint8_t *shown = check_keep((size_t)n);
    for (int64_t i = 0; i < n; i++)
        shown[i] = cut.known[T / 2][csrec_turn_source(&whole, i / columns, i % columns)];
    csrec_beside_look(small, &cut);
    const csrec_beside_part part = {large, &w};
    const csrec_fit_source source = csrec_beside_source(&part, w.known[T / 2]);
    const int64_t high = csrec_prior_padded(rows, large->multiple),
                  wide = csrec_prior_padded(columns, large->multiple);
    float *X = floats(source.takes * high * wide), *target = floats(high * wide);
    source.make(source.of, t, shown, 0, floats(source.room(source.of, t->rows, t->columns)), X,
                target);
    assert_int_equal(source.takes, 3 * T + 2 + G);
    assert_int_equal(source.first, source.takes - 1);
    for (int64_t i = 0; i < source.takes * high * wide; i++) {
        const int64_t plane = i / (high * wide), y = i / wide % high, x = i % wide;
        const int64_t r = csrec_prior_reflect(y, rows), c = csrec_prior_reflect(x, columns);
        const int64_t from = csrec_turn_source(&whole, r, c);
        assert_true(X[i] == small->planes[plane * n + from]);
        if (plane > 0 || r != y || c != x) continue;
        const double z = ((double)cut.values[T / 2][from] - small->mean) / small->unit;
        assert_true(fabs((double)target[i] - z) <= 1e-6 * fabs(z));
    }
}

/* Flipped and turned. */
TEST(parts_are_small_pictures) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(T, G, 0.05);
    const csrec_net_options options = {.threads = 1};
    ENDS_BY(csrec_context_destroy) csrec_context context;
    assert_well(csrec_context_create("cpu", &context, &told));
    for (int turn = 0; turn < 8; turn++) {
        const csrec_turn t = {turn,
                              W,
                              check_below(&seed, 5),
                              check_below(&seed, 5),
                              17 + check_below(&seed, 8),
                              19 + check_below(&seed, 8)};
        csrec_beside large, small;
        assert_well(csrec_beside_create(&(csrec_prior_from){.model = model}, true, 0, &context,
                                        &options, H, W, &large, &told));
        assert_well(csrec_beside_create(&(csrec_prior_from){.model = model}, true, 0, &context,
                                        &options, t.rows, t.columns, &small, &told));
        check_part(&t, &large, &small);
        csrec_beside_clear(&large);
        csrec_beside_clear(&small);
    }
}

/* The weights after the fit to the second of three frames. */
static float *weights_after(const drawn *d, const csrec_model *model, bool votes, int64_t *count) {
    const csrec_setting sets[] = {{"steps", 32}, {"vote", votes}, {"motion", 0}};
    csrec_recover_options o = options_by("beside");
    csrec_recovery r = {.measurement = &d->m, .options = &o, .unit = 1.0};
    csrec_context context;
    csrec_film film;
    o.model = model;
    use_settings(&o.solve, 3, sets);
    assert_well(csrec_context_create("cpu", &context, &told));
    r.context = &context;
    assert_well(csrec_film_create(&r, false, &film, &told));
    film.votes = votes; /* also where no prior of single pictures is installed */
    for (int64_t t = 0; t < 3; t++) {
        const csrec_measurement frame = frame_of(d, t);
        csrec_film_push(&film, &frame, false);
    }
    film.ended = film.fits = true;
    assert_well(csrec_film_recover(&film, 1, check_room(AREA), NULL, NULL, &told));
    assert_int_equal(film.fitted, 4);
    csrec_net_info(film.net.net, count, NULL, NULL);
    float *weights = floats(*count);
    assert_well(csrec_net_weights(film.net.net, false, weights, &told));
    csrec_film_clear(&film);
    csrec_context_destroy(&context);
    return weights;
}

/* No weight depends on samples that the vote leaves out, or all do where there is no vote. Motion
 * is by all samples, and moves those of other frames that are beside. */
TEST(the_vote_is_by_samples_that_nothing_was_fitted_to) {
    ENDS_BY(end_model) csrec_model *model = fresh(3, 0, 4);
    for (int votes = 0; votes < 2; votes++) {
        drawn d;
        int64_t count, moved = 0;
        draw_still(&d);
        const csrec_recover_options o = options_by("beside");
        const csrec_film f = {.r = {.options = &o}, .height = SIDE, .width = SIDE};
        const float *before = weights_after(&d, model, votes, &count);
        for (int64_t i = 0, last = -1; i < d.m.n; i++) { /* exchanged: their range stays */
            const int64_t t = d.m.index[i] / AREA;
            if (t != 1 || !csrec_film_left_out(&f, t, d.m.index[i] % AREA)) continue;
            if (last >= 0) {
                const double y = d.m.y[i];
                d.m.y[i] = d.m.y[last];
                d.m.y[last] = y;
            }
            last = i;
            moved++;
        }
        assert_true(moved > 0.05 * AREA * 0.5 && moved < 0.3 * AREA * 0.5);
        const float *after = weights_after(&d, model, votes, &count);
        const bool same = !memcmp(before, after, (size_t)count * sizeof *after);
        assert_true(same == (votes == 1));
    }
}

TEST(without_steps_nothing_is_fitted) {
    for (int frames = 0; frames < 2; frames++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
        drawn d;
        csrec_recover_report report;
        (frames ? draw_still : draw_odd)(&d);
        const double *plain = recover(&d, model, -1.0, true, 2, &report);
        assert_int_equal(report.iterations, 0);
        const double *none = recover(&d, model, 0.0, true, 2, NULL);
        assert_memory_equal(plain, none, (size_t)d.entries * sizeof *plain);
        const double *some = recover(&d, model, 8.0, true, 1, &report);
        assert_int_equal(report.iterations, frames ? FRAMES : 8);
        const double *threads = recover(&d, model, 8.0, true, 3, NULL);
        assert_memory_equal(some, threads, (size_t)d.entries * sizeof *some);
        assert_true(memcmp(some, plain, (size_t)d.entries * sizeof *some) != 0);
    }
}

/* Squares of errors where nothing was known, in the picture or the last frame. */
static double squares_missed(const drawn *d, const double *signal) {
    uint8_t *known = check_keep_zeros((size_t)d->entries, 1);
    double sum = 0.0, n = 0.0;
    for (int64_t i = 0; i < d->m.n; i++) known[d->m.index[i]] = 1;
    for (int64_t i = d->entries - AREA; i < d->entries; i++) {
        if (known[i]) continue;
        sum += pow(signal[i] - d->truth[i], 2.0);
        n += 1.0;
    }
    return sum / n;
}

/* A network that has learned nothing learns what the samples tell: in five draws 0.5 of the
 * squared errors or less were left with guides by 200 steps, and 0.62 with frames. */
TEST(fitting_learns_of_guides_and_frames) {
    skip_sanitized();
    for (int frames = 0; frames < 2; frames++) {
        ENDS_BY(end_model) csrec_model *model = fresh(frames ? 3 : 1, frames ? 0 : 2, 16);
        const double steps = frames ? 8 * 80.0 : 260.0, most = frames ? 0.85 : 0.6;
        drawn d;
        (frames ? draw_still : draw_odd)(&d);
        const double before = squares_missed(&d, recover(&d, model, 0.0, false, 2, NULL));
        const double after = squares_missed(&d, recover(&d, model, steps, false, 2, NULL));
        if (!(after <= most * before)) fail_msg("%g of the squares are left", after / before);
    }
}

/* Frames one after another have the bits of the stack. */
TEST(fitted_frames_are_those_of_the_stack) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
    const csrec_setting sets[] = {{"steps", 16}};
    csrec_recover_options o = options_on_cpu("beside", model);
    ENDS_BY(end_sequence) csrec_sequence *sequence;
    drawn d;
    int64_t taken = 0;
    draw_still(&d);
    use_settings(&o.solve, 1, sets);
    double *stack = check_room(d.entries), signal[AREA];
    assert_well(csrec_recover(&d.m, &o, stack, NULL, NULL, &told));
    assert_well(csrec_sequence_create(&o, &sequence, &told));
    for (int64_t t = 0; t < FRAMES; t++) {
        const csrec_measurement frame = frame_of(&d, t);
        assert_well(csrec_sequence_push(sequence, &frame, &told));
        if (t == FRAMES - 1) csrec_sequence_end(sequence);
        for (; csrec_sequence_ready(sequence); taken++) {
            csrec_recover_report report;
            assert_well(csrec_sequence_take(sequence, signal, NULL, &report, &told));
            assert_int_equal(report.iterations, 2);
            assert_memory_equal(signal, stack + taken * AREA, sizeof signal);
        }
    }
    assert_int_equal(taken, FRAMES);
}

static bool stop_in_fit(const csrec_progress *now, void *context) {
    int64_t *heard = context;
    if (strcmp(now->stage, "fitting the network") == 0) ++*heard;
    return *heard > 3;
}

TEST(a_stop_in_the_fit_leaves_a_result) {
    for (int frames = 0; frames < 2; frames++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
        const csrec_setting sets[] = {{"steps", 1000}};
        csrec_recover_options o = options_on_cpu("beside", model);
        csrec_recover_report report;
        drawn d;
        int64_t heard = 0;
        (frames ? draw_still : draw_odd)(&d);
        o.solve.progress = stop_in_fit;
        o.solve.context = &heard;
        use_settings(&o.solve, 1, sets);
        double *signal = check_room(d.entries);
        assert_well(csrec_recover(&d.m, &o, signal, NULL, &report, &told));
        assert_int_equal(report.outcome, CSREC_INTERRUPTED);
        assert_int_equal(report.iterations, 3);
        for (int64_t i = 0; i < d.entries; i++) assert_true(isfinite(signal[i]));
    }
}

/* Seconds end the fit, of all frames together; where there is none they are refused. */
TEST(seconds_end_the_fit) {
    for (int frames = 0; frames < 2; frames++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(3, 2, 0.05);
        csrec_setting sets[] = {{"steps", 1000}};
        csrec_recover_options o = options_on_cpu("beside", model);
        csrec_recover_report report;
        drawn d;
        (frames ? draw_still : draw_odd)(&d);
        o.seconds = 1e-12;
        use_settings(&o.solve, 1, sets);
        double *signal = check_room(d.entries);
        assert_well(csrec_recover(&d.m, &o, signal, NULL, &report, &told));
        assert_int_equal(report.outcome, CSREC_DONE);
        assert_int_equal(report.iterations, 0);
        o.seconds = 0.0;
        sets[0].value = 0.0;
        double *plain = check_room(d.entries);
        assert_well(csrec_recover(&d.m, &o, plain, NULL, NULL, &told));
        assert_memory_equal(signal, plain, (size_t)d.entries * sizeof *plain);
        o.seconds = 1.0;
        assert_refused(csrec_recover(&d.m, &o, signal, NULL, NULL, &told), CSREC_ARGUMENT, "steps");
    }
}
