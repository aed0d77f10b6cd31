/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_write.c - signals to TIFF: pages of strips, compressed without loss. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/format.h"
#include "files/npy/npy.h"
#include "files/output.h"
#include "files/tiff/tiff.h"

enum { STRIP = 1 << 19 }; /* bytes, about */

static const uint64_t CLASSIC_MOST = UINT64_C(0xF0000000); /* offsets have 32 bits */

/* The file that is written, and the one that its metadata are from. */
typedef struct writer {
    csrec_tiff tiff, like; /* like.file NULL: none */
    csrec_error *error;
    const csrec_image *signal;
    csrec_slab_fn take; /* of its values, or NULL: it has data */
    void *context;
    uint8_t *room; /* of a strip that is taken, or of a page of several */
    uint32_t height, width;
    int64_t pages;
    uint16_t channels, compression, photometric;
} writer;

/* ------------------------------------------------------------------ tags ---------------------- */

/* Of the tags that libtiff knows by itself, those with one float. */
static const uint32_t floats[] = {TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION, TIFFTAG_XPOSITION,
                                  TIFFTAG_YPOSITION};
static const uint32_t shorts[] = {TIFFTAG_RESOLUTIONUNIT, TIFFTAG_ORIENTATION};

/* Tags of how a picture is stored, or that point into their own file. */
static bool is_storage(uint32_t tag) {
    static const uint32_t tags[] = {TIFFTAG_PREDICTOR,
                                    TIFFTAG_JPEGTABLES,
                                    TIFFTAG_JPEGQUALITY,
                                    TIFFTAG_SUBIFD,
                                    TIFFTAG_EXIFIFD,
                                    TIFFTAG_GPSIFD,
                                    TIFFTAG_INTEROPERABILITYIFD,
                                    TIFFTAG_TRANSFERFUNCTION,
                                    TIFFTAG_REFERENCEBLACKWHITE,
                                    TIFFTAG_YCBCRSUBSAMPLING,
                                    TIFFTAG_PAGENUMBER,
                                    CSREC_TIFF_NODATA};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tags[i] == tag) return true;
    return tag >= 0x10000; /* libtiff's own, in no file */
}

/* A description as tifffile writes it, which is of the arrangement in that file. */
static bool is_layout(uint32_t tag, const char *text) {
    return tag == TIFFTAG_IMAGEDESCRIPTION && strncmp(text, "{\"shape\":", 9) == 0;
}

/* Makes the tag known to the other file, as it is in this one. */
static void declare(const TIFFField *field, TIFF *to) {
    if (TIFFFindField(to, TIFFFieldTag(field), TIFF_ANY)) return;
    TIFFFieldInfo info = {TIFFFieldTag(field),
                          (short)TIFFFieldReadCount(field),
                          (short)TIFFFieldWriteCount(field),
                          TIFFFieldDataType(field),
                          FIELD_CUSTOM,
                          1,
                          (unsigned char)TIFFFieldPassCount(field),
                          (char *)(uintptr_t)TIFFFieldName(field)};
    TIFFMergeFieldInfo(to, &info, 1);
}

/* Lists come with their length, of 16 or 32 bits; texts end by themselves. */
static void copy_custom(TIFF *from, TIFF *to, uint32_t tag) {
    const TIFFField *field = TIFFFieldWithTag(from, tag);
    void *data = NULL;
    uint32_t count = 0;
    uint16_t short_count = 0;
    if (!field || is_storage(tag)) return;
    if (TIFFFieldPassCount(field) && TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
        if (!TIFFGetField(from, tag, &count, &data) || !data) return;
        declare(field, to);
        TIFFSetField(to, tag, count, data);
    } else if (TIFFFieldPassCount(field)) {
        if (!TIFFGetField(from, tag, &short_count, &data) || !data) return;
        declare(field, to);
        TIFFSetField(to, tag, (int)short_count, data);
    } else if (TIFFFieldDataType(field) == TIFF_ASCII) {
        if (!TIFFGetField(from, tag, &data) || !data || is_layout(tag, data)) return;
        TIFFSetField(to, tag, data);
    }
}

/* What describes the picture, not how it is stored, from the page of one file to that of another:
 * resolution, orientation, texts, dates, profiles, and tags of GeoTIFF, GDAL and ImageJ. Not the
 * nodata value: in a recovery everything is known. */
static void copy_tags(TIFF *from, TIFF *to) {
    float value;
    uint16_t number;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (TIFFGetField(from, floats[i], &value)) TIFFSetField(to, floats[i], (double)value);
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
        if (TIFFGetField(from, shorts[i], &number)) TIFFSetField(to, shorts[i], (int)number);
    int count = TIFFGetTagListCount(from);
    for (int i = 0; i < count; i++) copy_custom(from, to, TIFFGetTagListEntry(from, i));
}

/* ------------------------------------------------------------------ what it is like ----------- */

static bool is_lossless(uint16_t compression) {
    static const uint16_t list[] = {COMPRESSION_NONE,          COMPRESSION_LZW,
                                    COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                    COMPRESSION_PACKBITS,      COMPRESSION_ZSTD};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i] == compression) return TIFFIsCODECConfigured(compression);
    return false;
}

/* Without a file of the same pages and channels the pixels alone say what they are. */
static void compare(writer *w) {
    csrec_tiff_layout l;
    csrec_error ignored;
    w->photometric = w->channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    w->compression = COMPRESSION_ADOBE_DEFLATE;
    if (!w->like.file) return;
    if (csrec_tiff_layout_read(&w->like, &l, &ignored) || l.height != w->height ||
        l.width != w->width || l.pages != w->pages) {
        csrec_tiff_close(&w->like);
        return;
    }
    bool plain = l.photometric != PHOTOMETRIC_PALETTE && l.photometric != PHOTOMETRIC_YCBCR;
    if (l.channels == w->channels && plain) w->photometric = l.photometric;
    if (is_lossless(l.compression)) w->compression = l.compression;
}

/* ------------------------------------------------------------------ pages --------------------- */

static void describe_extra(writer *w) {
    uint16_t kinds[UINT16_MAX];
    int colours = w->photometric == PHOTOMETRIC_RGB         ? 3
                  : w->photometric == PHOTOMETRIC_SEPARATED ? 4
                                                            : 1;
    int extra = w->channels - colours;
    if (extra <= 0) return;
    memset(kinds, EXTRASAMPLE_UNSPECIFIED, sizeof kinds);
    TIFFSetField(w->tiff.file, TIFFTAG_EXTRASAMPLES, extra, kinds);
}

static size_t row_bytes(const writer *w) {
    return (size_t)w->width * w->channels * csrec_dtype_size(w->signal->pixels.dtype);
}

static uint32_t strip_rows(const writer *w) {
    size_t row = row_bytes(w);
    return (uint32_t)(row < STRIP ? STRIP / row : 1);
}

static void describe_page(writer *w, int64_t page) {
    TIFF *file = w->tiff.file;
    csrec_dtype dtype = w->signal->pixels.dtype;
    const char kind = *csrec_dtype_code(dtype);
    bool number = kind == 'f';
    bool whole = w->compression != COMPRESSION_NONE && w->compression != COMPRESSION_PACKBITS;
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, w->width);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, w->height);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, (int)(8 * csrec_dtype_size(dtype)));
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT,
                 number        ? SAMPLEFORMAT_IEEEFP
                 : kind == 'i' ? SAMPLEFORMAT_INT
                               : SAMPLEFORMAT_UINT);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, (int)w->channels);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, (int)w->photometric);
    TIFFSetField(file, TIFFTAG_COMPRESSION, (int)w->compression);
    if (whole)
        TIFFSetField(file, TIFFTAG_PREDICTOR,
                     number ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
    describe_extra(w);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, strip_rows(w));
    if (w->pages > 1) {
        TIFFSetField(file, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        if (w->pages <= UINT16_MAX)
            TIFFSetField(file, TIFFTAG_PAGENUMBER, (int)page, (int)w->pages);
    }
    if (w->like.file) copy_tags(w->like.file, file);
}

/* The first axis of a volume are its pages, of a picture its rows. */
static csrec_status take_rows(const writer *w, int64_t page, uint64_t y, uint64_t rows,
                              uint8_t **at) {
    csrec_slab slab = {(int64_t)y, (int64_t)rows};
    if (w->pages > 1) slab = (csrec_slab){page, 1};
    *at = (uint8_t *)w->signal->pixels.data;
    if (!w->take) {
        *at += ((size_t)page * w->height + y) * row_bytes(w);
        return CSREC_OK;
    }
    *at = w->room + (w->pages > 1 ? y * row_bytes(w) : 0);
    if (w->pages > 1 && y > 0) return CSREC_OK;
    return w->take(w->context, slab, w->room, w->error);
}

static csrec_status write_page(writer *w, int64_t page) {
    TIFF *file = w->tiff.file;
    size_t row = row_bytes(w);
    uint8_t *at;
    uint32_t down = strip_rows(w), strip = 0;
    csrec_status status = CSREC_OK;
    describe_page(w, page);
    for (uint64_t y = 0; y < w->height && !status; y += down) {
        uint64_t rows = w->height - y < down ? w->height - y : down;
        status = take_rows(w, page, y, rows, &at);
        if (!status && TIFFWriteEncodedStrip(file, strip++, at, (tmsize_t)(rows * row)) < 0)
            status = csrec_tiff_damaged(&w->tiff, w->error);
    }
    if (status) return status;
    return TIFFWriteDirectory(file) ? CSREC_OK : csrec_tiff_damaged(&w->tiff, w->error);
}

static csrec_status write_pages(writer *w) {
    csrec_status status = CSREC_OK;
    bool there = w->like.file && csrec_tiff_first(&w->like);
    for (int64_t p = 0; p < w->pages && !status; p++) {
        status = write_page(w, p);
        there = there && csrec_tiff_next(&w->like);
        if (!there) csrec_tiff_close(&w->like);
    }
    return status;
}

/* ------------------------------------------------------------------ the file ------------------ */

static csrec_status measure(writer *w, const char *path) {
    const csrec_shape *shape = &w->signal->pixels.shape;
    bool split = w->signal->bits > 0 || w->signal->has_channels;
    int axes = shape->dims - (split && shape->dims > 2);
    int64_t channels = axes < shape->dims ? shape->dim[axes] : 1;
    csrec_shape whole = *shape;
    whole.dims = axes;
    const char *reason = csrec_format_refusal(&csrec_tiff_format.format, &whole, channels);
    if (reason || (!w->take && !w->signal->pixels.data) || w->signal->alpha)
        return csrec_fail(w->error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "a TIFF is written without transparency");
    w->pages = axes == 3 ? shape->dim[0] : 1;
    w->height = (uint32_t)shape->dim[axes - 2];
    w->width = (uint32_t)shape->dim[axes - 1];
    w->channels = (uint16_t)channels;
    return CSREC_OK;
}

static csrec_status write_file(writer *w, csrec_output *output) {
    const csrec_array *pixels = &w->signal->pixels;
    uint64_t bytes = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype);
    if (w->take && !(w->room = malloc((w->pages > 1 ? w->height : strip_rows(w)) * row_bytes(w))))
        return csrec_fail(w->error, CSREC_MEMORY, "%s: out of memory", output->name);
    csrec_status status =
        csrec_tiff_create(output->file, output->name, bytes > CLASSIC_MOST, &w->tiff, w->error);
    if (!status) status = write_pages(w);
    csrec_tiff_close(&w->tiff);
    free(w->room);
    return status ? status : csrec_output_append_fingerprint(output, w->error);
}

csrec_status csrec_tiff_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error) {
    return csrec_tiff_write_slabs(files, path, signal, NULL, NULL, like, error);
}

csrec_status csrec_tiff_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                    csrec_slab_fn take, void *context, const char *like,
                                    csrec_error *error) {
    writer w = {.error = error, .signal = signal, .take = take, .context = context};
    csrec_input input = {0};
    csrec_output output;
    csrec_status status = measure(&w, path);
    if (status) return status;
    if (csrec_format_open_like(&csrec_tiff_format, like, &input))
        csrec_tiff_open(&input, &w.like, NULL);
    compare(&w);
    status = csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error);
    if (!status) {
        status = write_file(&w, &output);
        status = csrec_output_close(&output, status, error);
    }
    csrec_tiff_close(&w.like);
    csrec_input_close(&input);
    return status;
}
