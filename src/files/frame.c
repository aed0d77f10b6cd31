/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.c - writes files that are a head, values in C order, and a tail. */

#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"
#include "files/output.h"

/* Bytes of a slab, about. */
enum { SLAB = 1 << 22 };

void csrec_frame_clear(csrec_frame *frame) {
    free(frame->head);
    free(frame->tail);
    *frame = (csrec_frame){0};
}

csrec_status csrec_frame_create(size_t head_bytes, size_t tail_bytes, const char *name,
                                csrec_frame *frame, csrec_error *error) {
    *frame = (csrec_frame){malloc(head_bytes + 1), malloc(tail_bytes + 1), head_bytes, tail_bytes};
    if (frame->head && frame->tail) return CSREC_OK;
    csrec_frame_clear(frame);
    return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
}

/* crc: NULL, or that of the bytes so far. */
static csrec_status write_values(csrec_output *output, const void *values, uint64_t bytes,
                                 uint32_t *crc, csrec_error *error) {
    if (crc) *crc = (uint32_t)crc32_z(*crc, values, (size_t)bytes);
    return csrec_output_write(output, values, bytes, error);
}

static csrec_status write_slabs(csrec_output *output, const csrec_array *pixels, csrec_slab_fn take,
                                void *context, uint32_t *crc, csrec_error *error) {
    int64_t rows = pixels->shape.dim[0];
    size_t row = (size_t)(pixels->count / rows) * csrec_dtype_size(pixels->dtype);
    int64_t count = row < SLAB ? (int64_t)(SLAB / row) : 1;
    void *part = malloc((size_t)(count < rows ? count : rows) * row);
    if (!part) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", output->name);
    csrec_status status = CSREC_OK;
    for (int64_t first = 0; first < rows && !status; first += count) {
        csrec_slab slab = {first, rows - first < count ? rows - first : count};
        status = take(context, slab, part, error);
        if (!status) status = write_values(output, part, (uint64_t)slab.count * row, crc, error);
    }
    free(part);
    return status;
}

static csrec_status write_head(csrec_output *output, const csrec_frame *frame, csrec_error *error) {
    return csrec_output_write(output, frame->head, frame->head_bytes, error);
}

csrec_status csrec_frame_finish(csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, const char *like,
                                uint32_t crc, csrec_frame *frame, csrec_error *error) {
    csrec_frame_clear(frame);
    csrec_status status = framing->make(output, path, signal, like, crc, frame, error);
    if (!status && fseeko(output->file, 0, SEEK_SET) != 0)
        status = csrec_output_failed(output->name, error);
    if (!status) status = write_head(output, frame, error);
    if (!status && fseeko(output->file, 0, SEEK_END) != 0)
        status = csrec_output_failed(output->name, error);
    return status ? status : csrec_output_write(output, frame->tail, frame->tail_bytes, error);
}

csrec_status csrec_framed_write(csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, csrec_slab_fn take,
                                void *context, const char *like, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    csrec_frame frame = {0};
    uint32_t crc = (uint32_t)crc32(0, NULL, 0), *wanted = framing->has_crc ? &crc : NULL;
    csrec_status status = framing->make(output, path, signal, like, 0, &frame, error);
    if (!status) status = write_head(output, &frame, error);
    if (!status)
        status = take ? write_slabs(output, pixels, take, context, wanted, error)
                      : write_values(output, pixels->data,
                                     (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype),
                                     wanted, error);
    if (!status)
        status = wanted
                     ? csrec_frame_finish(output, framing, path, signal, like, crc, &frame, error)
                     : csrec_output_write(output, frame.tail, frame.tail_bytes, error);
    csrec_frame_clear(&frame);
    return status;
}
