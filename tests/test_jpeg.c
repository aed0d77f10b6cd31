/* SPDX-License-Identifier: BSD-3-Clause */
/* test_jpeg.c - JPEG: files that libjpeg-turbo writes are refused in one line when they are damaged
 * or forged. Values and metadata are compared with those of other programs in
 * python/tests/test_pictures.py. */
#include "io_signal.h"
#include <jpeglib.h>

SEED(seed);

static csrec_image draw_picture(int64_t height, int64_t width, int channels) {
    csrec_image image = {.bits = 8};
    const csrec_shape shape = {3, {height, width, channels}};
    const int64_t step = 1 + check_below(&seed, 4);
    assert_ok(csrec_array_create(CSREC_U8, &shape, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++)
        csrec_array_set(
            &image.pixels, i,
            (double)((i / channels % width * step + i / channels / width * 3 + i % channels * 50) %
                     256));
    return image;
}

/* With EXIF of one tag, orientation 6, and an offset of a thumbnail. */
static io_bytes make_file(const csrec_image *image, J_COLOR_SPACE space, bool progressive) {
    static const uint8_t exif[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\32";
    const char *path = io_path("t.jpg");
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct f = {.err = jpeg_std_error(&errors)};
    FILE *file = fopen(path, "wb");
    const csrec_shape *shape = &image->pixels.shape;
    jpeg_create_compress(&f);
    jpeg_stdio_dest(&f, file);
    f.image_height = (JDIMENSION)shape->dim[0];
    f.image_width = (JDIMENSION)shape->dim[1];
    f.input_components = (int)shape->dim[2];
    f.in_color_space = space;
    jpeg_set_defaults(&f);
    if (progressive) jpeg_simple_progression(&f);
    jpeg_start_compress(&f, TRUE);
    jpeg_write_marker(&f, JPEG_APP0 + 1, exif, sizeof exif - 1);
    for (int64_t y = 0; y < shape->dim[0]; y++) {
        JSAMPROW row = (JSAMPROW)image->pixels.data + y * shape->dim[1] * shape->dim[2];
        jpeg_write_scanlines(&f, &row, 1);
    }
    jpeg_finish_compress(&f);
    jpeg_destroy_compress(&f);
    fclose(file);
    return io_load(path);
}

static void refuse(const io_bytes *b, size_t size, const char *part) {
    csrec_input input = csrec_input_memory(b->data, size, "t.jpg");
    csrec_image image;
    csrec_error error = {""};
    assert_int_not_equal(csrec_jpeg_format.signal(&input, &image, &error), CSREC_OK);
    io_assert_line(&error, "t.jpg", part);
}

TEST(damage_is_a_line) {
    for (int trial = 0; trial < 4; trial++) {
        CLEARED(csrec_image) image = draw_picture(40, 35, 3);
        ENDS_BY(io_free) io_bytes b = make_file(&image, JCS_RGB, trial & 1);
        for (size_t size = 0; size < b.size; size++) refuse(&b, size, "");
        for (size_t at = 0; at < b.size; at++)
            expect_harmless(&csrec_jpeg_format, &b, at, (uint8_t)check_next(&seed));
    }
    io_empty_folder();
}

/* Where two bytes of a marker are, from `from` on. */
static size_t find(const io_bytes *b, size_t from, int marker) {
    while (b->data[from] != 0xff || b->data[from + 1] != marker) from++;
    return from;
}

/* Small files: of 65500 x 65500 pixels, and of one scan again and again. */
TEST(bombs_are_refused) {
    CLEARED(csrec_image) image = draw_picture(16, 16, 1);
    ENDS_BY(io_free) io_bytes b = make_file(&image, JCS_GRAYSCALE, true), scans = {0};
    const size_t first = find(&b, 0, 0xda), second = find(&b, first + 2, 0xda);
    io_put(&scans, b.data, second);
    io_put(&scans, b.data + first, b.size - first);
    refuse(&scans, scans.size, "progression");
    memcpy(b.data + find(&b, 0, 0xc2) + 5, "\xff\xdc\xff\xdc", 4);
    refuse(&b, b.size, "can hold");
}

TEST(others_are_refused) {
    csrec_error error = {""};
    CLEARED(csrec_image) image = draw_picture(8, 8, 4);
    ENDS_BY(io_free) io_bytes b = make_file(&image, JCS_CMYK, false);
    refuse(&b, b.size, "CMYK");
    assert_int_equal(write_signal(io_path("t.jpg"), &image, NULL, &error), CSREC_ARGUMENT);
    io_assert_line(&error, "t.jpg", "1 or 3 channels");
    image.pixels.shape.dim[2] = 1;
    image.bits = 16;
    assert_int_equal(write_signal(io_path("t.jpg"), &image, NULL, &error), CSREC_ARGUMENT);
    io_assert_line(&error, "t.jpg", "bits 8");
    io_empty_folder();
}

static bool write_fails(const char *path) {
    CLEARED(csrec_image) image = draw_picture(400, 400, 3);
    csrec_error error = {""};
    ENDS_BY(end_files) csrec_files *files = NULL;
    assert_ok(csrec_files_create(NULL, &files, NULL));
    csrec_status status = csrec_jpeg_format.write(files, path, &image, NULL, &error);
    return status == CSREC_FILE && strstr(error.text, path) && strstr(error.text, "disk");
}

TEST(full_disk_leaves_nothing) {
    io_expect_full_disk(write_fails, "f.jpg", 2, (const rlim_t[]){0, 20000});
}

FIXTURE(io_setup, io_teardown);
