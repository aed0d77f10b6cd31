/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_read.c - OpenEXR to samples: scanlines or tiles of a part. */
#include <stdlib.h>

#include "base/error.h"
#include "base/half.h"
#include "base/memory.h"
#include "files/exr/exr.h"

/* Bytes of a chunk of a picture that is smaller; and how often as long as its file a picture can
 * be: deflate packs at most 1032 : 1, of which PXR24 makes a third more, and DWA puts other codes
 * before it. */
enum { CHUNK_MOST = 1 << 24, EXPANSION_MOST = 1400, EXPANSION_DWA = 140000 };

static csrec_status find_channels(csrec_exr *exr, csrec_exr_layout *l, csrec_error *error) {
    const exr_attr_chlist_t *list = NULL;
    exr_result_t result = exr_get_channels(exr->file, exr->part, &list);
    if (result) return csrec_exr_failed(exr, result, error);
    bool whole = true, integer = true;
    for (int c = -1; c < l->channels; c++) {
        if (c < 0 && l->alpha < 0) continue;
        const exr_attr_chlist_entry_t *e = &list->entries[c < 0 ? l->alpha : l->channel[c]];
        whole = whole && e->x_sampling == 1 && e->y_sampling == 1;
        if (c < 0) continue;
        integer = integer && e->pixel_type == EXR_PIXEL_UINT;
        l->half = l->half || e->pixel_type == EXR_PIXEL_HALF;
    }
    l->dtype = integer ? CSREC_U32 : CSREC_F32;
    l->linear = l->linear && !integer;
    for (int i = 0; i < list->num_channels; i++) {
        const exr_attr_chlist_entry_t *e = &list->entries[i];
        double pixels =
            floor((double)l->width / e->x_sampling) * floor((double)l->height / e->y_sampling);
        l->stored += pixels * (e->pixel_type == EXR_PIXEL_HALF ? 2 : 4);
    }
    if (whole) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: has channels of fewer samples than pixels; save them in full",
                      exr->name);
}

csrec_status csrec_exr_layout_fill(csrec_exr *exr, csrec_exr_layout *l, csrec_error *error) {
    exr_storage_t storage = EXR_STORAGE_SCANLINE;
    exr_result_t result = exr_get_storage(exr->file, exr->part, &storage);
    if (!result) result = exr_get_data_window(exr->file, exr->part, &l->window);
    if (!result) result = exr_get_compression(exr->file, exr->part, &l->compression);
    if (result) return csrec_exr_failed(exr, result, error);
    if (storage != EXR_STORAGE_SCANLINE && storage != EXR_STORAGE_TILED)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is a deep picture, which has any number of samples a pixel; flatten "
                          "it",
                          exr->name);
    int64_t width = (int64_t)l->window.max.x - l->window.min.x + 1;
    int64_t height = (int64_t)l->window.max.y - l->window.min.y + 1;
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX)
        return csrec_exr_failed(exr, EXR_ERR_FILE_BAD_HEADER, error);
    l->width = (int32_t)width;
    l->height = (int32_t)height;
    l->tiled = storage == EXR_STORAGE_TILED;
    return find_channels(exr, l, error);
}

csrec_status csrec_exr_layout_read(csrec_exr *exr, csrec_exr_layout *layout, csrec_error *error) {
    csrec_exr_layout l = {.alpha = -1};
    csrec_status status = csrec_exr_choose(exr, &l, error);
    if (!status) status = csrec_exr_layout_fill(exr, &l, error);
    if (!status) *layout = l;
    return status;
}

typedef struct reader {
    csrec_exr *exr;
    const csrec_exr_layout *layout;
    uint8_t *pixels;     /* [height][width][channels] of 4 bytes */
    float *alpha;        /* [height][width], or NULL */
    int64_t row, column; /* where the chunk begins */
} reader;

/* A sample of the file, which is little-endian, as 4 bytes of that type. */
static void take(const uint8_t *from, int type, csrec_dtype dtype, uint8_t *to) {
    uint32_t bits = (uint32_t)(from[0] | from[1] << 8);
    float number;
    if (type == EXR_PIXEL_HALF) {
        number = csrec_half_value((uint16_t)bits);
    } else {
        bits |= (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
        memcpy(&number, &bits, sizeof number);
        if (type == EXR_PIXEL_UINT && dtype == CSREC_F32) number = (float)bits;
    }
    memcpy(to, &number, sizeof number);
}

/* A row of a channel of the chunk; those that are not read are passed over. */
static void place_row(const reader *r, const exr_coding_channel_info_t *channel, int index,
                      const uint8_t *from, int64_t row) {
    const csrec_exr_layout *l = r->layout;
    size_t pixel = (size_t)(row * l->width + r->column), step = 4,
           size = (size_t)channel->bytes_per_element;
    uint8_t *to = NULL;
    csrec_dtype dtype = CSREC_F32;
    if (index == l->alpha) to = (uint8_t *)(r->alpha + pixel);
    for (int c = 0; c < l->channels; c++) {
        if (index != l->channel[c]) continue;
        step = 4 * (size_t)l->channels;
        to = r->pixels + step * pixel + 4 * (size_t)c;
        dtype = l->dtype;
    }
    for (int x = 0; to && x < channel->width; x++)
        take(from + (size_t)x * size, channel->data_type, dtype, to + (size_t)x * step);
}

/* An unpacked chunk has its rows one after another, of each the channels. OpenEXR's own routines
 * are not asked: those of 3.1 write to channels that are left out. */
static exr_result_t place(exr_decode_pipeline_t *decode) {
    const reader *r = decode->decoding_user_data;
    const uint8_t *from = decode->unpacked_buffer;
    const uint8_t *end = from + decode->chunk.unpacked_size;
    if (!from) return EXR_ERR_CORRUPT_CHUNK;
    for (int64_t y = 0; y < decode->chunk.height; y++)
        for (int c = 0; c < decode->channel_count; c++) {
            const exr_coding_channel_info_t *channel = &decode->channels[c];
            int64_t at = r->layout->window.min.y + r->row + y;
            if (at % channel->y_samples != 0) continue;
            uint64_t bytes = (uint64_t)channel->width * (uint64_t)channel->bytes_per_element;
            if (bytes > (uint64_t)(end - from)) return EXR_ERR_CORRUPT_CHUNK;
            place_row(r, channel, c, from, r->row + y);
            from += bytes;
        }
    return EXR_ERR_SUCCESS;
}

/* The chunk covers rows x columns pixels from there on. */
static exr_result_t decode(reader *r, const exr_chunk_info_t *chunk, int64_t row, int64_t column,
                           int64_t rows, int64_t columns) {
    exr_context_t file = r->exr->file;
    const csrec_exr_layout *l = r->layout;
    exr_decode_pipeline_t pipeline = EXR_DECODE_PIPELINE_INITIALIZER;
    bool packed = l->compression != EXR_COMPRESSION_NONE;
    if (chunk->height != rows || chunk->width != columns ||
        (double)chunk->unpacked_size > fmax(2 * l->stored, CHUNK_MOST) ||
        chunk->packed_size > chunk->unpacked_size ||
        (!packed && chunk->packed_size != chunk->unpacked_size))
        return EXR_ERR_BAD_CHUNK_LEADER;
    exr_result_t result = exr_decoding_initialize(file, r->exr->part, chunk, &pipeline);
    if (result) return result;
    r->row = row;
    r->column = column;
    result = exr_decoding_choose_default_routines(file, r->exr->part, &pipeline);
    pipeline.decoding_user_data = r;
    pipeline.unpack_and_convert_fn = place;
    if (!result) result = exr_decoding_run(file, r->exr->part, &pipeline);
    exr_decoding_destroy(file, &pipeline);
    return result;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static exr_result_t read_lines(reader *r) {
    const csrec_exr_layout *l = r->layout;
    int32_t lines = 0;
    exr_chunk_info_t chunk;
    exr_result_t result = exr_get_scanlines_per_chunk(r->exr->file, r->exr->part, &lines);
    if (!result && lines < 1) result = EXR_ERR_FILE_BAD_HEADER;
    for (int64_t y = 0; y < l->height && !result; y += lines) {
        result = exr_read_scanline_chunk_info(r->exr->file, r->exr->part,
                                              (int)(l->window.min.y + y), &chunk);
        if (!result) result = decode(r, &chunk, y, 0, least(lines, l->height - y), l->width);
    }
    return result;
}

/* The finest level. */
static exr_result_t read_tiles(reader *r) {
    const csrec_exr_layout *l = r->layout;
    int32_t across = 0, down = 0;
    exr_chunk_info_t chunk;
    exr_result_t result = exr_get_tile_sizes(r->exr->file, r->exr->part, 0, 0, &across, &down);
    if (!result && (across < 1 || down < 1)) result = EXR_ERR_FILE_BAD_HEADER;
    for (int64_t y = 0; y < l->height && !result; y += down)
        for (int64_t x = 0; x < l->width && !result; x += across) {
            result = exr_read_tile_chunk_info(r->exr->file, r->exr->part, (int)(x / across),
                                              (int)(y / down), 0, 0, &chunk);
            if (!result)
                result = decode(r, &chunk, y, x, least(down, l->height - y),
                                least(across, l->width - x));
        }
    return result;
}

static csrec_status allocate(const csrec_exr *exr, const csrec_exr_layout *l, csrec_image *signal,
                             float **alpha, csrec_error *error) {
    const csrec_shape shape = {3, {l->height, l->width, l->channels}};
    uint64_t entries = (uint64_t)l->height * (uint64_t)l->width;
    bool dwa = l->compression == EXR_COMPRESSION_DWAA || l->compression == EXR_COMPRESSION_DWAB;
    double expands = l->compression == EXR_COMPRESSION_NONE ? 1.0
                     : dwa                                  ? EXPANSION_DWA
                                                            : EXPANSION_MOST;
    if (l->stored > expands * (double)exr->input->size)
        return csrec_fail_forged(exr->name, "pixels", error);
    CSREC_TRY(csrec_memory_check(entries * (4 * (uint64_t)l->channels + 5), 2, exr->name, error));
    *signal = (csrec_image){.has_channels = true};
    csrec_status status = csrec_array_create(l->dtype, &shape, &signal->pixels);
    if (!status && l->alpha >= 0) {
        signal->alpha = malloc((size_t)entries);
        *alpha = calloc((size_t)entries, sizeof **alpha);
        if (!signal->alpha || !*alpha) status = CSREC_MEMORY;
    }
    return status ? csrec_fail(error, status, "%s: out of memory", exr->name) : CSREC_OK;
}

csrec_status csrec_exr_pixels(csrec_exr *exr, const csrec_exr_layout *layout, csrec_image *signal,
                              csrec_error *error) {
    reader r = {.exr = exr, .layout = layout};
    csrec_status status = allocate(exr, layout, signal, &r.alpha, error);
    if (!status) {
        r.pixels = signal->pixels.data;
        exr_result_t result = layout->tiled ? read_tiles(&r) : read_lines(&r);
        const char *lossy = csrec_exr_lossy(layout->compression);
        if (result == EXR_ERR_FEATURE_NOT_IMPLEMENTED && lossy)
            status = csrec_fail(error, CSREC_UNSUPPORTED,
                                "%s: its compression, %s, is lossy, and this OpenEXR does not "
                                "unpack it; save it with ZIP",
                                exr->name, lossy);
        else if (result)
            status = csrec_exr_failed(exr, result, error);
    }
    int64_t entries = status ? 0 : (int64_t)layout->height * layout->width;
    for (int64_t i = 0; i < entries && r.alpha; i++) signal->alpha[i] = r.alpha[i] > 0.0f;
    free(r.alpha);
    return status;
}

csrec_status csrec_exr_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_exr exr;
    csrec_image read = {0};
    CSREC_TRY(csrec_exr_open(input, &exr, error));
    csrec_exr_layout layout;
    csrec_status status = csrec_exr_layout_read(&exr, &layout, error);
    if (!status) csrec_exr_tell(&exr, &layout);
    if (!status) status = csrec_exr_pixels(&exr, &layout, &read, error);
    csrec_exr_close(&exr);
    return csrec_image_deliver(status, &read, signal);
}
