/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec_net_learn: trainings of some steps with tiny networks, their stops, what it refuses; and
 * the numbers of 16 bits that weights are kept in. */

#include "base/half.h"
#include "models.h"
#include "net_learn.h"

SEED(seed);
static csrec_model *fresh, *fresh_colour; /* networks that have learned nothing */

/* Each of them is its own nearest, 0 and those below 2^-14 included; between two, the nearer. */
TEST(halves_are_the_nearest) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = csrec_half_value((uint16_t)bits);
        if (isnan(value)) continue;
        assert_int_equal(csrec_half_bits(value), bits);
        if ((bits & 0x7fff) >= 0x7bff) continue;
        float next = csrec_half_value((uint16_t)(bits + 1));
        assert_int_equal(csrec_half_bits(value + 0.49f * (next - value)), bits);
        assert_int_equal(csrec_half_bits(value + 0.51f * (next - value)), bits + 1);
        assert_int_equal(csrec_half_bits(value + 0.5f * (next - value)), bits + (bits & 1));
    }
}

static csrec_model *learn(int64_t count, const csrec_net_picture *p,
                          const csrec_net_learn_options *o, bool stops) {
    csrec_model *model = NULL;
    bool stopped = !stops;
    assert_well(csrec_net_learn(count, p, o, &model, &stopped, &told));
    assert_true(stopped == stops);
    assert_string_equal(csrec_model_kind(model), "net");
    assert_string_equal(csrec_model_text(model, "backend"), "cpu");
    const csrec_array *w = csrec_model_array(model, "weights");
    for (int64_t i = 0; i < w->count; i++) assert_true(isfinite(csrec_array_value(w, i)));
    return model;
}

static double entry(const csrec_model *model, const char *name, int64_t i) {
    const csrec_array *a = csrec_model_array(model, name);
    return csrec_array_value(a, i < 0 ? a->count + i : i);
}

static bool same_weights(const csrec_model *a, const csrec_model *b) {
    const csrec_array *v = csrec_model_array(a, "weights"), *w = csrec_model_array(b, "weights");
    return v->count == w->count && memcmp(v->data, w->data, (size_t)v->count * sizeof(float)) == 0;
}

/* The PSNR of the pictures kept aside grows by 1.3 dB, with a deviation of 0.22 from seed to seed.
 * The losses of steps, each of other samples, differ by more than they fall. */
TEST(pictures_get_better_and_stay_so) {
    ENDS_BY(drop_picture) csrec_net_picture p = stripes_picture(40, 40);
    csrec_net_learn_options o = tiny(&seed, fresh, 200);
    o.rate = 0.2;
    ENDS_BY(end_model) csrec_model *model = learn(1, &p, &o, false);
    assert_int_equal(csrec_model_array(model, "loss")->count, 64); /* however many steps */
    double first = entry(model, "psnr", 0), last = entry(model, "psnr", -1);
    if (!(last > first)) fail_msg("%g dB, first %g", last, first);
    /* Continued at no rate to speak of, it is where it was, but for weights in 16 bits. */
    o.from = model;
    o.rate = 1e-9;
    o.steps = 1;
    ENDS_BY(end_model) csrec_model *next = learn(1, &p, &o, false);
    assert_true(fabs(entry(next, "psnr", 0) - last) < 0.02);
}

TEST(pictures_of_any_size_are_learned) {
    const int64_t sizes[][2] = {{1, 1}, {1, 30}, {5, 3}, {17, 16}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ENDS_BY(drop_picture)
        csrec_net_picture p = slope_picture(sizes[k][0], sizes[k][1], 1, k % 2);
        csrec_net_learn_options o = tiny(&seed, fresh, 2);
        csrec_model_destroy(learn(1, &p, &o, false));
    }
}

typedef struct calls {
    int64_t n, stop_at, last;
} calls;

static bool count_call(const csrec_progress *now, void *context) {
    calls *c = context;
    assert_true(now->done >= c->last && now->done <= now->total);
    assert_int_equal(strncmp(now->stage, "training", 8), 0);
    c->last = now->done;
    return ++c->n == c->stop_at;
}

/* A stop gives what was trained until then: at the first call, the first weights. */
TEST(a_stop_keeps_what_was_trained) {
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(20, 20, 1, false);
    calls c = {0};
    csrec_net_learn_options o = tiny(&seed, fresh, 8);
    o.progress = count_call;
    o.context = &c;
    ENDS_BY(end_model) csrec_model *whole = learn(1, &p, &o, false);
    int64_t calls_of_whole = c.n;
    c = (calls){.stop_at = 1};
    ENDS_BY(end_model) csrec_model *first = learn(1, &p, &o, true);
    /* The last layer begins as 0, and is kept as that. */
    assert_true(entry(first, "weights", -3) == 0.0 && entry(first, "weights", -1) == -2.0);
    assert_true(calls_of_whole >= 8); /* once a step, and while a batch is made */
    for (int64_t at = 1; at <= 8; at += 3) {
        calls stop = {.stop_at = at};
        o.context = &stop;
        ENDS_BY(end_model) csrec_model *model = learn(1, &p, &o, true);
        const csrec_array *loss = csrec_model_array(model, "loss");
        assert_int_equal(stop.n, at); /* not called again */
        assert_true(at > 1 || !loss);
        for (int64_t i = 0; loss && i < loss->count; i++)
            assert_true(csrec_array_value(loss, i) == entry(whole, "loss", i));
        assert_int_equal(csrec_model_array(model, "weights")->count,
                         csrec_model_array(whole, "weights")->count);
    }
    o.seed++;
    o.progress = NULL;
    ENDS_BY(end_model) csrec_model *other = learn(1, &p, &o, false);
    assert_false(same_weights(whole, other));
}

/* By time alone, there is at least one step. */
TEST(minutes_end_a_training) {
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(20, 20, 1, false);
    csrec_net_learn_options o = tiny(&seed, fresh, 0);
    o.minutes = 1e-9;
    ENDS_BY(end_model) csrec_model *model = learn(1, &p, &o, false);
    assert_int_equal(csrec_model_array(model, "loss")->count, 1);
}

/* Without a model to start from, it is the installed one: at a rate of nothing it stays that. */
TEST(it_starts_from_the_installed_prior) {
    char path[4096];
    if (!csrec_prior_installed(1, sizeof path, path)) skip();
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(20, 20, 1, false);
    csrec_net_learn_options o = tiny(&seed, NULL, 1);
    o.batch = 1;
    o.rate = 1e-12;
    ENDS_BY(end_model) csrec_model *model = learn(1, &p, &o, false), *installed = NULL;
    assert_ok(csrec_model_read(path, &installed, NULL));
    const csrec_array *w = csrec_model_array(installed, "weights");
    assert_int_equal(csrec_model_array(model, "weights")->count, w->count);
    for (int64_t i = 0; i < w->count; i++)
        assert_true(fabs(entry(model, "weights", i) - csrec_array_value(w, i)) < 1e-7);
}

/* The model with other weights, all the same. */
static csrec_model *with_weights(const csrec_model *model, double value) {
    const char *names[] = {"layers", "channels", "weights"};
    CLEARED(csrec_array) weights = {0};
    const csrec_array *given[] = {csrec_model_array(model, "layers"),
                                  csrec_model_array(model, "channels"), &weights};
    csrec_model *made = NULL;
    assert_ok(csrec_array_create(CSREC_F64, &csrec_model_array(model, "weights")->shape, &weights));
    for (int64_t i = 0; i < weights.count; i++) ((double *)weights.data)[i] = value;
    assert_ok(csrec_model_create("net", 3, names, given, &made, NULL));
    return made;
}

static void refused(int64_t count, const csrec_net_picture *p, csrec_net_learn_options o,
                    csrec_status status, const char *words) {
    csrec_model *model = NULL;
    bool stopped = false;
    csrec_error error = {""};
    assert_int_equal(csrec_net_learn(count, p, &o, &model, &stopped, &error), status);
    assert_null(model);
    if (!strstr(error.text, words) || strchr(error.text, '\n'))
        fail_msg("'%s' does not say '%s'", error.text, words);
}

#define REFUSED(field, value, words)                                                               \
    do {                                                                                           \
        csrec_net_learn_options bad = tiny(&seed, fresh, 1);                                       \
        bad.field = value;                                                                         \
        refused(1, &(csrec_net_picture){1, 1, (float[3]){0}, NULL}, bad, CSREC_ARGUMENT, words);   \
    } while (0)

TEST(options_are_checked) {
    REFUSED(channels, 2, "channels = 2; must be 1 or 3");
    REFUSED(channels, -1, "channels = -1");
    REFUSED(batch, 4097, "batch = 4097; must be 1 to 4096");
    REFUSED(batch, -1, "batch = -1");
    REFUSED(patch, 8, "patch = 8; must be a multiple of 8, 16 to 1024");
    REFUSED(patch, 20, "patch = 20");
    REFUSED(patch, 1032, "patch = 1032");
    REFUSED(minutes, -1.0, "minutes = -1");
    REFUSED(minutes, (double)NAN, "minutes");
    REFUSED(steps, -1, "steps = -1");
    REFUSED(rate, -1e-3, "rate = -0.001");
    REFUSED(rate, 1.5, "rate = 1.5");
    REFUSED(rate, (double)NAN, "rate");
    REFUSED(backend, "gpu", "gpu");
}

TEST(models_to_go_on_from_are_checked) {
    ENDS_BY(end_model)
    csrec_model *pca = least_model(&csrec_method_pca, (csrec_shape){1, {3}}, 1);
    REFUSED(from, pca, "a model of kind pca has no network to continue from");
    REFUSED(channels, 3, "the model is for 1 channels, not 3");
    ENDS_BY(drop_picture) csrec_net_picture p = slope_picture(20, 20, 1, false);
    csrec_net_learn_options o = tiny(&seed, fresh_colour, 1);
    o.channels = 1;
    refused(1, &p, o, CSREC_ARGUMENT, "the model is for 3 channels, not 1");
}

TEST(pictures_are_checked) {
    csrec_net_picture p[2] = {slope_picture(5, 6, 1, true), slope_picture(5, 6, 1, false)},
                      wrong[2];
    csrec_net_learn_options o = tiny(&seed, fresh, 1);
    const csrec_net_picture sizes[] = {{0, 6, p[1].values, NULL},
                                       {5, -1, p[1].values, NULL},
                                       {5, INT64_C(1) << 40, p[1].values, NULL},
                                       {INT64_C(1) << 31, 6, p[1].values, NULL},
                                       {5, 6, NULL, NULL}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wrong[0] = p[0];
        wrong[1] = sizes[i];
        refused(2, wrong, o, CSREC_ARGUMENT, "picture 1: is ");
    }
    refused(-1, p, o, CSREC_ARGUMENT, "pictures = -1");
    refused(0, NULL, o, CSREC_ARGUMENT, "pictures = 0; must be 1 or more that a prior is adapted");
    refused(1, NULL, o, CSREC_ARGUMENT, "pictures");
    float *values = (float *)(uintptr_t)p[1].values;
    values[17] = INFINITY;
    refused(2, p, o, CSREC_DATA, "picture 1: entry 17 is not finite");
    values[17] = NAN;
    refused(1, p + 1, o, CSREC_DATA, "picture 0: entry 17 is not finite");
    ENDS_BY(end_model) csrec_model *model = learn(1, p, &o, false); /* NaN where unknown is fine */
    ENDS_BY(end_model) csrec_model *huge = with_weights(model, 6e4);
    o.from = huge;
    refused(1, p, o, CSREC_DATA, "rate = 0.02: the training diverged in step 1; take a lower rate");
    drop_picture(&p[0]);
    drop_picture(&p[1]);
}

static int make_models(void **state) {
    (void)state;
    fresh = fresh_model(1, 4, &seed);
    fresh_colour = fresh_model(3, 4, &seed);
    return 0;
}

static int drop_models(void **state) {
    (void)state;
    csrec_model_destroy(fresh);
    csrec_model_destroy(fresh_colour);
    return 0;
}

FIXTURE(make_models, drop_models);
