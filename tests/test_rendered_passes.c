/* SPDX-License-Identifier: BSD-3-Clause */
/* test_rendered_passes.c - passes of networks of models of kind rendered and radiance from these,
 * against definitions in double, and against the training. */
#include "files/npz/npz.h"
#include "rendered.h"

static double back(double z) {
    return (exp(3.0 * fmin(fmax(z, -0.01), 4.0)) - 1.0) / 20.0;
}

/* tone(radiance / U) of channel k at pixel i, of planes X and what the network makes of them. */
static double tone_by_definition(int64_t n, const float *X, const double *Y, int k, int64_t i) {
    const double w = 1.0 / (1.0 + exp(-Y[6 * n + i]));
    const double lit = ((double)X[(12 + k) * n + i] + 0.04) *
                       back((double)X[(9 + k) * n + i] + Y[(3 + k) * n + i]);
    return tone_of(fmax(0.0, (1.0 - w) * back((double)X[k * n + i] + Y[k * n + i]) + w * lit));
}

/* Adds eight passes, of all channels or of one, to result and squares, and the same by definition
 * to wanted [3][2][n]. */
static void pass_both(csrec_rendered *r, float *result, float *squares, double *wanted) {
    const int64_t n = r->height * r->width;
    for (int turn = 0; turn < 8; turn++) {
        const double *Y =
            apply_to_turned(r->net, TAKES, MAKES, r->height, r->width, r->planes, turn);
        assert_well(csrec_rendered_add(r, turn, 2, NULL, result, squares, &told));
        for (int64_t i = 0; i < 3 * n; i++) {
            const int k = (int)(i / n), to = r->channel < 0 ? k : r->channel;
            const double share = r->channel < 0 ? 1.0 : 1.0 / 3.0;
            wanted[2 * to * n + i % n] += share * tone_by_definition(n, r->planes, Y, k, i % n);
            wanted[(2 * to + 1) * n + i % n] += share * exp(Y[7 * n + i % n]);
        }
    }
}

/* The derivative of s by differences of it. */
static double slope_of(double c) {
    const double step = 1e-5 * (c + 0.002), high = c + step, low = c - step;
    const double far = c < 1.0 ? pow(high + 0.002, 1.0 / 2.2) - pow(low + 0.002, 1.0 / 2.2)
                               : (log(high) - log(low)) / 4.4;
    return far / (2.0 * step);
}

TEST(radiance_equals_its_words) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.06);
    for (int round = 0; round < 6; round++) {
        const int64_t h = 1 + check_below(&seed, 30), w = 9 + check_below(&seed, 30), n = h * w;
        const csrec_rendered_samples s = draw_samples(h, w, 1 + round);
        float *result = floats(3 * n), *squares = floats(3 * n);
        double *wanted = check_keep_zeros((size_t)(6 * n), sizeof *wanted);
        CLEARED(csrec_rendered) r;
        open_rendered(model, h, w, &r);
        for (int k = 0; k < (round % 2 ? 3 : 1); k++) {
            assert_well(csrec_rendered_look(&r, &s, round % 2 ? k : -1, &told));
            pass_both(&r, result, squares, wanted);
        }
        for (int64_t i = 0; i < 3 * n; i++) {
            const double *own = wanted + i / n * 2 * n + i % n;
            expect_near((double)result[i], own[0], 1e-5 * (1.0 + own[0]), "sum", i);
            expect_near((double)squares[i], own[n], 1e-5 * own[n], "square", i);
        }
        csrec_rendered_finish(&r, &s, 8, result, squares);
        for (int64_t i = 0; i < 3 * n; i++) {
            const double *own = wanted + i / n * 2 * n + i % n, unit = r.unit[i / n];
            const double c = back(own[0] / 8.0),
                         error = pow(unit / slope_of(c), 2.0) * own[n] / 8.0;
            const bool exact = rays_at(&s, i % n) >= 256.0;
            expect_near((double)result[i], exact ? (double)s.radiance[i] : unit * c,
                        exact ? 0.0 : 1e-5 * unit * (0.05 + c), "radiance", i);
            expect_near((double)squares[i], exact ? 0.0 : error, exact ? 0.0 : 1e-4 * error,
                        "squared error", i);
        }
    }
}

TEST(a_stopped_pass_is_F) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.06);
    const int64_t h = 1 + check_below(&seed, 30), w = 1 + check_below(&seed, 30), n = h * w;
    const csrec_rendered_samples s = draw_samples(h, w, 7);
    const csrec_progress now = {"pictures", 0, 1, -1.0};
    CLEARED(csrec_rendered) r;
    csrec_call call;
    open_rendered(model, h, w, &r);
    assert_well(csrec_rendered_look(&r, &s, -1, &told));
    csrec_call_begin(&call, stop_by_count, &(int){0}, now);
    assert_true(csrec_call_report(&call, &now));
    for (int turn = 0; turn < 8; turn++) {
        float *result = floats(3 * n), *squares = floats(3 * n), *none = floats(3 * n);
        assert_well(csrec_rendered_add(&r, turn, 2, &call, result, squares, &told));
        assert_memory_equal(result, r.planes, (size_t)(3 * n) * sizeof *result);
        assert_memory_equal(squares, none, (size_t)(3 * n) * sizeof *squares);
    }
    csrec_call_end(&call);
}

static const float *turn_floats(int turn, int64_t count, int64_t h, int64_t w, const float *from) {
    if (!from) return NULL;
    const int64_t entries = count * h * w;
    double *v = check_room(entries);
    float *to = floats(entries);
    for (int64_t i = 0; i < entries; i++) v[i] = (double)from[i];
    turn_all(turn, false, count, &h, &w, v);
    for (int64_t i = 0; i < entries; i++) to[i] = (float)v[i];
    return to;
}

static csrec_rendered_samples turn_samples(const csrec_rendered_samples *s, int turn) {
    const int64_t h = s->height, w = s->width;
    csrec_rendered_samples t = *s;
    if (turn & 4) t.height = w, t.width = h;
    t.radiance = turn_floats(turn, 3, h, w, s->radiance);
    t.rays = turn_floats(turn, 1, h, w, s->rays);
    t.deviation = turn_floats(turn, 3, h, w, s->deviation);
    t.albedo = turn_floats(turn, 3, h, w, s->albedo);
    t.normal = turn_floats(turn, 3, h, w, s->normal);
    t.depth = turn_floats(turn, 1, h, w, s->depth);
    t.aov_rays = turn_floats(turn, 1, h, w, s->aov_rays);
    return t;
}

/* Pyramids of extents that are powers of two are the same from every side. */
TEST(a_turned_pass_is_a_pass_of_turned_samples) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.06);
    for (int turn = 0; turn < 8; turn++) {
        int64_t h = 4 << check_below(&seed, 4), w = 4 << check_below(&seed, 4);
        const int64_t n = h * w;
        const csrec_rendered_samples s = draw_samples(h, w, turn), t = turn_samples(&s, turn);
        float *result[2] = {floats(3 * n), floats(3 * n)};
        double *turned = check_room(3 * n), off = 0.0;
        for (int side = 0; side < 2; side++) {
            CLEARED(csrec_rendered) r;
            const csrec_rendered_samples *own = side ? &t : &s;
            open_rendered(model, own->height, own->width, &r);
            assert_well(csrec_rendered_look(&r, own, -1, &told));
            assert_well(
                csrec_rendered_add(&r, side ? 0 : turn, 2, NULL, result[side], NULL, &told));
            for (int64_t i = 0; i < 3 * n; i++)
                off = fmax(off, fabs((double)result[side][i] - (double)r.planes[i]));
        }
        for (int64_t i = 0; i < 3 * n; i++) turned[i] = (double)result[0][i];
        turn_all(turn, false, 3, &h, &w, turned);
        assert_true(off > 0.01); /* the network did something */
        for (int64_t i = 0; i < 3 * n; i++)
            expect_near((double)result[1][i], turned[i], 1e-4, "turned", i);
    }
}

/* NULL: the archive has no such array. */
static float *read_floats(const csrec_npz *npz, const char *field, csrec_shape *shape) {
    csrec_npz_member member;
    if (!csrec_npz_has(npz, field)) return NULL;
    assert_well(csrec_npz_begin(npz, field, &member, &told));
    float *v = floats(member.header.count);
    if (shape) *shape = member.header.shape;
    assert_well(csrec_npy_values_f32(&member.reader, &member.header, member.name, v, &told));
    assert_well(csrec_npz_end(&member, CSREC_OK, &told));
    return v;
}

/* training/test_rendered.py has written samples, what its network makes of them, and the network.
 * Tones are compared: radiance is unit untone. */
static void compare(const csrec_npz *npz, const csrec_model *model) {
    csrec_shape shape;
    const float *wanted = read_floats(npz, "wanted", &shape);
    const int64_t h = shape.dim[1], w = shape.dim[2], n = h * w;
    const csrec_rendered_samples s = {.height = h,
                                      .width = w,
                                      .radiance = read_floats(npz, "radiance", NULL),
                                      .rays = read_floats(npz, "rays", NULL),
                                      .deviation = read_floats(npz, "deviation", NULL),
                                      .albedo = read_floats(npz, "albedo", NULL),
                                      .normal = read_floats(npz, "normal", NULL),
                                      .depth = read_floats(npz, "depth", NULL),
                                      .aov_rays = read_floats(npz, "aov_rays", NULL),
                                      .threads = 1};
    const int passes = (int)*read_floats(npz, "passes", NULL);
    const bool together = *read_floats(npz, "together", NULL) > 0.0f;
    float *result = floats(3 * n);
    CLEARED(csrec_rendered) r;
    open_rendered(model, h, w, &r);
    for (int k = together ? -1 : 0; k < (together ? 0 : 3); k++) {
        assert_well(csrec_rendered_look(&r, &s, k, &told));
        for (int turn = 0; turn < passes; turn++)
            assert_well(csrec_rendered_add(&r, turn, 1, NULL, result, NULL, &told));
    }
    csrec_rendered_finish(&r, &s, passes, result, NULL);
    double worst = 0.0;
    for (int64_t i = 0; i < 3 * n; i++) {
        const double unit = r.unit[i / n], got = tone_of((double)result[i] / unit);
        worst = fmax(worst, fabs(got - tone_of((double)wanted[i] / unit)));
        expect_near(got, tone_of((double)wanted[i] / unit), 2e-5, "tone", i);
    }
    print_message("farthest tone of %lld x %lld: %.2g\n", (long long)h, (long long)w, worst);
}

TEST(it_computes_what_the_training_does) {
    const char *path = getenv("CSREC_RENDERED");
    if (!path) skip();
    ENDS_BY(end_model) csrec_model *model = NULL;
    csrec_input input;
    csrec_npz npz;
    assert_well(csrec_model_read(check_print("%s/model.npz", path), &model, &told));
    assert_well(csrec_input_open(check_print("%s/samples.npz", path), &input, &told));
    assert_well(csrec_npz_open(&input, &npz, &told));
    compare(&npz, model);
    csrec_npz_close(&npz);
    csrec_input_close(&input);
}
