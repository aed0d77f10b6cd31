/* SPDX-License-Identifier: BSD-3-Clause */
/* test_variance.c - the squared errors that methods expect of their results: posterior variances
 * against dense elimination in double, spreads against single grids. */
#include "linear.h"
#include "models.h"

#include "method/history.h"
#include "recover/recover.h"

SEED(seed);

/* Posterior mean and covariance diagonal of x ~ N(mean, C) given y = x[at] + noise: Gauss
 * elimination of [C_SS + noise | C_S, y - mean_S]. */
static inline void condition_dense(int d, const double *mean, const double *C, int n, const int *at,
                                   const double *y, double noise, double *x, double *variance) {
    OWNED double *A = malloc((size_t)((n + 1) * (n + d + 1)) * sizeof *A);
    int w = n + d + 1;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) A[i * w + j] = C[at[i] * d + at[j]] + (i == j ? noise : 0.0);
        for (int j = 0; j < d; j++) A[i * w + n + j] = C[at[i] * d + j];
        A[i * w + n + d] = y[i] - mean[at[i]];
    }
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++) {
            double f = A[i * w + c] / A[c * w + c];
            for (int j = 0; j < w && i != c; j++) A[i * w + j] -= f * A[c * w + j];
        }
    for (int j = 0; j < d; j++) {
        x[j] = mean[j];
        variance[j] = C[j * d + j];
        for (int i = 0; i < n; i++) {
            x[j] += C[at[i] * d + j] * A[i * w + n + d] / A[i * w + i];
            variance[j] -= C[at[i] * d + j] * A[i * w + n + j] / A[i * w + i];
        }
    }
}

/* Some of the entries of a signal of random tones in `unit`, at random. */
static csrec_measurement sample(csrec_shape shape, int64_t channels, double rate, double sigma,
                                double unit) {
    csrec_measurement m = {
        .shape = shape, .channels = channels, .sigma = sigma * unit, .scale = {0.0, 255.0 * unit}};
    const int64_t entries = entries_in(&shape);
    m.index = malloc((size_t)entries * sizeof *m.index);
    m.y = malloc((size_t)(entries * channels) * sizeof *m.y);
    for (int64_t i = 0; i < entries; i++) {
        if (check_uniform(&seed) >= rate && (m.n > 0 || i + 1 < entries)) continue;
        for (int64_t c = 0; c < channels; c++)
            m.y[m.n * channels + c] = unit * (100.0 + 30.0 * check_normal(&seed));
        m.index[m.n++] = i;
    }
    return m;
}

static void recover(const csrec_measurement *m, const csrec_recover_options *o, double *signal,
                    double *variance) {
    variance[0] = -1.0;
    assert_well(csrec_recover_variance(m, o, signal, variance, NULL, &told));
}

static csrec_recover_options options_of(const char *method, const csrec_model *model) {
    csrec_recover_options o = options_on_cpu(method, model);
    o.threads = 2;
    return o;
}

enum { N = 7 * 8, K = 6 };

/* x = mean + V^T z + e: of V^T z after samples with the noise of both e and sigma, and of e. */
TEST(components_tell_posterior_variances) {
    for (int k = 0; k < 8; k++) {
        double V[K * N], C[N * N] = {0}, mean[N] = {0}, l[K], y[N] = {0}, x[N], wanted[N];
        double signal[N], v[N], noise = k % 2 ? 3.0 * check_uniform(&seed) : 0.0;
        int at[N];
        draw_orthonormal(&seed, K, N, V);
        for (int a = 0; a < K; a++) l[a] = 900.0 * pow(0.7, a);
        for (int i = 0; i < N * N; i++)
            for (int a = 0; a < K; a++) C[i] += l[a] * V[a * N + i / N] * V[a * N + i % N];
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m =
            sample((csrec_shape){2, {7, 8}}, 1, check_uniform(&seed), 1.0 + 4.0 * (k % 3), 1.0);
        for (int64_t i = 0; i < m.n; i++) at[i] = (int)m.index[i];
        condition_dense(N, mean, C, (int)m.n, at, y, m.sigma * m.sigma + noise, x, wanted);
        ENDS_BY(end_model)
        csrec_model *model =
            model_of_components(&(components){{2, {7, 8}}, 1, K, mean, V, l, NULL, noise});
        csrec_recover_options o = options_of("pca", model);
        recover(&m, &o, signal, v);
        for (int i = 0; i < N; i++) assert_true(fabs(v[i] - wanted[i] - noise) <= 1e-9 * 900.0);
    }
}

/* One patch is the whole picture, and its group: the covariance is diagonal, and each pixel is
 * known or unknown. The dense formulas of groups are in test_gaussian_group.c. */
TEST(groups_tell_posterior_variances) {
    enum { SIDE = 8, ROUNDS = 2 };
    for (int k = 0; k < 6; k++) {
        double signal[SIDE * SIDE], v[SIDE * SIDE], sigma = k % 2 ? 3.0 : 0.0;
        double unit = k < 3 ? 1.0 : 1e-3, noise = fmax(sigma * sigma, 1.0), known = 0.0,
               other = 0.0;
        CLEARED(csrec_measurement) m = sample((csrec_shape){2, {SIDE, SIDE}}, 1, 0.5, sigma, unit);
        double share = (double)m.n / (SIDE * SIDE);
        for (int r = 0; r < ROUNDS; r++) {
            double C = 2.0 + 0.5 * ((sigma > 0.0 ? share * known : 0.0) + (1.0 - share) * other);
            known = C * noise / (C + noise) + 0.2; /* maximisation: the posterior, and a little */
            known = known * noise / (known + noise);
            other = C + 0.2;
        }
        csrec_recover_options o = options_of("gaussian", NULL);
        const csrec_setting fast[] = {{"effort", 0}};
        use_settings(&o.solve, 1, fast);
        recover(&m, &o, signal, v);
        for (int i = 0; i < SIDE * SIDE; i++) {
            double wanted = other;
            for (int64_t s = 0; s < m.n; s++)
                if (m.index[s] == i) wanted = sigma > 0.0 ? known : 0.0;
            assert_true(fabs(v[i] / (unit * unit) - wanted) <= 1e-5 * wanted);
        }
    }
}

/* Independent errors along orthonormal axes, R^T diag(v) R. */
TEST(turned_colours_keep_their_variances) {
    double a = check_uniform(&seed), b = check_uniform(&seed), sum[2] = {0.0, 0.0};
    csrec_gaussian_axes axes = {.channels = 3,
                                .axis = {{cos(a), sin(a), 0.0},
                                         {-sin(a) * cos(b), cos(a) * cos(b), sin(b)},
                                         {sin(a) * sin(b), -cos(a) * sin(b), cos(b)}}};
    float v[3] = {(float)check_uniform(&seed), 2.0f, 3.0f}, *rows[3] = {&v[0], &v[1], &v[2]};
    for (int c = 0; c < 3; c++) {
        double wanted = 0.0, own = csrec_gaussian_axes_variance(&axes, rows, c, 0);
        for (int k = 0; k < 3; k++) wanted += axes.axis[k][c] * (double)v[k] * axes.axis[k][c];
        assert_true(fabs(own - wanted) <= 1e-14);
        sum[0] += own;
        sum[1] += (double)v[c];
    }
    assert_true(fabs(sum[0] - sum[1]) <= 1e-14); /* the trace */
    axes.channels = 0;
    for (int c = 0; c < 3; c++)
        assert_true(csrec_gaussian_axes_variance(&axes, rows, c, 0) == (double)v[c]);
}

/* The fit on one grid of several, at all entries. */
static void fit_grid(const csrec_measurement *m, const csrec_plan *plan, int64_t number,
                     int64_t entries, double *fit) {
    csrec_grid grid;
    ENDS_BY(end_operator) csrec_operator *A;
    CLEARED(csrec_atoms) atoms = {0};
    OWNED uint64_t *rows = malloc((size_t)entries * sizeof *rows),
                   *sorted = malloc((size_t)m->n * 8);
    OWNED int64_t *all = malloc((size_t)entries * sizeof *all);
    OWNED double *y = malloc((size_t)m->n * sizeof *y);
    for (int64_t i = 0; i < entries; i++) all[i] = i;
    assert_ok(csrec_grid_create(&m->shape, plan->options.order, number, plan->options.shifts,
                                plan->options.seed, &grid));
    assert_ok(csrec_grid_rows(&grid, entries, all, rows));
    for (int64_t i = 0; i < m->n; i++) { /* insertion by rows */
        int64_t to = i;
        for (; to > 0 && sorted[to - 1] > rows[m->index[i]]; to--) {
            sorted[to] = sorted[to - 1];
            y[to] = y[to - 1];
        }
        sorted[to] = rows[m->index[i]];
        y[to] = m->y[i];
    }
    csrec_operator_spec spec = {.name = "haar",
                                .levels = grid.levels,
                                .m = m->n,
                                .rows = sorted,
                                .columns = plan->options.columns};
    A = operator_of(&spec);
    assert_ok(csrec_solve(A, y, &plan->options.solve, &atoms, NULL, NULL, NULL));
    assert_ok(csrec_atoms_synthesize(grid.levels, &atoms, entries, rows, fit));
}

TEST(grids_tell_their_spread) {
    enum { MOST_ENTRIES = 400 };
    for (int k = 0; k < 6; k++) {
        double signal[MOST_ENTRIES], v[MOST_ENTRIES], fit[MOST_ENTRIES];
        double mean[MOST_ENTRIES] = {0}, squares[MOST_ENTRIES] = {0};
        int64_t a = 5 + check_below(&seed, 15), b = 5 + check_below(&seed, 15), entries = a * b;
        csrec_shape shape = k % 2 ? (csrec_shape){1, {entries}} : (csrec_shape){2, {a, b}};
        CLEARED(csrec_measurement) m = sample(shape, 1, 0.3, 0.0, ldexp(1.0, 10 - 7 * k));
        csrec_recover_options o = options_of("grids", NULL);
        o.shifts = 2 + check_below(&seed, 40);
        csrec_plan plan;
        assert_ok(csrec_recover_plan(&m, &o, false, &plan, NULL));
        recover(&m, &o, signal, v);
        for (int g = 0; g < o.shifts; g++) {
            fit_grid(&m, &plan, g, entries, fit);
            /* Adds a fit to the sums of Welford's recurrence: mean, and squares of deviations from
             * it. */
            for (int64_t i = 0; i < entries; i++) {
                double off = fit[i] - mean[i];
                mean[i] += off / (g + 1);
                squares[i] += off * (fit[i] - mean[i]);
            }
        }
        double n = (double)o.shifts;
        for (int64_t i = 0; i < entries; i++) { /* squares of means cancel in the method's sums */
            double size = 1e-13 * (mean[i] * mean[i] + squares[i]);
            assert_true(fabs(signal[i] - mean[i]) <= 1e-12 * fabs(mean[i]) + sqrt(size) * 1e-6);
            assert_true(fabs(v[i] - squares[i] / (n * (n - 1.0))) <= size);
        }
        o.shifts = 1;
        recover(&m, &o, signal, v);
        assert_true(v[0] < 0.0); /* a single grid has none */
    }
}
