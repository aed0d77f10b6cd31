/* SPDX-License-Identifier: BSD-3-Clause */
/* test_stream.c - statistics of data read in pieces: from callbacks and from .npy files. */
#include "io_file.h"
#include "rows.h"

SEED(seed);

static float *draw(int64_t count, double offset) {
    float *X = malloc((size_t)count * sizeof *X);
    assert_non_null(X);
    for (int64_t i = 0; i < count; i++) X[i] = (float)(offset + 20.0 * check_uniform(&seed));
    return X;
}

/* Many pieces: rows are long. Against the whole matrix at once, to the bit; test_statistics holds
 * that against direct sums. */
TEST(pieces_do_not_matter) {
    const int64_t m = 40 + check_below(&seed, 30), n = 120000;
    OWNED float *X = draw(m * n, 1e4);
    OWNED double *one = malloc((size_t)n * 8), *other = malloc((size_t)n * 8);
    source s = {.X = X, .m = m, .n = n};
    csrec_data data = {m, n, read_source, &s};
    assert_ok(csrec_mean(m, n, X, NULL, 2, one, NULL));
    assert_ok(csrec_statistics_stream(&data, NULL, 1, NULL, NULL, other, NULL, NULL, NULL));
    assert_memory_equal(one, other, (size_t)n * 8);
    assert_true(s.calls > 4);
}

TEST(weights_follow_their_rows) {
    enum { M = 20000, N = 60 };
    OWNED float *X = draw(M * N, -3e3);
    double *weights = malloc(M * sizeof *weights), mean[2][N], C[2][N * N];
    for (int i = 0; i < M; i++) weights[i] = check_uniform(&seed);
    csrec_data data = {M, N, read_source, &(source){.X = X, .m = M, .n = N}};
    assert_ok(csrec_mean(M, N, X, weights, 2, mean[0], NULL));
    assert_ok(csrec_covariance(M, N, X, weights, NULL, 2, C[0], NULL));
    assert_ok(csrec_statistics_stream(&data, weights, 1, NULL, NULL, mean[1], C[1], NULL, NULL));
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(C[0], C[1], sizeof C[0]);
    free(weights);
}

static bool stop_late(const csrec_progress *now, void *context) {
    assert_true(now->done >= 0 && now->done < now->total);
    return ++*(int *)context > 3;
}

TEST(failures_and_stops_leave_results_alone) {
    enum { M = 30000, N = 100 };
    OWNED float *X = draw(M * N, 0.0);
    double mean[N] = {7.0}, C[N * N] = {8.0};
    csrec_error error;
    bool stopped;
    int calls = 0;
    for (int fail = 1; fail <= 6; fail++) {
        source s = {.X = X, .m = M, .n = N, .fail_at = fail};
        csrec_data data = {M, N, read_source, &s};
        assert_int_equal(
            csrec_statistics_stream(&data, NULL, 1, NULL, NULL, mean, C, &stopped, &error),
            CSREC_FILE);
        assert_string_equal(error.text, "the tape broke");
        assert_false(stopped);
    }
    source s = {.X = X, .m = M, .n = N};
    csrec_data data = {M, N, read_source, &s};
    assert_ok(csrec_statistics_stream(&data, NULL, 1, stop_late, &calls, mean, C, &stopped, NULL));
    assert_true(stopped);
    assert_true(mean[0] == 7.0 && C[0] == 8.0);
    data.m = 0;
    assert_int_equal(csrec_statistics_stream(&data, NULL, 1, NULL, NULL, mean, C, NULL, &error),
                     CSREC_ARGUMENT);
}

TEST(rows_of_files) {
    const csrec_dtype types[] = {CSREC_F32, CSREC_F64, CSREC_U8, CSREC_I16, CSREC_I64};
    const char *path = io_path("rows.npy");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        CLEARED(csrec_array) array;
        csrec_rows *rows;
        csrec_data data;
        csrec_shape shape = {3, {1 + check_below(&seed, 300), 30, 41}}, row;
        assert_ok(csrec_array_create(types[t], &shape, &array));
        uint8_t *bytes = array.data;
        size_t size = csrec_dtype_size(types[t]);
        for (int64_t i = 0; i < array.count; i++) /* small numbers, whatever the type */
            if (types[t] == CSREC_F32)
                ((float *)array.data)[i] = (float)check_uniform(&seed);
            else if (types[t] == CSREC_F64)
                ((double *)array.data)[i] = check_uniform(&seed);
            else
                bytes[(size_t)i * size] = (uint8_t)check_below(&seed, 120);
        assert_ok(csrec_array_write(path, &array, NULL));
        assert_ok(csrec_rows_open(path, &rows, &data, &row, NULL));
        assert_int_equal(data.m, shape.dim[0]);
        assert_int_equal(data.n, 30 * 41);
        assert_true(row.dims == 2 && row.dim[0] == 30 && row.dim[1] == 41);
        OWNED float *X = malloc((size_t)array.count * sizeof *X);
        for (int k = 0; k < 5; k++) {
            int64_t first = check_below(&seed, data.m),
                    count = 1 + check_below(&seed, data.m - first);
            assert_ok(data.read(data.context, first, count, X, NULL));
            for (int64_t i = 0; i < count * data.n; i++)
                assert_true(X[i] == (float)csrec_array_value(&array, first * data.n + i));
        }
        assert_fails(data.read(data.context, 0, data.m + 1, X, &told), CSREC_ARGUMENT);
        csrec_rows_close(rows);
    }
    csrec_rows_close(NULL);
}

TEST(wrong_files_are_refused) {
    csrec_rows *rows;
    csrec_data data;
    csrec_array array;
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){0}, &array));
    assert_ok(csrec_array_write(io_path("scalar.npy"), &array, NULL));
    csrec_array_clear(&array);
    assert_fails(csrec_rows_open(io_path("scalar.npy"), &rows, &data, NULL, &told), CSREC_DATA);
    const char *path = io_save("text.npy", "not an array", 12);
    assert_fails(csrec_rows_open(path, &rows, &data, NULL, &told), CSREC_FORMAT);
    io_refused(csrec_rows_open(io_path("none.npy"), &rows, &data, NULL, &error), CSREC_FILE,
               io_path("none.npy"), "cannot be opened");
}

FIXTURE(io_setup, io_teardown);
