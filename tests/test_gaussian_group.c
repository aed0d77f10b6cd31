/* test_gaussian_group.c - Gaussian groups: the hot loops of every instruction set against dense
 * formulas in double, and a round along other axes. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "method/gaussian/group.h"
#include "linear.h"
#include "simd.h"

static uint64_t seed;

enum { SETS = 3 };

/* ------------------------------------------------------------------ distances */

/* Squares of differences of patches at a and b, of integers: exact below 2^24. */
static float distance_of(const csrec_group_search *s, const int a[3], const int b[3]) {
    float sum = 0.0f;
    for (int i = 0; i < s->guides * s->patch_depth; i++)
        for (int j = 0; j < s->patch_height; j++)
            for (int k = 0; k < s->patch_width; k++) {
                int z = i / s->patch_depth * s->depth + i % s->patch_depth;
                int p = ((a[0] + z) * s->height + a[1] + j) * s->width + a[2] + k;
                int q = ((b[0] + z) * s->height + b[1] + j) * s->width + b[2] + k;
                sum += (s->guide[p] - s->guide[q]) * (s->guide[p] - s->guide[q]);
            }
    return sum;
}

static bool is_inside(const csrec_group_search *s, const int at[3]) {
    return at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] + s->patch_depth <= s->depth &&
           at[1] + s->patch_height <= s->height && at[2] + s->patch_width <= s->width;
}

static void check_search(const csrec_group_simd *simd, const csrec_group_search *s) {
    int side = 2 * s->radius + 1, shifts = (2 * s->deep + 1) * side * side;
    simd->search(s);
    for (int i = 0; i < s->slices * 4 * shifts; i++) {
        int r = i / shifts, k = i % shifts;
        const int a[3] = {s->z[r / 4], s->y[r / 2 % 2], s->x[r % 2]};
        const int b[3] = {a[0] + k / side / side - s->deep, a[1] + k / side % side - s->radius,
                          a[2] + k % side - s->radius};
        assert_true(s->distance[i] == (is_inside(s, b) ? distance_of(s, a, b) : INFINITY));
    }
    const int first[3] = {s->z[0], s->y[0], s->x[0]};
    uint16_t shift[4];
    float ranked[4];
    int n = 0;
    for (int i = 0; i < shifts && n < 4; i += 1 + (int)check_below(&seed, 9))
        if (s->distance[i] < INFINITY) shift[n++] = (uint16_t)i;
    simd->rank(s, first, n, shift, ranked);
    for (int i = 0; i < n; i++) assert_true(ranked[i] == s->distance[shift[i]]);
}

static void distances_are_sums_of_squares(void **state) {
    (void)state;
    const csrec_group_simd *sets[SETS];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    static float guide[3 * 6 * 32 * 32], distance[8 * 5 * 13 * 13];
    for (int k = 0; k < 40; k++) {
        int l = k % 2 ? 1 : 1 + (int)check_below(&seed, 6), pl = 1 + (int)check_below(&seed, l);
        int h = 12 + (int)check_below(&seed, 20), w = 12 + (int)check_below(&seed, 20);
        int ph = 1 + (int)check_below(&seed, 12), pw = 1 + (int)check_below(&seed, 12);
        int z[2] = {0, l - pl}, y[2] = {0, h - ph}, x[2] = {(w - pw) / 2, w - pw};
        float column[64];
        for (int i = 0; i < 3 * l * h * w; i++) guide[i] = (float)check_below(&seed, 110);
        csrec_group_search s = {.guide = guide,
                                .guides = 1 + k % 3,
                                .depth = l,
                                .height = h,
                                .width = w,
                                .patch_depth = pl,
                                .patch_height = ph,
                                .patch_width = pw,
                                .deep = l > 1 ? (int)check_below(&seed, 3) : 0,
                                .radius = 1 + (int)check_below(&seed, 6),
                                .z = z,
                                .y = y,
                                .x = x,
                                .slices = l > 1 ? 2 : 1,
                                .rows = 2,
                                .columns = 2,
                                .distance = distance,
                                .column = column};
        if (pl > 3) s.patch_depth = 3; /* 3 guides, 3 * 144 squares below 110^2 */
        for (int set = 0; set < count; set++) check_search(sets[set], &s);
    }
}

/* The k-th of the wanted has no more than k nearer ones, and a second choice among the kept
 * candidates, ranked anew, is the same. */
static void check_choice(const csrec_group_simd *simd, const csrec_group_search *s, int wanted) {
    int side = 2 * s->radius + 1, shifts = (2 * s->deep + 1) * side * side;
    const int at[3] = {s->z[0], s->y[0], s->x[0]};
    csrec_gaussian_matches matches = {0};
    csrec_group_finder finder;
    csrec_group_work first = {0}, again = {0};
    assert_ok(csrec_group_finder_create(1, shifts, &finder));
    assert_ok(csrec_group_matches_prepare(&matches, 1, 1, s->radius, false));
    simd->search(s);
    csrec_group_choose(simd, s, at, 0, s->distance, wanted, &matches, &finder, &first);
    float worst = 0.0f;
    for (int i = 0; i < first.size; i++) {
        int z = first.front[i] - at[0] + s->deep, y = first.top[i] - at[1] + s->radius;
        worst =
            fmaxf(worst, s->distance[(z * side + y) * side + first.left[i] - at[2] + s->radius]);
    }
    int nearer = 0, finite = 0;
    for (int i = 0; i < shifts; i++) {
        nearer += s->distance[i] < worst;
        finite += s->distance[i] < INFINITY;
    }
    assert_int_equal(first.size, wanted < finite ? wanted : finite);
    assert_true(nearer < first.size);
    assert_ok(csrec_group_matches_prepare(&matches, 1, 1, s->radius, true));
    csrec_group_choose(simd, s, at, 0, NULL, wanted, &matches, &finder, &again);
    assert_int_equal(again.size, first.size);
    assert_memory_equal(again.front, first.front, (size_t)first.size * sizeof *first.front);
    assert_memory_equal(again.top, first.top, (size_t)first.size * sizeof *first.top);
    assert_memory_equal(again.left, first.left, (size_t)first.size * sizeof *first.left);
    assert_int_equal(csrec_group_matches_prepare(&matches, 2, 1, s->radius, true), CSREC_ARGUMENT);
    csrec_group_finder_clear(&finder);
    csrec_gaussian_matches_clear(&matches);
}

static void nearest_are_chosen_and_kept(void **state) {
    (void)state;
    const csrec_group_simd *sets[SETS];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    enum { SIDE = 40, SLICES = 5, SHIFTS = 5 * 19 * 19 };
    static float guide[SLICES * SIDE * SIDE], distance[SHIFTS];
    for (int k = 0; k < 20; k++) {
        bool volume = k % 4 > 1;
        int values = k % 2 ? 3 : 200;
        float column[64];
        for (int i = 0; i < SLICES * SIDE * SIDE; i++)
            guide[i] = (float)check_below(&seed, (uint64_t)values);
        int y = (int)check_below(&seed, SIDE - 5), x = (int)check_below(&seed, SIDE - 6);
        int z = volume ? (int)check_below(&seed, SLICES - 2) : 0;
        csrec_group_search s = {.guide = guide,
                                .guides = 1,
                                .depth = volume ? SLICES : 1,
                                .height = SIDE,
                                .width = SIDE,
                                .patch_depth = volume ? 2 : 1,
                                .patch_height = 5,
                                .patch_width = 6,
                                .deep = volume ? 2 : 0,
                                .radius = 9,
                                .z = &z,
                                .y = &y,
                                .x = &x,
                                .slices = 1,
                                .rows = 1,
                                .columns = 1,
                                .distance = distance,
                                .column = column};
        check_choice(sets[k % count], &s, 1 + (int)check_below(&seed, 60));
    }
}

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
static void groups_follow_the_dense_formulas(void **state) {
    (void)state;
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
            csrec_group_work work;
            assert_ok(csrec_group_work_create(&p, patch, &work));
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
            csrec_group_work_clear(&work);
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
    csrec_team team;
    csrec_team_begin(&team, NULL, NULL, (csrec_progress){0});
    assert_ok(csrec_gaussian_run(&p, &round, 1, 2, &matches, &team, 0, 1));
    csrec_team_end(&team);
    csrec_gaussian_matches_clear(&matches);
}

/* With references everywhere and groups of all that the window holds no axis is special. */
static void axes_may_be_permuted(void **state) {
    (void)state;
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

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_sums_of_squares),
        cmocka_unit_test(nearest_are_chosen_and_kept),
        cmocka_unit_test(groups_follow_the_dense_formulas),
        cmocka_unit_test(axes_may_be_permuted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
