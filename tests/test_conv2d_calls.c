/* SPDX-License-Identifier: BSD-3-Clause */
/* What must not change a convolution: batches, threads, packed weights, instruction sets; and what
 * is refused. */
#include "conv2d.h"
#include "simd.h"

SEED(seed);

/* A batch of two has the gradients of its halves, added. */
TEST(batches_accumulate) {
    for (int round = 0; round < 15; round++) {
        drawn d = draw(&seed);
        csrec_conv2d one = d.conv;
        one.batch = 1;
        OWNED float *dW = random_floats(&seed, d.w_count), *part = random_floats(&seed, d.w_count);
        OWNED float *dB = random_floats(&seed, d.conv.channels_out),
                    *bias = random_floats(&seed, d.conv.channels_out);
        OWNED double *sum = calloc((size_t)(d.w_count + d.conv.channels_out), sizeof *sum);
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, NULL, NULL, d.dY, NULL, dW, dB, d.workspace,
                                        d.backward, NULL));
        for (int64_t n = 0; n < d.conv.batch; n++) {
            assert_ok(csrec_conv2d_backward(&one, d.X + n * (d.x_count / d.conv.batch), NULL, NULL,
                                            d.dY + n * (d.y_count / d.conv.batch), NULL, part, bias,
                                            d.workspace, d.backward, NULL));
            for (int64_t i = 0; i < d.w_count; i++) sum[i] += (double)part[i];
            for (int64_t i = 0; i < d.conv.channels_out; i++) sum[d.w_count + i] += (double)bias[i];
        }
        int64_t terms = d.conv.batch * d.out[0] * d.out[1];
        for (int64_t i = 0; i < d.w_count; i++)
            expect(&d, "dW", i, (double)dW[i], sum[i], (double)terms, terms);
        for (int64_t i = 0; i < d.conv.channels_out; i++)
            expect(&d, "dB", i, (double)dB[i], sum[d.w_count + i], (double)terms, terms);
        drop(&d);
    }
}

/* Threads and workspace change nothing, to the bit. */
TEST(results_do_not_depend_on_threads) {
    for (int round = 0; round < 15; round++) {
        drawn d = draw(&seed);
        d.conv.threads = 1;
        OWNED float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        OWNED float *X2 = random_floats(&seed, d.x_count), *W2 = random_floats(&seed, d.w_count);
        OWNED float *Y2 = random_floats(&seed, d.y_count);
        size_t forward, backward;
        assert_ok(csrec_conv2d_workspace(&d.conv, &forward, &backward, NULL));
        char *memory = malloc((forward > backward ? forward : backward) + 1);
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
        free(memory);
        drop(&d);
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
    OWNED double *X = malloc((size_t)x * sizeof *X), *Y = malloc((size_t)y * sizeof *Y);
    OWNED double *W = malloc((size_t)w * sizeof *W), *AX = malloc((size_t)y * sizeof *AX);
    double *AtY = malloc((size_t)x * sizeof *AtY), left = 0.0, right = 0.0;
    for (int64_t i = 0; i < x; i++) X[i] = check_uniform(&seed) - 0.5;
    for (int64_t i = 0; i < y; i++) Y[i] = check_uniform(&seed) - 0.5;
    for (int64_t i = 0; i < w; i++) W[i] = check_uniform(&seed) - 0.5;
    for (int t = 0; t < 2; t++) {
        size_t packed = (size_t)csrec_conv_packed(&conv, t, simd) * sizeof(double);
        size_t room = csrec_conv_room(&conv, t, simd, sizeof(double));
        OWNED double *p = aligned_alloc(64, (packed + 63) / 64 * 64);
        csrec_conv_work work = {simd, 2, aligned_alloc(64, 2 * room), NULL};
        csrec_conv_pack_f64(&conv, t, simd, W, p);
        csrec_conv_apply_f64(&conv, t, &work, p, t ? Y : X, NULL, t ? AtY : AX);
        free(work.memory);
    }
    for (int64_t i = 0; i < y; i++) left += AX[i] * Y[i];
    for (int64_t i = 0; i < x; i++) right += AtY[i] * X[i];
    /* Sums of at most some ten thousand products below 1/8. */
    assert_true(fabs(left - right) < 1e-11 * (1.0 + fabs(left)));
    free(AtY);
}

TEST(instruction_sets_keep_the_adjoint_identity) {
    const csrec_conv_simd *sets[3];
    int count = SIMD_SETS(sets, &csrec_conv_generic, &csrec_conv_avx2, &csrec_conv_avx512);
    assert_true(sets[count - 1] == csrec_conv_simd_choose());
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < count; i++) check_simd(sets[i]);
    }
}

static void expect_refusal(const csrec_conv2d *conv, csrec_status status, const char *words) {
    int64_t out[2];
    csrec_error error;
    assert_int_equal(csrec_conv2d_output(conv, out, &error), status);
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
}

TEST(wrong_arguments_are_refused) {
    const csrec_conv2d good = {.batch = 1,
                               .channels_in = 2,
                               .channels_out = 3,
                               .size = {5, 6},
                               .kernel = {3, 3},
                               .threads = 1,
                               .backend = "cpu"};
    csrec_conv2d c = good;
    c.kernel[1] = 7;
    expect_refusal(&c, CSREC_ARGUMENT, "kernel[1] = 7");
    c.kernel[1] = 4;
    c.dilation[1] = 2; /* spans 7 of 6 */
    expect_refusal(&c, CSREC_ARGUMENT, "spans 7");
    c = good;
    c.channels_in = 0;
    expect_refusal(&c, CSREC_ARGUMENT, "channels_in");
    c = good;
    c.padding[0] = -1;
    expect_refusal(&c, CSREC_ARGUMENT, "padding[0]");
    c = good;
    c.size[0] = c.size[1] = c.channels_in = INT32_MAX;
    expect_refusal(&c, CSREC_ARGUMENT, "entries");

    float X[60] = {0}, W[54] = {0}, Y[36];
    csrec_error error;
    size_t bytes;
    csrec_conv2d_weights *weights;
    assert_ok(csrec_conv2d_workspace(&good, &bytes, NULL, NULL));
    OWNED char *memory = malloc(bytes);
    assert_int_equal(csrec_conv2d_forward(&good, X, W, NULL, NULL, Y, memory, bytes / 2, &error),
                     CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "workspace"));
    assert_int_equal(csrec_conv2d_forward(&good, X, NULL, NULL, NULL, Y, memory, bytes, &error),
                     CSREC_ARGUMENT);
    assert_int_equal(
        csrec_conv2d_backward(&good, NULL, W, NULL, Y, NULL, W, NULL, memory, bytes, &error),
        CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "needs X"));
    c = good;
    c.stride[0] = 2;
    assert_ok(csrec_conv2d_weights_create(&c, W, &weights, NULL));
    assert_int_equal(csrec_conv2d_forward(&good, X, NULL, weights, NULL, Y, memory, bytes, &error),
                     CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "packed"));
    c = good;
    c.backend = "abacus";
    assert_int_equal(csrec_conv2d_forward(&c, X, W, NULL, NULL, Y, memory, bytes, &error),
                     CSREC_ARGUMENT);
    csrec_conv2d_weights_destroy(weights);
    csrec_conv2d_weights_destroy(NULL);
}
