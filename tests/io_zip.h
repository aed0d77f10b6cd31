/* SPDX-License-Identifier: BSD-3-Clause */
/* io_zip.h - zip archives built by hand, from the format's description (APPNOTE.TXT), so that the
 * reader is tested with bytes that libzip did not write. */
#pragma once

#include <zlib.h>

#include "io_file.h"

typedef struct {
    io_bytes bytes;     /* local headers and data so far */
    io_bytes directory; /* central directory so far */
    int members;
} io_zip;

typedef struct {
    bool deflate, zip64;
    int64_t lie;       /* added to the declared uncompressed size */
    uint32_t crc_flip; /* xor of the checksum */
} io_zip_how;

static inline io_bytes io_deflate(const io_bytes *data) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    io_bytes out = {.size = deflateBound(&z, data->size)};
    out.data = malloc(out.size + 1);
    z.next_in = data->data;
    z.avail_in = (uInt)data->size;
    z.next_out = out.data;
    z.avail_out = (uInt)out.size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* version, flags, method, time, date, checksum, sizes: alike in both headers. */
static inline void io_zip_common(io_bytes *b, const io_zip_how *how, uint32_t crc, uint64_t packed,
                                 uint64_t size, size_t name_length) {
    io_put_le(b, how->zip64 ? 45 : 20, 2);
    io_put_le(b, 0, 2);
    io_put_le(b, how->deflate ? 8 : 0, 2);
    io_put_le(b, 0, 2);
    io_put_le(b, 33, 2);
    io_put_le(b, crc, 4);
    io_put_le(b, how->zip64 ? UINT32_MAX : packed, 4);
    io_put_le(b, how->zip64 ? UINT32_MAX : size, 4);
    io_put_le(b, name_length, 2);
}

static inline void io_zip64_extra(io_bytes *b, uint64_t size, uint64_t packed) {
    io_put_le(b, 1, 2);
    io_put_le(b, 16, 2);
    io_put_le(b, size, 8);
    io_put_le(b, packed, 8);
}

/* Adds a member of `size` bytes that is packed already. */
static inline void io_zip_add_packed(io_zip *zip, const char *name, io_bytes packed, uint64_t size,
                                     uint32_t crc, io_zip_how how) {
    uint64_t offset = zip->bytes.size;
    size_t length = strlen(name), extra = how.zip64 ? 20 : 0;

    io_put(&zip->bytes, "PK\3\4", 4);
    io_zip_common(&zip->bytes, &how, crc, packed.size, size, length);
    io_put_le(&zip->bytes, extra, 2);
    io_put(&zip->bytes, name, length);
    if (how.zip64) io_zip64_extra(&zip->bytes, size, packed.size);
    io_put(&zip->bytes, packed.data, packed.size);

    io_put(&zip->directory, "PK\1\2", 4);
    io_put_le(&zip->directory, how.zip64 ? 45 : 20, 2);
    io_zip_common(&zip->directory, &how, crc, packed.size, size, length);
    io_put_le(&zip->directory, extra, 2);
    io_put_le(&zip->directory, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
    io_put_le(&zip->directory, offset, 4);
    io_put(&zip->directory, name, length);
    if (how.zip64) io_zip64_extra(&zip->directory, size, packed.size);
    zip->members++;
}

/* Adds a member and frees its bytes. */
static inline void io_zip_add(io_zip *zip, const char *name, io_bytes member, io_zip_how how) {
    io_bytes packed = how.deflate ? io_deflate(&member) : member;
    uint32_t crc = (uint32_t)crc32(0, member.data, (uInt)member.size) ^ how.crc_flip;
    io_zip_add_packed(zip, name, packed, member.size + (uint64_t)how.lie, crc, how);
    if (how.deflate) io_free(&packed);
    io_free(&member);
}

/* The finished archive. zip64 adds the 64-bit end records. */
static inline io_bytes io_zip_finish(io_zip *zip, bool zip64) {
    uint64_t offset = zip->bytes.size, size = zip->directory.size;
    io_put(&zip->bytes, zip->directory.data, zip->directory.size);
    uint64_t end = zip->bytes.size;
    if (zip64) {
        io_put(&zip->bytes, "PK\6\6", 4);
        io_put_le(&zip->bytes, 44, 8);
        io_put_le(&zip->bytes, 45, 2);
        io_put_le(&zip->bytes, 45, 2);
        io_put_le(&zip->bytes, 0, 4 + 4);
        io_put_le(&zip->bytes, (uint64_t)zip->members, 8);
        io_put_le(&zip->bytes, (uint64_t)zip->members, 8);
        io_put_le(&zip->bytes, size, 8);
        io_put_le(&zip->bytes, offset, 8);
        io_put(&zip->bytes, "PK\6\7", 4);
        io_put_le(&zip->bytes, 0, 4);
        io_put_le(&zip->bytes, end, 8);
        io_put_le(&zip->bytes, 1, 4);
    }
    io_put(&zip->bytes, "PK\5\6", 4);
    io_put_le(&zip->bytes, 0, 2 + 2);
    io_put_le(&zip->bytes, zip64 ? 65535 : (uint64_t)zip->members, 2);
    io_put_le(&zip->bytes, zip64 ? 65535 : (uint64_t)zip->members, 2);
    io_put_le(&zip->bytes, zip64 ? UINT32_MAX : size, 4);
    io_put_le(&zip->bytes, zip64 ? UINT32_MAX : offset, 4);
    io_put_le(&zip->bytes, 0, 2);
    io_bytes result = zip->bytes;
    io_free(&zip->directory);
    *zip = (io_zip){0};
    return result;
}
