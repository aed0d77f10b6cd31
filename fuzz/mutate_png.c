/* SPDX-License-Identifier: BSD-3-Clause */
/* mutate_png.c - changes a PNG by its chunks, IDAT unpacked, and makes it anew with right
 * checksums. */
#include <zlib.h>

#include "fuzz.h"

enum { PIXELS_MAX = 1 << 16 };

static const char signature[8] = {'\x89', 'P', 'N', 'G', '\r', '\n', '\x1a', '\n'};

/* Chunks are kept as members of an archive: the name is the type. */
static uint32_t number_at(const uint8_t *data) {
    return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

static uint8_t *put_number(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) *at++ = (uint8_t)(value >> (24 - 8 * i));
    return at;
}

static bool read_chunks(const uint8_t *data, size_t size, fuzz_archive *chunks) {
    chunks->n = 0;
    if (size < sizeof signature || memcmp(data, signature, sizeof signature) != 0) return false;
    for (size_t at = sizeof signature; at + 12 <= size && chunks->n < FUZZ_MEMBERS;) {
        size_t length = number_at(data + at);
        if (length > size - at - 12) length = size - at - 12;
        fuzz_member *chunk = &chunks->member[chunks->n++];
        *chunk = (fuzz_member){.data = NULL};
        memcpy(chunk->name, data + at + 4, 4);
        fuzz_member_set(chunk, data + at + 8, length);
        at += 12 + length;
    }
    return chunks->n > 0;
}

static size_t write_chunks(const fuzz_archive *chunks, uint8_t *data, size_t room) {
    size_t needed = sizeof signature;
    for (int i = 0; i < chunks->n; i++) needed += 12 + chunks->member[i].size;
    if (needed > room) return 0;
    uint8_t *at = data;
    memcpy(at, signature, sizeof signature);
    at += sizeof signature;
    for (int i = 0; i < chunks->n; i++) {
        const fuzz_member *chunk = &chunks->member[i];
        at = put_number(at, (uint32_t)chunk->size);
        memcpy(at, chunk->name, 4);
        if (chunk->size) memcpy(at + 4, chunk->data, chunk->size);
        uint32_t crc = (uint32_t)crc32(0, at, (uInt)chunk->size + 4);
        at = put_number(at + 4 + chunk->size, crc);
    }
    return (size_t)(at - data);
}

static void mutate_bytes(fuzz_member *chunk, size_t more) {
    size_t room = chunk->size + more;
    uint8_t *copy = calloc(room + 1, 1);
    if (!copy) abort();
    if (chunk->size) memcpy(copy, chunk->data, chunk->size);
    fuzz_member_set(chunk, copy, LLVMFuzzerMutate(copy, chunk->size, room));
    free(copy);
}

/* The rows behind the compression, changed. */
static void mutate_rows(fuzz_member *chunk) {
    uLongf size = PIXELS_MAX;
    fuzz_member rows = {.data = malloc(PIXELS_MAX)};
    if (!rows.data) abort();
    if (uncompress(rows.data, &size, chunk->data, (uLong)chunk->size) != Z_OK) size = 0;
    rows.size = size;
    mutate_bytes(&rows, 64);
    uLongf packed = compressBound((uLong)rows.size);
    uint8_t *bytes = malloc(packed);
    if (!bytes) abort();
    if (compress(bytes, &packed, rows.data, (uLong)rows.size) == Z_OK)
        fuzz_member_set(chunk, bytes, packed);
    free(bytes);
    free(rows.data);
}

/* Width, height, bits, colours, interlacing: numbers that there are, and some that there are not.
 */
static void mutate_header(fuzz_member *chunk, uint64_t *state) {
    static const uint8_t bits[] = {1, 2, 4, 8, 16, 3}, colours[] = {0, 2, 3, 4, 6, 1};
    static const uint32_t extents[] = {0, 1, 2, 3, 5, 7, 9, 64, 4096, 65535, 65536, 0x7FFFFFFF};
    if (chunk->size < 13) {
        mutate_bytes(chunk, 13);
        return;
    }
    switch (fuzz_random_below(state, 5)) {
    case 0:
        chunk->data[8] = bits[fuzz_random_below(state, sizeof bits)];
        break;
    case 1:
        chunk->data[9] = colours[fuzz_random_below(state, sizeof colours)];
        break;
    case 2:
        chunk->data[12] = (uint8_t)fuzz_random_below(state, 3);
        break;
    default:
        put_number(chunk->data + 4 * fuzz_random_below(state, 2),
                   extents[fuzz_random_below(state, sizeof extents / sizeof *extents)]);
    }
}

static void mutate(fuzz_archive *chunks, uint64_t *state) {
    static const char types[][5] = {"IHDR", "PLTE", "tRNS", "IDAT", "IEND", "gAMA", "iCCP",
                                    "sBIT", "bKGD", "zTXt", "eXIf", "iTXt", "sPLT", "acTL"};
    size_t i = fuzz_random_below(state, (size_t)chunks->n),
           j = fuzz_random_below(state, (size_t)chunks->n);
    fuzz_member *chunk = &chunks->member[i], kept;
    switch (fuzz_random_below(state, 8)) {
    case 0: /* another order */
        kept = *chunk;
        *chunk = chunks->member[j];
        chunks->member[j] = kept;
        break;
    case 1: /* one more, in the place of the last, which comes behind it */
        if (chunks->n == FUZZ_MEMBERS) break;
        fuzz_member *last = &chunks->member[chunks->n - 1];
        chunks->member[chunks->n++] = *last;
        *last = (fuzz_member){.data = NULL};
        memcpy(last->name, types[fuzz_random_below(state, sizeof types / sizeof *types)], 5);
        fuzz_member_set(last, chunks->member[j].data, chunks->member[j].size);
        break;
    case 2:
        memcpy(chunk->name, types[fuzz_random_below(state, sizeof types / sizeof *types)], 5);
        break;
    case 3:
        mutate_bytes(chunk, 32);
        break;
    default:
        if (strcmp(chunk->name, "IHDR") == 0)
            mutate_header(chunk, state);
        else if (strcmp(chunk->name, "IDAT") == 0)
            mutate_rows(chunk);
        else
            mutate_bytes(chunk, 32);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t state = seed;
    fuzz_archive chunks;
    if (fuzz_random_below(&state, 8) == 0 || !read_chunks(data, size, &chunks))
        return LLVMFuzzerMutate(data, size, room);
    for (size_t k = 1 + fuzz_random_below(&state, 3); k > 0; k--) mutate(&chunks, &state);
    size_t made = write_chunks(&chunks, data, room);
    fuzz_archive_clear(&chunks);
    return made ? made : LLVMFuzzerMutate(data, size, room);
}
