/* test_statistics.c - mean, centring and covariance against direct sums in long double. */
#include "simd.h"
#include "statistics.h"

#include "learn/gram.h"

static void follows_direct_sums(void **state) {
    (void)state;
    const int64_t rows[] = {1, 2, 7, 127, 128, 129, 1023, 1024, 1100};
    const int64_t columns[] = {1, 2, 31, 32, 33, 70};
    const double offsets[] = {0.0, 100.0, -1e5};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            data d = draw(rows[r], columns[c], offsets[check_below(&seed, 3)],
                          check_below(&seed, 2) == 0);
            double *mean = malloc((size_t)d.n * sizeof *mean);
            double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
            solve_directly(&d);
            assert_ok(csrec_mean(d.m, d.n, d.X, d.weights, 2, mean, NULL));
            assert_ok(csrec_covariance(d.m, d.n, d.X, d.weights, NULL, 2, C, NULL));
            check_close(&d, mean, C);
            free(mean);
            free(C);
            clear(&d);
        }
}

/* Centred rows with a mean of zero: as the document has it. */
static void centring_takes_the_mean(void **state) {
    (void)state;
    data d = draw(300, 40, 1000.0, false);
    double mean[40], zero[40] = {0}, *C = malloc(40 * 40 * sizeof *C);
    float *before = malloc(300 * 40 * sizeof *before);
    memcpy(before, d.X, 300 * 40 * sizeof *before);
    assert_ok(csrec_mean(d.m, d.n, d.X, NULL, 1, mean, NULL));
    solve_directly(&d);
    assert_ok(csrec_center(d.m, d.n, d.X, mean, 2, NULL));
    for (int i = 0; i < 300 * 40; i++)
        assert_true(d.X[i] == (float)((double)before[i] - mean[i % 40]));
    assert_ok(csrec_covariance(d.m, d.n, d.X, NULL, zero, 1, C, NULL));
    check_close(&d, mean, C);
    free(before);
    free(C);
    clear(&d);
}

static void chunks_and_threads_do_not_matter(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        data d = draw(1 + check_below(&seed, 3000), 1 + check_below(&seed, 90), 1e4, k % 2);
        size_t squares = (size_t)(d.n * d.n);
        double *one = malloc(squares * sizeof *one), *other = malloc(squares * sizeof *other);
        double *mean = malloc((size_t)d.n * sizeof *mean), *streamed = malloc((size_t)d.n * 8);
        assert_ok(csrec_covariance(d.m, d.n, d.X, d.weights, NULL, 1, one, NULL));
        assert_ok(csrec_mean(d.m, d.n, d.X, d.weights, 1, mean, NULL));
        csrec_statistics *s;
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
        csrec_statistics_destroy(s);
        free(one);
        free(other);
        free(mean);
        free(streamed);
        clear(&d);
    }
}

/* Small integers: every sum is exact, so every instruction set must agree with plain sums. */
static void every_instruction_set_multiplies(void **state) {
    (void)state;
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

static void mistakes_are_refused(void **state) {
    (void)state;
    float X[4] = {1, 2, INFINITY, 4};
    double weights[2] = {0, 0}, negative[2] = {1, -1}, mean[2], C[4];
    csrec_error error;
    assert_int_equal(csrec_mean(0, 2, X, NULL, 1, mean, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_mean(2, 0, X, NULL, 1, mean, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_mean(2, 2, X, NULL, 1, mean, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "column 0"));
    assert_int_equal(csrec_covariance(2, 2, X, NULL, NULL, 1, C, &error), CSREC_DATA);
    X[2] = 3e30f;
    assert_int_equal(csrec_covariance(2, 2, X, NULL, NULL, 1, C, &error), CSREC_DATA);
    X[2] = 3;
    assert_int_equal(csrec_mean(2, 2, X, weights, 1, mean, &error), CSREC_DATA);
    assert_int_equal(csrec_mean(2, 2, X, negative, 1, mean, &error), CSREC_DATA);
    csrec_statistics *s;
    assert_ok(csrec_statistics_create(2, 1, &s, NULL));
    assert_int_equal(csrec_statistics_mean(s, mean, &error), CSREC_DATA);
    assert_ok(csrec_statistics_add_mean(s, 2, X, NULL, NULL));
    assert_ok(csrec_statistics_mean(s, mean, NULL));
    assert_int_equal(csrec_statistics_add_mean(s, 2, X, NULL, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_statistics_covariance(s, C, &error), CSREC_DATA);
    csrec_statistics_destroy(s);
    csrec_statistics_destroy(NULL);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_direct_sums),
        cmocka_unit_test(centring_takes_the_mean),
        cmocka_unit_test(chunks_and_threads_do_not_matter),
        cmocka_unit_test(every_instruction_set_multiplies),
        cmocka_unit_test(mistakes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
