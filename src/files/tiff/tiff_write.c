/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_write.c - signals to TIFF: pages of strips, compressed without loss. */
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "files/npy/npy.h"
#include "files/tiff/tiff.h"

/* STRIP: bytes, about. Tiles have a multiple of TILE rows and columns. */
enum { STRIP = 1 << 19, TILE = 16, TILE_MOST = 1 << 12 };

static const uint64_t CLASSIC_MOST = UINT64_C(0xF0000000); /* offsets have 32 bits */

/* The file that is written, and the one that its metadata are from. */
typedef struct writer {
    csrec_tiff tiff, like; /* like.file NULL: none */
    csrec_error *error;
    const csrec_image *signal;
    csrec_slab_fn take; /* of its values, or NULL: it has data */
    void *context;
    uint8_t *room; /* of rows that are taken, or of a page of several, or of a channel */
    uint8_t *tile; /* of one, or NULL: strips */
    uint32_t height, width;
    uint32_t down, across; /* rows of a strip or tile; across 0: strips */
    int64_t pages;
    uint16_t channels, compression, photometric;
    /* ImageJ takes what is not packed for one run of values, whatever the pages say, and knows few
     * predictors. */
    bool imagej;
    csrec_tiff_layout axes; /* which pages are channels, or split 1: none */
} writer;

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
 * nodata value: it is the signal's, of which mostly everything is known. */
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

static bool is_lossless(uint16_t compression) {
    static const uint16_t list[] = {COMPRESSION_NONE,          COMPRESSION_LZW,
                                    COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                    COMPRESSION_PACKBITS,      COMPRESSION_ZSTD};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i] == compression) return TIFFIsCODECConfigured(compression);
    return false;
}

/* Of a pixel of a page. */
static uint16_t samples_of(const writer *w) {
    return w->axes.split > 1 ? 1 : w->channels;
}

static size_t row_bytes(const writer *w) {
    return (size_t)w->width * samples_of(w) * csrec_dtype_size(w->signal->pixels.dtype);
}

/* Tiles stay as they are, unless they are much larger than the picture. */
static void compare_blocks(writer *w) {
    uint32_t across = 0, down = 0;
    if (!csrec_tiff_first(&w->like) || !TIFFIsTiled(w->like.file) ||
        !TIFFGetField(w->like.file, TIFFTAG_TILEWIDTH, &across) ||
        !TIFFGetField(w->like.file, TIFFTAG_TILELENGTH, &down) || across % TILE || down % TILE ||
        across == 0 || down == 0 || across >= w->width + TILE_MOST || down >= w->height + TILE_MOST)
        return;
    w->across = across;
    w->down = down;
}

/* Whether the pages are those of the file: channels that are pages are not taken in slabs. */
static bool is_like(const writer *w, const csrec_tiff_layout *l) {
    return l->height == w->height && l->width == w->width && l->pages == w->pages &&
           (l->split == 1 || (l->channels == w->channels && !w->take));
}

/* Without a file of the same pages and channels the pixels alone say what they are. */
static void compare(writer *w) {
    csrec_tiff_layout l;
    csrec_error ignored;
    w->photometric = w->channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    w->compression = COMPRESSION_ADOBE_DEFLATE;
    w->axes = (csrec_tiff_layout){.split = 1, .stride = 1};
    if (w->like.file && (csrec_tiff_layout_read(&w->like, &l, &ignored) || !is_like(w, &l)))
        csrec_tiff_close(&w->like);
    if (w->like.file) {
        bool plain = l.photometric != PHOTOMETRIC_PALETTE && l.photometric != PHOTOMETRIC_YCBCR;
        if (l.channels == w->channels && plain) w->photometric = l.photometric;
        if (is_lossless(l.compression)) w->compression = l.compression;
        w->axes = l;
        compare_blocks(w);
        const char *program = csrec_tiff_axes_find(w->like.file, 1).program;
        w->imagej = program && strcmp(program, "ImageJ") == 0;
        if (w->imagej && w->compression == COMPRESSION_NONE)
            w->compression = COMPRESSION_ADOBE_DEFLATE;
    }
    if (w->signal->colors && w->channels == 1 && w->signal->pixels.dtype == CSREC_U8)
        w->photometric = PHOTOMETRIC_PALETTE;
    if (!w->across) w->down = row_bytes(w) < STRIP ? (uint32_t)(STRIP / row_bytes(w)) : 1;
}

static void describe_extra(writer *w) {
    uint16_t kinds[UINT16_MAX];
    int colours = w->photometric == PHOTOMETRIC_RGB         ? 3
                  : w->photometric == PHOTOMETRIC_SEPARATED ? 4
                                                            : 1;
    int extra = samples_of(w) - colours;
    if (extra <= 0) return;
    memset(kinds, EXTRASAMPLE_UNSPECIFIED, sizeof kinds);
    TIFFSetField(w->tiff.file, TIFFTAG_EXTRASAMPLES, extra, kinds);
}

/* GeoTIFF's model transformation, from columns and rows to x and y, with row 0 at the least y: of
 * pixels whose corner is half a cell before the middle. */
static void describe_place(const writer *w) {
    enum { TRANSFORMATION = 34264 };
    static const TIFFFieldInfo field = {TRANSFORMATION, -1, -1, TIFF_DOUBLE,
                                        FIELD_CUSTOM,   1,  1,  (char *)"ModelTransformation"};
    const csrec_placement *p = w->signal->placement;
    const double *step = p->step, *origin = p->origin;
    const double matrix[16] = {step[1], 0,       0, origin[1] - step[1] / 2.0,
                               0,       step[0], 0, origin[0] - step[0] / 2.0,
                               0,       0,       0, 0,
                               0,       0,       0, 1};
    if (!TIFFFindField(w->tiff.file, TRANSFORMATION, TIFF_ANY))
        TIFFMergeFieldInfo(w->tiff.file, &field, 1);
    TIFFSetField(w->tiff.file, TRANSFORMATION, 16, matrix);
}

static void describe_page(writer *w, int64_t page) {
    TIFF *file = w->tiff.file;
    csrec_dtype dtype = w->signal->pixels.dtype;
    const char kind = *csrec_dtype_code(dtype);
    bool number = kind == 'f';
    bool whole =
        w->compression != COMPRESSION_NONE && w->compression != COMPRESSION_PACKBITS && !w->imagej;
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, w->width);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, w->height);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, (int)(8 * csrec_dtype_size(dtype)));
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT,
                 number        ? SAMPLEFORMAT_IEEEFP
                 : kind == 'i' ? SAMPLEFORMAT_INT
                               : SAMPLEFORMAT_UINT);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, (int)samples_of(w));
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, (int)w->photometric);
    if (w->photometric == PHOTOMETRIC_PALETTE) {
        const csrec_palette *p = w->signal->colors;
        TIFFSetField(file, TIFFTAG_COLORMAP, p->color[0], p->color[1], p->color[2]);
    }
    TIFFSetField(file, TIFFTAG_COMPRESSION, (int)w->compression);
    if (whole)
        TIFFSetField(file, TIFFTAG_PREDICTOR,
                     number ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
    describe_extra(w);
    if (w->across) TIFFSetField(file, TIFFTAG_TILEWIDTH, w->across);
    TIFFSetField(file, w->across ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, w->down);
    const int64_t pages = w->pages * w->axes.split;
    if (pages > 1) {
        TIFFSetField(file, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        if (pages <= UINT16_MAX) TIFFSetField(file, TIFFTAG_PAGENUMBER, (int)page, (int)pages);
    }
    if (w->like.file) copy_tags(w->like.file, file);
    if (w->signal->placement && w->signal->placement->dims == 2) describe_place(w);
    if (w->signal->has_nodata) csrec_tiff_set_nodata(file, w->signal->nodata);
}

/* The values of a page of the file that is a channel. */
static void gather(const writer *w, int64_t number) {
    const size_t size = csrec_dtype_size(w->signal->pixels.dtype), step = w->channels * size;
    const size_t pixels = (size_t)w->height * w->width;
    int64_t channel;
    const int64_t page = csrec_tiff_page_of(&w->axes, number, &channel);
    const uint8_t *from = (const uint8_t *)w->signal->pixels.data + (size_t)page * pixels * step +
                          (size_t)channel * size;
    for (size_t i = 0; i < pixels; i++) memcpy(w->room + i * size, from + i * step, size);
}

/* The first axis of a volume are its pages, of a picture its rows. */
static csrec_status take_rows(const writer *w, int64_t page, uint64_t y, uint64_t rows,
                              uint8_t **at) {
    csrec_slab slab = {(int64_t)y, (int64_t)rows};
    if (w->pages > 1) slab = (csrec_slab){page, 1};
    *at = (uint8_t *)w->signal->pixels.data;
    if (w->axes.split > 1) {
        if (y == 0) gather(w, page);
        *at = w->room + y * row_bytes(w);
        return CSREC_OK;
    }
    if (!w->take) {
        *at += ((size_t)page * w->height + y) * row_bytes(w);
        return CSREC_OK;
    }
    *at = w->room + (w->pages > 1 ? y * row_bytes(w) : 0);
    if (w->pages > 1 && y > 0) return CSREC_OK;
    return w->take(w->context, slab, w->room, w->error);
}

/* Rows that begin a strip or a line of tiles; the last tile of a line is filled up with its last
 * row and column, which packs well. */
static bool write_blocks(const writer *w, const uint8_t *at, uint32_t rows, uint32_t *number) {
    TIFF *file = w->tiff.file;
    const size_t row = row_bytes(w), pixel = row / w->width;
    if (!w->across)
        return TIFFWriteEncodedStrip(file, (*number)++, (void *)(uintptr_t)at,
                                     (tmsize_t)(rows * row)) >= 0;
    for (uint32_t x = 0; x < w->width; x += w->across) {
        uint8_t *to = w->tile;
        for (uint32_t i = 0; i < w->down; i++)
            for (uint32_t j = 0; j < w->across; j++, to += pixel) {
                const uint32_t y = i < rows ? i : rows - 1;
                const uint32_t column = x + j < w->width ? x + j : w->width - 1;
                memcpy(to, at + y * row + column * pixel, pixel);
            }
        if (TIFFWriteEncodedTile(file, (*number)++, w->tile, (tmsize_t)(to - w->tile)) < 0)
            return false;
    }
    return true;
}

static csrec_status write_page(writer *w, int64_t page) {
    TIFF *file = w->tiff.file;
    uint8_t *at;
    uint32_t down = w->down, number = 0;
    csrec_status status = CSREC_OK;
    describe_page(w, page);
    for (uint64_t y = 0; y < w->height && !status; y += down) {
        uint64_t rows = w->height - y < down ? w->height - y : down;
        status = take_rows(w, page, y, rows, &at);
        if (!status && !write_blocks(w, at, (uint32_t)rows, &number))
            status = csrec_tiff_damaged(&w->tiff, w->error);
    }
    if (status) return status;
    return TIFFWriteDirectory(file) ? CSREC_OK : csrec_tiff_damaged(&w->tiff, w->error);
}

static csrec_status write_pages(writer *w) {
    csrec_status status = CSREC_OK;
    bool there = w->like.file && csrec_tiff_first(&w->like);
    for (int64_t p = 0; p < w->pages * w->axes.split && !status; p++) {
        status = write_page(w, p);
        there = there && csrec_tiff_next(&w->like);
        if (!there) csrec_tiff_close(&w->like);
    }
    return status;
}

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
    const bool part = w->axes.split > 1;
    const size_t rows = part || w->pages > 1 ? w->height : w->down;
    if (((part || w->take) && !(w->room = malloc(rows * row_bytes(w)))) ||
        (w->across && !(w->tile = malloc(w->down * row_bytes(w) / w->width * w->across)))) {
        free(w->room);
        return csrec_memory_fail(w->error, output->name);
    }
    csrec_status status =
        csrec_tiff_create(output->file, output->name, bytes > CLASSIC_MOST, &w->tiff, w->error);
    if (!status) status = write_pages(w);
    csrec_tiff_close(&w->tiff);
    free(w->room);
    free(w->tile);
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
    CSREC_TRY(measure(&w, path));
    if (csrec_format_open_like(&csrec_tiff_format, like, &input))
        csrec_tiff_open(&input, &w.like, NULL);
    compare(&w);
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error);
    if (!status) {
        status = write_file(&w, &output);
        status = csrec_output_close(&output, status, error);
    }
    csrec_tiff_close(&w.like);
    csrec_input_close(&input);
    return status;
}
