/* test_cuda_statistics.c - mean, centring and covariance on the device against direct sums in long
 * double, whole and in chunks, around every edge of a tile. */
#include "device.h"
#include "statistics.h"

#include "kernels/learn/statistics.h"

static void follows_direct_sums(void **state) {
    (void)state;
    if (no_device()) skip();
    const int64_t rows[] = {1, 2, 7, 63, 64, 65, 255, 256, 257, 1100, 3000};
    const int64_t columns[] = {1, 2, 31, 33, 127, 128, 129, 200};
    const double offsets[] = {0.0, 100.0, -1e5};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            data d = draw(rows[r], columns[c], offsets[check_below(&seed, 3)],
                          check_below(&seed, 2) == 0);
            double *mean = malloc((size_t)d.n * sizeof *mean);
            double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
            double *again = malloc((size_t)(d.n * d.n) * sizeof *C);
            csrec_error error;
            solve_directly(&d);
            assert_ok(csrec_mean_on("cuda", d.m, d.n, d.X, d.weights, 0, mean, &error));
            assert_ok(csrec_covariance_on("cuda", d.m, d.n, d.X, d.weights, NULL, 0, C, &error));
            check_close(&d, mean, C);
            assert_ok(
                csrec_covariance_on("cuda", d.m, d.n, d.X, d.weights, NULL, 0, again, &error));
            assert_memory_equal(C, again, (size_t)(d.n * d.n) * sizeof *C);
            assert_ok(csrec_covariance_on("cuda", d.m, d.n, d.X, d.weights, mean, 0, C, &error));
            check_close(&d, mean, C);
            free(mean);
            free(C);
            free(again);
            clear(&d);
        }
}

static void centring_takes_the_mean(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int k = 0; k < 20; k++) {
        data d = draw(1 + check_below(&seed, 900), 1 + check_below(&seed, 150), 1000.0, false);
        size_t bytes = (size_t)(d.m * d.n) * sizeof *d.X;
        double *mean = malloc((size_t)d.n * sizeof *mean);
        float *before = malloc(bytes);
        memcpy(before, d.X, bytes);
        assert_ok(csrec_mean_on("cuda", d.m, d.n, d.X, NULL, 0, mean, NULL));
        assert_ok(csrec_center_on("cuda", d.m, d.n, d.X, mean, 0, NULL));
        for (int64_t i = 0; i < d.m * d.n; i++)
            assert_true(d.X[i] == (float)((double)before[i] - mean[i % d.n]));
        free(mean);
        free(before);
        free(d.X);
    }
}

static void centring_out_of_range_is_refused(void **state) {
    (void)state;
    if (no_device()) skip();
    float X[6] = {1.0f, 3e38f, 0.0f, -1.0f, 2.0f, 5.0f};
    double mean[3] = {0.0, -3e38, 1.0};
    assert_int_equal(csrec_center_on("cuda", 2, 3, X, mean, 0, NULL), CSREC_DATA);
}

/* Blocks of 128 columns in odd and even numbers, the last of any width: pairs of tiles, and tiles
 * without a neighbour. */
static void many_columns_are_covered(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int64_t blocks = 2; blocks <= 5; blocks++) {
        int64_t columns = 128 * blocks + 1 + check_below(&seed, 128);
        data d = draw(1 + check_below(&seed, 400), columns, 100.0, blocks % 2);
        double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
        double *mean = malloc((size_t)d.n * sizeof *mean);
        solve_directly(&d);
        assert_ok(csrec_mean_on("cuda", d.m, d.n, d.X, d.weights, 0, mean, NULL));
        assert_ok(csrec_covariance_on("cuda", d.m, d.n, d.X, d.weights, NULL, 0, C, NULL));
        check_close(&d, mean, C);
        free(mean);
        free(C);
        clear(&d);
    }
}

static void fill(csrec_cuda_statistics *s, const data *d, const float *X, const double *weights,
                 int64_t chunk, bool second) {
    for (int64_t i = 0; i < d->m; i += chunk) {
        int64_t count = d->m - i < chunk ? d->m - i : chunk;
        const double *w = d->weights ? weights + i : NULL;
        assert_ok((second ? csrec_cuda_statistics_add_covariance
                          : csrec_cuda_statistics_add_mean)(s, count, X + i * d->n, w, NULL));
    }
}

/* As rows that do not fit the device would come. */
static void chunks_add_up(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int k = 0; k < 12; k++) {
        data d = draw(1 + check_below(&seed, 3000), 1 + check_below(&seed, 140), 1e4, k % 2);
        int64_t chunk = 4 * (1 + check_below(&seed, 400));
        double *mean = malloc((size_t)d.n * sizeof *mean), weight = 0.0, *device_C;
        double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
        csrec_cuda_block block = {0};
        float *X = NULL;
        double *weights = NULL;
        for (int pass = 0; pass < 2; pass++) {
            X = csrec_cuda_block_take(&block, d.m * d.n, sizeof *X);
            weights = csrec_cuda_block_take(&block, d.m, sizeof *weights);
            if (!pass) assert_ok(csrec_cuda_block_create(&block, "rows", NULL));
        }
        assert_ok(csrec_cuda_copy(X, d.X, (size_t)(d.m * d.n) * sizeof *X, NULL));
        if (d.weights)
            assert_ok(csrec_cuda_copy(weights, d.weights, (size_t)d.m * sizeof *weights, NULL));
        for (int64_t i = 0; i < d.m; i++) weight += d.weights ? d.weights[i] : 1.0;
        solve_directly(&d);
        csrec_cuda_statistics *s;
        assert_ok(csrec_cuda_statistics_create(d.n, chunk, true, &s, NULL));
        for (int repeat = 0; repeat < 2; repeat++) {
            assert_ok(csrec_cuda_statistics_reset(s, NULL));
            fill(s, &d, X, weights, chunk, false);
            assert_ok(csrec_cuda_statistics_mean(s, weight, NULL));
            fill(s, &d, X, weights, chunk, true);
            assert_ok(csrec_cuda_statistics_get_mean(s, mean, NULL));
            assert_ok(csrec_cuda_statistics_covariance(s, weight, &device_C, NULL));
            assert_ok(csrec_cuda_copy(C, device_C, (size_t)(d.n * d.n) * sizeof *C, NULL));
            check_close(&d, mean, C);
        }
        csrec_cuda_statistics_destroy(s);
        csrec_cuda_block_destroy(&block);
        free(mean);
        free(C);
        clear(&d);
    }
}

/* Columns of very different size, outliers, and values that two halves fit worst: the error bound
 * holds for any rows (kernels/learn/covariance.cu). */
static void any_numbers_are_accurate(void **state) {
    (void)state;
    if (no_device()) skip();
    for (int kind = 0; kind < 3; kind++) {
        data d = draw(2000, 70, 0.0, false);
        for (int64_t i = 0; i < d.m; i++)
            for (int64_t j = 0; j < d.n; j++) {
                float *x = &d.X[i * d.n + j];
                if (kind == 0) *x = ldexpf(*x, (int)(j % 60) - 30);
                if (kind == 1) *x = expf(0.3f * *x);
                if (kind == 2) *x = (*x > 0.0f ? 1.0f : -1.0f) * (1.0f + 0x1.fffp-11f);
            }
        double *mean = malloc((size_t)d.n * sizeof *mean);
        double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
        solve_directly(&d);
        assert_ok(csrec_mean_on("cuda", d.m, d.n, d.X, NULL, 0, mean, NULL));
        assert_ok(csrec_covariance_on("cuda", d.m, d.n, d.X, NULL, NULL, 0, C, NULL));
        check_close(&d, mean, C);
        free(mean);
        free(C);
        clear(&d);
    }
}

static void mistakes_are_refused(void **state) {
    (void)state;
    float X[4] = {1, 2, INFINITY, 4};
    double weights[2] = {0, 0}, negative[2] = {1, -1}, mean[2], zero[2] = {0}, C[4];
    csrec_error error;
    assert_int_equal(csrec_mean_on("gpu", 2, 2, X, NULL, 1, mean, &error), CSREC_ARGUMENT);
    if (no_device()) {
        assert_int_equal(csrec_mean_on("cuda", 2, 2, X, NULL, 1, mean, &error), CSREC_DEVICE);
        return;
    }
    assert_int_equal(csrec_mean_on("cuda", 0, 2, X, NULL, 1, mean, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_mean_on("cuda", 2, 0, X, NULL, 1, mean, &error), CSREC_ARGUMENT);
    assert_int_equal(csrec_mean_on("cuda", 2, 2, X, NULL, 1, mean, &error), CSREC_DATA);
    assert_non_null(strstr(error.text, "column 0"));
    assert_int_equal(csrec_covariance_on("cuda", 2, 2, X, NULL, NULL, 1, C, &error), CSREC_DATA);
    assert_int_equal(csrec_covariance_on("cuda", 2, 2, X, NULL, zero, 1, C, &error), CSREC_DATA);
    X[2] = 3;
    assert_int_equal(csrec_mean_on("cuda", 2, 2, X, weights, 1, mean, &error), CSREC_DATA);
    assert_int_equal(csrec_mean_on("cuda", 2, 2, X, negative, 1, mean, &error), CSREC_DATA);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_direct_sums),      cmocka_unit_test(centring_takes_the_mean),
        cmocka_unit_test(centring_out_of_range_is_refused),
        cmocka_unit_test(many_columns_are_covered), cmocka_unit_test(chunks_add_up),
        cmocka_unit_test(any_numbers_are_accurate), cmocka_unit_test(mistakes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
