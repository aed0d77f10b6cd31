/* image_pack.c - the pixels of a PNG, filtered and compressed by all threads.
 *
 * A zlib stream may be put together from parts that are compressed by themselves: each starts with
 * the 32 KiB before it as its dictionary, so that nothing is lost, and ends at a byte; the checksum
 * of the whole follows from those of the parts. */
#include "io/image_pack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PART = 1 << 17, WINDOW = 1 << 15, FILTERS = 5 };
enum { HEADER = 2, TRAILER = 4, MARKER = 16 }; /* bytes around a stream, and after a part */

/* ---- filters: each row takes the one whose bytes, as signed numbers, have the smallest sum */

static uint8_t paeth(int left, int up, int corner) {
    int a = abs(up - corner), b = abs(left - corner), c = abs(left + up - 2 * corner);
    return (uint8_t)(a <= b && a <= c ? left : b <= c ? up : corner);
}

/* row and above have `pixel` zeros before their first byte. */
static void filter_row(int filter, size_t bytes, size_t pixel, const uint8_t *row,
                       const uint8_t *above, uint8_t *to) {
    const uint8_t *left = row - pixel, *corner = above - pixel;
    switch (filter) {
    case 0:
        memcpy(to, row, bytes);
        break;
    case 1:
        for (size_t k = 0; k < bytes; k++) to[k] = (uint8_t)(row[k] - left[k]);
        break;
    case 2:
        for (size_t k = 0; k < bytes; k++) to[k] = (uint8_t)(row[k] - above[k]);
        break;
    case 3:
        for (size_t k = 0; k < bytes; k++) to[k] = (uint8_t)(row[k] - ((left[k] + above[k]) >> 1));
        break;
    default:
        for (size_t k = 0; k < bytes; k++)
            to[k] = (uint8_t)(row[k] - paeth(left[k], above[k], corner[k]));
    }
}

static size_t sum_of(size_t bytes, const uint8_t *row) {
    size_t sum = 0;
    for (size_t k = 0; k < bytes; k++) sum += (size_t)abs((int8_t)row[k]);
    return sum;
}

/* Rows first .. end - 1 with the number of their filter before each. scratch: 3 (bytes + pixel). */
static void filter_rows(const csrec_image_rows *rows, size_t first, size_t end, uint8_t *scratch,
                        uint8_t *to) {
    size_t bytes = rows->bytes, pixel = rows->pixel;
    uint8_t *above = scratch + pixel, *row = above + bytes + pixel, *tried = row + bytes;
    memset(scratch, 0, 2 * (bytes + pixel));
    if (first > 0) rows->fill(rows->context, first - 1, above);
    for (size_t y = first; y < end; y++, to += 1 + bytes) {
        rows->fill(rows->context, y, row);
        size_t least = SIZE_MAX;
        for (int filter = 0; filter < FILTERS; filter++) {
            filter_row(filter, bytes, pixel, row, above, tried);
            size_t sum = sum_of(bytes, tried);
            if (sum >= least) continue;
            least = sum;
            to[0] = (uint8_t)filter;
            memcpy(to + 1, tried, bytes);
        }
        uint8_t *free_row = above;
        above = row;
        row = free_row;
    }
}

static bool filter_all(const csrec_image_rows *rows, uint8_t *to) {
    size_t line = 1 + rows->bytes, part = PART / line + 1;
    size_t count = (rows->height + part - 1) / part;
    bool done = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : done) if (count > 1)
    for (size_t k = 0; k < count; k++) {
        size_t first = k * part, end = k + 1 < count ? first + part : rows->height;
        uint8_t *scratch = malloc(3 * (rows->bytes + rows->pixel));
        if (scratch)
            filter_rows(rows, first, end, scratch, to + first * line);
        else
            done = false;
        free(scratch);
    }
    return done;
}

/* ---- compression */

typedef struct part {
    uint8_t *data;
    size_t size;
    uLong check;
} part;

/* Bytes begin .. end - 1 of all. */
static bool deflate_part(const uint8_t *all, size_t begin, size_t end, bool last, part *p) {
    z_stream z = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_FILTERED) != Z_OK)
        return false;
    size_t before = begin < WINDOW ? begin : WINDOW;
    size_t room = deflateBound(&z, (uLong)(end - begin)) + MARKER;
    p->data = malloc(room);
    p->check = adler32(adler32(0, NULL, 0), all + begin, (uInt)(end - begin));
    bool done = p->data &&
                (!before || deflateSetDictionary(&z, all + begin - before, (uInt)before) == Z_OK);
    if (done) {
        z.next_in = (uint8_t *)(uintptr_t)(all + begin); /* zlib's pointer is not const */
        z.avail_in = (uInt)(end - begin);
        z.next_out = p->data;
        z.avail_out = (uInt)room;
        int code = deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH);
        done = code == (last ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0;
        p->size = room - z.avail_out;
    }
    deflateEnd(&z);
    return done;
}

static bool deflate_all(const uint8_t *all, size_t bytes, size_t count, part *parts) {
    bool done = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : done) if (count > 1)
    for (size_t k = 0; k < count; k++) {
        size_t end = k + 1 < count ? (k + 1) * PART : bytes;
        if (!deflate_part(all, k * PART, end, k + 1 == count, &parts[k])) done = false;
    }
    return done;
}

/* The parts one after another, with what zlib puts around a stream. */
static csrec_status join(size_t bytes, size_t count, const part *parts, uint8_t **stream,
                         size_t *size) {
    *size = HEADER + TRAILER;
    for (size_t k = 0; k < count; k++) *size += parts[k].size;
    uint8_t *to = *stream = malloc(*size);
    if (!to) return CSREC_MEMORY;
    *to++ = 0x78; /* deflate, 32 KiB, the default level */
    *to++ = 0x9c;
    uLong check = parts[0].check;
    for (size_t k = 0; k < count; k++) {
        memcpy(to, parts[k].data, parts[k].size);
        to += parts[k].size;
        size_t own = k + 1 < count ? PART : bytes - k * PART;
        if (k > 0) check = adler32_combine(check, parts[k].check, (z_off_t)own);
    }
    for (int shift = 24; shift >= 0; shift -= 8) *to++ = (uint8_t)(check >> shift);
    return CSREC_OK;
}

csrec_status csrec_image_pack(const csrec_image_rows *rows, uint8_t **stream, size_t *size) {
    size_t bytes = rows->height * (1 + rows->bytes), count = (bytes + PART - 1) / PART;
    uint8_t *all = malloc(bytes);
    part *parts = calloc(count, sizeof *parts);
    csrec_status status = CSREC_MEMORY;
    if (all && parts && filter_all(rows, all) && deflate_all(all, bytes, count, parts))
        status = join(bytes, count, parts, stream, size);
    for (size_t k = 0; parts && k < count; k++) free(parts[k].data);
    free(parts);
    free(all);
    return status;
}
