/* SPDX-License-Identifier: BSD-3-Clause */
/* io_png.h - PNG files built by hand, from the format's description (W3C PNG, second edition). */
#pragma once

#include <zlib.h>

#include "io_file.h"

enum { IO_GRAY = 0, IO_RGB = 2, IO_PALETTE = 3, IO_GRAY_ALPHA = 4, IO_RGBA = 6 };

typedef struct {
    uint32_t width, height;
    int bits, color;
    bool interlaced;
    const uint16_t *samples; /* [height * width * channels] as stored */
    io_bytes palette, transparency;
    uint32_t crc_flip;        /* xor of the checksum of IDAT */
    uint32_t declared_height; /* 0: height */
} io_png;

static inline int io_png_channels(int color) {
    static const int channels[] = {1, 0, 3, 1, 2, 0, 4};
    return channels[color];
}

static inline void io_png_chunk(io_bytes *b, const char *type, const io_bytes *data,
                                uint32_t flip) {
    io_put_be(b, data->size, 4);
    size_t at = b->size;
    io_put(b, type, 4);
    if (data->size) io_put(b, data->data, data->size);
    io_put_be(b, (uint32_t)crc32(0, b->data + at, (uInt)(data->size + 4)) ^ flip, 4);
}

/* One pass of rows: pixels x0, x0 + dx, ... of rows y0, y0 + dy, ..., packed, filter 0. */
static inline void io_png_pass(io_bytes *raw, const io_png *png, uint32_t x0, uint32_t y0,
                               uint32_t dx, uint32_t dy) {
    int channels = io_png_channels(png->color);
    for (uint32_t y = y0; y < png->height && x0 < png->width; y += dy) {
        uint32_t held = 0;
        int filled = 0;
        io_put_le(raw, 0, 1);
        for (uint32_t x = x0; x < png->width; x += dx)
            for (int c = 0; c < channels; c++) {
                uint16_t v =
                    png->samples[((size_t)y * png->width + x) * (size_t)channels + (size_t)c];
                if (png->bits >= 8) {
                    io_put_be(raw, v, png->bits / 8);
                    continue;
                }
                held = held << png->bits | v;
                filled += png->bits;
                if (filled == 8) {
                    io_put_le(raw, held, 1);
                    held = 0;
                    filled = 0;
                }
            }
        if (filled) io_put_le(raw, held << (8 - filled), 1);
    }
}

static inline io_bytes io_png_idat(const io_png *png) {
    static const uint32_t adam7[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                         {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    io_bytes raw = {0}, packed = {0};
    if (!png->interlaced) io_png_pass(&raw, png, 0, 0, 1, 1);
    for (int p = 0; png->interlaced && p < 7; p++)
        io_png_pass(&raw, png, adam7[p][0], adam7[p][1], adam7[p][2], adam7[p][3]);
    uLongf size = compressBound((uLong)raw.size);
    packed.data = malloc(size);
    assert_int_equal(compress(packed.data, &size, raw.data, (uLong)raw.size), Z_OK);
    packed.size = size;
    io_free(&raw);
    return packed;
}

static inline io_bytes io_png_make(const io_png *png) {
    io_bytes b = {0}, head = {0}, data = io_png_idat(png), none = {0};
    io_put(&b, "\x89PNG\r\n\x1a\n", 8);
    io_put_be(&head, png->width, 4);
    io_put_be(&head, png->declared_height ? png->declared_height : png->height, 4);
    io_put_le(&head, (uint64_t)png->bits, 1);
    io_put_le(&head, (uint64_t)png->color, 1);
    io_put_le(&head, 0, 2);
    io_put_le(&head, png->interlaced, 1);
    io_png_chunk(&b, "IHDR", &head, 0);
    if (png->palette.size) io_png_chunk(&b, "PLTE", &png->palette, 0);
    if (png->transparency.size) io_png_chunk(&b, "tRNS", &png->transparency, 0);
    io_png_chunk(&b, "IDAT", &data, png->crc_flip);
    io_png_chunk(&b, "IEND", &none, 0);
    io_free(&head);
    io_free(&data);
    return b;
}
