/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gaussian_group.c - Gaussian groups: the hot loops of every instruction set against dense
 * formulas in double, of one channel and of several that share a covariance; and a round along
 * other axes. */
#include "method/gaussian/gaussian.h"
#include "linear.h"
#include "simd.h"

SEED(seed);

enum { L = 4, H = 20, W = 22, LHW = L * H * W, D = 12 * 12, K = 24, C = CSREC_GAUSSIAN_POOLED };

typedef struct group {
    int depth, pl, ph, pw, d, size, channels, front[K], top[K], left[K];
    unsigned char mask[LHW];
    float u[C][LHW], y[C][LHW], variance[C][LHW];
    double x[C][K][D], mean[C][D], cov[D][D], weight[C][LHW], value[C][LHW], spread[C][LHW];
} group;

/* One channel of a picture or a volume; pooled: parts of one drawing, and of their own. */
static void draw_group(group *g, bool pooled) {
    bool volume = !pooled && check_below(&seed, 2);
    int most = pooled || volume ? 5 : 11, kind = (int)check_below(&seed, 6);
    double rate = kind == 0 ? 0.0 : kind == 1 ? 1.0 : 0.7 * check_uniform(&seed);
    double drawing = pooled ? 60.0 : 0.0, own = pooled ? 40.0 * check_uniform(&seed) : 100.0;
    memset(g, 0, sizeof *g);
    g->channels = pooled ? 2 + (int)check_below(&seed, C - 1) : 1;
    g->depth = volume ? 2 + (int)check_below(&seed, L - 1) : 1;
    g->pl = volume ? 1 + (int)check_below(&seed, g->depth) : 1;
    g->ph = 2 + (int)check_below(&seed, most);
    g->pw = 2 + (int)check_below(&seed, most);
    g->d = g->pl * g->ph * g->pw;
    g->size = 1 + (int)check_below(&seed, K);
    for (int i = 0; i < LHW; i++) {
        double shared = drawing * check_uniform(&seed);
        g->mask[i] = check_uniform(&seed) < rate;
        for (int c = 0; c < g->channels; c++) {
            g->y[c][i] = (float)(shared + own * check_uniform(&seed));
            g->u[c][i] = g->mask[i] ? g->y[c][i] : (float)(shared + own * check_uniform(&seed));
            g->variance[c][i] = (float)(10.0 * check_uniform(&seed));
        }
    }
    for (int k = 0; k < g->size; k++) {
        g->front[k] = (int)check_below(&seed, g->depth - g->pl + 1);
        g->top[k] = (int)check_below(&seed, H - g->ph + 1);
        g->left[k] = (int)check_below(&seed, W - g->pw + 1);
    }
}

static int pixel_of(const group *g, int k, int i) {
    int row = g->top[k] + i / g->pw % g->ph, slice = g->front[k] + i / g->pw / g->ph;
    return (slice * H + row) * W + g->left[k] + i % g->pw;
}

/* Mean products of two channels' deviations over patches and pixels. */
static double between(const group *g, int a, int b) {
    double sum = 0.0;
    for (int k = 0; k < g->size; k++)
        for (int i = 0; i < g->d; i++)
            sum += (g->x[a][k][i] - g->mean[a][i]) * (g->x[b][k][i] - g->mean[b][i]);
    return sum / (g->size * g->d);
}

/* Means, and cov = t / C sum over a, b of (A^-1)_ab X_a^T X_b / K, A = S + floor I, t = tr A / C,
 * which for one channel is X^T X / K. */
static void moments(group *g, double floor) {
    static double A[D][D], inverse[D][D + C];
    int n = g->channels;
    double scale = 0.0;
    memset(g->mean, 0, sizeof g->mean);
    for (int c = 0; c < n; c++)
        for (int k = 0; k < g->size; k++)
            for (int i = 0; i < g->d; i++) g->mean[c][i] += g->x[c][k][i] / g->size;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            A[a][b] = between(g, a, b) + (a == b ? floor : 0.0);
            inverse[a][b] = a == b;
            scale += a == b ? A[a][b] / n : 0.0;
        }
    eliminate_many(n, A[0], D, n, inverse[0], D + C);
    memset(g->cov, 0, sizeof g->cov);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int k = 0; k < g->size; k++)
                for (int i = 0; i < g->d; i++)
                    for (int j = 0; j < g->d; j++)
                        g->cov[i][j] += (n > 1 ? scale / n * inverse[a][b] : 1.0) / g->size *
                                        (g->x[a][k][i] - g->mean[a][i]) *
                                        (g->x[b][k][j] - g->mean[b][j]);
}

/* The posterior of patch k, mean + C_o^T (C_oo + noise I)^-1 (y - mean_o) into x, and of a channel
 * C - C_o^T (C_oo + noise I)^-1 C_o into P. */
static void condition(group *g, int k, double noise, double P[D][D]) {
    static double A[D][D], B[D][D + C];
    int o[D], n = 0;
    for (int i = 0; i < g->d; i++)
        if (g->mask[pixel_of(g, k, i)]) o[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) A[i][j] = g->cov[o[i]][o[j]] + (i == j ? noise : 0.0);
        for (int j = 0; j < g->d; j++) B[i][j] = g->cov[o[i]][j];
        for (int c = 0; c < g->channels; c++)
            B[i][g->d + c] = g->y[c][pixel_of(g, k, o[i])] - g->mean[c][o[i]];
    }
    eliminate_many(n, A[0], D, g->d + g->channels, B[0], D + C);
    for (int i = 0; i < g->d; i++) {
        for (int c = 0; c < g->channels; c++) {
            g->x[c][k][i] = g->mean[c][i];
            for (int a = 0; a < n; a++) g->x[c][k][i] += g->cov[o[a]][i] * B[a][g->d + c];
        }
        for (int j = 0; j < g->d; j++) {
            P[i][j] = g->cov[i][j];
            for (int a = 0; a < n; a++) P[i][j] -= g->cov[o[a]][i] * B[a][j];
        }
    }
}

static void start(group *g, const csrec_gaussian_round *round) {
    double spread = 0.0;
    for (int c = 0; c < g->channels; c++)
        for (int k = 0; k < g->size; k++)
            for (int i = 0; i < g->d; i++) {
                g->x[c][k][i] = g->u[c][pixel_of(g, k, i)];
                spread += g->variance[c][pixel_of(g, k, i)] / (g->channels * g->size * g->d);
            }
    moments(g, round->floor);
    for (int i = 0; i < g->d; i++) g->cov[i][i] += round->diagonal + round->trust * spread;
}

static void estimate(group *g, const csrec_gaussian_round *round, double noise) {
    static double P[D][D], sum[D][D];
    start(g, round);
    int every = round->every > 0 ? round->every : 1, averaged = (g->size + every - 1) / every;
    for (int t = 0; t < round->em; t++) {
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < g->size; k++) {
            condition(g, k, noise, P);
            for (int i = 0; i < g->d && k % every == 0; i++)
                for (int j = 0; j < g->d; j++) sum[i][j] += P[i][j] / averaged;
        }
        moments(g, round->floor);
        for (int i = 0; i < g->d; i++)
            for (int j = 0; j < g->d; j++)
                g->cov[i][j] += sum[i][j] + (i == j ? round->em_diagonal : 0.0);
    }
    for (int k = 0; k < g->size; k++) {
        condition(g, k, noise, P);
        for (int c = 0; c < g->channels; c++)
            for (int i = 0; i < g->d; i++) {
                int at = pixel_of(g, k, i);
                double weight = 1.0 / (P[i][i] + round->evenness);
                g->weight[c][at] += weight;
                g->value[c][at] += weight * g->x[c][k][i];
                g->spread[c][at] += weight * P[i][i];
            }
    }
}

static void close_to(double got, double expected) {
    if (!(fabs(got - expected) <= 0.2)) fail_msg("%g is not %g", got, expected);
}

static void check_set(const csrec_group_simd *simd, group *g, const csrec_gaussian_round *round,
                      float sigma) {
    static float buffer[C][3 * LHW];
    float *y[C], *u[C], *variance[C];
    csrec_group_sums sums[C];
    CLEARED(csrec_pool) pool = {0};
    memset(buffer, 0, sizeof buffer);
    for (int c = 0; c < C; c++) {
        float *b = buffer[c];
        y[c] = g->y[c];
        u[c] = g->u[c];
        variance[c] = g->variance[c];
        sums[c] = (csrec_group_sums){0, 0, 0, g->depth, H, W, b, b + LHW, b + 2 * LHW};
    }
    csrec_gaussian_picture p = {g->depth, H,       W,        g->channels, g->mask,         y,
                                u,        g->u[0], variance, sigma,       g->channels > 1, 0};
    const int patch[3] = {g->pl, g->ph, g->pw};
    csrec_group_work work = csrec_group_work_of(&p, patch, &pool);
    work.size = g->size;
    for (int k = 0; k < g->size; k++) {
        work.front[k] = g->front[k];
        work.top[k] = g->top[k];
        work.left[k] = g->left[k];
    }
    simd->estimate(&p, 0, round, &work, sums);
    for (int i = 0; i < g->channels * LHW; i++) {
        int c = i / LHW, at = i % LHW;
        double weight = sums[c].weight[at];
        assert_true((g->weight[c][at] > 0.0) == (weight > 0.0));
        if (!(weight > 0.0)) continue;
        close_to(sums[c].value[at] / weight, g->value[c][at] / g->weight[c][at]);
        close_to(sums[c].variance[at] / weight, g->spread[c][at] / g->weight[c][at]);
    }
}

/* Floats of values up to 100 whose covariances, up to 1000 a pixel, have condition numbers up to
 * 1000 d: half the digits are lost, and of variances near 5 or values near 100 two thousandths of
 * 100 are far below any error of the formulas. The channels' own, with at least 10 on the diagonal,
 * is better conditioned. */
TEST(groups_follow_the_dense_formulas) {
    const csrec_group_simd *sets[3];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    static group g;
    for (int k = 0; k < 32; k++) {
        bool pooled = k >= 16;
        draw_group(&g, pooled);
        /* 0: singular, of fewer patches than pixels */
        float diagonal = !pooled && k % 4 == 3 ? 0.0f : 10.0f, sigma = k % 2 ? 3.0f : 0.0f;
        const csrec_gaussian_round round = {.diagonal = diagonal,
                                            .trust = 0.5f,
                                            .noise = 1,
                                            .em = k % 3,
                                            .em_diagonal = 0.1f * diagonal,
                                            .every = pooled + k % 4,
                                            .evenness = 5,
                                            .floor = pooled ? 10 : 0};
        estimate(&g, &round, sigma > 0.0f ? 9.0 : 1.0);
        for (int set = 0; set < count; set++) check_set(sets[set], &g, &round, sigma);
    }
}

/* Entry i of a volume, with the axes in another order. */
static int64_t turned(const int extent[3], const int axis[3], int64_t i) {
    int at[3];
    for (int a = 2; a >= 0; a--) {
        at[a] = (int)(i % extent[a]);
        i /= extent[a];
    }
    return ((int64_t)at[axis[0]] * extent[axis[1]] + at[axis[1]]) * extent[axis[2]] + at[axis[2]];
}

enum { ENTRIES = 7 * 9 * 8 };

typedef struct box {
    int extent[3];
    unsigned char mask[ENTRIES];
    float y[ENTRIES], u[ENTRIES], variance[ENTRIES];
} box;

static box turn(const box *from, const int axis[3]) {
    box to;
    for (int a = 0; a < 3; a++) to.extent[a] = from->extent[axis[a]];
    for (int64_t i = 0; i < ENTRIES; i++) {
        int64_t at = turned(from->extent, axis, i);
        to.mask[at] = from->mask[i];
        to.y[at] = from->y[i];
        to.u[at] = from->u[i];
        to.variance[at] = from->variance[i];
    }
    return to;
}

static void run_round(box *b) {
    float *y = b->y, *u = b->u, *variance = b->variance;
    csrec_gaussian_picture p = {b->extent[0], b->extent[1], b->extent[2], 1,    b->mask, &y,
                                &u,           b->u,         &variance,    0.0f, false,   0};
    csrec_gaussian_round round = {.patch = 3,
                                  .step = 1,
                                  .group = 128,
                                  .radius = 1,
                                  .diagonal = 10,
                                  .noise = 1,
                                  .em = 1,
                                  .em_diagonal = 1,
                                  .evenness = 5};
    CLEARED(csrec_gaussian_matches) matches = {0};
    csrec_call call;
    csrec_call_begin(&call, NULL, NULL, (csrec_progress){0});
    assert_ok(csrec_gaussian_run(&p, &round, 1, 2, &matches, &call, 0, 1));
    csrec_call_end(&call);
}

/* With references everywhere and groups of all that the window holds no axis is special. */
TEST(axes_may_be_permuted) {
    const int order[][3] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static box b, other;
    b.extent[0] = 7;
    b.extent[1] = 9;
    b.extent[2] = 8;
    for (int i = 0; i < ENTRIES; i++) {
        b.mask[i] = check_uniform(&seed) < 0.3;
        b.y[i] = (float)(100.0 * check_uniform(&seed));
        b.u[i] = b.mask[i] ? b.y[i] : (float)(100.0 * check_uniform(&seed));
    }
    const int *axis = order[check_below(&seed, 5)];
    other = turn(&b, axis);
    run_round(&b);
    run_round(&other);
    b = turn(&b, axis);
    for (int i = 0; i < ENTRIES; i++) {
        close_to(other.u[i], b.u[i]);
        close_to(other.variance[i], b.variance[i]);
    }
}
