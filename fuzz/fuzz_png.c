/* fuzz_png.c - any bytes as a picture; also with the chunks' checksums mended, without which hardly
 * any changed byte gets past them. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_image(const uint8_t *data, size_t size) {
    csrec_error error;
    csrec_image image;
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (csrec_image_decode(&input, &image, &error) == CSREC_OK) {
        int64_t count;
        if (csrec_shape_count(&image.pixels.shape, &count) != CSREC_OK) abort();
        if (count != image.pixels.count) abort();
        double most = (double)((1 << image.bits) - 1);
        for (int64_t i = 0; i < count; i++)
            if (csrec_array_value(&image.pixels, i) > most) abort();
        for (int64_t i = 0; image.alpha && i < count / image.pixels.shape.dim[2]; i++)
            if (image.alpha[i] > 1) abort();
        csrec_image_clear(&image);
    }
    csrec_input_close(&input);
}

/* A chunk: length, type, data, checksum of type and data; numbers big-endian. */
static void mend(uint8_t *data, size_t size) {
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        uint64_t length = (uint64_t)data[at] << 24 | (uint64_t)data[at + 1] << 16 |
                          (uint64_t)data[at + 2] << 8 | data[at + 3];
        if (length > size - at - 12) return;
        uint32_t crc = (uint32_t)crc32(0, data + at + 4, (uInt)length + 4);
        at += (size_t)length + 12;
        for (int i = 0; i < 4; i++) data[at - 4 + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    mend(copy, size);
    if (size && memcmp(copy, data, size) != 0) try_image(data, size);
    try_image(copy, size);
    free(copy);
    return 0;
}
