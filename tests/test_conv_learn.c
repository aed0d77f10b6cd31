/* SPDX-License-Identifier: BSD-3-Clause */
/* Learning of filters: the objective recomputed from the definition, its descent, unit lengths,
 * planted filters found again, masks, resuming, threads; recovery with what was learned. */
#include <float.h>
#include "models.h"
#include "learn/conv.h"

SEED(seed);
enum { SIDE = 40, PIXELS = SIDE * SIDE };

static float *random_picture(int64_t n) {
    float *v = check_keep((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)check_uniform(&seed);
    return v;
}

/* A few atoms of K filters at random places. */
static float *planted_picture(int64_t K, int64_t h, const double *filters) {
    float *v = check_keep_zeros(PIXELS, sizeof *v);
    for (int i = 0; i < 40; i++) {
        int64_t k = check_below(&seed, K), y = check_below(&seed, SIDE - h),
                x = check_below(&seed, SIDE - h);
        double by = (check_below(&seed, 2) ? 1.0 : -1.0) * (0.5 + check_uniform(&seed));
        for (int64_t u = 0; u < h * h; u++)
            v[(y + u / h) * SIDE + x + u % h] += (float)(by * filters[k * h * h + u]);
    }
    return v;
}

static void expect_model(const csrec_model *model, int64_t K, int64_t h, int64_t w) {
    const csrec_array *filters = csrec_model_array(model, "filters");
    const csrec_array *objective = csrec_model_array(model, "objective");
    assert_string_equal(csrec_model_kind(model), "conv");
    assert_true(filters->shape.dim[0] == K && filters->shape.dim[1] == h &&
                filters->shape.dim[2] == w);
    for (int64_t k = 0; k < K; k++) {
        double sum = 0.0;
        for (int64_t i = 0; i < h * w; i++)
            sum += pow(csrec_array_value(filters, k * h * w + i), 2.0);
        /* Stored from floats: each entry is off by half a unit in the last place. */
        assert_true(fabs(sum - 1.0) < 8.0 * FLT_EPSILON);
    }
    for (int64_t r = 1; r < objective->count; r++)
        assert_true(csrec_array_value(objective, r) <= csrec_array_value(objective, r - 1));
}

/* Random sizes, whole and sampled: it descends, filters have length 1, threads change no bit. */
TEST(objective_descends_on_any_number_of_threads) {
    for (int round = 0; round < 4; round++) {
        csrec_conv_picture pictures[3];
        int64_t count = 1 + check_below(&seed, 3), K = 1 + check_below(&seed, 9);
        for (int64_t p = 0; p < count; p++) {
            int64_t height = 5 + check_below(&seed, 30), width = 5 + check_below(&seed, 30);
            pictures[p] = (csrec_conv_picture){height, width, random_picture(height * width), NULL};
            if (check_below(&seed, 2) == 0) continue;
            uint8_t *known = check_keep((size_t)(height * width));
            for (int64_t i = 0; i < height * width; i++)
                known[i] = i < 2 || check_below(&seed, 3) == 0;
            pictures[p].known = known;
        }
        csrec_conv_learn_options o = {
            .filters = K,
            .size = {1 + check_below(&seed, 6), 1 + check_below(&seed, 6)},
            .iterations = 4,
            .seed = seed,
            .threads = 1};
        ENDS_BY(end_model) csrec_model *model = NULL, *again = NULL;
        assert_ok(csrec_conv_learn(count, pictures, &o, &model, NULL, NULL));
        expect_model(model, K, o.size[0], o.size[1]);
        o.threads = 3;
        assert_ok(csrec_conv_learn(count, pictures, &o, &again, NULL, NULL));
        const csrec_array *a = csrec_model_array(model, "filters");
        assert_memory_equal(a->data, csrec_model_array(again, "filters")->data,
                            (size_t)a->count * sizeof(double));
    }
}

/* With codes of random size F and its pieces equal the sums of the definition, in double. */
TEST(misfit_and_synthesis_equal_the_definition) {
    enum { H = 9, W = 11, K = 3, A = 3, B = 4, PH = H + A - 1, PW = W + B - 1 };
    csrec_coded c = {.conv = {.batch = 1,
                              .channels_in = 1,
                              .channels_out = K,
                              .size = {1, H, W},
                              .kernel = {1, A, B},
                              .stride = {1, 1, 1},
                              .padding = {0, A - 1, B - 1},
                              .dilation = {1, 1, 1}},
                     .entries = H * W,
                     .codes = K * PH * PW};
    float s[H * W], mask[H * W], x[K * PH * PW], picture[H * W], d[K * A * B];
    int axis;
    assert_true(csrec_conv_outputs(&c.conv, &axis));
    for (int i = 0; i < H * W; i++) {
        s[i] = (float)check_uniform(&seed);
        mask[i] = (float)check_below(&seed, 2);
    }
    for (int i = 0; i < K * PH * PW; i++) x[i] = (float)(check_uniform(&seed) - 0.5);
    for (int i = 0; i < K * A * B; i++) d[i] = (float)(check_uniform(&seed) - 0.5);
    const csrec_conv_simd *simd = csrec_conv_simd_choose();
    csrec_learning l = {.count = 1, .filters = K, .size = A * B, .coded = &c, .lambda = 0.25};
    l.work = (csrec_conv_work){simd, 1, aligned_alloc(64, csrec_conv_room(&c.conv, true, simd, 4)),
                               NULL};
    for (int t = 0; t < 2; t++)
        l.packed[t] =
            aligned_alloc(64, ((size_t)csrec_conv_packed(&c.conv, t, simd) * 4 + 63) / 64 * 64);
    double part[1], misfit = 0.0, size = 0.0;
    l.part = part;
    c.s = s;
    c.mask = mask;
    c.x = x;
    c.picture = picture;
    csrec_learn_pack(&l, d);
    csrec_learn_synthesize(&l, &c, x, picture);
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            double sum = 0.0;
            for (int k = 0; k < K; k++)
                for (int u = 0; u < A; u++)
                    for (int v = 0; v < B; v++) /* atom at p = i - u + A - 1 */
                        sum += (double)x[(k * PH + i - u + A - 1) * PW + j - v + B - 1] *
                               (double)d[(k * A + u) * B + v];
            assert_true(fabs(sum - (double)picture[i * W + j]) < 40.0 * FLT_EPSILON * 9.0);
            misfit += (double)mask[i * W + j] * pow(sum - (double)s[i * W + j], 2.0) / 2.0;
        }
    for (int i = 0; i < K * PH * PW; i++) size += fabs((double)x[i]);
    assert_true(fabs(csrec_learn_misfit(&c, picture) - misfit) < 1e-4 * misfit);
    assert_true(fabs(csrec_learn_objective(&l, &c) - misfit - 0.25 * size) < 1e-4 * misfit);
    free(l.work.memory);
    free(l.packed[0]);
    free(l.packed[1]);
}

/* Filters that made the pictures code them better than the cosines of the start. */
TEST(learning_lowers_the_objective_of_planted_filters) {
    double filters[3 * 25];
    for (int i = 0; i < 75; i++) filters[i] = check_uniform(&seed) - 0.5;
    csrec_conv_picture pictures[2];
    for (int p = 0; p < 2; p++)
        pictures[p] = (csrec_conv_picture){SIDE, SIDE, planted_picture(3, 5, filters), NULL};
    csrec_conv_learn_options o = {
        .filters = 6, .size = {5, 5}, .iterations = 40, .base = -1.0, .lambda = 0.01};
    ENDS_BY(end_model) csrec_model *model = NULL, *more = NULL;
    assert_ok(csrec_conv_learn(2, pictures, &o, &model, NULL, NULL));
    expect_model(model, 6, 5, 5);
    const csrec_array *objective = csrec_model_array(model, "objective");
    double first = csrec_array_value(objective, 0);
    double last = csrec_array_value(objective, objective->count - 1);
    assert_true(last < 0.7 * first);
    /* Resuming from them starts lower than a new run, after the same work. */
    o.start = model;
    o.iterations = 1;
    assert_ok(csrec_conv_learn(2, pictures, &o, &more, NULL, NULL));
    assert_true(csrec_array_value(csrec_model_array(more, "objective"), 0) < first);
}

/* The base against the same quotient of double sums over all samples. */
TEST(base_is_the_normalised_convolution) {
    enum { H = 13, W = 17 };
    double y[H * W], base[H * W], sigma = 0.5 + 3.0 * check_uniform(&seed), mean = 0.0;
    int64_t index[H * W], m = 0;
    for (int64_t i = 0; i < H * W; i++)
        if (check_below(&seed, 4) == 0 || i == 0) {
            index[m] = i;
            y[m] = check_uniform(&seed);
            mean += y[m++];
        }
    mean /= (double)m;
    assert_ok(csrec_conv_base(H, W, m, index, y, sigma, NULL, base));
    for (int64_t i = 0; i < H * W; i++) {
        double top = 0.0, bottom = 1e-6;
        for (int64_t k = 0; k < m; k++) {
            double dy = (double)(i / W - index[k] / W), dx = (double)(i % W - index[k] % W);
            double reach = ceil(5.0 * sigma);
            if (fabs(dy) > reach || fabs(dx) > reach) continue;
            double g = exp(-0.5 * (dx * dx + dy * dy) / (sigma * sigma));
            top += g * (y[k] - mean);
            bottom += g;
        }
        assert_true(fabs(base[i] - mean - top / bottom) < 1e-9);
    }
    assert_ok(csrec_conv_base(H, W, m, index, y, 0.0, NULL, base));
    assert_true(fabs(base[5] - mean) < 1e-12);
}

static bool stop_at_once(const csrec_progress *progress, void *context) {
    (void)context;
    return progress->done >= 1;
}

TEST(interruption_delivers_what_there_is) {
    float *values = random_picture(PIXELS);
    csrec_conv_picture picture = {SIDE, SIDE, values, NULL};
    csrec_conv_learn_options o = {.filters = 4, .size = {3, 3}, .progress = stop_at_once};
    ENDS_BY(end_model) csrec_model *model = NULL;
    bool stopped = false;
    assert_ok(csrec_conv_learn(1, &picture, &o, &model, &stopped, NULL));
    assert_true(stopped);
    assert_int_equal(csrec_model_array(model, "objective")->count, 1);
}

TEST(wrong_arguments_are_refused) {
    float values[] = {1.0f, 2.0f, 3.0f, NAN}, flat[] = {1.0f, 1.0f};
    uint8_t known[] = {1, 1, 1, 0};
    csrec_conv_picture picture = {2, 2, values, NULL}, same = {1, 2, flat, NULL};
    csrec_conv_learn_options o = {.filters = 2, .size = {2, 2}, .iterations = 1};
    csrec_error error;
    ENDS_BY(end_model) csrec_model *model = NULL;
    assert_refused(csrec_conv_learn(1, &picture, &o, &model, NULL, &told), CSREC_DATA, "entry 3");
    picture.known = known; /* the wild entry is not known */
    assert_ok(csrec_conv_learn(1, &picture, &o, &model, NULL, &error));
    assert_int_equal(csrec_conv_learn(1, &same, &o, &model, NULL, &error), CSREC_DATA);
    assert_int_equal(csrec_conv_learn(0, &picture, &o, &model, NULL, &error), CSREC_ARGUMENT);
    o.start = model;
    o.filters = 3;
    csrec_model *other = NULL;
    assert_refused(csrec_conv_learn(1, &picture, &o, &other, NULL, &told), CSREC_ARGUMENT,
                   "do not match the options");
    o.start = NULL;
    o.size[0] = 65;
    assert_int_equal(csrec_conv_learn(1, &picture, &o, &other, NULL, &error), CSREC_ARGUMENT);
}

/* A smooth picture of planted filters comes back from half of it, better than its base alone; more
 * channels are the channels one by one. */
TEST(recovery_with_the_filters_that_made_it) {
    double filters[2 * 25], amplitudes[2] = {1.0, 1.0};
    for (int i = 0; i < 50; i++) filters[i] = check_uniform(&seed) - 0.5;
    ENDS_BY(end_model) csrec_model *model = model_of_filters(2, 5, filters, amplitudes);
    float *values = planted_picture(2, 5, filters);
    int64_t index[PIXELS], n = 0;
    double *y = check_room(PIXELS), *out = check_room(PIXELS);
    for (int64_t i = 0; i < PIXELS; i++)
        if (check_below(&seed, 2)) {
            y[n] = (double)values[i];
            index[n++] = i;
        }
    csrec_measurement m = {
        .shape = {2, {SIDE, SIDE}}, .channels = 1, .n = n, .index = index, .y = y};
    csrec_recover_report report;
    csrec_setting settings[] = {{"base", 0.0}, {"lambda", 0.01}};
    csrec_recover_options o = options_by(NULL);
    o.model = model;
    o.basis = "conv";
    o.solve.stop.atoms = 300;
    use_settings(&o.solve, 2, settings);
    csrec_error error;
    assert_well(csrec_recover(&m, &o, out, NULL, &report, &told));
    double off = 0.0, all = 0.0;
    for (int64_t i = 0; i < PIXELS; i++) {
        off += pow(out[i] - (double)values[i], 2.0);
        all += pow((double)values[i], 2.0);
    }
    /* Half of the energy is given; of the rest a fifth would be little for the right filters. */
    assert_true(off < 0.1 * all);
    for (int64_t k = 0; k < n; k++) assert_true(out[index[k]] == y[k]);
    assert_true(report.residual == 0.0);
    double *two = check_room(2 * n), *both = check_room(2 * PIXELS);
    for (int64_t k = 0; k < n; k++) two[2 * k] = two[2 * k + 1] = y[k];
    m.channels = 2;
    m.y = two;
    assert_ok(csrec_recover(&m, &o, both, NULL, &report, &error));
    for (int64_t i = 0; i < PIXELS; i++)
        assert_true(both[2 * i] == out[i] && both[2 * i + 1] == out[i]);
}
