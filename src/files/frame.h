/* frame.h - files that are a head, the values of a signal in C order, and a tail: they are written
 * in one stream (frame.c), or by several processes together (parts.c). */
#ifndef CSREC_FILES_FRAME_H
#define CSREC_FILES_FRAME_H

#include <stddef.h>

#include "csrec/io.h"

struct csrec_output;

typedef struct csrec_frame {
    void *head, *tail; /* NULL: none */
    size_t head_bytes, tail_bytes;
} csrec_frame;

void csrec_frame_clear(csrec_frame *frame);

/* Room for head and tail, or CSREC_MEMORY. */
csrec_status csrec_frame_create(size_t head_bytes, size_t tail_bytes, const char *name,
                                csrec_frame *frame, csrec_error *error);

/* Of a format: makes the frame of a signal without data, for the output that is open for it. crc:
 * of the values' bytes, by zlib, if `has_crc`; the head's size does not depend on it.
 * CSREC_UNSUPPORTED: the values of this signal are not in one piece. */
typedef struct csrec_framing {
    csrec_status (*make)(const struct csrec_output *output, const char *path,
                         const csrec_image *signal, const char *like, uint32_t crc,
                         csrec_frame *frame, csrec_error *error);
    bool has_crc; /* the output is open for CSREC_OUTPUT_SEEK */
} csrec_framing;

/* Writes all of an output: the signal's data, or without any what `take` delivers. */
csrec_status csrec_framed_write(struct csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, csrec_slab_fn take,
                                void *context, const char *like, csrec_error *error);

/* Writes the head again, now that the checksum is known, and the tail. */
csrec_status csrec_frame_finish(struct csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, const char *like,
                                uint32_t crc, csrec_frame *frame, csrec_error *error);

#endif
