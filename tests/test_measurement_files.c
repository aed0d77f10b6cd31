/* SPDX-License-Identifier: BSD-3-Clause */
/* test_measurement_files.c - measurements as pictures and texts, their checks, and written ones. */
#include "samples.h" /* before what declares `seed`, a name of its arguments */
#include "io_measurement.h"
#include "io_png.h"

#include "files/measurement.h"

TEST(reads_transparent_pictures) {
    const uint16_t samples[12] = {10, 255, 20, 0, 30, 7, 40, 0, 50, 1, 0, 255};
    io_png png = {.width = 3, .height = 2, .bits = 8, .color = IO_GRAY_ALPHA, .samples = samples};
    const int64_t index[] = {0, 2, 4, 5};
    const double y[] = {10, 30, 50, 0};
    csrec_measurement m = accept(io_keep("a.png", io_png_make(&png)), NULL);
    assert_int_equal(m.shape.dim[0], 2);
    assert_int_equal(m.dtype, CSREC_U8);
    assert_true(m.scale[0] == 0 && m.scale[1] == 255);
    expect(m, 4, 1, index, y);
}

TEST(reads_pictures_with_masks) {
    uint16_t samples[18], mask_samples[6] = {0, 1, 0, 0, 3, 1};
    for (int i = 0; i < 18; i++) samples[i] = (uint16_t)check_next(&seed);
    io_png png = {.width = 3, .height = 2, .bits = 16, .color = IO_RGB, .samples = samples};
    io_png mask = {.width = 3, .height = 2, .bits = 2, .color = IO_GRAY, .samples = mask_samples};
    uint8_t known[] = {0, 1, 0, 0, 1, 1};
    const char *path = io_keep("p.png", io_png_make(&png)), *masks[2];
    masks[0] = io_keep("mask.png", io_png_make(&mask));
    masks[1] = io_keep("mask.npy", io_npy_u1("|b1", "(2, 3)", 6, known));
    const int64_t index[] = {1, 4, 5};
    double y[9];
    for (int k = 0; k < 9; k++) y[k] = samples[index[k / 3] * 3 + k % 3];
    for (int i = 0; i < 2; i++) {
        csrec_measurement m = accept(path, masks[i]);
        assert_int_equal(m.dtype, CSREC_U16);
        assert_true(m.scale[1] == 65535);
        expect(m, 3, 3, index, y);
    }
    refuse_file(path, NULL, "no transparent pixels");
    refuse_file(path, path + 1, "cannot be opened");
    refuse_file(path, io_keep("wide.npy", io_npy_u1("|b1", "(3, 2)", 6, known)), "2 x 3");
    memset(known, 0, sizeof known);
    refuse_file(path, io_keep("none.npy", io_npy_u1("|b1", "(2, 3)", 6, known)), "marks no pixel");
    refuse_file(path, io_keep("float.npy", io_npy_f8(6, (double[6]){0})), "astype(bool)");
    refuse_file(path, io_save("text.csv", "1,2,3", 5), "no whole signal");
}

/* An array of random shape and type, whose unknown values are NaN or of a value, or outside of a
 * mask, against a plain count: each in its channel. */
typedef struct whole {
    csrec_array array;
    int64_t entries, channels, n, *index;
    double unknown, *y;
    bool *marked; /* by the mask */
} whole;

static whole make_whole(bool floats, bool channels_last, bool masked) {
    whole w = {
        .unknown = 7.0, .entries = 1, .channels = channels_last ? 1 + check_below(&seed, 3) : 1};
    csrec_shape shape = {1 + (int)check_below(&seed, 3), {0}};
    for (int a = 0; a < shape.dims; a++) w.entries *= shape.dim[a] = 1 + check_below(&seed, 9);
    if (channels_last) shape.dim[shape.dims++] = w.channels;
    assert_ok(csrec_array_create(floats ? CSREC_F32 : CSREC_I16, &shape, &w.array));
    w.index = check_keep((size_t)w.entries * sizeof *w.index);
    w.y = check_keep((size_t)w.array.count * sizeof *w.y);
    w.marked = check_keep((size_t)w.entries * sizeof *w.marked);
    for (int64_t i = 0; i < w.entries; i++) {
        bool any = false;
        w.marked[i] = !masked || check_below(&seed, 4) || i == 0;
        for (int64_t c = 0; c < w.channels; c++) {
            double v = (double)check_below(&seed, 10);
            if (floats && i && check_below(&seed, 9) == 0) v = NAN;
            if (i == 0) v = 1.0; /* one is known */
            const bool known = w.marked[i] && !isnan(v) && v != w.unknown;
            any = any || known;
            w.y[w.n * w.channels + c] = known ? v : NAN;
            if (floats)
                ((float *)w.array.data)[i * w.channels + c] = (float)v;
            else
                ((int16_t *)w.array.data)[i * w.channels + c] = (int16_t)v;
        }
        if (any) w.index[w.n++] = i;
    }
    return w;
}

static void whole_clear(whole *w) {
    csrec_array_clear(&w->array);
}

TEST(reads_known_entries_of_arrays) {
    for (int round = 0; round < 200; round++) {
        bool masked = round / 4 % 2;
        ENDS_BY(whole_clear) whole w = make_whole(round % 2, round / 2 % 2, masked);
        csrec_read_options options = {.channels_last = round / 2 % 2,
                                      .volume = true,
                                      .has_unknown = true,
                                      .unknown = w.unknown};
        csrec_measurement m;
        assert_ok(csrec_array_write(io_path("whole.npy"), &w.array, NULL));
        if (masked) {
            csrec_shape shape = w.array.shape;
            if (options.channels_last) shape.dims--;
            csrec_array mask = {CSREC_BOOL, shape, w.entries, w.marked};
            assert_ok(csrec_array_write(io_path("mask.npy"), &mask, NULL));
            options.mask = io_path("mask.npy");
        }
        assert_well(csrec_measurement_read_with(io_path("whole.npy"), &options, &m, &told));
        assert_int_equal(m.shape.dims, w.array.shape.dims - options.channels_last);
        assert_int_equal(m.dtype, w.array.dtype);
        expect(m, w.n, w.channels, w.index, w.y);
    }
}

TEST(refuses_arrays_without_samples) {
    const char *path = io_keep("all.npy", io_npy_u1("|u1", "(3,)", 3, (uint8_t[]){1, 2, 3}));
    refuse_file(path, NULL, "nothing tells which entries are known");
    path = io_keep("none.npy", io_npy_f8(3, (double[]){NAN, NAN, -INFINITY}));
    refuse_file(path, NULL, "no entry is known");
    path = io_keep("inf.npy", io_npy_f8(3, (double[]){NAN, INFINITY, 2}));
    expect(accept(path, NULL), 1, 1, &(int64_t){2}, &(double){2});
    path = io_keep("whole.npy", io_npy_f8(2, (double[]){1, 2}));
    expect(accept(path, NULL), 2, 1, (int64_t[]){0, 1}, (double[]){1, 2});
    path = io_keep("line.npy", io_npy_f8(3, (double[]){NAN, 1, 2}));
    const char *two = io_keep("two.npy", io_npy_u1("|b1", "(2,)", 2, (uint8_t[]){1, 1}));
    refuse_file(path, two, "not that of the array");
    const csrec_read_options with[] = {{.mask = "two.npy"}, {.channels_last = true}};
    const char *const words[] = {"mask", "axis of channels"};
    csrec_measurement m;
    const char *points = io_save("c.csv", "1,2,5\n", 6);
    for (int k = 0; k < 2; k++)
        assert_refused(csrec_measurement_read_with(points, &with[k], &m, &told), CSREC_ARGUMENT,
                       words[k]);
    assert_refused(csrec_measurement_read_with(path, &with[1], &m, &told), CSREC_DATA,
                   "no axis for channels");
}

/* Each under a wrong extension: the content decides. */
TEST(finds_the_format_from_the_content) {
    const char *npy = io_keep("npy.npz", io_npy_u1("|u1", "(2,)", 2, (uint8_t[]){1, 2}));
    expect(accept(io_save("csv.png", "1,2,5\n", 6), NULL), 1, 1, &(int64_t){5}, &(double){5});
    refuse_file(npy, NULL, "nothing tells which");
    refuse_file(io_save("empty.npz", "", 0), NULL, "is empty");
    refuse_file(io_save("other.npz", "\1\2\3\4", 4), NULL, "is none of .npz, PNG, ");
    refuse_file(io_save("text.npz", "hello\n", 6), NULL, "not a zip");
    refuse_file(io_save("text.csv", "hello\n", 6), NULL, "line 1");
    refuse_file(io_save("zip.csv", "PK\5\6", 4), NULL, "zip");
    refuse_file(io_path("missing.npz"), NULL, "No such file");
    refuse_file(io_save("c.csv", "1,2,5\n", 6), "mask.png", "mask");
}

/* The first repetition by looking at every pair. */
TEST(finds_the_first_repetition) {
    for (int trial = 0; trial < 2000; trial++) {
        int64_t n = 1 + check_below(&seed, 60), range = 1 + check_below(&seed, 2000), fault = -1;
        int64_t index[60], entries = trial & 1 ? INT64_C(1) << 50 : range, stride = entries / range;
        for (int64_t k = 0; k < n; k++) index[k] = check_below(&seed, range) * stride;
        int64_t expected = -1;
        for (int64_t k = n; k-- > 0;)
            for (int64_t j = 0; j < k; j++)
                if (index[j] == index[k]) expected = k;
        csrec_status status = csrec_positions_check(n, index, entries, &fault);
        assert_int_equal(status, expected < 0 ? CSREC_OK : CSREC_DATA);
        if (expected >= 0) assert_int_equal(fault, expected);
    }
}

static csrec_measurement random_measurement(csrec_dtype dtype, int64_t n, int channels) {
    csrec_measurement m = {.shape = {3, {10, n, 2}}, .n = n, .channels = channels, .dtype = dtype};
    m.index = malloc((size_t)n * 8);
    m.y = malloc((size_t)(n * channels) * 8);
    for (int64_t k = 0; k < n; k++) m.index[k] = (n - 1 - k) * 20 + check_below(&seed, 20);
    for (int64_t i = 0; i < n * channels; i++)
        m.y[i] = dtype == CSREC_F64   ? check_uniform(&seed)
                 : dtype == CSREC_F32 ? (float)check_uniform(&seed)
                                      : (double)check_below(&seed, dtype == CSREC_BOOL ? 2 : 128);
    m.sigma = check_next(&seed) & 1 ? check_uniform(&seed) : 0;
    m.scale[1] = check_next(&seed) & 1 ? 100 : 0;
    return m;
}

TEST(written_measurements_come_back) {
    io_empty_folder();
    for (int trial = 0; trial < 110; trial++) {
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m =
            random_measurement((csrec_dtype)(trial % 11), 1 + trial, 1 + trial % 3);
        assert_ok(csrec_measurement_write(io_path("w.npz"), &m, trial & 1, NULL));
        csrec_measurement back = accept(io_path("w.npz"), NULL);
        assert_int_equal(back.dtype, m.dtype);
        assert_int_equal(back.shape.dims, m.shape.dims);
        assert_memory_equal(back.shape.dim, m.shape.dim,
                            (size_t)m.shape.dims * sizeof *m.shape.dim);
        assert_true(back.sigma == m.sigma && back.scale[1] == m.scale[1]);
        expect(back, m.n, m.channels, m.index, m.y);
    }
    assert_int_equal(io_count_files(), 1);
}

TEST(procedural_files_hold_no_positions) {
    io_empty_folder();
    for (int p = CSREC_PATTERN_UNIFORM; p <= CSREC_PATTERN_JITTER; p++) {
        const uint64_t key = check_next(&seed);
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m =
            draw_places(&(csrec_shape){2, {40, 50}}, 1, (csrec_pattern)p, 300, key);
        m.dtype = CSREC_F32;
        m.pattern = (csrec_pattern)p;
        m.seed = key;
        m.count = 300;
        csrec_array array;
        for (int64_t k = 0; k < m.n; k++) m.y[k] = (float)check_uniform(&seed);
        assert_ok(csrec_measurement_write(io_path("p.npz"), &m, true, NULL));
        assert_int_not_equal(csrec_npz_read(io_path("p.npz"), "index", &array, NULL), CSREC_OK);
        csrec_measurement back = accept(io_path("p.npz"), NULL);
        assert_int_equal(back.pattern, p);
        assert_true(back.seed == m.seed && back.count == m.count);
        expect(back, m.n, 1, m.index, m.y);
        assert_ok(csrec_measurement_write(io_path("p.npz"), &m, false, NULL));
        expect(accept(io_path("p.npz"), NULL), m.n, 1, m.index, m.y);
        io_empty_folder();
        m.seed++; /* no longer what the positions were drawn with */
        io_refused(csrec_measurement_write(io_path("p.npz"), &m, true, &error), CSREC_DATA, "p.npz",
                   "pattern");
        assert_int_equal(io_count_files(), 0);
    }
}

TEST(refuses_values_that_do_not_fit) {
    io_empty_folder();
    static const struct {
        csrec_dtype dtype;
        double value;
    } cases[] = {{CSREC_U8, 256},       {CSREC_U8, -1},      {CSREC_U8, 1.5},
                 {CSREC_I8, 128},       {CSREC_I8, -129},    {CSREC_BOOL, 2},
                 {CSREC_U64, 0x1p64},   {CSREC_I64, 0x1p63}, {CSREC_F32, 1e39},
                 {CSREC_U16, 0x1p16},   {CSREC_I32, 0x1p31}, {CSREC_U32, -1},
                 {CSREC_F64, INFINITY}, {CSREC_F32, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLEARED(csrec_measurement) m = random_measurement(cases[i].dtype, 4, 1);
        m.y[2] = cases[i].value;
        io_refused(csrec_measurement_write(io_path("v.npz"), &m, false, &error), CSREC_DATA,
                   "v.npz", "sample 2 is");
    }
    assert_int_equal(io_count_files(), 0);
}

static bool write_fails(const char *path) {
    uint64_t before = seed;
    CLEARED(csrec_measurement) m = random_measurement(CSREC_F64, 5000, 1);
    csrec_error error = {""};
    csrec_status status = csrec_measurement_write(path, &m, false, &error);
    seed = before;
    return status == CSREC_FILE && strstr(error.text, path) && strstr(error.text, "disk");
}

TEST(full_disk_leaves_nothing) {
    io_expect_full_disk(write_fails, "f.npz", 2, (const rlim_t[]){0, 30000});
}

static bool copy_through(void) {
    CLEARED(csrec_measurement) m = {0};
    return csrec_measurement_read("-", NULL, &m, NULL) == CSREC_OK &&
           csrec_measurement_write("-", &m, false, NULL) == CSREC_OK;
}

TEST(stdin_takes_every_format) {
    io_save("in.csv", "# shape: 4,5\n3,4,2\n0,1,3\n", 24);
    assert_true(io_with_pipes(io_path("in.csv"), io_path("one.npz"), copy_through));
    assert_true(io_with_pipes(io_path("one.npz"), io_path("two.npz"), copy_through));
    csrec_measurement m = accept(io_path("two.npz"), NULL);
    assert_int_equal(m.shape.dim[0], 4);
    expect(m, 2, 1, (int64_t[]){19, 1}, (double[]){2, 3});
}

/* The memory of a process can be opened, but nothing is at its first address. */
TEST(tells_what_cannot_be_read_from_what_is_empty) {
    static const char unreadable[] = "/proc/self/mem";
    csrec_measurement m;
    const char *empty = check_print("%s/empty", io_folder);
    fclose(fopen(empty, "wb"));
    assert_refused(csrec_measurement_read(empty, NULL, &m, &told), CSREC_FORMAT, "is empty");
    io_empty_folder();
    if (access(unreadable, R_OK)) skip();
    assert_refused(csrec_measurement_read(unreadable, NULL, &m, &told), CSREC_FILE,
                   "/proc/self/mem: cannot be read (Input/output error)");
}

FIXTURE(io_setup, io_teardown);
