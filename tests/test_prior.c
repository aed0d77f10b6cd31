/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of kind net and the planes that their network takes, against definitions in double. */
#include "io_file.h"
#include "learn/net/pyramid.h"
#include "prior_model.h"

typedef struct scene {
    csrec_prior_samples s;
    float *values;
    uint8_t *known;
} scene;

static scene draw(int channels, int64_t height, int64_t width) {
    int64_t n = height * width;
    scene d = {.values = floats(channels * n), .known = draw_known(n, check_uniform(&seed))};
    d.known[check_below(&seed, n)] = 1;
    for (int64_t i = 0; i < channels * n; i++)
        d.values[i] = d.known[i % n] ? (float)(100.0 + 40.0 * check_normal(&seed)) : NAN;
    d.s = (csrec_prior_samples){.channels = channels,
                                .height = height,
                                .width = width,
                                .values = d.values,
                                .known = d.known,
                                .sigma = (float)(20.0 * check_uniform(&seed)),
                                .tone = 1.0f};
    return d;
}

TEST(planes_equal_their_definition) {
    for (int round = 0; round < 30; round++) {
        int channels = check_below(&seed, 2) ? 1 : 3;
        int64_t h = 1 + check_below(&seed, 20), w = 1 + check_below(&seed, 20), n = h * w;
        scene d = draw(channels, h, w);
        csrec_prior_frame frame;
        int64_t H = (h + 7) / 8 * 8, W = (w + 7) / 8 * 8;
        float *work = floats(csrec_pyramid_work(h, w)), *X = floats((2 * channels + 2) * H * W);
        csrec_prior_planes(&d.s, 8, work, X, &frame);
        assert_int_equal(frame.height, H);
        assert_int_equal(frame.width, W);
        double *z = check_room(n), variance = 0.0, count = 0.0;
        for (int64_t i = 0; i < n; i++) count += d.known[i];
        for (int c = 0; c < channels; c++) {
            double mean = 0.0, own = 0.0;
            for (int64_t i = 0; i < n; i++)
                mean += d.known[i] ? (double)d.values[c * n + i] / count : 0;
            for (int64_t i = 0; i < n; i++)
                own += d.known[i] ? pow((double)d.values[c * n + i] - mean, 2.0) / count : 0;
            assert_true(fabs(mean - frame.mean[c]) < 1e-6 * fabs(mean));
            variance += own / channels;
        }
        assert_true(fabs(frame.unit - sqrt(variance + 1.0)) < 1e-6 * frame.unit);
        for (int c = 0; c < channels; c++) {
            for (int64_t i = 0; i < n; i++)
                z[i] =
                    d.known[i] ? ((double)d.values[c * n + i] - frame.mean[c]) / frame.unit : 0.0;
            for (int64_t i = 0; i < H * W; i++) {
                /* reflected where it is padded */
                int64_t y = i / W % (h > 1 ? 2 * h - 2 : 1), x = i % W % (w > 1 ? 2 * w - 2 : 1);
                y = y < h ? y : 2 * h - 2 - y;
                x = x < w ? x : 2 * w - 2 - x;
                double expected[4] = {spread(h, w, d.known, z, 0, y, x), z[y * w + x],
                                      d.known[y * w + x] ? 1.0 : 0.0,
                                      (double)d.s.sigma / frame.unit};
                float got[4] = {X[c * H * W + i], X[(channels + c) * H * W + i],
                                X[2 * channels * H * W + i], X[(2 * channels + 1) * H * W + i]};
                for (int k = 0; k < 4; k++)
                    if (fabs((double)got[k] - expected[k]) > 2e-5)
                        fail_msg("plane %d pixel %lld of %lld x %lld: %g, expected %g", k,
                                 (long long)i, (long long)h, (long long)w, (double)got[k],
                                 expected[k]);
            }
        }
    }
}

/* Weights are those of the file, in 16 bits: written and read, a model is the same. */
TEST(files_keep_models) {
    ENDS_BY(end_model) csrec_model *model = draw_model(3), *again = NULL;
    const char *path = io_path("prior.npz");
    assert_ok(csrec_model_write(path, model, NULL));
    assert_ok(csrec_model_read(path, &again, NULL));
    const csrec_array *a = csrec_model_array(model, "weights");
    const csrec_array *b = csrec_model_array(again, "weights");
    assert_int_equal(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++) {
        double v = csrec_array_value(a, i), step = ldexp(1.0, ilogb(v) - 10);
        assert_true(v == csrec_array_value(b, i));
        assert_true(v == 0.0 || fabs(v) < 6.2e-5 || v / step == rint(v / step));
    }
}

TEST(wrong_models_are_named) {
    enum { LAYERS, WEIGHTS, CHANNELS };
    static const struct {
        int array;
        int64_t entry; /* -1: one entry less */
        double value;
        const char *named, *words;
    } faults[] = {{WEIGHTS, -1, 0.0, "'weights'", "entries, but the layers have"},
                  {WEIGHTS, 7, NAN, "'weights'", "entry 7 is not finite"},
                  {WEIGHTS, 9, 7e4, "'weights'", "entry 9 is 70000; numbers of 16 bits are below"},
                  {CHANNELS, 0, 2.0, "'layers'", "makes 2 planes; must be 4"},
                  {CHANNELS, 0, 17.0, "'channels'", "is 17; must be 1 to 16"},
                  {LAYERS, 0, 5.0, "'layers'", "layer 0: kind 5"},
                  {LAYERS, 1, 0x1p40, "'layers'", "entry 1 is 1099511627776; must be -1 to 4096"}};
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        csrec_model *none = NULL;
        csrec_model_parts p = make(1, 0.05);
        csrec_array *a = &p.arrays[faults[k].array];
        if (faults[k].entry < 0)
            a->count = --a->shape.dim[0];
        else
            ((double *)a->data)[faults[k].entry] = faults[k].value;
        assert_refused(assemble(&p, &none, &told), CSREC_DATA, faults[k].words);
        assert_refused(assemble(&p, &none, &told), CSREC_DATA,
                       check_print("array %s", faults[k].named));
    }
    ENDS_BY(end_model) csrec_model *model = draw_model(3);
    csrec_error error = {""};
    csrec_recover_options o = options_by(NULL);
    o.model = model;
    csrec_measurement m = {.shape = {2, {4, 4}},
                           .n = 1,
                           .channels = 2,
                           .index = (int64_t[]){5},
                           .y = (double[]){1.0, 2.0}};
    double signal[32];
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, &error), CSREC_DATA);
    assert_non_null(strstr(error.text,
                           "is for pictures of 3 channels, but the samples have 2; use a "
                           "model for 2 or for 1"));
    m.channels = 1;
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "but the samples have 1; use a model for 1"));
    assert_null(strstr(error.text, "or for 1"));
    o.method = "pca";
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, &error), CSREC_ARGUMENT);
}
