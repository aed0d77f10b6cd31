/* SPDX-License-Identifier: BSD-3-Clause */
/* test_recover_gmm.c - recovery by a mixture of Gaussians over patches: the Bayes error with the
 * true mixture, pictures with and without a model. */
#include "conditional.h"
#include "models.h"
#include "samples.h"

#include "learn/gmm.h"

SEED(seed);

static const double tones[2] = {0.0, 255.0};

static csrec_model *make_model(int K, int height, int width, int channels, const double *weights,
                               const double *means, const double *C) {
    return model_of_gaussians(
        &(gaussians){{2, {height, width}}, channels, K, weights, means, C, tones});
}

static csrec_measurement sample(int64_t height, int64_t width, int64_t channels, const double *x,
                                int64_t count, double sigma) {
    csrec_shape shape = {2, {height, width}};
    csrec_measurement m =
        draw_places(&shape, channels, CSREC_PATTERN_UNIFORM, count, check_next(&seed));
    m.sigma = sigma;
    m.scale[1] = 255.0;
    take_samples(&m, x, &seed);
    return m;
}

static void recover(const csrec_measurement *m, csrec_recover_options *o, double *signal) {
    assert_well(csrec_recover(m, o, signal, NULL, NULL, &told));
}

static csrec_recover_options options_of(const csrec_model *model) {
    csrec_recover_options o = options_by(NULL);
    o.model = model;
    o.solve.solver = "gmm";
    o.threads = 1; /* small pictures: threads would wait for each other */
    return o;
}

/* A picture of tiles that are drawn from a mixture whose components differ in brightness. No
 * estimator has a smaller mean squared error than the posterior variances, which the recovery with
 * that mixture must reach within what the tiles scatter (5 standard deviations of their mean). The
 * recovery counts 1/255 of the range as noise more, which changes an error by its square. */
TEST(reaches_the_bayes_error) {
    enum { K = 3, P = 4, D = P * P, TILES = 20, SIDE = P * TILES };
    const double weights[K] = {0.2, 0.5, 0.3}, sigma = 4.0;
    static double means[K * D], C[K * D * D], L[K * D * D], x[SIDE * SIDE], u[SIDE * SIDE];
    static int component[TILES * TILES];
    for (int k = 0; k < K; k++) {
        make_covariance(&seed, D, 5, 150.0, C + k * D * D);
        for (int i = 0; i < D; i++) {
            means[k * D + i] = 30.0 + 95.0 * k;
            C[(k * D + i) * D + i] += 2.0;
        }
    }
    memcpy(L, C, sizeof L);
    for (int k = 0; k < K; k++) assert_true(csrec_cholesky(D, L + k * D * D));
    for (int t = 0; t < TILES * TILES; t++) {
        double uniform = check_uniform(&seed), z[D];
        int k = component[t] = uniform < 0.2 ? 0 : uniform < 0.7 ? 1 : 2;
        for (int i = 0; i < D; i++) z[i] = check_normal(&seed);
        for (int i = 0; i < D; i++) {
            double value = means[k * D + i];
            for (int j = 0; j <= i; j++) value += L[(k * D + i) * D + j] * z[j];
            x[(t / TILES * P + i / P) * SIDE + t % TILES * P + i % P] = value;
        }
    }
    ENDS_BY(end_model) csrec_model *model = make_model(K, P, P, 1, weights, means, C);
    CLEARED(csrec_measurement) m = sample(SIDE, SIDE, 1, x, SIDE * SIDE / 2, sigma);
    csrec_recover_options o = options_of(model);
    csrec_setting settings[] = {{"step", P}, {"rounds", 4}};
    use_settings(&o.solve, 2, settings);
    recover(&m, &o, u);
    double sum = 0.0, bayes = 0.0, squares = 0.0;
    for (int t = 0; t < TILES * TILES; t++) {
        int at[D], n = 0, k = component[t];
        double y[D] = {0}, mean[D], variance[D], off = 0.0;
        for (int64_t s = 0; s < m.n; s++) {
            int row = (int)(m.index[s] / SIDE), column = (int)(m.index[s] % SIDE);
            if (row / P == t / TILES && column / P == t % TILES) at[n++] = row % P * P + column % P;
        }
        condition_dense(D, means + k * D, C + k * D * D, n, at, y, sigma * sigma, mean, variance);
        for (int i = 0; i < D; i++) {
            int place = (t / TILES * P + i / P) * SIDE + t % TILES * P + i % P;
            off += (u[place] - x[place]) * (u[place] - x[place]);
            bayes += variance[i];
        }
        sum += off;
        squares += off * off;
    }
    double tiles = TILES * TILES,
           deviation = sqrt((squares / tiles - sum / tiles * (sum / tiles)) / tiles);
    if (!(fabs(sum - bayes) / tiles <= 5.0 * deviation))
        fail_msg("%g a tile, not %g", sum / tiles, bayes / tiles);
}

/* Stripes that bend, a disc, a ramp. */
static void make_picture(int height, int width, int channels, double *x) {
    double turn = 6.28 * check_uniform(&seed);
    for (int i = 0; i < height * width; i++)
        for (int c = 0; c < channels; c++) {
            double row = i / width, column = i % width;
            double inside = hypot(row - 0.4 * height, column - 0.6 * width) < 0.25 * height;
            x[i * channels + c] = 100.0 +
                                  50.0 * sin(0.8 * row * cos(turn) + 0.8 * column * sin(turn)) +
                                  60.0 * inside + 0.3 * column - 20.0 * c;
        }
}

static double squared_error(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / (double)n;
}

static double variance_of(int64_t n, const double *x) {
    double mean = 0.0, sum = 0.0;
    for (int64_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)n;
}

/* Fitted to the samples alone; in other units the same; and the same for any number of threads.
 * How good pictures are is for bench/ to tell. */
TEST(pictures_without_a_model) {
    enum { H = 40, W = 37 };
    for (int channels = 1; channels <= 3; channels += 2) {
        double x[H * W * 3], u[H * W * 3], w[H * W * 3];
        make_picture(H, W, channels, x);
        int64_t n = H * W * channels;
        CLEARED(csrec_measurement) m = sample(H, W, channels, x, H * W * 3 / 10, 0.0);
        csrec_recover_options o = options_of(NULL);
        csrec_setting settings[] = {{"components", 8}};
        use_settings(&o.solve, 1, settings);
        recover(&m, &o, u);
        assert_true(squared_error(n, u, x) < 0.1 * variance_of(n, x));
        for (int64_t i = 0; i < m.n * channels; i++)
            assert_true(u[m.index[i / channels] * channels + i % channels] == m.y[i]);
        for (int64_t i = 0; i < m.n * channels; i++) m.y[i] = 64.0 * m.y[i] - 1024.0;
        m.scale[0] = -1024.0;
        m.scale[1] = 255.0 * 64.0 - 1024.0;
        recover(&m, &o, w);
        for (int64_t i = 0; i < n; i++) w[i] = (w[i] + 1024.0) / 64.0;
        assert_true(squared_error(n, w, u) < 0.01 * squared_error(n, u, x) + 1e-3);
    }
}

typedef struct patches {
    const double *x;
    int width, channels, across;
} patches;

static csrec_status read_patches(void *context, int64_t first, int64_t count, float *X,
                                 csrec_error *error) {
    const patches *p = context;
    (void)error;
    for (int64_t i = first; i < first + count; i++)
        for (int k = 0; k < 25; k++)
            for (int c = 0; c < p->channels; c++) {
                int64_t row = i / p->across + k / 5, column = i % p->across + k % 5;
                *X++ = (float)p->x[(row * p->width + column) * p->channels + c];
            }
    return CSREC_OK;
}

static csrec_model *learn(int height, int width, int channels, const double *x) {
    patches p = {x, width, channels, width - 4};
    csrec_data data = {(int64_t)(height - 4) * (width - 4), 25 * channels, read_patches, &p};
    csrec_learn_options o = {.shape = {2, {5, 5}},
                             .channels = channels,
                             .components = 6,
                             .scale = {0.0, 255.0},
                             .rounds = 10};
    csrec_model *model = NULL;
    assert_ok(csrec_gmm_learn(&data, &o, &model, NULL, NULL));
    return model;
}

/* Learned from another picture of the kind; patches of one channel also serve several. */
TEST(pictures_with_a_model) {
    enum { H = 40, W = 45 };
    static double x[H * W * 3], other[H * W * 3], u[H * W * 3], v[H * W * 3];
    for (int channels = 1; channels <= 3; channels += 2)
        for (int joint = 1; joint <= channels; joint += 2) {
            uint64_t same = seed;
            make_picture(H, W, joint, other);
            ENDS_BY(end_model) csrec_model *model = learn(H, W, joint, other);
            seed = same; /* the same stripes */
            make_picture(H, W, joint, other);
            for (int i = 0; i < H * W * channels; i++)
                x[i] = joint == channels ? other[i] : other[i / channels];
            CLEARED(csrec_measurement) m = sample(H, W, channels, x, H * W / 4, 3.0);
            csrec_recover_options o = options_of(model);
            o.solve.solver = NULL; /* the model says which */
            recover(&m, &o, u);
            assert_true(squared_error(H * W * channels, u, x) <
                        0.1 * variance_of(H * W * channels, x));
            csrec_setting adapt = {"adapt", 1};
            use_settings(&o.solve, 1, &adapt);
            recover(&m, &o, v);
            for (int i = 0; i < H * W * channels; i++) assert_true(isfinite(v[i]));
        }
}

/* One value, few pixels, no samples in half of the picture, and every pixel a sample. */
TEST(odd_pictures) {
    static const int sizes[][2] = {{1, 1}, {1, 9}, {3, 5}, {19, 18}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < (s < 2 ? 2 : 4); kind++) {
            int H = sizes[s][0], W = sizes[s][1], n = H * W;
            double x[34 * 34], u[34 * 34];
            make_picture(H, W, 1, x);
            for (int i = 0; i < n && kind == 0; i++) x[i] = 7.0;
            CLEARED(csrec_measurement) m = sample(H, W, 1, x, kind == 3 ? n : (n + 2) / 3, 0.0);
            if (kind == 2) { /* the upper half alone */
                int64_t kept = 1;
                for (int64_t i = 1; i < m.n; i++)
                    if (m.index[i] < n / 2) {
                        m.index[kept] = m.index[i];
                        m.y[kept++] = m.y[i];
                    }
                m.n = kept;
            }
            csrec_recover_options o = options_of(NULL);
            const csrec_setting few = {"components", 5};
            use_settings(&o.solve, 1, &few);
            recover(&m, &o, u);
            for (int i = 0; i < n; i++) {
                assert_true(isfinite(u[i]));
                if (kind == 0) assert_true(fabs(u[i] - 7.0) < 1e-3);
                if (kind == 3) assert_true(u[i] == x[i]);
            }
        }
}

/* Rank 1, and a component of weight 0 with no variance at all. */
TEST(singular_models_are_used) {
    const double weights[2] = {1.0, 0.0};
    double means[32], C[512] = {0}, x[400], u[400];
    for (int i = 0; i < 32; i++) means[i] = 100.0;
    make_covariance(&seed, 16, 1, 900.0, C);
    make_picture(20, 20, 1, x);
    ENDS_BY(end_model) csrec_model *model = make_model(2, 4, 4, 1, weights, means, C);
    CLEARED(csrec_measurement) m = sample(20, 20, 1, x, 100, 0.0);
    csrec_recover_options o = options_of(model);
    recover(&m, &o, u);
    for (int i = 0; i < 400; i++) assert_true(isfinite(u[i]));
}

TEST(mistakes_are_refused) {
    double x[400], u[400], weights[1] = {1.0}, means[48] = {0}, C[48 * 48] = {0};
    make_picture(20, 20, 1, x);
    CLEARED(csrec_measurement) m = sample(20, 20, 1, x, 100, 0.0);
    csrec_recover_options o = options_of(NULL);
    for (int i = 0; i < 48; i++) C[i * 49] = 1.0;
    ENDS_BY(end_model) csrec_model *rgb = make_model(1, 4, 4, 3, weights, means, C);
    ENDS_BY(end_model) csrec_model *tall = make_model(1, 24, 2, 1, weights, means, C);
    o.model = rgb;
    assert_refused(csrec_recover(&m, &o, u, NULL, NULL, &told), CSREC_DATA, "array 'channels'");
    o.model = tall;
    assert_refused(csrec_recover(&m, &o, u, NULL, NULL, &told), CSREC_DATA, "array 'shape'");
    const csrec_setting patch = {"patch", 8};
    use_settings(&o.solve, 1, &patch);
    assert_fails(csrec_recover(&m, &o, u, NULL, NULL, &told), CSREC_ARGUMENT);
}
