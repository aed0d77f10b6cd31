/* SPDX-License-Identifier: BSD-3-Clause */
/* test_conv2d.c - the convolution and its gradients against seven loops in double, on every
 * backend, over random geometries; what must not change them: threads, packed weights, instruction
 * sets; and what is refused. */
#include "backends.h"
#include "conv2d.h"
#include "simd.h"

SEED(seed);

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
    sums s = {check_keep_zeros(2 * (size_t)n, sizeof *s.value), NULL};
    s.size = s.value + n;
    return s;
}

static void add(sums *s, int64_t i, double value) {
    s->value[i] += value;
    s->size[i] += fabs(value);
}

/* A device's product is off by at most 2^-21 of it (kernels/conv/multiply.cu), and sums of float
 * parts by an ulp of the sum of magnitudes for each of some parts: 8 ulps in all are 2^-20. */
static void expect_sums(const drawn *d, const char *what, int64_t n, const float *found,
                        const sums *s, int64_t terms) {
    bool cuda = d->conv.backend && strcmp(d->conv.backend, "cuda") == 0;
    for (int64_t i = 0; i < n; i++)
        expect(d, what, i, (double)found[i], s->value[i], s->size[i], cuda ? 4 : terms);
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
    if (csrec_conv2d_backward(&d->conv, dW ? d->X : NULL, dX ? d->W : NULL, NULL, d->dY, dX, dW, dB,
                              d->workspace, d->backward, &error))
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
    for (int k = 0; k < 4; k++)
        assert_memory_equal(g[k], again[k], (size_t)counts[k] * sizeof(float));
}

TEST_ON_EACH(any_geometry) {
    const char *backend = check_backend(state);
    void (*const shapes[])(uint64_t *, csrec_conv2d *) = {draw_small, draw_tiles, draw_tiles,
                                                          draw_windows};
    for (int round = 0; round < 160; round++) {
        drawn d = draw_by(&seed, backend, shapes[round % 4]);
        check_all(&d);
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
}

TEST(packed_weights_give_the_sums) {
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        bool bias = check_below(&seed, 2);
        forward(&d, bias, round % 2, d.Y);
        check_forward(&d, bias, d.Y);
    }
}

/* Threads and workspace change nothing, to the bit. */
TEST(results_do_not_depend_on_threads) {
    for (int round = 0; round < 15; round++) {
        drawn d = draw(&seed);
        d.conv.threads = 1;
        float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        float *X2 = random_floats(&seed, d.x_count), *W2 = random_floats(&seed, d.w_count);
        float *Y2 = random_floats(&seed, d.y_count);
        size_t forward, backward;
        assert_ok(csrec_conv2d_workspace(&d.conv, &forward, &backward, NULL));
        OWNED char *memory = malloc((forward > backward ? forward : backward) + 1);
        assert_ok(
            csrec_conv2d_forward(&d.conv, d.X, d.W, NULL, d.B, d.Y, memory + 1, forward, NULL));
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, d.W, NULL, d.dY, dX, dW, NULL, memory,
                                        backward, NULL));
        d.conv.threads = 5;
        assert_ok(csrec_conv2d_workspace(&d.conv, &forward, &backward, NULL));
        memory = realloc(memory, forward > backward ? forward : backward);
        assert_ok(csrec_conv2d_forward(&d.conv, d.X, d.W, NULL, d.B, Y2, memory, forward, NULL));
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, d.W, NULL, d.dY, X2, W2, NULL, memory,
                                        backward, NULL));
        assert_memory_equal(d.Y, Y2, (size_t)d.y_count * sizeof *Y2);
        assert_memory_equal(dX, X2, (size_t)d.x_count * sizeof *X2);
        assert_memory_equal(dW, W2, (size_t)d.w_count * sizeof *W2);
    }
}

/* Every instruction set that this processor has, by the products behind the public functions, on
 * three axes and in double. */
static void check_simd(const csrec_conv_simd *simd) {
    csrec_conv conv = {.batch = 2,
                       .channels_in = 1 + check_below(&seed, 12),
                       .channels_out = 1 + check_below(&seed, 12)};
    int axis;
    do
        for (int a = 0; a < 3; a++) {
            conv.size[a] = 1 + check_below(&seed, 9);
            conv.kernel[a] = 1 + check_below(&seed, 4);
            conv.stride[a] = 1 + check_below(&seed, 2);
            conv.dilation[a] = 1 + check_below(&seed, 2);
            conv.padding[a] = check_below(&seed, 3);
        }
    while (!csrec_conv_outputs(&conv, &axis));
    int64_t x = 2 * conv.channels_in, y = 2 * conv.channels_out,
            w = conv.channels_in * conv.channels_out;
    for (int a = 0; a < 3; a++) {
        x *= conv.size[a];
        y *= conv.out[a];
        w *= conv.kernel[a];
    }
    OWNED float *X = malloc((size_t)x * sizeof *X), *Y = malloc((size_t)y * sizeof *Y);
    OWNED float *W = malloc((size_t)w * sizeof *W), *AX = malloc((size_t)y * sizeof *AX);
    OWNED float *AtY = malloc((size_t)x * sizeof *AtY);
    double left = 0.0, right = 0.0;
    for (int64_t i = 0; i < x; i++) X[i] = (float)check_uniform(&seed) - 0.5f;
    for (int64_t i = 0; i < y; i++) Y[i] = (float)check_uniform(&seed) - 0.5f;
    for (int64_t i = 0; i < w; i++) W[i] = (float)check_uniform(&seed) - 0.5f;
    for (int t = 0; t < 2; t++) {
        size_t packed = (size_t)csrec_conv_packed(&conv, t, simd) * sizeof(float);
        size_t room = csrec_conv_room(&conv, t, simd);
        OWNED float *p = aligned_alloc(64, (packed + 63) / 64 * 64);
        csrec_conv_work work = {simd, 2, aligned_alloc(64, 2 * room), NULL};
        csrec_conv_pack_f32(&conv, t, simd, W, p);
        csrec_conv_apply_f32(&conv, t, &work, p, t ? Y : X, NULL, t ? AtY : AX);
        free(work.memory);
    }
    for (int64_t i = 0; i < y; i++) left += (double)AX[i] * Y[i];
    for (int64_t i = 0; i < x; i++) right += (double)AtY[i] * X[i];
    /* Sums of at most some ten thousand products below 1/8; 1e-11 in units of the rounding of
     * double, 2^-53, is so much in those of float, 2^-24. */
    assert_true(fabs(left - right) < 1e-11 * 0x1p29 * (1.0 + fabs(left)));
}

TEST(instruction_sets_keep_the_adjoint_identity) {
    const csrec_conv_simd *sets[3];
    int count = SIMD_SETS(sets, &csrec_conv_generic, &csrec_conv_avx2, &csrec_conv_avx512);
    assert_true(sets[count - 1] == csrec_conv_simd_choose());
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < count; i++) check_simd(sets[i]);
}

static void expect_refusal(const csrec_conv2d *conv, const char *words) {
    int64_t out[2];
    assert_refused(csrec_conv2d_output(conv, out, &told), CSREC_ARGUMENT, words);
}

TEST(wrong_arguments_are_refused) {
    const csrec_conv2d good = {.batch = 1,
                               .channels_in = 2,
                               .channels_out = 3,
                               .size = {5, 6},
                               .kernel = {3, 3},
                               .threads = 1,
                               .backend = "cpu"};
    csrec_conv2d wide = good, spread = good, empty = good, negative = good, vast = good, c = good;
    wide.kernel[1] = 7;
    expect_refusal(&wide, "kernel[1] = 7");
    spread.kernel[1] = 4;
    spread.dilation[1] = 2; /* spans 7 of 6 */
    expect_refusal(&spread, "spans 7");
    empty.channels_in = 0;
    expect_refusal(&empty, "channels_in");
    negative.padding[0] = -1;
    expect_refusal(&negative, "padding[0]");
    vast.size[0] = vast.size[1] = vast.channels_in = INT32_MAX;
    expect_refusal(&vast, "entries");
    float X[60] = {0}, W[54] = {0}, Y[36];
    csrec_error error;
    size_t bytes;
    csrec_conv2d_weights *weights;
    assert_ok(csrec_conv2d_workspace(&good, &bytes, NULL, NULL));
    OWNED char *memory = malloc(bytes);
    assert_refused(csrec_conv2d_forward(&good, X, W, NULL, NULL, Y, memory, bytes / 2, &told),
                   CSREC_ARGUMENT, "workspace");
    assert_int_equal(csrec_conv2d_forward(&good, X, NULL, NULL, NULL, Y, memory, bytes, &error),
                     CSREC_ARGUMENT);
    assert_refused(
        csrec_conv2d_backward(&good, NULL, W, NULL, Y, NULL, W, NULL, memory, bytes, &told),
        CSREC_ARGUMENT, "needs X");
    c.stride[0] = 2;
    assert_ok(csrec_conv2d_weights_create(&c, W, &weights, NULL));
    assert_refused(csrec_conv2d_forward(&good, X, NULL, weights, NULL, Y, memory, bytes, &told),
                   CSREC_ARGUMENT, "packed");
    c = good;
    c.backend = "abacus";
    assert_int_equal(csrec_conv2d_forward(&c, X, W, NULL, NULL, Y, memory, bytes, &error),
                     CSREC_ARGUMENT);
    csrec_conv2d_weights_destroy(weights);
    csrec_conv2d_weights_destroy(NULL);
}
