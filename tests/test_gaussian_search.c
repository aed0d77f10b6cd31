/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gaussian_search.c - distances between patches of every instruction set against the
 * definition, and which patches are chosen; principal colours. */
#include "check.h"
#include "method/gaussian/gaussian.h"
#include "simd.h"

SEED(seed);
enum { SETS = 3, BEYOND = 9 + CSREC_GROUP_LANES }; /* floats around a guide */

/* Of one guide, from one place, nine entries around it. */
static csrec_group_search search_of(const float *guide, const int size[3], const int patch[3],
                                    float *distance) {
    return (csrec_group_search){.guide = guide,
                                .guides = 1,
                                .depth = size[0],
                                .height = size[1],
                                .width = size[2],
                                .patch_depth = patch[0],
                                .patch_height = patch[1],
                                .patch_width = patch[2],
                                .radius = 9,
                                .slices = 1,
                                .rows = 1,
                                .columns = 1,
                                .distance = distance};
}

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

TEST(distances_are_sums_of_squares) {
    const csrec_group_simd *sets[SETS];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    static float around[3 * 6 * 32 * 32 + 2 * BEYOND], distance[8 * 5 * 13 * 13];
    static float column[(2 * 2 + 1) * 32 * CSREC_GROUP_LANES], *guide;
    guide = around + BEYOND;
    for (int k = 0; k < 40; k++) {
        int l = k % 2 ? 1 : 1 + (int)check_below(&seed, 6), pl = 1 + (int)check_below(&seed, l);
        int h = 12 + (int)check_below(&seed, 20), w = 12 + (int)check_below(&seed, 20);
        int ph = 1 + (int)check_below(&seed, 12), pw = 1 + (int)check_below(&seed, 12);
        int z[2] = {0, l - pl}, y[2] = {0, h - ph}, x[2] = {(w - pw) / 2, w - pw};
        for (int i = 0; i < 3 * l * h * w; i++) guide[i] = (float)check_below(&seed, 110);
        csrec_group_search s = search_of(guide, (int[]){l, h, w}, (int[]){pl, ph, pw}, distance);
        s.guides = 1 + k % 3;
        s.deep = l > 1 ? (int)check_below(&seed, 3) : 0;
        s.radius = 1 + (int)check_below(&seed, 6);
        s.z = z, s.y = y, s.x = x;
        s.slices = l > 1 ? 2 : 1;
        s.rows = s.columns = 2;
        s.column = column;
        if (pl > 3) s.patch_depth = 3; /* 3 guides, 3 * 144 squares below 110^2 */
        for (int set = 0; set < count; set++) check_search(sets[set], &s);
    }
}

/* The k-th of the wanted has no more than k nearer ones, and a second choice among the kept
 * candidates, ranked anew, is the same. */
static void check_choice(const csrec_group_simd *simd, const csrec_group_search *s, int wanted) {
    int side = 2 * s->radius + 1, shifts = (2 * s->deep + 1) * side * side;
    const int at[3] = {s->z[0], s->y[0], s->x[0]};
    CLEARED(csrec_gaussian_matches) matches = {0};
    CLEARED(csrec_pool) pool = {0};
    csrec_group_work first = {0}, again = {0};
    csrec_group_finder finder = csrec_group_finder_of(1, shifts, 0, &pool);
    assert_false(pool.lacks);
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
}

TEST(nearest_are_chosen_and_kept) {
    const csrec_group_simd *sets[SETS];
    int count = SIMD_SETS(sets, &csrec_group_generic, &csrec_group_avx2, &csrec_group_avx512);
    enum { SIDE = 40, SLICES = 5, SHIFTS = 5 * 19 * 19 };
    static float around[SLICES * SIDE * SIDE + 2 * BEYOND], distance[SHIFTS], *guide;
    static float column[(2 + 1) * 6 * CSREC_GROUP_LANES];
    guide = around + BEYOND;
    for (int k = 0; k < 20; k++) {
        bool volume = k % 4 > 1;
        int values = k % 2 ? 3 : 200;
        for (int i = 0; i < SLICES * SIDE * SIDE; i++)
            guide[i] = (float)check_below(&seed, (uint64_t)values);
        int y = (int)check_below(&seed, SIDE - 5), x = (int)check_below(&seed, SIDE - 6);
        int z = volume ? (int)check_below(&seed, SLICES - 2) : 0;
        csrec_group_search s = search_of(guide, (int[]){volume ? SLICES : 1, SIDE, SIDE},
                                         (int[]){volume ? 2 : 1, 5, 6}, distance);
        s.deep = volume ? 2 : 0;
        s.z = &z, s.y = &y, s.x = &x;
        s.column = column;
        check_choice(sets[k % count], &s, 1 + (int)check_below(&seed, 60));
    }
}

enum { H = 15, W = 17, HW = H * W, C = CSREC_GAUSSIAN_POOLED };

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
