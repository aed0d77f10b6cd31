/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tiff.c - TIFF: what libtiff writes in every arrangement is read, what is written is what
 * libtiff reads, metadata are kept, and damage is one line. */
#include "tiff_tags.h"

static uint64_t seed;

typedef struct {
    uint32_t height, width, across, down; /* across 0: strips of `down` rows */
    int pages, channels, alpha, planar, compression;
    int associated;     /* colours are multiplied by alpha */
    int masked, nodata; /* after each page is a mask of 1 bit; 0 is unknown, in its channel */
    csrec_dtype dtype;
    const char *mode, *description; /* of the first page, or NULL */
    uint8_t *samples;               /* [pages][height][width][channels + alpha] */
    size_t size, count;
} drawn;

static int stored(const drawn *d) {
    return d->channels + d->alpha;
}

/* pages, samples: 0, or how many. */
static drawn draw(int trial, int pages, int samples) {
    static const csrec_dtype types[] = {CSREC_U8,  CSREC_I8,  CSREC_U16, CSREC_I16, CSREC_U32,
                                        CSREC_I32, CSREC_U64, CSREC_I64, CSREC_F32, CSREC_F64};
    static const char *const modes[] = {"w", "wl", "wb", "w8"};
    static const int compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                       COMPRESSION_PACKBITS};
    drawn d = {.height = 1 + (uint32_t)check_below(&seed, 40),
               .width = 1 + (uint32_t)check_below(&seed, 40),
               .across = check_below(&seed, 2) ? 16 * (1 + (uint32_t)check_below(&seed, 3)) : 0,
               .pages = check_below(&seed, 3) ? 1 : 2 + (int)check_below(&seed, 3),
               .channels = 1 + (int)check_below(&seed, 4),
               .alpha = (int)check_below(&seed, 2),
               .planar = 1 + (int)check_below(&seed, 2),
               .compression = compressions[check_below(&seed, 4)],
               .dtype = types[trial % 10],
               .masked = (int)check_below(&seed, 2),
               .mode = modes[check_below(&seed, 4)]};
    if (pages) d.pages = pages;
    if (samples) d.channels = samples;
    if (samples) d.alpha = 0;
    /* of 64 bits, doubles round quotients */
    d.associated = d.alpha && trial % 10 / 2 != 3 && check_below(&seed, 2);
    d.nodata = !d.alpha && check_below(&seed, 2);
    d.down = d.across ? 16 * (1 + (uint32_t)check_below(&seed, 3))
                      : 1 + (uint32_t)check_below(&seed, 50);
    d.size = csrec_dtype_size(d.dtype);
    d.count = (size_t)d.pages * d.height * d.width * (size_t)stored(&d);
    csrec_array a = {.dtype = d.dtype, .count = (int64_t)d.count};
    a.data = d.samples = malloc(d.count * d.size);
    for (size_t i = 0; i < d.count; i++) {
        double value = floor(300.0 * (check_uniform(&seed) - 0.3));
        bool opaque = d.alpha && i % (size_t)stored(&d) == (size_t)d.channels;
        csrec_array_set(&a, (int64_t)i,
                        opaque ? (double)check_below(&seed, 2 + 90 * d.associated) : value);
    }
    return d;
}

static bool in_mask(const drawn *d, size_t entry) {
    return !d->masked || entry * 2654435761u >> 7 & 3;
}

static const uint8_t *sample(const drawn *d, int page, uint32_t y, uint32_t x, int c) {
    size_t pixel = ((size_t)page * d->height + y) * d->width + x;
    return d->samples + (pixel * (size_t)stored(d) + (size_t)c) * d->size;
}

/* The block at y, x: of one channel, or of all. */
static void write_block(TIFF *file, const drawn *d, int page, uint32_t y, uint32_t x, int plane,
                        uint32_t number) {
    uint32_t across = d->across ? d->across : d->width;
    int each = d->planar == PLANARCONFIG_CONTIG ? stored(d) : 1;
    uint32_t rows = d->across || y + d->down <= d->height ? d->down : d->height - y;
    size_t bytes = (size_t)rows * across * (size_t)each * d->size;
    OWNED uint8_t *block = calloc(bytes, 1);
    for (uint32_t i = 0; i < rows && y + i < d->height; i++)
        for (uint32_t j = 0; j < across && x + j < d->width; j++)
            for (int c = 0; c < each; c++)
                memcpy(block + (((size_t)i * across + j) * (size_t)each + (size_t)c) * d->size,
                       sample(d, page, y + i, x + j, plane + c), d->size);
    tmsize_t wrote = d->across ? TIFFWriteEncodedTile(file, number, block, (tmsize_t)bytes)
                               : TIFFWriteEncodedStrip(file, number, block, (tmsize_t)bytes);
    assert_true(wrote >= 0);
}

static void write_mask(TIFF *file, const drawn *d, int page) {
    const size_t bytes = (d->width + 7) / 8;
    OWNED uint8_t *row = malloc(bytes);
    TIFFSetField(file, TIFFTAG_SUBFILETYPE, FILETYPE_MASK);
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, d->width);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, d->height);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MASK);
    for (uint32_t y = 0; y < d->height; y++) {
        memset(row, 0, bytes);
        for (uint32_t x = 0; x < d->width; x++)
            if (in_mask(d, ((size_t)page * d->height + y) * d->width + x))
                row[x / 8] |= (uint8_t)(128 >> x % 8);
        assert_int_equal(TIFFWriteScanline(file, row, y, 0), 1);
    }
    assert_int_equal(TIFFWriteDirectory(file), 1);
}

static void write_page(TIFF *file, const drawn *d, int page) {
    bool real = d->dtype == CSREC_F32 || d->dtype == CSREC_F64;
    bool negative = d->dtype == CSREC_I8 || d->dtype == CSREC_I16 || d->dtype == CSREC_I32 ||
                    d->dtype == CSREC_I64;
    uint16_t extra[5] = {0};
    int more = stored(d) - 1;
    if (d->alpha) extra[more - 1] = d->associated ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, d->width);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, d->height);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, (int)(8 * d->size));
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, stored(d));
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT,
                 real       ? SAMPLEFORMAT_IEEEFP
                 : negative ? SAMPLEFORMAT_INT
                            : SAMPLEFORMAT_UINT);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, d->planar);
    TIFFSetField(file, TIFFTAG_COMPRESSION, d->compression);
    if (more) TIFFSetField(file, TIFFTAG_EXTRASAMPLES, more, extra);
    declare(file);
    if (d->description && page == 0) TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, d->description);
    if (d->nodata) TIFFSetField(file, NODATA, "0.0");
    if (d->across) TIFFSetField(file, TIFFTAG_TILEWIDTH, d->across);
    if (d->across) TIFFSetField(file, TIFFTAG_TILELENGTH, d->down);
    if (!d->across) TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, d->down);
    uint32_t number = 0;
    int planes = d->planar == PLANARCONFIG_CONTIG ? 1 : stored(d);
    for (int plane = 0; plane < planes; plane++)
        for (uint32_t y = 0; y < d->height; y += d->down)
            for (uint32_t x = 0; x < d->width; x += d->across ? d->across : d->width)
                write_block(file, d, page, y, x, plane, number++);
    assert_int_equal(TIFFWriteDirectory(file), 1);
    if (d->masked) write_mask(file, d, page);
}

static void write_drawn(const char *path, const drawn *d) {
    TIFF *file = TIFFOpen(path, d->mode);
    assert_non_null(file);
    for (int page = 0; page < d->pages; page++) write_page(file, d, page);
    TIFFClose(file);
}

static double value_of(const drawn *d, const uint8_t *at) {
    csrec_array one = {.dtype = d->dtype, .count = 1, .data = (void *)(uintptr_t)at};
    return csrec_array_value(&one, 0);
}

/* At a pixel, of which each channel or all are known or not. */
static void check_known(const drawn *d, const csrec_image *image, const uint8_t *pixel,
                        int64_t entry) {
    const int each = image->by_channel ? d->channels : 1;
    for (int c = 0; c < each; c++) {
        bool known = in_mask(d, (size_t)entry);
        if (d->nodata) known = known && value_of(d, pixel + (size_t)c * d->size) != 0.0;
        if (d->alpha) known = known && value_of(d, pixel + (size_t)d->channels * d->size) > 0.0;
        assert_int_equal(image->alpha[entry * each + c], known);
    }
}

/* The colour of a sample. */
static const void *colour_of(const drawn *d, const uint8_t *pixel, int c) {
    static double room;
    const double alpha = d->associated ? value_of(d, pixel + (size_t)d->channels * d->size) : 0.0;
    const bool negative = d->dtype % 2 == CSREC_I8 % 2; /* U8, I8, U16, ... */
    const double white =
        d->dtype >= CSREC_F32 ? 1.0 : pow(2.0, 8.0 * (double)d->size - negative) - 1.0;
    pixel += (size_t)c * d->size;
    if (alpha <= 0.0 || alpha >= white) return pixel;
    csrec_array one = {.dtype = d->dtype, .count = 1, .data = &room};
    csrec_array_set(&one, 0, value_of(d, pixel) * (white / alpha));
    return &room;
}

static void check_read(const drawn *d, const csrec_image *image) {
    const csrec_shape *shape = &image->pixels.shape;
    int first = d->pages > 1;
    assert_int_equal(shape->dims, 3 + first);
    if (first) assert_int_equal(shape->dim[0], d->pages);
    assert_int_equal(shape->dim[first], d->height);
    assert_int_equal(shape->dim[first + 1], d->width);
    assert_int_equal(shape->dim[first + 2], d->channels);
    assert_int_equal(image->pixels.dtype, d->dtype);
    assert_int_equal(image->bits, d->dtype == CSREC_U8 ? 8 : d->dtype == CSREC_U16 ? 16 : 0);
    assert_true(image->has_channels);
    assert_int_equal(image->alpha != NULL, d->alpha || d->nodata || d->masked);
    assert_int_equal(image->by_channel, d->nodata && d->channels > 1);
    assert_int_equal(image->has_nodata, d->nodata);
    const uint8_t *at = image->pixels.data;
    int64_t entry = 0;
    for (int page = 0; page < d->pages; page++)
        for (uint32_t y = 0; y < d->height; y++)
            for (uint32_t x = 0; x < d->width; x++, entry++) {
                for (int c = 0; c < d->channels; c++, at += d->size)
                    assert_memory_equal(at, colour_of(d, sample(d, page, y, x, 0), c), d->size);
                if (image->alpha) check_known(d, image, sample(d, page, y, x, 0), entry);
            }
}

/* Rows or pages of their own are those of the whole, and so is what is known of them. */
static void check_slab(const char *path, const csrec_image *whole) {
    const int64_t all = whole->pixels.shape.dim[0], first = check_below(&seed, all);
    const size_t entry = (size_t)(whole->pixels.count / all),
                 size = csrec_dtype_size(whole->pixels.dtype);
    ENDS_BY(csrec_input_close) csrec_input input;
    CLEARED(csrec_image) part;
    assert_ok(csrec_input_open(path, &input, NULL));
    input.slab = (csrec_slab){first, 1 + check_below(&seed, all - first)};
    const size_t from = (size_t)first * entry, count = (size_t)input.slab.count * entry;
    assert_ok(csrec_format_signal(&input, &part, NULL));
    assert_int_equal(part.pixels.count, count);
    assert_memory_equal(part.pixels.data, (char *)whole->pixels.data + from * size, count * size);
    const size_t each =
        whole->by_channel ? 1 : (size_t)whole->pixels.shape.dim[whole->pixels.shape.dims - 1];
    if (whole->alpha) assert_memory_equal(part.alpha, whole->alpha + from / each, count / each);
}

TEST(reads_every_arrangement) {
    const char *path = io_path("drawn.tif");
    for (int trial = 0; trial < 300; trial++) {
        drawn d = draw(trial, 0, 0);
        write_drawn(path, &d);
        CLEARED(csrec_image) image = read_well(path);
        check_read(&d, &image);
        check_slab(path, &image);
        free(d.samples);
    }
}

/* Pages that ImageJ or OME says are channels: [slices, H, W, channels]. */
TEST(channels_are_pages) {
    const char *path = io_path("drawn.tif");
    const char *text;
    for (int trial = 0; trial < 60; trial++) {
        const int slices = 1 + (int)check_below(&seed, 3),
                  channels = 2 + (int)check_below(&seed, 2);
        const bool fastest = check_below(&seed, 2);
        drawn d = draw(trial, slices * channels, 1);
        if (fastest)
            text = check_print("ImageJ=1.54f\nimages=%d\nchannels=%d\nslices=%d\n", d.pages,
                               channels, slices);
        else
            text = check_print("<OME><Pixels SizeC=\"%d\" SizeT=\"1\" DimensionOrder=\"XYZCT\" "
                               "SizeZ=\"%d\"/></OME>",
                               channels, slices);
        d.description = text;
        write_drawn(path, &d);
        CLEARED(csrec_image) image = read_well(path);
        assert_int_equal(image.pixels.count, d.count);
        assert_int_equal(image.pixels.shape.dims, 3 + (slices > 1));
        const uint8_t *at = image.pixels.data;
        for (int64_t i = 0; i < image.pixels.count; i++, at += d.size) {
            const int c = (int)(i % channels), z = (int)(i / channels / d.width / d.height);
            const uint32_t x = (uint32_t)(i / channels % d.width);
            const uint32_t y = (uint32_t)(i / channels / d.width % d.height);
            const int page = fastest ? z * channels + c : c * slices + z;
            assert_memory_equal(at, sample(&d, page, y, x, 0), d.size);
            const size_t entry = ((size_t)page * d.height + y) * d.width + x;
            const bool known = in_mask(&d, entry) && !(d.nodata && value_of(&d, at) == 0.0);
            if (image.alpha) assert_int_equal(image.alpha[i], known);
        }
        check_slab(path, &image);
        free(d.samples);
    }
}

static csrec_image signal_of(const drawn *d) {
    csrec_image image = {.has_channels = true};
    csrec_shape shape = {4, {d->pages, d->height, d->width, d->channels}};
    if (d->pages == 1) shape = (csrec_shape){3, {d->height, d->width, d->channels}};
    assert_ok(csrec_array_create(d->dtype, &shape, &image.pixels));
    memcpy(image.pixels.data, d->samples, d->count * d->size);
    return image;
}

/* By libtiff's rows, which no code of ours reads. */
static void check_written(const char *path, const drawn *d) {
    TIFF *file = TIFFOpen(path, "r");
    assert_non_null(file);
    OWNED uint8_t *row = malloc((size_t)TIFFScanlineSize(file));
    for (int page = 0; page < d->pages; page++) {
        for (uint32_t y = 0; y < d->height; y++) {
            assert_int_equal(TIFFReadScanline(file, row, y, 0), 1);
            assert_memory_equal(row, sample(d, page, y, 0, 0),
                                d->width * (size_t)d->channels * d->size);
        }
        assert_int_equal(TIFFReadDirectory(file), page + 1 < d->pages);
    }
    TIFFClose(file);
}

TEST(written_signals_are_read_by_libtiff) {
    const char *path = io_path("written.tif");
    for (int trial = 0; trial < 100; trial++) {
        drawn d = draw(trial, 0, 0);
        d.count = d.count / (size_t)stored(&d) * (size_t)d.channels;
        d.alpha = d.masked = d.nodata = 0;
        CLEARED(csrec_image) image = signal_of(&d);
        write_well(path, &image, NULL);
        check_written(path, &d);
        expect_fingerprint(path, fingerprint);
        free(d.samples);
    }
}

TEST(damage_is_one_line) {
    const char *path = io_path("drawn.tif");
    for (int trial = 0; trial < 20; trial++) {
        drawn d = draw(trial, trial % 2 ? 4 : 0, trial % 2);
        if (trial % 2) d.description = "ImageJ=1\nimages=4\nchannels=2\nslices=2\n";
        write_drawn(path, &d);
        ENDS_BY(io_free) io_bytes b = io_load(path);
        expect_cuts(&csrec_tiff_format, &b, 40, &seed);
        for (int k = 0; k < 200; k++) {
            size_t at = (size_t)check_below(&seed, (int64_t)b.size);
            expect_harmless(&csrec_tiff_format, &b, at,
                            b.data[at] ^ (uint8_t)(1 + check_below(&seed, 255)));
        }
        free(d.samples);
    }
}

/* Types and arrangements that are told apart, not guessed. */
TEST(refuses_by_name) {
    const char *path = io_path("refused.tif");
    csrec_image image = {0};
    const uint16_t halves[4] = {0};
    TIFF *file = TIFFOpen(path, "w");
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFWriteScanline(file, (void *)(uintptr_t)halves, 0, 0);
    TIFFClose(file);
    io_refused(csrec_signal_read(path, &image, &error), CSREC_UNSUPPORTED, path,
               "values of 16 bits");
    file = TIFFOpen(path, "w");
    for (uint32_t width = 4; width < 6; width++) {
        const uint8_t row[5] = {0};
        TIFFSetField(file, TIFFTAG_IMAGEWIDTH, width);
        TIFFSetField(file, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFWriteScanline(file, (void *)(uintptr_t)row, 0, 0);
        TIFFWriteDirectory(file);
    }
    TIFFClose(file);
    io_refused(csrec_signal_read(path, &image, &error), CSREC_DATA, path, "pages differ");
}

FIXTURE(io_setup, io_teardown);

int main(void) {
    seed = check_seed();
    TIFFSetWarningHandler(NULL);
    return check_run();
}
