/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubts about samples: grids that were drawn, holes by distances one by one, none on random
 * patterns; wrong input. */

#include "check.h"

SEED(seed);

typedef struct scan {
    csrec_measurement m;
    int64_t entries;
} scan;

/* Room for samples at all entries, values at random. */
static scan scan_create(int dims, const int64_t *extent) {
    csrec_shape shape = {.dims = dims};
    memcpy(shape.dim, extent, (size_t)dims * sizeof *extent);
    const int64_t entries = entries_in(&shape), channels = 1 + check_below(&seed, 3);
    scan s = {.m = room_for_samples(shape, channels, entries), .entries = entries};
    for (int64_t i = 0; i < entries * channels; i++) s.m.y[i] = check_normal(&seed);
    return s;
}

static csrec_doubts find(const csrec_measurement *m) {
    csrec_doubts d;
    assert_well(csrec_doubts_find(m, 2, &d, &told));
    return d;
}

static void place_of(const scan *s, int64_t index, int64_t *place) {
    for (int a = s->m.shape.dims - 1; a >= 0; index /= s->m.shape.dim[a--])
        place[a] = index % s->m.shape.dim[a];
}

/* Whether v is a sum of whole multiples of the rows of an upper triangular basis. */
static bool is_on(int dims, int64_t basis[3][3], const int64_t *place) {
    int64_t v[3];
    memcpy(v, place, sizeof v);
    for (int a = 0; a < dims; a++) {
        if (v[a] % basis[a][a]) return false;
        int64_t times = v[a] / basis[a][a];
        for (int k = a; k < dims; k++) v[k] -= times * basis[a][k];
    }
    return true;
}

/* All or four in five of the places of a random grid, shifted. */
TEST(grids_are_those_drawn) {
    for (int round = 0; round < 60; round++) {
        int dims = 1 + round % 3;
        int64_t extent[3] = {0}, basis[3][3] = {{0}}, shift[3] = {0}, expected = 1;
        for (int a = 0; a < dims; a++) {
            expected *= basis[a][a] = 1 + check_below(&seed, 4);
            extent[a] = (dims == 1 ? 800 : dims == 2 ? 40 : 20) + check_below(&seed, 9);
            shift[a] = check_below(&seed, 4);
        }
        for (int a = 0; a < dims; a++)
            for (int k = a + 1; k < dims; k++) basis[a][k] = check_below(&seed, basis[k][k]);
        scan s = scan_create(dims, extent);
        double share = round % 2 ? 1.0 : 0.8;
        for (int64_t i = 0; i < s.entries; i++) {
            int64_t place[3] = {0};
            place_of(&s, i, place);
            for (int a = 0; a < dims; a++) place[a] -= shift[a];
            if (is_on(dims, basis, place) && check_uniform(&seed) < share) s.m.index[s.m.n++] = i;
        }
        int64_t found = find(&s.m).grid;
        if (found != expected)
            fail_msg("%d axes, %lld samples: %lld, not %lld", dims, (long long)s.m.n,
                     (long long)found, (long long)expected);
    }
}

static const int64_t sides[4][3] = {{0}, {4000}, {90, 70}, {22, 26, 30}};
static const int64_t strips[4][3] = {{0}, {9000}, {9000, 2}, {3, 3000, 2}};

/* The share of the entries that are farther than `reach` from every sample, one by one. */
static double share_beyond(const scan *s, double reach) {
    int64_t count = 0;
    for (int64_t i = 0; i < s->entries; i++) {
        int64_t at[3] = {0}, near[3] = {0};
        bool is_far = true;
        place_of(s, i, at);
        for (int64_t k = 0; k < s->m.n && is_far; k++) {
            double sum = 0.0;
            place_of(s, s->m.index[k], near);
            for (int a = 0; a < s->m.shape.dims; a++)
                sum += (double)((at[a] - near[a]) * (at[a] - near[a]));
            is_far = sum > reach * reach;
        }
        count += is_far;
    }
    return (double)count / (double)s->entries;
}

/* Samples at random, none in the first part of the first axis. */
TEST(holes_are_those_left) {
    for (int round = 0; round < 9; round++) {
        int dims = 1 + round % 3;
        scan s = scan_create(dims, sides[dims]);
        double rate = 0.05 + 0.4 * check_uniform(&seed), left = 0.4 + 0.4 * check_uniform(&seed);
        for (int64_t i = 0; i < s.entries; i++)
            if (i >= (int64_t)(left * (double)s.entries) && check_uniform(&seed) < rate)
                s.m.index[s.m.n++] = i;
        csrec_doubts d = find(&s.m);
        const double balls[] = {2.0, 3.14159265358979, 4.18879020478639}, e = (double)s.entries;
        double chance = e * exp(-(double)s.m.n / e * balls[dims - 1] * pow(d.reach, dims));
        assert_true(d.reach == 8.0 ? chance <= 1e-6 : fabs(chance - 1e-6) < 1e-10);
        assert_true(d.unreached <= share_beyond(&s, d.reach));
        assert_true(d.unreached >= share_beyond(&s, 2.0 * d.reach));
        if (share_beyond(&s, 2.0 * d.reach) > 0.01) assert_true(d.unreached > 0.0);
    }
}

/* Half of a signal that no memory holds is empty; a strip of them, too. */
TEST(huge_signals_are_looked_at) {
    static const csrec_shape shapes[] = {
        {1, {INT64_C(1) << 62}}, {2, {INT64_C(1) << 61, 2}}, {3, {3, INT64_C(1) << 59, 2}}};
    for (int k = 0; k < 3; k++) {
        scan s = scan_create(1, &(int64_t){500});
        const csrec_shape *shape = &s.m.shape;
        s.m.shape = shapes[k];
        int64_t along = shape->dim[k / 2], rest = k == 0 ? 1 : k == 1 ? 2 : 6;
        for (s.m.n = 0; s.m.n < 500; s.m.n++) {
            double at = 1.0 - 0.5 * check_uniform(&seed);
            int64_t i = (int64_t)(at * (double)along) % along;
            s.m.index[s.m.n] = k == 2 ? s.m.n % 3 * along * 2 + 2 * i : i * rest + s.m.n % rest;
        }
        csrec_doubts d = find(&s.m);
        double least = 0.49 - 1.5 * d.reach / (double)along;
        if (d.unreached < least || d.unreached > 0.52) fail_msg("%d: %g far", k, d.unreached);
    }
}

/* Sums of their differences would pass the largest integer. */
TEST(grids_of_huge_signals_are_none) {
    static const csrec_shape shapes[] = {{2, {INT64_C(1) << 31, INT64_C(1) << 31}},
                                         {3, {1 << 20, 1 << 20, 1 << 20}},
                                         {4, {1 << 15, 1 << 15, 1 << 15, 1 << 15}},
                                         {8, {200, 200, 200, 200, 200, 200, 200, 200}}};
    for (int round = 0; round < 40; round++) {
        scan s = scan_create(1, &(int64_t){400});
        s.m.shape = shapes[round % 4];
        const int64_t entries = entries_in(&s.m.shape);
        for (s.m.n = 0; s.m.n < 400; s.m.n++)
            s.m.index[s.m.n] = entries / 400 * s.m.n + (int64_t)check_below(&seed, entries / 400);
        assert_int_equal(find(&s.m).grid, 1);
    }
}

TEST(random_patterns_raise_no_doubt) {
    for (int round = 0; round < 120; round++) {
        static const csrec_pattern patterns[] = {CSREC_PATTERN_UNIFORM, CSREC_PATTERN_JITTER,
                                                 CSREC_PATTERN_POISSON};
        int dims = 1 + round % 3;
        bool strip = round % 2; /* Poisson patterns of strips have holes, and are told of */
        scan s = scan_create(dims, strip ? strips[dims] : sides[dims]);
        int64_t n = (int64_t)((0.02 + 0.6 * check_uniform(&seed)) * (double)s.entries);
        csrec_pattern pattern = patterns[round / 3 % (strip || dims == 1 ? 2 : 3)];
        CLEARED(csrec_sampling) drawn = {0};
        assert_well(
            csrec_sampling_create(&s.m.shape, pattern, n, check_next(&seed), &drawn, &told));
        memcpy(s.m.index, drawn.index, (size_t)drawn.n * sizeof *drawn.index);
        s.m.n = drawn.n;
        csrec_doubts d = find(&s.m);
        if (d.unreached != 0.0)
            fail_msg("round %d: %lld of %lld: %g beyond %g", round, (long long)n,
                     (long long)s.entries, d.unreached, d.reach);
        assert_int_equal(d.grid, 1);
        assert_false(d.constant);
    }
}

TEST(every_doubt_has_a_sentence) {
    const csrec_doubts none = {.samples = 9, .grid = 1};
    csrec_doubts d = {9, true, 4, 0.25, 11.0, 0.03};
    static const char *const words[] = {"same value", "25 % of the entries are farther than 11 ",
                                        "one in 4 entries", "3 % of the samples"};
    char text[CSREC_DOUBT_SIZE];
    for (int i = 0; i < 4; i++) {
        assert_true(csrec_doubts_text(&d, i, text));
        if (!strstr(text, words[i])) fail_msg("'%s' without '%s'", text, words[i]);
    }
    assert_false(csrec_doubts_text(&d, 4, text));
    assert_false(csrec_doubts_text(&none, 0, text));
    d = (csrec_doubts){.samples = 1, .constant = true, .grid = 1};
    assert_true(csrec_doubts_text(&d, 0, text));
    assert_non_null(strstr(text, "only one sample"));
    assert_false(csrec_doubts_text(&d, 1, text));
}

/* A tenth of the values far above a plane; one sample; equal samples; none at all. */
TEST(values_are_looked_at) {
    int64_t extent[2] = {60, 50};
    scan s = scan_create(2, extent);
    int64_t channels = s.m.channels, gross = 0;
    for (int64_t i = 0; i < s.entries; i++) {
        bool is_gross = check_uniform(&seed) < 0.03;
        gross += is_gross;
        s.m.index[i] = i;
        for (int64_t c = 0; c < channels; c++)
            s.m.y[i * channels + c] = (double)(i % 50) + (is_gross ? 500.0 : 0.0);
    }
    s.m.n = s.entries;
    csrec_doubts d = find(&s.m);
    assert_true(d.outliers > 0.5 * (double)gross / 3000.0 && d.outliers < 0.06);
    for (int64_t i = 0; i < s.entries * channels; i++) s.m.y[i] = (double)(i % channels);
    d = find(&s.m);
    assert_true(d.constant && d.outliers == 0.0);
    s.m.n = 1;
    d = find(&s.m);
    assert_true(d.samples == 1 && d.unreached == 0.0 && d.grid == 1);
    s.m.index[0] = s.entries;
    assert_int_equal(csrec_doubts_find(&s.m, 0, &d, NULL), CSREC_DATA);
}
