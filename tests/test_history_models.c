/* test_history_models.c - the history of a recovery that rests on a mixture, filters or components:
 * every step must be what a recovery that stops there delivers. */
#include "history.h"

/* A step against what a recovery that ends there delivers. Samples are kept in single precision:
 * half a unit in their last place, over the length of y. */
static void check_rounded(const csrec_history_step *step, const problem *p, const double *signal) {
    double psnr = csrec_psnr(p->entries * p->m.channels, p->truth, signal, 255.0);
    assert_true(fabs(step->psnr - psnr) <= 1e-7);
    if (p->m.sigma > 0.0) assert_true(fabs(step->residual - residual_of(p, signal)) <= 1e-6);
    /* Without noise samples are put back, and what they were before is not delivered. */
    assert_true(step->residual > 0.0 && step->residual < 0.5);
}

static csrec_array array_of(int dims, const int64_t *dim) {
    csrec_array made;
    csrec_shape shape = {.dims = dims};
    for (int a = 0; a < dims; a++) shape.dim[a] = dim[a];
    assert_ok(csrec_array_create(CSREC_F64, &shape, &made));
    return made;
}

static csrec_model *model_of(const char *kind, int count, const char *const *names,
                             csrec_array *arrays) {
    const csrec_array *pointers[8];
    csrec_model *model;
    csrec_error error = {""};
    for (int i = 0; i < count; i++) pointers[i] = &arrays[i];
    if (csrec_model_create(kind, count, names, pointers, &model, &error))
        fail_msg("%s", error.text);
    for (int i = 0; i < count; i++) csrec_array_clear(&arrays[i]);
    return model;
}

/* Two Gaussians of patches of 4 x 4: of smooth ones, and of any. */
static csrec_model *draw_mixture(void) {
    const int64_t two[] = {2}, means[] = {2, 16}, squares[] = {2, 16, 16};
    const char *const names[] = {"weights", "means", "covariances", "shape", "channels"};
    csrec_array arrays[] = {array_of(1, two), array_of(2, means), array_of(3, squares),
                            array_of(1, two), array_of(0, NULL)};
    for (int k = 0; k < 2; k++) {
        ((double *)arrays[0].data)[k] = 0.5;
        ((double *)arrays[3].data)[k] = 4.0;
        for (int i = 0; i < 16; i++) {
            ((double *)arrays[1].data)[k * 16 + i] = 128.0;
            for (int j = 0; j < 16; j++)
                ((double *)arrays[2].data)[(k * 16 + i) * 16 + j] =
                    900.0 * exp(-(k ? 2.0 : 0.1) * (abs(i / 4 - j / 4) + abs(i % 4 - j % 4)));
        }
    }
    ((double *)arrays[4].data)[0] = 1.0;
    return model_of("gmm", 5, names, arrays);
}

TEST(rounds_of_a_mixture) {
    for (int i = 0; i < 2; i++) {
        problem p = draw(2, 16, 1 + check_below(&seed, 2), 20.0);
        csrec_model *model = i ? draw_mixture() : NULL;
        csrec_setting settings[] = {{"rounds", 3}, {"step", 3}, {"components", 3}};
        csrec_recover_options options;
        csrec_recover_defaults(&options);
        p.m.sigma = check_below(&seed, 2) ? 2.0 : 0.0;
        options.solve.solver = "gmm";
        options.solve.settings = settings;
        options.solve.n_settings = model ? 2 : 3;
        options.model = model;
        csrec_history *history = follow(&p, &options);
        check_result(history, &p, 1);
        int64_t n;
        const csrec_history_step *steps = track_of(history, 0, "round", &n);
        assert_int_equal(n, 3);
        for (int k = 0; k < 3; k++) {
            settings[0].value = k + 1;
            assert_ok(csrec_recover(&p.m, &options, p.signal, NULL, NULL, NULL));
            check_rounded(&steps[k], &p, p.signal);
        }
        csrec_history_destroy(history);
        csrec_model_destroy(model);
        clear(&p);
    }
}

/* With noise the samples are not put back: every step is what is delivered there, smooth layer
 * included. */
TEST(iterations_with_filters) {
    enum { K = 5, SIDE = 4 };
    const int64_t shape[] = {K, SIDE, SIDE};
    const char *const names[] = {"filters"};
    for (int channels = 1; channels <= 2; channels++) {
        csrec_array filters = array_of(3, shape);
        for (int k = 0; k < K; k++) {
            double *f = (double *)filters.data + k * SIDE * SIDE, length = 0.0;
            for (int i = 0; i < SIDE * SIDE; i++) f[i] = check_uniform(&seed) - 0.5;
            for (int i = 0; i < SIDE * SIDE; i++) length += f[i] * f[i];
            for (int i = 0; i < SIDE * SIDE; i++) f[i] /= sqrt(length);
        }
        csrec_model *model = model_of("conv", 1, names, &filters);
        problem p = draw(2, 20, channels, 20.0);
        csrec_recover_options options;
        csrec_recover_defaults(&options);
        p.m.sigma = 1.0;
        options.model = model;
        options.solve.stop.atoms = 30;
        csrec_history *history = follow(&p, &options);
        check_steps(&p, &options, history, "iteration", ATOMS);
        check_result(history, &p, 1);
        csrec_history_destroy(history);
        csrec_model_destroy(model);
        clear(&p);
    }
}

/* Coefficients of components are found at once. */
TEST(components_have_no_steps) {
    problem p = draw(2, 6, 1, 20.0);
    const int64_t n[] = {p.entries}, one_n[] = {1, p.entries}, one[] = {1}, two[] = {2};
    const char *const names[] = {"mean", "components", "variances", "noise", "shape", "channels"};
    csrec_array arrays[] = {array_of(1, n),    array_of(2, one_n), array_of(1, one),
                            array_of(0, NULL), array_of(1, two),   array_of(0, NULL)};
    for (int64_t i = 0; i < p.entries; i++) {
        ((double *)arrays[0].data)[i] = 128.0;
        ((double *)arrays[1].data)[i] = 1.0 / sqrt((double)p.entries);
    }
    ((double *)arrays[2].data)[0] = 100.0;
    ((double *)arrays[3].data)[0] = 1.0;
    for (int a = 0; a < 2; a++) ((double *)arrays[4].data)[a] = (double)p.m.shape.dim[a];
    ((double *)arrays[5].data)[0] = 1.0;
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    csrec_model *model = model_of("pca", 6, names, arrays);
    options.model = model;
    csrec_history *history = follow(&p, &options);
    check_result(history, &p, 0);
    csrec_history_destroy(history);
    csrec_model_destroy(model);
    clear(&p);
}
