/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pca.c - principal components against the covariance from direct sums, on every backend. */
#include "backends.h"
#include "learn/engine.h"
#include "rows.h"

SEED(seed);

/* Rows that lie near a few directions, far from 0. */
static float *draw(int64_t m, int64_t n, int directions, double noise) {
    float *X = malloc((size_t)(m * n) * sizeof *X);
    OWNED double *way = malloc((size_t)(directions * n) * sizeof *way);
    assert_true(X && way);
    for (int64_t i = 0; i < directions * n; i++) way[i] = check_uniform(&seed) - 0.5;
    for (int64_t i = 0; i < m; i++) {
        double z[8];
        for (int k = 0; k < directions; k++) z[k] = (8 - k) * (check_uniform(&seed) - 0.5);
        for (int64_t j = 0; j < n; j++) {
            double x = 100.0 + noise * (check_uniform(&seed) - 0.5);
            for (int k = 0; k < directions; k++) x += z[k] * way[k * n + j];
            X[i * n + j] = (float)x;
        }
    }
    return X;
}

static double *covariance(int64_t m, int64_t n, const float *X, double *mean) {
    double *C = calloc((size_t)(n * n), sizeof *C);
    for (int64_t j = 0; j < n; j++) {
        mean[j] = 0.0;
        for (int64_t i = 0; i < m; i++) mean[j] += (double)X[i * n + j] / (double)m;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                C[j * n + k] +=
                    ((double)X[i * n + j] - mean[j]) * ((double)X[i * n + k] - mean[k]) / (double)m;
    return C;
}

/* Orthonormal rows v, C v = l v, l falling, and what they leave is noise (n - k). Statistics are
 * good to 1e-6 of the variances, and the Gram way divides by roots of eigenvalues down to 1e-5. */
static void check_model(const csrec_model *model, int64_t n, const double *mean, const double *C) {
    const csrec_array *variances = csrec_model_array(model, "variances");
    const double *l = variances->data, *V = csrec_model_array(model, "components")->data;
    const double *m = csrec_model_array(model, "mean")->data;
    double trace = 0.0, kept = 0.0, noise = *(double *)csrec_model_array(model, "noise")->data;
    int64_t k = variances->count;
    for (int64_t j = 0; j < n; j++) {
        trace += C[j * n + j];
        assert_true(fabs(m[j] - mean[j]) <= 1e-9 * fabs(mean[j]));
    }
    for (int64_t a = 0; a < k; a++) {
        double off = 0.0, largest = 0.0;
        kept += l[a];
        assert_true(a == 0 || l[a] <= l[a - 1]);
        for (int64_t i = 0; i < n; i++) {
            double sum = -l[a] * V[a * n + i];
            for (int64_t j = 0; j < n; j++) sum += C[i * n + j] * V[a * n + j];
            off += sum * sum;
            if (fabs(V[a * n + i]) > fabs(largest) * (1 + 1e-9)) largest = V[a * n + i];
        }
        assert_true(largest > 0.0);
        assert_true(sqrt(off) <= 1e-5 * l[0]);
        for (int64_t b = 0; b <= a; b++) {
            double dot = 0.0;
            for (int64_t j = 0; j < n; j++) dot += V[a * n + j] * V[b * n + j];
            assert_true(fabs(dot - (a == b)) <= 1e-6);
        }
    }
    assert_true(fabs(trace - kept - noise * (double)(n - k)) <= 1e-5 * trace);
}

static csrec_model *learn(int64_t m, int64_t n, const float *X, csrec_learn_options options) {
    csrec_data data = {m, n, read_source, &(source){.X = X, .m = m, .n = n}};
    csrec_model *model = NULL;
    assert_well(csrec_pca_learn(&data, &options, &model, NULL, &told));
    return model;
}

/* Skips, with the reason, where the backend cannot learn: no device, or no cuSOLVER. */
static const char *learning_backend(void **state) {
    csrec_error error;
    if (!csrec_learn_usable(*state, &error)) return *state;
    print_message("SKIPPED: %s\n", error.text);
    skip();
    return NULL;
}

TEST_ON_EACH(eigenvectors_of_the_covariance) {
    const char *backend = learning_backend(state);
    const int64_t rows[] = {2, 3, 17, 40, 41, 200}, columns[] = {2, 7, 40, 67};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            int64_t m = rows[r], n = columns[c];
            OWNED float *X = draw(m, n, 5, 0.3);
            double mean[67], *C = covariance(m, n, X, mean);
            csrec_learn_options all = {.energy = 1.0, .threads = 2, .backend = backend};
            csrec_learn_options few = {.components = 3, .backend = backend};
            ENDS_BY(end_model) csrec_model *model = learn(m, n, X, all);
            check_model(model, n, mean, C);
            csrec_model_destroy(model);
            model = learn(m, n, X, few);
            check_model(model, n, mean, C);
            assert_true(csrec_model_array(model, "variances")->count <= 3);
            bool both = (m < n) && strcmp(backend, "cuda") == 0;
            assert_string_equal(csrec_model_text(model, "backend"),
                                both ? "covariance cpu, eigenvectors cuda" : backend);
            free(C);
        }
}

TEST_ON_EACH(energy_is_the_share_kept) {
    const char *backend = learning_backend(state);
    for (int way = 0; way < 2; way++) {
        int64_t m = way ? 30 : 300, n = 60;
        OWNED float *X = draw(m, n, 6, 0.5);
        for (double energy = 0.3; energy < 1.0; energy += 0.15) {
            csrec_learn_options o = {.energy = energy, .backend = backend};
            ENDS_BY(end_model) csrec_model *model = learn(m, n, X, o);
            const csrec_array *v = csrec_model_array(model, "variances");
            const double *l = v->data;
            double noise = *(double *)csrec_model_array(model, "noise")->data, kept = 0.0;
            for (int64_t i = 0; i < v->count; i++) kept += l[i];
            double trace = kept + noise * (double)(n - v->count);
            assert_true(kept >= energy * trace * (1 - 1e-12));
            assert_true(kept - l[v->count - 1] < energy * trace);
        }
    }
}

/* Rows in many pieces, which fill the device's room for them more than once. Each covariance is off
 * by E, |E_jk| <= 1e-6 sqrt(C_jj C_kk) (csrec.h), so |E|_2 <= 1e-6 trace C, and eigenvalues by as
 * much (Weyl). */
TEST_ON("cuda", backends_agree) {
    learning_backend(state);
    int64_t m = 20000 + check_below(&seed, 5000), n = 900 + check_below(&seed, 100);
    OWNED float *X = draw(m, n, 8, 1.0);
    double trace = 0.0;
    csrec_learn_options cuda = {.energy = 1.0, .backend = *state}, cpu = cuda;
    cpu.backend = "cpu";
    ENDS_BY(end_model)
    csrec_model *a = learn(m, n, X, cpu), *b = learn(m, n, X, cuda), *c = learn(m, n, X, cuda);
    const double *l = csrec_model_array(a, "variances")->data;
    const double *k = csrec_model_array(b, "variances")->data;
    const double *v = csrec_model_array(a, "components")->data;
    const double *w = csrec_model_array(b, "components")->data;
    assert_int_equal(csrec_model_array(a, "variances")->count, n);
    assert_int_equal(csrec_model_array(b, "variances")->count, n);
    assert_memory_equal(w, csrec_model_array(c, "components")->data, (size_t)(n * n) * sizeof *w);
    for (int64_t i = 0; i < n; i++) trace += l[i];
    for (int64_t i = 0; i < n; i++) assert_true(fabs(l[i] - k[i]) <= 2e-6 * trace);
    for (int64_t i = 0; i < 8; i++) { /* sin of the angle between <= |E| / gap (Davis and Kahan) */
        double dot = 0.0, gap = fmin(i ? l[i - 1] - l[i] : INFINITY, l[i] - l[i + 1]);
        for (int64_t j = 0; j < n; j++) dot += v[i * n + j] * w[i * n + j];
        double sine = 2e-6 * trace / (gap - 2e-6 * trace);
        if (gap > 1e-3 * trace) assert_true(1.0 - fabs(dot) <= sine * sine + 1e-12);
    }
}

TEST_ON_EACH(mistakes_and_stops) {
    const char *backend = learning_backend(state);
    float X[12] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
    source s = {.X = X, .m = 4, .n = 3};
    csrec_data data = {4, 3, read_source, &s};
    csrec_learn_options o = {.threads = 1, .backend = "gpu"};
    csrec_model *model = NULL;
    assert_fails(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_ARGUMENT);
    assert_int_equal(s.calls, 0);
    o.backend = backend;
    assert_refused(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_DATA, "are equal");
    X[4] = NAN;
    assert_fails(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_DATA);
    X[4] = 5;
    data.m = 1;
    assert_fails(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_DATA);
    data.m = 4;
    o.shape = (csrec_shape){2, {2, 2}};
    assert_fails(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_ARGUMENT);
    o.shape.dims = 0;
    o.energy = 1.5;
    assert_fails(csrec_pca_learn(&data, &o, &model, NULL, &told), CSREC_ARGUMENT);
    o.energy = 0.0;
    o.progress = stop_by_count;
    for (int calls = 0; calls < 3; calls++) {
        int left = calls;
        bool stopped = false;
        o.context = &left;
        assert_well(csrec_pca_learn(&data, &o, &model, &stopped, &told));
        assert_true(stopped && !model);
    }
}
