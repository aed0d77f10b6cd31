/* SPDX-License-Identifier: BSD-3-Clause */
/* test_conv2d.c - the convolution against seven loops in double, on every backend, over random
 * geometries; on the CPU also numeric gradients and the adjoint identity. */
#include "backends.h"
#include "conv2d.h"

SEED(seed);

/* ------------------------------------------------------------------ on every backend */

/* Now and then many channels, long lines or a step: edges of a device's tiles. */
static void draw_tiles(uint64_t *from, csrec_conv2d *c) {
    bool deep = check_below(from, 4) == 0, wide = !deep && check_below(from, 3) == 0;
    bool steps = check_below(from, 2);
    c->channels_in = 1 + check_below(from, deep ? 80 : 4);
    c->channels_out = 1 + check_below(from, deep ? 80 : 6);
    for (int a = 0; a < 2; a++) {
        c->size[a] = 1 + check_below(from, a == 1 && wide ? 300 : 12);
        c->kernel[a] = 1 + check_below(from, deep ? 3 : 6);
        c->stride[a] = steps ? 1 + check_below(from, 3) : 1;
        c->dilation[a] = steps ? 1 + check_below(from, 3) : 1;
        c->padding[a] = check_below(from, 5);
    }
}

/* Pictures of several tiles of windows, and channels that fill theirs. */
static void draw_windows(uint64_t *from, csrec_conv2d *c) {
    bool steps = check_below(from, 2);
    c->channels_in = 6 + check_below(from, 14);
    c->channels_out = 6 + check_below(from, 34);
    for (int a = 0; a < 2; a++) {
        c->size[a] = (a == 1 ? 28 : 6) + check_below(from, a == 1 ? 50 : 14);
        c->kernel[a] = 1 + check_below(from, 4);
        c->stride[a] = steps ? 1 + check_below(from, 2) : 1;
        c->dilation[a] = steps ? 1 + check_below(from, 3) : 1;
        c->padding[a] = check_below(from, 4);
    }
}

typedef struct sums {
    double *value, *size; /* size: sums of magnitudes */
} sums;

static sums zeros(int64_t n) {
    sums s = {calloc(2 * (size_t)n, sizeof *s.value), NULL};
    s.size = s.value + n;
    return s;
}

static void add(sums *s, int64_t i, double value) {
    s->value[i] += value;
    s->size[i] += fabs(value);
}

/* A device's product is off by at most 2^-21 of it (kernels/conv/multiply.cu), and sums of float
 * parts by an ulp of the sum of magnitudes for each of some parts: 8 ulps in all are 2^-20. */
static void expect_sums(const drawn *d, const char *what, int64_t n, const float *found, sums *s,
                        int64_t terms) {
    bool cuda = d->conv.backend && strcmp(d->conv.backend, "cuda") == 0;
    for (int64_t i = 0; i < n; i++)
        expect(d, what, i, (double)found[i], s->value[i], s->size[i], cuda ? 4 : terms);
    free(s->value);
}

static void forward(const drawn *d, bool bias, bool packed, float *Y) {
    csrec_conv2d_weights *weights = NULL;
    csrec_error error = {{0}};
    if (packed) assert_ok(csrec_conv2d_weights_create(&d->conv, d->W, &weights, NULL));
    if (csrec_conv2d_forward(&d->conv, d->X, packed ? NULL : d->W, weights, bias ? d->B : NULL, Y,
                             d->workspace, d->forward, &error))
        fail_msg("%s: %s", d->text, error.text);
    csrec_conv2d_weights_destroy(weights);
}

static void backward(const drawn *d, float *dX, float *dW, float *dB) {
    csrec_error error = {{0}};
    if (csrec_conv2d_backward(&d->conv, d->X, d->W, NULL, d->dY, dX, dW, dB, d->workspace,
                              d->backward, &error))
        fail_msg("%s: %s", d->text, error.text);
}

static void check_forward(const drawn *d, bool bias, const float *Y) {
    const csrec_conv2d *c = &d->conv;
    sums y = zeros(d->y_count);
    for (int64_t i = 0; i < d->y_count && bias; i++)
        add(&y, i, (double)d->B[i / (d->out[0] * d->out[1]) % c->channels_out]);
    FOR_EVERY_PRODUCT(c, d->out, xi, wi, yi) add(&y, yi, (double)d->X[xi] * (double)d->W[wi]);
    expect_sums(d, "Y", d->y_count, Y, &y, terms_of_y(c));
}

/* By the products' roles; dB is summed in double. */
static void check_backward(const drawn *d, const float *dX, const float *dW, const float *dB) {
    const csrec_conv2d *c = &d->conv;
    const int64_t plane = d->out[0] * d->out[1];
    sums x = zeros(d->x_count), w = zeros(d->w_count), b = zeros(c->channels_out);
    FOR_EVERY_PRODUCT(c, d->out, xi, wi, yi) {
        add(&x, xi, (double)d->W[wi] * (double)d->dY[yi]);
        add(&w, wi, (double)d->X[xi] * (double)d->dY[yi]);
    }
    for (int64_t i = 0; i < d->y_count; i++) add(&b, i / plane % c->channels_out, (double)d->dY[i]);
    expect_sums(d, "dX", d->x_count, dX, &x, c->channels_out * c->kernel[0] * c->kernel[1]);
    expect_sums(d, "dW", d->w_count, dW, &w, c->batch * plane);
    expect_sums(d, "dB", c->channels_out, dB, &b, 1);
}

/* Against seven loops in double; gradients one by one have the same bits. */
static void check_all(drawn *d) {
    const int64_t counts[] = {d->x_count, d->w_count, d->conv.channels_out, d->y_count};
    float *g[4], *again[4];
    for (int k = 0; k < 4; k++) {
        g[k] = random_floats(&seed, counts[k]);
        again[k] = random_floats(&seed, counts[k]);
    }
    forward(d, true, false, g[3]);
    check_forward(d, true, g[3]);
    backward(d, g[0], g[1], g[2]);
    check_backward(d, g[0], g[1], g[2]);
    forward(d, true, false, again[3]);
    backward(d, again[0], NULL, NULL);
    backward(d, NULL, again[1], NULL);
    backward(d, NULL, NULL, again[2]);
    for (int k = 0; k < 4; k++) {
        assert_memory_equal(g[k], again[k], (size_t)counts[k] * sizeof(float));
        free(g[k]);
        free(again[k]);
    }
}

TEST_ON_EACH(any_geometry) {
    const char *backend = check_backend(state);
    void (*const shapes[])(uint64_t *, csrec_conv2d *) = {draw_small, draw_tiles, draw_tiles,
                                                          draw_windows};
    for (int round = 0; round < 160; round++) {
        drawn d = draw_by(&seed, backend, shapes[round % 4]);
        check_all(&d);
        drop(&d);
    }
}

/* Small pictures of the shapes that the bench measures: few rows and many taps, whose rows are
 * taken by taps; one channel and many rows; the same channels on both sides. Then windows: more
 * rows than a thread block's, more taps, taps that do not fill a stage, one tap. Then results of
 * one entry. */
TEST_ON_EACH(known_shapes) {
    const char *backend = check_backend(state);
    /* batch, channels, height, width, kernel, padding, stride, dilation */
    const int64_t shapes[][10] = {
        {1, 64, 1, 20, 23, 8, 8, 4, 1, 1}, {1, 1, 64, 20, 23, 8, 8, 4, 1, 1},
        {2, 64, 64, 9, 12, 3, 3, 1, 1, 1}, {2, 3, 3, 17, 20, 5, 5, 2, 1, 1},
        {3, 24, 2, 11, 14, 4, 4, 0, 1, 1}, {1, 65, 33, 6, 9, 1, 1, 0, 1, 1},
        {1, 9, 80, 29, 32, 3, 3, 1, 1, 1}, {1, 16, 20, 29, 32, 5, 5, 2, 1, 1},
        {2, 9, 17, 30, 33, 2, 2, 0, 1, 1}, {2, 20, 12, 31, 34, 1, 1, 0, 1, 1},
        {2, 70, 33, 9, 31, 1, 1, 0, 0, 0}, {3, 4, 5, 6, 7, 6, 7, 0, 0, 0},
        {1, 1, 1, 1, 1, 1, 1, 0, 0, 0},    {1, 3, 1, 1, 1, 5, 5, 2, 0, 0},
        {1, 2, 2, 3, 3, 2, 2, 0, 7, 2}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t *s = shapes[k];
        drawn d = {.conv = {.batch = s[0],
                            .channels_in = s[1],
                            .channels_out = s[2],
                            .size = {s[3], s[4]},
                            .kernel = {s[5], s[6]},
                            .padding = {s[7], s[7]},
                            .stride = {s[8], s[8]},
                            .dilation = {s[9], s[9]},
                            .backend = backend}};
        complete(&seed, &d);
        check_all(&d);
        drop(&d);
    }
}

/* Values whose sizes differ by 2^60: no digits are lost to a common scale. */
TEST_ON_EACH(any_size) {
    drawn d = {.conv = {.batch = 2,
                        .channels_in = 3,
                        .channels_out = 5,
                        .size = {9, 30},
                        .kernel = {3, 3},
                        .padding = {1, 1},
                        .backend = check_backend(state)}};
    complete(&seed, &d);
    for (int64_t i = 0; i < d.x_count; i++)
        d.X[i] = ldexpf(d.X[i], (int)check_below(&seed, 60) - 30);
    for (int64_t i = 0; i < d.y_count; i++)
        d.dY[i] = ldexpf(d.dY[i], (int)check_below(&seed, 60) - 30);
    check_all(&d);
    drop(&d);
}

TEST(packed_weights_give_the_sums) {
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        bool bias = check_below(&seed, 2);
        forward(&d, bias, round % 2, d.Y);
        check_forward(&d, bias, d.Y);
        drop(&d);
    }
}

/* ------------------------------------------------------------------ what the definition implies */

/* L = sum(Y dY) by the forward pass alone. */
static double loss(drawn *d) {
    double sum = 0.0;
    assert_ok(csrec_conv2d_forward(&d->conv, d->X, d->W, NULL, d->B, d->Y, d->workspace, d->forward,
                                   NULL));
    for (int64_t i = 0; i < d->y_count; i++) sum += (double)d->Y[i] * (double)d->dY[i];
    return sum;
}

/* L is linear in each number, so central differences of +-1 have no error but the rounding of Y:
 * y_count entries, each off by terms eps times sums of at most 4 terms (numbers up to 2). */
static void check_numeric(drawn *d, const char *what, float *v, int64_t count,
                          const float *gradient) {
    double terms = (double)terms_of_y(&d->conv);
    double bound = (double)d->y_count * (terms + 4.0) * FLT_EPSILON * (2.0 * terms + 2.0);
    for (int probe = 0; probe < 5; probe++) {
        int64_t i = check_below(&seed, count);
        float kept = v[i];
        v[i] = kept + 1.0f;
        double above = loss(d);
        v[i] = kept - 1.0f;
        double below = loss(d);
        v[i] = kept;
        double wanted = 0.5 * (above - below);
        if (fabs((double)gradient[i] - wanted) > bound)
            fail_msg("%s: %s[%d] is %.9g, numerically %.9g (+- %.3g)", d->text, what, (int)i,
                     (double)gradient[i], wanted, bound);
    }
}

TEST(gradients_equal_numeric_ones) {
    for (int round = 0; round < 15; round++) {
        drawn d = draw(&seed);
        OWNED float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        OWNED float *dB = random_floats(&seed, d.conv.channels_out);
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, d.W, NULL, d.dY, dX, dW, dB, d.workspace,
                                        d.backward, NULL));
        check_numeric(&d, "dX", d.X, d.x_count, dX);
        check_numeric(&d, "dW", d.W, d.w_count, dW);
        check_numeric(&d, "dB", d.B, d.conv.channels_out, dB);
        drop(&d);
    }
}

/* <conv X, dY> = <X, conv^T dY> = <W, dW>, each to rounding. */
TEST(adjoint_identities) {
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        OWNED float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        assert_ok(
            csrec_conv2d_forward(&d.conv, d.X, d.W, NULL, NULL, d.Y, d.workspace, d.forward, NULL));
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, d.W, NULL, d.dY, dX, dW, NULL, d.workspace,
                                        d.backward, NULL));
        double by_y = 0.0, by_x = 0.0, by_w = 0.0, size = 0.0;
        for (int64_t i = 0; i < d.y_count; i++) by_y += (double)d.Y[i] * (double)d.dY[i];
        for (int64_t i = 0; i < d.x_count; i++) by_x += (double)d.X[i] * (double)dX[i];
        for (int64_t i = 0; i < d.w_count; i++) by_w += (double)d.W[i] * (double)dW[i];
        FOR_EVERY_PRODUCT(&d.conv, d.out, xi, wi, yi)
        size += fabs((double)d.X[xi] * (double)d.W[wi] * (double)d.dY[yi]);
        int64_t terms = terms_of_y(&d.conv) + d.y_count + d.conv.channels_out * 25;
        expect(&d, "<Y, dY> - <X, dX>", 0, by_y, by_x, size, terms);
        expect(&d, "<Y, dY> - <W, dW>", 0, by_y, by_w, size, terms);
        drop(&d);
    }
}

/* A single 1 in W copies a shifted plane, to the bit; W = 0 leaves the bias alone. */
TEST(one_hot_and_bias_only) {
    for (int round = 0; round < 30; round++) {
        drawn d = draw(&seed);
        const csrec_conv2d *c = &d.conv;
        memset(d.W, 0, (size_t)d.w_count * sizeof *d.W);
        assert_ok(csrec_conv2d_forward(c, d.X, d.W, NULL, d.B, d.Y, d.workspace, d.forward, NULL));
        for (int64_t i = 0; i < d.y_count; i++)
            assert_true(d.Y[i] == d.B[i / (d.out[0] * d.out[1]) % c->channels_out]);
        int64_t hot = check_below(&seed, d.w_count);
        d.W[hot] = 1.0f;
        OWNED float *y = calloc((size_t)d.y_count, sizeof *y);
        FOR_EVERY_PRODUCT(c, d.out, xi, wi, yi)
        if (wi == hot) y[yi] = d.X[xi];
        assert_ok(csrec_conv2d_forward(c, d.X, d.W, NULL, NULL, d.Y, d.workspace, d.forward, NULL));
        for (int64_t i = 0; i < d.y_count; i++) assert_true(d.Y[i] == y[i]);
        drop(&d);
    }
}
