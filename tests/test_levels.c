/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's transform where no matrix fits, against the definition evaluated column by column.
 * Its worked example, and small dense matrices, are in test_transform.c. */
#include "check.h"
#include "dense.h"
#include "haar/tree.h"

SEED(seed);

/* n distinct ascending rows below 2^levels; n must be far enough below 2^levels. */
static void random_rows(int levels, int64_t n, uint64_t *rows) {
    const uint64_t M = (uint64_t)1 << levels;
    for (int64_t k = 0; k < n; k++) {
        uint64_t row = check_next(&seed) % M;
        if (k % 3 == 2) row = (rows[0] ^ (check_next(&seed) % 64)) % M; /* some close together */
        int64_t at = 0;
        while (at < k && rows[at] < row) at++;
        if (at < k && rows[at] == row) {
            k--;
            continue;
        }
        memmove(rows + at + 1, rows + at, (size_t)(k - at) * sizeof *rows);
        rows[at] = row;
    }
}

static void transform(int levels, int64_t n, const uint64_t *rows, const double *r,
                      csrec_product **products, int64_t *found) {
    assert_ok(csrec_haar_levels(levels, n, rows, r, 0, NULL, found));
    assert_true(*found >= 1 && *found <= n * levels + 1);
    *products = malloc((size_t)*found * sizeof **products);
    int64_t again = 0;
    assert_ok(csrec_haar_levels(levels, n, rows, r, *found, *products, &again));
    assert_int_equal(again, *found);
}

/* Both sides add at most n terms, in different orders: each is within n eps sum|r| of the exact
 * sum before the division, and two roundings more for division and root. */
static double tolerance(int64_t n, const double *r) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += fabs(r[k]);
    return 2 * (double)(n + 2) * 0x1p-53 * sum;
}

static void random_values(int64_t n, double *r) {
    for (int64_t k = 0; k < n; k++) r[k] = 200 * check_uniform(&seed) - 100;
}

/* Column by column from the definition, and column numbers by counting blocks that hold a row. */
TEST(large_matrices) {
    for (int round = 0; round < 40; round++) {
        const int levels = round < 10 ? 62 : 13 + (int)check_below(&seed, 50);
        uint64_t rows[150];
        double r[150];
        int64_t n = 1 + check_below(&seed, 150), found, blocks = 1;
        random_rows(levels, n, rows);
        if (round == 0) rows[n - 1] = ((uint64_t)1 << 62) - 1;
        random_values(n, r);
        OWNED csrec_product *products = NULL;
        transform(levels, n, rows, r, &products, &found);
        for (int step = 1; step <= levels; step++)
            for (int64_t k = 0; k < n; k++)
                blocks += k == 0 || rows[k] >> step != rows[k - 1] >> step;
        assert_int_equal(found, blocks);
        for (int64_t i = 0; i < found; i++) {
            double sum = 0;
            int64_t count = 0;
            for (int64_t k = 0; k < n; k++) {
                int sign = dense_entry(levels, rows[k], products[i].column);
                sum += sign * r[k];
                count += sign != 0;
            }
            assert_true(i == 0 || products[i - 1].column < products[i].column);
            assert_int_equal(products[i].count, count);
            assert_true(fabs(products[i].value - sum / sqrt((double)count)) <= tolerance(n, r));
        }
    }
}

TEST(small_capacity_writes_nothing) {
    const uint64_t rows[] = {0, 5};
    const double r[] = {1, 2};
    csrec_product products[8], before[8];
    int64_t found = 0;
    memset(products, 0x5a, sizeof products);
    memcpy(before, products, sizeof products);
    assert_ok(csrec_haar_levels(3, 2, rows, r, 5, products, &found));
    assert_int_equal(found, 6); /* 0; 1; 2 and 3; 4 and 6 */
    assert_memory_equal(products, before, sizeof products);
}
