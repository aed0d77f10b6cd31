/* SPDX-License-Identifier: BSD-3-Clause */
/* test_png.c - PNG pictures, read from bytes built by hand; written ones are read back. */
#include "io_png.h"

#include "files/png/png.h"

SEED(seed);

static csrec_status decode(const io_bytes *b, csrec_image *image, csrec_error *error) {
    csrec_input input = csrec_input_memory(b->data, b->size, "p.png");
    return csrec_image_decode(&input, image, error);
}

static uint16_t *random_samples(size_t count, int bits) {
    uint16_t *samples = malloc(count * sizeof *samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = (uint16_t)(check_next(&seed) & ((1u << bits) - 1));
    return samples;
}

/* Alpha 0 and full often, so that all three classes occur. */
static void make_alpha(uint16_t *samples, size_t pixels, int channels, int bits) {
    for (size_t i = 0; i < pixels; i++) {
        uint16_t *alpha = &samples[i * (size_t)channels + (size_t)channels - 1];
        int64_t kind = check_below(&seed, 3);
        if (kind < 2) *alpha = kind ? (uint16_t)((1u << bits) - 1) : 0;
    }
}

/* What the picture must be, from the samples that went into the file. */
static void check_picture(const io_png *png, const csrec_image *image) {
    int stored = io_png_channels(png->color);
    bool palette = png->color == IO_PALETTE, alpha = png->color & 4;
    int colors = palette ? 3 : alpha ? stored - 1 : stored;
    uint16_t full = (uint16_t)((1u << png->bits) - 1);
    int64_t partial = 0;
    assert_int_equal(image->bits, palette ? 8 : png->bits);
    assert_int_equal(image->palette, palette);
    assert_int_equal(image->pixels.dtype, png->bits == 16 ? CSREC_U16 : CSREC_U8);
    assert_int_equal(image->pixels.shape.dims, 3);
    assert_int_equal(image->pixels.shape.dim[0], png->height);
    assert_int_equal(image->pixels.shape.dim[1], png->width);
    assert_int_equal(image->pixels.shape.dim[2], colors);
    assert_true((image->alpha != NULL) == (alpha || png->transparency.size > 0));
    for (size_t i = 0; i < (size_t)png->width * png->height; i++) {
        const uint16_t *s = &png->samples[i * (size_t)stored];
        bool opaque = true, equal = true;
        for (int c = 0; c < colors; c++) {
            int expected = palette ? png->palette.data[3 * s[0] + c] : s[c];
            assert_int_equal((int)csrec_array_value(&image->pixels, (int64_t)i * colors + c),
                             expected);
            if (!palette && !alpha && png->transparency.size)
                equal = equal && s[c] == (png->transparency.data[2 * c] << 8 |
                                          png->transparency.data[2 * c + 1]);
        }
        if (!image->alpha) continue;
        if (alpha) {
            opaque = s[colors] > 0;
            partial += s[colors] > 0 && s[colors] < full;
        } else if (palette) {
            int a = s[0] < png->transparency.size ? png->transparency.data[s[0]] : 255;
            opaque = a > 0;
            partial += a > 0 && a < 255;
        } else {
            opaque = !equal;
        }
        assert_int_equal(image->alpha[i], opaque);
    }
    assert_int_equal(image->partial, partial);
}

/* Every colour type, depth, interlacing, with and without transparency, odd sizes. */
TEST(reads_every_kind) {
    static const int kinds[15][2] = {
        {IO_GRAY, 1},    {IO_GRAY, 2},       {IO_GRAY, 4},        {IO_GRAY, 8},    {IO_GRAY, 16},
        {IO_RGB, 8},     {IO_RGB, 16},       {IO_PALETTE, 1},     {IO_PALETTE, 2}, {IO_PALETTE, 4},
        {IO_PALETTE, 8}, {IO_GRAY_ALPHA, 8}, {IO_GRAY_ALPHA, 16}, {IO_RGBA, 8},    {IO_RGBA, 16}};
    for (int trial = 0; trial < 15 * 2 * 2 * 8; trial++) {
        io_png png = {.width = 1 + (uint32_t)check_below(&seed, 20),
                      .height = 1 + (uint32_t)check_below(&seed, 20),
                      .color = kinds[trial % 15][0],
                      .bits = kinds[trial % 15][1],
                      .interlaced = trial / 15 & 1};
        int channels = io_png_channels(png.color);
        size_t pixels = (size_t)png.width * png.height;
        OWNED uint16_t *samples = random_samples(pixels * (size_t)channels, png.bits);
        png.samples = samples;
        if (png.color & 4) make_alpha(samples, pixels, channels, png.bits);
        if (png.color == IO_PALETTE)
            for (int i = 0; i < 3 << png.bits; i++) io_put_le(&png.palette, check_next(&seed), 1);
        if (trial / 30 & 1 && png.color == IO_PALETTE)
            for (int i = 0; i < 1 << (png.bits - 1); i++)
                io_put_le(&png.transparency, (uint64_t[]){0, 77, 255}[check_below(&seed, 3)], 1);
        else if (trial / 30 & 1 && !(png.color & 4))
            for (int c = 0; c < channels; c++) io_put_be(&png.transparency, samples[c], 2);
        ENDS_BY(io_free) io_bytes b = io_png_make(&png);
        CLEARED(csrec_image) image;
        assert_well(decode(&b, &image, &told));
        check_picture(&png, &image);
        io_free(&png.palette);
        io_free(&png.transparency);
    }
}

static io_bytes small_png(io_png *png) {
    static const uint16_t samples[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    png->width = 4;
    png->height = 3;
    png->bits = 8;
    png->color = IO_GRAY;
    png->samples = samples;
    return io_png_make(png);
}

static void refuse(io_bytes b, const char *part) {
    csrec_image image;
    csrec_error error = {""};
    assert_int_not_equal(decode(&b, &image, &error), CSREC_OK);
    io_assert_line(&error, "p.png", part);
    io_free(&b);
}

TEST(refuses_bombs_and_damage) {
    io_bytes text = {0}, b;
    refuse(small_png(&(io_png){.crc_flip = 1}), "damaged");
    refuse(small_png(&(io_png){.declared_height = 1 << 20}), "can hold");
    refuse(small_png(&(io_png){.declared_height = 0x7fffffff}), "can hold");
    refuse(small_png(&(io_png){.declared_height = 0x80000000}), "damaged");
    refuse(small_png(&(io_png){.declared_height = 4}), "damaged");
    b = small_png(&(io_png){0});
    io_put(&b, "garbage", 7);
    refuse(b, "7 bytes follow");
    io_put(&text, "no picture", 10);
    refuse(text, "not a PNG");
}

/* A bomb that its own bytes could hold, but not the memory: 2^20 x 2^20 pixels in a file that is
 * large enough for them (sparse, so that it takes no disk). */
TEST(refuses_what_memory_cannot_hold) {
    ENDS_BY(io_free) io_bytes b = small_png(&(io_png){.declared_height = 1 << 20});
    memcpy(b.data + 16, "\0\x10\0", 4); /* the width, then the checksum anew */
    uint32_t crc = (uint32_t)crc32(0, b.data + 12, 17);
    for (int i = 0; i < 4; i++) b.data[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    const char *path = io_save("bomb.png", b.data, b.size);
    assert_int_equal(truncate(path, INT64_C(1) << 31), 0);
    csrec_image image;
    io_refused(csrec_image_read(path, &image, &error), CSREC_MEMORY, path, "MiB");
}

TEST(refuses_every_truncation_and_survives_every_flip) {
    ENDS_BY(io_free) io_bytes b = small_png(&(io_png){.interlaced = true});
    csrec_image image;
    csrec_error error;
    for (size_t size = 0; size < b.size; size++) {
        const char *path = io_save("t.png", b.data, size);
        error.text[0] = 0;
        assert_int_not_equal(csrec_image_read(path, &image, &error), CSREC_OK);
        io_assert_line(&error, path, "");
    }
    for (size_t at = 0; at < b.size; at++) { /* every byte is under a checksum or a length */
        uint8_t bit = (uint8_t)(1 << check_below(&seed, 8));
        b.data[at] ^= bit;
        if (decode(&b, &image, &error) == CSREC_OK) csrec_image_clear(&image);
        b.data[at] ^= bit;
    }
}

static csrec_image random_image(csrec_dtype dtype, int64_t h, int64_t w, int channels, bool alpha) {
    csrec_image image = {.bits = dtype == CSREC_U16 ? 16 : 8};
    csrec_shape shape = {channels ? 3 : 2, {h, w, channels}};
    assert_ok(csrec_array_create(dtype, &shape, &image.pixels));
    size_t bytes = (size_t)image.pixels.count * csrec_dtype_size(dtype);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)image.pixels.data)[i] = (uint8_t)check_next(&seed);
    if (!alpha) return image;
    image.alpha = malloc((size_t)(h * w));
    for (int64_t i = 0; i < h * w; i++) image.alpha[i] = check_next(&seed) & 1;
    return image;
}

TEST(written_pictures_come_back) {
    io_empty_folder();
    static const int channels[] = {0, 1, 3};
    for (int trial = 0; trial < 60; trial++) {
        int64_t h = 1 + check_below(&seed, 30), w = 1 + check_below(&seed, 30);
        bool deep = trial & 1, alpha = trial & 2;
        ENDS_BY(csrec_image_clear)
        csrec_image out =
            random_image(deep ? CSREC_U16 : CSREC_U8, h, w, channels[trial % 3], alpha);
        CLEARED(csrec_image) in;
        assert_ok(csrec_image_write(io_path("w.png"), &out, NULL));
        ENDS_BY(io_free) io_bytes b = io_load(io_path("w.png"));
        assert_int_equal(b.data[24], deep ? 16 : 8); /* depth and colour type in IHDR */
        assert_int_equal(b.data[25], (channels[trial % 3] == 3 ? 2 : 0) + (alpha ? 4 : 0));
        assert_ok(csrec_image_read(io_path("w.png"), &in, NULL));
        assert_int_equal(in.pixels.count, out.pixels.count);
        assert_memory_equal(in.pixels.data, out.pixels.data,
                            (size_t)in.pixels.count * (deep ? 2 : 1));
        if (alpha) assert_memory_equal(in.alpha, out.alpha, (size_t)(h * w));
    }
    assert_int_equal(io_count_files(), 1);
}

static bool write_fails(const char *path) {
    CLEARED(csrec_image) image = random_image(CSREC_U8, 100, 100, 3, true);
    csrec_error error = {""};
    csrec_status status = csrec_image_write(path, &image, &error);
    return status == CSREC_FILE && strstr(error.text, path) && strstr(error.text, "disk");
}

TEST(full_disk_leaves_nothing) {
    io_expect_full_disk(write_fails, "f.png", 2, (const rlim_t[]){0, 20000});
}

TEST(refuses_what_is_no_picture) {
    io_empty_folder();
    csrec_image image = random_image(CSREC_U8, 4, 4, 2, false);
    io_refused(csrec_image_write(io_path("n.png"), &image, &error), CSREC_ARGUMENT, "n.png",
               "[H, W]");
    image.pixels.shape.dim[2] = 1;
    image.bits = 16;
    assert_fails(csrec_image_write(io_path("n.png"), &image, &told), CSREC_ARGUMENT);
    csrec_image_clear(&image);
    csrec_image_clear(&image);
    csrec_image_clear(NULL);
    assert_int_equal(io_count_files(), 0);
}

static bool copy_through(void) {
    CLEARED(csrec_image) image = {0};
    return csrec_image_read("-", &image, NULL) == CSREC_OK &&
           csrec_image_write("-", &image, NULL) == CSREC_OK;
}

TEST(stdin_and_stdout_work) {
    CLEARED(csrec_image) image = random_image(CSREC_U16, 9, 7, 3, true);
    assert_ok(csrec_image_write(io_path("in.png"), &image, NULL));
    assert_true(io_with_pipes(io_path("in.png"), io_path("out.png"), copy_through));
    io_assert_same(io_path("in.png"), io_path("out.png"));
}

FIXTURE(io_setup, io_teardown);
