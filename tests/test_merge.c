/* SPDX-License-Identifier: BSD-3-Clause */
/* Merged measurements against direct sums at every position. */
#include "check.h"

SEED(seed);

enum { PARTS = 4, ENTRIES = 60 };

/* Random samples of one signal; sigma < 0: one for each part. */
static csrec_measurement make_part(int64_t channels, double sigma) {
    csrec_measurement m = {.shape = {2, {6, 10}}, .channels = channels, .dtype = CSREC_F64};
    m.index = malloc(ENTRIES * sizeof *m.index);
    m.y = malloc((size_t)(ENTRIES * channels) * sizeof *m.y);
    m.sigma = sigma < 0 ? check_uniform(&seed) : sigma;
    while (m.n == 0)
        for (int64_t i = ENTRIES - 1; i >= 0; i--)
            if (check_uniform(&seed) < 0.4) m.index[m.n++] = i;
    for (int64_t k = 0; k < m.n * channels; k++) m.y[k] = 1000 * check_uniform(&seed);
    return m;
}

typedef struct {
    double weight, sum[2], variance, least[2], most[2];
    int count;
} cell;

/* What a position should hold. */
static cell cell_at(const csrec_measurement *part, int64_t position) {
    cell c = {.least = {INFINITY, INFINITY}, .most = {-INFINITY, -INFINITY}};
    bool known = true;
    for (int pass = 0; pass < 2; pass++)
        for (int p = 0; p < PARTS; p++)
            for (int64_t k = 0; k < part[p].n; k++) {
                if (part[p].index[k] != position) continue;
                if (pass == 0) {
                    known = known && part[p].sigma > 0;
                    c.count++;
                    continue;
                }
                double weight = known ? 1 / (part[p].sigma * part[p].sigma) : 1;
                c.weight += weight;
                c.variance += weight * weight * part[p].sigma * part[p].sigma;
                for (int64_t j = 0; j < part[p].channels; j++) {
                    double y = part[p].y[k * part[p].channels + j];
                    c.sum[j] += weight * y;
                    c.least[j] = fmin(c.least[j], y);
                    c.most[j] = fmax(c.most[j], y);
                }
            }
    return c;
}

static void check_merge(const csrec_measurement *part, double sigma) {
    const csrec_measurement *parts[PARTS];
    CLEARED(csrec_measurement) merged;
    int64_t contradictions[2], k = 0;
    double variance = 0;
    for (int p = 0; p < PARTS; p++) parts[p] = &part[p];
    assert_well(csrec_measurement_merge(PARTS, parts, &merged, contradictions, &told));
    assert_ok(csrec_measurement_check(&merged, "merged", NULL));
    for (int64_t i = 0; i < ENTRIES; i++) {
        cell c = cell_at(part, i);
        if (c.count == 0) continue;
        assert_int_equal(merged.index[k], i);
        for (int64_t j = 0; j < merged.channels; j++)
            assert_true(fabs(merged.y[k * merged.channels + j] - c.sum[j] / c.weight) < 1e-9);
        variance += c.variance / (c.weight * c.weight);
        k++;
    }
    assert_int_equal(merged.n, k);
    double expected = sigma < 0 ? sqrt(variance / (double)k) : sigma;
    assert_true(fabs(merged.sigma - expected) <= 1e-12 * expected);
}

TEST(merges_are_direct_sums) {
    for (int round = 0; round < 100; round++) {
        csrec_measurement part[PARTS];
        double sigma = round % 3 == 0 ? 0 : round % 3 == 1 ? 0.25 : -1;
        for (int p = 0; p < PARTS; p++) part[p] = make_part(1 + round % 2, sigma);
        if (round % 6 == 2) part[1].sigma = 0; /* its repeats have plain means */
        check_merge(part, sigma);
        for (int p = 0; p < PARTS; p++) csrec_measurement_clear(&part[p]);
    }
}

/* Two scans of three positions, the first two repeated. */
static csrec_status merge_two(double a, double b, double sigma_a, double sigma_b,
                              const double scale[2], int64_t contradictions[2]) {
    int64_t index[] = {7, 2, 4}, other[] = {2, 7, 5};
    double y[] = {a, 10, 0}, z[] = {10, b, 100};
    csrec_measurement one = samples_at((csrec_shape){1, {9}}, 3, 1, index, y), merged = {0};
    one.sigma = sigma_a;
    csrec_measurement two = one;
    two.index = other, two.y = z, two.sigma = sigma_b;
    if (scale) memcpy(two.scale, scale, sizeof two.scale);
    const csrec_measurement *parts[] = {&one, &two};
    csrec_status status = csrec_measurement_merge(2, parts, &merged, contradictions, NULL);
    csrec_measurement_clear(&merged);
    return status;
}

TEST(contradictions_are_counted) {
    const double scale[] = {0, 255};
    const struct {
        double a, b, sigma_a, sigma_b;
        const double *scale;
        bool contradict;
    } cases[] = {{50, 54.9, 0, 0, NULL, false}, /* 5 % of 0 .. 100 */
                 {50, 55.1, 0, 0, NULL, true},      {50, 62.7, 0, 0, scale, false},
                 {50, 62.8, 0, 0, scale, true},     {50, 55.1, 0.3, 0, NULL, true},
                 {50, 52.9, 0.3, 0.4, NULL, false}, /* 6 x 0.5 */
                 {50, 53.1, 0.3, 0.4, NULL, true},  {50, 80, 5, 5, scale, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t found[2];
        assert_ok(merge_two(cases[i].a, cases[i].b, cases[i].sigma_a, cases[i].sigma_b,
                            cases[i].scale, found));
        assert_int_equal(found[0], cases[i].contradict);
        assert_int_equal(found[1], cases[i].contradict ? 7 : -1);
    }
}

/* Types hold the means; black and white of integers stay known. */
TEST(types_hold_the_means) {
    for (int round = 0; round < 4; round++) {
        int64_t index[] = {0, 1};
        double y[] = {10, 20}, z[] = {round % 2 ? 11 : 12, 20};
        csrec_dtype type = round < 2 ? CSREC_U8 : CSREC_I32;
        csrec_measurement one = {
            .shape = {1, {2}}, .n = 2, .channels = 1, .index = index, .y = y, .dtype = type};
        csrec_measurement two = one, merged;
        two.y = z;
        const csrec_measurement *parts[] = {&one, &two};
        assert_ok(csrec_measurement_merge(2, parts, &merged, NULL, NULL));
        assert_true(merged.y[0] == (y[0] + z[0]) / 2 && merged.y[1] == 20);
        assert_int_equal(merged.dtype, round % 2 ? (round < 2 ? CSREC_F32 : CSREC_F64) : type);
        assert_true(merged.scale[1] == (round == 1 ? 255 : 0));
        csrec_measurement_clear(&merged);
    }
}

static void refuse(const csrec_measurement *a, const csrec_measurement *b, const char *words) {
    const csrec_measurement *parts[] = {a, b};
    csrec_measurement merged = {.n = 77};
    csrec_error error;
    assert_int_equal(csrec_measurement_merge(2, parts, &merged, NULL, &error), CSREC_DATA);
    if (strncmp(error.text, "part 2: ", 8) != 0 || !strstr(error.text, words))
        fail_msg("'%s' is not in: %s", words, error.text);
    assert_int_equal(merged.n, 77);
}

TEST(mistakes_name_the_part) {
    csrec_measurement good = make_part(1, 0), bad = make_part(2, 0), merged;
    refuse(&good, &bad, "channels");
    bad.channels = 1;
    bad.shape.dim[1] = 11;
    refuse(&good, &bad, "shape");
    bad.shape.dim[1] = 10;
    bad.y[0] = NAN;
    refuse(&good, &bad, "sample 0 is nan");
    bad.y[0] = 0;
    good.scale[1] = 1;
    bad.scale[1] = 2;
    refuse(&good, &bad, "scale");
    assert_fails(csrec_measurement_merge(0, NULL, &merged, NULL, &told), CSREC_ARGUMENT);
    csrec_measurement_clear(&good);
    csrec_measurement_clear(&bad);
}
