/* SPDX-License-Identifier: BSD-3-Clause */
/* Plug-and-play recovery: its linear steps against dense matrices, and what no signal meets. */
#include "pnp.h"

SEED(seed);

enum { H = 5, W = 6, N = H * W, ROWS = 12 };

/* Rows of random numbers; orthogonal, of length c, the first one constant, if asked for. */
static void draw_matrix(bool orthogonal, double c, int m, double *A) {
    for (int i = 0; i < m * N; i++) A[i] = check_normal(&seed);
    for (int j = 0; j < N && orthogonal; j++) A[j] = 1.0;
    for (int i = 0; i < m && orthogonal; i++) orthonormalise(i, N, A);
    for (int i = 0; i < m * N && orthogonal; i++) A[i] *= c;
}

/* u with (A A^T + share I) u = r. */
static void solve_dense(int m, const double *A, double share, const double *r, double *u) {
    double G[ROWS * ROWS];
    for (int i = 0; i < m; i++)
        for (int k = 0; k < m; k++) {
            G[i * m + k] = i == k ? share : 0.0;
            for (int j = 0; j < N; j++) G[i * m + k] += A[i * N + j] * A[k * N + j];
        }
    memcpy(u, r, (size_t)m * sizeof *u);
    eliminate(m, G, u);
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
        ENDS_BY(bench_close) bench b;
        draw_matrix(tight, 0.5 + 2.0 * check_uniform(&seed), m, A);
        for (int i = 0; i < m; i++) y[i] = check_normal(&seed);
        for (int j = 0; j < N; j++) z[j] = check_normal(&seed);
        open_matrix(&b, m, A, index, y);
        bench_open(&b);
        apply_matrix(m, N, A, z, r);
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
    }
}

/* With noise the result is as far from y as the noise is, and no farther from z than it must be. */
TEST(the_discrepancy_is_met) {
    for (int round = 0; round < 20; round++) {
        const bool tight = round % 2;
        const int m = 1 + (int)check_below(&seed, ROWS);
        double A[ROWS * N], y[ROWS], z[N], r[ROWS], again[ROWS];
        int64_t index[ROWS];
        ENDS_BY(bench_close) bench b;
        draw_matrix(tight, 2.0, m, A);
        for (int j = 0; j < N; j++) z[j] = check_normal(&seed);
        apply_matrix(m, N, A, z, r);
        for (int i = 0; i < m; i++) y[i] = r[i] + 3.0 + check_normal(&seed);
        open_matrix(&b, m, A, index, y);
        const double misfit = sqrt(squares(m, y, r));
        b.m.sigma = (0.2 + check_uniform(&seed)) * misfit / sqrt((double)m);
        bench_open(&b);
        const double eps = b.m.sigma * sqrt((double)m);
        assert_ok(csrec_pnp_meet(&b.p, z));
        apply_matrix(m, N, A, b.p.x, again);
        const double left = sqrt(squares(m, y, again));
        assert_true(left <= fmax(eps, 0.0) * (1.0 + 1e-9));
        if (misfit <= eps)
            assert_true(squares(N, b.p.x, z) == 0.0);
        else if (tight) {
            assert_true(left >= eps * (1.0 - 1e-9));
            assert_true(fabs(sqrt(squares(N, b.p.x, z)) - (misfit - eps) / 2.0) < 1e-9 * misfit);
        }
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
        ENDS_BY(bench_close) bench b;
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
        apply_matrix(m, N, A, x, r);
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
    }
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
    apply_matrix(M, N, A, z, y);
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
