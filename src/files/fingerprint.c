/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.c - finds and makes the line in a file that identifies what it was made from. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "files/format.h"
#include "files/npy/npy.h"

/* The directory of an .npz, which follows the line, has up to 65 entries of some hundred bytes. */
enum { TAIL = 1 << 16, MARK = sizeof CSREC_FINGERPRINT - 1 };

char *csrec_fingerprint_line(const char *text, size_t unit) {
    size_t length = MARK + strlen(text) + 1, whole = (length + unit - 1) / unit * unit;
    char *line = malloc(whole + 1);
    if (!line) return NULL;
    memset(line, ' ', whole);
    memcpy(line, CSREC_FINGERPRINT, MARK);
    memcpy(line + MARK, text, length - MARK - 1);
    line[whole - 1] = '\n';
    line[whole] = '\0';
    return line;
}

char *csrec_fingerprint_npy(const char *text, size_t unit, size_t *bytes) {
    const csrec_shape scalar = {0};
    char header[CSREC_NPY_HEADER_MAX], descr[32];
    char *line = csrec_fingerprint_line(text, unit), *record = NULL;
    if (!line) return NULL;
    size_t length = strlen(line);
    snprintf(descr, sizeof descr, "S%zu", length);
    size_t head = csrec_npy_header_write(descr, &scalar, header);
    *bytes = head + length;
    record = malloc(*bytes);
    if (record) {
        memcpy(record, header, head);
        memcpy(record + head, line, length);
    }
    free(line);
    return record;
}

/* The last bytes, at most TAIL; -1: cannot be read. */
static int64_t read_tail(const csrec_input *input, uint8_t tail[TAIL]) {
    size_t want = input->size < TAIL ? (size_t)input->size : TAIL;
    if (input->bytes) memcpy(tail, input->bytes + input->size - want, want);
    if (input->bytes) return (int64_t)want;
    ssize_t got = pread(fileno(input->file), tail, want, (off_t)(input->size - want));
    return got == (ssize_t)want ? (int64_t)got : -1;
}

/* Whether the bytes are the header and the line exactly as csrec_fingerprint_line makes them. */
static bool is_record(const uint8_t *bytes, size_t size) {
    char header[CSREC_NPY_HEADER_MAX], descr[32];
    const csrec_shape scalar = {0};
    if (memcmp(bytes, CSREC_NPY_MAGIC, sizeof CSREC_NPY_MAGIC - 1) != 0) return false;
    for (size_t text = CSREC_FINGERPRINT_UNIT; text < size; text += CSREC_FINGERPRINT_UNIT) {
        snprintf(descr, sizeof descr, "S%zu", size - text);
        size_t head = csrec_npy_header_write(descr, &scalar, header);
        if (head == text && memcmp(bytes, header, head) == 0)
            return memcmp(bytes + text, CSREC_FINGERPRINT, MARK) == 0 && bytes[size - 1] == '\n';
    }
    return false;
}

uint64_t csrec_fingerprint_record(csrec_input *input) {
    uint64_t found = 0;
    if (csrec_input_format(input) != &csrec_npy_format) return 0;
    uint8_t *tail = malloc(TAIL);
    int64_t n = tail ? read_tail(input, tail) : -1;
    for (int64_t size = 2 * CSREC_FINGERPRINT_UNIT; size < n && !found;
         size += CSREC_FINGERPRINT_UNIT)
        if (is_record(tail + n - size, (size_t)size)) found = (uint64_t)size;
    free(tail);
    return found;
}

/* From the last occurrence of the mark to the end of the line or the spaces before it. */
static void take_text(const uint8_t *tail, int64_t n, char *text, size_t room) {
    int64_t at = n - MARK;
    text[0] = '\0';
    while (at >= 0 && memcmp(tail + at, CSREC_FINGERPRINT, MARK) != 0) at--;
    if (at < 0) return;
    const uint8_t *start = tail + at + MARK, *end = memchr(start, '\n', (size_t)(tail + n - start));
    while (end && end > start && end[-1] == ' ') end--;
    if (!end || (size_t)(end - start) >= room) return;
    memcpy(text, start, (size_t)(end - start));
    text[end - start] = '\0';
}

csrec_status csrec_fingerprint_read(const char *path, char *text, size_t room, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open_whole(path, &input, error);
    if (status) return status;
    uint8_t *tail = malloc(TAIL);
    int64_t n = tail ? read_tail(&input, tail) : -1;
    if (n >= 0)
        take_text(tail, n, text, room);
    else
        status = csrec_fail(error, tail ? CSREC_FILE : CSREC_MEMORY, "%s: cannot be read", path);
    free(tail);
    csrec_input_close(&input);
    return status;
}

/* A pipe is not even opened: its writer would notice. */
static int open_regular(const char *path, csrec_status *status, csrec_error *error) {
    struct stat info;
    char room[CSREC_PATH_ROOM];
    const char *file = csrec_path_file(path, room);
    bool there = strcmp(path, "-") == 0 || stat(file, &info) == 0;
    *status = CSREC_OK;
    if (there && (strcmp(path, "-") == 0 || !S_ISREG(info.st_mode))) {
        *status = csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", path);
        return -1;
    }
    int fd = there ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) *status = csrec_open_failed(path, error);
    return fd;
}

csrec_status csrec_file_checksum(const char *path, uint64_t *bytes, uint32_t *crc,
                                 csrec_error *error) {
    csrec_status status;
    int fd = open_regular(path, &status, error);
    if (status) return status;
    uint8_t *buffer = malloc(TAIL);
    if (!buffer) status = csrec_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    uLong sum = crc32(0, NULL, 0);
    ssize_t got = 0;
    for (*bytes = 0; buffer && (got = read(fd, buffer, TAIL)) > 0; *bytes += (uint64_t)got)
        sum = crc32(sum, buffer, (uInt)got);
    if (got < 0) status = csrec_read_failed(path, error);
    *crc = (uint32_t)sum;
    close(fd);
    free(buffer);
    return status;
}
