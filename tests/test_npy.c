/* SPDX-License-Identifier: BSD-3-Clause */
/* test_npy.c - .npy files against bytes built by hand from the format's description. */
#include "io_npy.h"

#include "base/memory.h"
#include "files/npy/npy.h"

SEED(seed);

/* Element i of the pattern that fills the arrays, as bits of the type. */
static const struct {
    csrec_dtype dtype;
    const char *code;
    int bytes;
} types[] = {
#define ROW(name, type, code, bytes) {CSREC_##name, code, bytes},
    CSREC_DTYPE_LIST(ROW)
#undef ROW
};
enum { TYPES = sizeof types / sizeof types[0] };

/* What the bits mean, decided here again and not by the library. */
static double meaning(int type, uint64_t bits) {
    float f;
    double d;
    const uint32_t half = (uint32_t)bits;
    const int size = types[type].bytes;
    const char kind = types[type].code[0];
    memcpy(&f, &half, 4);
    memcpy(&d, &bits, 8);
    if (kind == 'f') return size == 4 ? (double)f : d;
    if (kind == 'b') return bits ? 1 : 0;
    if (kind == 'u' || !(bits >> (8 * size - 1))) return (double)bits;
    return -(double)((~bits + 1) << (64 - 8 * size) >> (64 - 8 * size));
}

static uint64_t random_bits(csrec_dtype dtype, int bytes) {
    uint64_t bits = check_next(&seed);
    if (dtype == CSREC_BOOL) return bits & 1;
    if (bytes < 8) bits &= (UINT64_C(1) << 8 * bytes) - 1;
    if (dtype == CSREC_F32) bits &= ~UINT64_C(0x40000000); /* small exponents: finite */
    if (dtype == CSREC_F64) bits &= ~(UINT64_C(1) << 62);
    return bits;
}

/* Every type, both byte orders, both axis orders, versions 1 to 3, 0 to 4 axes. */
TEST(reads_every_layout) {
    for (int trial = 0; trial < 2000; trial++) {
        int type = (int)check_below(&seed, TYPES), dims = (int)check_below(&seed, 5);
        bool big = check_next(&seed) & 1, fortran = check_next(&seed) & 1;
        int64_t dim[4] = {1, 1, 1, 1}, count = 1;
        char text[128] = "(";
        for (int d = 0; d < dims; d++) {
            dim[d] = 1 + check_below(&seed, 6);
            count *= dim[d];
            sprintf(text + strlen(text), d + 1 < dims ? "%d, " : "%d,", (int)dim[d]);
        }
        strcat(text, ")");
        const char *descr = check_print("%c%s",
                                        types[type].bytes == 1 ? '|'
                                        : big                  ? '>'
                                                               : '<',
                                        types[type].code);
        ENDS_BY(io_free) io_bytes b = {0};
        io_npy_header(&b, 1 + (int)check_below(&seed, 3), descr, fortran, text);
        OWNED uint64_t *bits = malloc((size_t)count * 8);
        for (int64_t i = 0; i < count; i++) {
            bits[i] = random_bits(types[type].dtype, types[type].bytes);
            if (big)
                io_put_be(&b, bits[i], types[type].bytes);
            else
                io_put_le(&b, bits[i], types[type].bytes);
        }
        CLEARED(csrec_array) array;
        assert_well(csrec_array_parse(b.data, b.size, "a.npy", &array, &told));
        assert_int_equal(array.dtype, types[type].dtype);
        assert_int_equal(array.shape.dims, dims);
        assert_int_equal(array.count, count);
        for (int64_t i = 0; i < count; i++) { /* C-order i -> position -> place in the file */
            int64_t position[4] = {0}, rest = i, place = 0;
            for (int d = dims; d-- > 0; rest /= dim[d]) position[d] = rest % dim[d];
            for (int d = dims; d-- > 0;) place = place * dim[d] + position[d];
            assert_true(csrec_array_value(&array, i) == meaning(type, bits[fortran ? place : i]));
        }
    }
}

/* The order of bytes that NumPy's format calls this machine's. */
static const char host_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

/* What is written, parsed here by hand. */
TEST(writes_the_format) {
    for (int type = 0; type < TYPES; type++) {
        CLEARED(csrec_array) array;
        csrec_shape shape = {2, {2, 3}};
        assert_ok(csrec_array_create(types[type].dtype, &shape, &array));
        for (int i = 0; i < 6 * types[type].bytes; i++)
            ((uint8_t *)array.data)[i] = (uint8_t)check_next(&seed) & 1;
        assert_ok(csrec_array_write(io_path("w.npy"), &array, NULL));
        ENDS_BY(io_free) io_bytes b = io_load(io_path("w.npy"));
        size_t head = 10 + b.data[8] + 256u * b.data[9];
        assert_memory_equal(b.data, "\x93NUMPY\1\0", 8);
        assert_int_equal(head % 64, 0);
        assert_int_equal(b.data[head - 1], '\n');
        assert_int_equal(b.size, head + 6 * (size_t)types[type].bytes);
        const char *expected =
            check_print("{'descr': '%c%s', 'fortran_order': False, 'shape': (2, 3), }",
                        types[type].bytes == 1 ? '|' : host_order, types[type].code);
        assert_memory_equal(b.data + 10, expected, strlen(expected));
        assert_memory_equal(b.data + head, array.data, 6 * (size_t)types[type].bytes);
    }
}

TEST(scalars_and_long_shapes_round_trip) {
    csrec_shape shapes[] = {{0}, {1, {5}}, {8, {1, 2, 1, 3, 1, 1, 2, 1}}};
    for (int i = 0; i < 3; i++) {
        CLEARED(csrec_array) out, in;
        assert_ok(csrec_array_create(CSREC_F64, &shapes[i], &out));
        for (int64_t k = 0; k < out.count; k++) ((double *)out.data)[k] = check_uniform(&seed);
        assert_ok(csrec_array_write(io_path("s.npy"), &out, NULL));
        assert_ok(csrec_array_read(io_path("s.npy"), &in, NULL));
        assert_int_equal(in.shape.dims, shapes[i].dims);
        assert_memory_equal(in.shape.dim, shapes[i].dim, (size_t)shapes[i].dims * 8);
        assert_memory_equal(in.data, out.data, (size_t)out.count * 8);
    }
}

static void refuse(int version, const char *dictionary, size_t data, const char *part) {
    ENDS_BY(io_free) io_bytes b = {0};
    csrec_array array;
    csrec_error error = {""};
    io_npy_raw(&b, version, dictionary);
    for (size_t i = 0; i < data; i++) io_put_le(&b, 0, 1);
    assert_int_not_equal(csrec_array_parse(b.data, b.size, "x.npy", &array, &error), CSREC_OK);
    io_assert_line(&error, "x.npy", part);
}

#define DICT(descr, shape) "{'descr': " descr ", 'fortran_order': False, 'shape': " shape ", }"

TEST(refuses_other_types_with_a_remedy) {
    refuse(1, DICT("'<f16'", "(1,)"), 16, "astype(np.float32)");
    refuse(1, DICT("'<c32'", "(1,)"), 32, "complex64");
    refuse(1, DICT("'|O'", "(1,)"), 40, "astype(np.float32)");
    refuse(1, DICT("'<M8[ns]'", "(1,)"), 8, "np.int64");
    refuse(1, DICT("'|V8'", "(1,)"), 8, "array of its own");
    refuse(1, DICT("'<U3'", "(1,)"), 12, "numbers");
    refuse(1, DICT("[('a', '<f4'), ('b', '<i4')]", "(1,)"), 8, "array of its own");
    refuse(1, DICT("'<q'", "(1,)"), 8, "astype");
}

TEST(refuses_wrong_sizes_before_allocating) {
    refuse(1, DICT("'<f8'", "(2,)"), 8, "truncated");
    refuse(1, DICT("'<f8'", "(2,)"), 24, "24 are present");
    refuse(1, DICT("'<f8'", "(0,)"), 0, "empty");
    refuse(1, DICT("'<f8'", "(3, 0)"), 0, "empty");
    refuse(1, DICT("'<f8'", "(1000000000000, 1000000000000)"), 8, "truncated");
    /* 2^32 * 2^32 wraps to 0, 2^61 * 8 wraps to 0 */
    refuse(1, DICT("'<f8'", "(4294967296, 4294967296)"), 8, "truncated");
    refuse(1, DICT("'<f8'", "(2305843009213693952,)"), 0, "truncated");
    refuse(1, DICT("'<f8'", "(99999999999999999999,)"), 8, "damaged");
    refuse(1, DICT("'<f8'", "(-1,)"), 8, "damaged");
    refuse(1, DICT("'<f8'", "(1,1,1,1,1,1,1,1,1)"), 8, "9 axes");
}

TEST(refuses_damaged_headers) {
    refuse(1, "", 8, "damaged");
    refuse(1, "{", 8, "damaged");
    refuse(1, "{'descr': '<f8'", 8, "damaged");
    refuse(1, "{'descr': '<f8', 'shape': (1,)}", 8, "damaged");
    refuse(1, "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}", 8, "damaged");
    refuse(4, DICT("'<f8'", "(1,)"), 8, "version 4");
    refuse(0, DICT("'<f8'", "(1,)"), 8, "version 0");
}

TEST(refuses_every_truncation) {
    double values[3] = {1, 2, 3};
    ENDS_BY(io_free) io_bytes b = io_npy_f8(3, values);
    csrec_array array;
    for (size_t size = 0; size < b.size; size++) {
        csrec_error error = {""};
        OWNED uint8_t *exact = malloc(size + 1); /* its own block: an overrun is seen by ASan */
        memcpy(exact, b.data, size);
        exact = realloc(exact, size ? size : 1);
        assert_int_not_equal(csrec_array_parse(exact, size, "t.npy", &array, &error), CSREC_OK);
        io_assert_line(&error, "t.npy", "");
        const char *path = io_save("t.npy", b.data, size);
        assert_int_not_equal(csrec_array_read(path, &array, &error), CSREC_OK);
        io_assert_line(&error, path, "");
    }
}

TEST(names_missing_files_and_folders) {
    csrec_array array;
    io_refused(csrec_array_read(io_path("none.npy"), &array, &error), CSREC_FILE,
               io_path("none.npy"), "No such file");
    io_refused(csrec_array_read(io_folder, &array, &error), CSREC_FILE, io_folder, "folder");
    const char *path = io_save("z.npy", "PK\5\6", 4);
    io_refused(csrec_array_read(path, &array, &error), CSREC_FORMAT, path, ".npz");
}

static csrec_array small_array(void) {
    csrec_array array;
    assert_ok(csrec_array_create(CSREC_F64, &(csrec_shape){1, {1000}}, &array));
    for (int i = 0; i < 1000; i++) ((double *)array.data)[i] = i;
    return array;
}

static bool write_says(const char *path, const char *remedy) {
    CLEARED(csrec_array) array = small_array();
    csrec_error error;
    csrec_status status = csrec_array_write(path, &array, &error);
    return status == CSREC_FILE && strstr(error.text, path) && strstr(error.text, remedy);
}

static bool write_small(const char *path) {
    return write_says(path, "disk");
}

TEST(full_disk_leaves_nothing) {
    io_expect_full_disk(write_small, "full.npy", 2, (const rlim_t[]){100, 6000});
}

TEST(unwritable_output_is_named) {
    io_empty_folder();
    assert_true(write_says(io_folder, "name a file in it"));
    assert_int_equal(io_count_files(), 0);
}

/* A failed write keeps the former file, a good one its permissions; links stay links. */
TEST(replaces_files_whole) {
    io_empty_folder();
    const char *path = io_save("old.npy", "old", 3), *link = io_path("link.npy");
    struct stat info;
    assert_true(io_with_limit(100, write_small, path));
    ENDS_BY(io_free) io_bytes b = io_load(path);
    assert_int_equal(b.size, 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("old.npy", link), 0);
    CLEARED(csrec_array) array = small_array(), back;
    assert_ok(csrec_array_write(link, &array, NULL));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_ok(csrec_array_read(path, &back, NULL));
    assert_memory_equal(back.data, array.data, 8000);
    mode_t mask = umask(027);
    assert_ok(csrec_array_write(io_path("new.npy"), &array, NULL));
    umask(mask);
    assert_int_equal(stat(io_path("new.npy"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(io_count_files(), 3);
}

static bool copy_through(void) {
    CLEARED(csrec_array) array = {0};
    return csrec_array_read("-", &array, NULL) == CSREC_OK &&
           csrec_array_write("-", &array, NULL) == CSREC_OK;
}

TEST(stdin_and_stdout_work) {
    CLEARED(csrec_array) array = small_array();
    assert_ok(csrec_array_write(io_path("in.npy"), &array, NULL));
    assert_true(io_with_pipes(io_path("in.npy"), io_path("out.npy"), copy_through));
    io_assert_same(io_path("in.npy"), io_path("out.npy"));
    assert_false(io_with_pipes(io_path("in.npy"), "/dev/full", copy_through));
}

TEST(free_memory_is_known) {
    uint64_t bytes = csrec_memory_available();
    assert_true(bytes > 1 << 20);
    assert_fails(csrec_memory_check(UINT64_MAX, 1, "big.npy", &told),
                 bytes == UINT64_MAX ? CSREC_OK : CSREC_MEMORY);
}

FIXTURE(io_setup, io_teardown);
