/* SPDX-License-Identifier: BSD-3-Clause */
/* test_hdf5.c - HDF5: files that libhdf5 made are read, and what is wrong is one line. */
#include "hdf5_file.h"

static bool same_bits(const drawn *d, int64_t i, int64_t k) {
    const uint8_t *bytes = d->values.data;
    size_t size = csrec_dtype_size(d->values.dtype);
    if (!is_integer(d->values.dtype))
        return csrec_array_value(&d->values, i) == csrec_array_value(&d->values, k);
    return memcmp(bytes + (size_t)i * size, bytes + (size_t)k * size, size) == 0;
}

static double number(const drawn *d, int64_t i) {
    double value = csrec_array_value(&d->values, i);
    bool moved = d->wraps && value < 0;
    return moved ? value + ldexp(1.0, 8 * (int)csrec_dtype_size(d->values.dtype)) : value;
}

static csrec_dtype expected_type(const drawn *d) {
    csrec_dtype dtype = d->values.dtype;
    if (is_integer(dtype) && d->packed) return csrec_dtype_size(dtype) > 2 ? CSREC_F64 : CSREC_F32;
    return d->wraps ? dtype - 1 : dtype;
}

static void check_value(const drawn *d, const csrec_array *read, int64_t i) {
    const size_t size = csrec_dtype_size(read->dtype);
    const double expected = number(d, i) * d->scale + d->offset, got = csrec_array_value(read, i);
    if (!d->packed && is_integer(read->dtype)) {
        assert_memory_equal((uint8_t *)read->data + (size_t)i * size,
                            (uint8_t *)d->values.data + (size_t)i * size, size);
    } else if (isnan(expected)) {
        assert_true(isnan(got));
    } else {
        double near = !d->packed ? 0.0 : read->dtype == CSREC_F32 ? 1e-7 : 1e-15;
        assert_true(fabs(got - expected) <=
                    near * (fabs(number(d, i) * d->scale) + fabs(d->offset)));
    }
}

static void check_read(const drawn *d, const csrec_image *image) {
    const csrec_shape *shape = &image->pixels.shape;
    assert_memory_equal(shape, &d->values.shape, sizeof *shape);
    assert_int_equal(image->pixels.dtype, expected_type(d));
    assert_false(image->has_channels);
    bool ruled = d->limited || (d->filled && !isnan(csrec_array_value(&d->values, d->fill)));
    if (ruled) assert_non_null(image->alpha);
    if (!d->limited && !d->filled) assert_null(image->alpha);
    for (int64_t i = 0; i < d->values.count; i++) {
        double value = number(d, i);
        bool known = !(d->filled && same_bits(d, i, d->fill)) &&
                     !(d->limited && (value < d->low || value > d->high));
        if (image->alpha) assert_int_equal(image->alpha[i], known);
        if (known) check_value(d, &image->pixels, i);
    }
}

/* Each slab has the values of the whole, which is compared with what was drawn. */
static void check_slabs(const char *path, const csrec_image *whole) {
    const int64_t all = whole->pixels.shape.dim[0], row = whole->pixels.count / all;
    const size_t size = (size_t)row * csrec_dtype_size(whole->pixels.dtype);
    for (int64_t at = 0, count; at < all; at += count) {
        csrec_input input;
        CLEARED(csrec_image) part = {0};
        count = 1 + check_below(&seed, all - at);
        assert_ok(csrec_input_open(path, &input, NULL));
        input.slab = (csrec_slab){at, count};
        assert_well(csrec_hdf5_signal(&input, &part, &told));
        csrec_input_close(&input);
        assert_int_equal(part.pixels.dtype, whole->pixels.dtype);
        assert_int_equal(part.pixels.count, count * row);
        assert_memory_equal(part.pixels.data,
                            (const uint8_t *)whole->pixels.data + (size_t)at * size,
                            (size_t)count * size);
        assert_int_equal(part.alpha != NULL, whole->alpha != NULL);
        if (part.alpha)
            assert_memory_equal(part.alpha, whole->alpha + at * row, (size_t)(count * row));
    }
}

TEST(reads_every_arrangement) {
    for (int trial = 0; trial < SANITIZED_SHARE(12 * KINDS); trial++) {
        const char *path = io_path(trial % 3 ? "drawn.h5" : "a:b.nc");
        ENDS_BY(free_drawn) drawn d = draw(trial % KINDS);
        save_drawn(path, &d);
        const char *member =
            check_print("%s:%sentry%s", path, toss() ? "/" : "", toss() ? "/data" : "");
        CLEARED(csrec_image) image = read_well(toss() ? member : path);
        check_read(&d, &image);
        check_slabs(path, &image);
        if (trial < 3) assert_true(io_with_pipes(path, NULL, read_stdin));
    }
}

/* Chunks that were never written are unknown, if the file says what their values would be. */
TEST(chunks_may_be_missing) {
    const char *path = io_path("sparse.h5");
    const hsize_t extent[2] = {23, 17}, chunk[2] = {5, 4};
    const int16_t fill = -7;
    for (int trial = 0; trial < SANITIZED_SHARE(20); trial++) {
        int16_t block[20];
        uint8_t known[23 * 17] = {0};
        ENDS_BY(close_id)
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extent, NULL),
              part = H5Screate_simple(2, chunk, NULL);
        hid_t file = new_file(path);
        H5Pset_chunk(creation, 2, chunk);
        if (toss()) H5Pset_deflate(creation, 1);
        H5Pset_fill_value(creation, H5T_NATIVE_INT16, &fill);
        hid_t dataset =
            H5Dcreate2(file, "d", H5T_STD_I16BE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        for (hsize_t at = 0; at < 16; at++) { /* the chunks of the last ones are at the edge */
            const hsize_t start[2] = {at / 4 * 5, at % 4 * 4};
            if (at && toss()) continue;
            for (int i = 0; i < 20; i++) block[i] = (int16_t)(start[0] * 100 + start[1]);
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, chunk, NULL);
            H5Dwrite(dataset, H5T_NATIVE_INT16, part, space, H5P_DEFAULT, block);
            for (hsize_t i = 0; i < 20; i++) known[(start[0] + i / 4) * 17 + start[1] + i % 4] = 1;
        }
        H5Fclose(file);
        CLEARED(csrec_image) image = read_well(path);
        assert_memory_equal(image.alpha, known, sizeof known);
        for (int i = 0; i < 23 * 17; i++)
            assert_int_equal(((int16_t *)image.pixels.data)[i],
                             known[i] ? i / 17 / 5 * 500 + i % 17 / 4 * 4 : fill);
        check_slabs(path, &image);
    }
}

static void expect_failure(const char *path, const char *member, csrec_status expected,
                           const char *words) {
    expect_unread(check_print("%s%s", path, member), expected, words);
}

static void put_floats(hid_t file, const char *name, hid_t type, int rank) {
    const hsize_t extent[6] = {2, 3, 2, 2, 2, 2};
    ENDS_BY(close_id)
    hid_t space = H5Screate_simple(rank, extent, NULL),
          dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const float values[96] = {0.5f, 1.5f, 2.5f};
    if (H5Tget_class(type) == H5T_FLOAT)
        H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

TEST(refuses_by_name) {
    const char *path = io_path("names.h5");
    ENDS_BY(close_id) hid_t complex = H5Tcreate(H5T_COMPOUND, 8), text = H5Tcopy(H5T_C_S1);
    hid_t file = new_file(path);
    H5Tinsert(complex, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(complex, "i", 4, H5T_NATIVE_FLOAT);
    H5Tset_size(text, 9);
    H5Gclose(H5Gcreate2(file, "none", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_floats(file, "one", H5T_IEEE_F32BE, 2);
    put_floats(file, "other", H5T_IEEE_F64LE, 3);
    put_floats(file, "axes", H5T_IEEE_F32LE, 5);
    put_floats(file, "complex", complex, 2);
    put_floats(file, "text", text, 2);
    put_floats(file, "empty", H5T_STD_I8LE, 2);
    H5Fclose(file);
    expect_failure(path, "", CSREC_DATA, "/one [2 x 3], /other [2 x 3 x 2]");
    expect_failure(path, ":/", CSREC_DATA, "which dataset?");
    expect_failure(path, ":/on", CSREC_DATA, "/one [2 x 3]");
    expect_failure(path, ":/none", CSREC_DATA, "no dataset of numbers");
    expect_failure(path, ":/axes", CSREC_UNSUPPORTED, "more than 4 axes");
    expect_failure(path, ":/complex", CSREC_UNSUPPORTED, "complex64 (a compound of r and i)");
    expect_failure(path, ":/text", CSREC_UNSUPPORTED, "has strings");
    expect_failure(path, ":/empty", CSREC_DATA, "never written");
}

/* What others name, or are known to be places, is no candidate unless nothing else is left. */
TEST(what_belongs_to_others_is_left_out) {
    static const char *const names[] = {"/b", "/LAT", "/w", "/t", "/g/a", "/x"};
    for (int left = 1; left <= 3; left++) {
        const char *path = io_path("named.nc");
        csrec_facts facts = {.note = ""};
        CLEARED(csrec_measurement) m = {0};
        csrec_error error = {""};
        hid_t file = new_file(path);
        H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        for (int k = 0; k < (left < 3 ? 4 + left : 3); k++)
            put_floats(file, names[k], H5T_IEEE_F32LE, 1 + k % 2);
        hid_t b = H5Oopen(file, "/b", H5P_DEFAULT);
        if (left == 3) put_text(b, "bounds", "none w", toss());
        hid_t a = left < 3 ? H5Oopen(file, "/g/a", H5P_DEFAULT) : -1;
        if (a >= 0) put_text(a, "coordinates", "w missing\tt /b", toss());
        if (a >= 0) put_text(a, "cell_measures", "area: b x: t", toss());
        put_text(b, "units", "days since 1970-1-1", toss());
        H5Fclose(file);
        const csrec_read_options options = {.has_unknown = true, .unknown = 1.5, .facts = &facts};
        csrec_status status = csrec_measurement_read_with(path, &options, &m, &error);
        const char *list = left == 2   ? "/g/a [2], /x [2 x 3]"
                           : left == 3 ? "/LAT [2 x 3], /b [2], /w [2]"
                                       : "/g/a [2] is read";
        if (left == 1 ? !strstr(facts.note, list) : !strstr(error.text, list))
            fail_msg("%d: %s, %s", left, error.text, facts.note);
        assert_int_equal(status, left == 1 ? CSREC_OK : CSREC_DATA);
    }
}

/* The scale of an axis of a dataset, or a label of it; whether the axis is time by that. */
static bool put_axis(hid_t file, hid_t dataset, int rank, int axis, hsize_t extent, int way) {
    static const char *const keys[] = {"standard_name", "axis", "units", "units", "axis"};
    static const char *const values[] = {"time", "T", "hours since 2000-01-01", "m", "Z"};
    const char *name = way == 0 ? "/time" : way == 1 ? "/Time" : "/u";
    hvl_t axes[4] = {{0, NULL}};
    char *labels[4] = {"", "", "", ""};
    hobj_ref_t to;
    ENDS_BY(close_id)
    hid_t space = H5Screate_simple(1, &extent, NULL), list = H5Tvlen_create(H5T_STD_REF_OBJ),
          text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    labels[axis] = way == 8 ? "t" : "time";
    if (way >= 7) put_numbers(dataset, "DIMENSION_LABELS", text, rank, text, labels);
    if (way >= 7) return way == 7;
    ENDS_BY(close_id)
    hid_t scale =
        H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_text(scale, "CLASS", "DIMENSION_SCALE", toss());
    if (way >= 2) put_text(scale, keys[way - 2], values[way - 2], toss());
    H5Rcreate(&to, file, name, H5R_OBJECT, -1);
    axes[axis] = (hvl_t){1, &to};
    put_numbers(dataset, "DIMENSION_LIST", list, rank, list, axes);
    return way < 5;
}

TEST(time_is_told) {
    const char *path = io_path("time.nc");
    for (int trial = 0; trial < 9 * 6 * 3; trial++) {
        const int way = trial % 9, axis = trial / 9 % 3, ones = trial / 27 % 2,
                  taken = trial / 54; /* 0: as it is, 1: as a volume, 2: as labels */
        const hsize_t extent[4] = {1, 5, 6, 7};
        csrec_facts facts = {.note = ""};
        CLEARED(csrec_measurement) m = {0};
        float values[210];
        for (int i = 0; i < 210; i++) values[i] = i % 3 ? (float)i : NAN;
        hid_t file = new_file(path), space = H5Screate_simple(3 + ones, extent + !ones, NULL);
        hid_t dataset =
            H5Dcreate2(file, "/f", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        const bool time =
            put_axis(file, dataset, 3 + ones, axis + ones, extent[1 + axis], way) && !taken;
        H5Sclose(space);
        H5Fclose(file);
        const csrec_read_options options = {
            .volume = taken == 1, .labels = taken == 2, .facts = &facts};
        char named[256];
        snprintf(named, sizeof named, "%s:/f", path);
        assert_ok(csrec_measurement_read_with(named, &options, &m, NULL));
        assert_int_equal(facts.time, time ? axis + 1 : 0);
        assert_int_equal(m.sequence, time && axis == 0);
    }
}

TEST(other_files_are_told_by_name) {
    static const struct {
        const char *bytes, *what;
        size_t size;
    } others[] = {{"CDF\1\0\0\0\0\0", "nccopy -k nc4", 9},
                  {"CDF\2\0\0\0\0\0", "nccopy -k nc4", 9},
                  {"CDF\5\0\0\0\0\0", "nccopy -k nc4", 9},
                  {"\x0e\x03\x13\x01\0\0", "h4toh5", 6},
                  {"MATLAB 5.0 MAT-file, Platform: GLNXA64\0\1IM", "-v7.3", 42}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const char *path = io_save("other.nc", others[k].bytes, others[k].size);
        expect_failure(path, "", CSREC_UNSUPPORTED, others[k].what);
    }
    const char *path = io_save("text.csv", "1,2\n3,4\n", 8);
    expect_failure(path, ":/data", CSREC_FORMAT, "no HDF5");
}

/* The first place at or after `from` where the bytes are; b->size: none. */
static size_t find(const io_bytes *b, const char *bytes, size_t from) {
    size_t size = strlen(bytes);
    for (size_t at = from; at + size <= b->size; at++)
        if (memcmp(b->data + at, bytes, size) == 0) return at;
    return b->size;
}

TEST(truncated_files_are_one_line) {
    for (int trial = 0; trial < KINDS; trial++) {
        const char *path = io_path("whole.h5");
        ENDS_BY(free_drawn) drawn d = draw(trial);
        save_drawn(path, &d);
        ENDS_BY(io_free) io_bytes b = io_load(path);
        expect_cuts(&csrec_hdf5_format, &b, 30, &seed);
    }
}

static io_bytes old_file(void) {
    const char *path = io_path("old.h5");
    const hsize_t extent[2] = {40, 30}, chunk[2] = {16, 16};
    int32_t values[1200];
    for (int i = 0; i < 1200; i++) values[i] = (int32_t)check_below(&seed, 100);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ENDS_BY(close_id)
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extent, NULL);
    H5Pset_chunk(creation, 2, chunk);
    if (toss()) H5Pset_deflate(creation, 6);
    if (toss()) H5Pset_shuffle(creation);
    if (toss()) H5Pset_fletcher32(creation);
    hid_t dataset = H5Dcreate2(file, "d", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    put_text(file, "default", "d", true);
    put_text(dataset, "CLASS", "something else", true);
    H5Dclose(dataset);
    H5Fclose(file);
    return io_load(path);
}

/* The index of chunks and the heap of texts have sizes that libhdf5 trusts. */
TEST(damaged_sizes_are_one_line) {
    for (int trial = 0; trial < SANITIZED_SHARE(20); trial++) {
        ENDS_BY(io_free) io_bytes b = old_file();
        size_t heap = find(&b, "GCOL", 0), tree = find(&b, "TREE", 0);
        while (tree < b.size && b.data[tree + 4] != 1) tree = find(&b, "TREE", tree + 4);
        assert_true(heap + 64 < b.size && tree + 24 + 6 * 40 < b.size);
        for (int k = 0; k < 400; k++) { /* a key: size, mask, place; the address of its chunk */
            size_t at =
                tree + 24 + 40 * (size_t)check_below(&seed, 6) + (size_t)check_below(&seed, 8);
            if (k % 4 == 1) at = heap + (size_t)check_below(&seed, 64);
            if (k % 4 == 2) at = heap + 4 + (size_t)check_below(&seed, 12);
            if (k % 4 == 3) at = tree + 24 + 4096 / 2 + (size_t)check_below(&seed, 512);
            if (at >= b.size) continue;
            expect_harmless(&csrec_hdf5_format, &b, at, (uint8_t)check_next(&seed));
        }
    }
}

/* Chunks have checksums, so that no changed byte of theirs gives other values. */
TEST(checksums_are_checked) {
    const char *path = io_path("sums.h5");
    for (int trial = 0; trial < SANITIZED_SHARE(40); trial++) {
        ENDS_BY(free_drawn) drawn d = draw(trial % HALF);
        csrec_image image = {0};
        csrec_error error = {""};
        ENDS_BY(close_id) hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        hid_t file = new_file(path);
        memcpy(d.chunk, d.extent, sizeof d.chunk);
        H5Pset_chunk(creation, d.rank, d.chunk);
        H5Pset_fletcher32(creation);
        hid_t dataset = put_dataset(file, "/d", &d, creation);
        haddr_t at = 0;
        hsize_t size = 0, block = 0, start[6] = {0};
        hid_t files = H5Fget_create_plist(file);
        H5Pget_userblock(files, &block);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        assert_true(H5Dget_chunk_info_by_coord(dataset, start, NULL, &at, &size) >= 0);
        H5Pclose(files);
        H5Fclose(file);
        ENDS_BY(io_free) io_bytes b = io_load(path);
        b.data[block + at + (size_t)check_below(&seed, (int64_t)size)] ^= 1;
        csrec_input input = csrec_input_memory(b.data, b.size, "t.h5");
        assert_int_equal(csrec_hdf5_format.signal(&input, &image, &error), CSREC_FORMAT);
        io_assert_line(&error, "t.h5", "damaged");
    }
}

FIXTURE(io_setup, io_teardown);
