/* SPDX-License-Identifier: BSD-3-Clause */
/* test_measurement.c - measurements in .npz: every variant of the arrays, right and wrong. */
#include "io_measurement.h"

#include "files/measurement.h"

TEST(reads_index_and_shape) {
    const int64_t index[] = {7, 0, 11};
    const double y[] = {1, 0, -2.5}, sigma = 0.25, scale[] = {0, 255};
    add_f8("y", 3, y);
    INTS("shape", 3, 4);
    add_i8("index", 3, index);
    add_f8("sigma", 1, &sigma);
    add_f8("scale", 2, scale);
    csrec_measurement m = accept(finish(), NULL);
    assert_int_equal(m.shape.dims, 2);
    assert_int_equal(m.shape.dim[1], 4);
    assert_int_equal(m.dtype, CSREC_F64);
    assert_true(m.sigma == 0.25 && m.scale[0] == 0 && m.scale[1] == 255);
    assert_int_equal(m.pattern, CSREC_PATTERN_NONE);
    expect(m, 3, 1, index, y);
}

/* Channels, integers, Fortran order and big-endian numbers in one file. */
TEST(reads_channels_in_any_layout) {
    io_bytes y = {0}, index = {0};
    const int64_t positions[] = {5, 1, 3};
    const double values[] = {1, 2, 3, 4, 5, 6};
    io_npy_header(&y, 1, ">i2", true, "(3, 2)");
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) io_put_be(&y, (uint64_t)values[2 * k + c], 2);
    io_npy_header(&index, 2, ">u4", false, "(3,)");
    for (int k = 0; k < 3; k++) io_put_be(&index, (uint64_t)positions[k], 4);
    add("y", y);
    add("index", index);
    INTS("shape", 6);
    csrec_measurement m = accept(finish(), NULL);
    assert_int_equal(m.dtype, CSREC_I16);
    expect(m, 3, 2, positions, values);
}

TEST(reads_masks) {
    static const char *const types[] = {"|b1", "|u1"};
    for (int t = 0; t < 2; t++) {
        uint8_t mask[24];
        int64_t index[24], n = 0;
        double y[24];
        for (int i = 0; i < 24; i++) {
            mask[i] =
                i == 5 || check_next(&seed) & 1 ? (uint8_t)(1 + t * check_below(&seed, 255)) : 0;
            if (mask[i]) index[n] = i, y[n++] = check_uniform(&seed);
        }
        add_f8("y", n, y);
        add("mask", io_npy_u1(types[t], "(2, 3, 4)", 24, mask));
        if (t) INTS("shape", 2, 3, 4);
        csrec_measurement m = accept(finish(), NULL);
        assert_int_equal(m.shape.dims, 3);
        assert_int_equal(m.shape.dim[2], 4);
        expect(m, n, 1, index, y);
    }
}

static io_bytes text_array(const char *text, int how) {
    io_bytes b = {0};
    io_npy_header(&b, 1,
                  check_print("%s%d", (const char *[]){"<U", ">U", "|S"}[how], (int)strlen(text)),
                  false, "()");
    for (const char *c = text; *c; c++) {
        if (how == 0) io_put_le(&b, (uint64_t)*c, 4);
        if (how == 1) io_put_be(&b, (uint64_t)*c, 4);
        if (how == 2) io_put_le(&b, (uint64_t)*c, 1);
    }
    return b;
}

TEST(regenerates_positions) {
    csrec_shape shape = {2, {31, 17}};
    for (int p = CSREC_PATTERN_UNIFORM; p <= CSREC_PATTERN_JITTER; p++)
        for (int how = 0; how < 4; how++) {
            CLEARED(csrec_sampling) sampling;
            int64_t count = 60, key = (int64_t)(check_next(&seed) >> 1);
            assert_ok(csrec_sampling_create(&shape, (csrec_pattern)p, count, (uint64_t)key,
                                            &sampling, NULL));
            OWNED double *y = malloc((size_t)sampling.n * 8);
            for (int64_t k = 0; k < sampling.n; k++) y[k] = check_uniform(&seed);
            add_f8("y", sampling.n, y);
            INTS("shape", 31, 17);
            SCALAR("seed", key);
            SCALAR("count", count);
            if (how < 3)
                add("pattern", text_array(csrec_pattern_name((csrec_pattern)p), how));
            else
                SCALAR("pattern", p);
            csrec_measurement m = accept(finish(), NULL);
            assert_int_equal(m.pattern, p);
            assert_true(m.seed == (uint64_t)key);
            expect(m, sampling.n, 1, sampling.index, y);
        }
}

TEST(refuses_wrong_patterns) {
    static const struct {
        int64_t seed, count, number; /* the pattern's, without a text */
        const char *text, *words;
    } wrong[] = {{1, 2, 0, "spiral", "array 'pattern': is no pattern"},
                 {1, 2, 9, NULL, "array 'pattern': is no pattern"},
                 {1, 2, 0, NULL, "array 'pattern': is no pattern"},
                 {1, 3, 0, "uniform", "gives 3 positions for 2 samples"},
                 {1, 1, 0, "uniform", "array 'count'"},
                 {1, INT64_MAX, 0, "uniform", "array 'count'"},
                 {-1, 2, 0, "uniform", "array 'seed': -1 is negative"},
                 {1, 2, 0, "poisson", "array 'pattern'"}}; /* 1-D */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Y(1, 2), INTS("shape", 9), SCALAR("seed", wrong[i].seed), SCALAR("count", wrong[i].count);
        if (wrong[i].text)
            add("pattern", text_array(wrong[i].text, i == 3 ? 2 : 0));
        else
            SCALAR("pattern", wrong[i].number);
        refuse(wrong[i].words);
    }
    Y(1, 2), INTS("shape", 9), SCALAR("count", 2), add("pattern", text_array("uniform", 0));
    refuse("array 'seed' is missing");
}

TEST(refuses_wrong_positions_and_shapes) {
    INTS("shape", 9), INTS("index", 1, 2);
    refuse("array 'y' is missing");
    Y(1, 2), INTS("index", 1, 2);
    refuse("array 'shape' is missing");
    Y(1, 2), INTS("shape", 9);
    refuse("array 'mask': missing");
    Y(1, 2), INTS("shape", 9), INTS("index", 1, 2, 3);
    refuse("array 'index': 3 positions for 2 samples");
    Y(1, 2, 3), INTS("shape", 9), INTS("index", 4, 2, 4);
    refuse("array 'index': element 2 repeats position 4");
    Y(1, 2, 3), INTS("shape", INT64_C(1) << 40), INTS("index", 4, 2, 4);
    refuse("array 'index': element 2 repeats position 4");
    Y(1, 2, 3), INTS("shape", 9), INTS("index", 4, 9, 10);
    refuse("array 'index': element 1 is 9, outside 0 to 8");
    Y(1, 2, 3), INTS("shape", 9), INTS("index", 4, -5, 10);
    refuse("array 'index': element 1 is -5");
    Y(1, 2), INTS("shape", 9), add_f8("index", 2, (double[]){1, 2});
    refuse("astype(np.int64)");
    Y(1, 2), INTS("shape", 9, 0), INTS("index", 1, 2);
    refuse("array 'shape'");
    Y(1, 2), INTS("shape", 9, -1), INTS("index", 1, 2);
    refuse("array 'shape'");
    Y(1, 2), INTS("shape", INT64_C(1) << 32, INT64_C(1) << 32), INTS("index", 1, 2);
    refuse("array 'shape'");
    Y(1, 2), INTS("shape", 1, 1, 1, 1, 1, 1, 1, 1, 9), INTS("index", 1, 2);
    refuse("array 'shape': has 9 elements");
    Y(1, 2, 3), INTS("shape", 2), INTS("index", 0, 1, 1);
    refuse("3 samples of a signal with 2 entries");
}

TEST(refuses_wrong_values) {
    io_bytes quad = {0};
    Y(1, NAN), INTS("shape", 9), INTS("index", 1, 2);
    refuse("array 'y': sample 1 is nan");
    Y(1, 2, -INFINITY), INTS("shape", 9), INTS("index", 1, 2, 3);
    refuse("array 'y': sample 2 is -infinite");
    io_npy_header(&quad, 1, "<f16", false, "(1,)");
    io_put_le(&quad, 0, 8);
    io_put_le(&quad, 0, 8);
    add("y", quad), INTS("shape", 9), INTS("index", 1);
    refuse("array 'y': element type '<f16' is not read; save with .astype(np.float32)");
    Y(1), INTS("shape", 9), INTS("index", 1), add_f8("sigma", 1, &(double){-1});
    refuse("array 'sigma'");
    Y(1), INTS("shape", 9), INTS("index", 1), add_f8("scale", 1, &(double){-1});
    refuse("array 'scale'");
    Y(1), INTS("shape", 9), INTS("index", 1), add_f8("scale", 2, (double[]){0, INFINITY});
    refuse("array 'scale'");
    add("y", io_npy_i8("(0,)", 0, NULL)), INTS("shape", 4), INTS("index", 2);
    refuse("array 'y': is empty");
    add("y", io_npy_i8("()", 1, (int64_t[]){2})), INTS("shape", 4), INTS("index", 2);
    refuse("array 'y': has 0 axes");
}

TEST(refuses_wrong_masks) {
    Y(1, 2), add("mask", io_npy_u1("|b1", "(3,)", 3, (uint8_t[]){0, 0, 0}));
    refuse("array 'mask': no entry is true");
    Y(1, 2), add("mask", io_npy_u1("|b1", "(3,)", 3, (uint8_t[]){0, 0, 1}));
    refuse("array 'mask': 1 true entries for 2 samples");
    Y(1), add("mask", io_npy_u1("|b1", "(3,)", 3, (uint8_t[]){0, 0, 1})), INTS("shape", 4);
    refuse("array 'shape': differs");
    Y(1), add("mask", io_npy_u1("|b1", "(3,)", 3, (uint8_t[]){0, 0, 1})), INTS("index", 2);
    refuse("array 'mask': stands beside 'index'");
    Y(1), INTS("mask", 0, 1);
    refuse("array 'mask': is neither bool nor uint8");
}

TEST(refuses_every_truncation) {
    Y(1, 2), INTS("shape", 3, 3), INTS("index", 8, 1);
    ENDS_BY(io_free) io_bytes bytes = io_zip_finish(&zip, false);
    csrec_measurement m;
    for (size_t size = 0; size < bytes.size; size++) {
        csrec_error error = {""};
        OWNED uint8_t *exact = malloc(size ? size : 1);
        memcpy(exact, bytes.data, size);
        ENDS_BY(csrec_input_close) csrec_input input = csrec_input_memory(exact, size, "t.npz");
        assert_int_not_equal(csrec_measurement_parse(&input, NULL, &m, &error), CSREC_OK);
        io_assert_line(&error, "t.npz", "");
    }
}

FIXTURE(io_setup, io_teardown);
