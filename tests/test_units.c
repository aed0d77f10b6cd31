/* SPDX-License-Identifier: BSD-3-Clause */
/* test_units.c - results do not depend on the units of channels, nor on how far values are from 0;
 * frames of another scene are not used. */
#include "prior_model.h"

enum { SIDE = 40, T = 5, AREA = SIDE * SIDE, C = 3, MOST = 200 };

/* Bumps of a squared size that move a little from frame to frame, the same in all channels up to a
 * factor. */
static void draw_frames(int64_t frames, int bumps, double size, double *truth) {
    double at[MOST][4];
    for (int k = 0; k < bumps; k++)
        for (int s = 0; s < 4; s++) at[k][s] = check_uniform(&seed);
    for (int64_t i = 0; i < frames * AREA * C; i++) {
        const double t = (double)(i / C / AREA), y = (double)(i / C % AREA / SIDE) + 0.6 * t,
                     x = (double)(i / C % SIDE) - 0.4 * t;
        truth[i] = 60.0 + 10.0 * (double)(i % C);
        for (int k = 0; k < bumps; k++)
            truth[i] +=
                70.0 * (at[k][2] - 0.5) * (1.0 + 0.2 * (double)(i % C) * at[k][3]) *
                exp(-(pow(y - SIDE * at[k][0], 2.0) + pow(x - SIDE * at[k][1], 2.0)) / size);
    }
}

/* A share of positions; y = truth times unit[c], plus far. */
static csrec_measurement sample(int64_t frames, const double *truth, double rate,
                                const double unit[C], double far, uint64_t order) {
    const csrec_shape shape =
        frames ? (csrec_shape){3, {frames, SIDE, SIDE}} : (csrec_shape){2, {SIDE, SIDE}};
    csrec_measurement m = room_for_samples(shape, C, entries_in(&shape));
    m.sequence = frames > 0;
    for (int64_t i = 0; i < entries_in(&shape); i++) {
        if (check_uniform(&order) >= rate) continue;
        m.index[m.n] = i;
        for (int c = 0; c < C; c++) m.y[m.n * C + c] = unit[c] * truth[i * C + c] + far;
        m.n++;
    }
    return m;
}

static const double *recover(const csrec_measurement *m, const csrec_recover_options *o) {
    double *signal = check_room(entries_in(&m->shape) * C);
    assert_well(csrec_recover(m, o, signal, NULL, NULL, &told));
    return signal;
}

/* One channel in units of 2^-10 and of 2^-20 of the others: the same to the bit. */
static void check_units(int64_t frames, const csrec_recover_options *o) {
    const int64_t values = (frames ? frames : 1) * AREA * C;
    double *truth = check_room(values);
    const uint64_t order = check_below(&seed, 1 << 30);
    const int other = (int)check_below(&seed, C);
    const double *result[2];
    double off[2] = {0.0}, unit[2][C] = {{1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}};
    draw_frames(frames ? frames : 1, 12, 40.0, truth);
    for (int k = 0; k < 2; k++) {
        unit[k][other] = ldexp(1.0, -10 - 10 * k);
        const csrec_measurement m = sample(frames, truth, 0.3, unit[k], 0.0, order);
        result[k] = recover(&m, o);
    }
    for (int64_t i = 0; i < values; i++) {
        const double one = result[0][i] / unit[0][i % C], two = result[1][i] / unit[1][i % C];
        if (one != two) fail_msg("%s: %.17g and %.17g", o->method, one, two);
        off[i % C == other] += fabs(one - truth[i]) / (i % C == other ? 1.0 : 2.0);
    }
    if (!o->model && !(off[1] < 1.5 * off[0]))
        fail_msg("%s: errors %g and %g", o->method, off[1], off[0]);
}

static csrec_recover_options options_for(const char *method) {
    csrec_recover_options o = options_on_cpu(method, NULL);
    o.curve = CSREC_CURVE_NONE;
    o.range[0] = -INFINITY;
    o.range[1] = INFINITY;
    return o;
}

TEST(units_of_channels_change_nothing) {
    static const char *const methods[] = {"gaussian", "frames", "tv", "smooth"};
    for (int k = 0; k < 4; k++) {
        const csrec_recover_options o = options_for(methods[k]);
        check_units(0, &o);
    }
    ENDS_BY(end_model) csrec_model *model = draw_model(1);
    csrec_recover_options o = options_for("net");
    o.model = model;
    check_units(0, &o);
}

/* Expected errors, and where to measure next. */
TEST(units_of_channels_change_no_expected_error) {
    const csrec_recover_options o = options_for("frames");
    double *truth = check_room(AREA * C), *density[2], *map[2], expected[2];
    const uint64_t order = check_below(&seed, 1 << 30);
    draw_frames(1, 12, 40.0, truth);
    for (int k = 0; k < 2; k++) {
        const double unit[C] = {1.0, ldexp(1.0, -10 - 10 * k), 1.0};
        const csrec_measurement m = sample(0, truth, 0.3, unit, 0.0, order);
        map[k] = check_room(AREA * C);
        density[k] = check_room(AREA);
        assert_well(csrec_uncertainty(&m, &o, recover(&m, &o), map[k], &expected[k], &told));
        assert_well(csrec_uncertainty_density(&m, &o, density[k], &told));
        for (int64_t i = 0; i < AREA * C; i++) map[k][i] /= unit[i % C];
    }
    for (int64_t i = 0; i < AREA * C; i++) assert_true(map[0][i] == map[1][i]);
    assert_true(fabs(expected[0] / expected[1] - 1.0) < 1e-5); /* of which the small has no share */
    for (int64_t i = 0; i < AREA; i++) assert_true(density[0][i] == density[1][i]);
}

TEST(units_of_frames_change_nothing) {
    const csrec_setting without = {"network", 0};
    csrec_recover_options o = options_for("beside");
    use_settings(&o.solve, 1, &without);
    check_units(T, &o);
    ENDS_BY(end_model) csrec_model *model = draw_beside(3, 0, 0.05);
    o = options_for("beside");
    o.model = model;
    check_units(T, &o);
}

/* Values of 1e9 and more, whose range is far smaller, have digits left in solvers that are drawn to
 * 0. */
TEST(values_far_from_0_are_recovered_as_others) {
    static const char *const solvers[] = {"threshold", "fista", "omp"};
    /* of omp one may differ by 1.8, as it picks other columns of the centred values */
    static const int rounds[] = {1, 1, 8};
    const double unit[C] = {1.0, 1.0, 1.0};
    double *truth = check_room(AREA * C);
    for (int k = 0; k < 3; k++) {
        if (sanitized_leaves()) continue;
        csrec_recover_options o = options_for("sparse");
        double off[2] = {0.0, 0.0};
        o.basis = "dct";
        o.solve.solver = solvers[k];
        for (int round = 0; round < rounds[k]; round++) {
            const uint64_t order = check_below(&seed, 1 << 30);
            double mean = 0.0;
            draw_frames(1, 12, 40.0, truth);
            for (int64_t i = 0; i < AREA * C; i++) mean += truth[i] / (AREA * C);
            for (int64_t i = 0; i < AREA * C; i++) truth[i] -= mean;
            for (int far = 0; far < 2; far++) {
                const csrec_measurement m = sample(0, truth, 0.4, unit, 0x1p30 * far, order);
                const double *x = recover(&m, &o);
                for (int64_t i = 0; i < AREA * C; i++)
                    off[far] += fabs(x[i] - 0x1p30 * far - truth[i]);
            }
        }
        if (!(off[1] < 1.5 * off[0])) fail_msg("%s: errors %g and %g", solvers[k], off[1], off[0]);
    }
}

/* Frames after a cut have the bits that they have alone. */
TEST(frames_of_another_scene_are_not_used) {
    const csrec_setting sets[] = {{"network", 0}, {"vote", 0}};
    const double unit[C] = {1.0, 1.0, 1.0};
    csrec_recover_options o = options_for("beside");
    use_settings(&o.solve, 2, sets);
    for (int round = 0; round < 3; round++) {
        double *truth = check_room(2 * T * AREA * C);
        draw_frames(T, MOST, 6.0, truth);
        draw_frames(T, MOST, 6.0, truth + T * AREA * C);
        csrec_measurement both = sample(2 * T, truth, 0.5, unit, 0.0, check_below(&seed, 1 << 30));
        const double *x = recover(&both, &o) + T * AREA * C;
        int64_t n = 0;
        for (int64_t k = 0; k < both.n; k++) {
            if (both.index[k] < T * AREA) continue;
            both.index[n] = both.index[k] - T * AREA;
            memmove(both.y + C * n++, both.y + C * k, C * sizeof *both.y);
        }
        both.n = n;
        both.shape.dim[0] = T;
        assert_memory_equal(recover(&both, &o), x, T * AREA * C * sizeof *x);
    }
}
