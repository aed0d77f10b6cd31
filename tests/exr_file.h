/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_file.h - OpenEXR files by the library itself, of random arrangements. */
#pragma once

#include "io_signal.h"
#include <openexr.h>

SEED(seed);

enum { CHANNELS_MOST = 16 };

typedef struct {
    int32_t height, width, x, y; /* x, y: of the first pixel */
    int32_t across, down;        /* of a tile; 0: scanlines */
    bool mip;
    exr_compression_t compression;
    int channels;
    struct {
        const char *name;
        exr_pixel_type_t type;
        int step;         /* a sample each so many rows and columns */
        uint8_t *samples; /* [height][width], of 2 or 4 bytes */
        size_t size;
    } channel[CHANNELS_MOST];
    const char *shown; /* the channels that are read, a letter each */
} drawn;

static const struct {
    const char *names[CHANNELS_MOST + 1], *shown;
} lists[] = {{{"R", "G", "B"}, "RGB"},
             {{"R", "G", "B", "A"}, "RGB"},
             {{"R", "G", "B", "A", "Z", "albedo.R", "normal.X"}, "RGB"},
             {{"Y"}, "Y"},
             {{"Y", "A"}, "Y"},
             {{"Z"}, "Z"},
             {{"A", "Z"}, "Z"},
             {{"A"}, "A"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Any bits of a half and a float but infinities and NaN, whose bits conversions may change. */
static inline uint32_t draw_bits(exr_pixel_type_t type) {
    uint32_t bits = (uint32_t)check_below(&seed, INT64_C(1) << 32);
    if (check_below(&seed, 3) == 0) return 0;
    if (type == EXR_PIXEL_HALF) return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits & 0xffff;
    if (type == EXR_PIXEL_FLOAT && (bits & 0x7f800000) == 0x7f800000) return bits & 0x807fffff;
    return bits;
}

static inline void draw_channel(drawn *d, int c, const char *name, exr_pixel_type_t type) {
    bool half = type == EXR_PIXEL_HALF;
    size_t count = (size_t)d->height * (size_t)d->width;
    d->channel[c].name = name;
    d->channel[c].type = type;
    d->channel[c].size = half ? 2 : 4;
    d->channel[c].step = 1;
    d->channel[c].samples = check_keep(4 * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = draw_bits(type);
        memcpy(d->channel[c].samples + i * d->channel[c].size,
               half ? (void *)&(uint16_t){(uint16_t)bits} : (void *)&bits, d->channel[c].size);
    }
}

static inline drawn draw(int trial) {
    static const exr_compression_t compressions[] = {EXR_COMPRESSION_NONE, EXR_COMPRESSION_RLE,
                                                     EXR_COMPRESSION_ZIPS, EXR_COMPRESSION_ZIP,
                                                     EXR_COMPRESSION_PIZ};
    int list = trial % LISTS;
    drawn d = {.height = 1 + (int32_t)check_below(&seed, 70),
               .width = 1 + (int32_t)check_below(&seed, 70),
               .x = (int32_t)check_below(&seed, 60) - 30,
               .y = (int32_t)check_below(&seed, 60) - 30,
               .compression = compressions[check_below(&seed, 5)],
               .shown = lists[list].shown};
    if (check_below(&seed, 2)) {
        d.across = 1 + (int32_t)check_below(&seed, 40);
        d.down = 1 + (int32_t)check_below(&seed, 40);
        d.mip = check_below(&seed, 3) == 0;
    }
    bool integer = check_below(&seed, 5) == 0;
    for (; lists[list].names[d.channels]; d.channels++)
        draw_channel(&d, d.channels, lists[list].names[d.channels],
                     integer ? EXR_PIXEL_UINT : (exr_pixel_type_t)check_below(&seed, 3));
    return d;
}

static inline int channel_of(const drawn *d, const char *name) {
    for (int c = 0; c < d->channels; c++)
        if (strcmp(d->channel[c].name, name) == 0) return c;
    return -1;
}

/* Of another's code than the library's. */
static inline double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return bits >> 15 ? -size : size;
}

static inline double value_of(const drawn *d, int c, size_t i) {
    const uint8_t *at = d->channel[c].samples + i * d->channel[c].size;
    uint16_t half;
    uint32_t integer;
    float number;
    memcpy(&half, at, sizeof half);
    if (d->channel[c].type == EXR_PIXEL_HALF) return half_value(half);
    memcpy(&integer, at, sizeof integer);
    memcpy(&number, at, sizeof number);
    return d->channel[c].type == EXR_PIXEL_UINT ? (double)integer : (double)number;
}

static inline void silent(exr_const_context_t file, exr_result_t code, const char *message) {
    (void)file, (void)code, (void)message;
}

static inline exr_context_initializer_t quietly(void) {
    exr_context_initializer_t with = EXR_DEFAULT_CONTEXT_INITIALIZER;
    with.error_handler_fn = silent;
    return with;
}

/* A chunk as long as its samples is taken as stored, which OpenEXR 3.1 does not heed. */
static inline exr_result_t compress(exr_encode_pipeline_t *encode) {
    exr_result_t (**usual)(exr_encode_pipeline_t *) = encode->encoding_user_data;
    exr_result_t result = (*usual)(encode);
    if (encode->compressed_bytes == encode->packed_bytes)
        memcpy(encode->compressed_buffer, encode->packed_buffer, encode->packed_bytes);
    return result;
}

/* Each channel's samples from planes; of coarser levels any. */
static inline void write_chunk(exr_context_t file, const drawn *d, const exr_chunk_info_t *chunk,
                               size_t row, size_t column) {
    exr_encode_pipeline_t encode = EXR_ENCODE_PIPELINE_INITIALIZER;
    assert_ok(exr_encoding_initialize(file, 0, chunk, &encode));
    assert_int_equal(encode.channel_count, d->channels);
    for (int i = 0; i < encode.channel_count; i++) {
        exr_coding_channel_info_t *to = &encode.channels[i];
        int c = channel_of(d, to->channel_name);
        size_t step = (size_t)d->channel[c].step, across = (size_t)d->width / step;
        size_t first = row / step * across + column / step;
        to->user_pixel_stride = (int32_t)d->channel[c].size;
        to->user_line_stride = (int32_t)(across * d->channel[c].size);
        to->encode_from_ptr = d->channel[c].samples + first * d->channel[c].size;
    }
    assert_ok(exr_encoding_choose_default_routines(file, 0, &encode));
    exr_result_t (*usual)(exr_encode_pipeline_t *) = encode.compress_fn;
    encode.encoding_user_data = &usual;
    if (usual) encode.compress_fn = compress;
    assert_ok(exr_encoding_run(file, 0, &encode));
    exr_encoding_destroy(file, &encode);
}

static inline void write_tiles(exr_context_t file, const drawn *d) {
    int32_t across, down;
    exr_chunk_info_t chunk;
    assert_ok(exr_get_tile_levels(file, 0, &across, &down));
    for (int level = 0; level < across; level++) {
        int32_t width = d->width >> level, height = d->height >> level;
        if (width < 1) width = 1;
        if (height < 1) height = 1;
        for (int32_t y = 0; y < height; y += d->down)
            for (int32_t x = 0; x < width; x += d->across) {
                assert_ok(exr_write_tile_chunk_info(file, 0, x / d->across, y / d->down, level,
                                                    level, &chunk));
                write_chunk(file, d, &chunk, (size_t)y, (size_t)x);
            }
    }
}

static inline void write_lines(exr_context_t file, const drawn *d) {
    int32_t lines;
    exr_chunk_info_t chunk;
    assert_ok(exr_get_scanlines_per_chunk(file, 0, &lines));
    for (int32_t y = 0; y < d->height; y += lines) {
        assert_ok(exr_write_scanline_chunk_info(file, 0, d->y + y, &chunk));
        write_chunk(file, d, &chunk, (size_t)y, 0);
    }
}

static inline exr_context_t begin(const char *path, const drawn *d) {
    exr_context_t file = NULL;
    exr_context_initializer_t with = quietly();
    int part;
    const exr_attr_v2f_t centre = {.x = 0.25f, .y = -2.0f};
    const exr_attr_box2i_t window = {{.x = d->x, .y = d->y},
                                     {.x = d->x + d->width - 1, .y = d->y + d->height - 1}};
    const exr_attr_box2i_t display = {{.x = 0, .y = -3}, {.x = 99, .y = 104}};
    assert_ok(exr_start_write(&file, path, EXR_WRITE_FILE_DIRECTLY, &with));
    assert_ok(
        exr_add_part(file, NULL, d->across ? EXR_STORAGE_TILED : EXR_STORAGE_SCANLINE, &part));
    assert_ok(exr_initialize_required_attr(file, part, &display, &window, 1.5f, &centre, 0.75f,
                                           EXR_LINEORDER_INCREASING_Y, d->compression));
    if (d->across)
        assert_ok(exr_set_tile_descriptor(file, part, (uint32_t)d->across, (uint32_t)d->down,
                                          d->mip ? EXR_TILE_MIPMAP_LEVELS : EXR_TILE_ONE_LEVEL,
                                          EXR_TILE_ROUND_DOWN));
    for (int c = 0; c < d->channels; c++)
        assert_ok(exr_add_channel(file, part, d->channel[c].name, d->channel[c].type,
                                  EXR_PERCEPTUALLY_LOGARITHMIC, d->channel[c].step,
                                  d->channel[c].step));
    return file;
}

static inline void finish(exr_context_t file, const drawn *d) {
    assert_ok(exr_write_header(file));
    (d->across ? write_tiles : write_lines)(file, d);
    assert_ok(exr_finish(&file));
}

static inline void write_drawn(const char *path, const drawn *d) {
    finish(begin(path, d), d);
}

static inline exr_context_t open_file(const char *path) {
    exr_context_t file = NULL;
    exr_context_initializer_t with = quietly();
    assert_ok(exr_start_read(&file, path, &with));
    return file;
}

static inline csrec_image draw_signal(csrec_dtype dtype, int32_t height, int32_t width,
                                      int channels) {
    csrec_image image = {.has_channels = true};
    const csrec_shape shape = {3, {height, width, channels}};
    assert_ok(csrec_array_create(dtype, &shape, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++)
        csrec_array_set(&image.pixels, i, 300.0 * (check_uniform(&seed) - 0.3));
    return image;
}
