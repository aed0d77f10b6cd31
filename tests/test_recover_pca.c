/* SPDX-License-Identifier: BSD-3-Clause */
/* test_recover_pca.c - recovery by principal components: against the formula solved densely,
 * against the Bayes error, and against Haar pursuit on a family of aligned pictures. */
#include "linear.h"
#include "models.h"
#include "samples.h"

SEED(seed);

/* ---- a family of aligned pictures: a round head with eyes and a mouth, lit from a side. Nine
 * numbers make one, each moves the picture in a curve, so no few components hold it exactly. */

static double family_blob(double y, double x, double height, double width) {
    return exp(-0.5 * (y * y / (height * height) + x * x / (width * width)));
}

/* Member `number` of a family, [height][width], about 0 to 255. */
static void family_make(uint64_t family, uint64_t number, int height, int width, float *to) {
    double p[9];
    for (int i = 0; i < 9; i++)
        p[i] = 2.0 * csrec_random_uniform(family, number, (uint64_t)i) - 1.0;
    double long_ = 0.72 + 0.08 * p[0], wide = 0.55 + 0.07 * p[1];
    double eyes = -0.18 + 0.04 * p[2], apart = 0.24 + 0.04 * p[3];
    double mouth = 0.36 + 0.05 * p[4], smile = 0.1 * p[5];
    for (int i = 0; i < height; i++)
        for (int j = 0; j < width; j++) {
            double y = 2.0 * (i + 0.5) / height - 1.0, x = 2.0 * (j + 0.5) / width - 1.0;
            double r = sqrt(y * y / (long_ * long_) + x * x / (wide * wide));
            double face = 1.0 / (1.0 + exp(14.0 * (r - 1.0)));
            double light = 1.0 + 0.5 * p[6] * x + 0.3 * p[7] * y - 0.25 * r * r;
            double dark = family_blob(y - eyes, x - apart, 0.07, 0.1) +
                          family_blob(y - eyes, x + apart, 0.07, 0.1) +
                          0.8 * family_blob(y - mouth - smile * x * x * 4.0, x, 0.05, 0.25) +
                          0.4 * family_blob(y - 0.08, x - 0.05 * p[8], 0.15, 0.05);
            to[i * width + j] = (float)(40.0 + 150.0 * face * light * (1.0 - 0.7 * dark));
        }
}

/* A model of k random orthonormal components of [height, width]. */
typedef struct truth {
    int64_t height, width, n, k;
    double *mean, *V, *l, noise;
    csrec_model *model;
} truth;

static csrec_model *make_model(const truth *t, const double *scale) {
    return model_of_components(
        &(components){{2, {t->height, t->width}}, 1, t->k, t->mean, t->V, t->l, scale, t->noise});
}

static truth make_truth(int64_t height, int64_t width, int64_t k, double noise) {
    truth t = {.height = height, .width = width, .n = height * width, .k = k, .noise = noise};
    t.mean = check_keep((size_t)t.n * sizeof *t.mean);
    t.V = check_keep((size_t)(k * t.n) * sizeof *t.V);
    t.l = check_keep((size_t)k * sizeof *t.l);
    for (int64_t i = 0; i < t.n; i++) t.mean[i] = 100.0 + 20.0 * check_normal(&seed);
    for (int64_t a = 0; a < k; a++) t.l[a] = 900.0 * pow(0.7, (double)a);
    draw_orthonormal(&seed, k, t.n, t.V);
    t.model = make_model(&t, NULL);
    return t;
}

static void clear_truth(truth *t) {
    csrec_model_destroy(t->model);
}

/* A picture of the model. */
static void draw(const truth *t, double *x) {
    memcpy(x, t->mean, (size_t)t->n * sizeof *x);
    for (int64_t a = 0; a < t->k; a++) {
        double z = sqrt(t->l[a]) * check_normal(&seed);
        for (int64_t i = 0; i < t->n; i++) x[i] += z * t->V[a * t->n + i];
    }
}

static csrec_measurement sample(const csrec_shape *shape, const double *x, int64_t count,
                                double sigma) {
    csrec_measurement m = draw_places(shape, 1, CSREC_PATTERN_UNIFORM, count, check_next(&seed));
    m.sigma = sigma;
    take_samples(&m, x, &seed);
    return m;
}

static void recover(const csrec_measurement *m, const csrec_model *model, double *signal) {
    csrec_recover_options o = options_by(NULL);
    o.model = model;
    o.threads = 1;
    assert_well(csrec_recover(m, &o, signal, NULL, NULL, &told));
}

/* The formula, written out. */
static void recover_dense(const truth *t, const csrec_measurement *m, double s2, double *x) {
    OWNED double *A = calloc((size_t)(t->k * t->k), sizeof *A),
                 *b = calloc((size_t)t->k, sizeof *b);
    for (int64_t a = 0; a < t->k; a++) {
        A[a * (t->k + 1)] = s2 / t->l[a];
        for (int64_t i = 0; i < m->n; i++) {
            double v = t->V[a * t->n + m->index[i]];
            b[a] += v * (m->y[i] - t->mean[m->index[i]]);
            for (int64_t c = 0; c < t->k; c++) A[a * t->k + c] += v * t->V[c * t->n + m->index[i]];
        }
    }
    eliminate(t->k, A, b);
    for (int64_t i = 0; i < t->n; i++) {
        x[i] = t->mean[i];
        for (int64_t a = 0; a < t->k; a++) x[i] += b[a] * t->V[a * t->n + i];
    }
}

TEST(follows_the_formula) {
    for (int k = 0; k < 12; k++) {
        ENDS_BY(clear_truth)
        truth t = make_truth(5 + check_below(&seed, 6), 4 + check_below(&seed, 9),
                             1 + check_below(&seed, 12), k % 2 ? 0.0 : 2.0);
        csrec_shape shape = {2, {t.height, t.width}};
        OWNED double *x = malloc((size_t)t.n * 8), *u = malloc((size_t)t.n * 8),
                     *v = malloc((size_t)t.n * 8);
        draw(&t, x);
        int64_t count = k == 0 ? 1 : k == 1 ? t.n : 1 + check_below(&seed, t.n);
        CLEARED(csrec_measurement) m = sample(&shape, x, count, 0.5 + 3.0 * check_uniform(&seed));
        recover(&m, t.model, u);
        recover_dense(&t, &m, m.sigma * m.sigma + t.noise, v);
        for (int64_t i = 0; i < t.n; i++) assert_true(fabs(u[i] - v[i]) <= 1e-9 * 200.0);
    }
}

/* Noise that is not told is found: as good as known, within 10 % of the error. */
TEST(noise_is_found) {
    ENDS_BY(clear_truth) truth t = make_truth(20, 20, 10, 0.5);
    csrec_shape shape = {2, {20, 20}};
    double x[400], told[400], found[400], off[2] = {0};
    for (int s = 0; s < 40; s++) {
        draw(&t, x);
        CLEARED(csrec_measurement) m = sample(&shape, x, 120, 6.0);
        recover(&m, t.model, told);
        m.sigma = 0.0;
        recover(&m, t.model, found);
        for (int64_t i = 0; i < m.n; i++) found[m.index[i]] = told[m.index[i]]; /* kept samples */
        for (int i = 0; i < 400; i++) {
            off[0] += (told[i] - x[i]) * (told[i] - x[i]);
            off[1] += (found[i] - x[i]) * (found[i] - x[i]);
        }
    }
    assert_true(off[1] <= 1.1 * off[0]);
}

/* Samples in other units, told by scales, give the same signal in these units. */
TEST(scales_are_converted) {
    ENDS_BY(clear_truth) truth t = make_truth(6, 7, 5, 1.0);
    const double scale[2] = {0.0, 255.0};
    ENDS_BY(end_model) csrec_model *model = make_model(&t, scale);
    csrec_shape shape = {2, {6, 7}};
    double x[42], u[42], v[42];
    draw(&t, x);
    CLEARED(csrec_measurement) m = sample(&shape, x, 20, 2.0);
    m.scale[1] = 255.0;
    recover(&m, model, u);
    for (int64_t i = 0; i < m.n; i++) m.y[i] = 5.0 - m.y[i] / 51.0;
    m.sigma /= 51.0;
    m.scale[0] = 5.0;
    m.scale[1] = 0.0;
    recover(&m, model, v);
    for (int i = 0; i < 42; i++) assert_true(fabs((5.0 - u[i] / 51.0) - v[i]) <= 1e-9 * 5.0);
}

typedef struct family {
    uint64_t seed;
    int height, width;
} family;

static csrec_status read_family(void *context, int64_t first, int64_t count, float *X,
                                csrec_error *error) {
    const family *f = context;
    (void)error;
    for (int64_t i = 0; i < count; i++)
        family_make(f->seed, (uint64_t)(first + i), f->height, f->width,
                    X + i * f->height * f->width);
    return CSREC_OK;
}

/* Learned from some members, recovers others: more samples, less error, and always less than Haar
 * pursuit on the same samples. Of 16 members the summed errors fall from one rate to the next by
 * exp(1.5 to 2.5), with a deviation of exp(0.3 to 0.4); of 3 they need not. */
TEST(beats_pursuit_on_a_family) {
    enum { H = 30, W = 24, N = H * W, TRAIN = 500, TESTS = 16 };
    family f = {check_next(&seed), H, W};
    csrec_data data = {TRAIN, N, read_family, &f};
    csrec_learn_options o = {.shape = {2, {H, W}}, .components = 60, .threads = 2};
    ENDS_BY(end_model) csrec_model *model;
    assert_ok(csrec_pca_learn(&data, &o, &model, NULL, NULL));
    csrec_shape shape = {2, {H, W}};
    const double rates[] = {0.02, 0.05, 0.1, 0.25, 0.5};
    double last = INFINITY;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double off[2] = {0};
        for (int s = 0; s < TESTS; s++) {
            float member[N];
            double x[N], u[2][N];
            family_make(f.seed, (uint64_t)(TRAIN + s), H, W, member);
            for (int i = 0; i < N; i++) x[i] = member[i];
            CLEARED(csrec_measurement) m = sample(&shape, x, (int64_t)(rates[r] * N), 0.0);
            recover(&m, model, u[0]);
            recover(&m, NULL, u[1]);
            for (int i = 0; i < N; i++)
                for (int w = 0; w < 2; w++) off[w] += (u[w][i] - x[i]) * (u[w][i] - x[i]);
            for (int64_t i = 0; i < m.n; i++) assert_true(u[0][m.index[i]] == m.y[i]);
        }
        assert_true(off[0] < last);
        assert_true(off[0] < off[1]);
        last = off[0];
    }
}

TEST(mistakes_are_refused) {
    ENDS_BY(clear_truth) truth t = make_truth(6, 7, 3, 1.0);
    double x[84] = {0}, u[84];
    csrec_recover_options o;
    csrec_shape shapes[] = {{2, {7, 6}}, {1, {42}}, {3, {6, 7, 1}}};
    for (int i = 0; i < 3; i++) {
        CLEARED(csrec_measurement) m = sample(&shapes[i], x, 5, 1.0);
        csrec_recover_defaults(&o);
        o.model = t.model;
        assert_refused(csrec_recover(&m, &o, u, NULL, NULL, &told), CSREC_DATA, "array 'shape'");
    }
}
