/* The convolution against seven loops in double, numeric gradients, and the adjoint identity, over
 * random geometries. */
#include "conv2d.h"

static uint64_t seed;

static void forward_equals_seven_loops(void **state) {
    (void)state;
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        bool bias = check_below(&seed, 2), packed = check_below(&seed, 2);
        csrec_conv2d_weights *weights = NULL;
        if (packed) assert_ok(csrec_conv2d_weights_create(&d.conv, d.W, &weights, NULL));
        assert_ok(csrec_conv2d_forward(&d.conv, d.X, packed ? NULL : d.W, weights,
                                       bias ? d.B : NULL, d.Y, d.workspace, d.forward, NULL));
        check_forward(&d, bias, d.Y);
        csrec_conv2d_weights_destroy(weights);
        drop(&d);
    }
}

/* dX, dW and dB against the same loops, by the products' roles. */
static void backward_equals_seven_loops(void **state) {
    (void)state;
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        const csrec_conv2d *c = &d.conv;
        float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        float *dB = random_floats(&seed, c->channels_out);
        assert_ok(csrec_conv2d_backward(c, d.X, d.W, NULL, d.dY, dX, dW, dB, d.workspace,
                                        d.backward, NULL));
        double *gx = calloc((size_t)d.x_count, 16), *gw = calloc((size_t)d.w_count, 16);
        double *sx = gx + d.x_count, *sw = gw + d.w_count;
        FOR_EVERY_PRODUCT(c, d.out, xi, wi, yi) {
            gx[xi] += (double)d.W[wi] * (double)d.dY[yi];
            sx[xi] += fabs((double)d.W[wi] * (double)d.dY[yi]);
            gw[wi] += (double)d.X[xi] * (double)d.dY[yi];
            sw[wi] += fabs((double)d.X[xi] * (double)d.dY[yi]);
        }
        int64_t plane = d.out[0] * d.out[1];
        for (int64_t i = 0; i < d.x_count; i++)
            expect(&d, "dX", i, (double)dX[i], gx[i], sx[i],
                   c->channels_out * c->kernel[0] * c->kernel[1]);
        for (int64_t i = 0; i < d.w_count; i++)
            expect(&d, "dW", i, (double)dW[i], gw[i], sw[i], c->batch * plane);
        for (int64_t co = 0; co < c->channels_out; co++) {
            double sum = 0.0, size = 0.0;
            for (int64_t i = 0; i < d.y_count; i++)
                if (i / plane % c->channels_out == co) {
                    sum += (double)d.dY[i];
                    size += fabs((double)d.dY[i]);
                }
            expect(&d, "dB", co, (double)dB[co], sum, size, 1); /* summed in double */
        }
        free(dX);
        free(dW);
        free(dB);
        free(gx);
        free(gw);
        drop(&d);
    }
}

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

static void gradients_equal_numeric_ones(void **state) {
    (void)state;
    for (int round = 0; round < 15; round++) {
        drawn d = draw(&seed);
        float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
        float *dB = random_floats(&seed, d.conv.channels_out);
        assert_ok(csrec_conv2d_backward(&d.conv, d.X, d.W, NULL, d.dY, dX, dW, dB, d.workspace,
                                        d.backward, NULL));
        check_numeric(&d, "dX", d.X, d.x_count, dX);
        check_numeric(&d, "dW", d.W, d.w_count, dW);
        check_numeric(&d, "dB", d.B, d.conv.channels_out, dB);
        free(dX);
        free(dW);
        free(dB);
        drop(&d);
    }
}

/* <conv X, dY> = <X, conv^T dY> = <W, dW>, each to rounding. */
static void adjoint_identities(void **state) {
    (void)state;
    for (int round = 0; round < 40; round++) {
        drawn d = draw(&seed);
        float *dX = random_floats(&seed, d.x_count), *dW = random_floats(&seed, d.w_count);
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
        free(dX);
        free(dW);
        drop(&d);
    }
}

/* A single 1 in W copies a shifted plane, to the bit; W = 0 leaves the bias alone. */
static void one_hot_and_bias_only(void **state) {
    (void)state;
    for (int round = 0; round < 30; round++) {
        drawn d = draw(&seed);
        const csrec_conv2d *c = &d.conv;
        memset(d.W, 0, (size_t)d.w_count * sizeof *d.W);
        assert_ok(csrec_conv2d_forward(c, d.X, d.W, NULL, d.B, d.Y, d.workspace, d.forward, NULL));
        for (int64_t i = 0; i < d.y_count; i++)
            assert_true(d.Y[i] == d.B[i / (d.out[0] * d.out[1]) % c->channels_out]);
        int64_t hot = check_below(&seed, d.w_count);
        d.W[hot] = 1.0f;
        float *y = calloc((size_t)d.y_count, sizeof *y);
        FOR_EVERY_PRODUCT(c, d.out, xi, wi, yi)
        if (wi == hot) y[yi] = d.X[xi];
        assert_ok(csrec_conv2d_forward(c, d.X, d.W, NULL, NULL, d.Y, d.workspace, d.forward, NULL));
        for (int64_t i = 0; i < d.y_count; i++) assert_true(d.Y[i] == y[i]);
        free(y);
        drop(&d);
    }
}

static void check_one(csrec_conv2d conv) {
    drawn d = {.conv = conv};
    complete(&seed, &d);
    assert_ok(
        csrec_conv2d_forward(&d.conv, d.X, d.W, NULL, d.B, d.Y, d.workspace, d.forward, NULL));
    check_forward(&d, true, d.Y);
    drop(&d);
}

static void kernels_and_outputs_of_one_entry(void **state) {
    (void)state;
    check_one((csrec_conv2d){
        .batch = 2, .channels_in = 70, .channels_out = 33, .size = {9, 31}, .kernel = {1, 1}});
    check_one((csrec_conv2d){
        .batch = 3, .channels_in = 4, .channels_out = 5, .size = {6, 7}, .kernel = {6, 7}});
    check_one((csrec_conv2d){
        .batch = 1, .channels_in = 1, .channels_out = 1, .size = {1, 1}, .kernel = {1, 1}});
    check_one((csrec_conv2d){.batch = 1,
                             .channels_in = 3,
                             .channels_out = 1,
                             .size = {1, 1},
                             .kernel = {5, 5},
                             .padding = {2, 2}});
    check_one((csrec_conv2d){.batch = 1,
                             .channels_in = 2,
                             .channels_out = 2,
                             .size = {3, 3},
                             .kernel = {2, 2},
                             .stride = {7, 7},
                             .dilation = {2, 2}});
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_equals_seven_loops),
        cmocka_unit_test(backward_equals_seven_loops),
        cmocka_unit_test(gradients_equal_numeric_ones),
        cmocka_unit_test(adjoint_identities),
        cmocka_unit_test(one_hot_and_bias_only),
        cmocka_unit_test(kernels_and_outputs_of_one_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
