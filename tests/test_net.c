/* SPDX-License-Identifier: BSD-3-Clause */
/* test_net.c - networks on every backend: forward and gradients against sums in double, over random
 * networks; steps of Adam against the formula; tiles, threads and a second run do not change bits;
 * a device beside the CPU; wrong input. */
#include "backends.h"
#include "net.h"

SEED(seed);

static drawn_net draw(int round) {
    return round % 3 == 2 ? net_draw_wide(&seed) : net_draw(&seed);
}

static csrec_net *create_on(const drawn_net *d, const char *backend, bool fast, int threads) {
    csrec_net_options options = {.threads = threads, .backend = backend, .fast = fast};
    csrec_net *net = NULL;
    assert_well(csrec_net_create(d->channels, d->n, d->layer, &options, &net, &told));
    int64_t weights;
    assert_string_equal(csrec_net_info(net, &weights, NULL, NULL), backend);
    assert_int_equal(weights, d->weights);
    assert_ok(csrec_net_set_weights(net, d->W, NULL));
    return net;
}

static csrec_net *create(const drawn_net *d, int threads) {
    csrec_net *net = create_on(d, "cpu", false, threads);
    int64_t multiple;
    csrec_net_info(net, NULL, &multiple, NULL);
    assert_int_equal(multiple, 2);
    return net;
}

typedef struct passes {
    float *Y, *dX, *dW;
} passes;

static passes run(const drawn_net *d, csrec_net *net) {
    passes p = {check_keep((size_t)d->y * sizeof(float)), check_keep((size_t)d->x * sizeof(float)),
                check_keep((size_t)d->weights * sizeof(float))};
    assert_well(csrec_net_forward(net, d->batch, d->height, d->width, d->X, p.Y, &told));
    assert_well(csrec_net_backward(net, d->dY, p.dX, p.dW, &told));
    return p;
}

static void expect(const drawn_net *d, const char *what, int64_t n, const float *found,
                   const double *wanted, double tolerance) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(wanted[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - wanted[i]) <= tolerance * largest))
            fail_msg("batch %d, %d layers, %d channels, %d x %d: %s[%lld] is %.9g, not %.9g; the "
                     "largest is %g",
                     (int)d->batch, d->n, (int)d->channels, (int)d->height, (int)d->width, what,
                     (long long)i, (double)found[i], wanted[i], largest);
}

static void expect_all(const drawn_net *d, const char *backend, bool fast, const net_reference *r,
                       double tolerance) {
    ENDS_BY(end_net) csrec_net *net = create_on(d, backend, fast, 2);
    passes p = run(d, net);
    expect(d, "Y", d->y, p.Y, r->Y, tolerance);
    expect(d, "dX", d->x, p.dX, r->dX, tolerance);
    expect(d, "dW", d->weights, p.dW, r->dW, tolerance);
}

/* Wide networks without relus: some of their many sums are always near 0. */
TEST_ON_EACH(passes_equal_direct_sums) {
    const char *backend = check_backend(state);
    for (int round = 0; round < 12;) {
        drawn_net d = draw(round);
        if (round % 3 == 2)
            for (int i = 0; i < d.n; i++) d.layer[i].relu = false;
        net_reference r = net_reference_of(&d);
        if (r.nearest > net_clear) {
            expect_all(&d, backend, false, &r, 2e-5);
            round++;
        }
    }
}

/* Relus change sides at this accuracy, whose gradients are then others: networks without. */
TEST_ON("cuda", fast_passes_are_near) {
    const char *backend = check_backend(state);
    for (int round = 0; round < 9; round++) {
        drawn_net d = draw(round);
        for (int i = 0; i < d.n; i++) d.layer[i].relu = false;
        net_reference r = net_reference_of(&d);
        expect_all(&d, backend, true, &r, 5e-3);
    }
}

/* Relus of wide networks, and at the lower accuracy. */
TEST_ON("cuda", results_are_the_cpus) {
    const char *backend = check_backend(state);
    for (int round = 0; round < 12; round++) {
        drawn_net d = draw(round);
        ENDS_BY(end_net) csrec_net *cpu = create_on(&d, "cpu", false, 2);
        assert_ok(csrec_net_forward(cpu, d.batch, d.height, d.width, d.X, d.Y, NULL));
        double *wanted = net_doubles(d.y, d.Y);
        for (int fast = 0; fast < 2; fast++) {
            ENDS_BY(end_net) csrec_net *net = create_on(&d, backend, fast, 2);
            assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
            expect(&d, "Y", d.y, d.Y, wanted, fast ? 5e-3 : 1e-4);
        }
    }
}

TEST_ON_EACH(bits_are_the_same_again) {
    const char *backend = check_backend(state);
    for (int round = 0; round < 6; round++) {
        drawn_net d = draw(round);
        bool fast = strcmp(backend, "cuda") == 0 && round % 2;
        ENDS_BY(end_net)
        csrec_net *net = create_on(&d, backend, fast, 2), *other = create_on(&d, backend, fast, 5);
        passes p[] = {run(&d, net), run(&d, net), run(&d, other)};
        for (int k = 1; k < 3; k++) {
            assert_memory_equal(p[0].Y, p[k].Y, (size_t)d.y * sizeof(float));
            assert_memory_equal(p[0].dX, p[k].dX, (size_t)d.x * sizeof(float));
            assert_memory_equal(p[0].dW, p[k].dW, (size_t)d.weights * sizeof(float));
        }
    }
}

/* One picture: forward, apply, which uses memory again, and apply in tiles. */
TEST_ON_EACH(tiles_do_not_change_bits) {
    const char *backend = check_backend(state);
    for (int round = 0; round < 6; round++) {
        drawn_net d = draw(round);
        int64_t grain = round % 3 == 2 ? 4 : 2, height = grain * (10 + check_below(&seed, 30));
        int64_t width = grain * (10 + check_below(&seed, 30)), out = net_channels(&d, d.n);
        float *X = net_floats(&seed, d.channels * height * width, 1.0), *Y[3];
        size_t bytes = (size_t)(out * height * width) * sizeof(float);
        bool fast = strcmp(backend, "cuda") == 0 && round % 2;
        ENDS_BY(end_net) csrec_net *net = create_on(&d, backend, fast, 2);
        for (int k = 0; k < 3; k++) Y[k] = check_keep(bytes);
        assert_ok(csrec_net_forward(net, 1, height, width, X, Y[0], NULL));
        assert_ok(csrec_net_apply(net, height, width, X, Y[1], 0, NULL, NULL, NULL));
        assert_ok(csrec_net_apply(net, height, width, X, Y[2], 1, NULL, NULL, NULL));
        for (int k = 1; k < 3; k++) assert_memory_equal(Y[0], Y[k], bytes);
    }
}

TEST_ON_EACH(steps_equal_the_formula) {
    const char *backend = check_backend(state);
    drawn_net d = net_draw(&seed);
    ENDS_BY(end_net) csrec_net *net = create_on(&d, backend, false, 2);
    csrec_net_adam adam = {.rate = 1e-2, .beta2 = 0.98, .decay = 0.1, .clip = 0.5, .average = 0.7};
    double *w = net_doubles(d.weights, d.W), *mean = net_doubles(d.weights, d.W);
    double *m = net_doubles(d.weights, NULL), *v = net_doubles(d.weights, NULL);
    OWNED float *g = malloc((size_t)d.weights * sizeof *g),
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
}

/* Pictures of several tiles, cut wherever the memory asks for it. */
TEST(tiles_and_threads_do_not_change_bits) {
    for (int round = 0; round < 6; round++) {
        drawn_net d = net_draw(&seed);
        int64_t height = 2 * (20 + check_below(&seed, 60)),
                width = 2 * (20 + check_below(&seed, 60));
        int64_t x = d.channels * height * width, y = net_channels(&d, d.n) * height * width;
        float *X = net_floats(&seed, x, 1.0), *Y[3];
        for (int k = 0; k < 3; k++) {
            ENDS_BY(end_net) csrec_net *net = create(&d, k == 1 ? 1 : 3);
            Y[k] = check_keep((size_t)y * sizeof(float));
            assert_ok(
                csrec_net_apply(net, height, width, X, Y[k], k == 2 ? 1 : 0, NULL, NULL, NULL));
            if (k) assert_memory_equal(Y[0], Y[k], (size_t)y * sizeof(float));
        }
    }
}

static void expect_refusal(const csrec_net_layer *layers, int n, const char *words) {
    csrec_net *net = NULL;
    csrec_error error = {""};
    assert_int_equal(csrec_net_create(2, n, layers, NULL, &net, &error), CSREC_ARGUMENT);
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
    assert_null(net);
}

TEST(wrong_input_is_named) {
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
    ENDS_BY(end_net) csrec_net *net = create(&d, 1);
    assert_refused(csrec_net_forward(net, 1, 3, 4, d.X, d.Y, &told), CSREC_ARGUMENT,
                   "3 x 4; must be multiples of 2");
    assert_fails(csrec_net_backward(net, d.dY, NULL, NULL, &told), CSREC_ARGUMENT);
    assert_fails(csrec_net_step(net, &(csrec_net_adam){.rate = 1e-3}, &told), CSREC_ARGUMENT);
    assert_fails(csrec_net_weights(net, true, d.W, &told), CSREC_ARGUMENT);
    d.W[3] = (float)NAN;
    assert_refused(csrec_net_set_weights(net, d.W, &told), CSREC_DATA, "entry 3 is not finite");
    csrec_net_destroy(NULL);
}
