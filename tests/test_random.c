/* SPDX-License-Identifier: BSD-3-Clause */
/* Philox against its published vectors, the uniform and normal numbers against their moments, and
 * the keyed permutation as a bijection without preferences. */
#include "check.h"

#include "sampling/sampling.h"
#include "base/random.h"

SEED(seed);

/* The known answers of Philox4x32-10 that its authors publish; the last one is digits of pi. */
TEST(philox_known_answers) {
    const struct {
        uint32_t counter[4], key[2], expected[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        csrec_random_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].expected, sizeof out);
    }
    /* The same through the public function: seed is the key, (counter, stream) the counter. */
    uint64_t word = csrec_random_u64(UINT64_C(0x299f31d0a4093822), UINT64_C(0x0370734413198a2e),
                                     UINT64_C(0x85a308d3243f6a88));
    assert_true(word == UINT64_C(0x94fdccebd16cfe09));
}

/* floor(a b / 2^64) by schoolbook addition of shifted copies. */
static uint64_t slow_high(uint64_t a, uint64_t b) {
    uint64_t high = 0, low = 0;
    for (int bit = 63; bit >= 0; bit--) {
        high = high << 1 | low >> 63;
        low <<= 1;
        if (a >> bit & 1) {
            low += b;
            high += low < b;
        }
    }
    return high;
}

TEST(below_is_the_high_product) {
    const uint64_t edge[] = {0, 1, 2, 0xFFFFFFFF, UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX - 1};
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 7; j++)
            assert_true(csrec_random_below(edge[i], edge[j]) == slow_high(edge[i], edge[j]));
    for (int i = 0; i < 10000; i++) {
        uint64_t a = check_next(&seed), b = check_next(&seed) >> (i % 64);
        assert_true(csrec_random_below(a, b) == slow_high(a, b));
    }
}

/* Means of n numbers stay within 6 standard errors: fails once in 5e8 runs by chance. */
TEST(moments) {
    enum { N = 200000 };
    uint64_t key = check_next(&seed), stream = check_next(&seed);
    double u = 0, uu = 0, z = 0, zz = 0, zzzz = 0;
    for (uint64_t i = 0; i < N; i++) {
        double uniform = csrec_random_uniform(key, stream, i);
        double normal = csrec_random_normal(key, stream + 1, i);
        assert_true(uniform >= 0.0 && uniform < 1.0 && isfinite(normal));
        u += uniform;
        uu += uniform * uniform;
        z += normal;
        zz += normal * normal;
        zzzz += normal * normal * normal * normal;
    }
    double error = 6.0 / sqrt(N);
    assert_true(fabs(u / N - 0.5) < error * sqrt(1.0 / 12));
    assert_true(fabs(uu / N - 1.0 / 3) < error * sqrt(1.0 / 5 - 1.0 / 9));
    assert_true(fabs(z / N) < error);
    assert_true(fabs(zz / N - 1) < error * sqrt(2.0));
    assert_true(fabs(zzzz / N - 3) < error * sqrt(96.0));
}

TEST(permutation_is_bijection) {
    enum { MOST = 1100 };
    for (uint64_t entries = 1; entries <= MOST; entries++) {
        uint8_t seen[MOST] = {0};
        csrec_permutation p;
        csrec_permutation_init(&p, entries, check_next(&seed));
        for (uint64_t i = 0; i < entries; i++) {
            uint64_t at = csrec_permutation_at(&p, i);
            assert_true(at < entries);
            assert_int_equal(seen[at]++, 0);
        }
    }
}

/* Upper quantile of chi-square with k degrees at about 1e-7 (Wilson and Hilferty 1931, z = 5.2). */
static double chi_limit(double k) {
    double a = 2.0 / (9.0 * k);
    return k * pow(1.0 - a + 5.2 * sqrt(a), 3.0);
}

/* Which pair the first two outputs are, over fresh keys: all ordered pairs equally often. */
TEST(permutation_has_no_preferences) {
    for (uint64_t entries = 2; entries <= 12; entries++) {
        enum { EACH = 400 };
        int64_t hits[12][12] = {{0}};
        int64_t pairs = (int64_t)(entries * (entries - 1)), draws = EACH * pairs;
        for (int64_t k = 0; k < draws; k++) {
            csrec_permutation p;
            csrec_permutation_init(&p, entries, check_next(&seed));
            hits[csrec_permutation_at(&p, 0)][csrec_permutation_at(&p, 1)]++;
        }
        double chi = 0;
        for (uint64_t a = 0; a < entries; a++)
            for (uint64_t b = 0; b < entries; b++)
                if (a != b) chi += pow((double)hits[a][b] - EACH, 2) / EACH;
        if (chi > chi_limit((double)pairs - 1))
            fail_msg("entries %d: chi-square %g", (int)entries, chi);
    }
}
