/* Plug-and-play recovery: its linear steps against dense matrices, the slope of a denoiser against
 * all of its derivatives, the choice of the way, and what every way must keep. */
#include "method/pnp/pnp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "solver/solver.h"

static uint64_t seed;

enum { SIDE = 32, ENTRIES = SIDE * SIDE };

/* A measurement, and what a recovery from it works with. */
typedef struct bench {
    csrec_measurement m;
    csrec_operator_spec spec;
    csrec_recover_options options;
    csrec_recovery r;
    csrec_pnp p;
} bench;

static double *room(int64_t n) {
    return calloc((size_t)n, sizeof(double));
}

static void bench_open(bench *b) {
    csrec_error error = {""};
    csrec_recover_defaults(&b->options);
    b->options.method = "pnp";
    b->r = (csrec_recovery){
        .measurement = &b->m, .options = &b->options, .context = &csrec_context_cpu, .unit = 1.0};
    b->p = (csrec_pnp){.sigma = b->m.sigma, .tone = 1.0};
    if (csrec_sensed_create(&b->r, &b->p.data, &error)) fail_msg("%s", error.text);
    double **signals[] = {&b->p.x, &b->p.z, &b->p.w, &b->p.mean, &b->p.back};
    double **rows[] = {&b->p.r, &b->p.u, &b->p.p, &b->p.q};
    for (int i = 0; i < 5; i++) *signals[i] = room(b->p.data.values);
    for (int i = 0; i < 4; i++) *rows[i] = room(b->p.data.y_values);
}

static void bench_close(bench *b) {
    double *all[] = {b->p.x, b->p.z, b->p.w, b->p.mean, b->p.back, b->p.r, b->p.u, b->p.p, b->p.q};
    for (int i = 0; i < 9; i++) free(all[i]);
    csrec_denoiser_clear(&b->p.denoiser);
    csrec_sensed_clear(&b->p.data);
}

static double squares(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += b ? pow(a[i] - b[i], 2.0) : a[i] * a[i];
    return sum;
}

/* ------------------------------------------------------------------ dense references ---------- */

enum { H = 5, W = 6, N = H * W, ROWS = 12 };

/* Rows of random numbers; orthogonal, of length c, the first one constant, if asked for. */
static void draw_matrix(bool orthogonal, double c, int m, double *A) {
    for (int i = 0; i < m * N; i++) A[i] = check_normal(&seed);
    for (int j = 0; j < N && orthogonal; j++) A[j] = 1.0;
    for (int i = 0; i < m && orthogonal; i++) {
        for (int again = 0; again < 2; again++)
            for (int k = 0; k < i; k++) {
                double along = 0.0;
                for (int j = 0; j < N; j++) along += A[i * N + j] * A[k * N + j] / (c * c);
                for (int j = 0; j < N; j++) A[i * N + j] -= along * A[k * N + j];
            }
        double length = sqrt(squares(N, A + i * N, NULL));
        for (int j = 0; j < N; j++) A[i * N + j] *= c / length;
    }
}

static void times(int m, const double *A, const double *x, double *y) {
    for (int i = 0; i < m; i++) {
        y[i] = 0.0;
        for (int j = 0; j < N; j++) y[i] += A[i * N + j] * x[j];
    }
}

/* u with (A A^T + share I) u = r, by elimination with pivots. */
static void solve_dense(int m, const double *A, double share, double *r, double *u) {
    double G[ROWS * ROWS];
    for (int i = 0; i < m; i++)
        for (int k = 0; k < m; k++) {
            G[i * m + k] = i == k ? share : 0.0;
            for (int j = 0; j < N; j++) G[i * m + k] += A[i * N + j] * A[k * N + j];
        }
    for (int k = 0; k < m; k++) /* positive definite: no pivots are needed */
        for (int i = k + 1; i < m; i++) {
            double f = G[i * m + k] / G[k * m + k];
            for (int l = k; l < m; l++) G[i * m + l] -= f * G[k * m + l];
            r[i] -= f * r[k];
        }
    for (int k = m - 1; k >= 0; k--) {
        u[k] = r[k];
        for (int l = k + 1; l < m; l++) u[k] -= G[k * m + l] * u[l];
        u[k] /= G[k * m + k];
    }
}

static void open_matrix(bench *b, int m, double *A, int64_t *index, double *y) {
    *b = (bench){.spec = {.name = "matrix", .m = m, .matrix = A}};
    for (int k = 0; k < m; k++) index[k] = k;
    b->m = (csrec_measurement){
        .shape = {2, {H, W}}, .n = m, .channels = 1, .index = index, .y = y, .through = &b->spec};
}

/* x = z + A^T (A A^T + share I)^-1 (y - A z), by division and by conjugate gradients. */
static void the_data_step_is_the_dense_one(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        const bool tight = round % 2;
        const int m = 1 + (int)check_below(&seed, ROWS);
        double A[ROWS * N], y[ROWS], z[N], r[ROWS], u[ROWS], known[N];
        const double share = 1.0 + 10.0 * check_uniform(&seed);
        int64_t index[ROWS];
        bench b;
        draw_matrix(tight, 0.5 + 2.0 * check_uniform(&seed), m, A);
        for (int i = 0; i < m; i++) y[i] = check_normal(&seed);
        for (int j = 0; j < N; j++) z[j] = check_normal(&seed);
        open_matrix(&b, m, A, index, y);
        bench_open(&b);
        times(m, A, z, r);
        for (int i = 0; i < m; i++) r[i] = y[i] - r[i];
        solve_dense(m, A, share, r, u);
        for (int j = 0; j < N; j++) {
            known[j] = z[j];
            for (int i = 0; i < m; i++) known[j] += A[i * N + j] * u[i];
        }
        if (tight) assert_true(b.p.data.tight);
        assert_ok(csrec_pnp_fit(&b.p, z, share));
        /* conjugate gradients end at 1e-4 of the misfit */
        double off = sqrt(squares(N, b.p.x, known)), size = sqrt(squares(N, known, z));
        if (off > (tight ? 1e-12 : 1e-3) * (size + 1.0)) fail_msg("off by %g of %g", off, size);
        bench_close(&b);
    }
}

/* With noise the result is as far from y as the noise is, and no farther from z than it must be. */
static void the_discrepancy_is_met(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        const bool tight = round % 2;
        const int m = 1 + (int)check_below(&seed, ROWS);
        double A[ROWS * N], y[ROWS], z[N], r[ROWS], again[ROWS];
        int64_t index[ROWS];
        bench b;
        draw_matrix(tight, 2.0, m, A);
        for (int j = 0; j < N; j++) z[j] = check_normal(&seed);
        times(m, A, z, r);
        for (int i = 0; i < m; i++) y[i] = r[i] + 3.0 + check_normal(&seed);
        open_matrix(&b, m, A, index, y);
        const double misfit = sqrt(squares(m, y, r));
        b.m.sigma = (0.2 + check_uniform(&seed)) * misfit / sqrt((double)m);
        bench_open(&b);
        const double eps = b.m.sigma * sqrt((double)m);
        assert_ok(csrec_pnp_meet(&b.p, z));
        times(m, A, b.p.x, again);
        const double left = sqrt(squares(m, y, again));
        assert_true(left <= fmax(eps, 0.0) * (1.0 + 1e-9));
        if (misfit <= eps)
            assert_true(squares(N, b.p.x, z) == 0.0);
        else if (tight) {
            assert_true(left >= eps * (1.0 - 1e-9));
            assert_true(fabs(sqrt(squares(N, b.p.x, z)) - (misfit - eps) / 2.0) < 1e-9 * misfit);
        }
        bench_close(&b);
    }
}

/* u and t of message passing from their formulas with a dense matrix whose first row is the mean.
 */
static void the_messages_are_the_dense_ones(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        const int m = 2 + (int)check_below(&seed, ROWS - 1);
        const double c = 0.5 + 2.0 * check_uniform(&seed), gain = (double)N / m;
        double A[ROWS * N], y[ROWS], x[N], r[ROWS], level, energy = 0.0, sigma;
        int64_t index[ROWS];
        bench b;
        draw_matrix(true, c, m, A);
        for (int j = 0; j < N; j++) x[j] = check_normal(&seed);
        for (int i = 0; i < m; i++) y[i] = c * check_normal(&seed);
        open_matrix(&b, m, A, index, y);
        b.m.sigma = sigma = round % 2 ? 0.3 * c : 0.0;
        bench_open(&b);
        memcpy(b.p.x, x, sizeof x);
        assert_ok(csrec_pnp_decorrelate(&b.p, &level));
        times(m, A, x, r);
        for (int i = 0; i < m; i++) r[i] = (y[i] - r[i]) / c; /* of rows of length 1 */
        for (int j = 0; j < N; j++) {
            double known = x[j];
            for (int i = 0; i < m; i++) known += (i ? gain : 1.0) * A[i * N + j] / c * r[i];
            assert_true(fabs(known - b.p.w[j]) < 1e-10);
        }
        for (int i = 1; i < m; i++) energy += r[i] * r[i];
        double v = fmax(energy / m - sigma * sigma / (c * c), 0.0);
        double t = sqrt(v * (gain - 1.0) + gain * sigma * sigma / (c * c));
        assert_true(fabs(level - t) < 1e-10 * (1.0 + t));
        bench_close(&b);
    }
}

/* ------------------------------------------------------------------ pictures ------------------ */

static void draw_picture(double *x) {
    const double cx = SIDE * check_uniform(&seed), cy = SIDE * check_uniform(&seed);
    for (int i = 0; i < ENTRIES; i++) {
        const double u = i % SIDE - cx, v = i / SIDE - cy;
        x[i] = 60.0 + 120.0 * (u * u + v * v < 90.0) + 2.0 * (i % SIDE) + 10.0 * sin(0.5 * v);
    }
}

/* Half of the rows of an operator of the picture. */
static void measure(bench *b, const char *name, bool scrambled, csrec_row_choice choice,
                    const double *truth, int64_t *index, double *y) {
    csrec_sampling rows;
    *b = (bench){.spec = {.name = name, .scrambled = scrambled, .seed = check_next(&seed)}};
    b->m = (csrec_measurement){.shape = {2, {SIDE, SIDE}},
                               .channels = 1,
                               .index = index,
                               .y = y,
                               .is_complex = strcmp(name, "fourier") == 0,
                               .scale = {0.0, 255.0},
                               .through = &b->spec};
    assert_ok(csrec_sampling_rows(&b->m, choice, ENTRIES / 2, check_next(&seed), &rows, NULL));
    memcpy(index, rows.index, (size_t)rows.n * sizeof *index);
    b->m.n = rows.n;
    csrec_sampling_clear(&rows);
    assert_ok(csrec_measurement_simulate(&b->m, truth, y, NULL));
}

/* Whatever the errors of x are, those of u have the level that is told: here x is too smooth. */
static void the_level_is_the_error(void **state) {
    (void)state;
    double truth[ENTRIES], y[ENTRIES / 2], level;
    int64_t index[ENTRIES / 2];
    bench b;
    draw_picture(truth);
    measure(&b, "hadamard", true, CSREC_ROWS_UNIFORM, truth, index, y);
    bench_open(&b);
    for (int i = 0; i < ENTRIES; i++) b.p.x[i] = truth[i] + 30.0 * cos(0.2 * i / SIDE) + i % 7;
    assert_ok(csrec_pnp_decorrelate(&b.p, &level));
    /* squares of m = 512 random numbers are off by a third once in 10^6 */
    double true_level = sqrt(squares(ENTRIES, b.p.w, truth) / ENTRIES);
    if (fabs(level / true_level - 1.0) > 0.3) fail_msg("%g, but it is %g", level, true_level);
    bench_close(&b);
}

static bool fourier_is_built(void) {
    csrec_shape shape = {1, {4}};
    csrec_operator_spec spec = {.name = "fourier", .shape = &shape, .m = 4};
    csrec_operator *A = NULL;
    csrec_status status = csrec_operator_create(&spec, &A, NULL);
    csrec_operator_destroy(A);
    return status == CSREC_OK;
}

/* Message passing is chosen for orthogonal rows that mix all entries alone. */
static void rows_that_mix_are_told_from_others(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool scrambled, mixes;
        csrec_row_choice choice;
    } cases[] = {{"hadamard", true, true, CSREC_ROWS_UNIFORM},
                 {"hadamard", false, false, CSREC_ROWS_FIRST},
                 {"fourier", false, false, CSREC_ROWS_LINES}};
    for (int i = 0; i < (fourier_is_built() ? 3 : 2); i++) {
        double truth[ENTRIES], y[2 * ENTRIES];
        int64_t index[ENTRIES];
        bool mixes;
        bench b;
        draw_picture(truth);
        measure(&b, cases[i].name, cases[i].scrambled, cases[i].choice, truth, index, y);
        bench_open(&b);
        assert_ok(csrec_pnp_mixes(&b.p, &mixes));
        if (mixes != cases[i].mixes) fail_msg("case %d: %d", i, mixes);
        bench_close(&b);
    }
}

/* The mean over probes is the mean of all derivatives, by differences. */
static void the_slope_is_that_of_all_derivatives(void **state) {
    (void)state;
    enum { SMALL = 8, n = SMALL * SMALL, PROBES = 24 };
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    double y[n], x[n], z[n], up[n], moved[n], probe[n], exact = 0.0, sum = 0.0, square = 0.0;
    const double sigma = 20.0, h = 0.5;
    int64_t index[n];
    bench b = {.m = {.shape = {2, {SMALL, SMALL}}, .n = n, .channels = 1, .index = index, .y = y}};
    csrec_error error = {""};
    for (int i = 0; i < n; i++) {
        index[i] = i;
        y[i] = x[i] = 100.0 + 60.0 * (i % SMALL > 3) + sigma * check_normal(&seed);
    }
    bench_open(&b);
    assert_ok(csrec_denoiser_create(&b.p.data, 1.0, false, &b.p.denoiser, &error));
    csrec_denoiser *d = &b.p.denoiser;
    assert_ok(csrec_denoise(d, x, sigma, 1, NULL, z, &error));
    for (int i = 0; i < n; i++) {
        double at = x[i];
        d->calls = 0;
        x[i] = at + h;
        assert_ok(csrec_denoise(d, x, sigma, 1, NULL, up, &error));
        x[i] = at;
        exact += (up[i] - z[i]) / (h * n);
    }
    for (int k = 0; k < PROBES; k++) {
        double slope;
        b.options.seed = check_next(&seed);
        assert_int_equal(d->calls, 1); /* so that the probe is turned as x was */
        assert_ok(csrec_denoiser_slope(d, x, z, sigma, 1, NULL, probe, moved, &slope, &error));
        sum += slope / PROBES;
        square += slope * slope / PROBES;
    }
    /* 7 standard deviations of 23 degrees of freedom: less than once in 10^6; and the network's
     * curvature */
    double deviation = sqrt(fmax(square - sum * sum, 0.0) / (PROBES - 1));
    if (fabs(sum - exact) > 7.0 * deviation + 0.01)
        fail_msg("%g by probes, %g by differences, deviation %g", sum, exact, deviation);
    bench_close(&b);
}

/* Every way with every denoiser meets the measurements as their noise says, is nearer to the truth
 * than the least squares solution, and in other units it is the same. */
static void every_way_keeps_its_promises(void **state) {
    (void)state;
    const bool prior = csrec_prior_installed(1, 0, NULL);
    double truth[ENTRIES], y[ENTRIES / 2], x[ENTRIES], least[ENTRIES], again[ENTRIES / 2];
    int64_t index[ENTRIES / 2];
    bench b;
    draw_picture(truth);
    for (int way = 1; way <= 3; way++)
        for (int groups = prior ? 0 : 1; groups < 2; groups++) {
            const csrec_setting set[] = {
                {"splitting", way}, {"groups", groups}, {"iterations", groups ? 3 : 10}};
            csrec_recover_options o;
            csrec_error error = {""};
            measure(&b, "hadamard", true, CSREC_ROWS_UNIFORM, truth, index, y);
            const bool noisy = check_below(&seed, 2);
            if (noisy) b.m.sigma = 5.0 * SIDE; /* 5 tones in the picture */
            for (int i = 0; i < ENTRIES / 2; i++) y[i] += b.m.sigma * check_normal(&seed);
            csrec_recover_defaults(&o);
            o.method = "pnp";
            o.backend = "cpu";
            o.solve.settings = set;
            o.solve.n_settings = 3;
            if (csrec_recover(&b.m, &o, x, NULL, NULL, &error)) fail_msg("%s", error.text);
            assert_ok(csrec_measurement_simulate(&b.m, x, again, NULL));
            double off = sqrt(squares(ENTRIES / 2, again, y)), eps = b.m.sigma * sqrt(ENTRIES / 2);
            if (off > eps * (1.0 + 1e-6) + 1e-6 * 255.0 * SIDE)
                fail_msg("way %d, groups %d: misfit %g, noise %g", way, groups, off, eps);
            csrec_operator *A;
            assert_ok(csrec_measurement_operator(&b.m, NULL, &A, NULL));
            assert_ok(csrec_operator_adjoint(A, y, least));
            for (int i = 0; i < ENTRIES; i++) least[i] /= ENTRIES;
            csrec_operator_destroy(A);
            if (squares(ENTRIES, x, truth) > 0.25 * squares(ENTRIES, least, truth))
                fail_msg("way %d, groups %d: not nearer than least squares", way, groups);
        }
}

static void message_passing_refuses_other_rows(void **state) {
    (void)state;
    double truth[ENTRIES], y[ENTRIES / 2], x[ENTRIES];
    int64_t index[ENTRIES / 2];
    const csrec_setting set[] = {{"splitting", 1}};
    csrec_recover_options o;
    csrec_error error = {""};
    bench b;
    draw_picture(truth);
    measure(&b, "hadamard", false, CSREC_ROWS_FIRST, truth, index, y);
    csrec_recover_defaults(&o);
    o.method = "pnp";
    o.solve.settings = set;
    o.solve.n_settings = 1;
    assert_int_equal(csrec_recover(&b.m, &o, x, NULL, NULL, &error), CSREC_UNSUPPORTED);
    assert_non_null(strstr(error.text, "splitting"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_data_step_is_the_dense_one),
                                       cmocka_unit_test(the_discrepancy_is_met),
                                       cmocka_unit_test(the_messages_are_the_dense_ones),
                                       cmocka_unit_test(the_level_is_the_error),
                                       cmocka_unit_test(rows_that_mix_are_told_from_others),
                                       cmocka_unit_test(the_slope_is_that_of_all_derivatives),
                                       cmocka_unit_test(every_way_keeps_its_promises),
                                       cmocka_unit_test(message_passing_refuses_other_rows)};
    seed = check_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
