/* test_cuda_conv2d.c - convolutions on the device against sums over the definition in double:
 * random geometries, every way that the device has of doing them, parts of a batch, refusals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/conv/engine.h"
#include "device.h"

static uint64_t seed;

typedef struct drawn {
    csrec_conv2d conv;
    int64_t out[2], counts[4]; /* X, W, B, Y */
    float *X, *W, *B, *dY;
    double *Y, *dX, *dW, *dB;                     /* wanted */
    double *Y_size, *dX_size, *dW_size, *dB_size; /* sums of magnitudes */
    char text[200];
} drawn;

static float *draw_floats(int64_t n) {
    float *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(2.0 * check_uniform(&seed) - 1.0);
    return v;
}

static double *zeros(int64_t n) {
    return calloc((size_t)n, sizeof(double));
}

static void add(double *sum, double *size, int64_t i, double value) {
    sum[i] += value;
    size[i] += fabs(value);
}

static void add_products(drawn *d, int64_t x, int64_t w, int64_t y) {
    add(d->Y, d->Y_size, y, (double)d->X[x] * (double)d->W[w]);
    add(d->dX, d->dX_size, x, (double)d->dY[y] * (double)d->W[w]);
    add(d->dW, d->dW_size, w, (double)d->dY[y] * (double)d->X[x]);
}

/* All taps of a result. */
static void visit(drawn *d, int64_t n, int64_t co, int64_t i, int64_t j) {
    const csrec_conv2d *c = &d->conv;
    int64_t y = ((n * c->channels_out + co) * d->out[0] + i) * d->out[1] + j;
    add(d->Y, d->Y_size, y, (double)d->B[co]);
    add(d->dB, d->dB_size, co, (double)d->dY[y]);
    for (int64_t ci = 0; ci < c->channels_in; ci++)
        for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
            int64_t h = i * c->stride[0] - c->padding[0] + k / c->kernel[1] * c->dilation[0];
            int64_t v = j * c->stride[1] - c->padding[1] + k % c->kernel[1] * c->dilation[1];
            if (h < 0 || h >= c->size[0] || v < 0 || v >= c->size[1]) continue;
            add_products(d, ((n * c->channels_in + ci) * c->size[0] + h) * c->size[1] + v,
                         (co * c->channels_in + ci) * c->kernel[0] * c->kernel[1] + k, y);
        }
}

static void complete(drawn *d) {
    csrec_conv2d *c = &d->conv;
    c->backend = "cuda";
    assert_ok(csrec_conv2d_output(c, d->out, NULL));
    d->counts[0] = c->batch * c->channels_in * c->size[0] * c->size[1];
    d->counts[1] = c->channels_out * c->channels_in * c->kernel[0] * c->kernel[1];
    d->counts[2] = c->channels_out;
    d->counts[3] = c->batch * c->channels_out * d->out[0] * d->out[1];
    d->X = draw_floats(d->counts[0]);
    d->W = draw_floats(d->counts[1]);
    d->B = draw_floats(d->counts[2]);
    d->dY = draw_floats(d->counts[3]);
    double **sums[] = {&d->dX, &d->dW, &d->dB, &d->Y};
    double **sizes[] = {&d->dX_size, &d->dW_size, &d->dB_size, &d->Y_size};
    for (int k = 0; k < 4; k++) {
        *sums[k] = zeros(d->counts[k]);
        *sizes[k] = zeros(d->counts[k]);
    }
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t co = 0; co < c->channels_out; co++)
            for (int64_t i = 0; i < d->out[0]; i++)
                for (int64_t j = 0; j < d->out[1]; j++) visit(d, n, co, i, j);
    snprintf(d->text, sizeof d->text,
             "batch %d, %d to %d channels, %dx%d, kernel %dx%d, stride %dx%d, padding %dx%d, "
             "dilation %dx%d",
             (int)c->batch, (int)c->channels_in, (int)c->channels_out, (int)c->size[0],
             (int)c->size[1], (int)c->kernel[0], (int)c->kernel[1], (int)c->stride[0],
             (int)c->stride[1], (int)c->padding[0], (int)c->padding[1], (int)c->dilation[0],
             (int)c->dilation[1]);
}

/* Now and then many channels, long lines or a step: tiles' edges. */
static void draw_shape(csrec_conv2d *c, bool steps) {
    bool deep = check_below(&seed, 4) == 0, wide = !deep && check_below(&seed, 3) == 0;
    *c = (csrec_conv2d){.batch = 1 + check_below(&seed, 3),
                        .channels_in = 1 + check_below(&seed, deep ? 80 : 4),
                        .channels_out = 1 + check_below(&seed, deep ? 80 : 6)};
    for (int a = 0; a < 2; a++) {
        c->size[a] = 1 + check_below(&seed, a == 1 && wide ? 300 : 12);
        c->kernel[a] = 1 + check_below(&seed, deep ? 3 : 6);
        c->stride[a] = steps ? 1 + check_below(&seed, 3) : 1;
        c->dilation[a] = steps ? 1 + check_below(&seed, 3) : 1;
        c->padding[a] = check_below(&seed, 5);
    }
}

/* Pictures of several tiles of windows, and channels that fill theirs. */
static void draw_windows(csrec_conv2d *c, bool steps) {
    *c = (csrec_conv2d){.batch = 1 + check_below(&seed, 2),
                        .channels_in = 6 + check_below(&seed, 14),
                        .channels_out = 6 + check_below(&seed, 34)};
    for (int a = 0; a < 2; a++) {
        c->size[a] = (a == 1 ? 28 : 6) + check_below(&seed, a == 1 ? 50 : 14);
        c->kernel[a] = 1 + check_below(&seed, 4);
        c->stride[a] = steps ? 1 + check_below(&seed, 2) : 1;
        c->dilation[a] = steps ? 1 + check_below(&seed, 3) : 1;
        c->padding[a] = check_below(&seed, 4);
    }
}

static drawn draw(void) {
    drawn d = {0};
    bool windows = check_below(&seed, 4) == 0, steps = check_below(&seed, 2) == 0;
    csrec_error error;
    do {
        if (windows)
            draw_windows(&d.conv, steps);
        else
            draw_shape(&d.conv, steps);
    } while (csrec_conv2d_output(&d.conv, d.out, &error));
    complete(&d);
    return d;
}

static void drop(drawn *d) {
    void *arrays[] = {d->X,  d->W,  d->B,      d->dY,      d->Y,       d->dX,
                      d->dW, d->dB, d->Y_size, d->dX_size, d->dW_size, d->dB_size};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
}

/* Each product is off by at most 2^-21 of it (kernels/conv/multiply.cu), and sums of float parts
 * by an ulp of the sum of magnitudes for each of some parts: 8 ulps in all are 2^-20. */
static void expect(const drawn *d, const char *what, int64_t n, const float *found,
                   const double *wanted, const double *sizes) {
    for (int64_t i = 0; i < n; i++) {
        double bound = 8.0 * (double)FLT_EPSILON * sizes[i] + 1e-30;
        if (!(fabs((double)found[i] - wanted[i]) <= bound))
            fail_msg("%s: %s[%lld] is %.9g, not %.9g (+- %.3g)", d->text, what, (long long)i,
                     (double)found[i], wanted[i], bound);
    }
}

static void forward(const drawn *d, float *Y) {
    size_t bytes;
    assert_ok(csrec_conv2d_workspace(&d->conv, &bytes, NULL, NULL));
    void *workspace = malloc(bytes ? bytes : 1);
    csrec_error error = {{0}};
    if (csrec_conv2d_forward(&d->conv, d->X, d->W, NULL, d->B, Y, workspace, bytes, &error))
        fail_msg("%s: %s", d->text, error.text);
    free(workspace);
}

static void backward(const drawn *d, float *dX, float *dW, float *dB) {
    size_t bytes;
    assert_ok(csrec_conv2d_workspace(&d->conv, NULL, &bytes, NULL));
    void *workspace = malloc(bytes ? bytes : 1);
    csrec_error error = {{0}};
    if (csrec_conv2d_backward(&d->conv, d->X, d->W, NULL, d->dY, dX, dW, dB, workspace, bytes,
                              &error))
        fail_msg("%s: %s", d->text, error.text);
    free(workspace);
}

static void check(drawn *d) {
    float *g[4], *again[4];
    for (int k = 0; k < 4; k++) {
        g[k] = draw_floats(d->counts[k]);
        again[k] = draw_floats(d->counts[k]);
    }
    forward(d, g[3]);
    expect(d, "Y", d->counts[3], g[3], d->Y, d->Y_size);
    backward(d, g[0], g[1], g[2]);
    expect(d, "dX", d->counts[0], g[0], d->dX, d->dX_size);
    expect(d, "dW", d->counts[1], g[1], d->dW, d->dW_size);
    expect(d, "dB", d->counts[2], g[2], d->dB, d->dB_size);
    forward(d, again[3]);
    backward(d, again[0], NULL, NULL);
    backward(d, NULL, again[1], NULL);
    backward(d, NULL, NULL, again[2]);
    for (int k = 0; k < 4; k++) {
        assert_memory_equal(g[k], again[k], (size_t)d->counts[k] * sizeof(float));
        free(g[k]);
        free(again[k]);
    }
}

static void any_geometry(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int round = 0; round < 150; round++) {
        drawn d = draw();
        check(&d);
        drop(&d);
    }
}

/* Small pictures of the shapes that the bench measures: few rows and many taps, whose rows are
 * taken by taps; one channel and many rows; the same channels on both sides. Then windows: more
 * rows than a thread block's, more taps, taps that do not fill a stage, one tap. */
static void known_shapes(void **state) {
    (void)state;
    if (no_device()) skip();
    const int64_t shapes[][6] = {{1, 64, 1, 20, 8, 4}, {1, 1, 64, 20, 8, 4},  {2, 64, 64, 9, 3, 1},
                                 {2, 3, 3, 17, 5, 2},  {3, 24, 2, 11, 4, 0},  {1, 65, 33, 6, 1, 0},
                                 {1, 9, 80, 29, 3, 1}, {1, 16, 20, 29, 5, 2}, {2, 9, 17, 30, 2, 0},
                                 {2, 20, 12, 31, 1, 0}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t *s = shapes[k];
        drawn d = {.conv = {.batch = s[0],
                            .channels_in = s[1],
                            .channels_out = s[2],
                            .size = {s[3], s[3] + 3},
                            .kernel = {s[4], s[4]},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .padding = {s[5], s[5]}}};
        complete(&d);
        check(&d);
        drop(&d);
    }
}

/* Values whose sizes differ by 2^60: no digits are lost to a common scale. */
static void any_size(void **state) {
    (void)state;
    if (no_device()) skip();
    drawn d = {.conv = {.batch = 2,
                        .channels_in = 3,
                        .channels_out = 5,
                        .size = {9, 30},
                        .kernel = {3, 3},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .padding = {1, 1}}};
    complete(&d);
    for (int64_t i = 0; i < d.counts[0]; i++)
        d.X[i] = ldexpf(d.X[i], (int)check_below(&seed, 60) - 30);
    for (int64_t i = 0; i < d.counts[3]; i++)
        d.dY[i] = ldexpf(d.dY[i], (int)check_below(&seed, 60) - 30);
    drawn other = d;
    double **sums[] = {&other.dX,      &other.dW,      &other.dB,      &other.Y,
                       &other.dX_size, &other.dW_size, &other.dB_size, &other.Y_size};
    for (int k = 0; k < 8; k++) memset(*sums[k], 0, (size_t)d.counts[k % 4] * sizeof(double));
    for (int64_t y = 0; y < d.counts[3]; y++) {
        int64_t plane = d.out[0] * d.out[1];
        visit(&other, y / plane / 5, y / plane % 5, y % plane / d.out[1], y % d.out[1]);
    }
    check(&other);
    drop(&other);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_geometry),
        cmocka_unit_test(known_shapes),
        cmocka_unit_test(any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
