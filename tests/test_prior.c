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
    scene d = {.values = malloc((size_t)(channels * n) * 4), .known = malloc((size_t)n)};
    double share = check_uniform(&seed);
    for (int64_t i = 0; i < n; i++) d.known[i] = check_uniform(&seed) < share;
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

static void drop(scene *d) {
    free(d->values);
    free(d->known);
}

/* The pyramid by its definition: at each level, the mean of what is known under a cell of side
 * 2^level, else the next level between the centres of its cells. */
static double spread(const scene *d, const double *z, int level, int64_t y, int64_t x) {
    int64_t side = INT64_C(1) << level, h = d->s.height, w = d->s.width;
    double sum = 0.0, count = 0.0;
    for (int64_t i = y * side; i < (y + 1) * side && i < h; i++)
        for (int64_t j = x * side; j < (x + 1) * side && j < w; j++)
            if (d->known[i * w + j]) sum += z[i * w + j], count += 1.0;
    if (count > 0.0) return sum / count;
    int64_t rows = (h + 2 * side - 1) / (2 * side), columns = (w + 2 * side - 1) / (2 * side);
    double at[2] = {((double)y + 0.5) / 2.0 - 0.5, ((double)x + 0.5) / 2.0 - 0.5}, result = 0.0;
    int64_t extent[2] = {rows, columns}, cell[2][2];
    double share[2];
    for (int a = 0; a < 2; a++) {
        double low = floor(at[a]);
        share[a] = at[a] - low;
        for (int k = 0; k < 2; k++) {
            int64_t c = (int64_t)low + k;
            cell[a][k] = c < 0 ? 0 : c >= extent[a] ? extent[a] - 1 : c;
        }
    }
    for (int k = 0; k < 4; k++)
        result += (k / 2 ? share[0] : 1.0 - share[0]) * (k % 2 ? share[1] : 1.0 - share[1]) *
                  spread(d, z, level + 1, cell[0][k / 2], cell[1][k % 2]);
    return result;
}

TEST(planes_equal_their_definition) {
    for (int round = 0; round < 30; round++) {
        int channels = check_below(&seed, 2) ? 1 : 3;
        int64_t h = 1 + check_below(&seed, 20), w = 1 + check_below(&seed, 20), n = h * w;
        ENDS_BY(drop) scene d = draw(channels, h, w);
        csrec_prior_frame frame;
        int64_t H = (h + 7) / 8 * 8, W = (w + 7) / 8 * 8;
        OWNED float *work = malloc((size_t)csrec_pyramid_work(h, w) * 4);
        OWNED float *X = malloc((size_t)((2 * channels + 2) * H * W) * 4);
        csrec_prior_planes(&d.s, 8, work, X, &frame);
        assert_int_equal(frame.height, H);
        assert_int_equal(frame.width, W);
        double *z = calloc((size_t)n, sizeof *z), variance = 0.0, count = 0.0;
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
                double expected[4] = {spread(&d, z, 0, y, x), z[y * w + x],
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
        free(z);
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

static void expect_refusal(parts *p, const char *array, const char *words) {
    csrec_model *model = NULL;
    csrec_error error = {""};
    assert_int_equal(assemble(p, &model, &error), CSREC_DATA);
    if (!strstr(error.text, array) || !strstr(error.text, words))
        fail_msg("'%s' does not say '%s' and '%s'", error.text, array, words);
    parts_drop(p);
}

TEST(wrong_models_are_named) {
    parts p = make(1, 0.05);
    p.weights.count = --p.weights.shape.dim[0];
    expect_refusal(&p, "array 'weights'", "entries, but the layers have");
    p = make(1, 0.05);
    ((double *)p.weights.data)[7] = NAN;
    expect_refusal(&p, "array 'weights'", "entry 7 is not finite");
    p = make(1, 0.05);
    ((double *)p.weights.data)[9] = 7e4;
    expect_refusal(&p, "array 'weights'", "entry 9 is 70000; numbers of 16 bits are below");
    p = make(1, 0.05);
    *(int64_t *)p.channels.data = 2;
    expect_refusal(&p, "array 'layers'", "makes 2 planes; must be 4");
    p = make(1, 0.05);
    *(int64_t *)p.channels.data = 17;
    expect_refusal(&p, "array 'channels'", "is 17; must be 1 to 16");
    p = make(1, 0.05);
    ((int64_t *)p.layers.data)[0] = 5;
    expect_refusal(&p, "array 'layers'", "layer 0: kind 5");
    p = make(1, 0.05);
    ((int64_t *)p.layers.data)[1] = INT64_C(1) << 40;
    expect_refusal(&p, "array 'layers'", "entry 1 is 1099511627776; must be -1 to 4096");
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
