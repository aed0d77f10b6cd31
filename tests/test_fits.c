/* SPDX-License-Identifier: BSD-3-Clause */
/* test_fits.c - FITS: files made byte by byte are read, what is written is what cfitsio reads,
 * headers are kept, and damage is one line; of several images: by name, in tiles, with quality and
 * inheritance. */
#include "fits_file.h"
#include <fitsio.h>

static int64_t stored_bits(const csrec_array *a, int64_t i) {
    const void *v = a->data;
    return a->dtype == CSREC_U8                             ? ((const uint8_t *)v)[i]
           : a->dtype == CSREC_I8                           ? ((const int8_t *)v)[i]
           : a->dtype == CSREC_U16                          ? ((const uint16_t *)v)[i]
           : a->dtype == CSREC_I16                          ? ((const int16_t *)v)[i]
           : a->dtype == CSREC_I32                          ? ((const int32_t *)v)[i]
           : a->dtype == CSREC_U32 || a->dtype == CSREC_F32 ? ((const uint32_t *)v)[i]
                                                            : ((const int64_t *)v)[i];
}

static double float_of(const drawn *d, int64_t i) {
    float single;
    double number;
    const uint32_t bits = (uint32_t)d->raw[i];
    memcpy(&single, &bits, sizeof single);
    memcpy(&number, &d->raw[i], sizeof number);
    return d->bitpix == -32 ? (double)single : d->bitpix == -64 ? number : (double)d->raw[i];
}

static void check_value(const drawn *d, const csrec_array *a, int64_t i) {
    bool integer = d->dtype != CSREC_F32 && d->dtype != CSREC_F64;
    if (integer) { /* 64 bits wrap as 2^63 is added */
        uint64_t moved = (uint64_t)d->raw[i] +
                         (d->zero == 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)(int64_t)d->zero);
        assert_true((uint64_t)stored_bits(a, i) == moved);
    } else if (d->scale == 1.0 && d->zero == 0.0) {
        assert_true(stored_bits(a, i) == d->raw[i]);
    } else {
        double expected = float_of(d, i) * d->scale + d->zero, got = csrec_array_value(a, i);
        double near = (d->dtype == CSREC_F32 ? 1e-7 : 1e-15) *
                      (fabs(float_of(d, i) * d->scale) + fabs(d->zero));
        assert_true(isnan(expected) ? isnan(got) : fabs(got - expected) <= near);
    }
}

static void check_read(const drawn *d, const csrec_image *image) {
    int dims = d->naxis;
    while (dims > 1 && d->naxes[dims - 1] == 1) dims--;
    assert_int_equal(image->pixels.shape.dims, dims);
    for (int a = 0; a < dims; a++)
        assert_int_equal(image->pixels.shape.dim[a], d->naxes[dims - 1 - a]);
    assert_int_equal(image->pixels.dtype, d->dtype);
    assert_int_equal(image->bits, 0);
    assert_false(image->has_channels);
    assert_int_equal(image->alpha != NULL, d->blank);
    for (int64_t i = 0; i < d->count; i++) {
        bool known = !d->blank || d->raw[i] != d->unknown;
        if (d->blank) assert_int_equal(image->alpha[i], known);
        if (known) check_value(d, &image->pixels, i);
    }
}

TEST(reads_every_arrangement) {
    /* A name that cfitsio would take apart. */
    static const char *const names[] = {"drawn.fits", "a[1].fits", "!b(c)|.fit", "mem:+3.fts"};
    for (int trial = 0; trial < 20 * KINDS; trial++) {
        drawn d = draw(trial);
        ENDS_BY(io_free) io_bytes b = {0};
        put_file(&b, &d, check_below(&seed, 2));
        size_t values = (size_t)d.count * (size_t)abs(d.bitpix) / 8, rest = values % BLOCK;
        if (check_below(&seed, 2) && rest) b.size -= BLOCK - rest; /* the last block cut */
        const char *path = io_save(names[trial % 4], b.data, b.size);
        CLEARED(csrec_image) image = read_well(path);
        check_read(&d, &image);
        if (trial < 3) assert_true(io_with_pipes(path, NULL, read_stdin));
    }
}

static const struct {
    csrec_dtype dtype;
    int image, memory; /* what cfitsio finds in the file, what it is asked for */
} types[] = {{CSREC_U8, BYTE_IMG, TBYTE},           {CSREC_I8, SBYTE_IMG, TSBYTE},
             {CSREC_U16, USHORT_IMG, TUSHORT},      {CSREC_I16, SHORT_IMG, TSHORT},
             {CSREC_U32, ULONG_IMG, TUINT},         {CSREC_I32, LONG_IMG, TINT},
             {CSREC_U64, LONGLONG_IMG, TULONGLONG}, {CSREC_I64, LONGLONG_IMG, TLONGLONG},
             {CSREC_F32, FLOAT_IMG, TFLOAT},        {CSREC_F64, DOUBLE_IMG, TDOUBLE}};
enum { TYPES = sizeof types / sizeof *types };

static csrec_image draw_signal(csrec_dtype dtype) {
    csrec_image image = {.has_channels = check_below(&seed, 2) > 0};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 3) + image.has_channels};
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = 2 + check_below(&seed, 12);
    assert_ok(csrec_array_create(dtype, &shape, &image.pixels));
    double most = ldexp(1.0, 8 * (int)csrec_dtype_size(dtype));
    for (int64_t i = 0; i < image.pixels.count; i++) /* beyond the ends of some types */
        csrec_array_set(&image.pixels, i, most * (1.2 * check_uniform(&seed) - 0.2));
    return image;
}

/* The entry of our array at that of the file, whose slowest axis has the channels. */
static int64_t ours(const csrec_image *image, int64_t at) {
    if (!image->has_channels) return at;
    int64_t channels = image->pixels.shape.dim[image->pixels.shape.dims - 1];
    int64_t entries = image->pixels.count / channels;
    return at % entries * channels + at / entries;
}

static void check_written(const char *path, const csrec_image *image, int type) {
    fitsfile *file = NULL;
    int status = 0, bitpix = 0, naxis = 0, any, units = 0;
    LONGLONG naxes[5];
    const csrec_shape *shape = &image->pixels.shape;
    size_t size = csrec_dtype_size(image->pixels.dtype);
    OWNED uint8_t *values = malloc((size_t)image->pixels.count * size);
    char history[CARD + 1];
    fits_open_diskfile(&file, path, READONLY, &status);
    fits_get_img_equivtype(file, &bitpix, &status);
    fits_get_img_paramll(file, 5, &(int){0}, &naxis, naxes, &status);
    fits_read_img(file, types[type].memory, 1, image->pixels.count, NULL, values, &any, &status);
    assert_int_equal(status, 0);
    assert_int_equal(bitpix, types[type].image);
    assert_int_equal(naxis, shape->dims);
    int first = image->has_channels;
    if (first) assert_int_equal(naxes[naxis - 1], shape->dim[naxis - 1]);
    for (int a = 0; a < naxis - first; a++)
        assert_int_equal(naxes[a], shape->dim[naxis - 1 - first - a]);
    for (int64_t i = 0; i < image->pixels.count; i++)
        assert_memory_equal(values + (size_t)i * size,
                            (uint8_t *)image->pixels.data + (size_t)ours(image, i) * size, size);
    fits_read_card(file, "HISTORY", history, &status);
    assert_non_null(strstr(history, csrec_version()));
    fits_get_num_hdus(file, &units, &status);
    assert_int_equal(units, 2);
    fits_close_file(file, &status);
    assert_int_equal(status, 0);
}

TEST(written_signals_are_read_by_cfitsio) {
    const char *path = io_path("written.fits");
    for (int trial = 0; trial < 100; trial++) {
        CLEARED(csrec_image) image = draw_signal(types[trial % TYPES].dtype);
        write_well(path, &image, NULL);
        check_written(path, &image, trial % TYPES);
        expect_fingerprint(path, fingerprint);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_size % BLOCK, 0);
        CLEARED(csrec_image) again = read_well(path);
        assert_int_equal(again.pixels.dtype, image.pixels.dtype);
    }
}

static const char *const kept[] = {
    "OBJECT  = 'M 31    '           / what it shows",
    "CTYPE1  = 'RA---TAN'",
    "CRVAL1  =      10.684708333333",
    "CD1_2   =              -1.5E-5",
    "CTYPE4  = 'STOKES  '",
    "DATE-OBS= '2019-03-01T22:10:00'",
    "BUNIT   = 'Jy/beam '",
    "LONGSTRN= 'OGIP 1.0'",
    "OBSERVER= 'Many of them, whose names do not fit a single card o&'",
    "CONTINUE  'f eighty columns'",
    "HIERARCH ESO DET CHIP = 'blue'",
    "COMMENT as it came from the sky",
    "HISTORY flat field"};
static const char *const dropped[] = {
    "BSCALE  =                  0.5", "BZERO   =                  4.0",
    "BLANK   =                -9999", "DATAMAX =                 17.0",
    "CHECKSUM= 'abcdefghijklmnop'",   "DATASUM = '12345   '"};
enum { KEPT = sizeof kept / sizeof *kept, DROPPED = sizeof dropped / sizeof *dropped };

static io_bytes make_sky(void) {
    static const int16_t rows[12] = {1, -9999, 3, 4, 5, 6, -9999, 8, 9, 10, 11, -9999};
    io_bytes b = {0};
    put_card(&b, primary);
    put_number(&b, "BITPIX", 16);
    put_number(&b, "NAXIS", 4);
    for (int a = 0; a < 4; a++)
        put_number(&b, check_print("NAXIS%d", a + 1), (const int[]){4, 3, 1, 1}[a]);
    for (int i = 0; i < KEPT; i++) put_card(&b, kept[i]);
    for (int i = 0; i < DROPPED; i++) put_card(&b, dropped[i]);
    put_card(&b, "END");
    fill(&b, ' ');
    for (int i = 0; i < 12; i++) io_put_be(&b, (uint16_t)rows[i], 2);
    fill(&b, '\0');
    return b;
}

TEST(headers_are_kept) {
    ENDS_BY(io_free) io_bytes sky = make_sky();
    const char *from = io_save("sky.fits", sky.data, sky.size), *to = io_path("full.fits");
    CLEARED(csrec_image) image = {0};
    CLEARED(csrec_measurement) m = expect_known(from, 0.5, 4.0);
    assert_int_equal(m.shape.dims, 2);
    assert_ok(csrec_array_create(CSREC_F32, &m.shape, &image.pixels));
    write_well(to, &image, from);
    ENDS_BY(io_free) io_bytes full = io_load(to);
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(count_cards(&full, kept[i], strlen(kept[i])), 1);
    for (int i = 0; i < DROPPED; i++) assert_int_equal(count_cards(&full, dropped[i], 9), 0);
    assert_int_equal(count_cards(&full, "HISTORY recovered by csrecover ", 31), 1);
    assert_int_equal(count_cards(&full, "BITPIX  =                  -32", 30), 1);
    assert_int_equal(count_cards(&full, "NAXIS   =                    4", 30), 1);
    assert_int_equal(count_cards(&full, "NAXIS4  =                    1", 30), 1);
}

/* An array whose last axis has channels is written as it was read, if like says so. */
TEST(channels_stay_where_they_were) {
    const char *from = io_path("from.fits"), *to = io_path("to.fits");
    CLEARED(csrec_image) image = {0};
    const csrec_shape shape = {3, {5, 4, 3}};
    assert_ok(csrec_array_create(CSREC_I16, &shape, &image.pixels));
    for (int i = 0; i < 60; i++) csrec_array_set(&image.pixels, i, i * i);
    write_well(from, &image, NULL);
    image.has_channels = true;
    write_well(to, &image, from);
    CLEARED(csrec_image) again = read_well(to);
    assert_memory_equal(&again.pixels.shape, &shape, sizeof shape);
    assert_memory_equal(again.pixels.data, image.pixels.data, 120);
}

TEST(damage_is_one_line) {
    for (int trial = 0; trial < 2 * KINDS; trial++) {
        drawn d = draw(trial);
        ENDS_BY(io_free) io_bytes b = {0};
        put_file(&b, &d, trial % 2);
        expect_cuts(&csrec_fits_format, &b, 40, &seed);
        for (int k = 0; k < 400; k++) { /* most in the cards that say what there is */
            size_t at = (size_t)check_below(&seed, k % 8 ? CARD * (5 + d.naxis) : (int64_t)b.size);
            if (trial % 2 && k % 8 && k % 3) at += BLOCK;
            int64_t value = k % 2 ? '0' + check_below(&seed, 10) : check_below(&seed, 256);
            expect_harmless(&csrec_fits_format, &b, at, (uint8_t)value);
        }
    }
}

/* PCOUNT: 0, or 9 before its spaces. */
static void expect_refusal(const drawn *d, bool extended, bool parameters, csrec_status expected,
                           const char *part) {
    ENDS_BY(io_free) io_bytes b = {0};
    csrec_image image = {0};
    csrec_error error = {""};
    put_file(&b, d, extended);
    for (size_t at = 0; parameters && at < b.size; at += CARD)
        if (memcmp(b.data + at, "PCOUNT", 6) == 0) b.data[at + 29] = '9';
    csrec_input input = csrec_input_memory(b.data, b.size, "t.fits");
    assert_int_equal(csrec_fits_format.signal(&input, &image, &error), expected);
    io_assert_line(&error, "t.fits", part);
}

/* The last: parameters of a group precede its image, so that whole blocks of values end beyond the
 * file by as many. */
TEST(refuses_by_name) {
    static int64_t raw[BLOCK];
    const drawn empty = {.bitpix = 8, .scale = 1.0},
                vast = {.bitpix = 16, .scale = 1.0, .naxis = 2, .naxes = {100000, 100000}},
                deep = {.bitpix = 8,
                        .scale = 1.0,
                        .naxis = 5,
                        .naxes = {2, 2, 2, 2, 2},
                        .raw = raw,
                        .count = 32},
                whole = {.bitpix = 64,
                         .scale = 1.0,
                         .naxis = 1,
                         .naxes = {BLOCK},
                         .raw = raw,
                         .count = BLOCK};
    expect_refusal(&empty, false, false, CSREC_DATA, "no image");
    expect_refusal(&vast, true, false, CSREC_FORMAT, "more values");
    expect_refusal(&deep, false, false, CSREC_UNSUPPORTED, "5 axes");
    expect_refusal(&whole, true, true, CSREC_FORMAT, "more values");
}

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
            CLEARED(csrec_image) image = {0};
            csrec_error error = {""};
            csrec_status status =
                csrec_signal_read(check_print("%s%s", path, asked[i].name), &image, &error);
            assert_int_equal(status, asked[i].unit < 0 ? CSREC_DATA : CSREC_OK);
            if (status) io_assert_line(&error, path, "[1] SCI,1, [2] DQ,1, [3] SCI,2");
            if (!status) assert_memory_equal(image.pixels.data, values[asked[i].unit], 400);
        }
        ENDS_BY(io_free) io_bytes b = io_load(path);
        expect_cuts(&csrec_fits_format, &b, 20, &seed);
        remove(path);
    }
}

/* Flags of a plane called DQ are of bad pixels; an extension has the cards that it inherits. */
TEST(quality_and_inheritance) {
    const char *path = io_path("units.fits"), *to = io_path("full.fits");
    int16_t values[3][200];
    CLEARED(csrec_measurement) m = {0};
    int64_t k = 0;
    draw_units(values);
    write_units(path, RICE_1, values);
    const char *name = check_print("%s[SCI]", path), *mask = check_print("%s[DQ]", path);
    assert_ok(csrec_measurement_read(name, mask, &m, NULL));
    for (int i = 0; i < 200; i++) {
        if (values[1][i]) continue;
        assert_int_equal(m.index[k], i);
        assert_true(m.y[k++] == values[0][i]);
    }
    assert_int_equal(m.n, k);
    CLEARED(csrec_image) image = read_well(name);
    write_well(to, &image, name);
    ENDS_BY(io_free) io_bytes full = io_load(to);
    assert_int_equal(count_cards(&full, "TELESCOP= 'one     '", 20), 1);
    assert_int_equal(count_cards(&full, "OBJECT  = 'SCI     '", 20), 1);
    assert_int_equal(count_cards(&full, "OBJECT  = 'all     '", 20), 0);
    assert_int_equal(count_cards(&full, "ZCMPTYPE", 8), 0);
    remove(path);
    remove(to);
}

FIXTURE(io_setup, io_teardown);
