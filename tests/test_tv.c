/* SPDX-License-Identifier: BSD-3-Clause */
/* Total variation and plug-and-play recovery: minima against closed forms and other feasible
 * signals, constraints, units, both forms of the constraint. */

#include "operators_drawn.h"
#include "method/tv/tv.h"
#include "pnp.h"

SEED(seed);

static csrec_recover_options options_of(const char *method, const csrec_setting *settings, int n) {
    csrec_recover_options o = options_on_cpu(method, NULL);
    use_settings(&o.solve, n, settings);
    return o;
}

static void recover(const bench *p, const char *method, const csrec_setting *settings, int n,
                    double *signal, csrec_recover_report *report) {
    csrec_recover_options o = options_of(method, settings, n);
    assert_well(csrec_recover(&p->m, &o, signal, NULL, report, &told));
}

static const csrec_setting exact[] = {{"iterations", 20000}, {"digits", 8}};

/* The definition: forward differences of all axes and channels under one root. */
static double variation(const csrec_shape *shape, int64_t width, const double *x) {
    const int64_t entries = entries_in(shape);
    double sum = 0.0;
    for (int64_t i = 0; i < entries; i++) {
        int64_t c[8], stride = 1;
        double square = 0.0;
        coordinates(shape, i, c);
        for (int a = shape->dims - 1; a >= 0; stride *= shape->dim[a--])
            for (int64_t k = 0; k < width && c[a] + 1 < shape->dim[a]; k++) {
                double step = x[(i + stride) * width + k] - x[i * width + k];
                square += step * step;
            }
        sum += sqrt(square);
    }
    return sum;
}

/* Of samples along a line no signal varies less than their steps do. Every second entry is known or
 * more: between few samples steps of all lengths are as good, and the iteration slows down. */
TEST(a_line_has_the_variation_of_its_samples) {
    enum { LENGTH = 60 };
    for (int round = 0; round < 10; round++) {
        int64_t n;
        double y[LENGTH], x[LENGTH], least = 0.0, last = 0.0;
        OWNED int64_t *index = draw_some(&seed, LENGTH, &n);
        if (n < LENGTH / 2) n = LENGTH / 2;
        char known[LENGTH] = {0};
        bench p = {.m = {.shape = {1, {LENGTH}}, .n = n, .channels = 1, .index = index, .y = y}};
        for (int64_t k = 0; k < n; k++) y[k] = 100.0 * check_uniform(&seed), known[index[k]] = 1;
        recover(&p, "tv", exact, 2, x, NULL);
        for (int64_t k = 0; k < n; k++) assert_true(fabs(x[index[k]] - y[k]) < 1e-6);
        for (int64_t i = 0, any = 0; i < LENGTH; i++) {
            if (!known[i]) continue;
            if (any) least += fabs(x[i] - last);
            last = x[i];
            any = 1;
        }
        const double found = variation(&p.m.shape, 1, x);
        if (fabs(found - least) > 1e-4 * (1.0 + least))
            fail_msg("%g, not %g, of %d samples", found, least, (int)n);
    }
}

/* A dense matrix: y = A x of a picture; no step within the constraint lowers the variation, neither
 * in random directions nor towards the truth. */
TEST(no_feasible_step_is_better) {
    enum { H = 7, W = 6, N = H * W, M = 15 };
    for (int round = 0; round < 6; round++) {
        const int C = 1 + round % 2;
        double A[M * N], truth[2 * N], y[2 * M], x[2 * N];
        int64_t index[M];
        bench p = {.spec = {.name = "matrix", .m = M, .matrix = A}};
        p.m = samples_at((csrec_shape){2, {H, W}}, M, C, index, y);
        p.m.through = &p.spec;
        for (int k = 0; k < M; k++) index[k] = k;
        for (int i = 0; i < M * N; i++) A[i] = check_normal(&seed);
        for (int i = 0; i < C * N; i++) truth[i] = i / C % W < 3 ? 10.0 : 40.0 * (i % C);
        assert_ok(csrec_measurement_simulate(&p.m, truth, y, NULL));
        recover(&p, "tv", exact, 2, x, NULL);
        double found = variation(&p.m.shape, C, x), off[2 * M];
        assert_ok(csrec_measurement_simulate(&p.m, x, off, NULL));
        for (int i = 0; i < C * M; i++) assert_true(fabs(off[i] - y[i]) < 1e-3);
        assert_true(found <= variation(&p.m.shape, C, truth) * (1.0 + 1e-5));
        /* directions of the null space: what Gram and Schmidt leave of random ones */
        double Q[M * N];
        memcpy(Q, A, sizeof Q);
        for (int i = 0; i < M; i++) orthonormalise(i, N, Q);
        for (int trial = 0; trial < 200; trial++) {
            double moved[2 * N];
            memcpy(moved, x, sizeof(double) * (size_t)(C * N));
            for (int c = 0; c < C; c++) {
                double d[N];
                for (int j = 0; j < N; j++) d[j] = check_normal(&seed);
                for (int i = 0; i < M; i++) {
                    double dot = 0.0;
                    for (int j = 0; j < N; j++) dot += Q[i * N + j] * d[j];
                    for (int j = 0; j < N; j++) d[j] -= dot * Q[i * N + j];
                }
                for (int j = 0; j < N; j++) moved[j * C + c] += 0.1 * d[j];
            }
            assert_true(variation(&p.m.shape, C, moved) >= found * (1.0 - 1e-4));
        }
    }
}

/* By a dual variable, as operators without an inverse. */
static void recover_dually(bench *p, double *x) {
    csrec_call call;
    int64_t done;
    csrec_call_begin(&call, NULL, NULL, (csrec_progress){"", 0, 1, -1.0});
    bench_open(p);
    p->p.data.inverse = NULL;
    csrec_tv_problem t = csrec_tv_defaults(&p->p.data, 1);
    t.iterations = 20000;
    t.tolerance = 1e-8;
    assert_ok(csrec_measured_start(&p->p.data, x));
    assert_ok(csrec_tv_solve(&t, &call, x, &done));
    csrec_call_end(&call);
    bench_close(p);
}

/* Samples of entries, kept by projection, and the same rows as a matrix that is not orthogonal,
 * kept by its inverse and by a dual variable, have the same minimum; with noise, the constraint is
 * met. */
TEST(both_forms_agree) {
    enum { H = 8, W = 9, N = H * W };
    for (int round = 0; round < 6; round++) {
        int64_t m, *index = draw_some(&seed, N, &m), all[N];
        if (m < N / 2) m = N / 2; /* as above */
        double A[N * N] = {0}, y[N], scaled[N], a[N], b[N], off = 0.0;
        bench p = {.m = {.shape = {2, {H, W}}, .n = m, .channels = 1, .index = index, .y = y}};
        bench q = {.spec = {.name = "matrix", .m = m, .matrix = A}, .m = p.m};
        q.m.index = all;
        q.m.y = scaled;
        q.m.through = &q.spec;
        for (int64_t k = 0; k < m; k++) {
            double factor = round % 2 ? 1.0 : 0.5 + check_uniform(&seed);
            all[k] = k;
            y[k] = 50.0 * check_uniform(&seed);
            A[k * N + index[k]] = factor;
            scaled[k] = factor * y[k];
        }
        if (round % 2) p.m.sigma = q.m.sigma = 3.0; /* the same ball: A is orthogonal */
        recover(&p, "tv", exact, 2, a, NULL);
        recover(&q, "tv", exact, 2, b, NULL);
        const double u = variation(&p.m.shape, 1, a), v = variation(&p.m.shape, 1, b);
        recover_dually(&q, b);
        const double w = variation(&p.m.shape, 1, b), room = 1e-5 * (u + 50.0 * N);
        if (fabs(u - v) > room || fabs(u - w) > room)
            fail_msg("%g by projection, %g by an inverse, %g by a dual variable", u, v, w);
        for (int64_t k = 0; k < m; k++) off += pow(a[index[k]] - y[k], 2.0);
        assert_true(sqrt(off) <= p.m.sigma * sqrt((double)m) * (1.0 + 1e-6) + 1e-9);
        if (p.m.sigma > 0.0 && u > 1e-6)
            assert_true(sqrt(off) >= 0.999 * p.m.sigma * sqrt((double)m));
        free(index);
    }
}

/* Far nearer to the truth than least squares; plug and play is in test_pnp_pictures.c. */
TEST(variation_meets_the_measurements) {
    double truth[ENTRIES], x[ENTRIES], least[ENTRIES], y[ENTRIES / 2];
    int64_t index[ENTRIES / 2];
    bench p;
    csrec_recover_report report;
    draw_picture(&seed, truth);
    measure_part(&p, "hadamard", true, CSREC_ROWS_UNIFORM, ENTRIES / 2, truth, &seed, index, y);
    least_squares(&p, least);
    recover(&p, "tv", NULL, 0, x, &report);
    assert_true(report.residual < 1e-6);
    assert_true(check_rms(ENTRIES, x, truth) < 0.5 * check_rms(ENTRIES, least, truth));
}

/* The signal in other units is the same in those units: total variation to rounding. */
TEST(units_do_not_matter) {
    double truth[ENTRIES], a[ENTRIES], b[ENTRIES], y[ENTRIES / 4], z[ENTRIES / 4];
    int64_t index[ENTRIES / 4];
    bench p, q;
    draw_picture(&seed, truth);
    measure_part(&p, "hadamard", true, CSREC_ROWS_UNIFORM, ENTRIES / 4, truth, &seed, index, y);
    q = p;
    q.m.through = p.m.through = &p.spec;
    q.m.y = z;
    for (int i = 0; i < ENTRIES / 4; i++) z[i] = 1e-3 * y[i];
    q.m.scale[1] = 0.255;
    recover(&p, "tv", NULL, 0, a, NULL);
    recover(&q, "tv", NULL, 0, b, NULL);
    for (int i = 0; i < ENTRIES; i++) assert_true(fabs(1e3 * b[i] - a[i]) < 1e-6);
}

/* A real signal from half of its frequencies, and a complex one, by both methods' defaults. */
TEST(real_and_complex_signals) {
    if (!csrec_through_info(1)) skip();
    for (int parts = 1; parts <= 2; parts++) {
        double truth[2 * ENTRIES], x[2 * ENTRIES], y[2 * ENTRIES], picture[ENTRIES];
        int64_t index[ENTRIES];
        csrec_operator *A = NULL;
        csrec_recover_report report;
        bench p = {.spec = {.name = "fourier", .complex_signal = parts == 2}};
        open_picture(&p, index, y);
        draw_picture(&seed, picture);
        for (int i = 0; i < ENTRIES; i++) {
            truth[parts * i] = picture[i] * (parts == 2 ? cos(0.05 * (i % SIDE)) : 1.0);
            if (parts == 2) truth[2 * i + 1] = picture[i] * sin(0.05 * (i % SIDE));
        }
        p.m.scale[1] = 0.0;
        draw_rows(&p, CSREC_ROWS_LINES, ENTRIES / 2, 3);
        csrec_error error = {""};
        csrec_status status = csrec_measurement_operator(&p.m, NULL, &A, &error);
        csrec_operator_destroy(A);
        if (status == CSREC_UNSUPPORTED) {
            print_message("SKIPPED: %s\n", error.text);
            return;
        }
        assert_ok(status);
        assert_ok(csrec_measurement_simulate(&p.m, truth, y, NULL));
        assert_int_equal(csrec_measurement_signal_values(&p.m), parts * ENTRIES);
        recover(&p, "tv", NULL, 0, x, &report);
        assert_true(report.residual < 1e-3);
        assert_true(check_rms(parts * ENTRIES, x, truth) < 10.0);
    }
}

/* Frequencies of signals of one to three axes, of which alternating directions find the minimum,
 * and rows of a matrix, of which steps along slopes do, as A^T A is not diagonal in the
 * frequencies: of exact values the same rows in other units; of noisy ones, which also contradict
 * those of the mirrored frequencies, in a ball, the same rows but for 1e-7. The former meet their
 * bound, so none varies less than the minimum, and must not vary more than the latter. */
TEST(frequencies_vary_no_more_than_slopes_find) {
    enum { MOST = 64, ROUNDS = 12 };
    static const csrec_shape shapes[] = {{1, {48}}, {2, {8, 8}}, {3, {3, 4, 5}}, {2, {1, 50}}};
    if (!csrec_through_info(1)) skip();
    for (int round = 0; round < ROUNDS; round++) {
        const csrec_shape *shape = &shapes[round % 4];
        const int64_t n = entries_in(shape), m = n / 2 + check_below(&seed, n / 4),
                      C = 1 + round % 2;
        double truth[2 * MOST], y[4 * MOST], z[4 * MOST], a[2 * MOST], b[2 * MOST], unit[2 * MOST],
            factor[2 * MOST];
        OWNED int64_t *index = check_order(&seed, n);
        OWNED double *A = malloc(2 * MOST * MOST * sizeof *A);
        int64_t all[2 * MOST];
        bench p = {.spec = {.name = "fourier"}}, q = {.spec = {.name = "matrix", .matrix = A}};
        p.m = samples_at(*shape, m, 1, index, unit);
        p.m.is_complex = true, p.m.through = &p.spec;
        for (int64_t j = 0; j < n; j++) {
            double column[2 * MOST], e[MOST] = {0};
            e[j] = 1.0;
            csrec_status status = csrec_measurement_simulate(&p.m, e, column, NULL);
            if (status == CSREC_UNSUPPORTED) skip();
            assert_ok(status);
            for (int64_t k = 0; k < 2 * m; k++) {
                factor[k] = round < 4 && k / 2 % 2 ? 0.25 : 1.0;
                A[k * n + j] =
                    factor[k] * column[k] + (round < 4 ? 0.0 : 1e-7) * check_normal(&seed);
                all[k] = k;
            }
        }
        for (int64_t i = 0; i < C * n; i++) truth[i] = 100.0 + 50.0 * (i / 9 % 3) + i % C;
        p.m.channels = q.m.channels = C;
        p.m.y = y;
        assert_ok(csrec_measurement_simulate(&p.m, truth, y, NULL));
        if (round / 4) p.m.sigma = 3.0;
        double noise[4 * MOST],
            length = 0.0; /* as long as sigma says, so that the truth meets it */
        for (int64_t i = 0; i < 2 * m * C; i++) noise[i] = check_normal(&seed);
        for (int64_t i = 0; i < 2 * m * C; i++) length += noise[i] * noise[i];
        for (int64_t i = 0; i < 2 * m * C; i++)
            y[i] += p.m.sigma * sqrt((double)(2 * m * C) / length) * noise[i];
        for (int64_t i = 0; i < 2 * m * C; i++) /* parts: rows of their own */
            z[(i / (2 * C) * 2 + i % 2) * C + i / 2 % C] = factor[i / (2 * C) * 2] * y[i];
        q.spec.m = 2 * m;
        q.m = samples_at(*shape, 2 * m, C, all, z);
        q.m.sigma = p.m.sigma, q.m.through = &q.spec;
        if (round / 4 == 2) p.m.sigma = q.m.sigma = 8.0;
        csrec_recover_report report, other;
        recover(&p, "tv", exact, 2, a, &report);
        recover(&q, "tv", exact, 2, b, &other);
        const double u = variation(shape, C, a), v = variation(shape, C, b);
        const double exact_one = variation(shape, C, truth);
        double most = p.m.sigma * sqrt((double)(2 * m * C)), square = 0.0;
        for (int64_t i = 0; i < 2 * m * C; i++) square += y[i] * y[i];
        most /= sqrt(square);
        if (u > 1.0001 * v + 1e-3 || report.residual > (1.0 + 1e-9) * most + 1e-12)
            fail_msg("round %d: %.9g, not %.9g, residual %g of %g", round, u, v, report.residual,
                     most);
        if (other.residual > 1.001 * most + 1e-6)
            fail_msg("round %d: by slopes residual %g of %g", round, other.residual, most);
        if (round < 4 && u > (1.0 + 1e-6) * exact_one)
            fail_msg("round %d: %.9g, of the truth %.9g", round, u, exact_one);
    }
}

/* All values of a signal with noise, the least of 1/2 ||x - y||^2 + lambda TV(x): steps along the
 * gradient of its dual find it, whose distance from y is that of the ball. */
TEST(noise_is_taken_as_the_dual_says) {
    enum { H = 9, W = 7, C = 2, N = H * W, STEPS = 40000 };
    double y[N * C], x[N * C], dual[2][N * C] = {{0}}, found[N * C], off = 0.0;
    const double lambda = 4.0;
    int64_t index[N];
    bench p = {.m = {.shape = {2, {H, W}}, .n = N, .channels = C, .index = index, .y = y}};
    for (int i = 0; i < N; i++) index[i] = i;
    for (int i = 0; i < N * C; i++) y[i] = 40.0 * (i / C % W > 3) + 5.0 * check_normal(&seed);
    for (int step = 0; step <= STEPS; step++) {
        for (int i = 0; i < N * C; i++) {
            const int column = i / C % W;
            x[i] = y[i] + dual[0][i] + dual[1][i] - (i >= W * C ? dual[0][i - W * C] : 0.0) -
                   (column ? dual[1][i - C] : 0.0);
        }
        for (int i = 0; i < N && step < STEPS; i++) {
            double square = 0.0;
            for (int c = i * C; c < (i + 1) * C; c++) {
                if (i + W < N) dual[0][c] += 0.125 * (x[c + W * C] - x[c]);
                if (i % W + 1 < W) dual[1][c] += 0.125 * (x[c + C] - x[c]);
                square += dual[0][c] * dual[0][c] + dual[1][c] * dual[1][c];
            }
            const double share = fmax(1.0, sqrt(square) / lambda);
            for (int c = i * C; c < (i + 1) * C; c++) dual[0][c] /= share, dual[1][c] /= share;
        }
    }
    for (int i = 0; i < N * C; i++) off += (x[i] - y[i]) * (x[i] - y[i]);
    p.m.sigma = sqrt(off / (N * C));
    recover(&p, "tv", exact, 2, found, NULL);
    assert_true(check_rms(N * C, found, x) < 1e-5);
}
