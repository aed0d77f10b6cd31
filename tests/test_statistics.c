/* SPDX-License-Identifier: BSD-3-Clause */
/* test_statistics.c - mean, centring and covariance against direct sums in long double, on the CPU
 * and on a device, around every edge of a tile. */
#include "backends.h"
#include "simd.h"
#include "statistics.h"

#include "learn/gram.h"

/* The same bits again, and with the mean given. */
static void check_on(const char *backend, data *d) {
    const size_t squares = (size_t)(d->n * d->n);
    OWNED double *mean = malloc((size_t)d->n * sizeof *mean), *C = malloc(squares * sizeof *C);
    OWNED double *again = malloc(squares * sizeof *again);
    solve_directly(d);
    assert_ok(csrec_mean_on(backend, d->m, d->n, d->X, d->weights, 2, mean, NULL));
    assert_ok(csrec_covariance_on(backend, d->m, d->n, d->X, d->weights, NULL, 2, C, NULL));
    check_close(d, mean, C);
    assert_ok(csrec_covariance_on(backend, d->m, d->n, d->X, d->weights, NULL, 2, again, NULL));
    assert_memory_equal(C, again, squares * sizeof *C);
    assert_ok(csrec_covariance_on(backend, d->m, d->n, d->X, d->weights, mean, 2, C, NULL));
    check_close(d, mean, C);
}

TEST_ON_EACH(follows_direct_sums) {
    const char *backend = check_backend(state);
    const int64_t rows[] = {1,   2,   7,   63,  64,   65,   127,  128,
                            129, 255, 256, 257, 1023, 1024, 1100, 3000};
    const int64_t columns[] = {1, 2, 31, 32, 33, 70, 127, 128, 129, 200};
    const double offsets[] = {0.0, 100.0, -1e5};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            if (sanitized_leaves()) continue;
            data d = draw(rows[r], columns[c], offsets[check_below(&seed, 3)],
                          check_below(&seed, 2) == 0);
            check_on(backend, &d);
        }
}

/* Blocks of 128 columns in odd and even numbers, the last of any width: pairs of tiles, and tiles
 * without a neighbour. */
TEST_ON_EACH(many_columns_are_covered) {
    const char *backend = check_backend(state);
    for (int64_t blocks = 2; blocks <= 5; blocks++) {
        if (sanitized_leaves()) continue;
        int64_t columns = 128 * blocks + 1 + check_below(&seed, 128);
        data d = draw(1 + check_below(&seed, 400), columns, 100.0, blocks % 2);
        check_on(backend, &d);
    }
}

/* Columns of very different size, outliers, and values that two halves fit worst: the error bound
 * holds for any rows (kernels/learn/covariance.cu). */
TEST_ON_EACH(any_numbers_are_accurate) {
    const char *backend = check_backend(state);
    for (int kind = 0; kind < 3; kind++) {
        data d = draw(2000, 70, 0.0, false);
        for (int64_t i = 0; i < d.m; i++)
            for (int64_t j = 0; j < d.n; j++) {
                float *x = &d.X[i * d.n + j];
                if (kind == 0) *x = ldexpf(*x, (int)(j % 60) - 30);
                if (kind == 1) *x = expf(0.3f * *x);
                if (kind == 2) *x = (*x > 0.0f ? 1.0f : -1.0f) * (1.0f + 0x1.fffp-11f);
            }
        check_on(backend, &d);
    }
}

/* Centred rows with a mean of zero: as the document has it. */
TEST_ON_EACH(centring_takes_the_mean) {
    const char *backend = check_backend(state);
    for (int k = 0; k < SANITIZED_SHARE(20); k++) {
        data d = draw(1 + check_below(&seed, 900), 1 + check_below(&seed, 150), 1000.0, false);
        size_t bytes = (size_t)(d.m * d.n) * sizeof *d.X;
        OWNED double *mean = malloc((size_t)d.n * sizeof *mean),
                     *zero = calloc((size_t)d.n, sizeof *zero);
        OWNED double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
        OWNED float *before = malloc(bytes);
        memcpy(before, d.X, bytes);
        assert_ok(csrec_mean_on(backend, d.m, d.n, d.X, NULL, 1, mean, NULL));
        solve_directly(&d);
        assert_ok(csrec_center_on(backend, d.m, d.n, d.X, mean, 2, NULL));
        for (int64_t i = 0; i < d.m * d.n; i++)
            assert_true(d.X[i] == (float)((double)before[i] - mean[i % d.n]));
        assert_ok(csrec_covariance_on(backend, d.m, d.n, d.X, NULL, zero, 1, C, NULL));
        check_close(&d, mean, C);
    }
}

TEST(chunks_and_threads_do_not_matter) {
    for (int k = 0; k < 6; k++) {
        data d = draw(1 + check_below(&seed, 3000), 1 + check_below(&seed, 90), 1e4, k % 2);
        size_t squares = (size_t)(d.n * d.n);
        OWNED double *one = malloc(squares * sizeof *one), *other = malloc(squares * sizeof *other);
        OWNED double *mean = malloc((size_t)d.n * sizeof *mean),
                     *streamed = malloc((size_t)d.n * 8);
        assert_ok(csrec_covariance(d.m, d.n, d.X, d.weights, NULL, 1, one, NULL));
        assert_ok(csrec_mean(d.m, d.n, d.X, d.weights, 1, mean, NULL));
        ENDS_BY(end_statistics) csrec_statistics *s;
        assert_ok(csrec_statistics_create(d.n, 3, &s, NULL));
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < d.m;) {
                int64_t rows = 1 + check_below(&seed, 700);
                if (rows > d.m - i) rows = d.m - i;
                const double *weights = d.weights ? d.weights + i : NULL;
                assert_ok((pass ? csrec_statistics_add_covariance : csrec_statistics_add_mean)(
                    s, rows, d.X + i * d.n, weights, NULL));
                i += rows;
            }
        assert_ok(csrec_statistics_mean(s, streamed, NULL));
        assert_ok(csrec_statistics_covariance(s, other, NULL));
        assert_memory_equal(one, other, squares * sizeof *one);
        assert_memory_equal(mean, streamed, (size_t)d.n * sizeof *mean);
    }
}

/* Small integers: every sum is exact, so every instruction set must agree with plain sums. */
TEST(every_instruction_set_multiplies) {
    enum { ROWS = 19 * CSREC_GRAM_ROWS, B = CSREC_GRAM_BLOCK };
    static float a[ROWS * B], b[ROWS * B];
    static double C[3][B * B];
    for (int i = 0; i < ROWS * B; i++) {
        a[i] = (float)check_below(&seed, 17) - 8.0f;
        b[i] = (float)check_below(&seed, 17) - 8.0f;
    }
    const csrec_gram_set *sets[3];
    int count = SIMD_SETS(sets, &csrec_gram_generic, &csrec_gram_avx2, &csrec_gram_avx512);
    for (int s = 0; s < count; s++) {
        memset(C[s], 0, sizeof C[s]);
        sets[s]->multiply(ROWS, a, b, C[s]);
        for (int i = 0; i < B; i++)
            for (int j = 0; j < B; j++) {
                double sum = 0.0;
                for (int k = 0; k < ROWS; k++) sum += (double)a[k * B + i] * (double)b[k * B + j];
                assert_true(C[s][i * B + j] == sum);
            }
    }
}

TEST_ON_EACH(mistakes_are_refused) {
    const char *backend = check_backend(state);
    float X[4] = {1, 2, INFINITY, 4}, wide[6] = {1.0f, 3e38f, 0.0f, -1.0f, 2.0f, 5.0f};
    double weights[2] = {0, 0}, negative[2] = {1, -1}, mean[2], zero[2] = {0}, C[4];
    double far[3] = {0.0, -3e38, 1.0};
    assert_fails(csrec_mean_on(backend, 0, 2, X, NULL, 1, mean, &told), CSREC_ARGUMENT);
    assert_fails(csrec_mean_on(backend, 2, 0, X, NULL, 1, mean, &told), CSREC_ARGUMENT);
    assert_refused(csrec_mean_on(backend, 2, 2, X, NULL, 1, mean, &told), CSREC_DATA, "column 0");
    assert_fails(csrec_covariance_on(backend, 2, 2, X, NULL, NULL, 1, C, &told), CSREC_DATA);
    assert_fails(csrec_covariance_on(backend, 2, 2, X, NULL, zero, 1, C, &told), CSREC_DATA);
    X[2] = 3;
    assert_fails(csrec_mean_on(backend, 2, 2, X, weights, 1, mean, &told), CSREC_DATA);
    assert_fails(csrec_mean_on(backend, 2, 2, X, negative, 1, mean, &told), CSREC_DATA);
    assert_fails(csrec_center_on(backend, 2, 3, wide, far, 1, &told), CSREC_DATA);
}

/* And what the device bounds otherwise. */
TEST(mistakes_of_the_cpu_are_refused) {
    float X[4] = {1, 2, 3e30f, 4};
    double mean[2], C[4];
    ENDS_BY(end_statistics) csrec_statistics *s;
    assert_fails(csrec_mean_on("gpu", 2, 2, X, NULL, 1, mean, &told), CSREC_ARGUMENT);
    assert_fails(csrec_covariance(2, 2, X, NULL, NULL, 1, C, &told), CSREC_DATA);
    X[2] = 3;
    assert_ok(csrec_statistics_create(2, 1, &s, NULL));
    assert_fails(csrec_statistics_mean(s, mean, &told), CSREC_DATA);
    assert_ok(csrec_statistics_add_mean(s, 2, X, NULL, NULL));
    assert_ok(csrec_statistics_mean(s, mean, NULL));
    assert_fails(csrec_statistics_add_mean(s, 2, X, NULL, &told), CSREC_ARGUMENT);
    assert_fails(csrec_statistics_covariance(s, C, &told), CSREC_DATA);
    csrec_statistics_destroy(NULL);
}
