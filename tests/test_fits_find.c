/* SPDX-License-Identifier: BSD-3-Clause */
/* test_fits_find.c - files of several images: by name, in tiles, with quality and inheritance. */
#include "fits_file.h"

#include <fitsio.h>

/* ------------------------------------------------------------------ several images ---------- */

/* Units of 10 rows of 20 by cfitsio: "SCI", "DQ" and a second "SCI", packed in tiles, if asked. */
static void write_units(const char *path, int packing, int16_t values[3][200]) {
    static const char *const names[3] = {"SCI", "DQ", "SCI"};
    fitsfile *file = NULL;
    int status = 0, yes = 1, versions[3] = {1, 1, 2};
    LONGLONG naxes[2] = {20, 10};
    fits_create_diskfile(&file, path, &status);
    fits_create_imgll(file, BYTE_IMG, 0, naxes, &status);
    fits_write_key(file, TSTRING, "TELESCOP", (void *)(uintptr_t) "one", NULL, &status);
    fits_write_key(file, TSTRING, "OBJECT", (void *)(uintptr_t) "all", NULL, &status);
    for (int k = 0; k < 3; k++) {
        fits_set_compression_type(file, packing, &status);
        fits_create_imgll(file, SHORT_IMG, 2, naxes, &status);
        fits_write_key(file, TSTRING, "EXTNAME", (void *)(uintptr_t)names[k], NULL, &status);
        fits_write_key(file, TINT, "EXTVER", &versions[k], NULL, &status);
        fits_write_key(file, TSTRING, "OBJECT", (void *)(uintptr_t)names[k], NULL, &status);
        if (k == 0) fits_write_key(file, TLOGICAL, "INHERIT", &yes, NULL, &status);
        fits_write_img(file, TSHORT, 1, 200, values[k], &status);
        fits_write_chksum(file, &status);
    }
    fits_close_file(file, &status);
    assert_int_equal(status, 0);
}

static void draw_units(int16_t values[3][200]) {
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 200; i++)
            values[k][i] = (int16_t)(k == 1 ? 64 * check_below(&seed, 2) : check_below(&seed, 999));
    values[1][7] = 0;
}

TEST(images_are_found_by_name_also_in_tiles) {
    static const struct {
        const char *name;
        int unit;
    } asked[] = {{"", 0},        {"[SCI]", 0},   {"[1]", 0},   {"[sci,1]", 0}, {"[DQ]", 1},
                 {"[SCI,2]", 2}, {":/SCI,2", 2}, {"[3]", 2},   {"[9]", -1},    {"[DQ,2]", -1},
                 {"[]", -1},     {"[0]", -1},    {"[ERR]", -1}};
    static const int packings[] = {0, RICE_1, GZIP_1, GZIP_2, HCOMPRESS_1, PLIO_1};
    const char *path = io_path("units.fits");
    int16_t values[3][200];
    for (size_t p = 0; p < sizeof packings / sizeof *packings; p++) {
        draw_units(values);
        write_units(path, packings[p], values);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            char name[300];
            csrec_image image = {0};
            csrec_error error = {""};
            snprintf(name, sizeof name, "%s%s", path, asked[i].name);
            csrec_status status = csrec_signal_read(name, &image, &error);
            assert_int_equal(status, asked[i].unit < 0 ? CSREC_DATA : CSREC_OK);
            if (status) io_assert_line(&error, path, "[1] SCI,1, [2] DQ,1, [3] SCI,2");
            if (!status) assert_memory_equal(image.pixels.data, values[asked[i].unit], 400);
            csrec_image_clear(&image);
        }
        io_bytes b = io_load(path);
        expect_cuts(&csrec_fits_format, &b, 20, &seed);
        io_free(&b);
        remove(path);
    }
}

/* Flags of a plane called DQ are of bad pixels; an extension has the cards that it inherits. */
TEST(quality_and_inheritance) {
    const char *path = io_path("units.fits"), *to = io_path("full.fits");
    char name[300], mask[300];
    int16_t values[3][200];
    csrec_measurement m = {0};
    int64_t k = 0;
    draw_units(values);
    write_units(path, RICE_1, values);
    snprintf(name, sizeof name, "%s[SCI]", path);
    snprintf(mask, sizeof mask, "%s[DQ]", path);
    assert_ok(csrec_measurement_read(name, mask, &m, NULL));
    for (int i = 0; i < 200; i++) {
        if (values[1][i]) continue;
        assert_int_equal(m.index[k], i);
        assert_true(m.y[k++] == values[0][i]);
    }
    assert_int_equal(m.n, k);
    csrec_measurement_clear(&m);
    csrec_image image = read_well(name);
    write_well(to, &image, name);
    io_bytes full = io_load(to);
    assert_int_equal(count_cards(&full, "TELESCOP= 'one     '", 20), 1);
    assert_int_equal(count_cards(&full, "OBJECT  = 'SCI     '", 20), 1);
    assert_int_equal(count_cards(&full, "OBJECT  = 'all     '", 20), 0);
    assert_int_equal(count_cards(&full, "ZCMPTYPE", 8), 0);
    io_free(&full);
    csrec_image_clear(&image);
    remove(path);
    remove(to);
}

FIXTURE(io_setup, io_teardown);
