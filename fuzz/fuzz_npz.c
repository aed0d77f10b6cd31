/* fuzz_npz.c - any bytes as a .npy array, and as a measurement, which for zip bytes is a .npz.
 *
 * Checksums keep a fuzzer from ever changing the arrays inside a zip. So bytes that begin with 'F'
 * are also taken as a list of members, for which the archive is made here:
 *   'F' { field number, length (2 bytes, little-endian), .npy bytes } ... */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/measurement.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const fields[] = {"y",       "shape", "index", "mask", "seed",
                                     "pattern", "count", "sigma", "scale"};
enum { FIELDS = sizeof fields / sizeof fields[0], MEMBERS = 16, ENTRY = 80 };

typedef struct {
    uint8_t *data;
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint32_t value, int count) {
    for (int i = 0; i < count; i++) b->data[b->size++] = (uint8_t)(i < 4 ? value >> 8 * i : 0);
}

/* The fields that a local header and a directory entry share: stored, no times. */
static void put_common(bytes *b, const char *name, const uint8_t *data, uint32_t size) {
    put_number(b, 20, 2);
    put_number(b, 0, 2 + 2 + 2 + 2);
    put_number(b, (uint32_t)crc32(0, data, size), 4);
    put_number(b, size, 4);
    put_number(b, size, 4);
    put_number(b, (uint32_t)strlen(name), 2);
    put_number(b, 0, 2);
}

/* Poisson-disc sampling takes time with the signal's entries, not with the file's bytes, as it
 * must; a fuzzer has no use for that. */
static bool is_large_shape(const uint8_t *data, size_t size) {
    csrec_array shape;
    double entries = 1;
    if (csrec_npy_parse(data, size, "fuzz", &shape, NULL) != CSREC_OK) return false;
    for (int64_t d = 0; d < shape.count; d++) entries *= csrec_array_value(&shape, d);
    csrec_array_clear(&shape);
    return !(entries < 1 << 18);
}

static bytes make_zip(const uint8_t *data, size_t size) {
    bytes zip = {malloc(size + 2 * MEMBERS * ENTRY + 32), 0};
    bytes directory = {malloc(MEMBERS * ENTRY), 0};
    uint32_t members = 0;
    if (!zip.data || !directory.data) abort();
    for (; size >= 3 && members < MEMBERS; members++) {
        const char *name = fields[data[0] % FIELDS];
        size_t length = data[1] | (size_t)data[2] << 8, offset = zip.size;
        data += 3;
        size -= 3;
        if (length > size) length = size;
        if (data[-3] % FIELDS == 1 && is_large_shape(data, length)) length = 0;
        put(&zip, "PK\3\4", 4);
        put_common(&zip, name, data, (uint32_t)length);
        put(&zip, name, strlen(name));
        put(&zip, data, length);
        put(&directory, "PK\1\2\24\0", 6);
        put_common(&directory, name, data, (uint32_t)length);
        put_number(&directory, 0, 2 + 2 + 2 + 4);
        put_number(&directory, (uint32_t)offset, 4);
        put(&directory, name, strlen(name));
        data += length;
        size -= length;
    }
    uint32_t offset = (uint32_t)zip.size;
    put(&zip, directory.data, directory.size);
    put(&zip, "PK\5\6\0\0\0\0", 8);
    put_number(&zip, members, 2);
    put_number(&zip, members, 2);
    put_number(&zip, (uint32_t)directory.size, 4);
    put_number(&zip, offset, 4);
    put_number(&zip, 0, 2);
    free(directory.data);
    return zip;
}

static void try_array(const uint8_t *data, size_t size) {
    csrec_error error;
    csrec_array array;
    if (csrec_npy_parse(data, size, "fuzz", &array, &error) != CSREC_OK) return;
    int64_t count = 1;
    if (array.shape.dims && csrec_shape_count(&array.shape, &count) != CSREC_OK) abort();
    if (count != array.count) abort();
    volatile double last = csrec_array_value(&array, array.count - 1);
    (void)last;
    csrec_array_clear(&array);
}

static void try_measurement(const uint8_t *data, size_t size) {
    csrec_error error;
    csrec_measurement measurement;
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (csrec_measurement_parse(&input, NULL, &measurement, &error) == CSREC_OK) {
        /* What was read passes the checks, whatever the bytes were. */
        if (csrec_measurement_check(&measurement, "fuzz", &error) != CSREC_OK) abort();
        csrec_measurement_clear(&measurement);
    }
    csrec_input_close(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && data[0] == 'F') {
        bytes zip = make_zip(data + 1, size - 1);
        try_measurement(zip.data, zip.size);
        free(zip.data);
    } else {
        try_array(data, size);
        try_measurement(data, size);
    }
    return 0;
}
