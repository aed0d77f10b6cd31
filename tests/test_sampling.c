/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling patterns: what each promises, counted and measured by brute force. */
#include "samples.h"
#include "sampling/sampling.h"

#include <omp.h>

SEED(seed);

static const csrec_pattern patterns[] = {CSREC_PATTERN_UNIFORM, CSREC_PATTERN_POISSON,
                                         CSREC_PATTERN_JITTER};

static csrec_sampling sample(const csrec_shape *shape, csrec_pattern pattern, int64_t count,
                             uint64_t key) {
    csrec_sampling s = {0};
    assert_well(csrec_sampling_create(shape, pattern, count, key, &s, &told));
    return s;
}

static void check_positions(const csrec_shape *shape, const csrec_sampling *s, int64_t count) {
    assert_int_equal(s->n, count);
    assert_true(s->index[0] >= 0 && s->index[s->n - 1] < entries_in(shape));
    for (int64_t i = 1; i < s->n; i++) assert_true(s->index[i - 1] < s->index[i]);
}

static csrec_shape random_shape(int dims, int64_t most) {
    csrec_shape shape = {dims, {0}};
    for (int d = 0; d < dims; d++) shape.dim[d] = 1 + check_below(&seed, most);
    return shape;
}

TEST(counts_are_exact) {
    const int64_t most[] = {0, 3000, 60, 14, 8, 5};
    for (int round = 0; round < 300; round++) {
        int dims = 1 + round % 5;
        csrec_shape shape = random_shape(dims, most[dims]);
        int64_t entries = entries_in(&shape);
        int64_t count = round % 10 ? 1 + check_below(&seed, entries) : entries;
        for (int p = 0; p < 3; p++) {
            if (patterns[p] == CSREC_PATTERN_POISSON && dims != 2 && dims != 3) continue;
            CLEARED(csrec_sampling) s = sample(&shape, patterns[p], count, check_next(&seed));
            check_positions(&shape, &s, count);
        }
    }
}

/* From one position, and so from holes of any size, to all. */
TEST(distances_are_those_of_all_pairs) {
    for (int round = 0; round < 200; round++) {
        const int64_t extent[3] = {round % 2 ? 1 : 1 + check_below(&seed, 5),
                                   1 + check_below(&seed, round % 7 ? 20 : 200),
                                   1 + check_below(&seed, 90)};
        const int64_t n = extent[0] * extent[1] * extent[2], rate = 1 + check_below(&seed, n);
        OWNED uint32_t *squared = malloc((size_t)n * sizeof *squared);
        int64_t *at = malloc((size_t)n * 3 * sizeof *at), count = 0;
        for (int64_t i = 0; i < n; i++) {
            squared[i] = check_below(&seed, rate) ? CSREC_FAR : 0;
            if (squared[i] == 0) csrec_locate(extent, i, at + 3 * count++);
        }
        assert_ok(csrec_distance_squared(extent, 2, squared));
        for (int64_t i = 0; i < n; i += 1 + count * n / 1000000) {
            int64_t own[3], least = CSREC_FAR;
            csrec_locate(extent, i, own);
            for (const int64_t *b = at; b < at + 3 * count; b += 3) {
                const int64_t d[3] = {own[0] - b[0], own[1] - b[1], own[2] - b[2]};
                const int64_t far = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                least = far < least ? far : least;
            }
            assert_int_equal(squared[i], least);
        }
        free(at);
    }
}

static double nearest_pair(const csrec_shape *shape, const csrec_sampling *s) {
    double nearest = INFINITY;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < i; j++)
            nearest = fmin(nearest, distance_of(shape, s->index[i], s->index[j]));
    return nearest;
}

TEST(poisson_keeps_its_distance) {
    for (int round = 0; round < 60; round++) {
        csrec_shape shape = random_shape(2 + round % 2, round % 2 ? 20 : 90);
        int64_t entries = entries_in(&shape);
        int64_t count = 1 + check_below(&seed, entries / (1 + round % 7) + 1);
        if (count > entries) count = entries;
        CLEARED(csrec_sampling) s = sample(&shape, CSREC_PATTERN_POISSON, count, check_next(&seed));
        assert_true(s.min_distance >= 1.0);
        /* The square root of an integer against that of the same integer: equal bits. */
        assert_true(nearest_pair(&shape, &s) >= s.min_distance);
    }
}

/* The radius must be worth its name: random packings of discs on pixels reach 18.7 % at distance 2
 * and 36.4 % at sqrt 2 (hard squares and hard-core jamming on the square lattice), so 17 % and
 * 30 % of a picture leave these distances; sparse samples come within 20 % of 0.7 / r^2. */
TEST(poisson_radius_is_large) {
    const csrec_shape shape = {2, {100, 120}};
    const double rate[] = {0.30, 0.17, 0.05, 0.01};
    const double least[] = {sqrt(2.0), 2.0, sqrt(0.7 / 0.05) * 0.8, sqrt(0.7 / 0.01) * 0.8};
    for (int i = 0; i < 4; i++) {
        int64_t count = (int64_t)(rate[i] * 12000);
        CLEARED(csrec_sampling) s = sample(&shape, CSREC_PATTERN_POISSON, count, check_next(&seed));
        assert_true(s.min_distance >= least[i] - 1e-12);
    }
}

TEST(same_for_any_threads) {
    const csrec_shape shape = {2, {150, 200}};
    for (int p = 0; p < 3; p++) {
        uint64_t key = check_next(&seed);
        int before = omp_get_max_threads();
        omp_set_num_threads(1);
        CLEARED(csrec_sampling) one = sample(&shape, patterns[p], 9001, key);
        omp_set_num_threads(7);
        CLEARED(csrec_sampling) many = sample(&shape, patterns[p], 9001, key);
        CLEARED(csrec_sampling) other = sample(&shape, patterns[p], 9001, key + 1);
        omp_set_num_threads(before);
        assert_memory_equal(one.index, many.index, sizeof *one.index * 9001);
        assert_memory_not_equal(one.index, other.index, sizeof *one.index * 9001);
    }
}

/* Positions are part of the file format ("pattern", "seed", "count"). What is pinned here is not
 * that they are right, which the other tests see to, but that no version, compiler or platform
 * changes them. */
static uint64_t digest(const csrec_sampling *s) {
    uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a of the values */
    for (int64_t i = 0; i < s->n; i++)
        sum = (sum ^ (uint64_t)s->index[i]) * UINT64_C(1099511628211);
    return sum;
}

TEST(positions_are_fixed) {
    const csrec_shape flat = {2, {75, 101}}, volume = {3, {13, 21, 17}};
    const uint64_t expected[2][3] = {
        {UINT64_C(0x2e7fe3d368fa9af), UINT64_C(0xeede5d6e9993dde7), UINT64_C(0xb62642490cc83545)},
        {UINT64_C(0x86954f44f6ab6963), UINT64_C(0x5fa292badb1ece07), UINT64_C(0xe91024f13b1dd3fd)}};
    for (int p = 0; p < 3; p++) {
        CLEARED(csrec_sampling) a = sample(&flat, patterns[p], 1893, 42);
        CLEARED(csrec_sampling) b = sample(&volume, patterns[p], 700, 42);
        if (digest(&a) != expected[0][p] || digest(&b) != expected[1][p])
            fail_msg("%s: 0x%llx 0x%llx", csrec_pattern_name(patterns[p]),
                     (unsigned long long)digest(&a), (unsigned long long)digest(&b));
    }
}

/* Every position is sampled equally often. With sampling fraction f a position's hits in `draws`
 * have variance draws f (1 - f), and sum (hits - draws f)^2 / (draws f (1 - f)) is at most a
 * chi-square variable of `entries` degrees in mean; limit as in test_random (level 1e-7). */
static void check_equal_chances(csrec_pattern pattern, csrec_shape shape, int64_t count) {
    enum { DRAWS = 2000, MOST = 4096 };
    int64_t entries = entries_in(&shape), hits[MOST] = {0};
    for (int k = 0; k < DRAWS; k++) {
        CLEARED(csrec_sampling) s = sample(&shape, pattern, count, check_next(&seed));
        for (int64_t i = 0; i < s.n; i++) hits[s.index[i]]++;
    }
    double f = (double)count / (double)entries, chi = 0;
    for (int64_t i = 0; i < entries; i++)
        chi += pow((double)hits[i] - DRAWS * f, 2) / (DRAWS * f * (1 - f));
    double k = (double)entries, a = 2.0 / (9.0 * k);
    if (chi > k * pow(1.0 - a + 5.2 * sqrt(a), 3.0))
        fail_msg("%s: chi-square %g of %g", csrec_pattern_name(pattern), chi, k);
}

TEST(chances_are_equal) {
    for (int p = 0; p < 3; p += 2) {
        check_equal_chances(patterns[p], (csrec_shape){1, {37}}, 11);
        check_equal_chances(patterns[p], (csrec_shape){2, {23, 17}}, 100);
        check_equal_chances(patterns[p], (csrec_shape){3, {9, 11, 7}}, 77);
    }
}

/* Stratified: where halving gives equal boxes, every box has one sample. */
TEST(jitter_fills_every_cell) {
    const csrec_shape shape = {2, {64, 128}};
    ENDS_BY(csrec_sampling_clear)
    csrec_sampling s = sample(&shape, CSREC_PATTERN_JITTER, 64 * 128 / 4, check_next(&seed));
    uint8_t cell[32][64] = {{0}};
    for (int64_t i = 0; i < s.n; i++) {
        int64_t row = s.index[i] / 128, column = s.index[i] % 128;
        assert_int_equal(cell[row / 2][column / 2]++, 0);
    }
}

TEST(huge_signals) {
    const csrec_shape shapes[] = {{1, {INT64_C(1) << 40}},
                                  {1, {INT64_C(1) << 62}},
                                  {3, {1000003, 10007, 999}},
                                  {2, {(INT64_C(1) << 31) - 1, INT64_C(1) << 31}}};
    for (int i = 0; i < 4; i++)
        for (int p = 0; p < 3; p += 2) {
            CLEARED(csrec_sampling) s = sample(&shapes[i], patterns[p], 5000, check_next(&seed));
            check_positions(&shapes[i], &s, 5000);
            /* The middle one of 5000 is near the middle: standard deviation at most 0.5 / sqrt
             * 5000. */
            double middle = (double)s.index[2500] / (double)entries_in(&shapes[i]);
            assert_true(fabs(middle - 0.5) < 6 * 0.5 / sqrt(5000.0));
        }
}

TEST(wrong_requests) {
    csrec_sampling s = {.n = 7, .min_distance = 3.0};
    csrec_error error;
    const csrec_shape line = {1, {10}}, none = {2, {4, 0}};
    const csrec_shape vast = {2, {INT64_C(1) << 31, INT64_C(1) << 31}};
    const csrec_shape over = {2, {INT64_C(1) << 32, INT64_C(1) << 32}};
    assert_int_equal(csrec_sampling_create(&line, CSREC_PATTERN_UNIFORM, 0, 1, &s, &error),
                     CSREC_ARGUMENT);
    assert_int_equal(csrec_sampling_create(&line, CSREC_PATTERN_JITTER, 11, 1, &s, &error),
                     CSREC_ARGUMENT);
    assert_int_equal(csrec_sampling_create(&line, CSREC_PATTERN_POISSON, 3, 1, &s, &error),
                     CSREC_UNSUPPORTED);
    assert_int_equal(csrec_sampling_create(&vast, CSREC_PATTERN_POISSON, 3, 1, &s, NULL),
                     CSREC_UNSUPPORTED);
    assert_int_equal(csrec_sampling_create(&line, CSREC_PATTERN_NONE, 3, 1, &s, &error),
                     CSREC_ARGUMENT);
    assert_int_equal(csrec_sampling_create(&none, CSREC_PATTERN_UNIFORM, 1, 1, &s, &error),
                     CSREC_DATA);
    assert_int_equal(csrec_sampling_create(&over, CSREC_PATTERN_UNIFORM, 1, 1, &s, &error),
                     CSREC_DATA);
    assert_null(strchr(error.text, '\n'));
    assert_true(s.n == 7 && !s.index && s.min_distance == 3.0);
    csrec_sampling_clear(NULL);
}

/* Asks to stop at the `left`-th look. */
static bool stop_at(const csrec_progress *progress, void *context) {
    int *left = context;
    assert_true(progress->done >= 0 && progress->done <= progress->total);
    return --*left == 0;
}

TEST(draws_can_be_watched_and_stopped) {
    const csrec_shape shape = {2, {200 + check_below(&seed, 50), 200}};
    int64_t count = 20000;
    uint64_t own = check_next(&seed);
    csrec_sampling plain = sample(&shape, CSREC_PATTERN_POISSON, count, own), watched = {0};
    int never = 0, soon = 2;
    csrec_error error;
    assert_ok(csrec_sampling_create_watched(&shape, CSREC_PATTERN_POISSON, count, own, stop_at,
                                            &never, &watched, NULL));
    assert_true(never < -1); /* it was asked */
    assert_memory_equal(watched.index, plain.index, (size_t)count * sizeof *plain.index);
    csrec_sampling_clear(&watched);
    assert_int_equal(csrec_sampling_create_watched(&shape, CSREC_PATTERN_POISSON, count, own,
                                                   stop_at, &soon, &watched, &error),
                     CSREC_STOPPED);
    assert_null(watched.index);
    assert_non_null(strstr(error.text, "jitter"));
    /* Reading draws again, and can be stopped too. */
    csrec_measurement m = {.shape = shape, .n = count, .channels = 1, .index = plain.index};
    CLEARED(csrec_measurement) read = {0};
    m.y = calloc((size_t)count, sizeof *m.y);
    m.dtype = CSREC_F32;
    m.pattern = CSREC_PATTERN_POISSON;
    m.seed = own;
    char path[] = "csrec-watch-XXXXXX";
    assert_int_equal(close(mkstemp(path)), 0);
    assert_ok(csrec_measurement_write(path, &m, true, NULL));
    soon = 2;
    csrec_read_options slow = {.progress = stop_at, .context = &soon};
    assert_int_equal(csrec_measurement_read_with(path, &slow, &read, &error), CSREC_STOPPED);
    assert_null(read.index);
    never = 0;
    slow.context = &never;
    assert_ok(csrec_measurement_read_with(path, &slow, &read, NULL));
    assert_memory_equal(read.index, plain.index, (size_t)count * sizeof *plain.index);
    unlink(path);
    free(m.y);
    csrec_sampling_clear(&plain);
}
