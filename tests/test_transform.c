/* SPDX-License-Identifier: BSD-3-Clause */
/* test_transform.c - the row tree's transform against the dense matrix and the level-by-level
 * reference; that where no matrix fits, column by column; the paper's worked example. */
#include "device/device.h"
#include "dense.h"
#include "problem.h"

SEED(seed);

static double length(const problem *p) {
    double sum = 0.0;
    for (int64_t j = 0; j < p->n; j++) sum += p->y[j] * p->y[j];
    return sqrt(sum);
}

/* Both add up the same terms in different orders: an error of at most depth roundings of ||r||. */
static double tolerance(const problem *p) {
    return 64.0 * 0x1p-52 * length(p);
}

TEST(tree_equals_levels) {
    for (int k = 0; k < 2000; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, k % 10 ? 50 : 600, 62);
        int64_t levels_found, tree_found;
        OWNED csrec_product *by_levels =
            problem_products(&p, CSREC_TRANSFORM_LEVELS, &levels_found);
        OWNED csrec_product *by_tree = problem_products(&p, CSREC_TRANSFORM_TREE, &tree_found);
        assert_int_equal(levels_found, tree_found);
        for (int64_t i = 0; i < tree_found; i++) {
            assert_true(by_levels[i].column == by_tree[i].column);
            assert_int_equal(by_levels[i].count, by_tree[i].count);
            assert_true(fabs(by_levels[i].value - by_tree[i].value) <= tolerance(&p));
        }
    }
}

/* Both methods list every non-zero column. */
static void check_on(const problem *p, csrec_transform_method method, double off) {
    int64_t found, at = 0;
    OWNED csrec_product *products = problem_products(p, method, &found);
    OWNED double *psi = malloc((size_t)p->n * sizeof *psi);
    for (uint64_t column = 0; column < UINT64_C(1) << p->levels; column++) {
        int64_t count;
        dense_column(p->levels, p->n, p->rows, column, psi, &count);
        if (count == 0) continue;
        long double value = 0.0; /* n roundings of a double could be more than the tolerance */
        for (int64_t j = 0; j < p->n; j++) value += (long double)psi[j] * p->y[j];
        assert_true(at < found && products[at].column == column);
        assert_int_equal(products[at].count, count);
        assert_true(fabsl(products[at].value - value) <= off);
        at++;
    }
    assert_int_equal(at, found);
}

static void check_against_dense(const problem *p) {
    check_on(p, CSREC_TRANSFORM_TREE, tolerance(p));
}

TEST(tree_equals_dense_for_every_subset_of_8) {
    for (unsigned subset = 1; subset < 256; subset++) {
        uint64_t rows[8];
        double y[8];
        problem p = {.levels = 3, .rows = rows, .y = y};
        for (unsigned row = 0; row < 8; row++)
            if (subset >> row & 1) rows[p.n++] = row;
        for (int64_t j = 0; j < p.n; j++) y[j] = problem_value(&seed, 0, j);
        check_against_dense(&p);
    }
}

TEST(tree_equals_dense_at_random) {
    for (int k = 0; k < 60; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 1024, 10);
        check_against_dense(&p);
    }
    for (int levels = 0; levels <= 6; levels++) {
        int64_t M = INT64_C(1) << levels;
        ENDS_BY(problem_drop) problem all = {.levels = levels, .n = M};
        all.rows = malloc((size_t)M * sizeof *all.rows);
        all.y = malloc((size_t)M * sizeof *all.y);
        for (int64_t j = 0; j < M; j++) {
            all.rows[j] = (uint64_t)j;
            all.y[j] = problem_value(&seed, 0, j);
        }
        check_against_dense(&all);
    }
}

TEST(worked_example) {
    uint64_t rows[] = {1, 6, 10, 16, 23, 27};
    double r[] = {7, 7, 7, 4, 4, 6};
    problem p = {.levels = 5, .n = 6, .rows = rows, .y = r};
    int64_t found;
    OWNED csrec_product *products = problem_products(&p, CSREC_TRANSFORM_LEVELS, &found);
    const uint64_t last[] = {16, 19, 21, 24, 27, 29};
    const double values[] = {-7, 7, 7, 4, -4, -6};
    for (int i = 0; i < 6; i++) {
        assert_true(products[found - 6 + i].column == last[i]);
        assert_true(products[found - 6 + i].value == values[i]);
    }
    assert_true(products[0].column == 0 && products[1].column == 1);
    assert_true(fabs(products[0].value - 35 / sqrt(6)) < 1e-14);
    assert_true(fabs(products[1].value - 7 / sqrt(6)) < 1e-14);
    assert_true(products[2].column == 2 && fabs(products[2].value - 7 / sqrt(3)) < 1e-14);
    assert_true(products[3].column == 3 && fabs(products[3].value - 2 / sqrt(3)) < 1e-14);
    const int64_t counts[] = {6, 6, 3, 3};
    for (int i = 0; i < 4; i++) assert_int_equal(products[i].count, counts[i]);
    for (int i = 1; i <= 6; i++) assert_int_equal(products[found - i].count, 1);
}

/* A rounding for each of at most 64 + n additions, of numbers below ||r||_1. */
TEST(levels_equal_dense) {
    for (int k = 0; k < 20; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 300, 9);
        double sum = 0.0;
        for (int64_t j = 0; j < p.n; j++) sum += fabs(p.y[j]);
        check_on(&p, CSREC_TRANSFORM_LEVELS, 0x1p-52 * (64.0 + (double)p.n) * sum);
    }
}

/* Both sides add at most n terms, in different orders: each is within n eps sum|r| of the exact sum
 * before the division, and two roundings more for division and root. */
TEST(levels_equal_the_definition_in_the_large) {
    for (int round = 0; round < 40; round++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 150, 62);
        int64_t found, blocks = 1;
        double whole = 0.0;
        OWNED csrec_product *products = problem_products(&p, CSREC_TRANSFORM_LEVELS, &found);
        for (int64_t k = 0; k < p.n; k++) whole += fabs(p.y[k]);
        for (int step = 1; step <= p.levels; step++)
            for (int64_t k = 0; k < p.n; k++)
                blocks += k == 0 || p.rows[k] >> step != p.rows[k - 1] >> step;
        assert_int_equal(found, blocks);
        for (int64_t i = 0; i < found; i++) {
            double sum = 0.0;
            int64_t count = 0;
            for (int64_t k = 0; k < p.n; k++) {
                int sign = dense_entry(p.levels, p.rows[k], products[i].column);
                sum += sign * p.y[k];
                count += sign != 0;
            }
            assert_true(i == 0 || products[i - 1].column < products[i].column);
            assert_int_equal(products[i].count, count);
            assert_true(fabs(products[i].value - sum / sqrt((double)count)) <=
                        2 * (double)(p.n + 2) * 0x1p-53 * whole);
        }
    }
}

TEST(small_capacity_writes_nothing) {
    const uint64_t rows[] = {0, 5};
    const double r[] = {1, 2};
    for (int method = CSREC_TRANSFORM_LEVELS; method <= CSREC_TRANSFORM_DISTINCT; method++) {
        const int64_t all = method == CSREC_TRANSFORM_DISTINCT ? 2 : 6; /* 0; 1; 2, 3; 4, 6 */
        csrec_product products[8], before[8];
        int64_t found = 0;
        memset(products, 0x5a, sizeof products);
        memcpy(before, products, sizeof products);
        assert_ok(csrec_haar_transform(NULL, 3, 2, rows, r, (csrec_transform_method)method, all - 1,
                                       products, &found, NULL));
        assert_memory_equal(products, before, sizeof products);
        assert_true(found >= all);
    }
}

/* Of the columns that are equal up to sign, DISTINCT lists the one with the smallest number. */
TEST(distinct_lists_one_of_each) {
    for (int k = 0; k < 200; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 12, 6);
        int64_t found, at = 0;
        OWNED csrec_product *products = problem_products(&p, CSREC_TRANSFORM_DISTINCT, &found);
        double psi[12], other[12];
        for (uint64_t column = 0; column < UINT64_C(1) << p.levels; column++) {
            int64_t count, other_count;
            dense_column(p.levels, p.n, p.rows, column, psi, &count);
            bool seen = count == 0;
            for (uint64_t before = 0; before < column && !seen; before++) {
                dense_column(p.levels, p.n, p.rows, before, other, &other_count);
                bool plus = other_count == count, minus = plus;
                for (int64_t j = 0; j < p.n; j++) {
                    plus = plus && psi[j] == other[j];
                    minus = minus && psi[j] == -other[j];
                }
                seen = plus || minus;
            }
            if (seen) continue;
            assert_true(at < found && products[at].column == column);
            at++;
        }
        assert_int_equal(at, found);
    }
}

static void refused(const char *device, int levels, int64_t n, const uint64_t *rows,
                    const double *r, int method, csrec_status expected, const char *word) {
    int64_t found = -7;
    csrec_error error = {{0}};
    assert_int_equal(csrec_haar_transform(device, levels, n, rows, r,
                                          (csrec_transform_method)method, 0, NULL, &found, &error),
                     expected);
    if (!strstr(error.text, word)) fail_msg("'%s' does not name '%s'", error.text, word);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(found, -7);
}

TEST(bad_input_is_refused) {
    const int tree = CSREC_TRANSFORM_TREE;
    uint64_t rows[2] = {3, 3}, high[1] = {8};
    double r[2] = {1.0, 2.0}, bad[1] = {NAN};
    refused(NULL, 3, 2, rows, r, tree, CSREC_ARGUMENT, "row 1 is not above");
    refused("cpu", 3, 1, high, r, tree, CSREC_ARGUMENT, "row 8 is beyond");
    refused("auto", 3, 1, rows, bad, tree, CSREC_ARGUMENT, "r[0] is not finite");
    refused(NULL, 63, 1, rows, r, tree, CSREC_ARGUMENT, "levels = 63");
    refused(NULL, -1, 1, rows, r, tree, CSREC_ARGUMENT, "levels = -1");
    refused(NULL, 1, 3, rows, r, tree, CSREC_ARGUMENT, "3 samples");
    refused(NULL, 3, 0, rows, r, tree, CSREC_ARGUMENT, "0 samples");
    refused(NULL, 3, 1, rows, r, 3, CSREC_ARGUMENT, "method 3");
    refused("gpu", 3, 1, rows, r, tree, CSREC_ARGUMENT, "'gpu' is unknown");
}

TEST(a_device_is_refused) {
    csrec_context context = {0};
    const csrec_status there = csrec_context_create("cuda", &context, NULL);
    const csrec_status no = there ? CSREC_DEVICE : CSREC_UNSUPPORTED;
    if (!there) csrec_context_destroy(&context);
    refused("cuda", 3, 1, (const uint64_t[]){1}, (const double[]){1.0}, CSREC_TRANSFORM_DISTINCT,
            no, no == CSREC_DEVICE ? "cuda" : "use backend cpu");
}
