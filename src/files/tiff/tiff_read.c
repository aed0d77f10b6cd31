/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_read.c - TIFF to samples as stored: strips or tiles, interleaved or in planes, of a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/tiff/tiff.h"

/* Bytes of a block of a picture that is smaller; and how often as long as the file what it holds
 * can be: LZW's longest strings, of 12 bits each. */
enum { BLOCK_MOST = 1 << 24, EXPANSION_MOST = 2600 };

/* A strip, or a tile: `stored` samples a pixel of plane `plane`, or one. */
typedef struct block {
    uint32_t row, column, rows, columns; /* rows, columns: inside of the picture */
    uint32_t across;                     /* pixels of a row of the block */
    uint16_t plane, samples;
} block;

typedef struct page_reader {
    csrec_tiff *tiff, *beside; /* beside: the masks of FILE.msk, or NULL */
    const csrec_tiff_layout *layout;
    csrec_error *error;
    size_t size;        /* of a sample */
    uint32_t top, rows; /* of each page, to read */
    uint8_t *pixels;    /* [rows][width][stored] of the page */
    uint8_t *room;      /* of a block */
    tmsize_t bytes;     /* of a whole block */
} page_reader;

/* Of a row of a block, as it is stored. */
static size_t row_size(const page_reader *r, const block *b) {
    return r->layout->packed ? ((size_t)b->across + 7) / 8
                             : (size_t)b->across * b->samples * r->size;
}

static void place_row(const page_reader *r, const block *b, const uint8_t *from, uint8_t *to) {
    const csrec_tiff_layout *l = r->layout;
    if (l->packed) {
        for (uint32_t j = 0; j < b->columns; j++) to[j] = from[j / 8] >> (7 - j % 8) & 1;
    } else if (b->samples == l->stored) {
        memcpy(to, from, (size_t)b->columns * b->samples * r->size);
    } else {
        for (uint32_t j = 0; j < b->columns; j++, from += r->size, to += l->stored * r->size)
            memcpy(to, from, r->size);
    }
}

/* GDAL leaves blocks out that are all nodata. */
static void fill_row(const page_reader *r, const block *b, uint8_t *to) {
    const csrec_tiff_layout *l = r->layout;
    csrec_array row = {.dtype = l->dtype, .data = to};
    for (uint32_t j = 0; j < b->columns && l->nodata; j++)
        for (uint16_t c = 0; c < b->samples; c++)
            csrec_array_set(&row, (int64_t)j * l->stored + c, l->unknown);
}

static void place(const page_reader *r, const block *b, bool missing) {
    const csrec_tiff_layout *l = r->layout;
    for (uint32_t i = 0; i < b->rows; i++) {
        if (b->row + i < r->top || b->row + i >= r->top + r->rows) continue;
        size_t pixel = (size_t)(b->row + i - r->top) * l->width + b->column;
        uint8_t *to = r->pixels + (pixel * l->stored + b->plane) * r->size;
        if (missing)
            fill_row(r, b, to);
        else
            place_row(r, b, r->room + i * row_size(r, b), to);
    }
}

static csrec_status read_block(page_reader *r, const block *b, uint32_t number, bool tiled) {
    TIFF *file = r->tiff->file;
    bool missing = TIFFGetStrileByteCount(file, number) == 0;
    if (!missing) {
        tmsize_t got = tiled ? TIFFReadEncodedTile(file, number, r->room, r->bytes)
                             : TIFFReadEncodedStrip(file, number, r->room, r->bytes);
        if (got < (tmsize_t)(b->rows * row_size(r, b)))
            return csrec_tiff_damaged(r->tiff, r->error);
    }
    place(r, b, missing);
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
        (double)r->bytes < (double)row_size(r, b) * *down ||
        (double)r->bytes > fmax(4.0 * page, BLOCK_MOST))
        return csrec_tiff_damaged(r->tiff, r->error);
    r->room = malloc((size_t)r->bytes);
    return r->room ? CSREC_OK : csrec_memory_fail(r->error, r->tiff->name);
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

static bool is_opaque(const uint8_t *sample, csrec_dtype dtype) {
    csrec_array one = {.dtype = dtype, .count = 1, .data = (void *)(uintptr_t)sample};
    return csrec_array_value(&one, 0) > 0.0;
}

/* The colours of a pixel, [l->channels] and alpha, that are multiplied by alpha. */
static void divide_alpha(const csrec_tiff_layout *l, uint8_t *pixel) {
    const bool real = l->dtype == CSREC_F32 || l->dtype == CSREC_F64;
    double room;
    csrec_array all = {.dtype = l->dtype, .count = l->stored, .data = pixel};
    csrec_array most = {.dtype = l->dtype, .count = 1, .data = &room};
    csrec_array_set(&most, 0, real ? 1.0 : INFINITY); /* the largest there is */
    const double alpha = csrec_array_value(&all, l->channels), white = csrec_array_value(&most, 0);
    for (int64_t c = 0; c < l->channels && alpha > 0.0 && alpha < white; c++)
        csrec_array_set(&all, c, csrec_array_value(&all, c) * (white / alpha));
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
        if (l->associated) divide_alpha(l, r->pixels + i * stored);
        memcpy(to + i * channels, r->pixels + i * stored, channels);
        known[i] = is_opaque(r->pixels + i * stored + channels, l->dtype);
    }
}

/* A page is a channel. */
static void spread(const page_reader *r, uint8_t *to) {
    const size_t pixels = pixels_of(r), step = r->layout->channels * r->size;
    for (size_t i = 0; i < pixels; i++) memcpy(to + i * step, r->pixels + i * r->size, r->size);
}

/* Where a page says what is known: `each` elements of a pixel, `step` from one to the next. */
typedef struct known_page {
    uint8_t *at;
    size_t step, each;
} known_page;

/* The page that is open in `from` says which entries of a page are known. */
static csrec_status apply_mask(const page_reader *r, csrec_tiff *from, known_page known) {
    csrec_tiff_layout l;
    page_reader m = {.tiff = from, .layout = &l, .error = r->error, .top = r->top, .rows = r->rows};
    CSREC_TRY(csrec_tiff_page_layout(from, &l, r->error));
    if (l.height != r->layout->height || l.width != r->layout->width || l.stored != 1)
        return csrec_fail(r->error, CSREC_DATA,
                          "%s: its mask has another size, or several bands; save one of one band",
                          from->name);
    m.size = csrec_dtype_size(l.dtype);
    if (!(m.pixels = calloc(pixels_of(r), m.size))) return csrec_memory_fail(r->error, from->name);
    csrec_status status = read_page(&m);
    for (size_t i = 0; i < pixels_of(r) && !status; i++)
        if (!is_opaque(m.pixels + i * m.size, l.dtype))
            memset(known.at + i * known.step, 0, known.each);
    free(m.pixels);
    return status;
}

/* Masks follow their page, perhaps after its reduced copies. */
static csrec_status apply_masks(const page_reader *r, known_page known) {
    csrec_tiff *tiff = r->tiff;
    const tdir_t page = TIFFCurrentDirectory(tiff->file);
    csrec_status status = CSREC_OK;
    while (r->layout->masked && !status && TIFFReadDirectory(tiff->file) &&
           !csrec_tiff_is_picture(tiff))
        if (csrec_tiff_is_mask(tiff)) status = apply_mask(r, tiff, known);
    if (r->layout->masked && !status && !TIFFSetDirectory(tiff->file, page))
        status = csrec_tiff_damaged(tiff, r->error);
    return status || !r->beside ? status : apply_mask(r, r->beside, known);
}

/* The value for unknown is that of an index. */
static csrec_status expand_palette(page_reader *r, uint8_t *to, uint8_t *known) {
    const csrec_tiff_layout *l = r->layout;
    const double *unknown = r->tiff->input->unknown;
    uint16_t *red, *green, *blue;
    size_t pixels = pixels_of(r);
    if (!TIFFGetField(r->tiff->file, TIFFTAG_COLORMAP, &red, &green, &blue))
        return csrec_tiff_damaged(r->tiff, r->error);
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t at = r->pixels[i];
        to[3 * i] = (uint8_t)(red[at] >> 8);
        to[3 * i + 1] = (uint8_t)(green[at] >> 8);
        to[3 * i + 2] = (uint8_t)(blue[at] >> 8);
        if ((l->nodata && at == l->unknown) || (unknown && at == *unknown)) known[i] = 0;
    }
    return CSREC_OK;
}

/* The signal of the whole file, without data. */
static csrec_status describe(const csrec_tiff *tiff, const csrec_tiff_layout *l,
                             csrec_image *signal, csrec_error *error) {
    bool palette = l->photometric == PHOTOMETRIC_PALETTE;
    int first = l->pages > 1;
    *signal = (csrec_image){.has_channels = true, .palette = palette};
    signal->by_channel = (l->nodata && l->channels > 1 && !l->alpha && !csrec_tiff_is_colour(l)) ||
                         (l->masked && l->split > 1);
    signal->has_nodata = l->nodata && !palette;
    signal->nodata = l->unknown;
    tiff->input->facts.reduced = l->reduced;
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
static csrec_status allocate(const page_reader *r, csrec_image *signal) {
    const csrec_tiff *tiff = r->tiff;
    const csrec_tiff_layout *l = r->layout;
    csrec_error *error = r->error;
    csrec_array *pixels = &signal->pixels;
    csrec_shape shape = pixels->shape;
    csrec_dtype dtype = pixels->dtype;
    *pixels = (csrec_array){.dtype = dtype};
    CSREC_TRY(csrec_input_narrow(tiff->input, &shape, error));
    int64_t count = 0;
    csrec_shape_count(&shape, &count);
    const int64_t known = signal->by_channel ? count : count / l->channels;
    const bool tells = l->alpha || l->nodata || l->masked || r->beside ||
                       (signal->palette && tiff->input->unknown);
    CSREC_TRY(csrec_memory_check((uint64_t)count * csrec_dtype_size(dtype) + (uint64_t)known, 2,
                                 tiff->name, error));
    csrec_status status = csrec_array_create(dtype, &shape, pixels);
    if (!status && tells && !(signal->alpha = malloc((size_t)known))) status = CSREC_MEMORY;
    if (signal->alpha) memset(signal->alpha, 1, (size_t)known);
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

/* The open page, as channel `channel` of page `page` of the signal, or as all. */
static csrec_status take_page(page_reader *r, const csrec_image *signal, uint8_t *own, int64_t page,
                              int64_t channel) {
    const csrec_tiff_layout *l = r->layout;
    const size_t pixels = pixels_of(r), first = (size_t)page * pixels;
    const size_t size = csrec_dtype_size(signal->pixels.dtype);
    const bool part = l->split > 1;
    known_page known = {.step = signal->by_channel ? l->channels : 1};
    uint8_t *to = (uint8_t *)signal->pixels.data + first * l->channels * size;
    known.each = part ? 1 : known.step;
    if (signal->alpha)
        known.at = signal->alpha + first * known.step + (known.each < known.step ? channel : 0);
    r->pixels = own ? own : to;
    if (own) memset(own, 0, pixels * l->stored * r->size);
    if (l->photometric == PHOTOMETRIC_YCBCR)
        TIFFSetField(r->tiff->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    csrec_status status = read_page(r);
    if (!status && part) spread(r, to + (size_t)channel * size);
    if (!status && l->alpha) split_alpha(r, to, known.at);
    if (!status && signal->palette) status = expand_palette(r, to, known.at);
    if (!status && known.at) status = apply_masks(r, known);
    return status;
}

/* A page whose samples are not the result's goes through memory of its own. */
static csrec_status read_pages(page_reader *r, csrec_image *signal) {
    const csrec_tiff_layout *l = r->layout;
    const csrec_slab slab = pages_of(r);
    const int64_t end = slab.first + slab.count;
    const int64_t numbers = l->split * (l->stride == 1 ? end : l->pages);
    uint8_t *own = NULL;
    csrec_status status = CSREC_OK;
    if ((l->alpha || signal->palette || l->split > 1) &&
        !(own = malloc(pixels_of(r) * l->stored * r->size)))
        status = csrec_memory_fail(r->error, r->tiff->name);
    bool there = csrec_tiff_first(r->tiff);
    for (int64_t p = 0, channel; p < numbers && !status; p++) {
        const int64_t page = csrec_tiff_page_of(l, p, &channel);
        if (!there)
            status = csrec_tiff_damaged(r->tiff, r->error);
        else if (page >= slab.first && page < end)
            status = take_page(r, signal, own, page - slab.first, channel);
        there = there && csrec_tiff_next(r->tiff);
        if (r->beside && !csrec_tiff_next(r->beside)) r->beside = NULL;
    }
    free(own);
    return status;
}

csrec_status csrec_tiff_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                             csrec_error *error) {
    csrec_tiff tiff;
    csrec_tiff_layout layout;
    CSREC_TRY(csrec_tiff_open(input, &tiff, error));
    *transparent = true; /* NaN */
    csrec_status status = csrec_tiff_layout_read(&tiff, &layout, error);
    if (!status) status = describe(&tiff, &layout, signal, error);
    csrec_tiff_close(&tiff);
    return status;
}

/* GDAL's mask of a file is a TIFF beside it. Without one, `tiff` is not open. */
static csrec_status open_beside(const csrec_input *input, csrec_input *beside, csrec_tiff *tiff,
                                char path[CSREC_PATH_ROOM], csrec_error *error) {
    if (!input->file || snprintf(path, CSREC_PATH_ROOM, "%s.msk", input->name) >= CSREC_PATH_ROOM ||
        access(path, F_OK))
        return CSREC_OK;
    csrec_status status = csrec_input_open(path, beside, error);
    if (status || csrec_input_format(beside) != &csrec_tiff_format) return status;
    status = csrec_tiff_open(beside, tiff, error);
    if (!status && !csrec_tiff_first(tiff)) status = csrec_tiff_damaged(tiff, error);
    return status;
}

static csrec_status read_whole(csrec_tiff *tiff, csrec_image *read, csrec_error *error) {
    char path[CSREC_PATH_ROOM];
    csrec_input input = {0};
    csrec_tiff beside = {0};
    csrec_tiff_layout l;
    page_reader r = {.tiff = tiff, .layout = &l, .error = error};
    csrec_status status = csrec_tiff_layout_read(tiff, &l, error);
    if (!status) status = describe(tiff, &l, read, error);
    if (!status) status = open_beside(tiff->input, &input, &beside, path, error);
    if (beside.file) r.beside = &beside;
    if (!status) status = allocate(&r, read);
    if (!status) r.size = csrec_dtype_size(l.dtype);
    if (!status) status = read_pages(&r, read);
    if (!status && read->has_nodata) status = csrec_tiff_drop_nodata(tiff, &l, read, error);
    csrec_tiff_close(&beside);
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_tiff_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_tiff tiff;
    csrec_image read = {0};
    CSREC_TRY(csrec_tiff_open(input, &tiff, error));
    csrec_status status = read_whole(&tiff, &read, error);
    csrec_tiff_close(&tiff);
    if (read.palette) input->unknown = NULL;
    return csrec_image_deliver(status, &read, signal);
}
