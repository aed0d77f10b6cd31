/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of a network's layers against direct sums in double, for every instruction set:
 * forward, adjoint, gradients. That threads and cuts do not change bits is in test_net.c. */

#include "check.h"
#include "net/block.h"
#include "simd.h"

SEED(seed);
static const csrec_block_simd *sets[3];
static int n_sets;

CHECK_FIRST choose_sets(void) {
    n_sets = SIMD_SETS(sets, &csrec_block_generic, &csrec_block_avx2, &csrec_block_avx512);
}

/* Errors of Winograd's F(4 x 4) and of direct sums in float, of the sum of magnitudes. */
static const double WINOGRAD = 4e-5, DIRECT = 2e-6;

typedef struct drawn {
    csrec_block_shape shape;
    int64_t in, out, x, y; /* unpadded channels; floats of both arrays */
    float *X, *Y, *dY, *W, *packed, *bias, *add, *gate;
    csrec_block_work work;
} drawn;

static float *floats(int64_t count) {
    float *a = aligned_alloc(64, ((size_t)count * 4 + 127) / 64 * 64);
    for (int64_t i = 0; i < count; i++) a[i] = (float)check_normal(&seed);
    return a;
}

/* Channels beyond the unpadded ones are zero. */
static float *pixels(int64_t count, int64_t channels) {
    int64_t padded = csrec_block_padded(channels);
    float *a = floats(count * padded);
    for (int64_t i = 0; i < count * padded; i++)
        if (i % padded >= channels) a[i] = 0.0f;
    return a;
}

static void make_room(drawn *d, const csrec_block_shape *shape, bool packed) {
    free(d->work.memory);
    d->work.memory =
        floats((int64_t)csrec_block_room(d->work.simd, shape, d->work.threads, packed, true) / 4);
}

/* scale: sides of x per side of the shape; the same for y. */
static drawn draw(const csrec_block_simd *simd, int x_scale, int y_scale, int taps) {
    drawn d = {.in = 1 + check_below(&seed, 50), .out = 1 + check_below(&seed, 50)};
    d.shape = (csrec_block_shape){1 + check_below(&seed, 2), 1 + check_below(&seed, 20),
                                  1 + check_below(&seed, 40), csrec_block_padded(d.in),
                                  csrec_block_padded(d.out)};
    int64_t count = d.shape.batch * d.shape.height * d.shape.width;
    d.x = count * x_scale * x_scale;
    d.y = count * y_scale * y_scale;
    d.X = pixels(d.x, d.in);
    d.Y = floats(d.y * d.shape.out);
    d.dY = pixels(d.y, d.out);
    d.add = pixels(d.y, d.out);
    d.gate = pixels(d.y, d.out);
    d.bias = pixels(1, d.out);
    d.W = floats(d.in * d.out * taps);
    d.packed = floats(CSREC_BLOCK_TAPS * d.shape.in * d.shape.out);
    d.work = (csrec_block_work){.simd = simd, .threads = 1 + (int)check_below(&seed, 3)};
    make_room(&d, &d.shape, true);
    return d;
}

static void drop(drawn *d) {
    float *all[] = {d->X, d->Y, d->dY, d->W, d->packed, d->bias, d->add, d->gate, d->work.memory};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static csrec_block_finish draw_finish(const drawn *d) {
    return (csrec_block_finish){check_below(&seed, 2) ? d->bias : NULL,
                                check_below(&seed, 2) ? d->add : NULL,
                                check_below(&seed, 2) ? d->gate : NULL, check_below(&seed, 2)};
}

/* value: the product; size: the sum of its magnitudes. */
static void expect(const drawn *d, const csrec_block_finish *f, int64_t pixel, int64_t k,
                   double value, double size, double tolerance) {
    int64_t at = pixel * d->shape.out + k;
    if (f->bias) value += (double)f->bias[k];
    if (f->add) value += (double)f->add[at];
    if (f->relu && value < 0.0) value = 0.0;
    if (f->gate && !(f->gate[at] > 0.0f)) value = 0.0;
    if (fabs((double)d->Y[at] - value) <= tolerance * (size + 1.0)) return;
    fail_msg("pixel %lld channel %lld of %lld: %g, expected %g; %lld x %lld x %lld, %lld channels",
             (long long)pixel, (long long)k, (long long)d->out, (double)d->Y[at], value,
             (long long)d->shape.batch, (long long)d->shape.height, (long long)d->shape.width,
             (long long)d->in);
}

/* The input under tap t of 3 x 3 about pixel p, 0 outside of its picture. */
static double input(const drawn *d, int64_t p, int t, int64_t c) {
    int64_t n = p / d->shape.width / d->shape.height;
    int64_t y = p / d->shape.width % d->shape.height + t / 3 - 1,
            x = p % d->shape.width + t % 3 - 1;
    if (y < 0 || x < 0 || y >= d->shape.height || x >= d->shape.width) return 0.0;
    return (double)d->X[((n * d->shape.height + y) * d->shape.width + x) * d->shape.in + c];
}

TEST(conv3_equals_direct_sums) {
    for (int round = 0; round < 10 * n_sets; round++) {
        ENDS_BY(drop) drawn d = draw(sets[round % n_sets], 1, 1, 9);
        csrec_block_finish finish = draw_finish(&d);
        bool turned = check_below(&seed, 2);
        csrec_block_kernels kernels = {d.W, turned ? d.out : d.in, turned ? d.in : d.out, turned,
                                       NULL};
        csrec_block_pack3(d.work.simd, d.work.threads, &kernels, d.packed);
        if (check_below(&seed, 2)) kernels.packed = d.packed;
        make_room(&d, &d.shape, kernels.packed != NULL);
        csrec_block_conv3(&d.work, &d.shape, &kernels, d.X, &finish, d.Y);
        for (int64_t p = 0; p < d.y; p++)
            for (int64_t k = 0; k < d.out; k++) {
                double sum = 0.0, size = 0.0;
                for (int64_t c = 0; c < d.in; c++)
                    for (int t = 0; t < 9; t++) {
                        /* adjoint: W[c][k], turned by 180 degrees */
                        double w = (double)(turned ? d.W[(c * d.out + k) * 9 + 8 - t]
                                                   : d.W[(k * d.in + c) * 9 + t]);
                        double v = w * input(&d, p, t, c);
                        sum += v;
                        size += fabs(v);
                    }
                expect(&d, &finish, p, k, sum, size, WINOGRAD);
            }
    }
}

/* In groups of tiles, and with more threads than panels. */
TEST(weights_packed_where_they_are_used_give_the_same_bits) {
    for (int i = 0; i < n_sets; i++) {
        ENDS_BY(drop) drawn d = {.in = 50, .out = 40, .x = 9000, .y = 9000};
        d.shape = (csrec_block_shape){1, 9, 1000, 64, 48};
        d.X = pixels(d.x, d.in);
        d.Y = floats(d.y * d.shape.out);
        d.W = floats(d.in * d.out * 9);
        d.packed = floats(CSREC_BLOCK_TAPS * d.shape.in * d.shape.out);
        d.work = (csrec_block_work){.simd = sets[i], .threads = 7};
        OWNED float *other = floats(d.y * d.shape.out);
        csrec_block_kernels kernels = {d.W, d.in, d.out, false, NULL};
        const csrec_block_finish finish = {.relu = true};
        make_room(&d, &d.shape, false);
        csrec_block_conv3(&d.work, &d.shape, &kernels, d.X, &finish, other);
        csrec_block_pack3(d.work.simd, d.work.threads, &kernels, d.packed);
        kernels.packed = d.packed;
        make_room(&d, &d.shape, true);
        csrec_block_conv3(&d.work, &d.shape, &kernels, d.X, &finish, d.Y);
        assert_memory_equal(d.Y, other, (size_t)(d.y * d.shape.out) * sizeof *other);
    }
}

TEST(gradient3_equals_direct_sums) {
    for (int round = 0; round < 6 * n_sets; round++) {
        ENDS_BY(drop) drawn d = draw(sets[round % n_sets], 1, 1, 9);
        OWNED float *dW = floats(d.in * d.out * 9), *db = floats(d.out);
        csrec_block_gradient3(&d.work, &d.shape, d.in, d.out, d.X, d.dY, dW);
        csrec_block_bias(&d.work, d.y, d.shape.out, d.out, d.dY, db);
        for (int64_t k = 0; k < d.out; k++) {
            double bias = 0.0;
            for (int64_t p = 0; p < d.y; p++) bias += (double)d.dY[p * d.shape.out + k];
            assert_true(fabs(bias - (double)db[k]) < 1e-5 * (1.0 + (double)d.y));
            for (int64_t c = 0; c < d.in; c++)
                for (int t = 0; t < 9; t++) {
                    double sum = 0.0, size = 0.0;
                    for (int64_t p = 0; p < d.y; p++) {
                        double v = (double)d.dY[p * d.shape.out + k] * input(&d, p, t, c);
                        sum += v;
                        size += fabs(v);
                    }
                    assert_true(fabs(sum - (double)dW[(k * d.in + c) * 9 + t]) <=
                                WINOGRAD * (size + 1.0));
                }
        }
    }
}

/* The larger picture's pixel under tap t of the smaller one's pixel p. */
static int64_t under(const drawn *d, int64_t p, int t) {
    int64_t line = p / d->shape.width, x = p % d->shape.width;
    return (2 * line + t / 2) * 2 * d->shape.width + 2 * x + t % 2;
}

/* Both products with W [small][large][2][2]: from the larger picture to the smaller, and back. */
static const struct {
    bool up;
    int x_scale, y_scale;
    void (*product)(const csrec_block_work *, const csrec_block_shape *, const float *,
                    const float *, const csrec_block_finish *, float *);
} ways[] = {{false, 2, 1, csrec_block_down}, {true, 1, 2, csrec_block_up}};

static void expect_product2(const drawn *d, bool up, const csrec_block_finish *finish) {
    OWNED double *sum = calloc((size_t)(d->y * d->out), sizeof *sum);
    OWNED double *size = calloc((size_t)(d->y * d->out), sizeof *size);
    for (int64_t i = 0; i < 4 * (up ? d->x : d->y); i++) {
        int64_t p = i / 4, t = i % 4, q = under(d, p, (int)t);
        for (int64_t k = 0; k < d->out; k++)
            for (int64_t c = 0; c < d->in; c++) {
                double w = (double)d->W[(up ? c * d->out + k : k * d->in + c) * 4 + t];
                double v = w * (double)d->X[(up ? p : q) * d->shape.in + c];
                sum[(up ? q : p) * d->out + k] += v;
                size[(up ? q : p) * d->out + k] += fabs(v);
            }
    }
    for (int64_t i = 0; i < d->y * d->out; i++)
        expect(d, finish, i / d->out, i % d->out, sum[i], size[i], DIRECT);
}

static void expect_gradient2(drawn *d, bool up) {
    int64_t small = up ? d->in : d->out, large = up ? d->out : d->in;
    const float *s = up ? d->X : d->dY, *l = up ? d->dY : d->X;
    csrec_block_shape shape = d->shape;
    shape.in = csrec_block_padded(large);
    shape.out = csrec_block_padded(small);
    make_room(d, &shape, true);
    OWNED float *dW = floats(small * large * 4);
    csrec_block_gradient2(&d->work, &shape, small, large, s, l, dW);
    for (int64_t i = 0; i < small * large * 4; i++) {
        double sum = 0.0, size = 0.0;
        for (int64_t p = 0; p < (up ? d->x : d->y); p++) {
            double v = (double)s[p * shape.out + i / 4 / large] *
                       (double)l[under(d, p, (int)(i % 4)) * shape.in + i / 4 % large];
            sum += v;
            size += fabs(v);
        }
        assert_true(fabs(sum - (double)dW[i]) <= DIRECT * (size + 1.0));
    }
}

TEST(down_up_and_their_gradients_equal_direct_sums) {
    for (int round = 0; round < 20 * n_sets; round++) {
        int way = round / n_sets % 2;
        bool up = ways[way].up;
        ENDS_BY(drop) drawn d = draw(sets[round % n_sets], ways[way].x_scale, ways[way].y_scale, 4);
        csrec_block_finish finish = draw_finish(&d);
        csrec_block_pack2(d.work.simd, d.work.threads, up ? d.in : d.out, up ? d.out : d.in, d.W,
                          up, d.packed);
        ways[way].product(&d.work, &d.shape, d.packed, d.X, &finish, d.Y);
        expect_product2(&d, up, &finish);
        expect_gradient2(&d, up);
    }
}
