/* SPDX-License-Identifier: BSD-3-Clause */
/* signal.c - a signal as a .npz of one stored member x, and one of the fingerprint: a frame
 * around the values, so that it is written in slabs, and by several processes. All numbers of the
 * zip that grow have 64 bits (APPNOTE.TXT, 4.5.3). */

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "files/npz/npz.h"

enum { VERSION = 45, DAY = 1 << 5 | 1, LOCAL_EXTRA = 20, EXTRA = 28 };

/* A stored member. */
typedef struct member {
    const char *name;
    uint64_t bytes, offset; /* of the .npy; where the member begins */
    uint32_t crc;
} member;

static void put(char **to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *(*to)++ = (char)(value >> (8 * i) & 255);
}

static void put_text(char **to, const void *text, size_t bytes) {
    memcpy(*to, text, bytes);
    *to += bytes;
}

/* What both headers of a member have: a fixed date (the first of the format), sizes elsewhere. */
static void put_common(char **to, const member *m, uint64_t extra) {
    put(to, VERSION, 2);
    put(to, 0, 2 + 2 + 2); /* flags, stored, time */
    put(to, DAY, 2);
    put(to, m->crc, 4);
    put(to, UINT64_MAX, 4 + 4);
    put(to, strlen(m->name), 2);
    put(to, extra, 2);
}

static void put_local(char **to, const member *m) {
    put_text(to, "PK\3\4", 4);
    put_common(to, m, LOCAL_EXTRA);
    put_text(to, m->name, strlen(m->name));
    put(to, 1, 2);
    put(to, LOCAL_EXTRA - 4, 2);
    put(to, m->bytes, 8);
    put(to, m->bytes, 8);
}

static void put_entry(char **to, const member *m) {
    put_text(to, "PK\1\2", 4);
    put(to, VERSION, 2);
    put_common(to, m, EXTRA);
    put(to, 0, 2 + 2); /* comment, disk */
    put(to, 0, 2 + 4); /* attributes */
    put(to, UINT64_MAX, 4);
    put_text(to, m->name, strlen(m->name));
    put(to, 1, 2);
    put(to, EXTRA - 4, 2);
    put(to, m->bytes, 8);
    put(to, m->bytes, 8);
    put(to, m->offset, 8);
}

static void put_end(char **to, uint64_t members, uint64_t directory, uint64_t bytes) {
    put_text(to, "PK\6\6", 4);
    put(to, 44, 8);
    put(to, VERSION, 2);
    put(to, VERSION, 2);
    put(to, 0, 4 + 4); /* disks */
    put(to, members, 8);
    put(to, members, 8);
    put(to, bytes, 8);
    put(to, directory, 8);
    put_text(to, "PK\6\7", 4);
    put(to, 0, 4);
    put(to, directory + bytes, 8);
    put(to, 1, 4);
    put_text(to, "PK\5\6", 4);
    put(to, 0, 2 + 2);
    put(to, UINT64_MAX, 2);
    put(to, UINT64_MAX, 2);
    put(to, UINT64_MAX, 4);
    put(to, UINT64_MAX, 4);
    put(to, 0, 2);
}

enum { HEAD_MOST = 64 + CSREC_NPY_HEADER_MAX, TAIL_MOST = 1024 };

/* Behind the values, which end at `at`. record: of the fingerprint, or NULL. */
static size_t put_tail(char *tail, const member *x, const char *record, size_t bytes, uint64_t at) {
    char *to = tail;
    const uLong crc = crc32_z(0, (const Bytef *)record, bytes);
    const member fingerprint = {"fingerprint.npy", bytes, at, (uint32_t)crc};
    if (record) {
        put_local(&to, &fingerprint);
        put_text(&to, record, bytes);
    }
    const uint64_t directory = at + (uint64_t)(to - tail);
    put_entry(&to, x);
    if (record) put_entry(&to, &fingerprint);
    put_end(&to, 1 + (record != NULL), directory, at + (uint64_t)(to - tail) - directory);
    return (size_t)(to - tail);
}

/* crc: of the values; that of the member is of header and values. */
csrec_status csrec_npz_make_frame(const csrec_output *output, const char *path,
                                  const csrec_image *signal, const char *like, uint32_t crc,
                                  csrec_frame *frame, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    const uint64_t values = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype);
    char header[CSREC_NPY_HEADER_MAX];
    const size_t size = csrec_npy_header_of(signal, header);
    const uLong own = crc32_z(0, (const Bytef *)header, size);
    const member x = {"x.npy", size + values, 0,
                      (uint32_t)crc32_combine(own, crc, (z_off_t)values)};
    const char *text = csrec_output_fingerprint(output);
    size_t bytes = 0;
    char *record = text ? csrec_fingerprint_npy(text, 1, &bytes) : NULL;
    (void)path, (void)like;
    if (text && !record) return csrec_memory_fail(error, output->name);
    csrec_status status =
        csrec_frame_create(HEAD_MOST, TAIL_MOST + bytes, output->name, frame, error);
    if (!status) {
        char *to = frame->head;
        put_local(&to, &x);
        put_text(&to, header, size);
        frame->head_bytes = (size_t)(to - (char *)frame->head);
        frame->tail_bytes = put_tail(frame->tail, &x, record, bytes, frame->head_bytes + values);
    }
    free(record);
    return status;
}

csrec_status csrec_npz_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                   csrec_slab_fn take, void *context, const char *like,
                                   csrec_error *error) {
    csrec_output output;
    const csrec_array *pixels = &signal->pixels;
    if (csrec_dtype_size(pixels->dtype) == 0 || pixels->shape.dims < 1 || pixels->count < 1 ||
        pixels->shape.dims > CSREC_DIMS_MAX || (!take && !pixels->data))
        return csrec_fail(error, CSREC_ARGUMENT, "%s: the array to write is not a valid one", path);
    CSREC_TRY(csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error));
    csrec_status status = csrec_framed_write(&output, &csrec_npz_format.framing, path, signal, take,
                                             context, like, error);
    return csrec_output_close(&output, status, error);
}

csrec_status csrec_npz_write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                    const char *like, csrec_error *error) {
    return csrec_npz_write_slabs(files, path, signal, NULL, NULL, like, error);
}
