/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gaussian_search.c - distances between patches of every instruction set against the
 * definition, and which patches are chosen. */
#include "check.h"

#include "method/gaussian/group.h"
#include "simd.h"

SEED(seed);

enum { SETS = 3 };

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
    csrec_pool pool = {0};
    csrec_group_work first = {0}, again = {0};
    csrec_group_finder finder = csrec_group_finder_of(1, shifts, &pool);
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
    csrec_pool_clear(&pool);
    csrec_gaussian_matches_clear(&matches);
}

TEST(nearest_are_chosen_and_kept) {
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
