/* test_cuda_net.c - networks on the device: forward and gradients against sums in double, the CPU's
 * results and steps; the same bits again, in tiles, and without what backward needs. */
#include "device.h"
#include "net.h"

static uint64_t seed;

/* ------------------------------------------------------------------ random networks */

static void complete(drawn_net *d) {
    int64_t out = d->layer[d->n - 1].channels;
    d->weights = 0;
    for (int i = 0; i < d->n; i++)
        d->weights += net_channels(d, i) * net_channels(d, i + 1) *
                          (d->layer[i].kind == CSREC_NET_CONV ? 9 : 4) +
                      net_channels(d, i + 1);
    d->x = d->batch * d->channels * d->height * d->width;
    d->y = d->batch * out * d->height * d->width;
    d->W = net_floats(&seed, d->weights, 0.1);
    d->X = net_floats(&seed, d->x, 1.0);
    d->Y = net_floats(&seed, d->y, 1.0);
    d->dY = net_floats(&seed, d->y, 1.0);
}

/* Channels of several parts and several tiles of rows, pictures of several tiles. */
static drawn_net draw_wide(void) {
    drawn_net d = {.channels = 1 + check_below(&seed, 40), .batch = 1 + check_below(&seed, 2)};
    int64_t a = 30 + check_below(&seed, 12), b = 60 + check_below(&seed, 16);
    csrec_net_layer layers[] = {{CSREC_NET_CONV, a, -1, false}, {CSREC_NET_CONV, a, -1, true},
                                {CSREC_NET_CONV, a, 1, false},  {CSREC_NET_DOWN, b, -1, true},
                                {CSREC_NET_CONV, b, -1, true},  {CSREC_NET_CONV, b, 4, false},
                                {CSREC_NET_DOWN, 70, -1, true}, {CSREC_NET_UP, b, 6, true},
                                {CSREC_NET_UP, a, 3, false},    {CSREC_NET_CONV, 2, -1, false}};
    d.n = (int)(sizeof layers / sizeof *layers);
    memcpy(d.layer, layers, sizeof layers);
    d.height = 4 * (1 + check_below(&seed, 8));
    d.width = 4 * (1 + check_below(&seed, 12));
    complete(&d);
    return d;
}

static drawn_net draw(int round) {
    return round % 3 == 2 ? draw_wide() : net_draw(&seed);
}

static csrec_net *create(const drawn_net *d, const char *backend, bool fast) {
    csrec_net_options options = {.threads = 2, .backend = backend, .fast = fast};
    csrec_net *net = NULL;
    csrec_error error = {""};
    if (csrec_net_create(d->channels, d->n, d->layer, &options, &net, &error))
        fail_msg("%s", error.text);
    int64_t weights;
    assert_string_equal(csrec_net_info(net, &weights, NULL, NULL), backend);
    assert_int_equal(weights, d->weights);
    assert_ok(csrec_net_set_weights(net, d->W, NULL));
    return net;
}

/* ------------------------------------------------------------------ reference in double */

typedef struct reference {
    double *W, *Y, *dX, *dW;
    double nearest; /* see net_reference */
} reference;

/* Of one picture. */
typedef struct trace {
    int64_t height[NET_LAYERS + 1], width[NET_LAYERS + 1], weight[NET_LAYERS];
    double *result[NET_LAYERS + 1], *gradient[NET_LAYERS + 1];
} trace;

static int64_t size_of(const drawn_net *d, const trace *t, int i) {
    return net_channels(d, i) * t->height[i] * t->width[i];
}

static trace begin(const drawn_net *d, const float *X) {
    trace t = {.height = {d->height}, .width = {d->width}};
    int64_t at = 0;
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layer[i];
        bool down = l->kind == CSREC_NET_DOWN, up = l->kind == CSREC_NET_UP;
        t.height[i + 1] = down ? t.height[i] / 2 : up ? 2 * t.height[i] : t.height[i];
        t.width[i + 1] = down ? t.width[i] / 2 : up ? 2 * t.width[i] : t.width[i];
        t.weight[i] = at;
        at += net_channels(d, i) * l->channels * (down || up ? 4 : 9) + l->channels;
    }
    t.result[0] = net_doubles(size_of(d, &t, 0), X);
    for (int i = 1; i <= d->n; i++) t.result[i] = net_doubles(size_of(d, &t, i), NULL);
    for (int i = 0; i <= d->n; i++) t.gradient[i] = net_doubles(size_of(d, &t, i), NULL);
    return t;
}

static void end(const drawn_net *d, trace *t) {
    for (int i = 0; i <= d->n; i++) {
        free(t->result[i]);
        free(t->gradient[i]);
    }
}

static void trace_forward(const drawn_net *d, trace *t, reference *r) {
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layer[i];
        double nearest =
            net_layer(l, net_channels(d, i), r->W + t->weight[i], t->height[i], t->width[i],
                      t->result[i], l->add >= 0 ? t->result[l->add] : NULL, t->result[i + 1]);
        r->nearest = fmin(r->nearest, nearest);
    }
}

/* What one result of layer i adds to the gradients. */
static void spread(const drawn_net *d, trace *t, reference *r, int layer, int64_t at, double v) {
    const csrec_net_kind kind = d->layer[layer].kind;
    int64_t h = t->height[layer], w = t->width[layer], in = net_channels(d, layer);
    int64_t out = d->layer[layer].channels, ow = t->width[layer + 1];
    int64_t k = at / ow / t->height[layer + 1], i = at / ow % t->height[layer + 1], j = at % ow;
    int taps = kind == CSREC_NET_CONV ? 9 : kind == CSREC_NET_DOWN ? 4 : 1;
    double *dW = r->dW + t->weight[layer], *W = r->W + t->weight[layer];
    dW[in * out * (kind == CSREC_NET_CONV ? 9 : 4) + k] += v;
    for (int64_t c = 0; c < in; c++)
        for (int n = 0; n < taps; n++) {
            int64_t y = i / 2, x = j / 2, weight = (c * out + k) * 4 + i % 2 * 2 + j % 2;
            if (kind == CSREC_NET_DOWN)
                y = 2 * i + n / 2, x = 2 * j + n % 2, weight = (k * in + c) * 4 + n;
            if (kind == CSREC_NET_CONV)
                y = i + n / 3 - 1, x = j + n % 3 - 1, weight = (k * in + c) * 9 + n;
            if (y < 0 || x < 0 || y >= h || x >= w) continue;
            dW[weight] += v * t->result[layer][(c * h + y) * w + x];
            t->gradient[layer][(c * h + y) * w + x] += v * W[weight];
        }
}

static void trace_backward(const drawn_net *d, trace *t, reference *r) {
    for (int i = d->n - 1; i >= 0; i--)
        for (int64_t k = 0; k < size_of(d, t, i + 1); k++) {
            double v = t->gradient[i + 1][k];
            if (d->layer[i].relu && !(t->result[i + 1][k] > 0.0)) continue;
            spread(d, t, r, i, k, v);
            if (d->layer[i].add >= 0) t->gradient[d->layer[i].add][k] += v;
        }
}

static reference reference_of(const drawn_net *d) {
    reference r = {.W = net_doubles(d->weights, d->W),
                   .Y = net_doubles(d->y, NULL),
                   .dX = net_doubles(d->x, NULL),
                   .dW = net_doubles(d->weights, NULL),
                   .nearest = INFINITY};
    int64_t x = d->x / d->batch, y = d->y / d->batch;
    for (int64_t n = 0; n < d->batch; n++) {
        trace t = begin(d, d->X + n * x);
        trace_forward(d, &t, &r);
        for (int64_t k = 0; k < y; k++) t.gradient[d->n][k] = (double)d->dY[n * y + k];
        trace_backward(d, &t, &r);
        memcpy(r.Y + n * y, t.result[d->n], (size_t)y * sizeof(double));
        memcpy(r.dX + n * x, t.gradient[0], (size_t)x * sizeof(double));
        end(d, &t);
    }
    return r;
}

static void reference_drop(reference *r) {
    free(r->W);
    free(r->Y);
    free(r->dX);
    free(r->dW);
}

/* ------------------------------------------------------------------ comparisons */

typedef struct passes {
    float *Y, *dX, *dW;
} passes;

static passes run(const drawn_net *d, csrec_net *net) {
    passes p = {malloc((size_t)d->y * sizeof(float)), malloc((size_t)d->x * sizeof(float)),
                malloc((size_t)d->weights * sizeof(float))};
    csrec_error error = {""};
    if (csrec_net_forward(net, d->batch, d->height, d->width, d->X, p.Y, &error) ||
        csrec_net_backward(net, d->dY, p.dX, p.dW, &error))
        fail_msg("%s", error.text);
    return p;
}

static void passes_drop(passes *p) {
    free(p->Y);
    free(p->dX);
    free(p->dW);
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

static void expect_all(const drawn_net *d, bool fast, const reference *r, double tolerance) {
    csrec_net *net = create(d, "cuda", fast);
    passes p = run(d, net);
    expect(d, "Y", d->y, p.Y, r->Y, tolerance);
    expect(d, "dX", d->x, p.dX, r->dX, tolerance);
    expect(d, "dW", d->weights, p.dW, r->dW, tolerance);
    passes_drop(&p);
    csrec_net_destroy(net);
}

/* Wide networks without relus: some of their many sums are always near 0. */
static void passes_equal_direct_sums(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 12;) {
        drawn_net d = draw(round);
        if (round % 3 == 2)
            for (int i = 0; i < d.n; i++) d.layer[i].relu = false;
        reference r = reference_of(&d);
        if (r.nearest > net_clear) {
            expect_all(&d, false, &r, 2e-5);
            round++;
        }
        reference_drop(&r);
        net_drop(&d);
    }
}

/* Relus change sides at this accuracy, whose gradients are then others: networks without. */
static void fast_passes_are_near(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 9; round++) {
        drawn_net d = draw(round);
        for (int i = 0; i < d.n; i++) d.layer[i].relu = false;
        reference r = reference_of(&d);
        expect_all(&d, true, &r, 5e-3);
        reference_drop(&r);
        net_drop(&d);
    }
}

/* Relus of wide networks, and at the lower accuracy. */
static void results_are_the_cpus(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 12; round++) {
        drawn_net d = draw(round);
        csrec_net *cpu = create(&d, "cpu", false);
        assert_ok(csrec_net_forward(cpu, d.batch, d.height, d.width, d.X, d.Y, NULL));
        double *wanted = net_doubles(d.y, d.Y);
        for (int fast = 0; fast < 2; fast++) {
            csrec_net *net = create(&d, "cuda", fast);
            assert_ok(csrec_net_forward(net, d.batch, d.height, d.width, d.X, d.Y, NULL));
            expect(&d, "Y", d.y, d.Y, wanted, fast ? 5e-3 : 1e-4);
            csrec_net_destroy(net);
        }
        free(wanted);
        csrec_net_destroy(cpu);
        net_drop(&d);
    }
}

static void bits_are_the_same_again(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 6; round++) {
        drawn_net d = draw(round);
        csrec_net *net = create(&d, "cuda", round % 2), *other = create(&d, "cuda", round % 2);
        passes p[] = {run(&d, net), run(&d, net), run(&d, other)};
        for (int k = 1; k < 3; k++) {
            assert_memory_equal(p[0].Y, p[k].Y, (size_t)d.y * sizeof(float));
            assert_memory_equal(p[0].dX, p[k].dX, (size_t)d.x * sizeof(float));
            assert_memory_equal(p[0].dW, p[k].dW, (size_t)d.weights * sizeof(float));
        }
        for (int k = 0; k < 3; k++) passes_drop(&p[k]);
        csrec_net_destroy(net);
        csrec_net_destroy(other);
        net_drop(&d);
    }
}

/* One picture: forward, apply, which uses memory again, and apply in tiles. */
static void tiles_do_not_change_bits(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 6; round++) {
        drawn_net d = draw(round);
        int64_t grain = round % 3 == 2 ? 4 : 2, height = grain * (10 + check_below(&seed, 30));
        int64_t width = grain * (10 + check_below(&seed, 30)), out = net_channels(&d, d.n);
        float *X = net_floats(&seed, d.channels * height * width, 1.0), *Y[3];
        size_t bytes = (size_t)(out * height * width) * sizeof(float);
        csrec_net *net = create(&d, "cuda", round % 2);
        for (int k = 0; k < 3; k++) Y[k] = malloc(bytes);
        assert_ok(csrec_net_forward(net, 1, height, width, X, Y[0], NULL));
        assert_ok(csrec_net_apply(net, height, width, X, Y[1], 0, NULL, NULL, NULL));
        assert_ok(csrec_net_apply(net, height, width, X, Y[2], 1, NULL, NULL, NULL));
        for (int k = 1; k < 3; k++) assert_memory_equal(Y[0], Y[k], bytes);
        for (int k = 0; k < 3; k++) free(Y[k]);
        free(X);
        csrec_net_destroy(net);
        net_drop(&d);
    }
}

/* Where a gradient vanishes its direction is all rounding, and Adam's steps are as long as any;
 * relus at zero would make such gradients differ. */
static void steps_are_the_cpus(void **state) {
    (void)state;
    if (no_device()) skip();
    drawn_net d = net_draw(&seed);
    for (int i = 0; i < d.n; i++) d.layer[i].relu = false;
    csrec_net_adam adam = {.rate = 1e-3, .beta2 = 0.98, .decay = 0.1, .clip = 0.5, .average = 0.7};
    csrec_net *net[] = {create(&d, "cpu", false), create(&d, "cuda", false)};
    float *W[2], *mean[2];
    bool *known = malloc((size_t)d.weights * sizeof *known);
    memset(known, 1, (size_t)d.weights * sizeof *known);
    for (int k = 0; k < 2; k++) {
        W[k] = malloc((size_t)d.weights * sizeof(float));
        mean[k] = malloc((size_t)d.weights * sizeof(float));
        for (int step = 0; step < 3; step++) {
            passes p = run(&d, net[k]);
            double largest = 0.0;
            for (int64_t i = 0; i < d.weights; i++) largest = fmax(largest, fabs((double)p.dW[i]));
            for (int64_t i = 0; i < d.weights; i++)
                known[i] = known[i] && fabs((double)p.dW[i]) > 1e-2 * largest;
            assert_ok(csrec_net_step(net[k], &adam, NULL));
            passes_drop(&p);
        }
        assert_ok(csrec_net_weights(net[k], false, W[k], NULL));
        assert_ok(csrec_net_weights(net[k], true, mean[k], NULL));
    }
    for (int64_t i = 0; i < d.weights; i++)
        if (known[i] && (fabs((double)W[0][i] - (double)W[1][i]) > 2e-5 ||
                         fabs((double)mean[0][i] - (double)mean[1][i]) > 2e-5))
            fail_msg("weight %lld: %.9g, not %.9g; mean %.9g, not %.9g", (long long)i,
                     (double)W[1][i], (double)W[0][i], (double)mean[1][i], (double)mean[0][i]);
    for (int k = 0; k < 2; k++) {
        free(W[k]);
        free(mean[k]);
        csrec_net_destroy(net[k]);
    }
    free(known);
    net_drop(&d);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_equal_direct_sums), cmocka_unit_test(fast_passes_are_near),
        cmocka_unit_test(results_are_the_cpus),     cmocka_unit_test(bits_are_the_same_again),
        cmocka_unit_test(tiles_do_not_change_bits), cmocka_unit_test(steps_are_the_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
