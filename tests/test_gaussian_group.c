/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gaussian_group.c - Gaussian groups: the hot loops of every instruction set against dense
 * formulas in double, and a round along other axes. */
#include "check.h"

#include "method/gaussian/group.h"
#include "linear.h"
#include "simd.h"

SEED(seed);

enum { SETS = 3 };

/* ------------------------------------------------------------------ one group, densely */

enum { L = 4, H = 20, W = 22, LHW = L * H * W, D = 12 * 12, K = 24 };

typedef struct group {
    int depth, pl, ph, pw, d, size;
    int front[K], top[K], left[K];
    float u[LHW], y[LHW], variance[LHW];
    unsigned char mask[LHW];
    double mean[D], C[D][D];
    double weight[LHW], value[LHW], spread[LHW];
} group;

static void draw_group(group *g) {
    bool volume = check_below(&seed, 2);
    int most = volume ? 5 : 11;
    g->depth = volume ? 2 + (int)check_below(&seed, L - 1) : 1;
    g->pl = volume ? 1 + (int)check_below(&seed, (uint64_t)g->depth) : 1;
    g->ph = 2 + (int)check_below(&seed, (uint64_t)most);
    g->pw = 2 + (int)check_below(&seed, (uint64_t)most);
    g->d = g->pl * g->ph * g->pw;
    g->size = 1 + (int)check_below(&seed, K);
    int kind = (int)check_below(&seed, 6);
    double rate = kind == 0 ? 0.0 : kind == 1 ? 1.0 : 0.6 * check_uniform(&seed);
    for (int i = 0; i < LHW; i++) {
        g->mask[i] = check_uniform(&seed) < rate;
        g->y[i] = (float)(100.0 * check_uniform(&seed));
        g->u[i] = g->mask[i] ? g->y[i] : (float)(100.0 * check_uniform(&seed));
        g->variance[i] = (float)(10.0 * check_uniform(&seed));
        g->weight[i] = g->value[i] = g->spread[i] = 0.0;
    }
    for (int k = 0; k < g->size; k++) {
        g->front[k] = (int)check_below(&seed, (uint64_t)(g->depth - g->pl + 1));
        g->top[k] = (int)check_below(&seed, H - g->ph + 1);
        g->left[k] = (int)check_below(&seed, W - g->pw + 1);
    }
}

static int pixel_of(const group *g, int k, int i) {
    int row = g->top[k] + i / g->pw % g->ph, slice = g->front[k] + i / g->pw / g->ph;
    return (slice * H + row) * W + g->left[k] + i % g->pw;
}

/* Mean and covariance of x [size][d] into g. */
static void dense_moments(group *g, double x[K][D]) {
    for (int i = 0; i < g->d; i++) {
        g->mean[i] = 0.0;
        for (int k = 0; k < g->size; k++) g->mean[i] += x[k][i] / g->size;
    }
    for (int i = 0; i < g->d; i++)
        for (int j = 0; j < g->d; j++) {
            g->C[i][j] = 0.0;
            for (int k = 0; k < g->size; k++)
                g->C[i][j] += (x[k][i] - g->mean[i]) * (x[k][j] - g->mean[j]) / g->size;
        }
}

/* Posterior of patch k: mean + C_o^T (C_oo + noise I)^-1 (y - mean_o), C - C_o^T (...)^-1 C_o. */
static void dense_condition(const group *g, int k, double noise, double *x, double P[D][D]) {
    static double A[D][D], B[D][D + 1];
    int o[D], n = 0;
    for (int i = 0; i < g->d; i++)
        if (g->mask[pixel_of(g, k, i)]) o[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) A[i][j] = g->C[o[i]][o[j]] + (i == j ? noise : 0.0);
        for (int j = 0; j < g->d; j++) B[i][j] = g->C[o[i]][j];
        B[i][g->d] = g->y[pixel_of(g, k, o[i])] - g->mean[o[i]];
    }
    eliminate_many(n, A[0], D, g->d + 1, B[0], D + 1);
    for (int i = 0; i < g->d; i++) {
        x[i] = g->mean[i];
        for (int a = 0; a < n; a++) x[i] += g->C[o[a]][i] * B[a][g->d];
        for (int j = 0; j < g->d; j++) {
            P[i][j] = g->C[i][j];
            for (int a = 0; a < n; a++) P[i][j] -= g->C[o[a]][i] * B[a][j];
        }
    }
}

static void dense_estimate(group *g, const csrec_gaussian_round *round, double noise) {
    static double x[K][D], P[D][D], sum[D][D];
    double spread = 0.0;
    for (int k = 0; k < g->size; k++)
        for (int i = 0; i < g->d; i++) {
            x[k][i] = g->u[pixel_of(g, k, i)];
            spread += g->variance[pixel_of(g, k, i)] / (g->size * g->d);
        }
    dense_moments(g, x);
    for (int i = 0; i < g->d; i++) g->C[i][i] += round->diagonal + round->trust * spread;
    for (int t = 0; t < round->em; t++) {
        memset(sum, 0, sizeof sum);
        int every = round->every > 0 ? round->every : 1, averaged = (g->size + every - 1) / every;
        for (int k = 0; k < g->size; k++) {
            dense_condition(g, k, noise, x[k], P);
            for (int i = 0; i < g->d && k % every == 0; i++)
                for (int j = 0; j < g->d; j++) sum[i][j] += P[i][j] / averaged;
        }
        dense_moments(g, x);
        for (int i = 0; i < g->d; i++)
            for (int j = 0; j < g->d; j++)
                g->C[i][j] += sum[i][j] + (i == j ? round->em_diagonal : 0.0);
    }
    for (int k = 0; k < g->size; k++) {
        dense_condition(g, k, noise, x[k], P);
        for (int i = 0; i < g->d; i++) {
            double weight = 1.0 / (P[i][i] + round->evenness);
            g->weight[pixel_of(g, k, i)] += weight;
            g->value[pixel_of(g, k, i)] += weight * x[k][i];
            g->spread[pixel_of(g, k, i)] += weight * P[i][i];
        }
    }
}

static void close_to(double got, double expected, double size) {
    if (!(fabs(got - expected) <= 2e-3 * size)) fail_msg("%g is not %g", got, expected);
}

/* Floats of values up to 100 whose covariances, up to 1000 a pixel, have condition numbers up to
 * 1000 d: half the digits are lost, and of variances near 5 or values near 100 two thousandths are
 * far below any error of the formulas. */
TEST(groups_follow_the_dense_formulas) {
    const csrec_group_simd *sets[SETS];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    static group g;
    static float buffer[3 * LHW];
    for (int k = 0; k < 16; k++) {
        draw_group(&g);
        float diagonal = k % 4 == 3 ? 0.0f : 10.0f; /* 0: singular, of fewer patches than pixels */
        csrec_gaussian_round round = {.diagonal = diagonal,
                                      .trust = 0.5f,
                                      .noise = 1,
                                      .em = k % 3,
                                      .em_diagonal = 0.1f * diagonal,
                                      .every = k % 4,
                                      .evenness = 5};
        float sigma = k % 2 ? 3.0f : 0.0f, *u = g.u, *y = g.y, *variance = g.variance;
        dense_estimate(&g, &round, sigma > 0.0f ? 9.0 : 1.0);
        csrec_gaussian_picture p = {g.depth, H,   W,         1,     g.mask, &y,
                                    &u,      g.u, &variance, sigma, false,  0};
        const int patch[3] = {g.pl, g.ph, g.pw};
        for (int set = 0; set < count; set++) {
            csrec_pool pool = {0};
            csrec_group_work work = csrec_group_work_of(&p, patch, &pool);
            work.size = g.size;
            for (int i = 0; i < g.size; i++) {
                work.front[i] = g.front[i];
                work.top[i] = g.top[i];
                work.left[i] = g.left[i];
            }
            memset(buffer, 0, sizeof buffer);
            csrec_group_sums sums = {
                0, 0, 0, g.depth, H, W, buffer, buffer + LHW, buffer + 2 * LHW};
            sets[set]->estimate(&p, 0, &round, &work, &sums);
            for (int i = 0; i < LHW; i++) {
                if (g.weight[i] == 0.0) {
                    assert_true(sums.weight[i] == 0.0f);
                    continue;
                }
                close_to(sums.value[i] / sums.weight[i], g.value[i] / g.weight[i], 100.0);
                close_to(sums.variance[i] / sums.weight[i], g.spread[i] / g.weight[i], 100.0);
            }
            csrec_pool_clear(&pool);
        }
    }
}

/* ------------------------------------------------------------------ one round */

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
    csrec_gaussian_matches matches = {0};
    csrec_call call;
    csrec_call_begin(&call, NULL, NULL, (csrec_progress){0});
    assert_ok(csrec_gaussian_run(&p, &round, 1, 2, &matches, &call, 0, 1));
    csrec_call_end(&call);
    csrec_gaussian_matches_clear(&matches);
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
        close_to(other.u[i], b.u[i], 100.0);
        close_to(other.variance[i], b.variance[i], 100.0);
    }
}
