/* Networks against direct sums and numeric derivatives in double, over random networks; tiles and
 * threads do not change bits; steps of Adam against the formula; wrong input. */
#include "net.h"

static uint64_t seed;

static csrec_net *create(const drawn_net *d, int threads) {
    csrec_net_options options = {.threads = threads};
    csrec_net *net = NULL;
    csrec_error error = {""};
    if (csrec_net_create(d->channels, d->n, d->layer, &options, &net, &error))
        fail_msg("%s", error.text);
    int64_t weights, multiple;
    csrec_net_info(net, &weights, &multiple, NULL);
    assert_int_equal(weights, d->weights);
    assert_int_equal(multiple, 2);
    assert_ok(csrec_net_set_weights(net, d->W, NULL));
    return net;
}

static void forward_equals_direct_sums(void **state) {
    (void)state;
    for (int round = 0; round < 12; round++) {
        drawn_net d = net_draw(&seed);
        csrec_net *net = create(&d, 2);
        double *W = net_doubles(d.weights, d.W), *X = net_doubles(d.x, d.X);
        double *Y = net_doubles(d.y, NULL), size = 0.0;
        net_reference(&d, W, X, Y);
        for (int64_t i = 0; i < d.y; i++) size = fmax(size, fabs(Y[i]));
        assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
        for (int64_t i = 0; i < d.y; i++)
            if (fabs(Y[i] - (double)d.Y[i]) > 1e-4 * size)
                fail_msg("entry %lld: %g, expected %g", (long long)i, (double)d.Y[i], Y[i]);
        /* one picture of the same network without what backward needs */
        float *one = malloc((size_t)(d.y / d.batch) * sizeof *one);
        assert_ok(csrec_net_apply(net, d.height, d.width, d.X, one, 0, NULL, NULL, NULL));
        assert_memory_equal(one, d.Y, (size_t)(d.y / d.batch) * sizeof *one);
        free(one);
        free(W);
        free(X);
        free(Y);
        csrec_net_destroy(net);
        net_drop(&d);
    }
}

/* sum(Y dY) in double with W + t dW and X + t dX. */
static double loss(const drawn_net *d, double t, const double *dW, const double *dX,
                   double *nearest) {
    double *W = net_doubles(d->weights, d->W), *X = net_doubles(d->x, d->X);
    double *Y = net_doubles(d->y, NULL), sum = 0.0;
    for (int64_t i = 0; i < d->weights; i++) W[i] += t * dW[i];
    for (int64_t i = 0; i < d->x; i++) X[i] += t * dX[i];
    *nearest = net_reference(d, W, X, Y);
    for (int64_t i = 0; i < d->y; i++) sum += Y[i] * (double)d->dY[i];
    free(W);
    free(X);
    free(Y);
    return sum;
}

static void add_products(int64_t n, const double *direction, const float *gradient, double *sum,
                         double *size) {
    for (int64_t i = 0; i < n; i++) {
        *sum += direction[i] * (double)gradient[i];
        *size += fabs(direction[i] * (double)gradient[i]);
    }
}

/* False where the network is too near to a kink to tell. */
static bool expect_slope(const drawn_net *d, const double *dW, const double *dX, const float *gW,
                         const float *gX) {
    const double t = 2e-8; /* far below net_clear: no relu changes its side between both losses */
    double up, down, sum = 0.0, size = 0.0;
    double numeric = (loss(d, t, dW, dX, &up) - loss(d, -t, dW, dX, &down)) / (2.0 * t);
    if (fmin(up, down) < net_clear) return false;
    add_products(d->weights, dW, gW, &sum, &size);
    add_products(d->x, dX, gX, &sum, &size);
    if (fabs(sum - numeric) > 2e-3 * size + 1e-4)
        fail_msg("%g, numeric %g of %g", sum, numeric, size);
    return true;
}

/* Along random directions of all weights and inputs, and of some weights. */
static void gradients_equal_numeric_ones(void **state) {
    (void)state;
    for (int round = 0; round < 12;) {
        drawn_net d = net_draw(&seed);
        csrec_net *net = create(&d, 2);
        float *gW = net_floats(&seed, d.weights, 1.0), *gX = net_floats(&seed, d.x, 1.0);
        assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
        assert_ok(csrec_net_backward(net, d.dY, gX, gW, NULL));
        bool clear = true;
        for (int direction = 0; direction < 6 && clear; direction++) {
            double *dW = net_doubles(d.weights, NULL), *dX = net_doubles(d.x, NULL);
            int64_t from = check_below(&seed, d.weights), to = from + 1 + check_below(&seed, 40);
            if (direction == 0) from = 0, to = d.weights;
            for (int64_t i = from; i < to && i < d.weights && direction != 1; i++)
                dW[i] = check_normal(&seed);
            for (int64_t i = 0; i < d.x && direction < 2; i++) dX[i] = check_normal(&seed);
            clear = expect_slope(&d, dW, dX, gW, gX);
            free(dW);
            free(dX);
        }
        round += clear;
        free(gW);
        free(gX);
        csrec_net_destroy(net);
        net_drop(&d);
    }
}

/* Pictures of several tiles, cut wherever the memory asks for it. */
static void tiles_and_threads_do_not_change_bits(void **state) {
    (void)state;
    for (int round = 0; round < 6; round++) {
        drawn_net d = net_draw(&seed);
        int64_t height = 2 * (20 + check_below(&seed, 60)),
                width = 2 * (20 + check_below(&seed, 60));
        int64_t x = d.channels * height * width, y = net_channels(&d, d.n) * height * width;
        float *X = net_floats(&seed, x, 1.0), *Y[3];
        for (int k = 0; k < 3; k++) {
            csrec_net *net = create(&d, k == 1 ? 1 : 3);
            Y[k] = malloc((size_t)y * sizeof(float));
            assert_ok(
                csrec_net_apply(net, height, width, X, Y[k], k == 2 ? 1 : 0, NULL, NULL, NULL));
            csrec_net_destroy(net);
            if (k) assert_memory_equal(Y[0], Y[k], (size_t)y * sizeof(float));
        }
        for (int k = 0; k < 3; k++) free(Y[k]);
        free(X);
        net_drop(&d);
    }
}

static void backward_does_not_depend_on_threads(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        drawn_net d = net_draw(&seed);
        float *g[2];
        for (int k = 0; k < 2; k++) {
            csrec_net *net = create(&d, k ? 5 : 1);
            g[k] = malloc((size_t)(d.weights + d.x) * sizeof(float));
            assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
            assert_ok(csrec_net_backward(net, d.dY, g[k] + d.weights, g[k], NULL));
            csrec_net_destroy(net);
        }
        assert_memory_equal(g[0], g[1], (size_t)(d.weights + d.x) * sizeof(float));
        free(g[0]);
        free(g[1]);
        net_drop(&d);
    }
}

static void steps_equal_the_formula(void **state) {
    (void)state;
    drawn_net d = net_draw(&seed);
    csrec_net *net = create(&d, 2);
    csrec_net_adam adam = {.rate = 1e-2, .beta2 = 0.98, .decay = 0.1, .clip = 0.5, .average = 0.7};
    double *w = net_doubles(d.weights, d.W), *mean = net_doubles(d.weights, d.W);
    double *m = net_doubles(d.weights, NULL), *v = net_doubles(d.weights, NULL);
    float *g = malloc((size_t)d.weights * sizeof *g),
          *got = malloc((size_t)d.weights * sizeof *got);
    for (int step = 1; step <= 4; step++) {
        assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
        assert_ok(csrec_net_backward(net, d.dY, NULL, g, NULL));
        assert_ok(csrec_net_step(net, &adam, NULL));
        double length = 0.0, keep = fmin(0.7, 1.0 - 1.0 / (step + 1.0));
        for (int64_t i = 0; i < d.weights; i++) length += (double)g[i] * (double)g[i];
        double scale = fmin(1.0, adam.clip / sqrt(length));
        for (int64_t i = 0; i < d.weights; i++) {
            double gi = scale * (double)g[i];
            m[i] = 0.9 * m[i] + 0.1 * gi;
            v[i] = 0.98 * v[i] + 0.02 * gi * gi;
            double change =
                m[i] / (1.0 - pow(0.9, step)) / (sqrt(v[i] / (1.0 - pow(0.98, step))) + 1e-8);
            w[i] -= adam.rate * (change + adam.decay * w[i]);
            mean[i] = keep * mean[i] + (1.0 - keep) * w[i];
        }
        for (int average = 0; average < 2; average++) {
            assert_ok(csrec_net_weights(net, average, got, NULL));
            for (int64_t i = 0; i < d.weights; i++) {
                double expected = average ? mean[i] : w[i];
                /* where the gradient vanishes, the quotient of moments is all rounding */
                if (v[i] > 1e-10 && fabs((double)got[i] - expected) > 1e-4)
                    fail_msg("step %d, weight %lld: %g, expected %g", step, (long long)i,
                             (double)got[i], expected);
            }
        }
    }
    free(w);
    free(mean);
    free(m);
    free(v);
    free(g);
    free(got);
    csrec_net_destroy(net);
    net_drop(&d);
}

static void expect_refusal(const csrec_net_layer *layers, int n, const char *words) {
    csrec_net *net = NULL;
    csrec_error error = {""};
    assert_int_equal(csrec_net_create(2, n, layers, NULL, &net, &error), CSREC_ARGUMENT);
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
    assert_null(net);
}

static void wrong_input_is_named(void **state) {
    (void)state;
    const csrec_net_layer kind[] = {{(csrec_net_kind)7, 1, -1, false}};
    const csrec_net_layer none[] = {{CSREC_NET_CONV, 0, -1, false}};
    const csrec_net_layer later[] = {{CSREC_NET_CONV, 2, 0, false}, {CSREC_NET_CONV, 2, 2, false}};
    const csrec_net_layer shape[] = {{CSREC_NET_CONV, 3, -1, false}, {CSREC_NET_CONV, 3, 0, false}};
    const csrec_net_layer twice[] = {{CSREC_NET_CONV, 2, -1, false},
                                     {CSREC_NET_CONV, 2, 0, false},
                                     {CSREC_NET_CONV, 2, 0, false}};
    const csrec_net_layer relu[] = {{CSREC_NET_CONV, 2, -1, true}};
    const csrec_net_layer size[] = {{CSREC_NET_DOWN, 2, -1, false}};
    const csrec_net_layer up[] = {{CSREC_NET_UP, 2, -1, false}};
    expect_refusal(kind, 1, "layer 0: kind 7");
    expect_refusal(none, 1, "layer 0: 0 channels");
    expect_refusal(later, 2, "layer 0: adds result 0");
    expect_refusal(shape, 2, "layer 1: adds result 0, which has another shape");
    expect_refusal(twice, 3, "layer 2: adds result 0, as layer 1 does");
    expect_refusal(relu, 1, "layer 0: the last layer has no relu");
    expect_refusal(size, 1, "layer 0: the last result has another size");
    expect_refusal(up, 1, "layer 0: the size is halved -1 times");
    expect_refusal(NULL, 0, "0 layers");
    drawn_net d = net_draw(&seed);
    csrec_net *net = create(&d, 1);
    csrec_error error = {""};
    assert_int_equal(csrec_net_forward(net, 1, 3, 4, d.X, d.Y, &error), CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "3 x 4; must be multiples of 2"));
    assert_int_equal(csrec_net_backward(net, d.dY, NULL, NULL, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_net_step(net, &(csrec_net_adam){.rate = 1e-3}, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_net_weights(net, true, d.W, &error), CSREC_ARGUMENT);
    d.W[3] = (float)NAN;
    assert_int_equal(csrec_net_set_weights(net, d.W, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "entry 3 is not finite"));
    csrec_net_destroy(net);
    csrec_net_destroy(NULL);
    net_drop(&d);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_equals_direct_sums),
        cmocka_unit_test(gradients_equal_numeric_ones),
        cmocka_unit_test(tiles_and_threads_do_not_change_bits),
        cmocka_unit_test(backward_does_not_depend_on_threads),
        cmocka_unit_test(steps_equal_the_formula),
        cmocka_unit_test(wrong_input_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
