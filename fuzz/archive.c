/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.c - members of a zip archive, by libzip, and an archive of members, by hand: stored, with
 * the checksums that would keep a fuzzer from ever changing an array. */
#include <zip.h>
#include <zlib.h>

#include "fuzz.h"
#include "files/npy/npy.h"

enum { BYTES_MAX = 1 << 20, LOCAL = 30, ENTRY = 46, END = 22 };

void fuzz_archive_clear(fuzz_archive *archive) {
    for (int i = 0; i < archive->n; i++) free(archive->member[i].data);
    archive->n = 0;
}

fuzz_member *fuzz_archive_find(fuzz_archive *archive, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < archive->n; i++) {
        const char *has = archive->member[i].name;
        if (strncmp(has, name, length) == 0 && (!has[length] || strcmp(has + length, ".npy") == 0))
            return &archive->member[i];
    }
    return NULL;
}

void fuzz_member_set(fuzz_member *member, const void *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    free(member->data);
    member->data = copy;
    member->size = size;
}

void fuzz_member_array(fuzz_member *member, csrec_dtype dtype, csrec_shape shape,
                       const void *values) {
    char header[CSREC_NPY_HEADER_MAX];
    int64_t count = 1;
    if (shape.dims && csrec_shape_count(&shape, &count)) abort();
    size_t bytes = (size_t)count * csrec_dtype_size(dtype);
    size_t head = csrec_npy_header_write(csrec_dtype_code(dtype), &shape, header);
    uint8_t *all = malloc(head + bytes);
    if (!all) abort();
    memcpy(all, header, head);
    memcpy(all + head, values, bytes);
    free(member->data);
    member->data = all;
    member->size = head + bytes;
}

static bool read_member(zip_t *zip, zip_uint64_t i, fuzz_member *member) {
    zip_stat_t info;
    if (zip_stat_index(zip, i, 0, &info) || info.size > BYTES_MAX) return false;
    zip_file_t *file = zip_fopen_index(zip, i, 0);
    *member = (fuzz_member){.data = malloc((size_t)info.size + 1)};
    zip_int64_t got = file && member->data ? zip_fread(file, member->data, info.size) : -1;
    if (file) zip_fclose(file);
    member->size = got > 0 ? (size_t)got : 0;
    strncpy(member->name, info.name, FUZZ_NAME - 1);
    if (got < 0) free(member->data);
    return got >= 0;
}

bool fuzz_archive_read(const uint8_t *data, size_t size, fuzz_archive *archive) {
    archive->n = 0;
    if (size < END || size > BYTES_MAX || memcmp(data, "PK", 2) != 0) return false;
    zip_source_t *source = zip_source_buffer_create(data, size, 0, NULL);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, NULL) : NULL;
    if (!zip) {
        zip_source_free(source);
        return false;
    }
    zip_int64_t count = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < count && archive->n < FUZZ_MEMBERS; i++)
        archive->n += read_member(zip, (zip_uint64_t)i, &archive->member[archive->n]);
    zip_discard(zip);
    return archive->n > 0;
}

static uint8_t *put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *at++ = (uint8_t)(i < 8 ? value >> 8 * i : 0);
    return at;
}

/* From the version that is needed to the length of extra fields: alike in both headers. */
static uint8_t *put_common(uint8_t *at, const fuzz_member *member) {
    at = put(at, 20, 2);
    at = put(at, 0, 2 + 2 + 2);
    at = put(at, 33, 2);
    at = put(at, crc32(0, member->data, (uInt)member->size), 4);
    at = put(at, member->size, 4);
    at = put(at, member->size, 4);
    at = put(at, strlen(member->name), 2);
    return put(at, 0, 2);
}

static uint8_t *put_text(uint8_t *at, const void *text, size_t size) {
    if (size) memcpy(at, text, size);
    return at + size;
}

size_t fuzz_archive_write(const fuzz_archive *archive, uint8_t *data, size_t room) {
    size_t needed = END, offset[FUZZ_MEMBERS];
    for (int i = 0; i < archive->n; i++)
        needed += LOCAL + ENTRY + 2 * strlen(archive->member[i].name) + archive->member[i].size;
    if (needed > room) return 0;
    uint8_t *at = data;
    for (int i = 0; i < archive->n; i++) {
        const fuzz_member *member = &archive->member[i];
        offset[i] = (size_t)(at - data);
        at = put_common(put_text(at, "PK\3\4", 4), member);
        at = put_text(at, member->name, strlen(member->name));
        at = put_text(at, member->data, member->size);
    }
    size_t directory = (size_t)(at - data);
    for (int i = 0; i < archive->n; i++) {
        at = put_common(put_text(at, "PK\1\2\24\0", 6), &archive->member[i]);
        at = put(at, 0, 2 + 2 + 2 + 4);
        at = put(at, offset[i], 4);
        at = put_text(at, archive->member[i].name, strlen(archive->member[i].name));
    }
    size_t size = (size_t)(at - data) - directory;
    at = put_text(at, "PK\5\6\0\0\0\0", 8);
    at = put(at, (uint64_t)archive->n, 2);
    at = put(at, (uint64_t)archive->n, 2);
    at = put(at, size, 4);
    at = put(at, directory, 4);
    return (size_t)(put(at, 0, 2) - data);
}
