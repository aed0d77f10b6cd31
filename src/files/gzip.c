/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip.c - files of any format that gzip has packed: sky.fits.gz. */
#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/input.h"

/* What is unpacked so far; room doubles, so only memory limits it. */
typedef struct unpacked {
    uint8_t *bytes;
    size_t size, room;
} unpacked;

static csrec_status grow(unpacked *to, const char *name, csrec_error *error) {
    size_t room = to->room ? 2 * to->room : 1 << 16;
    csrec_status status = csrec_memory_check(room, 1, name, error);
    uint8_t *bytes = status ? NULL : realloc(to->bytes, room);
    if (!status && !bytes) status = csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    if (status) return status;
    to->bytes = bytes;
    to->room = room;
    return CSREC_OK;
}

static bool is_packed(const uint8_t *head, uint64_t size) {
    return size > 2 && head[0] == 0x1f && head[1] == 0x8b && head[2] == Z_DEFLATED;
}

/* Packed files may follow one another; other bytes behind them, as of tapes, are left out. */
static csrec_status unpack(z_stream *z, uint64_t left, unpacked *to, const char *name,
                           csrec_error *error) {
    csrec_status status = CSREC_OK;
    int result = Z_OK;
    while (!status && (result == Z_OK || is_packed(z->next_in, left))) {
        if (result == Z_STREAM_END) inflateReset(z);
        if (to->size == to->room) status = grow(to, name, error);
        if (status) break;
        size_t take = left < UINT32_MAX ? (size_t)left : UINT32_MAX;
        size_t give = to->room - to->size < UINT32_MAX ? to->room - to->size : UINT32_MAX;
        z->avail_in = (uInt)take;
        z->next_out = to->bytes + to->size;
        z->avail_out = (uInt)give;
        result = inflate(z, Z_NO_FLUSH);
        left -= take - z->avail_in;
        to->size += give - z->avail_out;
        if (result != Z_OK && result != Z_STREAM_END)
            status =
                csrec_fail(error, result == Z_MEM_ERROR ? CSREC_MEMORY : CSREC_FORMAT,
                           "%s: its gzip data are damaged or end early; copy the file again", name);
    }
    return status;
}

csrec_status csrec_input_unpack(csrec_input *input, csrec_error *error) {
    uint8_t head[3];
    z_stream z = {.opaque = Z_NULL};
    unpacked to = {.room = 0};
    if (!is_packed(head, csrec_input_peek(input, 0, head, sizeof head))) return CSREC_OK;
    csrec_status status = csrec_input_load(input, error);
    if (!status && inflateInit2(&z, 15 + 16))
        status = csrec_fail(error, CSREC_MEMORY, "%s: out of memory", input->name);
    if (!status) {
        z.next_in = (z_const Bytef *)(uintptr_t)input->bytes;
        status = unpack(&z, input->size, &to, input->name, error);
        inflateEnd(&z);
    }
    if (status) {
        free(to.bytes);
        csrec_input_close(input);
        return status;
    }
    if (input->file) fclose(input->file);
    free(input->owned);
    input->file = NULL;
    input->row = NULL; /* of what is packed */
    input->bytes = input->owned = to.bytes;
    input->size = to.size;
    return CSREC_OK;
}
