/* SPDX-License-Identifier: BSD-3-Clause */
/* The fit of plug-and-play's network to a picture of which only noisy values are known. */
#include "models.h"
#include "pnp.h"

SEED(seed);

/* One convolution of the planes, of which the first makes D: all 0, it keeps what it sees. */
static csrec_model *one_layer(void) {
    static const double layers[] = {0, 2, -1, 0}, channels = 1, weights[2 * (4 * 9 + 1)] = {0};
    csrec_model_parts parts = {0};
    csrec_model_add(&parts, "layers", (csrec_shape){2, {1, 4}}, layers);
    csrec_model_add(&parts, "weights", (csrec_shape){1, {2 * (4 * 9 + 1)}}, weights);
    csrec_model_add(&parts, "channels", (csrec_shape){0}, &channels);
    return assemble_model("net", &parts);
}

typedef struct fitting {
    bench b;
    double truth[ENTRIES], noisy[ENTRIES], y[ENTRIES];
    int64_t index[ENTRIES];
    csrec_model *model;
} fitting;

static void open_fitting(fitting *f, double sigma) {
    draw_picture(&seed, f->truth);
    for (int i = 0; i < ENTRIES; i++) f->noisy[i] = f->truth[i] + sigma * check_normal(&seed);
    measure_part(&f->b, "hadamard", true, CSREC_ROWS_UNIFORM, ENTRIES / 2, f->truth, &seed,
                 f->index, f->y);
    bench_open(&f->b);
    f->model = one_layer();
    f->b.options.model = f->model;
    assert_well(csrec_pnp_open(&f->b.p, &told));
}

static void close_fitting(fitting *f) {
    bench_close(&f->b);
    csrec_model_destroy(f->model);
}

/* What is shown has noise of the level that is told, and errors that do not correlate with those of
 * what is asked for: of 40 x 1024 products the mean is off by 0.1 less than once in 10^6. */
TEST(shown_and_asked_for_err_apart) {
    const double sigma = 5.0 + 20.0 * check_uniform(&seed);
    skip_sanitized();
    double sum = 0.0, square = 0.0, level = 0.0;
    for (int round = 0; round < 40; round++) {
        ENDS_BY(close_fitting) fitting f = {0};
        open_fitting(&f, sigma);
        csrec_denoiser_take(&f.b.p.denoiser, f.noisy);
        const csrec_denoise_part part = {&f.b.p.denoiser, sigma, false};
        const csrec_fit_source s = csrec_denoise_source(&part);
        const csrec_turn t = {round % 8, SIDE, 0, 0, SIDE, SIDE};
        OWNED uint8_t *shown = malloc(ENTRIES);
        OWNED float *work = malloc((size_t)s.room(s.of, SIDE, SIDE) * sizeof *work);
        float X[4 * ENTRIES], target[2 * ENTRIES];
        memset(shown, 1, ENTRIES);
        s.make(s.of, &t, shown, check_next(&seed), work, X, target);
        double mean = 0.0, unit = 0.0; /* of what is shown: work begins with it */
        for (int i = 0; i < ENTRIES; i++) mean += (double)work[i] / ENTRIES;
        for (int i = 0; i < ENTRIES; i++) unit += pow((double)work[i] - mean, 2.0) / ENTRIES;
        unit = sqrt(unit + 1.0);
        level = X[3 * ENTRIES] * unit;
        for (int i = 0; i < ENTRIES; i++) {
            const double truth = f.truth[csrec_turn_source(&t, i / SIDE, i % SIDE)];
            const double a = mean + unit * (double)X[i] - truth,
                         b = mean + unit * (double)target[i] - truth;
            sum += a * b / (40.0 * ENTRIES * sigma * sigma);
            square += a * a / (40.0 * ENTRIES * sigma * sigma);
        }
    }
    if (fabs(sum) > 0.1) fail_msg("errors correlate: %g", sum);
    if (fabs(square / pow(level / sigma, 2.0) - 1.0) > 0.05) /* 7 times its deviation */
        fail_msg("level %g of %g, told as %g", sigma * sqrt(square), sigma, level);
}

/* From a network that keeps all noise, either way. The same on any number of threads. */
TEST(a_fit_removes_noise) {
    for (int clean = 0; clean < 2; clean++) {
        if (sanitized_leaves()) continue;
        float weights[2][2 * (4 * 9 + 1)];
        ENDS_BY(close_fitting) fitting f = {0};
        open_fitting(&f, 20.0);
        double z[ENTRIES], off = 0.0;
        int64_t done = 0;
        for (int k = 0; k < 2; k++) {
            const float none[2 * (4 * 9 + 1)] = {0};
            f.b.options.threads = k ? 3 : 1;
            csrec_denoiser_clear(&f.b.p.denoiser);
            assert_well(csrec_pnp_open(&f.b.p, &told));
            csrec_net *net = f.b.p.denoiser.pass.net;
            assert_ok(csrec_net_set_weights(net, none, NULL));
            assert_well(csrec_denoiser_fit(&f.b.p.denoiser, clean ? f.truth : f.noisy, 20.0, clean,
                                           2000, &f.b.p.call, &done, &told));
            assert_int_equal(done, 2000);
            assert_ok(csrec_net_weights(net, false, weights[k], NULL));
        }
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        assert_well(csrec_denoise(&f.b.p.denoiser, f.noisy, 20.0, 1, &f.b.p.call, z, &told));
        off = sqrt(squares(ENTRIES, z, f.truth) / squares(ENTRIES, f.noisy, f.truth));
        /* Adam moves a weight by 0.1 at most: 0.2 of the noise, by the two planes of a pixel */
        if (off > 0.9) fail_msg("%s: %g of the noise is left", clean ? "clean" : "noisy", off);
    }
}

typedef struct watch {
    csrec_pnp *p;
    const double *truth;
    int64_t calls;      /* of a step: the first alone comes between two */
    double least, most; /* of the level that is told, in errors */
} watch;

static bool look(const csrec_progress *now, void *context) {
    watch *w = context;
    double level;
    if (strcmp(now->stage, "plug-and-play") != 0 || now->done < w->calls) return false;
    w->calls = now->done + 1;
    assert_ok(csrec_pnp_decorrelate(w->p, &level));
    level /= sqrt(squares(ENTRIES, w->p->w, w->truth) / ENTRIES);
    w->least = fmin(w->least, level);
    w->most = fmax(w->most, level);
    return false;
}

/* Also where denoisings end by their number, before a fit and after it. */
TEST(levels_are_errors_in_every_round) {
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    static const csrec_setting set[] = {{"iterations", 2}, {"steps", 1}, {"rounds", 3}};
    ENDS_BY(close_fitting) fitting f = {0};
    watch w = {&f.b.p, f.truth, 0, INFINITY, 0.0};
    int64_t done = 0;
    bool lost = false;
    open_fitting(&f, 20.0);
    csrec_denoiser_clear(&f.b.p.denoiser);
    f.b.options.model = NULL;
    use_settings(&f.b.options.solve, 3, set);
    csrec_call_begin(&f.b.p.call, look, &w, (csrec_progress){"plug-and-play", 0, 3, -1.0});
    assert_well(csrec_pnp_messages(&f.b.p, &done, &lost, &told));
    csrec_call_end(&f.b.p.call);
    assert_false(lost);
    /* the least of 20 is 0.945 with a deviation of 0.01 */
    if (w.least < 0.87 || w.most > 1.2) fail_msg("levels of %g to %g errors", w.least, w.most);
}
