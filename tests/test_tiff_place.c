/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tiff_place.c - rasters of TIFF keep their place, texts and compression. */
#include "tiff_tags.h"

static const double pixel_scale[3] = {30.0, 20.0, 0.0};
static const uint16_t geo_keys[8] = {1, 1, 0, 1, 1024, 0, 1, 1};

static void write_raster(const char *path) {
    static const float rows[3][4] = {{1, -9999, 3, 4}, {5, 6, -9999, 8}, {9, 10, 11, -9999}};
    TIFF *file = TIFFOpen(path, "w");
    declare(file);
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 3);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 32);
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
    TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
    TIFFSetField(file, TIFFTAG_XRESOLUTION, 72.5);
    TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, "ridge");
    TIFFSetField(file, PIXEL_SCALE, 3, pixel_scale);
    TIFFSetField(file, GEO_KEYS, 8, geo_keys);
    TIFFSetField(file, GEO_TEXT, "WGS 84|");
    TIFFSetField(file, NODATA, "-9999");
    for (uint32_t y = 0; y < 3; y++)
        assert_int_equal(TIFFWriteScanline(file, (void *)(uintptr_t)rows[y], y, 0), 1);
    TIFFClose(file);
}

static void check_raster(const char *path) {
    TIFF *file = TIFFOpen(path, "r");
    uint16_t count = 0, *keys = NULL, number = 0;
    double *scale = NULL;
    float resolution = 0.0f;
    char *text = NULL;
    declare(file);
    assert_int_equal(TIFFGetField(file, TIFFTAG_XRESOLUTION, &resolution), 1);
    assert_true(resolution == 72.5f);
    assert_int_equal(TIFFGetField(file, TIFFTAG_IMAGEDESCRIPTION, &text), 1);
    assert_string_equal(text, "ridge");
    assert_int_equal(TIFFGetField(file, TIFFTAG_COMPRESSION, &number), 1);
    assert_int_equal(number, COMPRESSION_LZW);
    assert_int_equal(TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &number), 1);
    assert_int_equal(number, PHOTOMETRIC_MINISWHITE);
    TIFFClose(file);
    /* The anonymous tags as libtiff finds them in the file itself. */
    file = TIFFOpen(path, "r");
    uint32_t n = 0;
    assert_int_equal(TIFFGetField(file, PIXEL_SCALE, &n, &scale), 1);
    assert_int_equal(n, 3);
    assert_memory_equal(scale, pixel_scale, sizeof pixel_scale);
    assert_int_equal(TIFFGetField(file, GEO_KEYS, &n, &keys), 1);
    assert_int_equal(n, 8);
    assert_memory_equal(keys, geo_keys, sizeof geo_keys);
    assert_int_equal(TIFFGetField(file, GEO_TEXT, &n, &text), 1);
    assert_string_equal(text, "WGS 84|");
    assert_int_equal(TIFFGetField(file, NODATA, &n, &text), 0);
    (void)count;
    TIFFClose(file);
}

TEST(rasters_keep_their_place) {
    const char *from = io_path("raster.tif"), *to = io_path("full.tif");
    CLEARED(csrec_image) image = {.has_channels = true};
    write_raster(from);
    CLEARED(csrec_measurement) m = expect_known(from, 1.0, 0.0);
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){3, {3, 4, 1}}, &image.pixels));
    write_well(to, &image, from);
    check_raster(to);
    remove(from);
    remove(to);
}
