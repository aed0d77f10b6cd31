/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks and noise to train on: what every pattern promises, recomputed from the known pixels alone.
 */

#include "check.h"
#include "learn/net/mask.h"

static uint64_t seed;

enum { SIZE = 128, AREA = SIZE * SIZE };

static void *work; /* as a caller gives it: aligned, of exactly the size told, full of garbage */
static uint8_t known[AREA];

static csrec_mask_plan plan_of(int size) {
    return csrec_mask_plan_of(check_next(&seed), check_next(&seed), size, work, known);
}

static int count_of(int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        assert_true(known[i] <= 1);
        count += known[i];
    }
    return count;
}

TEST(same_bits_and_other_numbers) {
    static uint8_t again[AREA];
    int alike = 0;
    for (int i = 0; i < 200; i++) {
        int size = 8 + (int)check_below(&seed, SIZE - 7), n = size * size;
        float sigma, sigma_again;
        uint64_t number = check_next(&seed);
        csrec_mask_draw(seed, number, size, work, known, &sigma);
        memset(work, (int)i, csrec_mask_room(size));
        csrec_mask_draw(seed, number, size, work, again, &sigma_again);
        assert_memory_equal(known, again, (size_t)n);
        assert_true(sigma == sigma_again);
        csrec_mask_draw(seed, number + 1, size, work, again, &sigma_again);
        if (count_of(n) < n / 2) alike += memcmp(known, again, (size_t)n) == 0;
    }
    assert_true(alike <= 10); /* every third line twice, say, in one pair of 1,000 */
}

TEST(something_is_known_and_something_to_do) {
    for (int i = 0; i < 6000; i++) {
        int size = 8 + (int)check_below(&seed, 12), n = size * size;
        float sigma;
        csrec_mask_draw(seed, (uint64_t)i, size, work, known, &sigma);
        int count = count_of(n);
        assert_true(count >= 1 && sigma >= 0 && sigma <= 50);
        assert_true(count < n || sigma > 0);
    }
}

/* Chi-square against shares; the bounds are its 1 - 10^-6 quantiles. */
static double chi_square(const int *hits, const double *share, int n, int draws) {
    double chi = 0;
    for (int k = 0; k < n; k++) chi += pow(hits[k] - draws * share[k], 2) / (draws * share[k]);
    return chi;
}

TEST(patterns_and_noise_have_their_shares) {
    enum { DRAWS = 40000, BINS = 20 };
    static const double shares[CSREC_MASK_PATTERNS] = {0.44, 0.20, 0.05, 0.04, 0.07,
                                                       0.06, 0.03, 0.05, 0.06};
    int patterns[CSREC_MASK_PATTERNS] = {0}, sigmas[BINS + 1] = {0};
    double noise[BINS + 1];
    for (int i = 0; i < DRAWS; i++) {
        csrec_mask_draws d = csrec_mask_draws_of(seed, (uint64_t)i);
        csrec_mask_pattern pattern = csrec_mask_pattern_draw(&d);
        float sigma = csrec_mask_sigma_draw(&d, pattern);
        assert_true(sigma >= 0 && sigma <= 50 && (sigma > 0 || pattern != CSREC_MASK_ALL));
        patterns[pattern]++;
        sigmas[sigma > 0 ? (int)ceilf(sigma * BINS / 50) : 0]++;
    }
    for (int k = 0; k <= BINS; k++) noise[k] = k ? 0.45 / BINS : 0.55;
    assert_true(chi_square(patterns, shares, CSREC_MASK_PATTERNS, DRAWS) < 43);
    assert_true(chi_square(sigmas, noise, BINS + 1, DRAWS) < 66);
}

/* The same through whole masks, whose patterns and noise must go together. */
TEST(noise_of_whole_masks) {
    enum { DRAWS = 1500, BINS = 20 };
    int sigmas[BINS + 1] = {0};
    double noise[BINS + 1];
    for (int i = 0; i < DRAWS; i++) {
        float sigma;
        csrec_mask_draw(seed, (uint64_t)i, 64, work, known, &sigma);
        sigmas[sigma > 0 ? (int)ceilf(sigma * BINS / 50) : 0]++;
    }
    for (int k = 0; k <= BINS; k++) noise[k] = k ? 0.45 / BINS : 0.55;
    assert_true(chi_square(sigmas, noise, BINS + 1, DRAWS) < 66);
}

/* Log-uniform pieces: 0.8 between 3 and 60 %, 0.2 between 1 and 100 %. */
TEST(shares_are_log_uniform) {
    enum { DRAWS = 40000 };
    static const double edge[] = {0.01, 0.03, 0.1, 0.3, 0.6, 1};
    int hits[5] = {0};
    double share[5];
    csrec_mask_draws d = csrec_mask_draws_of(seed, 0);
    for (int i = 0; i < DRAWS; i++) {
        double drawn = (double)csrec_mask_share_draw(&d);
        assert_true(drawn >= 0.00999 && drawn <= 1);
        for (int k = 0; k < 5; k++) hits[k] += drawn >= edge[k] && drawn < edge[k + 1];
    }
    for (int k = 0; k < 5; k++) {
        double usual = k >= 1 && k <= 3 ? log(edge[k + 1] / edge[k]) / log(20) : 0;
        share[k] = 0.8 * usual + 0.2 * log(edge[k + 1] / edge[k]) / log(100);
    }
    assert_true(chi_square(hits, share, 5, DRAWS) < 34);
}

/* Least known shares: of uniform samples 1 % less 6 deviations; jitter rounds the cells of a side;
 * lines may leave one of 8 in both directions and drop more; scratches are 200 by 4 pixels, ten. */
TEST(every_pattern_has_its_range) {
    const double one_less = 1 - 0.5 / AREA; /* a pixel or more */
    static const double least[CSREC_MASK_PATTERNS] = {0.0053, 0.0099, 0.0087, 0, 0, 0, 0.1, 0, 1};
    const double most[CSREC_MASK_PATTERNS] = {1, 1, 1, 1, 0.995, one_less, one_less, 0.97, 1};
    for (int pattern = 0; pattern < CSREC_MASK_PATTERNS; pattern++)
        for (int i = 0; i < 100; i++) {
            csrec_mask_plan plan = plan_of(SIZE);
            csrec_mask_pattern_fill(&plan, (csrec_mask_pattern)pattern);
            double share = (double)count_of(AREA) / AREA;
            if (share < least[pattern] || share > most[pattern])
                fail_msg("pattern %d: %g known", pattern, share);
        }
}

/* Binomial, 6 deviations; jitter one a cell exactly; Poisson-disc exactly the count. */
TEST(shares_are_kept) {
    for (int i = 0; i < 100; i++) {
        double share = 0.01 * pow(95, check_uniform(&seed));
        csrec_mask_plan plan = plan_of(SIZE);
        csrec_mask_known_uniform(&plan, (float)share);
        assert_true(fabs(count_of(AREA) - share * AREA) < 6 * sqrt(AREA * share * (1 - share)) + 1);
        csrec_mask_known_jitter(&plan, (float)share);
        int cells = (int)lround(sqrt((double)count_of(AREA)));
        assert_int_equal(cells * cells, count_of(AREA));
        assert_true(fabs(cells - sqrt(share) * SIZE) < 0.51);
        csrec_mask_known_poisson(&plan, (float)share);
        assert_true(fabs(count_of(AREA) - share * AREA) < 0.51);
    }
}

/* The least squared distance of known pixels, and the mean distance to the nearest. */
static int least_distance(double *mean) {
    int at[AREA], n = 0, least = 2 * AREA;
    *mean = 0;
    for (int i = 0; i < AREA; i++)
        if (known[i]) at[n++] = i;
    for (int j = 0; j < n; j++) {
        int nearest = 2 * AREA;
        for (int k = 0; k < n; k++) {
            int dx = at[j] % SIZE - at[k] % SIZE, dy = at[j] / SIZE - at[k] / SIZE;
            if (j != k && dx * dx + dy * dy < nearest) nearest = dx * dx + dy * dy;
        }
        if (nearest < least) least = nearest;
        *mean += sqrt(nearest) / n;
    }
    return least;
}

/* At least the distance told, and the look of the library's pattern: its least distance within an
 * eighth (radii shrink by steps of a twentieth of their squares) and its mean distance within 5 %,
 * where both deviate by less than 1 %. */
TEST(poisson_keeps_its_distance_as_the_library_does) {
    for (int i = 0; i < 12; i++) {
        static const double shares[] = {0.02, 0.05, 0.1, 0.2, 0.3, 0.5};
        csrec_mask_plan plan = plan_of(SIZE);
        double mean, mean_library;
        int told = csrec_mask_known_poisson(&plan, (float)shares[i % 6]);
        int least = least_distance(&mean), count = count_of(AREA);
        assert_true(least >= told);
        csrec_shape shape = {.dims = 2, .dim = {SIZE, SIZE}};
        csrec_sampling library;
        assert_ok(csrec_sampling_create(&shape, CSREC_PATTERN_POISSON, count, check_next(&seed),
                                        &library, NULL));
        memset(known, 0, sizeof known);
        for (int64_t k = 0; k < library.n; k++) known[library.index[k]] = 1;
        least_distance(&mean_library);
        double ratio = sqrt(told) / library.min_distance;
        csrec_sampling_clear(&library);
        if (ratio < 0.875 || ratio > 1.143 || fabs(mean / mean_library - 1) > 0.05)
            fail_msg("share %g: distance %g, mean %g of the library's", shares[i % 6], ratio,
                     mean / mean_library);
    }
}

/* A pixel is unknown because its row or its column is. */
TEST(lines_are_whole_lines) {
    for (int i = 0; i < 200; i++) {
        bool row[SIZE] = {0}, column[SIZE] = {0};
        csrec_mask_plan plan = plan_of(SIZE);
        csrec_mask_pattern_fill(&plan, CSREC_MASK_LINES);
        for (int k = 0; k < AREA; k++) {
            row[k / SIZE] |= known[k];
            column[k % SIZE] |= known[k];
        }
        for (int k = 0; k < AREA; k++)
            assert_int_equal(known[k], row[k / SIZE] && column[k % SIZE]);
        assert_true(count_of(AREA) < AREA);
    }
}

/* Marks the unknown pixels joined to `at`, by sides or corners, and widens the box around them. */
static void hole_follow(int at, int box[4]) {
    static int stack[AREA];
    int n = 0;
    stack[n++] = at;
    known[at] = 1;
    while (n) {
        int x = stack[--n] % SIZE, y = stack[n] / SIZE;
        box[0] = x < box[0] ? x : box[0];
        box[1] = x > box[1] ? x : box[1];
        box[2] = y < box[2] ? y : box[2];
        box[3] = y > box[3] ? y : box[3];
        for (int k = 0; k < 9; k++) {
            int i = x + k % 3 - 1, j = y + k / 3 - 1;
            if (i < 0 || j < 0 || i >= SIZE || j >= SIZE || known[j * SIZE + i]) continue;
            known[j * SIZE + i] = 1;
            stack[n++] = j * SIZE + i;
        }
    }
}

TEST(holes_are_at_most_40_across) {
    int widest = 0;
    for (int round = 0; round < 300; round++) {
        csrec_mask_plan plan = plan_of(SIZE);
        memset(known, 1, AREA);
        csrec_mask_holes_remove(&plan);
        assert_true(count_of(AREA) < AREA);
        for (int i = 0; i < AREA; i++) {
            int box[4] = {SIZE, 0, SIZE, 0};
            if (known[i]) continue;
            hole_follow(i, box);
            assert_true(box[1] - box[0] < CSREC_MASK_HOLE && box[3] - box[2] < CSREC_MASK_HOLE);
            if (box[1] - box[0] + 1 > widest) widest = box[1] - box[0] + 1;
        }
    }
    assert_true(widest > 30);
}

int main(void) {
    seed = check_seed();
    if (posix_memalign(&work, 64, csrec_mask_room(SIZE))) return 1;
    memset(work, 0xA5, csrec_mask_room(SIZE));
    int failed = check_run();
    free(work);
    return failed;
}
