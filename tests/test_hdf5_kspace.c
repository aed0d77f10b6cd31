/* SPDX-License-Identifier: BSD-3-Clause */
/* test_hdf5_kspace.c - k-space of fastMRI and ISMRMRD in files that libhdf5 makes here; what is
 * wrong in them is one line. The Python tests read files of ismrmrd and h5py. */
#include <hdf5.h>

#include "io_file.h"

SEED(seed);

enum { X = 8, Y = 6, COILS = 2, SLICES = 3 };

static const char xml[] =
    "<a><encoding><encodedSpace><matrixSize><x>8</x><y>6</y><z>1</z></matrixSize></encodedSpace>"
    "<reconSpace><matrixSize><x>8</x><y>6</y><z>1</z></matrixSize></reconSpace></encoding></a>";

static hid_t create(const char *name) {
    return H5Fcreate(io_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

static void put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *extent,
                const void *values) {
    const hid_t space = rank ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t set = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(links);
    H5Sclose(space);
}

static void put_text(hid_t file, const char *name, const char *text, bool variable) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    put(file, name, type, 0, NULL, variable ? (const void *)&text : text);
    H5Tclose(type);
}

static csrec_measurement accept(const char *name, int64_t slice) {
    csrec_measurement m;
    const csrec_read_options o = {.coils = "none", .has_slice = slice >= 0, .slice = slice};
    assert_well(csrec_measurement_read_with(io_path(name), &o, &m, &told));
    return m;
}

static void refuse(const char *name, const char *words) {
    csrec_measurement m;
    csrec_error error = {""};
    const csrec_read_options o = {.coils = "none"};
    assert_int_not_equal(csrec_measurement_read_with(io_path(name), &o, &m, &error), CSREC_OK);
    io_assert_line(&error, io_path(name), words);
}

TEST(slices_of_fastmri) {
    const hsize_t extent[4] = {SLICES, COILS, Y, X}, columns = X;
    const int64_t n = SLICES * COILS * Y * X;
    float *k = check_keep((size_t)n * 8);
    uint8_t mask[X] = {1, 0, 0, 1, 1, 0, 1, 0};
    for (int64_t i = 0; i < 2 * n; i++) k[i] = (float)check_normal(&seed);
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(pair, "i", 4, H5T_NATIVE_FLOAT);
    hid_t file = create("f.h5");
    put(file, "kspace", pair, 4, extent, k);
    put(file, "mask", H5T_NATIVE_UINT8, 1, &columns, mask);
    put_text(file, "ismrmrd_header", xml, true);
    H5Fclose(file);
    CLEARED(csrec_measurement) m = accept("f.h5", 2);
    assert_int_equal(m.n, 4 * Y);
    assert_int_equal(m.channels, COILS);
    for (int64_t i = 0; i < 2 * m.n * COILS; i++) {
        const int64_t at = (2 * COILS + i / 2 % COILS) * X * Y + m.index[i / 2 / COILS];
        assert_true(mask[m.index[i / 2 / COILS] % X] == 1);
        assert_true(m.y[i] == (double)k[2 * at + i % 2]);
    }
    file = create("g.h5"); /* one slice has no choice; a mask of another size */
    put(file, "kspace", pair, 3, (hsize_t[]){1, Y, X}, k);
    put(file, "mask", H5T_NATIVE_UINT8, 1, (hsize_t[]){5}, mask);
    H5Fclose(file);
    file = create("e.h5");
    put(file, "kspace", pair, 4, (hsize_t[]){0, COILS, Y, X}, k);
    H5Fclose(file);
    H5Tclose(pair);
    refuse("e.h5", "has no slices");
    refuse("g.h5", "/mask has 5 values");
}

/* What a head has here, a part of what ISMRMRD has; the type in the file is this one. */
typedef struct line {
    uint64_t flags;
    uint16_t samples, channels, center, pre, post, space;
    float dwell;
    uint16_t idx[7]; /* step 1, step 2, slice, contrast, phase, repetition, set */
    hvl_t data;
} line;

static hid_t line_type(void) {
    static const char *const heads[] = {"number_of_samples", "active_channels",
                                        "center_sample",     "discard_pre",
                                        "discard_post",      "encoding_space_ref"};
    static const char *const indices[] = {"kspace_encode_step_1",
                                          "kspace_encode_step_2",
                                          "slice",
                                          "contrast",
                                          "phase",
                                          "repetition",
                                          "set"};
    const hid_t idx = H5Tcreate(H5T_COMPOUND, 14), floats = H5Tvlen_create(H5T_NATIVE_FLOAT);
    const hid_t head = H5Tcreate(H5T_COMPOUND, offsetof(line, data));
    const hid_t whole = H5Tcreate(H5T_COMPOUND, sizeof(line));
    for (size_t k = 0; k < 7; k++) H5Tinsert(idx, indices[k], 2 * k, H5T_NATIVE_UINT16);
    for (size_t k = 0; k < 6; k++)
        H5Tinsert(head, heads[k], offsetof(line, samples) + 2 * k, H5T_NATIVE_UINT16);
    H5Tinsert(head, "flags", 0, H5T_NATIVE_UINT64);
    H5Tinsert(head, "sample_time_us", offsetof(line, dwell), H5T_NATIVE_FLOAT);
    H5Tinsert(head, "idx", offsetof(line, idx), idx);
    H5Tinsert(whole, "head", 0, head);
    H5Tinsert(whole, "data", offsetof(line, data), floats);
    H5Tclose(idx);
    H5Tclose(head);
    H5Tclose(floats);
    return whole;
}

static void save_lines(const char *name, const char *header, int n, const line *lines) {
    const hid_t type = line_type(), file = create(name);
    const hsize_t count = (hsize_t)n;
    put(file, "dataset/data", type, 1, &count, lines);
    put_text(file, "dataset/xml", header, false);
    H5Tclose(type);
    H5Fclose(file);
}

TEST(lines_of_ismrmrd) {
    float data[4][2 * X * COILS], zeros[2 * X * COILS] = {0};
    line good[6], bad[4];
    for (int i = 0; i < 8 * X * COILS; i++)
        data[i / (2 * X * COILS)][i % (2 * X * COILS)] = (float)check_normal(&seed);
    for (int k = 0; k < 6; k++)
        good[k] = (line){.samples = X,
                         .channels = COILS,
                         .idx = {(uint16_t)(k % 3)},
                         .data = {2 * X * COILS, k < 4 ? data[k] : zeros}}; /* lines 0 1 2 0 1 2 */
    good[5].idx[0] = 3;
    save_lines("m.h5", xml, 6, good); /* zeros neither count in the means nor as measured */
    CLEARED(csrec_measurement) m = accept("m.h5", -1);
    assert_int_equal(m.n, 3 * X);
    for (int64_t i = 0; i < 2 * m.n * COILS; i++) {
        const int64_t x = m.index[i / 2 / COILS] % X, y = m.index[i / 2 / COILS] / X;
        const int64_t at = 2 * (i / 2 % COILS * X + x) + i % 2;
        const double mean = ((double)data[0][at] + (double)data[3][at]) / 2.0;
        assert_true(fabs(m.y[i] - (y ? (double)data[y][at] : mean)) < 1e-6);
    }
    static const struct {
        int field; /* 0: channels, 1: numbers, 2: line, 3: all are noise */
        const char *words;
    } cases[] = {{0, "lines of 1 and of"},
                 {1, "a line has 3 numbers"},
                 {2, "correct encodedSpace"},
                 {3, "no line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bad, good, sizeof bad);
        if (i == 0) bad[1].channels = 1;
        if (i == 1) bad[1].data.len = 3;
        if (i == 2) bad[1].idx[0] = Y;
        for (int k = 0; k < 4 && i == 3; k++) bad[k].flags = UINT64_C(1) << 18;
        save_lines("b.h5", xml, 4, bad);
        refuse("b.h5", cases[i].words);
    }
    save_lines("b.h5", "<a/>", 4, good);
    refuse("b.h5", "no encodedSpace");
    char spiral[1024];
    snprintf(spiral, sizeof spiral, "%s<trajectory>spiral</trajectory>", xml);
    save_lines("b.h5", spiral, 4, good);
    refuse("b.h5", "0 numbers of a trajectory");
}

FIXTURE(io_setup, io_teardown);
