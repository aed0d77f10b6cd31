/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of csrec_net_learn: its loss and gradient against numeric differences in double, the
 * batches that it takes, and that steps go downhill. */
#include "learn/net/learn.c" /* for its loss and steps */
#include "net_learn.h"

enum { PIXELS = SIDE * SIDE };

SEED(seed);

static float *floats(int64_t count, double scale) {
    float *a = malloc((size_t)count * sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = (float)(scale * (2.0 * check_uniform(&seed) - 1.0));
    return a;
}

CHECK_END(net_data)

enum { BATCH = 3 };

typedef struct drawn {
    training t;
    csrec_net_batch b;
    float *Y, *dY;
} drawn;

/* Results of a network within 1, so that no ratio of squares to variances comes near its limit. */
static drawn draw(int channels) {
    int64_t n = channels * BATCH * PIXELS;
    drawn d = {.t = {.o = {.channels = channels, .batch = BATCH, .patch = SIDE}},
               .b = {.X = floats(BATCH * (2 * channels + 2) * PIXELS, 1.0),
                     .target = floats(n, 1.0),
                     .weight = calloc(BATCH * PIXELS, sizeof(float))},
               .Y = floats(2 * n, 1.0),
               .dY = floats(2 * n, 1.0)};
    double share = 0.05 + 0.95 * check_uniform(&seed);
    for (int64_t i = 0; i < BATCH * PIXELS; i++) d.b.weight[i] = check_uniform(&seed) < share;
    for (int64_t i = 0; i < BATCH; i++) d.b.weight[i * PIXELS] = 1.0f;
    float *own[] = {d.b.X, d.b.target, d.b.weight};
    for (int i = 0; i < 3; i++) csrec_pool_keep(&d.b.pool, own[i]);
    return d;
}

static void drop(drawn *d) {
    csrec_net_batch_clear(&d->b);
    free(d->Y);
    free(d->dY);
}

/* Both parts of the loss of picture i by their definition, where entry `at` of its results differs
 * by `off`. */
static void loss_of(const drawn *d, int64_t i, int64_t at, double off, double part[2]) {
    int64_t C = d->t.o.channels, n = C * PIXELS;
    const float *F = d->b.X + i * (2 * C + 2) * PIXELS, *z = d->b.target + i * n;
    const float *D = d->Y + i * 2 * n;
    double squares = 0.0, likelihood = 0.0, count = 0.0;
    for (int64_t k = 0; k < n; k++) {
        if (d->b.weight[i * PIXELS + k % PIXELS] == 0.0f) continue;
        double e = (double)F[k] + (double)D[k] - (double)z[k];
        double s = (double)D[n + k] + (at == n + k ? off : 0.0);
        likelihood += s + e * e / exp(s); /* by definition, e does not vary here */
        if (at == k) e += off;
        squares += e * e;
        count += 1.0;
    }
    part[0] = log(squares / count + 1e-4);
    part[1] = 0.02 * likelihood / count / 2.0;
}

TEST(the_gradient_is_that_of_the_loss) {
    for (int round = 0; round < 4; round++) {
        int channels = round % 2 ? 3 : 1;
        ENDS_BY(drop) drawn d = draw(channels);
        int64_t n = channels * PIXELS;
        for (int64_t i = 0; i < BATCH; i++) {
            double mse, part[2], most = 0.0;
            double loss = measure(&d.t, &d.b, d.Y, i, d.dY, &mse);
            loss_of(&d, i, -1, 0.0, part);
            assert_true(fabs(loss - part[0] - part[1]) < 1e-5);
            assert_true(fabs(log(mse + 1e-4) - part[0]) < 1e-5);
            const float *got = d.dY + i * 2 * n;
            for (int64_t k = 0; k < 2 * n; k++) most = fmax(most, fabs((double)got[k]));
            for (int64_t k = 0; k < 2 * n; k += 1 + check_below(&seed, 5)) {
                double up[2], down[2];
                loss_of(&d, i, k, 1e-4, up);
                loss_of(&d, i, k, -1e-4, down);
                double slope = (up[0] - down[0] + up[1] - down[1]) / 2e-4 / BATCH;
                if (!(fabs((double)got[k] - slope) < 2e-5 * most))
                    fail_msg("entry %lld: %g, expected %g", (long long)k, (double)got[k], slope);
                if (d.b.weight[i * PIXELS + k % PIXELS] == 0.0f) assert_true(got[k] == 0.0f);
            }
        }
    }
}

/* Log variances beyond 20 count as 20, and squares of over 100 variances push no further. */
TEST(the_gradient_is_limited) {
    ENDS_BY(drop) drawn d = draw(1);
    double mse, share = 0.01 / BATCH / PIXELS;
    for (int64_t k = 0; k < PIXELS; k++) d.b.weight[k] = 1.0f, d.b.weight[PIXELS + k] = 0.0f;
    d.Y[PIXELS] = 80.0f;
    d.Y[PIXELS + 1] = -80.0f;
    d.b.X[1] = 5.0f; /* an error of at least 3 */
    assert_true(isfinite(measure(&d.t, &d.b, d.Y, 0, d.dY, &mse)));
    assert_true(fabs((double)d.dY[PIXELS] - share) < 1e-6 * share);
    assert_true(fabs((double)d.dY[PIXELS + 1] + 99.0 * share) < 1e-6 * 99.0 * share);
    /* Where nothing counts, nothing is learned. */
    assert_true(measure(&d.t, &d.b, d.Y, 1, d.dY, &mse) == 0.0);
    assert_true(isnan(mse));
    for (int64_t k = 0; k < 2 * PIXELS; k++) assert_true(d.dY[2 * PIXELS + k] == 0.0f);
}

static csrec_net_data *open_data(csrec_net_data_options *o, csrec_net_batch *batch) {
    csrec_net_data *data = NULL;
    assert_well(csrec_net_data_create(o, &data, &told));
    assert_ok(csrec_net_batch_create(data, batch, NULL));
    return data;
}

/* Batches of one picture. */
static csrec_net_data_options options_of(const csrec_net_picture *p, int channels, int64_t batch) {
    return (csrec_net_data_options){.count = 1,
                                    .pictures = p,
                                    .channels = channels,
                                    .side = SIDE,
                                    .threads = 1,
                                    .batch = batch,
                                    .seed = check_next(&seed)};
}

/* Samples differ from the target by the noise that is told, pixels are weighed where they are
 * unknown or noisy. The sum of squares of n normal numbers is n, with a deviation of sqrt(2 n). */
TEST(samples_are_the_target_and_noise) {
    enum { COUNT = 12, STEPS = 5, C = 3 };
    csrec_net_batch b;
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(40, 24, C, false);
    csrec_net_data_options o = options_of(&p, C, COUNT);
    ENDS_BY(end_net_data) csrec_net_data *data = open_data(&o, &b);
    double sum = 0.0, squares = 0.0, n = 0.0;
    int clean = 0;
    for (int s = 0; s < STEPS; s++) {
        csrec_net_data_make(data, s, &b, NULL);
        for (int64_t i = 0; i < COUNT; i++) {
            const float *X = b.X + i * (2 * C + 2) * PIXELS, *z = b.target + i * C * PIXELS;
            const float *known = X + 2 * C * PIXELS, *sigma = known + PIXELS;
            clean += sigma[0] == 0.0f;
            assert_true(b.unit[i] >= 1.0);
            for (int64_t k = 0; k < PIXELS; k++) {
                bool counts = known[k] == 0.0f || sigma[0] > 0.0f;
                assert_true(sigma[k] == sigma[0] && (known[k] == 0.0f || known[k] == 1.0f));
                assert_true(b.weight[i * PIXELS + k] == (counts ? 1.0f : 0.0f));
                for (int c = 0; c < C && known[k] == 1.0f; c++) {
                    float off = X[(C + c) * PIXELS + k] - z[c * PIXELS + k];
                    assert_true(X[(C + c) * PIXELS + k] == X[c * PIXELS + k]);
                    if (sigma[0] == 0.0f) {
                        assert_true(off == 0.0f);
                        continue;
                    }
                    sum += (double)(off / sigma[0]);
                    squares += (double)(off / sigma[0]) * (double)(off / sigma[0]);
                    n += 1.0;
                }
            }
        }
    }
    assert_true(clean > 0 && n > 100.0);
    /* 1e-6 in all; an excess of 4 / sqrt(n) of the tail's for its skewness. */
    double bound = 5.1 * (1.0 + 4.0 / sqrt(n));
    if (fabs(sum) > 5.1 * sqrt(n) || fabs(squares - n) > bound * sqrt(2.0 * n))
        fail_msg("of %g numbers: sum %g, squares %g", n, sum, squares);
    csrec_net_batch_clear(&b);
}

/* Largest difference of a batch's picture, less its mean, from picture p after a flip or turn. */
static double distance(const float *z, double unit, const float *p, int turn) {
    double most = 0.0, mean = 0.0;
    for (int64_t k = 0; k < PIXELS; k++) mean += ((double)z[k] * unit - (double)p[k]) / PIXELS;
    for (int64_t k = 0; k < PIXELS; k++) {
        int64_t y = k / SIDE, x = k % SIDE;
        if (turn & 1) x = SIDE - 1 - x;
        if (turn & 2) y = SIDE - 1 - y;
        double v = (double)p[turn & 4 ? x * SIDE + y : y * SIDE + x];
        most = fmax(most, fabs((double)z[k] * unit - v - mean));
    }
    return most;
}

/* The validation shows a part as it is, steps flip and turn it. */
TEST(validation_is_sampled_at_10_and_25) {
    enum { COUNT = 6 };
    CLEARED(csrec_net_batch) b;
    OWNED float *values = floats(PIXELS, 100.0);
    csrec_net_picture p = {SIDE, SIDE, values, NULL}; /* of one part */
    csrec_net_data_options o = options_of(&p, 1, COUNT);
    ENDS_BY(end_net_data) csrec_net_data *data = open_data(&o, &b);
    csrec_net_data_validation(data, &b);
    for (int64_t i = 0; i < COUNT; i++) {
        const float *known = b.X + (4 * i + 2) * PIXELS;
        double share = i % 2 ? 0.25 : 0.1, got = 0.0;
        for (int64_t k = 0; k < PIXELS; k++) got += known[k] / (double)PIXELS;
        /* Chernoff: 2 exp(-2 n t^2) = 1e-7 */
        assert_true(fabs(got - share) < sqrt(log(2e7) / 2.0 / PIXELS));
        assert_true(distance(b.target + i * PIXELS, b.unit[i], values, 0) < 1e-2);
    }
    csrec_net_data_make(data, 0, &b, NULL);
    for (int64_t i = 0; i < COUNT; i++) {
        double best = INFINITY;
        for (int turn = 0; turn < 8; turn++)
            best = fmin(best, distance(b.target + i * PIXELS, b.unit[i], values, turn));
        assert_true(best < 1e-2);
    }
}

/* Own pictures, of any size, are reflected where they are too small: neighbours differ by the
 * slopes of the picture, or are the same along an axis of one pixel. */
TEST(own_pictures_are_cut_and_reflected) {
    const int64_t sizes[][2] = {{1, 1}, {1, 9}, {5, 1}, {7, 5}, {16, 16}, {40, 6}, {33, 50}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ENDS_BY(drop_picture)
        csrec_net_picture p = slope_picture(sizes[k][0], sizes[k][1], 1, false);
        CLEARED(csrec_net_batch) b;
        csrec_net_data_options o = options_of(&p, 1, 4);
        ENDS_BY(end_net_data) csrec_net_data *data = open_data(&o, &b);
        double down = sizes[k][0] > 1 ? 10.0 : 0.0, across = sizes[k][1] > 1 ? 3.0 : 0.0;
        csrec_net_data_make(data, 0, &b, NULL);
        for (int64_t i = 0; i < 4 * PIXELS; i++) {
            const float *z = b.target + i;
            double unit = b.unit[i / PIXELS], last = 1e-4 * unit;
            double right = i % SIDE < SIDE - 1 ? fabs((double)(z[1] - z[0])) * unit : down;
            bool first = fabs(right - down) < last, second = fabs(right - across) < last;
            if (!first && !second) fail_msg("neighbours differ by %g", right);
        }
    }
}

/* Unknown pixels of own pictures, NaN here, are neither shown nor weighed. */
TEST(unknown_pixels_are_not_used) {
    enum { COUNT = 8, STEPS = 4 };
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(24, 24, 3, true);
    CLEARED(csrec_net_batch) b;
    csrec_net_data_options o = options_of(&p, 3, COUNT);
    ENDS_BY(end_net_data) csrec_net_data *data = open_data(&o, &b);
    for (int s = 0; s < STEPS; s++) {
        csrec_net_data_make(data, s, &b, NULL);
        for (int64_t i = 0; i < COUNT; i++) {
            int64_t used = 0;
            const float *X = b.X + i * 8 * PIXELS, *weight = b.weight + i * PIXELS;
            for (int64_t k = 0; k < 8 * PIXELS; k++) assert_true(isfinite(X[k]));
            for (int64_t k = 0; k < PIXELS; k++) {
                assert_true(weight[k] == 0.0f || isfinite(b.target[i * 3 * PIXELS + k]));
                used += X[6 * PIXELS + k] == 1.0f || weight[k] == 1.0f;
            }
            /* 24 is a multiple of 3: each line of the picture has two known pixels of three */
            assert_true(used <= (int64_t)SIDE * 11);
        }
    }
}

/* On one batch, the loss falls by 1.6, with a deviation of 0.35 from seed to seed. */
TEST(steps_go_downhill) {
    enum { STEPS = 40 };
    for (int round = 0; round < 2; round++) {
        ENDS_BY(drop_picture) csrec_net_picture p = stripes_picture(40, 40);
        ENDS_BY(end_model) csrec_model *fresh = fresh_model(1, 4, &seed);
        training t = {.o = tiny(&seed, fresh, STEPS), .count = 1, .pictures = &p};
        double loss[STEPS];
        csrec_net_learn_complete(&t.o);
        assert_ok(prepare(&t, &(csrec_context){.kind = CSREC_DEVICE_CPU}, NULL));
        csrec_net_data_make(t.data, 0, &t.batch[0], NULL);
        for (int s = 0; s < STEPS; s++) {
            t.sum = 0.0;
            assert_ok(take_step(&t, &t.batch[0], 2e-3, NULL));
            loss[s] = t.sum;
        }
        if (!(loss[STEPS - 1] < loss[0])) fail_msg("loss %g, first %g", loss[STEPS - 1], loss[0]);
        training_clear(&t);
    }
}
