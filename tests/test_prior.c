/* Models of kind net and the planes that their network takes, against definitions in double; and
 * recovery with them: any unit and offset, constants, single samples, tiny pictures. */
#include <string.h>

#include "check.h"
#include "io_file.h"
#include "learn/net_design.h"
#include "learn/prior.h"
#include "recover/recover.h"

static uint64_t seed;

/* ------------------------------------------------------------------ planes */

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

static void planes_equal_their_definition(void **state) {
    (void)state;
    for (int round = 0; round < 30; round++) {
        int channels = check_below(&seed, 2) ? 1 : 3;
        int64_t h = 1 + check_below(&seed, 20), w = 1 + check_below(&seed, 20), n = h * w;
        scene d = draw(channels, h, w);
        csrec_prior_frame frame;
        int64_t H = (h + 7) / 8 * 8, W = (w + 7) / 8 * 8;
        float *work = malloc((size_t)csrec_prior_work(h, w) * 4);
        float *X = malloc((size_t)((2 * channels + 2) * H * W) * 4);
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
        free(X);
        free(work);
        drop(&d);
    }
}

/* ------------------------------------------------------------------ models */

typedef struct parts {
    csrec_array layers, weights, channels;
} parts;

/* A small network with random weights. */
static parts make(int channels, double size) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    const int64_t blocks[4] = {1, 1, 1, 1};
    int n = csrec_net_design(channels, 8, blocks, layers);
    parts p;
    memset(&p, 0, sizeof p);
    assert_ok(csrec_array_create(CSREC_I64, &(csrec_shape){2, {n, 4}}, &p.layers));
    int64_t weights = 0, in = 2 * channels + 2;
    for (int i = 0; i < n; i++) {
        const int64_t row[4] = {layers[i].kind, layers[i].channels, layers[i].add, layers[i].relu};
        memcpy((int64_t *)p.layers.data + 4 * i, row, sizeof row);
        weights += in * layers[i].channels * (layers[i].kind == CSREC_NET_CONV ? 9 : 4) +
                   layers[i].channels;
        in = layers[i].channels;
    }
    assert_ok(csrec_array_create(CSREC_F64, &(csrec_shape){1, {weights}}, &p.weights));
    for (int64_t i = 0; i < weights; i++)
        ((double *)p.weights.data)[i] = size * check_normal(&seed);
    assert_ok(csrec_array_create(CSREC_I64, &(csrec_shape){0}, &p.channels));
    *(int64_t *)p.channels.data = channels;
    return p;
}

static void parts_drop(parts *p) {
    csrec_array_clear(&p->layers);
    csrec_array_clear(&p->weights);
    csrec_array_clear(&p->channels);
}

static csrec_status assemble(const parts *p, csrec_model **model, csrec_error *error) {
    const char *names[] = {"layers", "weights", "channels"};
    const csrec_array *arrays[] = {&p->layers, &p->weights, &p->channels};
    return csrec_model_create("net", 3, names, arrays, model, error);
}

static csrec_model *draw_model(int channels) {
    csrec_model *model = NULL;
    parts p = make(channels, 0.05);
    assert_ok(assemble(&p, &model, NULL));
    parts_drop(&p);
    return model;
}

/* Weights are those of the file, in 16 bits: written and read, a model is the same. */
static void files_keep_models(void **state) {
    (void)state;
    csrec_model *model = draw_model(3), *again = NULL;
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
    csrec_model_destroy(model);
    csrec_model_destroy(again);
    io_empty_folder();
}

static void expect_refusal(parts *p, const char *array, const char *words) {
    csrec_model *model = NULL;
    csrec_error error = {""};
    assert_int_equal(assemble(p, &model, &error), CSREC_DATA);
    if (!strstr(error.text, array) || !strstr(error.text, words))
        fail_msg("'%s' does not say '%s' and '%s'", error.text, array, words);
    parts_drop(p);
}

static void wrong_models_are_named(void **state) {
    (void)state;
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
    csrec_model *model = draw_model(3);
    csrec_recover_options o;
    csrec_error error = {""};
    csrec_recover_defaults(&o);
    o.model = model;
    csrec_measurement m = {.shape = {2, {4, 4}},
                           .n = 1,
                           .channels = 2,
                           .index = (int64_t[]){5},
                           .y = (double[]){1.0, 2.0}};
    double signal[32];
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "is for pictures of 3 channels, but the samples have 2"));
    o.method = "pca";
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, &error), CSREC_ARGUMENT);
    csrec_model_destroy(model);
}

/* ------------------------------------------------------------------ recovery */

typedef struct sampled {
    csrec_measurement m;
    int64_t values;
} sampled;

static sampled sample(int64_t height, int64_t width, int64_t channels, int64_t n) {
    sampled s = {.m = {.shape = {2, {height, width}}, .n = n, .channels = channels},
                 .values = height * width * channels};
    s.m.index = malloc((size_t)n * sizeof(int64_t));
    s.m.y = malloc((size_t)(n * channels) * sizeof(double));
    uint8_t *taken = calloc((size_t)(height * width), 1);
    for (int64_t i = 0; i < n; i++) {
        do s.m.index[i] = check_below(&seed, height * width);
        while (taken[s.m.index[i]]);
        taken[s.m.index[i]] = 1;
    }
    free(taken);
    for (int64_t i = 0; i < n * channels; i++) s.m.y[i] = 255.0 * check_uniform(&seed);
    return s;
}

static double *recover(const sampled *s, const csrec_model *model, const char *name, double value) {
    csrec_recover_options o;
    csrec_recover_report report;
    csrec_error error = {""};
    const csrec_setting settings[] = {{name, value}};
    csrec_recover_defaults(&o);
    o.model = model;
    o.backend = "cpu";
    if (name) o.solve.settings = settings, o.solve.n_settings = 1;
    double *signal = calloc((size_t)s->values, sizeof *signal);
    if (csrec_recover(&s->m, &o, signal, NULL, &report, &error)) fail_msg("%s", error.text);
    assert_string_equal(report.method, "net");
    for (int64_t i = 0; i < s->m.n && s->m.sigma == 0.0; i++)
        for (int64_t c = 0; c < s->m.channels; c++)
            assert_true(signal[s->m.index[i] * s->m.channels + c] == s->m.y[i * s->m.channels + c]);
    for (int64_t i = 0; i < s->values; i++) assert_true(isfinite(signal[i]));
    return signal;
}

static void clear(sampled *s) {
    free(s->m.index);
    free(s->m.y);
}

/* Values of 1e-9 or 1e9, with offsets, give the same picture to rounding; a power of two exactly.
 */
static void units_and_offsets_do_not_matter(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        int channels = round % 2 ? 3 : 1;
        csrec_model *model = draw_model(channels);
        sampled s = sample(20 + check_below(&seed, 20), 20 + check_below(&seed, 20), channels, 200);
        if (round > 1) s.m.sigma = 5.0;
        double *plain = recover(&s, model, NULL, 0.0);
        const double gains[] = {1e-9, 1e9, 64.0, -3.0}, offsets[] = {1e-7, -1e10, 0.0, 1e4};
        for (int k = 0; k < 4; k++) {
            sampled t = s;
            t.m.y = malloc((size_t)(s.m.n * channels) * sizeof(double));
            t.m.sigma = s.m.sigma * fabs(gains[k]);
            for (int64_t i = 0; i < s.m.n * channels; i++)
                t.m.y[i] = gains[k] * s.m.y[i] + offsets[k];
            double *other = recover(&t, model, NULL, 0.0);
            for (int64_t i = 0; i < s.values && gains[k] > 0.0; i++) {
                double expected = gains[k] * plain[i] + offsets[k];
                if (fabs(other[i] - expected) > 2e-2 * gains[k])
                    fail_msg("gain %g: %g, expected %g", gains[k], other[i], expected);
                if (gains[k] == 64.0) assert_true(other[i] == expected);
            }
            free(other);
            free(t.m.y);
        }
        free(plain);
        clear(&s);
        csrec_model_destroy(model);
    }
}

static void constants_and_small_pictures_work(void **state) {
    (void)state;
    csrec_model *gray = draw_model(1), *colour = draw_model(3);
    const int64_t sizes[][2] = {{1, 1}, {1, 9}, {5, 1}, {3, 4}, {7, 8}, {17, 9}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int channels = 1; channels <= 3; channels += 2) {
            int64_t n = sizes[k][0] * sizes[k][1];
            sampled s = sample(sizes[k][0], sizes[k][1], channels, 1 + check_below(&seed, n));
            free(recover(&s, channels == 3 ? colour : gray, "turns", 8));
            free(recover(&s, gray, "steps", 2));
            for (int64_t i = 0; i < s.m.n * channels; i++) s.m.y[i] = 1e6 + (double)(i % channels);
            double *flat = recover(&s, channels == 3 ? colour : gray, NULL, 0.0);
            for (int64_t i = 0; i < s.values; i++)
                assert_true(flat[i] == 1e6 + (double)(i % channels));
            free(flat);
            clear(&s);
        }
    csrec_model_destroy(gray);
    csrec_model_destroy(colour);
}

/* The mean over turns does not change if the picture is turned. */
static void eight_turns_are_symmetric(void **state) {
    (void)state;
    csrec_model *model = draw_model(1);
    sampled s = sample(24, 40, 1, 300), t = s;
    t.m.shape = (csrec_shape){2, {40, 24}};
    t.m.index = malloc((size_t)s.m.n * sizeof(int64_t));
    for (int64_t i = 0; i < s.m.n; i++)
        t.m.index[i] = s.m.index[i] % 40 * 24 + (23 - s.m.index[i] / 40);
    double *a = recover(&s, model, "turns", 8), *b = recover(&t, model, "turns", 8);
    for (int64_t y = 0; y < 24; y++)
        for (int64_t x = 0; x < 40; x++)
            assert_true(fabs(a[y * 40 + x] - b[x * 24 + 23 - y]) < 2e-2);
    free(a);
    free(b);
    free(t.m.index);
    clear(&s);
    csrec_model_destroy(model);
}

/* Of a picture of stripes, fitting lowers the error at pixels that it has not seen. */
/* The installed priors: `together` takes the one of three channels, else each has the gray one. */
static void colours_go_together_or_apart(void **state) {
    (void)state;
    sampled s = sample(24, 16, 3, 100);
    for (int together = 0; together < 2; together++) {
        char path[4096];
        csrec_model *model = NULL;
        if (!csrec_prior_installed(together ? 3 : 1, sizeof path, path)) skip();
        assert_ok(csrec_model_read(path, &model, NULL));
        assert_int_equal(csrec_prior_channels(model), together ? 3 : 1);
        double *named = recover(&s, model, NULL, 0.0);
        double *found = recover(&s, NULL, "together", together);
        assert_memory_equal(named, found, (size_t)s.values * sizeof *named);
        free(named);
        free(found);
        csrec_model_destroy(model);
    }
    clear(&s);
}

static void fitting_learns_what_repeats(void **state) {
    (void)state;
    enum { SIDE = 32, STEPS = 400 };
    csrec_net_layer layers[CSREC_NET_LAYERS];
    csrec_model *model = NULL;
    parts p = make(1, 0.0); /* begins as the identity */
    float *first = malloc((size_t)p.weights.count * sizeof *first);
    int n = csrec_net_design(1, 8, (const int64_t[4]){1, 1, 1, 1}, layers);
    csrec_net_first_weights(1, n, layers, check_next(&seed), first);
    for (int64_t i = 0; i < p.weights.count; i++) ((double *)p.weights.data)[i] = (double)first[i];
    assert_ok(assemble(&p, &model, NULL));
    parts_drop(&p);
    free(first);
    sampled s = sample(SIDE, SIDE, 1, SIDE * SIDE / 3);
    for (int64_t i = 0; i < s.m.n; i++) s.m.y[i] = s.m.index[i] % SIDE / 3 % 2 ? 200.0 : 50.0;
    double *none = recover(&s, model, NULL, 0.0), *fitted = recover(&s, model, "steps", STEPS);
    double before = 0.0, after = 0.0;
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        double truth = i % SIDE / 3 % 2 ? 200.0 : 50.0;
        before += (none[i] - truth) * (none[i] - truth);
        after += (fitted[i] - truth) * (fitted[i] - truth);
    }
    if (!(after < 0.8 * before)) fail_msg("squared error %g, before %g", after, before);
    double *again = recover(&s, model, "steps", STEPS);
    assert_memory_equal(fitted, again, SIDE * SIDE * sizeof *again);
    free(none);
    free(fitted);
    free(again);
    clear(&s);
    csrec_model_destroy(model);
}

/* A network that nobody trained says anything: what it says of its errors stays within e^+-20 times
 * the samples' variance and a squared tone. */
static void strange_networks_expect_finite_errors(void **state) {
    (void)state;
    csrec_recover_options o;
    csrec_error error;
    csrec_model *model = NULL;
    parts p = make(1, 0.5);
    assert_ok(assemble(&p, &model, NULL));
    sampled s = sample(24, 24, 1, 100);
    double *signal = malloc((size_t)s.values * sizeof *signal), mean = 0.0, square = 1.0;
    double *v = malloc((size_t)s.values * sizeof *v), farthest = 0.0;
    for (int64_t i = 0; i < s.m.n; i++) mean += s.m.y[i] / (double)s.m.n;
    for (int64_t i = 0; i < s.m.n; i++)
        square += (s.m.y[i] - mean) * (s.m.y[i] - mean) / (double)s.m.n;
    s.m.scale[1] = 255.0;
    csrec_recover_defaults(&o);
    o.model = model;
    o.backend = "cpu";
    if (csrec_recover_variance(&s.m, &o, signal, v, NULL, &error)) fail_msg("%s", error.text);
    for (int64_t i = 0; i < s.values; i++) farthest = fmax(farthest, fabs(log(v[i] / square)));
    assert_true(fabs(farthest - 20.0) <= 1e-4); /* beyond it without a limit */
    csrec_model_destroy(model);
    parts_drop(&p);
    clear(&s);
    free(signal);
    free(v);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_equal_their_definition),
        cmocka_unit_test(files_keep_models),
        cmocka_unit_test(wrong_models_are_named),
        cmocka_unit_test(units_and_offsets_do_not_matter),
        cmocka_unit_test(constants_and_small_pictures_work),
        cmocka_unit_test(eight_turns_are_symmetric),
        cmocka_unit_test(colours_go_together_or_apart),
        cmocka_unit_test(fitting_learns_what_repeats),
        cmocka_unit_test(strange_networks_expect_finite_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
