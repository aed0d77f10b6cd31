/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_read.c - TIFF to samples as stored: strips or tiles, interleaved or in planes, of any page.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/tiff/tiff.h"

/* Bytes of a block of a picture that is smaller; and how often as long as the file what it holds
 * can be: LZW's longest strings, of 12 bits each. */
enum { BLOCK_MOST = 1 << 24, EXPANSION_MOST = 2600 };

/* ------------------------------------------------------------------ layout -------------------- */

static bool find_type(TIFF *file, uint16_t *bits, csrec_dtype *dtype) {
    uint16_t kind = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &kind);
    bool number = kind == SAMPLEFORMAT_IEEEFP, negative = kind == SAMPLEFORMAT_INT;
    if (!number && !negative && kind != SAMPLEFORMAT_UINT && kind != SAMPLEFORMAT_VOID)
        return false;
    if (number && *bits != 32 && *bits != 64) return false;
    static const csrec_dtype types[][3] = {{CSREC_U8, CSREC_I8, CSREC_U8},
                                           {CSREC_U16, CSREC_I16, CSREC_U16},
                                           {CSREC_U32, CSREC_I32, CSREC_F32},
                                           {CSREC_U64, CSREC_I64, CSREC_F64}};
    for (int i = 0; i < 4; i++)
        if (*bits == 8 << i) *dtype = types[i][number ? 2 : negative];
    return *bits == 8 || *bits == 16 || *bits == 32 || *bits == 64;
}

static void find_channels(TIFF *file, csrec_tiff_layout *layout) {
    uint16_t extra = 0, *kinds = NULL;
    TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &layout->stored);
    TIFFGetFieldDefaulted(file, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    layout->alpha =
        extra > 0 && layout->stored > 1 &&
        (kinds[extra - 1] == EXTRASAMPLE_ASSOCALPHA || kinds[extra - 1] == EXTRASAMPLE_UNASSALPHA);
    layout->channels = (uint16_t)(layout->stored - layout->alpha);
    if (layout->photometric == PHOTOMETRIC_PALETTE) layout->channels = 3;
}

static void find_nodata(TIFF *file, csrec_tiff_layout *layout) {
    uint32_t count = 0;
    const void *text = NULL;
    char copy[64], *end = copy;
    if (!TIFFFindField(file, CSREC_TIFF_NODATA, TIFF_ANY) ||
        !TIFFGetField(file, CSREC_TIFF_NODATA, &count, &text) || !text || count == 0)
        return;
    size_t length = count < sizeof copy ? count : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    layout->unknown = strtod(copy, &end);
    layout->nodata = end > copy;
    if (layout->dtype == CSREC_F32) layout->unknown = (double)(float)layout->unknown;
}

/* What makes the samples something else than numbers to recover, or cannot be unpacked. */
static csrec_status check_page(csrec_tiff *tiff, const csrec_tiff_layout *layout, bool typed,
                               uint16_t bits, csrec_error *error) {
    bool jpeg = layout->compression == COMPRESSION_JPEG;
    if (!typed)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has values of %d bits of a kind that is not read; save it with 8 to "
                          "64 bit integers or 32 or 64 bit floats",
                          tiff->name, bits);
    if (!TIFFIsCODECConfigured(layout->compression))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is compressed by method %d, which this libtiff cannot unpack; save "
                          "it with deflate or LZW, or without compression",
                          tiff->name, layout->compression);
    if (layout->photometric == PHOTOMETRIC_LOGL || layout->photometric == PHOTOMETRIC_LOGLUV ||
        (layout->photometric == PHOTOMETRIC_YCBCR && !jpeg) ||
        (layout->photometric == PHOTOMETRIC_PALETTE && (bits != 8 || layout->stored != 1)))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has pixels coded in a way that is not read (photometric "
                          "interpretation %d); save it as gray or RGB",
                          tiff->name, layout->photometric);
    return CSREC_OK;
}

static csrec_status read_page_layout(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                     csrec_error *error) {
    uint16_t bits = 1;
    TIFF *file = tiff->file;
    *layout = (csrec_tiff_layout){.photometric = PHOTOMETRIC_MINISBLACK};
    TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &layout->photometric);
    TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &layout->compression);
    if (!TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &layout->width) ||
        !TIFFGetField(file, TIFFTAG_IMAGELENGTH, &layout->height) || layout->width == 0 ||
        layout->height == 0 || layout->width > INT32_MAX || layout->height > INT32_MAX)
        return csrec_tiff_damaged(tiff, error);
    bool typed = find_type(file, &bits, &layout->dtype);
    find_channels(file, layout);
    if (typed) find_nodata(file, layout);
    return check_page(tiff, layout, typed, bits, error);
}

static bool same_layout(const csrec_tiff_layout *a, const csrec_tiff_layout *b) {
    return a->height == b->height && a->width == b->width && a->stored == b->stored &&
           a->channels == b->channels && a->alpha == b->alpha && a->dtype == b->dtype;
}

csrec_status csrec_tiff_layout_read(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                    csrec_error *error) {
    if (!csrec_tiff_first(tiff)) return csrec_tiff_damaged(tiff, error);
    csrec_status status = read_page_layout(tiff, layout, error);
    for (layout->pages = 1; !status && csrec_tiff_next(tiff); layout->pages++) {
        csrec_tiff_layout page;
        status = read_page_layout(tiff, &page, error);
        if (!status && !same_layout(layout, &page))
            status = csrec_fail(error, CSREC_DATA,
                                "%s: its pages differ in size, channels or type; save those of one "
                                "volume, or a single page",
                                tiff->name);
    }
    return status;
}

/* ------------------------------------------------------------------ pixels -------------------- */

/* A strip, or a tile: `stored` samples a pixel of plane `plane`, or one. */
typedef struct block {
    uint32_t row, column, rows, columns; /* rows, columns: inside of the picture */
    uint32_t across;                     /* pixels of a row of the block */
    uint16_t plane, samples;
    bool missing; /* not in the file: GDAL leaves out what is all unknown */
} block;

typedef struct page_reader {
    csrec_tiff *tiff;
    const csrec_tiff_layout *layout;
    csrec_error *error;
    size_t size;        /* of a sample */
    uint32_t top, rows; /* of each page, to read */
    uint8_t *pixels;    /* [rows][width][stored] of the page */
    uint8_t *missing;   /* [rows][width], or NULL; 1: in no block */
    uint8_t *room;      /* of a block */
    tmsize_t bytes;     /* of a whole block */
} page_reader;

static void place(page_reader *r, const block *b) {
    const csrec_tiff_layout *l = r->layout;
    for (uint32_t i = 0; i < b->rows; i++) {
        if (b->row + i < r->top || b->row + i >= r->top + r->rows) continue;
        size_t pixel = (size_t)(b->row + i - r->top) * l->width + b->column;
        uint8_t *to = r->pixels + (pixel * l->stored + b->plane) * r->size;
        const uint8_t *from = r->room + (size_t)i * b->across * b->samples * r->size;
        if (b->missing && r->missing) memset(r->missing + pixel, 1, b->columns);
        if (b->missing) continue;
        if (b->samples == l->stored) {
            memcpy(to, from, (size_t)b->columns * b->samples * r->size);
            continue;
        }
        for (uint32_t j = 0; j < b->columns; j++, from += r->size, to += l->stored * r->size)
            memcpy(to, from, r->size);
    }
}

static csrec_status read_block(page_reader *r, block *b, uint32_t number, bool tiled) {
    TIFF *file = r->tiff->file;
    tmsize_t need = (tmsize_t)((uint64_t)b->rows * b->across * b->samples * r->size);
    b->missing = TIFFGetStrileByteCount(file, number) == 0;
    if (!b->missing) {
        tmsize_t got = tiled ? TIFFReadEncodedTile(file, number, r->room, r->bytes)
                             : TIFFReadEncodedStrip(file, number, r->room, r->bytes);
        if (got < need) return csrec_tiff_damaged(r->tiff, r->error);
    }
    place(r, b);
    return CSREC_OK;
}

/* Whether the block's size is what its extents and samples need. */
static csrec_status open_blocks(page_reader *r, bool tiled, block *b, uint32_t *down) {
    TIFF *file = r->tiff->file;
    const csrec_tiff_layout *l = r->layout;
    uint16_t planar = PLANARCONFIG_CONTIG;
    TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &planar);
    *b = (block){.across = l->width, .samples = planar == PLANARCONFIG_CONTIG ? l->stored : 1};
    *down = l->height;
    if (tiled) {
        TIFFGetField(file, TIFFTAG_TILEWIDTH, &b->across);
        TIFFGetField(file, TIFFTAG_TILELENGTH, down);
    } else {
        TIFFGetFieldDefaulted(file, TIFFTAG_ROWSPERSTRIP, down);
    }
    if (*down > l->height && !tiled) *down = l->height;
    r->bytes = tiled ? TIFFTileSize(file) : TIFFStripSize(file);
    double page = (double)l->height * l->width * l->stored * (double)r->size;
    if (b->across == 0 || *down == 0 || r->bytes <= 0 ||
        (double)r->bytes < (double)b->across * *down * b->samples * (double)r->size ||
        (double)r->bytes > fmax(4.0 * page, BLOCK_MOST))
        return csrec_tiff_damaged(r->tiff, r->error);
    r->room = malloc((size_t)r->bytes);
    return r->room ? CSREC_OK
                   : csrec_fail(r->error, CSREC_MEMORY, "%s: out of memory", r->tiff->name);
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static csrec_status read_page(page_reader *r) {
    const csrec_tiff_layout *l = r->layout;
    bool tiled = TIFFIsTiled(r->tiff->file);
    uint32_t down = 0, number = 0;
    block b;
    csrec_status status = open_blocks(r, tiled, &b, &down);
    for (b.plane = 0; b.plane < l->stored && !status; b.plane = (uint16_t)(b.plane + b.samples))
        for (uint64_t row = 0; row < l->height && !status; row += down)
            for (uint64_t column = 0; column < l->width && !status; column += b.across) {
                b.row = (uint32_t)row;
                b.column = (uint32_t)column;
                b.rows = least(down, l->height - b.row);
                b.columns = least(b.across, l->width - b.column);
                bool wanted = b.row < r->top + r->rows && b.row + b.rows > r->top;
                if (wanted) status = read_block(r, &b, number, tiled);
                number++;
            }
    free(r->room);
    r->room = NULL;
    return status;
}

/* ------------------------------------------------------------------ what is known ------------- */

static bool is_opaque(const uint8_t *sample, csrec_dtype dtype) {
    csrec_array one = {.dtype = dtype, .count = 1, .data = (void *)(uintptr_t)sample};
    return csrec_array_value(&one, 0) > 0.0;
}

static size_t pixels_of(const page_reader *r) {
    return (size_t)r->rows * r->layout->width;
}

/* Moves the channels of a page to their place; alpha goes to its own plane. */
static void split_alpha(const page_reader *r, uint8_t *to, uint8_t *known) {
    const csrec_tiff_layout *l = r->layout;
    size_t channels = l->channels * r->size, stored = l->stored * r->size;
    size_t pixels = pixels_of(r);
    for (size_t i = 0; i < pixels; i++) {
        memcpy(to + i * channels, r->pixels + i * stored, channels);
        known[i] = is_opaque(r->pixels + i * stored + channels, l->dtype);
    }
}

static csrec_status expand_palette(page_reader *r, uint8_t *to) {
    uint16_t *red, *green, *blue;
    size_t pixels = pixels_of(r);
    if (!TIFFGetField(r->tiff->file, TIFFTAG_COLORMAP, &red, &green, &blue))
        return csrec_tiff_damaged(r->tiff, r->error);
    for (size_t i = 0; i < pixels; i++) {
        to[3 * i] = (uint8_t)(red[r->pixels[i]] >> 8);
        to[3 * i + 1] = (uint8_t)(green[r->pixels[i]] >> 8);
        to[3 * i + 2] = (uint8_t)(blue[r->pixels[i]] >> 8);
    }
    return CSREC_OK;
}

/* Entries that have the nodata value in all channels are not known. */
static void drop_nodata(const csrec_array *values, int64_t channels, double unknown,
                        uint8_t *known) {
    for (int64_t i = 0; i < values->count / channels; i++) {
        bool all = true;
        for (int64_t c = 0; c < channels && all; c++) {
            double value = csrec_array_value(values, i * channels + c);
            all = value == unknown || (isnan(value) && isnan(unknown));
        }
        if (all) known[i] = 0;
    }
}

/* ------------------------------------------------------------------ the whole ----------------- */

/* The signal of the whole file, without data. */
static csrec_status describe(const csrec_tiff *tiff, const csrec_tiff_layout *l,
                             csrec_image *signal, csrec_error *error) {
    bool palette = l->photometric == PHOTOMETRIC_PALETTE;
    int first = l->pages > 1;
    *signal = (csrec_image){.has_channels = true, .palette = palette};
    csrec_array *pixels = &signal->pixels;
    pixels->dtype = palette ? CSREC_U8 : l->dtype;
    pixels->shape.dims = 3 + first;
    if (first) pixels->shape.dim[0] = l->pages;
    pixels->shape.dim[first] = l->height;
    pixels->shape.dim[first + 1] = l->width;
    pixels->shape.dim[first + 2] = l->channels;
    if (pixels->dtype == CSREC_U8) signal->bits = 8;
    if (pixels->dtype == CSREC_U16) signal->bits = 16;
    if (csrec_shape_count(&pixels->shape, &pixels->count) ||
        (uint64_t)pixels->count > UINT64_MAX / 16)
        return csrec_fail(error, CSREC_DATA, "%s: is too large", tiff->name);
    uint64_t bytes = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype);
    double expands = l->compression == COMPRESSION_NONE ? 1.0 : EXPANSION_MOST;
    bool bounded = !l->nodata && !palette && l->compression != COMPRESSION_ZSTD;
    if (bounded && (double)bytes > expands * (double)tiff->input->size)
        return csrec_fail_forged(tiff->name, "pixels", error);
    return CSREC_OK;
}

/* Memory for the input's slab of a signal that is described. */
static csrec_status allocate(const csrec_tiff *tiff, const csrec_tiff_layout *l,
                             csrec_image *signal, csrec_error *error) {
    csrec_array *pixels = &signal->pixels;
    csrec_shape shape = pixels->shape;
    csrec_dtype dtype = pixels->dtype;
    *pixels = (csrec_array){.dtype = dtype};
    csrec_status status = csrec_input_narrow(tiff->input, &shape, error);
    if (status) return status;
    int64_t count = 0;
    csrec_shape_count(&shape, &count);
    int64_t entries = count / l->channels;
    status = csrec_memory_check((uint64_t)count * csrec_dtype_size(dtype) + (uint64_t)entries, 2,
                                tiff->name, error);
    if (status) return status;
    status = csrec_array_create(dtype, &shape, pixels);
    if (!status && (l->alpha || l->nodata) && !(signal->alpha = malloc((size_t)entries)))
        status = CSREC_MEMORY;
    if (signal->alpha) memset(signal->alpha, 1, (size_t)entries);
    return status ? csrec_fail(error, status, "%s: out of memory", tiff->name) : CSREC_OK;
}

/* The pages to read; of a single one, r->top and r->rows are set to those rows. */
static csrec_slab pages_of(page_reader *r) {
    const csrec_tiff_layout *l = r->layout;
    csrec_slab slab = r->tiff->input->slab;
    bool single = l->pages == 1 && slab.count > 0;
    r->top = single ? (uint32_t)slab.first : 0;
    r->rows = single ? (uint32_t)slab.count : l->height;
    return single || slab.count == 0 ? (csrec_slab){0, l->pages} : slab;
}

/* A page whose samples are not the result's goes through memory of its own. */
static csrec_status read_pages(page_reader *r, csrec_image *signal) {
    const csrec_tiff_layout *l = r->layout;
    csrec_slab slab = pages_of(r);
    size_t pixels = pixels_of(r);
    size_t page = pixels * l->channels * csrec_dtype_size(signal->pixels.dtype);
    uint8_t *own = NULL, *to = signal->pixels.data, *known = signal->alpha;
    bool other = l->alpha || signal->palette;
    csrec_status status = CSREC_OK;
    if (other && !(own = malloc(pixels * l->stored * r->size))) status = CSREC_MEMORY;
    if (l->nodata && !(r->missing = malloc(pixels))) status = CSREC_MEMORY;
    if (status) csrec_fail(r->error, status, "%s: out of memory", r->tiff->name);
    bool there = csrec_tiff_first(r->tiff);
    for (int64_t p = 0; p < slab.first && there; p++) there = csrec_tiff_next(r->tiff);
    for (int64_t p = 0; p < slab.count && !status; p++, there = csrec_tiff_next(r->tiff)) {
        r->pixels = other ? own : to;
        if (own) memset(own, 0, pixels * l->stored * r->size);
        if (r->missing) memset(r->missing, 0, pixels);
        if (l->photometric == PHOTOMETRIC_YCBCR)
            TIFFSetField(r->tiff->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        status = there ? read_page(r) : csrec_tiff_damaged(r->tiff, r->error);
        if (!status && l->alpha) split_alpha(r, to, known);
        if (!status && signal->palette) status = expand_palette(r, to);
        for (size_t i = 0; i < pixels && r->missing; i++) known[i] &= !r->missing[i];
        to += page;
        if (known) known += pixels;
    }
    free(r->missing);
    free(own);
    return status;
}

csrec_status csrec_tiff_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                             csrec_error *error) {
    csrec_tiff tiff;
    csrec_tiff_layout layout;
    csrec_status status = csrec_tiff_open(input, &tiff, error);
    if (status) return status;
    *transparent = true; /* NaN */
    status = csrec_tiff_layout_read(&tiff, &layout, error);
    if (!status) status = describe(&tiff, &layout, signal, error);
    csrec_tiff_close(&tiff);
    return status;
}

csrec_status csrec_tiff_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_tiff tiff;
    csrec_tiff_layout layout;
    csrec_image read = {0};
    csrec_status status = csrec_tiff_open(input, &tiff, error);
    if (status) return status;
    status = csrec_tiff_layout_read(&tiff, &layout, error);
    if (!status) status = describe(&tiff, &layout, &read, error);
    if (!status) status = allocate(&tiff, &layout, &read, error);
    page_reader r = {.tiff = &tiff, .layout = &layout, .error = error};
    if (!status) r.size = csrec_dtype_size(layout.dtype);
    if (!status) status = read_pages(&r, &read);
    if (!status && layout.nodata && !read.palette)
        drop_nodata(&read.pixels, layout.channels, layout.unknown, read.alpha);
    csrec_tiff_close(&tiff);
    return csrec_image_deliver(status, &read, signal);
}
