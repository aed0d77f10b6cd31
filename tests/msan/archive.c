/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.c - calls of zlib and libzip under the memory sanitizer. */
#include <string.h>
#include <zip.h>
#include <zlib.h>

#include "known.h"

KNOWN(uLong, crc32, uLong crc, const Bytef *data, uInt size) {
    if (data) CHECKED(data, size);
    return crc32(crc, data, size);
}

KNOWN(int, compress, Bytef *to, uLongf *size, const Bytef *data, uLong bytes) {
    CHECKED(data, bytes);
    int result = compress(to, size, data, bytes);
    if (result == Z_OK) WRITTEN(to, *size);
    return result;
}

KNOWN(int, deflateInit2_, z_streamp z, int level, int method, int bits, int memory, int strategy,
      const char *version, int size) {
    int result = deflateInit2_(z, level, method, bits, memory, strategy, version, size);
    WRITTEN(z, 1);
    return result;
}

KNOWN(int, deflate, z_streamp z, int flush) {
    Bytef *to = z->next_out;
    CHECKED(z->next_in, z->avail_in);
    int result = deflate(z, flush);
    WRITTEN(z, 1);
    WRITTEN(to, z->next_out - to);
    return result;
}

KNOWN(zip_int64_t, zip_fread, zip_file_t *file, void *to, zip_uint64_t bytes) {
    zip_int64_t got = zip_fread(file, to, bytes);
    if (got > 0) WRITTEN((char *)to, got);
    return got;
}

KNOWN(void, zip_stat_init, zip_stat_t *info) {
    zip_stat_init(info);
    WRITTEN(info, 1);
}

KNOWN(int, zip_stat_index, zip_t *zip, zip_uint64_t index, zip_flags_t flags, zip_stat_t *info) {
    int result = zip_stat_index(zip, index, flags, info);
    WRITTEN(info, 1);
    if (result == 0 && info->name) WRITTEN(info->name, strlen(info->name) + 1);
    return result;
}

/* The library has one function that takes what libzip writes: all calls go there. */
static zip_source_callback taker;

static zip_int64_t take(void *context, void *data, zip_uint64_t bytes, zip_source_cmd_t command) {
    __msan_unpoison_param(4);
    if (data) WRITTEN((char *)data, bytes);
    return taker(context, data, bytes, command);
}

KNOWN(zip_source_t *, zip_source_function_create, zip_source_callback function, void *context,
      zip_error_t *error) {
    taker = function;
    return zip_source_function_create(take, context, error);
}

KNOWN(zip_source_t *, zip_source_buffer_fragment, zip_t *zip, const zip_buffer_fragment_t *part,
      zip_uint64_t count, int freed) {
    for (zip_uint64_t i = 0; i < count; i++)
        if (part[i].length) CHECKED(part[i].data, part[i].length);
    return zip_source_buffer_fragment(zip, part, count, freed);
}
