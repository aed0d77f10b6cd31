/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers at the ends of their range outside the recovery of a measurement: models, dense
 * systems, learners, convolutions of networks. Results are finite, or refused in one line. */
#include <float.h>
#include "boundary.h"

/* One entry of an array is what no learner makes: refused, by the names of the array. */
TEST(absurd_models_are_refused) {
    const double wrong[] = {NAN, INFINITY, -INFINITY, 1.1e100, -1e153, 1e308};
    problem p;
    set_measurement(&p, 2, 1);
    ENDS_BY(end_model) csrec_model *model = make_model(&p, "pca", true), *made = NULL;
    const char *names[8], *name;
    const csrec_array *arrays[8], *array;
    int count = 0;
    for (; csrec_model_info(model, count, &name, &array); count++) {
        names[count] = name;
        arrays[count] = array;
    }
    for (int a = 0; a < count; a++) {
        if (arrays[a]->dtype != CSREC_F64) continue;
        int64_t at = check_below(&seed, arrays[a]->count);
        double *entry = (double *)arrays[a]->data + at, held = *entry;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            csrec_error error = {{0}};
            *entry = wrong[i];
            assert_int_equal(csrec_model_create("pca", count, names, arrays, &made, &error),
                             CSREC_DATA);
            if (!strstr(error.text, names[a]) || !strstr(error.text, "entry"))
                fail_msg("%s: %s", names[a], error.text);
        }
        *entry = held;
    }
}

/* Samples that the scales of both take to where no model reaches. */
TEST(samples_beyond_a_model_are_refused) {
    const double factors[] = {1.0, 1e60, 1e99, 1e102, 1e200, 1e308};
    problem p;
    set_measurement(&p, 2, 1);
    p.m.scale[1] = 1.0;
    p.model = make_model(&p, "pca", true);
    for (int f = 0; f < 6; f++) {
        way w = {.model = "pca", .order = CSREC_ORDER_UNSET, .columns = CSREC_COLUMNS_UNSET};
        run r = {.factor = factors[f]};
        snprintf(w.name, sizeof w.name, "pca, black 0, white 1");
        recover(&w, &p, &r);
        check_sane(&w, &p, &r);
        if (factors[f] > 1e100 && !(r.status && strstr(r.error.text, "'scale'")))
            fail_run(&w, &p, &r, "not refused by the scales");
    }
    csrec_model_destroy(p.model);
}

static const float float_scales[] = {1e-45f, 1e-38f, 1e-20f, 1.0f, 1e18f, 1e25f, 3e38f};
enum { FLOAT_SCALES = sizeof float_scales / sizeof *float_scales, DATA = 40, LENGTH = 9 };

static csrec_status read_rows(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    (void)error;
    memcpy(X, (const float *)context + first * LENGTH, (size_t)(count * LENGTH) * sizeof *X);
    return CSREC_OK;
}

/* All arrays finite, or one line. */
static void check_learned(const char *kind, double scale, csrec_status status, csrec_model *model,
                          const csrec_error *error) {
    const char *name;
    const csrec_array *array;
    if (status && (strlen(error->text) < 10 || strchr(error->text, '\n')))
        fail_msg("%s of %g: %s", kind, scale, error->text);
    for (int i = 0; !status && csrec_model_info(model, i, &name, &array); i++)
        for (int64_t k = 0; k < array->count; k++)
            if (!isfinite(csrec_array_value(array, k))) fail_msg("%s of %g: %s", kind, scale, name);
    if (!status) csrec_model_destroy(model);
}

TEST(learners) {
    float X[DATA * LENGTH];
    for (int k = 0; k < FLOAT_SCALES; k++) {
        for (int i = 0; i < DATA * LENGTH; i++)
            X[i] = float_scales[k] * (float)(2.0 * check_uniform(&seed) - 1.0);
        csrec_data data = {DATA, LENGTH, read_rows, X};
        csrec_learn_options o = {.components = 2, .threads = 1, .shape = {2, {3, 3}}};
        csrec_model *model = NULL;
        csrec_error error = {{0}};
        csrec_status status = csrec_pca_learn(&data, &o, &model, NULL, &error);
        check_learned("pca", float_scales[k], status, model, &error);
    }
}

TEST(convolutions) {
    enum { SIDE = 6, OUT = SIDE - 2, TAPS = 2 * 2 * 9 };
    csrec_conv2d conv = {.batch = 1,
                         .channels_in = 2,
                         .channels_out = 2,
                         .size = {SIDE, SIDE},
                         .kernel = {3, 3},
                         .threads = 1};
    float X[2 * SIDE * SIDE], W[TAPS], Y[2 * OUT * OUT], dX[2 * SIDE * SIDE], dW[TAPS], dB[2];
    size_t forward, backward;
    assert_ok(csrec_conv2d_workspace(&conv, &forward, &backward, NULL));
    OWNED void *memory = malloc(forward > backward ? forward : backward);
    int refused = 0;
    for (int k = 0; k < FLOAT_SCALES; k++)
        for (int l = 0; l < FLOAT_SCALES; l++) {
            csrec_error error = {{0}};
            for (int i = 0; i < 2 * SIDE * SIDE; i++) X[i] = float_scales[k];
            for (int i = 0; i < TAPS; i++) W[i] = float_scales[l];
            csrec_status status =
                csrec_conv2d_forward(&conv, X, W, NULL, NULL, Y, memory, forward, &error);
            /* The sum of 18 products. */
            bool fits = 18.0 * (double)float_scales[k] * (double)float_scales[l] < FLT_MAX;
            assert_int_equal(status, fits ? CSREC_OK : CSREC_DATA);
            refused += !fits;
            for (int i = 0; i < 2 * OUT * OUT; i++) Y[i] = float_scales[k];
            status =
                csrec_conv2d_backward(&conv, X, W, NULL, Y, dX, dW, dB, memory, backward, &error);
            for (int i = 0; !status && i < TAPS; i++) assert_true(isfinite(dW[i]));
            for (int i = 0; !status && i < 2 * SIDE * SIDE; i++) assert_true(isfinite(dX[i]));
            if (status) assert_non_null(strstr(error.text, "float32"));
        }
    assert_true(refused > 0);
}

/* PSNR and SSIM have no unit. */
TEST(metrics) {
    enum { EDGE = 14, N = EDGE * EDGE };
    const double powers[] = {0x1p-1000, 0x1p-100, 0x1p100, 0x1p512, 0x1p1000};
    double a[N], b[N], u[N], v[N], ssim, same;
    for (int i = 0; i < N; i++) {
        a[i] = check_uniform(&seed);
        b[i] = a[i] + 0.1 * check_normal(&seed);
    }
    assert_ok(csrec_ssim(EDGE, EDGE, a, b, 1.0, &ssim));
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        for (int i = 0; i < N; i++) u[i] = powers[k] * a[i], v[i] = powers[k] * b[i];
        assert_true(csrec_psnr(N, u, v, powers[k]) == csrec_psnr(N, a, b, 1.0));
        assert_ok(csrec_ssim(EDGE, EDGE, u, v, powers[k], &same));
        assert_true(same == ssim);
    }
}
