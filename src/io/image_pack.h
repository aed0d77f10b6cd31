/* image_pack.h - the pixels of a PNG, filtered and compressed by all threads. */
#ifndef CSREC_IO_IMAGE_PACK_H
#define CSREC_IO_IMAGE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "csrec.h"

/* Rows of bytes as a PNG has them: big-endian, channels woven together. */
typedef struct csrec_image_rows {
    size_t height, bytes, pixel; /* bytes of a row and of a pixel; none is 0 */
    void (*fill)(const void *context, size_t y, uint8_t *row);
    const void *context;
} csrec_image_rows;

/* The zlib stream of all rows, to be freed; the same bytes whatever the number of threads.
 * CSREC_MEMORY. */
csrec_status csrec_image_pack(const csrec_image_rows *rows, uint8_t **stream, size_t *size);

#endif
