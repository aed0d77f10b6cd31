/* SPDX-License-Identifier: BSD-3-Clause */
/* Plug-and-play recovery: its linear steps against dense matrices, and what no signal meets. */
#include "pnp.h"

SEED(seed);

enum { H = 5, W = 6, N = H * W, ROWS = 20, BH = 3, BW = 4, EACH = BH * BW, COLOURS = 2 };

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

/* Of 2 x 2 blocks, of which three reach beyond the picture: the whole matrix A of the block's one,
 * phi [m][EACH], whose rows differ in length. Some have more rows than they have entries. */
static int draw_blocks_of(int m, double *phi, double *A) {
    for (int i = 0; i < m * EACH; i++) phi[i] = check_normal(&seed) * pow(10.0, i / EACH % 3);
    memset(A, 0, (size_t)(4 * m * N) * sizeof *A);
    for (int j = 0; j < N; j++) {
        const int y = j / W, x = j % W, block = y / BH * 2 + x / BW, k = y % BH * BW + x % BW;
        for (int i = 0; i < m; i++) A[(block * m + i) * N + j] = phi[i * EACH + k];
    }
    return 4 * m;
}

enum { TIGHT, ANY, BLOCKS, GRADIENTS, KINDS };

/* A random matrix of each kind, and the bench for it; the number of rows. */
static int draw_kind(int kind, int most, bench *b, double *phi, double *A, int64_t *index,
                     double *y) {
    const int m = 1 + (int)check_below(&seed, kind == BLOCKS ? most : ROWS);
    const int rows = kind == BLOCKS ? draw_blocks_of(m, phi, A) : m;
    if (kind != BLOCKS) draw_matrix(kind == TIGHT, 2.0, m, A);
    open_matrix(b, rows, A, index, y);
    if (kind != BLOCKS) return rows;
    b->spec.m = m;
    b->spec.matrix = phi;
    b->edge[0] = BH;
    b->edge[1] = BW;
    b->spec.kernel = b->edge;
    return rows;
}

/* x = z + A^T (A A^T + share I)^-1 (y - A z): by division, by the inverse of blocks, of colours,
 * and by conjugate gradients, which end at 1e-4 of the misfit. */
TEST(the_data_step_is_the_dense_one) {
    for (int round = 0; round < 40; round++) {
        const int kind = round % KINDS;
        double A[ROWS * N], phi[ROWS * EACH], y[ROWS * COLOURS], z[N * COLOURS], r[ROWS], u[ROWS];
        const double share = 1.0 + 10.0 * check_uniform(&seed);
        int64_t index[ROWS];
        ENDS_BY(bench_close) bench b;
        const int m = draw_kind(kind, ROWS / 4, &b, phi, A, index, y);
        for (int i = 0; i < m * COLOURS; i++) y[i] = check_normal(&seed);
        for (int j = 0; j < N * COLOURS; j++) z[j] = check_normal(&seed);
        b.m.channels = COLOURS;
        bench_open(&b);
        assert_int_equal(b.p.data.tight, kind == TIGHT || m == 1);
        assert_int_equal(b.p.data.inverse != NULL, !b.p.data.tight);
        if (kind == GRADIENTS) b.p.data.inverse = NULL;
        assert_ok(csrec_pnp_fit(&b.p, z, share));
        double off = 0.0, size = 1.0;
        for (int c = 0; c < COLOURS; c++) {
            for (int i = 0; i < m; i++) {
                r[i] = y[i * COLOURS + c];
                for (int j = 0; j < N; j++) r[i] -= A[i * N + j] * z[j * COLOURS + c];
            }
            solve_dense(m, A, share, r, u);
            for (int j = 0; j < N; j++) {
                double moved = 0.0, at = z[j * COLOURS + c];
                for (int i = 0; i < m; i++) moved += A[i * N + j] * u[i];
                off += pow(b.p.x[j * COLOURS + c] - at - moved, 2.0);
                size += moved * moved;
            }
        }
        if (!(sqrt(off / size) < (kind == GRADIENTS ? 1e-3 : 1e-10)))
            fail_msg("kind %d: off by %g", kind, sqrt(off / size));
    }
}

/* With noise the result is as far from y as the noise is, and no farther from z than it must be. */
TEST(the_discrepancy_is_met) {
    for (int round = 0; round < 20; round++) {
        const int kind = round % KINDS;
        double A[ROWS * N], phi[ROWS * EACH], y[ROWS], z[N], r[ROWS], again[ROWS];
        int64_t index[ROWS];
        ENDS_BY(bench_close) bench b;
        const int m = draw_kind(kind, 3, &b, phi, A, index, y);
        for (int j = 0; j < N; j++) z[j] = check_normal(&seed);
        apply_matrix(m, N, A, z, r);
        for (int i = 0; i < m; i++) y[i] = r[i] + 3.0 + check_normal(&seed);
        const double misfit = sqrt(squares(m, y, r));
        b.m.sigma = (0.2 + check_uniform(&seed)) * misfit / sqrt((double)m);
        bench_open(&b);
        if (kind == GRADIENTS) b.p.data.inverse = NULL;
        const double eps = b.m.sigma * sqrt((double)m);
        assert_ok(csrec_pnp_meet(&b.p, z));
        apply_matrix(m, N, A, b.p.x, again);
        const double left = sqrt(squares(m, y, again));
        assert_true(left <= fmax(eps, 0.0) * (1.0 + 1e-9));
        if (misfit <= eps)
            assert_true(squares(N, b.p.x, z) == 0.0);
        else if (kind != GRADIENTS) { /* nearest: x - z is along A^T (y - A x) */
            double along = 0.0, square = 0.0, down[N];
            assert_true(left >= eps * (1.0 - 1e-9));
            for (int j = 0; j < N; j++) {
                down[j] = 0.0;
                for (int i = 0; i < m; i++) down[j] += A[i * N + j] * (y[i] - again[i]);
                along += down[j] * (b.p.x[j] - z[j]);
                square += down[j] * down[j];
            }
            assert_true(along * along > (1.0 - 1e-9) * square * squares(N, b.p.x, z));
        }
    }
}

/* u and t of message passing by their formulas with a dense matrix whose first row is the mean. */
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

/* The prior is loaded once, however often it denoises: of one thread, as many passes as the network
 * takes over samples of as large a picture. */
TEST(each_denoising_is_a_pass_of_the_network) {
    int64_t side = 8 * (1 + (int64_t)check_below(&seed, 64)), at = 0;
    csrec_operator_spec spec = {.name = "hadamard"};
    double y = 1.0, seconds[2][2] = {{0.0}};
    csrec_recover_options o;
    csrec_plan plan;
    for (int k = 0; k < 2; k++)
        for (int more = 0; more < 2; more++) {
            csrec_measurement m = {
                .shape = {2, {side, side}}, .n = 1, .channels = 1, .index = &at, .y = &y};
            const csrec_setting setting = {k ? "turns" : "iterations", more ? 8.0 : 1.0};
            if (!k) m.through = &spec;
            csrec_recover_defaults(&o);
            o.method = k ? "net" : "pnp";
            o.solve.settings = &setting;
            o.solve.n_settings = o.threads = 1;
            o.backend = "cpu";
            assert_well(csrec_recover_plan(&m, &o, CSREC_RESULT_SIGNAL, &plan, &told));
            seconds[k][more] = plan.estimate.seconds;
        }
    const double pass = (seconds[1][1] - seconds[1][0]) / 7.0;
    assert_true(fabs(seconds[0][1] - seconds[0][0] - 7.0 * pass) < 1e-9);
    assert_true(seconds[0][0] - pass < 0.5 + 7e-6 * (double)(side * side));
}
