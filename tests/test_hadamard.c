/* SPDX-License-Identifier: BSD-3-Clause */
/* Hadamard's transform of sizes beyond its caches: against direct sums, and twice is n times. */

#include "operator/devices.h"
#include "operators_drawn.h"

SEED(seed);

static double sign_of(int64_t i, int64_t j) {
    return __builtin_popcountll((unsigned long long)(i & j)) % 2 ? -1.0 : 1.0;
}

TEST(every_size_is_the_definition) {
    for (int bits = 0; bits <= 17; bits++) {
        const int64_t n = INT64_C(1) << bits;
        OWNED double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
        for (int64_t i = 0; i < n; i++) x[i] = y[i] = check_normal(&seed);
        csrec_hadamard_transform(n, y);
        for (int trial = 0; trial < 20; trial++) {
            const int64_t row = check_below(&seed, n);
            double sum = 0.0;
            for (int64_t j = 0; j < n; j++) sum += sign_of(row, j) * x[j];
            assert_true(fabs(y[row] - sum) < 1e-12 * (double)n);
        }
        csrec_hadamard_transform(n, y);
        for (int64_t i = 0; i < n; i++) assert_true(fabs(y[i] / (double)n - x[i]) < 1e-12);
    }
}

/* Walsh's order of 2^k rows by their sign changes, counted. */
TEST(sequencies_ascend) {
    for (int bits = 1; bits <= 9; bits++)
        for (int64_t k = 0; k < INT64_C(1) << bits; k++) {
            const int64_t row = csrec_hadamard_sequency(bits, k);
            int64_t changes = 0;
            for (int64_t j = 1; j < INT64_C(1) << bits; j++)
                changes += sign_of(row, j) != sign_of(row, j - 1);
            assert_int_equal(changes, k);
        }
}

/* The corner of the zig-zag scan of ITU T.81, figure 5. */
TEST(zig_zag_is_that_of_jpeg) {
    static const int64_t scan[][2] = {{0, 0}, {0, 1}, {1, 0}, {2, 0}, {1, 1},
                                      {0, 2}, {0, 3}, {1, 2}, {2, 1}, {3, 0}};
    const int64_t extent[2] = {8, 8};
    int32_t rows[64];
    assert_ok(csrec_hadamard_rows("zig-zag", 2, extent, rows));
    for (int k = 0; k < 10; k++)
        assert_int_equal(rows[k], csrec_hadamard_sequency(3, scan[k][0]) * 8 +
                                      csrec_hadamard_sequency(3, scan[k][1]));
}
