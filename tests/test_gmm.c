/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gmm.c - what learning a mixture promises: a likelihood that never falls, the true mixture
 * found, the same result however it is run. */
#include "mixture.h"
#include "rows.h"

SEED(seed);

static csrec_model *learn(int64_t rows, int64_t d, const float *X, csrec_learn_options o) {
    source s = {.X = X, .m = rows, .n = d};
    csrec_data data = {rows, d, read_source, &s};
    csrec_model *model = NULL;
    assert_well(csrec_gmm_learn(&data, &o, &model, NULL, &told));
    return model;
}

static void check_rising(const csrec_model *model) {
    const csrec_array *history = csrec_model_array(model, "log_likelihood");
    for (int64_t i = 1; i < history->count; i++) {
        double before = csrec_array_value(history, i - 1), now = csrec_array_value(history, i);
        /* Sums of doubles, and covariances whose errors of 1e-6 count squared at the maximum. */
        if (!(now >= before - 1e-9 * (1.0 + fabs(before))))
            fail_msg("round %d: %.17g after %.17g", (int)i, now, before);
    }
}

TEST(the_likelihood_never_falls) {
    for (int kind = 0; kind < 8; kind++) {
        int64_t d = 4 + check_below(&seed, 20), rows = kind == 1 ? 12 : 600;
        ENDS_BY(csrec_mixture_clear)
        csrec_mixture truth = make_mixture(&seed, 3, (int)d, kind == 2 ? 30.0 : 1.0);
        OWNED float *X = draw(&seed, &truth, rows);
        for (int64_t i = 0; i < rows; i++) {
            float *x = X + i * d;
            if (kind == 3) x[1] = 7.0f;                                  /* a constant column */
            if (kind == 4) x[2] = x[0] + x[1];                           /* a subspace */
            if (kind == 5 && i % 3) memcpy(x, X, (size_t)d * sizeof *x); /* many equal rows */
            if (kind == 6) x[0] += i == 5 ? 1e6f : 0.0f;                 /* an outlier */
        }
        csrec_learn_options o = {.components = kind == 7 ? 1 : 6,
                                 .seed = check_next(&seed),
                                 .rounds = 15,
                                 .tolerance = 1e-12,
                                 .threads = 1};
        ENDS_BY(end_model) csrec_model *model = learn(rows, d, X, o);
        check_rising(model);
    }
}

static double last_of(const csrec_model *model) {
    const csrec_array *history = csrec_model_array(model, "log_likelihood");
    return csrec_array_value(history, history->count - 1);
}

/* Of three starts: one in a hundred puts two centres into one cluster and stays there. */
static csrec_model *learn_best(int64_t rows, int64_t d, const float *X, csrec_learn_options o) {
    csrec_model *best = NULL;
    for (o.seed = 1; o.seed <= 3; o.seed++) {
        csrec_model *model = learn(rows, d, X, o);
        bool better = !best || last_of(model) > last_of(best);
        csrec_model_destroy(better ? best : model);
        if (better) best = model;
    }
    return best;
}

/* What generated the rows cannot be likelier than the maximum that is found next to it. */
TEST(the_true_mixture_is_found) {
    enum { D = 5, ROWS = 6000 };
    CLEARED(csrec_mixture) truth = make_mixture(&seed, 3, D, 1.0);
    for (int k = 0; k < 3; k++) truth.means[k * D + k] += 12.0;
    assert_ok(csrec_mixture_prepare(&truth, 1e-9, 1, NULL, NULL));
    OWNED float *X = draw(&seed, &truth, ROWS);
    csrec_learn_options o = {.components = 3, .tolerance = 1e-7, .rounds = 200, .threads = 1};
    ENDS_BY(end_model) csrec_model *model = learn_best(ROWS, D, X, o);
    double r[3], ll = 0.0;
    for (int i = 0; i < ROWS; i++) ll += dense_posteriors(&truth, X + i * D, r) / ROWS;
    assert_true(last_of(model) >= ll - 1e-6);
    const double *means = csrec_model_array(model, "means")->data;
    for (int k = 0; k < 3; k++) { /* each true mean has a learned one within 6 standard errors */
        double nearest = INFINITY, variance = 0.0;
        for (int i = 0; i < D; i++) variance += truth.C[(k * D + i) * D + i];
        for (int l = 0; l < 3; l++) {
            double off = 0.0;
            for (int i = 0; i < D; i++)
                off += (means[l * D + i] - truth.means[k * D + i]) *
                       (means[l * D + i] - truth.means[k * D + i]);
            nearest = fmin(nearest, off);
        }
        assert_true(nearest <= 36.0 * variance / (ROWS * truth.weights[k]));
    }
}

static csrec_model *kept;

static csrec_status keep_third(const csrec_model *model, void *context, csrec_error *error) {
    const char *names[12];
    const csrec_array *arrays[12];
    int n = 0;
    (void)context;
    while (csrec_model_info(model, n, &names[n], &arrays[n])) n++;
    if (csrec_model_array(model, "log_likelihood")->count != 3) return CSREC_OK;
    return csrec_model_create("gmm", n, names, arrays, &kept, error);
}

static void check_same(const csrec_model *a, const csrec_model *b) {
    const char *name;
    const csrec_array *one;
    for (int i = 0; csrec_model_info(a, i, &name, &one); i++) {
        const csrec_array *other = csrec_model_array(b, name);
        assert_int_equal(one->count, other->count);
        assert_memory_equal(one->data, other->data, (size_t)one->count * 8);
    }
}

TEST(runs_agree_to_the_bit) {
    static const char *const starts[] = {"kmeans", "edges"};
    for (int s = 0; s < 2; s++) {
        CLEARED(csrec_mixture) truth = make_mixture(&seed, 4, 30, 2.0);
        OWNED float *X = draw(&seed, &truth, 3000);
        csrec_learn_options o = {.components = 5,
                                 .seed = 3,
                                 .rounds = 7,
                                 .tolerance = 1e-9,
                                 .threads = 1,
                                 .shape = {2, {5, 6}},
                                 .start = starts[s]};
        ENDS_BY(end_model) csrec_model *one = learn(3000, 30, X, o);
        o.threads = 3;
        o.round_done = keep_third;
        ENDS_BY(end_model) csrec_model *three = learn(3000, 30, X, o);
        o.round_done = NULL;
        o.from = kept;
        ENDS_BY(end_model) csrec_model *again = learn(3000, 30, X, o);
        check_rising(one);
        check_same(one, three);
        check_same(one, again);
        csrec_model_destroy(kept);
    }
}

static csrec_status refuse_round(const csrec_model *model, void *context, csrec_error *error) {
    (void)model, (void)context;
    if (error) strcpy(error->text, "the disk is full");
    return CSREC_FILE;
}

TEST(mistakes_and_stops) {
    float X[40], same[40];
    for (int i = 0; i < 40; i++) {
        X[i] = (float)check_normal(&seed);
        same[i] = 3.0f;
    }
    source s = {.X = X, .m = 10, .n = 4}, alike = {.X = same, .m = 10, .n = 4};
    csrec_data data = {10, 4, read_source, &s};
    csrec_error error;
    csrec_model *model = NULL;
    ENDS_BY(end_model)
    csrec_model *other = learn(10, 4, X, (csrec_learn_options){.components = 2});
    const csrec_learn_options wrong[] = {
        {.components = 5000}, {.components = -1}, {.start = "magic"},
        {.start = "edges"},   {.rounds = -1},     {.tolerance = NAN},
        {.least = -1.0},      {.from = other},    {.shape = {2, {3, 2}}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(csrec_gmm_learn(&data, &wrong[i], &model, NULL, &error), CSREC_ARGUMENT);
    csrec_learn_options o = {.components = 2, .round_done = refuse_round};
    assert_int_equal(csrec_gmm_learn(&data, &o, &model, NULL, &error), CSREC_FILE);
    assert_string_equal(error.text, "the disk is full");
    o.round_done = NULL;
    o.progress = stop_by_count;
    for (int calls = 0; calls < 8; calls++) {
        int left = calls;
        bool stopped = false;
        o.context = &left;
        assert_ok(csrec_gmm_learn(&data, &o, &model, &stopped, &error));
        if (!stopped) csrec_model_destroy(model);
        assert_true(stopped || calls > 5);
        model = NULL;
    }
    o.progress = NULL;
    X[17] = NAN;
    assert_int_equal(csrec_gmm_learn(&data, &o, &model, NULL, &error), CSREC_DATA);
    data.context = &alike;
    assert_refused(csrec_gmm_learn(&data, &o, &model, NULL, &told), CSREC_DATA, "are equal");
}
