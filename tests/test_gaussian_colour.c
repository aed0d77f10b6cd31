/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gaussian_colour.c - Gaussian groups of colour pictures: channels that share one covariance,
 * against dense formulas in double, and principal colours. */
#include "check.h"

#include "method/gaussian/colour.h"
#include "method/gaussian/group.h"
#include "linear.h"
#include "simd.h"

SEED(seed);

enum { H = 15, W = 17, HW = H * W, D = 36, K = 20, C = CSREC_GAUSSIAN_POOLED };

/* ------------------------------------------------------------------ pooled channels, densely */

typedef struct group {
    int ph, pw, d, size, channels, top[K], left[K];
    unsigned char mask[HW];
    float u[C][HW], y[C][HW], variance[C][HW];
    double x[C][K][D], mean[C][D], cov[D][D];
    double weight[C][HW], value[C][HW], spread[C][HW];
} group;

/* Channels that are parts of one drawing, and of their own. */
static void draw_group(group *g) {
    memset(g, 0, sizeof *g);
    g->channels = 2 + (int)check_below(&seed, C - 1);
    g->ph = 2 + (int)check_below(&seed, 5);
    g->pw = 2 + (int)check_below(&seed, 5);
    g->d = g->ph * g->pw;
    g->size = 1 + (int)check_below(&seed, K);
    double rate = 0.7 * check_uniform(&seed), own = 40.0 * check_uniform(&seed);
    for (int i = 0; i < HW; i++) {
        double shared = 60.0 * check_uniform(&seed);
        g->mask[i] = check_uniform(&seed) < rate;
        for (int c = 0; c < g->channels; c++) {
            g->y[c][i] = (float)(shared + own * check_uniform(&seed));
            g->u[c][i] = g->mask[i] ? g->y[c][i] : (float)(shared + own * check_uniform(&seed));
            g->variance[c][i] = (float)(10.0 * check_uniform(&seed));
        }
    }
    for (int k = 0; k < g->size; k++) {
        g->top[k] = (int)check_below(&seed, H - g->ph + 1);
        g->left[k] = (int)check_below(&seed, W - g->pw + 1);
    }
}

static int pixel_of(const group *g, int k, int i) {
    return (g->top[k] + i / g->pw) * W + g->left[k] + i % g->pw;
}

/* Mean products of two channels' deviations over patches and pixels. */
static double between(const group *g, int a, int b) {
    double sum = 0.0;
    for (int k = 0; k < g->size; k++)
        for (int i = 0; i < g->d; i++)
            sum += (g->x[a][k][i] - g->mean[a][i]) * (g->x[b][k][i] - g->mean[b][i]);
    return sum / (g->size * g->d);
}

/* Means, and cov = t / C sum over a, b of (A^-1)_ab X_a^T X_b / K, A = S + floor I, t = tr A / C.
 */
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
                        g->cov[i][j] += scale / n * inverse[a][b] / g->size *
                                        (g->x[a][k][i] - g->mean[a][i]) *
                                        (g->x[b][k][j] - g->mean[b][j]);
}

/* The posterior of patch k: means into x, the covariance of a channel into P. */
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
    for (int t = 0; t < round->em; t++) {
        int averaged = (g->size + round->every - 1) / round->every;
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < g->size; k++) {
            condition(g, k, noise, P);
            for (int i = 0; i < g->d && k % round->every == 0; i++)
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
    static float buffer[C][3 * HW];
    float *y[C], *u[C], *variance[C];
    csrec_group_sums sums[C];
    csrec_pool pool = {0};
    memset(buffer, 0, sizeof buffer);
    for (int c = 0; c < C; c++) {
        y[c] = g->y[c];
        u[c] = g->u[c];
        variance[c] = g->variance[c];
        sums[c] =
            (csrec_group_sums){0, 0, 0, 1, H, W, buffer[c], buffer[c] + HW, buffer[c] + 2 * HW};
    }
    csrec_gaussian_picture p = {1, H,    W,        g->channels, g->mask, y,
                                u, NULL, variance, sigma,       true,    0};
    const int patch[3] = {1, g->ph, g->pw};
    csrec_group_work work = csrec_group_work_of(&p, patch, &pool);
    work.size = g->size;
    for (int k = 0; k < g->size; k++) {
        work.front[k] = 0;
        work.top[k] = g->top[k];
        work.left[k] = g->left[k];
    }
    simd->estimate(&p, 0, round, &work, sums);
    for (int i = 0; i < g->channels * HW; i++) {
        int c = i / HW, at = i % HW;
        double weight = sums[c].weight[at];
        assert_true((g->weight[c][at] > 0.0) == (weight > 0.0));
        if (!(weight > 0.0)) continue;
        close_to(sums[c].value[at] / weight, g->value[c][at] / g->weight[c][at]);
        close_to(sums[c].variance[at] / weight, g->spread[c][at] / g->weight[c][at]);
    }
    csrec_pool_clear(&pool);
}

/* Values up to 100 with covariances up to 1000 a pixel: condition numbers of 1000 d at most, so
 * that half of a float's digits are left; two thousandths of 100 are far below any error of the
 * formulas. The channels' own, with at least 10 on the diagonal, is better conditioned. */
TEST(pooled_channels_follow_the_dense_formulas) {
    const csrec_group_simd *sets[3];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    static group g;
    for (int k = 0; k < 16; k++) {
        draw_group(&g);
        const csrec_gaussian_round round = {.diagonal = 10,
                                            .trust = 0.5f,
                                            .noise = 1,
                                            .em = k % 3,
                                            .em_diagonal = 1,
                                            .every = 1 + k % 4,
                                            .evenness = 5,
                                            .floor = 10};
        float sigma = k % 2 ? 3.0f : 0.0f;
        estimate(&g, &round, sigma > 0.0f ? 9.0 : 1.0);
        for (int set = 0; set < count; set++) check_set(sets[set], &g, &round, sigma);
    }
}

/* ------------------------------------------------------------------ principal colours */

/* Products of samples along the axes vanish, the axes are orthonormal, and the way back leads to
 * what was there: to the rounding of doubles, and of floats of values up to 300. */
TEST(principal_colours_are_not_correlated) {
    static float y[C][HW], u[C][HW], old[C][HW];
    unsigned char mask[HW];
    float *ys[C], *us[C];
    double mix[C][C], mean[C] = {0};
    int n = 0, channels = 2 + (int)check_below(&seed, C - 1);
    for (int c = 0; c < C; c++) {
        ys[c] = y[c];
        us[c] = u[c];
        for (int e = 0; e < C; e++) mix[c][e] = 2.0 * check_uniform(&seed) - 1.0;
    }
    for (int i = 0; i < HW; i++) {
        double v[C];
        mask[i] = i < 9 || check_uniform(&seed) < 0.4;
        n += mask[i];
        for (int c = 0; c < C; c++) v[c] = 100.0 * check_uniform(&seed);
        for (int c = 0; c < channels; c++) {
            y[c][i] = (float)(mix[c][0] * v[0] + mix[c][1] * v[1] + mix[c][2] * v[2]);
            old[c][i] = u[c][i] = (float)(100.0 * check_uniform(&seed));
        }
    }
    csrec_gaussian_picture p = {
        .depth = 1, .height = H, .width = W, .channels = channels, .mask = mask, .y = ys, .u = us};
    csrec_gaussian_axes axes;
    csrec_gaussian_axes_find(&p, &axes);
    assert_int_equal(axes.channels, channels);
    csrec_gaussian_axes_turn(&axes, &p);
    for (int i = 0; i < HW; i++)
        for (int c = 0; c < channels; c++) {
            mean[c] += mask[i] ? (double)y[c][i] / n : 0.0;
            assert_true(fabs(csrec_gaussian_axes_back(&axes, us, c, i) - (double)old[c][i]) < 1e-3);
        }
    for (int a = 0; a < channels; a++)
        for (int b = 0; b < channels; b++) {
            double product = 0.0, length = 0.0;
            for (int i = 0; i < HW; i++)
                product += mask[i] * ((double)y[a][i] - mean[a]) * ((double)y[b][i] - mean[b]) / n;
            for (int c = 0; c < channels; c++) length += axes.axis[a][c] * axes.axis[b][c];
            assert_true(fabs(length - (a == b)) < 1e-12);
            if (a != b) assert_true(fabs(product) < 1e-2);
        }
}
