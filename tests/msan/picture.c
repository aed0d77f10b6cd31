/* SPDX-License-Identifier: BSD-3-Clause */
/* picture.c - calls of libpng under the memory sanitizer. */
#include <png.h>

#include "known.h"

/* Functions that libpng calls; the library has one of each for reading and one for writing. */
static struct {
    png_error_ptr error, warning;
    png_rw_ptr data;
} reading, writing;

static void take_read_error(png_structp png, png_const_charp text) {
    __msan_unpoison_param(2);
    __msan_unpoison_string(text);
    reading.error(png, text);
}

static void take_write_error(png_structp png, png_const_charp text) {
    __msan_unpoison_param(2);
    __msan_unpoison_string(text);
    writing.error(png, text);
}

static void take_read(png_structp png, png_bytep data, size_t bytes) {
    __msan_unpoison_param(3);
    reading.data(png, data, bytes);
}

static void take_written(png_structp png, png_bytep data, size_t bytes) {
    __msan_unpoison_param(3);
    WRITTEN(data, bytes);
    writing.data(png, data, bytes);
}

KNOWN(png_structp, png_create_read_struct, png_const_charp version, png_voidp context,
      png_error_ptr error, png_error_ptr warning) {
    reading.error = error;
    return png_create_read_struct(version, context, take_read_error, warning);
}

KNOWN(png_structp, png_create_write_struct, png_const_charp version, png_voidp context,
      png_error_ptr error, png_error_ptr warning) {
    writing.error = error;
    return png_create_write_struct(version, context, take_write_error, warning);
}

KNOWN(void, png_set_read_fn, png_structrp png, png_voidp context, png_rw_ptr function) {
    reading.data = function;
    png_set_read_fn(png, context, take_read);
}

KNOWN(void, png_set_write_fn, png_structrp png, png_voidp context, png_rw_ptr function,
      png_flush_ptr flush) {
    writing.data = function;
    png_set_write_fn(png, context, take_written, flush);
}

KNOWN(png_uint_32, png_get_IHDR, png_const_structrp png, png_const_inforp info, png_uint_32 *width,
      png_uint_32 *height, int *bits, int *color, int *interlaced, int *compression, int *filter) {
    png_uint_32 result =
        png_get_IHDR(png, info, width, height, bits, color, interlaced, compression, filter);
    WRITTEN(width, 1);
    WRITTEN(height, 1);
    WRITTEN(bits, 1);
    WRITTEN(color, 1);
    return result;
}

KNOWN(png_uint_32, png_get_tRNS, png_const_structrp png, png_inforp info, png_bytep *alpha,
      int *count, png_color_16p *key) {
    png_uint_32 result = png_get_tRNS(png, info, alpha, count, key);
    if (result) {
        WRITTEN(key, 1);
        WRITTEN(*key, 1);
    }
    return result;
}

/* How long the rows are is known of the picture's description. */
static png_const_inforp shown;

KNOWN(void, png_write_info, png_structrp png, png_const_inforp info) {
    shown = info;
    png_write_info(png, info);
}

KNOWN(void, png_write_row, png_structrp png, png_const_bytep row) {
    CHECKED(row, png_get_rowbytes(png, shown));
    png_write_row(png, row);
}

KNOWN(void, png_read_update_info, png_structrp png, png_inforp info) {
    shown = info;
    png_read_update_info(png, info);
}

KNOWN(void, png_read_row, png_structrp png, png_bytep row, png_bytep display) {
    png_read_row(png, row, display);
    WRITTEN(row, png_get_rowbytes(png, shown));
}
