/* SPDX-License-Identifier: BSD-3-Clause */
/* pgm.c - the format pgm: gray pictures of 8 or 16 bits, P5 of netpbm. */
#include <ctype.h>
#include <stdio.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/output.h"

/* A number after blanks and comments, and the byte that ends it. */
static csrec_status read_number(csrec_reader *reader, const char *name, int64_t *value,
                                csrec_error *error) {
    bool comment = false, digits = false;
    for (*value = 0;;) {
        uint8_t byte;
        csrec_status status = csrec_reader_take(reader, &byte, 1, name, error);
        if (status) return status;
        comment = byte == '#' || (comment && byte != '\n');
        if (comment || (isspace(byte) && !digits)) continue;
        if (digits && isspace(byte)) return CSREC_OK;
        digits = isdigit(byte) && *value < 1 << 24;
        if (!digits)
            return csrec_fail(error, CSREC_FORMAT,
                              "%s: its head is not three numbers; save it again", name);
        *value = 10 * *value + byte - '0';
    }
}

static csrec_status read_head(csrec_reader *reader, const char *name, csrec_image *signal,
                              csrec_error *error) {
    uint8_t magic[2];
    int64_t number[3]; /* width, height, white */
    csrec_status status = csrec_reader_take(reader, magic, sizeof magic, name, error);
    for (int i = 0; i < 3 && !status; i++) status = read_number(reader, name, &number[i], error);
    if (status) return status;
    const int64_t wide = number[2] > 255 ? 2 : 1, count = number[0] * number[1];
    if (number[2] != 255 && number[2] != 65535)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: white is %lld; save it with 255 or 65535",
                          name, (long long)number[2]);
    if (count < 1 || (uint64_t)(count * wide) > reader->left)
        return csrec_fail(error, CSREC_FORMAT, "%s: has not %lld x %lld pixels; save it again",
                          name, (long long)number[1], (long long)number[0]);
    signal->bits = 8 * (int)wide;
    signal->pixels = (csrec_array){
        wide == 2 ? CSREC_U16 : CSREC_U8, {3, {number[1], number[0], 1}}, count, NULL};
    return CSREC_OK;
}

/* Values of 16 bits have their high byte first. */
static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_image image = {0};
    csrec_reader reader = csrec_input_reader(input);
    csrec_status status = read_head(&reader, input->name, &image, error);
    const csrec_array form = image.pixels;
    if (!status) status = csrec_memory_check((uint64_t)form.count * 2, 2, input->name, error);
    if (!status && csrec_array_create(form.dtype, &form.shape, &image.pixels))
        status = csrec_fail(error, CSREC_MEMORY, "%s: out of memory", input->name);
    for (int64_t i = 0; i < form.count && !status; i++) {
        uint8_t byte[2] = {0};
        const int wide = image.bits / 8;
        status = csrec_reader_take(&reader, byte + 2 - wide, (uint64_t)wide, input->name, error);
        csrec_array_set(&image.pixels, i, 256.0 * byte[0] + byte[1]);
    }
    if (status)
        csrec_image_clear(&image);
    else
        *signal = image;
    return status;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    return shape->dims == 2 && channels == 1 ? NULL : "a PGM is one gray picture; write .npy";
}

static csrec_status write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                 const char *like, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    const int64_t *dim = pixels->shape.dim;
    const bool wide = signal->bits == 16;
    csrec_output output;
    (void)like; /* a PGM has no metadata */
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error);
    if (status) return status;
    fprintf(output.file, "P5\n%lld %lld\n%d\n", (long long)dim[1], (long long)dim[0],
            wide ? 65535 : 255);
    for (int64_t i = 0; i < pixels->count; i++) {
        const int value = (int)csrec_array_value(pixels, i);
        if (wide) fputc(value >> 8, output.file);
        fputc(value & 255, output.file);
    }
    status = ferror(output.file) ? csrec_output_failed(output.name, error)
                                 : csrec_output_append_fingerprint(&output, error);
    return csrec_output_close(&output, status, error);
}

const csrec_format_row csrec_pgm_format = {
    .format = {"pgm", ".pgm", "PGM", "a PGM picture",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_PICTURE | CSREC_USE_SAMPLES, NULL},
    .magic = {{"P5", 2}},
    .signal = read_signal,
    .refusal = refusal,
    .write = write_signal,
};
