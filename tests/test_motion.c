/* SPDX-License-Identifier: BSD-3-Clause */
/* test_motion.c - motion between pictures, frames with the samples of others carried along it,
 * holes, on scenes whose motion is known. */

#include "method/beside/beside.h"
#include "method/beside/flow.h"
#include "prior_model.h"

enum { WAVES = 12 };

/* A sum of waves from 8 to 60 pixels long. */
typedef struct scene {
    double down[WAVES], right[WAVES], phase[WAVES];
} scene;

static scene draw_scene(void) {
    scene s;
    for (int k = 0; k < WAVES; k++) { /* of all lengths and directions: they tell all motion */
        const double length = 10.0 * pow(6.0, (k + check_uniform(&seed)) / WAVES),
                     turn = 2.4 * k + check_uniform(&seed);
        s.down[k] = 6.283 / length * sin(turn);
        s.right[k] = 6.283 / length * cos(turn);
        s.phase[k] = 6.28 * check_uniform(&seed);
    }
    return s;
}

static double scene_at(const scene *s, double y, double x) {
    double sum = 0.0;
    for (int k = 0; k < WAVES; k++) sum += sin(s->down[k] * y + s->right[k] * x + s->phase[k]);
    return sum;
}

/* What one picture shows at p lies in the other at p + step + grow (p - middle). The mean error of
 * the flow, of windows that lie in both, is small against a pixel. */
TEST(known_motion_is_found) {
    for (int draw = 0; draw < 6; draw++) {
        const scene s = draw_scene();
        const int64_t H = 60 + check_below(&seed, 60), W = 60 + check_below(&seed, 60), n = H * W;
        const double grow = 0.04 * (check_uniform(&seed) - 0.5);
        const double step[2] = {8.0 * check_uniform(&seed) - 4.0, 8.0 * check_uniform(&seed) - 4.0};
        float *from = floats(n), *to = floats(n), *flow = floats(2 * n), *again = floats(2 * n);
        float *work = floats(csrec_flow_work(H, W));
        double missed = 0.0, count = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double y = (double)(i / W), x = (double)(i % W);
            to[i] = (float)scene_at(&s, y, x);
            from[i] = (float)scene_at(&s, y + step[0] + grow * (y - 0.5 * (double)H),
                                      x + step[1] + grow * (x - 0.5 * (double)W));
        }
        csrec_flow_find(H, W, from, to, 1, work, flow);
        csrec_flow_find(H, W, from, to, 3, work, again);
        assert_memory_equal(flow, again, (size_t)(2 * n) * sizeof *flow);
        for (int64_t y = 12; y < H - 12; y++)
            for (int64_t x = 12; x < W - 12; x++) {
                missed +=
                    hypot(flow[y * W + x] - step[0] - grow * ((double)y - 0.5 * (double)H),
                          flow[n + y * W + x] - step[1] - grow * ((double)x - 0.5 * (double)W));
                count += 1.0;
            }

        if (!(missed < 0.25 * count)) fail_msg("%g pixels off", missed / count);
    }
}

TEST(flat_and_small_pictures_do_not_move) {
    static const int64_t extent[][2] = {{1, 1}, {1, 9}, {5, 1}, {3, 2}, {40, 30}, {25, 24}};
    for (size_t k = 0; k < sizeof extent / sizeof *extent; k++) {
        const int64_t n = extent[k][0] * extent[k][1];
        float *flat = floats(n), *flow = floats(2 * n);
        for (int64_t i = 0; i < n; i++) flat[i] = 0.25f;
        csrec_flow_find(extent[k][0], extent[k][1], flat, flat, 2,
                        floats(csrec_flow_work(extent[k][0], extent[k][1])), flow);
        for (int64_t i = 0; i < 2 * n; i++) assert_true(flow[i] == 0.0f);
    }
}

/* Values that are linear in the middles of blocks stay so between them, and the same beyond. */
TEST(between_blocks_values_are_linear) {
    for (int draw = 0; draw < 20; draw++) {
        const int64_t H = 1 + check_below(&seed, 70), W = 1 + check_below(&seed, 70);
        const csrec_blocks b = csrec_blocks_of(1 + check_below(&seed, 20), H, W);
        const double down = check_normal(&seed), right = check_normal(&seed);
        double *value = check_room(b.down * b.across);
        for (int64_t k = 0; k < b.down * b.across; k++)
            value[k] = down * (double)(k / b.across) + right * (double)(k % b.across);
        for (int64_t i = 0; i < H * W; i++) {
            const double side = (double)b.side;
            const double y = ((double)(i / W) + 0.5) / side - 0.5,
                         x = ((double)(i % W) + 0.5) / side - 0.5;
            const double expected = down * fmin(fmax(y, 0.0), (double)(b.down - 1)) +
                                    right * fmin(fmax(x, 0.0), (double)(b.across - 1));
            const double found = csrec_blocks_between(&b, value, i / W, i % W);
            assert_true(fabs(found - expected) <= 1e-12 * (1.0 + fabs(down) + fabs(right)) * 99.0);
            assert_int_equal(csrec_blocks_at(&b, i / W, i % W),
                             i / W / b.side * b.across + i % W / b.side);
        }
    }
}

enum { T = 7, SIDE = 96, AREA = SIDE * SIDE };

/* Frames of one scene that moves by `step`, or of scenes of their own; truth: [T][AREA]. */
static csrec_measurement draw_frames(const double *step, double rate, double *truth) {
    scene s = draw_scene();
    csrec_measurement m = room_for_samples((csrec_shape){3, {T, SIDE, SIDE}}, 1, T * AREA);
    m.sequence = true;
    for (int64_t i = 0; i < T * AREA; i++) {
        const double t = (double)(i / AREA);
        if (!step && i % AREA == 0) s = draw_scene();
        truth[i] = scene_at(&s, (double)(i % AREA / SIDE) + (step ? t * step[0] : 0.0),
                            (double)(i % SIDE) + (step ? t * step[1] : 0.0));
        if (check_uniform(&seed) >= rate) continue;
        m.index[m.n] = i;
        m.y[m.n++] = truth[i];
    }
    return m;
}

static double squares_missed(const csrec_measurement *m, const double *truth, double motion) {
    const csrec_setting sets[] = {{"network", 0}, {"motion", motion}};
    csrec_recover_options o = options_on_cpu("beside", NULL);
    double *signal = check_room(T * AREA), sum = 0.0;
    use_settings(&o.solve, 2, sets);
    assert_well(csrec_recover(m, &o, signal, NULL, NULL, &told));
    for (int64_t i = 0; i < T * AREA; i++) sum += pow(signal[i] - truth[i], 2.0);
    return sum;
}

/* Where frames show one scene, their samples count as if it stood still; where they do not, they
 * are not mixed. */
TEST(samples_of_other_frames_are_carried) {
    double moving[2] = {0.0, 0.0}, apart[2] = {0.0, 0.0};
    for (int draw = 0; draw < 6; draw++) {
        const double step[2] = {4.0 * check_uniform(&seed) - 2.0, 4.0 * check_uniform(&seed) - 2.0};
        if (SANITIZED && draw % 4) continue;
        double *truth = check_room(T * AREA), *sums = draw < 4 ? moving : apart;
        const csrec_measurement m = draw_frames(draw < 4 ? step : NULL, 0.2, truth);
        for (int k = 0; k < 2; k++) sums[k] += squares_missed(&m, truth, k);
    }
    if (!(moving[1] < 0.8 * moving[0] && apart[1] < 1.1 * apart[0]))
        fail_msg("%g and %g of the squared errors are left", moving[1] / moving[0],
                 apart[1] / apart[0]);
}

/* What few samples make by themselves tells nothing of motion and brightness: with them the
 * frame errs as without, up to what they draw the network to around them, and so do the others. */
TEST(a_frame_with_few_samples_is_one_without) {
    static const int64_t few[] = {0, 1, 5, 20, 100};
    const double step[2] = {0.0, 2.0};
    double *truth = check_room(T * AREA), *signal = check_room(T * AREA);
    const csrec_measurement all = draw_frames(step, 0.3, truth);
    for (int network = 0; network < (SANITIZED ? 1 : 2); network++) {
        const csrec_setting set = {"network", network};
        csrec_recover_options o = options_on_cpu("beside", NULL);
        double missed[2][5] = {{0.0}};
        use_settings(&o.solve, 1, &set);
        for (int k = 0; k < 5; k++) {
            csrec_measurement m = room_for_samples(all.shape, 1, all.n);
            m.sequence = true;
            for (int64_t i = 0, of_3 = 0; i < all.n; i++) {
                if (all.index[i] / AREA == 3 && (of_3++ % 25 || of_3 / 25 >= few[k])) continue;
                m.index[m.n] = all.index[i];
                m.y[m.n++] = all.y[i];
            }
            assert_well(csrec_recover(&m, &o, signal, NULL, NULL, &told));
            for (int64_t i = 0; i < T * AREA; i++)
                missed[i / AREA != 3][k] += pow(signal[i] - truth[i], 2.0);
            for (int part = 0; part < 2; part++)
                if (!(missed[part][k] < 1.5 * missed[part][0]))
                    fail_msg("%lld samples: %g squares, without %g", (long long)few[k],
                             missed[part][k], missed[part][0]);
        }
    }
}

/* Frames of other exposure, and haze, tell as much as if they had none. */
TEST(other_frames_may_be_brighter) {
    double plain = 0.0, lit = 0.0;
    skip_sanitized();
    double *truth = check_room(T * AREA), *signal = check_room(T * AREA);
    const csrec_setting set = {"network", 0};
    for (int draw = 0; draw < 4; draw++) {
        const double step[2] = {2.0 * check_uniform(&seed) - 1.0, 2.0 * check_uniform(&seed) - 1.0};
        csrec_measurement m = draw_frames(step, 0.2, truth);
        double gain[T], haze[T];
        plain += squares_missed(&m, truth, 1);
        for (int t = 0; t < T; t++) gain[t] = exp(check_normal(&seed));
        for (int t = 0; t < T; t++) haze[t] = 50.0 * gain[t] * check_normal(&seed);
        for (int64_t i = 0; i < m.n; i++)
            m.y[i] = gain[m.index[i] / AREA] * m.y[i] + haze[m.index[i] / AREA];
        csrec_recover_options o = options_on_cpu("beside", NULL);
        o.range[0] = -INFINITY;
        o.range[1] = INFINITY;
        use_settings(&o.solve, 1, &set);
        assert_well(csrec_recover(&m, &o, signal, NULL, NULL, &told));
        for (int64_t i = 0; i < T * AREA; i++) {
            const double back = (signal[i] - haze[i / AREA]) / gain[i / AREA];
            lit += pow(back - truth[i], 2.0);
        }
    }
    if (!(lit < 1.15 * plain)) fail_msg("%g times the squared errors", lit / plain);
}

/* A peak of the last frame is thought to be where it is, and a step further on. */
TEST(what_moves_goes_on) {
    csrec_film f = {.height = 40, .width = 50, .channels = 3, .reach = 2, .moves = true};
    double *plane = check_keep_zeros(2000, sizeof *plane), *work = check_room(2000);
    csrec_motion_create(&f);
    const int64_t half = f.motion.height * f.motion.width;
    for (int64_t i = 0; i < 2 * half; i++) f.motion.flow[3][i] = i < half ? -2.0f : 3.0f;
    plane[20 * 50 + 25] = 7.0;
    csrec_film_ahead(&f, 4, plane, work); /* frame 4 is not followed */
    assert_true(plane[16 * 50 + 31] == 0.0);
    f.motion.of = 4;
    f.frame[3].carried = true;
    csrec_film_ahead(&f, 4, plane, work);
    for (int64_t i = 0; i < 2000; i++)
        assert_true(plane[i] == (i == 20 * 50 + 25 || i == 16 * 50 + 31 ? 7.0 : 0.0));
    csrec_pool_clear(&f.pool);
}

/* A frame with samples at random, and none in a rectangle. */
static csrec_measurement draw_hole(double rate, const int64_t *box) {
    csrec_measurement m = room_for_samples((csrec_shape){2, {SIDE, SIDE}}, 1, AREA);
    for (int64_t i = 0; i < AREA; i++) {
        const int64_t y = i / SIDE, x = i % SIDE;
        const bool inside = y >= box[0] && y < box[1] && x >= box[2] && x < box[3];
        if (!inside && check_uniform(&seed) < rate) m.index[m.n++] = i;
    }
    return m;
}

/* Blocks are empty in a hole alone: of 16 samples and more in each none are missed by chance but
 * with e^-16. */
TEST(holes_are_found) {
    for (int round = 0; round < 10; round++) {
        const int64_t top = check_below(&seed, 48), left = check_below(&seed, 48);
        const int64_t box[4] = {top, top + 48, left, left + 48};
        const csrec_measurement m = draw_hole(round % 2 ? 1.0 : 0.3, box);
        CLEARED(csrec_pool) pool = {0};
        csrec_holes h;
        csrec_holes_create(SIDE, SIDE, &h, &pool);
        csrec_holes_find(&m, &h);
        assert_true(h.n > 0);
        for (int64_t i = 0; i < AREA; i++) {
            const int64_t y = i / SIDE, x = i % SIDE, s = 2 * h.blocks.side;
            const bool deep =
                y >= top + s && y < top + 48 - s && x >= left + s && x < left + 48 - s;
            const bool out = y < top - s || y >= top + 48 + s || x < left - s || x >= left + 48 + s;
            if (deep) assert_true(csrec_holes_at(&h, y, x) == 1.0);
            if (out) assert_true(csrec_holes_at(&h, y, x) == 0.0);
        }
    }
}

/* What a hole hides in one frame is seen in the others: the vote does not take a frame by itself
 * for it there, because it is good elsewhere. */
TEST(holes_are_filled_by_other_frames) {
    double *truth = check_room(T * AREA), *signal = check_room(T * AREA), missed = 0.0, all = 0.0;
    const double still[2] = {0.0, 0.0};
    csrec_measurement m = draw_frames(still, 0.8, truth);
    int64_t kept = 0;
    for (int64_t i = 0; i < m.n; i++) {
        const int64_t t = m.index[i] / AREA, x = m.index[i] % SIDE - 12 * t;
        if (x >= 0 && x < 30) continue;
        m.index[kept] = m.index[i];
        m.y[kept++] = m.y[i];
    }
    m.n = kept;
    const csrec_setting sets[] = {{"network", 0}};
    csrec_recover_options o = options_on_cpu("beside", NULL);
    use_settings(&o.solve, 1, sets);
    assert_well(csrec_recover(&m, &o, signal, NULL, NULL, &told));
    for (int64_t i = 0; i < T * AREA; i++) {
        const int64_t x = i % SIDE - 12 * (i / AREA);
        if (x < 0 || x >= 30) continue;
        missed += pow(signal[i] - truth[i], 2.0);
        all += truth[i] * truth[i];
    }
    if (!(missed < 0.05 * all)) fail_msg("%g of the squares are missed", missed / all);
}

/* A frame without others is what csrec_recover makes of it, its hole included. */
TEST(a_frame_by_itself_is_a_picture) {
    double *film = check_room(AREA), *alone = check_room(AREA);
    const int64_t box[4] = {20, 66, 30, 70};
    const scene s = draw_scene();
    csrec_measurement m = draw_hole(0.3, box);
    for (int64_t i = 0; i < m.n; i++)
        m.y[i] = scene_at(&s, (double)(m.index[i] / SIDE), (double)(m.index[i] % SIDE));
    csrec_recover_options o;
    csrec_recover_preset(0, &m, &o);
    o.backend = "cpu";
    assert_well(csrec_recover(&m, &o, alone, NULL, NULL, &told));
    m.shape = (csrec_shape){3, {1, SIDE, SIDE}};
    m.sequence = true;
    csrec_recover_preset(0, &m, &o);
    o.backend = "cpu";
    assert_string_equal(o.method, "beside");
    assert_well(csrec_recover(&m, &o, film, NULL, NULL, &told));
    for (int64_t i = 0; i < AREA; i++) assert_true(fabs(film[i] - alone[i]) <= 1e-9 * 255.0);
}

/* Equal samples make an equal film. */
TEST(equal_samples_stay) {
    double *truth = check_room(T * AREA), *signal = check_room(T * AREA);
    csrec_measurement m = draw_frames(NULL, 0.3, truth);
    const double values[] = {0.0, 100.0 * check_normal(&seed), 1e-20};
    for (int k = 0; k < 6; k++) {
        const csrec_setting set = {"network", k / 3};
        csrec_recover_options o = options_on_cpu("beside", NULL);
        for (int64_t i = 0; i < m.n; i++) m.y[i] = values[k % 3];
        use_settings(&o.solve, 1, &set);
        assert_well(csrec_recover(&m, &o, signal, NULL, NULL, &told));
        for (int64_t i = 0; i < T * AREA; i++) assert_true(signal[i] == values[k % 3]);
    }
}

/* Without a network, too, what no frame around tells is NaN, and the others are recovered. */
TEST(frames_far_from_samples_are_unknown) {
    double *truth = check_room(T * AREA), *signal = check_room(T * AREA);
    csrec_measurement m = draw_frames(NULL, 0.3, truth);
    const csrec_setting set = {"network", 0};
    csrec_recover_options o = options_on_cpu("beside", NULL);
    int64_t first = 0;
    while (m.index[first] / AREA < T - 1) first++;
    m.n -= first;
    memmove(m.index, m.index + first, (size_t)m.n * sizeof *m.index);
    memmove(m.y, m.y + first, (size_t)m.n * sizeof *m.y);
    use_settings(&o.solve, 1, &set);
    assert_well(csrec_recover(&m, &o, signal, NULL, NULL, &told));
    for (int64_t i = 0; i < T * AREA; i++) assert_true(isnan(signal[i]) == (i / AREA < T - 4));
}
