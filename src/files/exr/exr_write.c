/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_write.c - signals to OpenEXR: scanlines, compressed without loss. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/exr/exr.h"
#include "files/format.h"

static const double HALF_MOST = 65504.0;

/* The file that is written, and the one that its attributes are from. */
typedef struct writer {
    csrec_exr exr, like; /* like.file NULL: none */
    csrec_error *error;
    const csrec_array *pixels;
    int32_t height, width;
    int channels;
    double largest; /* magnitude of the values */
    exr_attr_box2i_t window;
    exr_compression_t compression;
    exr_pixel_type_t type;
    const char *name[3]; /* of the channels, in the signal's order */
    float *rows;         /* of a chunk */
    exr_encode_pipeline_t encode;
    exr_result_t (*compress)(exr_encode_pipeline_t *encode);
} writer;

/* A file of other extents or channels describes another picture. */
static void compare(writer *w) {
    csrec_exr_layout l;
    csrec_error ignored;
    const exr_attr_chlist_t *list = NULL;
    if (!w->like.file) return;
    if (csrec_exr_layout_read(&w->like, &l, &ignored) || l.height != w->height ||
        l.width != w->width || l.channels != w->channels ||
        exr_get_channels(w->like.file, w->like.part, &list)) {
        csrec_exr_close(&w->like);
        return;
    }
    w->window = l.window;
    if (l.compression <= EXR_COMPRESSION_PIZ) w->compression = l.compression;
    if (l.half && w->largest <= HALF_MOST) w->type = EXR_PIXEL_HALF;
    for (int c = 0; c < w->channels; c++) w->name[c] = list->entries[l.channel[c]].name.str;
}

/* What is not set by then is as it is for a picture without a camera. */
static exr_result_t set_required(writer *w) {
    exr_context_t file = w->exr.file;
    const exr_attr_v2f_t centre = {.x = 0.0f, .y = 0.0f};
    exr_attr_box2i_t display;
    exr_attr_v2f_t at;
    float number;
    exr_result_t result = EXR_ERR_SUCCESS;
    if (exr_get_display_window(file, CSREC_EXR_PART, &display))
        result = exr_set_display_window(file, CSREC_EXR_PART, &w->window);
    if (!result && exr_get_pixel_aspect_ratio(file, CSREC_EXR_PART, &number))
        result = exr_set_pixel_aspect_ratio(file, CSREC_EXR_PART, 1.0f);
    if (!result && exr_get_screen_window_center(file, CSREC_EXR_PART, &at))
        result = exr_set_screen_window_center(file, CSREC_EXR_PART, &centre);
    if (!result && exr_get_screen_window_width(file, CSREC_EXR_PART, &number))
        result = exr_set_screen_window_width(file, CSREC_EXR_PART, 1.0f);
    return result;
}

static exr_result_t write_header(writer *w) {
    exr_context_t file = w->exr.file;
    int part;
    exr_result_t result = exr_add_part(file, NULL, EXR_STORAGE_SCANLINE, &part);
    if (!result) result = exr_set_longname_support(file, 1);
    if (!result) result = exr_set_compression(file, part, w->compression);
    if (!result) result = exr_set_data_window(file, part, &w->window);
    if (!result) result = exr_set_lineorder(file, part, EXR_LINEORDER_INCREASING_Y);
    for (int c = 0; c < w->channels && !result; c++)
        result =
            exr_add_channel(file, part, w->name[c], w->type, EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    if (!result && w->like.file) csrec_exr_copy_attributes(&w->like, file);
    w->exr.text[0] = '\0'; /* of what could not be copied */
    if (!result) result = set_required(w);
    return result ? result : exr_write_header(file);
}

/* The channels of the file are in the order of their names, not of the signal's. */
static void aim(writer *w) {
    for (int i = 0; i < w->encode.channel_count; i++) {
        exr_coding_channel_info_t *to = &w->encode.channels[i];
        int c = 0;
        while (c + 1 < w->channels && strcmp(to->channel_name, w->name[c]) != 0) c++;
        to->user_bytes_per_element = 4;
        to->user_data_type = EXR_PIXEL_FLOAT;
        to->user_pixel_stride = 4 * w->channels;
        to->user_line_stride = 4 * w->channels * w->width;
        to->encode_from_ptr = (const uint8_t *)(w->rows + c);
    }
}

/* Readers take a chunk as long as its samples as stored; OpenEXR 3.1 writes packed ones so. */
static exr_result_t compress(exr_encode_pipeline_t *encode) {
    const writer *w = encode->encoding_user_data;
    exr_result_t result = w->compress(encode);
    if (!result && encode->compressed_bytes == encode->packed_bytes &&
        encode->compressed_buffer != encode->packed_buffer)
        memcpy(encode->compressed_buffer, encode->packed_buffer, encode->packed_bytes);
    return result;
}

static exr_result_t write_chunk(writer *w, int64_t row, int64_t rows) {
    exr_context_t file = w->exr.file;
    exr_chunk_info_t chunk;
    int64_t each = (int64_t)w->width * w->channels;
    for (int64_t i = 0; i < rows * each; i++)
        w->rows[i] = (float)csrec_array_value(w->pixels, row * each + i);
    exr_result_t result =
        exr_write_scanline_chunk_info(file, CSREC_EXR_PART, (int)(w->window.min.y + row), &chunk);
    if (result) return result;
    w->encode = (exr_encode_pipeline_t)EXR_ENCODE_PIPELINE_INITIALIZER;
    result = exr_encoding_initialize(file, CSREC_EXR_PART, &chunk, &w->encode);
    if (result) return result;
    aim(w);
    result = exr_encoding_choose_default_routines(file, CSREC_EXR_PART, &w->encode);
    w->compress = w->encode.compress_fn;
    w->encode.encoding_user_data = w;
    if (w->compress) w->encode.compress_fn = compress;
    if (!result) result = exr_encoding_run(file, CSREC_EXR_PART, &w->encode);
    exr_encoding_destroy(file, &w->encode);
    return result;
}

static exr_result_t write_pixels(writer *w) {
    int32_t lines = 0;
    exr_result_t result = exr_get_scanlines_per_chunk(w->exr.file, CSREC_EXR_PART, &lines);
    if (result) return result;
    w->rows = malloc((size_t)lines * (size_t)w->width * (size_t)w->channels * sizeof *w->rows);
    if (!w->rows) return EXR_ERR_OUT_OF_MEMORY;
    for (int64_t y = 0; y < w->height && !result; y += lines)
        result = write_chunk(w, y, w->height - y < lines ? w->height - y : lines);
    free(w->rows);
    return result;
}

/* Half and float have an end; what is beyond would become infinite. */
static csrec_status measure(writer *w, const char *path, const csrec_image *signal) {
    const csrec_shape *shape = &signal->pixels.shape;
    int64_t channels = shape->dims == 3 ? shape->dim[2] : 1;
    csrec_shape whole = *shape;
    if (shape->dims == 3 && (signal->bits > 0 || signal->has_channels)) whole.dims = 2;
    const char *reason = csrec_format_refusal(&csrec_exr_format.format, &whole, channels);
    if (reason || !signal->pixels.data || signal->alpha)
        return csrec_fail(w->error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "an OpenEXR file is written without transparency");
    w->pixels = &signal->pixels;
    for (int64_t i = 0; i < w->pixels->count; i++)
        w->largest = fmax(w->largest, fabs(csrec_array_value(w->pixels, i)));
    if (w->largest > FLT_MAX && isfinite(w->largest))
        return csrec_fail(w->error, CSREC_DATA,
                          "%s: a value is beyond 32 bit floats, which OpenEXR has; write .npy",
                          path);
    w->height = (int32_t)shape->dim[0];
    w->width = (int32_t)shape->dim[1];
    w->channels = (int)channels;
    w->window.max.x = w->width - 1;
    w->window.max.y = w->height - 1;
    return CSREC_OK;
}

static csrec_status write_file(writer *w, csrec_output *output) {
    CSREC_TRY(csrec_exr_create(output->file, output->name, &w->exr, w->error));
    exr_result_t result = write_header(w);
    if (!result) result = write_pixels(w);
    exr_result_t closed = csrec_exr_close(&w->exr);
    if (!result) result = closed;
    if (result) return csrec_exr_failed(&w->exr, result, w->error);
    return csrec_output_append_fingerprint(output, w->error);
}

csrec_status csrec_exr_write(csrec_files *files, const char *path, const csrec_image *signal,
                             const char *like, csrec_error *error) {
    writer w = {.error = error,
                .compression = EXR_COMPRESSION_ZIP,
                .type = EXR_PIXEL_FLOAT,
                .name = {"R", "G", "B"}};
    csrec_input input = {0};
    csrec_output output;
    CSREC_TRY(measure(&w, path, signal));
    if (w.channels == 1) w.name[0] = "Y";
    if (csrec_format_open_like(&csrec_exr_format, like, &input))
        csrec_exr_open(&input, &w.like, NULL);
    compare(&w);
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error);
    if (!status) {
        status = write_file(&w, &output);
        status = csrec_output_close(&output, status, error);
    }
    csrec_exr_close(&w.like);
    csrec_input_close(&input);
    return status;
}
