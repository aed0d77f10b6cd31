/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - samples to PNG, by libpng. */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "files/png/png.h"

/* As in read.c: what must survive a longjmp lives behind a pointer. */
typedef struct {
    csrec_output output;
    csrec_error *error;
    csrec_status status;
    png_structp png;
    png_infop info;
    const csrec_image *image;
    csrec_about about;
    uint8_t *row; /* one row with its alpha */
    char *line;   /* of the fingerprint, or NULL */
    uint32_t width, height;
    int channels;
    size_t bytes;
} encoder;

static void on_error(png_structp png, png_const_charp text) {
    encoder *e = png_get_error_ptr(png);
    if (e->status == CSREC_OK)
        e->status = csrec_fail(e->error, CSREC_FILE, "%s: PNG cannot be written (%s)",
                               e->output.name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static void on_write(png_structp png, png_bytep data, size_t bytes) {
    encoder *e = png_get_io_ptr(png);
    e->status = csrec_output_write(&e->output, data, bytes, e->error);
    if (e->status != CSREC_OK) png_error(png, "write");
}

static void on_flush(png_structp png) {
    (void)png;
}

/* Row y with the alpha plane interleaved. */
static void weave(encoder *e, size_t y) {
    size_t pixel = (size_t)e->channels * e->bytes;
    const uint8_t *from = (const uint8_t *)e->image->pixels.data + y * e->width * pixel;
    const uint8_t *alpha = e->image->alpha + y * e->width;
    uint8_t *to = e->row;
    for (size_t x = 0; x < e->width; x++) {
        memcpy(to, from + x * pixel, pixel);
        memset(to + pixel, alpha[x] ? 255 : 0, e->bytes);
        to += pixel + e->bytes;
    }
}

/* Indices beyond the palette are black. */
static void put_palette(encoder *e) {
    const csrec_palette *from = e->image->colors;
    const uint8_t *index = e->image->pixels.data;
    png_color list[256] = {{0}};
    int n = from->n;
    for (int64_t i = 0; i < e->image->pixels.count; i++)
        if (index[i] >= n) n = index[i] + 1;
    for (int i = 0; i < from->n; i++)
        list[i] =
            (png_color){(png_byte)(from->color[0][i] >> 8), (png_byte)(from->color[1][i] >> 8),
                        (png_byte)(from->color[2][i] >> 8)};
    png_set_PLTE(e->png, e->info, list, n);
}

static csrec_status encode(encoder *e) {
    static char comment[] = "Comment";
    if (setjmp(png_jmpbuf(e->png))) return e->status;
    const bool indexed = e->image->colors && e->channels == 1 && e->bytes == 1;
    int color = (e->channels == 3 ? PNG_COLOR_MASK_COLOR : 0) |
                (e->image->alpha ? PNG_COLOR_MASK_ALPHA : 0);
    if (indexed) color = PNG_COLOR_TYPE_PALETTE;
    png_set_write_fn(e->png, e, on_write, on_flush);
    png_set_user_limits(e->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(e->png, e->info, e->width, e->height, (int)e->bytes * 8, color, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (indexed) put_palette(e);
    png_write_info(e->png, e->info);
    /* Types that are no chunks of a PNG have a letter in lower case where it says: reserved. */
    csrec_chunk chunk;
    for (size_t at = 0; csrec_about_next(&e->about, &at, &chunk);)
        if (!(chunk.type[2] & 32))
            png_write_chunk(e->png, (png_const_bytep)chunk.type, chunk.data, chunk.size);
    if (e->bytes == 2 && *(const uint8_t *)&(uint16_t){1}) png_set_swap(e->png);
    size_t stride = (size_t)e->width * (size_t)e->channels * e->bytes;
    for (size_t y = 0; y < e->height; y++) {
        if (e->image->alpha) weave(e, y);
        png_write_row(
            e->png, e->image->alpha ? e->row : (png_const_bytep)e->image->pixels.data + y * stride);
    }
    if (e->line) {
        png_text text = {.compression = PNG_TEXT_COMPRESSION_NONE, .key = comment, .text = e->line};
        png_set_text(e->png, e->info, &text, 1);
    }
    png_write_end(e->png, e->line ? e->info : NULL);
    return CSREC_OK;
}

static csrec_status check_picture(const char *path, const csrec_image *image, csrec_error *error) {
    const csrec_array *pixels = &image->pixels;
    const csrec_shape *shape = &pixels->shape;
    bool sized =
        shape->dims == 2 || (shape->dims == 3 && (shape->dim[2] == 1 || shape->dim[2] == 3));
    if (!sized || !pixels->data)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: a PNG holds pixels [H, W] or [H, W, 1 or 3]; write .npy instead",
                          path);
    if (shape->dim[0] < 1 || shape->dim[1] < 1 || shape->dim[0] > PNG_UINT_31_MAX ||
        shape->dim[1] > PNG_UINT_31_MAX)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: a PNG has 1 to 2^31 - 1 rows and columns; write .npy instead", path);
    if (!(image->bits == 8 && pixels->dtype == CSREC_U8) &&
        !(image->bits == 16 && pixels->dtype == CSREC_U16))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: a PNG is written from U8 pixels with bits 8 or U16 with bits 16",
                          path);
    return CSREC_OK;
}

static csrec_status encode_picture(encoder *e) {
    size_t row = (size_t)e->width * (size_t)(e->channels + 1) * e->bytes;
    csrec_status status = CSREC_MEMORY;
    e->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, e, on_error, on_warning);
    if (e->png) e->info = png_create_info_struct(e->png);
    e->row = malloc(row);
    const char *text = csrec_output_fingerprint(&e->output);
    if (text) e->line = csrec_fingerprint_line(text, 1);
    if (e->info && e->row && (e->line || !text))
        status = encode(e);
    else
        csrec_fail(e->error, status, "%s: out of memory", e->output.name);
    png_destroy_write_struct(&e->png, &e->info);
    free(e->row);
    free(e->line);
    return status;
}

static encoder encoder_of(const csrec_image *image, csrec_error *error) {
    const csrec_shape *shape = &image->pixels.shape;
    return (encoder){.error = error,
                     .image = image,
                     .width = (uint32_t)shape->dim[1],
                     .height = (uint32_t)shape->dim[0],
                     .channels = shape->dims == 3 ? (int)shape->dim[2] : 1,
                     .bytes = image->bits == 16 ? 2 : 1};
}

csrec_status csrec_png_write(csrec_files *files, const char *path, const csrec_image *image,
                             const char *like, csrec_error *error) {
    CSREC_TRY(check_picture(path, image, error));
    encoder e = encoder_of(image, error);
    csrec_status status = csrec_about_read(like, image, &e.about, error);
    if (!status) status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &e.output, error);
    if (!status) {
        status = encode_picture(&e);
        status = csrec_output_close(&e.output, status, error);
    }
    free(e.about.bytes);
    return status;
}

csrec_status csrec_files_add_image(csrec_files *files, const char *path, const csrec_image *image,
                                   csrec_error *error) {
    return csrec_png_write(files, path, image, NULL, error);
}

csrec_status csrec_image_write(const char *path, const csrec_image *image, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_image(files, path, image, error);
    return csrec_files_finish(files, status, error);
}

csrec_status csrec_image_encode(const csrec_image *image, uint8_t **bytes, size_t *n,
                                csrec_error *error) {
    CSREC_TRY(check_picture("picture", image, error));
    char *text = NULL;
    size_t size = 0;
    encoder e = encoder_of(image, error);
    e.output.name = "picture";
    e.output.file = open_memstream(&text, &size);
    if (!e.output.file) return csrec_fail(error, CSREC_MEMORY, "picture: out of memory");
    csrec_status status = encode_picture(&e);
    /* glibc's fclose succeeds without a text if it has no memory to shrink it to its length. */
    if ((fclose(e.output.file) != 0 || !text) && !status)
        status = csrec_fail(error, CSREC_MEMORY, "picture: out of memory");
    if (!status) {
        *bytes = (uint8_t *)text;
        *n = size;
    } else {
        free(text);
    }
    return status;
}
