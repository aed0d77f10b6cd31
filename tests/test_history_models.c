/* SPDX-License-Identifier: BSD-3-Clause */
/* test_history_models.c - the history of a recovery that rests on a mixture, filters or components:
 * every step must be what a recovery that stops there delivers. */
#include "history.h"
#include "models.h"

/* A step against what a recovery that ends there delivers. Samples are kept in single precision:
 * half a unit in their last place, over the length of y. */
static void check_rounded(const csrec_history_step *step, const problem *p, const double *signal) {
    double psnr = csrec_psnr(p->entries * p->m.channels, p->truth, signal, 255.0);
    assert_true(fabs(step->psnr - psnr) <= 1e-7);
    if (p->m.sigma > 0.0) assert_true(fabs(step->residual - residual_of(p, signal)) <= 1e-6);
    /* Without noise samples are put back, and what they were before is not delivered. */
    assert_true(step->residual > 0.0 && step->residual < 0.5);
}

/* Two Gaussians of patches of 4 x 4: of smooth ones, and of any. */
static csrec_model *draw_mixture(void) {
    const double weights[2] = {0.5, 0.5};
    double means[2 * 16], C[2 * 16 * 16];
    for (int i = 0; i < 2 * 16; i++) means[i] = 128.0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++)
                C[(k * 16 + i) * 16 + j] =
                    900.0 * exp(-(k ? 2.0 : 0.1) * (abs(i / 4 - j / 4) + abs(i % 4 - j % 4)));
    return model_of_gaussians(&(gaussians){{2, {4, 4}}, 1, 2, weights, means, C, NULL});
}

TEST(rounds_of_a_mixture) {
    for (int i = 0; i < 2; i++) {
        problem p = draw(2, 16, 1 + check_below(&seed, 2), 20.0);
        csrec_model *model = i ? draw_mixture() : NULL;
        csrec_setting settings[] = {{"rounds", 3}, {"step", 3}, {"components", 3}};
        csrec_recover_options options = options_by(NULL);
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
    for (int channels = 1; channels <= 2; channels++) {
        double filters[K * SIDE * SIDE];
        for (int k = 0; k < K; k++) {
            double *f = filters + k * SIDE * SIDE, length = 0.0;
            for (int i = 0; i < SIDE * SIDE; i++) f[i] = check_uniform(&seed) - 0.5;
            for (int i = 0; i < SIDE * SIDE; i++) length += f[i] * f[i];
            for (int i = 0; i < SIDE * SIDE; i++) f[i] /= sqrt(length);
        }
        csrec_model *model = model_of_filters(K, SIDE, filters, NULL);
        problem p = draw(2, 20, channels, 20.0);
        csrec_recover_options options = options_by(NULL);
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
    const double variance = 100.0;
    OWNED double *mean = malloc((size_t)p.entries * sizeof *mean);
    OWNED double *V = malloc((size_t)p.entries * sizeof *V);
    for (int64_t i = 0; i < p.entries; i++) {
        mean[i] = 128.0;
        V[i] = 1.0 / sqrt((double)p.entries);
    }
    csrec_recover_options options = options_by(NULL);
    csrec_model *model =
        model_of_components(&(components){p.m.shape, 1, 1, mean, V, &variance, NULL, 1.0});
    options.model = model;
    csrec_history *history = follow(&p, &options);
    check_result(history, &p, 0);
    csrec_history_destroy(history);
    csrec_model_destroy(model);
    clear(&p);
}
