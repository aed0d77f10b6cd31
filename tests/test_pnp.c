/* Plug-and-play recovery: its linear steps against dense matrices, the slope of a denoiser against
 * all of its derivatives, the choice of the way, and what every way must keep. */
#include "method/pnp/pnp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "solver/solver.h"

SEED(seed);

enum { SIDE = 32, ENTRIES = SIDE * SIDE };

/* A measurement, and what a recovery from it works with. */
typedef struct bench {
    csrec_measurement m;
    csrec_operator_spec spec;
    int64_t edge[2]; /* of a block */
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
    double **signals[] = {&b->p.x, &b->p.z, &b->p.w, &b->p.mean, &b->p.back, &b->p.along};
    double **rows[] = {&b->p.r, &b->p.q};
    for (int i = 0; i < 6; i++) *signals[i] = room(b->p.data.values);
    for (int i = 0; i < 2; i++) *rows[i] = room(b->p.data.y_values);
}

static void bench_close(bench *b) {
    double *all[] = {b->p.x, b->p.z, b->p.w, b->p.mean, b->p.back, b->p.along, b->p.r, b->p.q};
    for (int i = 0; i < 8; i++) free(all[i]);
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
TEST(the_data_step_is_the_dense_one) {
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
TEST(the_discrepancy_is_met) {
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
TEST(the_messages_are_the_dense_ones) {
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
        assert_ok(csrec_pnp_centre(&b.p));
        assert_true(fabs(b.p.gain - 1.0) < 1e-12);
        for (int j = 0; j < N; j++) assert_true(fabs(b.p.x[j] - y[0] / (c * sqrt(N))) < 1e-10);
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

/* A measurement of the picture through b->spec, without its rows. */
static void open_picture(bench *b, int64_t *index, double *y) {
    b->m = (csrec_measurement){.shape = {2, {SIDE, SIDE}},
                               .channels = 1,
                               .index = index,
                               .y = y,
                               .is_complex = strcmp(b->spec.name, "fourier") == 0,
                               .scale = {0.0, 255.0},
                               .through = &b->spec};
}

/* So many rows of an operator of the picture. */
static void measure_part(bench *b, const char *name, bool scrambled, csrec_row_choice choice,
                         int64_t count, const double *truth, int64_t *index, double *y) {
    csrec_sampling rows;
    *b = (bench){.spec = {.name = name, .scrambled = scrambled, .seed = check_next(&seed)}};
    open_picture(b, index, y);
    assert_ok(csrec_sampling_rows(&b->m, choice, count, check_next(&seed), &rows, NULL));
    memcpy(index, rows.index, (size_t)rows.n * sizeof *index);
    b->m.n = rows.n;
    csrec_sampling_clear(&rows);
    assert_ok(csrec_measurement_simulate(&b->m, truth, y, NULL));
}

/* Half of the rows. */
static void measure(bench *b, const char *name, bool scrambled, csrec_row_choice choice,
                    const double *truth, int64_t *index, double *y) {
    measure_part(b, name, scrambled, choice, ENTRIES / 2, truth, index, y);
}

/* Whatever the errors of x are, those of u have the level that is told: here x is too smooth. */
TEST(the_level_is_the_error) {
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

/* All rows of a matrix of each block of the picture. */
static void measure_whole(bench *b, int height, int width, int rows, const double *A,
                          const double *truth, int64_t *index, double *y) {
    *b = (bench){.spec = {.name = "matrix", .m = rows, .matrix = A}, .edge = {height, width}};
    if (height * width < ENTRIES) b->spec.kernel = b->edge;
    open_picture(b, index, y);
    b->m.n = rows * (ENTRIES / (height * width));
    for (int64_t i = 0; i < b->m.n; i++) index[i] = i;
    assert_ok(csrec_measurement_simulate(&b->m, truth, y, NULL));
}

/* Rows of Hadamard's matrix of a block, with random signs of its entries: orthogonal, and mixing in
 * the block. One matrix for all blocks. */
static void measure_blocks(bench *b, int height, int width, int rows, const double *truth,
                           double *A, int64_t *index, double *y) {
    const int each = height * width;
    int64_t *row = malloc((size_t)each * sizeof *row);
    for (int i = 0; i < each; i++) row[i] = i;
    for (int j = 0; j < each; j++) A[j] = check_next(&seed) % 2 ? 1.0 : -1.0;
    for (int i = rows - 1; i >= 0; i--) { /* row 0, the signs, is used up last */
        int k = (int)check_below(&seed, (uint64_t)(each - (rows - 1 - i)));
        const int64_t h = row[k];
        row[k] = row[each - (rows - i)];
        for (int j = 0; j < each; j++)
            A[i * each + j] = A[j] * (__builtin_parity((unsigned)(h & j)) ? -1.0 : 1.0);
    }
    free(row);
    measure_whole(b, height, width, rows, A, truth, index, y);
}

/* Orthonormal rows: waves of 1 to 4 periods along each axis in one of the two directions, and
 * random ones. */
static void measure_waves(bench *b, int rows, const double *truth, double *A, int64_t *index,
                          double *y) {
    const double turn = 2.0 * acos(-1.0) / SIDE;
    int row = 0;
    for (int u = 1; u <= 4; u++)
        for (int v = -4; v <= -1; v++)
            for (int k = 0; k < 2; k++, row++)
                for (int j = 0; j < ENTRIES; j++)
                    A[row * ENTRIES + j] =
                        sqrt(2.0 / ENTRIES) *
                        sin(turn * (u * (j / SIDE) + v * (j % SIDE)) + k * acos(-1.0) / 2.0);
    for (; row < rows; row++) {
        double *a = A + (int64_t)row * ENTRIES;
        for (int j = 0; j < ENTRIES; j++) a[j] = check_normal(&seed);
        for (int i = 0; i < 2 * row; i++) {
            const double *other = A + (int64_t)(i % row) * ENTRIES;
            double along = 0.0;
            for (int j = 0; j < ENTRIES; j++) along += a[j] * other[j];
            for (int j = 0; j < ENTRIES; j++) a[j] -= along * other[j];
        }
        const double length = sqrt(squares(ENTRIES, a, NULL));
        for (int j = 0; j < ENTRIES; j++) a[j] /= length;
    }
    measure_whole(b, SIDE, SIDE, rows, A, truth, index, y);
}

/* Operators of a picture: whether message passing is for them. Blocks of the whole mix all. */
static const struct {
    const char *name;
    bool scrambled, mixes;
    csrec_row_choice choice;
    int height, width; /* of a block */
} cases[] = {{"hadamard", true, true, CSREC_ROWS_UNIFORM, 0, 0},
             {"hadamard", false, false, CSREC_ROWS_FIRST, 0, 0},
             {"blocks", false, true, CSREC_ROWS_UNIFORM, SIDE, SIDE},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 2, SIDE},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 4, SIDE / 2},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 4, SIDE / 4},
             {"fourier", false, false, CSREC_ROWS_LINES, 0, 0}};

static int number_of_cases(void) {
    return (int)(sizeof cases / sizeof *cases) - !fourier_is_built();
}

/* A: [ENTRIES ENTRIES]; y, index: [2 ENTRIES], [ENTRIES]. */
static void measure_case(bench *b, int i, int percent, const double *truth, double *A,
                         int64_t *index, double *y) {
    const int each = cases[i].height * cases[i].width;
    if (each)
        measure_blocks(b, cases[i].height, cases[i].width, each * percent / 100, truth, A, index,
                       y);
    else
        measure_part(b, cases[i].name, cases[i].scrambled, cases[i].choice, ENTRIES * percent / 100,
                     truth, index, y);
}

/* Message passing is chosen for orthogonal rows that mix all entries alone. */
TEST(rows_that_mix_are_told_from_others) {
    double *A = room(ENTRIES * ENTRIES);
    for (int i = 0; i < number_of_cases(); i++) {
        double truth[ENTRIES], y[2 * ENTRIES];
        int64_t index[ENTRIES];
        bool mixes;
        bench b;
        draw_picture(truth);
        measure_case(&b, i, 10 + (int)check_below(&seed, 41), truth, A, index, y);
        bench_open(&b);
        assert_ok(csrec_pnp_mixes(&b.p, &mixes));
        if (mixes != cases[i].mixes) fail_msg("case %d: %d", i, mixes);
        bench_close(&b);
    }
    free(A);
}

/* The mean over probes is the mean of all derivatives, by differences. */
TEST(the_slope_is_that_of_all_derivatives) {
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
TEST(every_way_keeps_its_promises) {
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

static double recovered(const bench *b, const char *method, const double *truth, double *x,
                        csrec_recover_report *report) {
    csrec_recover_options o;
    csrec_error error = {""};
    csrec_recover_defaults(&o);
    o.method = method;
    o.backend = "cpu";
    if (csrec_recover(&b->m, &o, x, NULL, report, &error)) fail_msg("%s", error.text);
    return truth ? sqrt(squares(ENTRIES, x, truth) / ENTRIES) : 0.0;
}

/* Whatever the operator and the rate are: never far from what total variation finds, and the
 * measurements are met. */
TEST(no_operator_lets_it_diverge) {
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    static const int percents[] = {2, 5, 10, 25, 50};
    double *A = room(ENTRIES * ENTRIES), x[ENTRIES];
    for (int i = 0; i < number_of_cases(); i++) {
        double truth[ENTRIES], y[2 * ENTRIES];
        int64_t index[ENTRIES];
        csrec_recover_report report;
        bench b;
        const int percent = percents[check_below(&seed, 5)];
        draw_picture(truth);
        measure_case(&b, i, percent, truth, A, index, y);
        const double least = recovered(&b, "tv", truth, x, &report),
                     own = recovered(&b, "pnp", truth, x, &report);
        if (!(own < 1.5 * least + 4.0))
            fail_msg("case %d, %d %%: rms %g, by total variation %g", i, percent, own, least);
        if (!(report.residual < 1e-6) || report.outcome != CSREC_DONE)
            fail_msg("case %d, %d %%: residual %g", i, percent, report.residual);
    }
    free(A);
}

/* Rows that no test of mixing tells: errors of the waves that are measured grow in every step. */
TEST(lost_messages_become_alternating_directions) {
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    enum { M = ENTRIES / 10 };
    double *A = room(M * ENTRIES), truth[ENTRIES], x[ENTRIES], y[M];
    int64_t index[M];
    csrec_recover_report report;
    bench b;
    bool mixes;
    draw_picture(truth);
    measure_waves(&b, M, truth, A, index, y);
    bench_open(&b);
    assert_ok(csrec_pnp_mixes(&b.p, &mixes));
    assert_true(mixes);
    bench_close(&b);
    const double own = recovered(&b, "pnp", truth, x, &report);
    if (!report.remark || !strstr(report.remark, "Message passing")) fail_msg("no remark");
    assert_true(report.iterations > 20);
    assert_true(own < 1.5 * recovered(&b, "tv", truth, x, &report) + 4.0);
    free(A);
}

/* Every row twice, each with noise of its own: without sigma no signal fits, and that is told. */
TEST(what_cannot_be_met_is_told) {
    enum { M = 12 };
    double A[M * N], y[M], z[N], x[N];
    int64_t index[M];
    bench b;
    draw_matrix(false, 1.0, M, A);
    memcpy(A + M / 2 * N, A, M / 2 * N * sizeof *A);
    for (int j = 0; j < N; j++) z[j] = 100.0 + 20.0 * check_normal(&seed);
    open_matrix(&b, M, A, index, y);
    times(M, A, z, y);
    for (int i = 0; i < M / 2; i++) y[i] += y[i + M / 2] < 0.0 ? -50.0 : 50.0;
    double known = 0.0;
    for (int i = 0; i < M / 2; i++) known += pow(y[i] - y[i + M / 2], 2.0) / 2.0;
    known = sqrt(known / squares(M, y, NULL));
    for (int told = 0; told < 2; told++)
        for (int k = 0; k < 2; k++) {
            const char *method = k ? "pnp" : "tv";
            csrec_recover_report report;
            if (k && !csrec_prior_installed(1, 0, NULL)) continue;
            b.m.sigma = told ? 50.0 : 0.0;
            recovered(&b, method, NULL, x, &report);
            const bool misses = report.outcome == CSREC_UNMET && report.remark;
            if (misses == told || (told && report.remark))
                fail_msg("%s, sigma told: %d, outcome %d", method, told, report.outcome);
            if (told)
                assert_true(report.residual >= known * (1.0 - 1e-9));
            else if (fabs(report.residual / known - 1.0) > 0.01)
                fail_msg("%s: residual %g, the least is %g", method, report.residual, known);
        }
}

TEST(message_passing_refuses_other_rows) {
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
