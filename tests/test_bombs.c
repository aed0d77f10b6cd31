/* SPDX-License-Identifier: BSD-3-Clause */
/* test_bombs.c - small invalid files that unpack to 1 GiB: they are refused before more
 * than a few MiB of it have been taken into memory. */
#include "io_npy.h"
#include "io_png.h"
#include "io_zip.h"
#include <sys/resource.h>

/* Bytes of a bomb, and the allowed memory growth while a file is refused. */
#define BOMB (INT64_C(1) << 30)
enum { GROWTH_MAX = 8 << 20, ZEROS = 1 << 24 };

static void deflate_piece(z_stream *z, const void *data, size_t size, int flush, io_bytes *to) {
    uint8_t room[1 << 16];
    z->next_in = (uint8_t *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    do {
        z->next_out = room;
        z->avail_out = sizeof room;
        deflate(z, flush);
        io_put(to, room, sizeof room - z->avail_out);
    } while (z->avail_out == 0);
}

/* Deflated zeros are the same after every full flush, so a GiB takes the time of 16 MiB. */
static void add_bomb(io_zip *zip, const char *name, const char *descr, const char *shape) {
    static io_bytes piece;
    ENDS_BY(io_free) io_bytes head = {0}, packed = {0};
    OWNED uint8_t *zeros = calloc(ZEROS, 1);
    z_stream z = {0};
    io_npy_header(&head, 1, descr, false, shape);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    deflate_piece(&z, head.data, head.size, Z_FULL_FLUSH, &packed);
    if (!piece.size) deflate_piece(&z, zeros, ZEROS, Z_FULL_FLUSH, &piece);
    uint32_t crc = (uint32_t)crc32(0, head.data, (uInt)head.size);
    uint32_t of_piece = (uint32_t)crc32(0, zeros, ZEROS);
    for (int64_t at = 0; at < BOMB; at += ZEROS) {
        io_put(&packed, piece.data, piece.size);
        crc = (uint32_t)crc32_combine(crc, of_piece, ZEROS);
    }
    deflate_piece(&z, "", 0, Z_FINISH, &packed);
    deflateEnd(&z);
    io_zip_add_packed(zip, name, packed, head.size + (uint64_t)BOMB, crc,
                      (io_zip_how){.deflate = true});
}

static void add_integers(io_zip *zip, const char *name, int64_t n, const int64_t *values) {
    const char *shape = check_print("(%lld,)", (long long)n);
    io_zip_add(zip, name, io_npy_i8(shape, n, values), (io_zip_how){0});
}

static void add_text(io_zip *zip, const char *name, const char *text) {
    io_bytes member = {0};
    io_npy_header(&member, 1, check_print("|S%zu", strlen(text)), false, "()");
    io_put(&member, text, strlen(text));
    io_zip_add(zip, name, member, (io_zip_how){0});
}

static const char *save(io_zip *zip, const char *name) {
    ENDS_BY(io_free) io_bytes bytes = io_zip_finish(zip, false);
    assert_true((int64_t)bytes.size < BOMB / 256);
    return io_save(name, bytes.data, bytes.size);
}

typedef csrec_status (*reader)(const char *path, const char *mask, csrec_error *error);

static csrec_status read_measurement(const char *path, const char *mask, csrec_error *error) {
    csrec_measurement m;
    return csrec_measurement_read(path, mask, &m, error);
}

static csrec_status read_model(const char *path, const char *mask, csrec_error *error) {
    (void)mask;
    csrec_model *model;
    return csrec_model_read(path, &model, error);
}

static csrec_status read_array(const char *path, const char *mask, csrec_error *error) {
    (void)mask;
    csrec_array array;
    return csrec_array_read(path, &array, error);
}

static int64_t peak(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* In a process of its own, whose memory has not yet been larger. limit: of its address space,
 * beyond what it has; 0: none. */
static void expect_within(int64_t limit, reader read, const char *path, const char *mask,
                          const char *words) {
    const pid_t child = check_fork();
    if (child == 0) {
        csrec_error error = {""};
        int64_t before = peak();
        rlim_t room = (rlim_t)(before + limit);
        if (limit) setrlimit(RLIMIT_AS, &(struct rlimit){room, room});
        csrec_status status = read(path, mask, &error);
        int64_t growth = peak() - before;
        if (!status || !strstr(error.text, words) || (!SANITIZED && growth > GROWTH_MAX)) {
            fprintf(stderr, "%s: status %d, %lld KiB: %s\n", path, (int)status,
                    (long long)growth / 1024, error.text);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(check_ended(child), 0);
}

static void expect_refused(reader read, const char *path, const char *words) {
    expect_within(0, read, path, NULL, words);
}

TEST(refuses_samples_that_have_no_place) {
    const int64_t four[] = {0, 1, 2, 3}, square[] = {2, 2}, line[] = {BOMB};
    io_zip zip = {0};
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 2, square);
    add_integers(&zip, "index.npy", 4, four);
    expect_refused(read_measurement, save(&zip, "a.npz"), "4 positions for");
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 2, square);
    add_bomb(&zip, "index.npy", "<i8", "(134217728,)");
    expect_refused(read_measurement, save(&zip, "b.npz"), "sampled once");
    add_bomb(&zip, "y.npy", "|u1", "(1073741824,)");
    io_zip_add(&zip, "mask.npy", io_npy_u1("|b1", "(2, 2)", 4, (const uint8_t[]){1, 1, 1, 1}),
               (io_zip_how){0});
    expect_refused(read_measurement, save(&zip, "c.npz"), "sampled once");
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 1, line);
    add_text(&zip, "pattern.npy", "uniform");
    add_integers(&zip, "seed.npy", 1, four);
    add_integers(&zip, "count.npy", 1, four + 3);
    expect_refused(read_measurement, save(&zip, "d.npz"), "3 positions for");
}

TEST(refuses_places_that_have_no_samples) {
    const int64_t line[] = {134217728};
    const double one = 1.0, negative = -1.0;
    io_zip zip = {0};
    io_zip_add(&zip, "y.npy", io_npy_f8(1, &one), (io_zip_how){0});
    add_bomb(&zip, "mask.npy", "|b1", "(32768, 32768)");
    expect_refused(read_measurement, save(&zip, "a.npz"), "no entry is true");
    /* Every position is 0. */
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 1, line);
    add_bomb(&zip, "index.npy", "<i8", "(134217728,)");
    expect_refused(read_measurement, save(&zip, "b.npz"), "element 1 repeats");
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 1, line);
    add_bomb(&zip, "index.npy", "<i8", "(134217728,)");
    io_zip_add(&zip, "sigma.npy", io_npy_f8(1, &negative), (io_zip_how){0});
    expect_refused(read_measurement, save(&zip, "c.npz"), "standard deviation");
}

/* A valid measurement that exceeds memory. */
TEST(refuses_what_memory_cannot_hold) {
    if (SANITIZED) skip(); /* needs most of the address space */
    const int64_t line[] = {134217728}, one = 1;
    io_zip zip = {0};
    add_bomb(&zip, "y.npy", "<f8", "(134217728,)");
    add_integers(&zip, "shape.npy", 1, line);
    add_text(&zip, "pattern.npy", "uniform");
    add_integers(&zip, "seed.npy", 1, &one);
    add_integers(&zip, "count.npy", 1, line);
    expect_within(BOMB / 2, read_measurement, save(&zip, "a.npz"), NULL, "MiB of memory");
}

TEST(refuses_models_whose_arrays_disagree) {
    const double two[] = {1, 1};
    io_zip zip = {0};
    add_text(&zip, "kind.npy", "pca");
    add_bomb(&zip, "mean.npy", "<f8", "(134217728,)");
    add_bomb(&zip, "components.npy", "<f8", "(1, 134217728)");
    io_zip_add(&zip, "variances.npy", io_npy_f8(2, two), (io_zip_how){0});
    io_zip_add(&zip, "noise.npy", io_npy_f8(1, two), (io_zip_how){0});
    add_integers(&zip, "shape.npy", 1, (const int64_t[]){2});
    add_integers(&zip, "channels.npy", 1, (const int64_t[]){1});
    expect_refused(read_model, save(&zip, "a.npz"), "'variances': axis 0");
    add_text(&zip, "kind.npy", "net");
    add_bomb(&zip, "weights.npy", "<f4", "(268435456,)");
    expect_refused(read_model, save(&zip, "b.npz"), "is missing");
}

/* Rows of zeros: width 0 takes the size from the bomb. */
static const char *save_picture(const char *name, uint32_t width, uint32_t height) {
    ENDS_BY(io_free) io_bytes b = {0}, head = {0}, data = {0};
    io_bytes none = {0};
    OWNED uint8_t *zeros = calloc(ZEROS, 1);
    z_stream z = {0};
    assert_int_equal(deflateInit(&z, 9), Z_OK);
    for (int64_t at = 0; at < (int64_t)height * (width + 1) && at < BOMB / 16; at += ZEROS)
        deflate_piece(&z, zeros, ZEROS, Z_NO_FLUSH, &data);
    deflate_piece(&z, "", 0, Z_FINISH, &data);
    deflateEnd(&z);
    io_put(&b, "\x89PNG\r\n\x1a\n", 8);
    io_put_be(&head, width, 4);
    io_put_be(&head, height, 4);
    io_put(&head, "\10\0\0\0\0", 5); /* 8 bits, gray */
    io_png_chunk(&b, "IHDR", &head, 0);
    io_png_chunk(&b, "IDAT", &data, 0);
    io_png_chunk(&b, "IEND", &none, 0);
    return io_save(name, b.data, b.size);
}

TEST(refuses_pictures) {
    const char *large = save_picture("large.png", 8000, 8000), *small;
    expect_refused(read_measurement, large, "no transparent pixels");
    small = save_picture("small.png", 16, 16);
    expect_within(0, read_measurement, large, small, "not that of the 8000 x 8000");
    expect_within(0, read_measurement, small, large, "not that of the 16 x 16");
    expect_within(0, read_measurement, save_picture("huge.png", 0x7fffffff, 0x7fffffff), small,
                  "can hold");
}

TEST(refuses_arrays) {
    ENDS_BY(io_free) io_bytes b = {0};
    io_npy_header(&b, 1, "<f8", true, "(16384, 65536)");
    io_put(&b, "12345678", 8);
    expect_refused(read_array, io_save("a.npy", b.data, b.size), "more elements");
}

/* Texts are held, with 16 bytes a sample beside them: lines of 6 bytes take three times the file,
 * plus the file. */
TEST(refuses_texts) {
    enum { LINES = 1 << 18 };
    ENDS_BY(io_free) io_bytes b = {.data = malloc(6 * LINES), .size = 6 * LINES};
    for (int i = 0; i < LINES; i++) memcpy(b.data + 6 * i, "0,0,0\n", 6);
    expect_refused(read_measurement, io_save("a.csv", b.data, b.size), "earlier line");
    memcpy(b.data + 6 * (LINES - 1), "0,0,x\n", 6);
    expect_refused(read_measurement, io_save("b.csv", b.data, b.size), "value 'x'");
}

FIXTURE(io_setup, io_teardown);
