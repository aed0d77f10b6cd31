/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c - opening files, pipes and stdin for reading, and their contents; the line in a file that
 * identifies what it was made from. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/npy/npy.h"

static csrec_status open_failed(const char *name, csrec_error *error) {
    return csrec_fail(error, CSREC_FILE, "%s: cannot be opened (%s); %s", name, strerror(errno),
                      csrec_errno_remedy(errno, "check the name"));
}

csrec_status csrec_read_failed(const char *name, csrec_error *error) {
    const int reason = errno ? errno : EIO;
    return csrec_fail(error, CSREC_FILE, "%s: cannot be read (%s); %s", name, strerror(reason),
                      csrec_errno_remedy(reason, "check the file and its disk"));
}

bool csrec_path_is_regular(const char *path) {
    struct stat info;
    char file[CSREC_PATH_ROOM];
    return strcmp(path, "-") != 0 && stat(csrec_path_file(path, file), &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* What cannot be read has no format, but is not empty either. On failure the input is closed. */
static csrec_status check_readable(csrec_input *input, csrec_error *error) {
    csrec_input_format(input);
    if (!input->failure) return CSREC_OK;
    errno = input->failure;
    csrec_status status = csrec_read_failed(input->name, error);
    csrec_input_close(input);
    return status;
}

static csrec_status ends_early(const char *name, csrec_error *error) {
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: ends early; the file is truncated, write or copy it again", name);
}

/* Doubles the buffer as the pipe delivers, so only memory limits the length of a pipe. */
static csrec_status read_all(gzFile file, csrec_input *input, csrec_error *error) {
    size_t room = 1 << 16;
    int got, reason = Z_OK;
    csrec_status status = CSREC_OK;
    input->owned = malloc(room);
    if (!input->owned) return csrec_memory_fail(error, input->name);
    while (!status && (got = gzread(file, input->owned + input->size,
                                    (unsigned)fmin((double)(room - input->size), 1e9))) > 0) {
        input->size += (size_t)got;
        if (input->size < room) continue;
        status = csrec_memory_check(room, 1, input->name, error);
        uint8_t *grown = status ? NULL : realloc(input->owned, room *= 2);
        if (grown) input->owned = grown;
        if (!status && !grown) status = csrec_memory_fail(error, input->name);
    }
    gzerror(file, &reason);
    if (status) return status;
    if (reason == Z_ERRNO) return csrec_read_failed(input->name, error);
    if (reason != Z_OK)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: its gzip data are damaged or end early; copy the file again",
                          input->name);
    input->bytes = input->owned;
    return CSREC_OK;
}

/* A pipe, or a file that gzip has packed, which is unpacked. */
static csrec_status slurp(FILE *file, csrec_input *input, csrec_error *error) {
    const int fd = dup(fileno(file));
    gzFile packed = fd < 0 ? NULL : gzdopen(fd, "rb");
    csrec_status status =
        packed ? read_all(packed, input, error) : csrec_memory_fail(error, input->name);
    if (packed) gzclose(packed);
    if (!packed && fd >= 0) close(fd);
    if (status) free(input->owned);
    if (status) *input = (csrec_input){.name = input->name};
    return status;
}

static bool is_packed(FILE *file) {
    uint8_t head[3];
    return pread(fileno(file), head, 3, 0) == 3 && head[0] == 0x1f && head[1] == 0x8b &&
           head[2] == Z_DEFLATED;
}

/* With the record of a fingerprint that ends an .npy of ours; nothing is read yet. */
static csrec_status input_open_whole(const char *path, csrec_input *input, csrec_error *error) {
    *input = (csrec_input){.name = path, .member = csrec_path_member(path)};
    if (strcmp(path, "-") == 0) {
        input->name = "standard input";
        return slurp(stdin, input, error);
    }
    char name[CSREC_PATH_ROOM];
    FILE *file = fopen(csrec_path_file(path, name), "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0) {
        csrec_status status = open_failed(path, error);
        if (file) fclose(file);
        return status;
    }
    if (S_ISREG(info.st_mode) && !is_packed(file)) {
        input->file = file;
        input->size = (uint64_t)info.st_size;
        return CSREC_OK;
    }
    csrec_status status = S_ISDIR(info.st_mode)
                              ? csrec_fail(error, CSREC_FILE, "%s: is a folder; name a file", path)
                              : slurp(file, input, error);
    fclose(file);
    return status;
}

/* On failure the input is closed. */
static csrec_status check_member(csrec_input *input, csrec_error *error) {
    const char *member = input->member;
    const csrec_format_row *row = csrec_input_format(input);
    if (!member) return CSREC_OK;
    if (row && row->members && (*member != '[' || row == &csrec_fits_format)) return CSREC_OK;
    csrec_input_close(input);
    return csrec_fail(error, CSREC_FORMAT, "%s: the file is no %s; leave out %s%s", input->name,
                      *member != '[' ? "HDF5, OpenEXR, FITS or .npz, which have arrays with names"
                                     : "FITS, whose images are named so",
                      *member != '[' ? ":" : "", member);
}

void csrec_text_clean(char *text) {
    for (; *text; text++)
        if (*text < 32 || *text > 126) *text = '?';
}

void csrec_input_note(csrec_input *input, const char *format, ...) {
    char *note = input->facts.note;
    size_t room = sizeof input->facts.note, used = strlen(note);
    va_list values;
    va_start(values, format);
    if (used) used += (size_t)snprintf(note + used, room - used, "; ");
    if (used < room) vsnprintf(note + used, room - used, format, values);
    va_end(values);
    csrec_text_clean(note);
}

csrec_input csrec_input_memory(const void *bytes, uint64_t size, const char *name) {
    /* A non-NULL pointer, so that bytes != NULL means "in memory" for size 0 too. */
    return (csrec_input){.name = name, .bytes = size ? bytes : (const void *)"", .size = size};
}

void csrec_input_close(csrec_input *input) {
    if (!input) return;
    if (input->file) fclose(input->file);
    free(input->owned);
    free(input->noise);
    *input = (csrec_input){.name = input->name};
}

size_t csrec_input_peek(csrec_input *input, uint64_t offset, uint8_t *to, size_t count) {
    if (input->bytes) {
        uint64_t left = offset < input->size ? input->size - offset : 0;
        if (left < count) count = (size_t)left;
        if (count) memcpy(to, input->bytes + offset, count);
        return count;
    }
    ssize_t got = pread(fileno(input->file), to, count, (off_t)offset); /* the position stays */
    if (got < 0) input->failure = errno;
    return got > 0 ? (size_t)got : 0;
}

csrec_status csrec_input_load(csrec_input *input, csrec_error *error) {
    if (input->bytes) return CSREC_OK;
    CSREC_TRY(csrec_memory_check(input->size, 1, input->name, error));
    uint8_t *bytes = malloc((size_t)input->size + 1);
    if (!bytes) return csrec_memory_fail(error, input->name);
    csrec_reader reader = csrec_input_reader(input);
    csrec_status status = csrec_reader_take(&reader, bytes, input->size, input->name, error);
    if (status) {
        free(bytes);
        return status;
    }
    input->bytes = input->owned = bytes;
    return CSREC_OK;
}

static int64_t read_file(void *context, void *buffer, uint64_t bytes) {
    FILE *file = context;
    size_t got = fread(buffer, 1, (size_t)bytes, file);
    return ferror(file) ? -1 : (int64_t)got;
}

csrec_reader csrec_input_reader(csrec_input *input) {
    if (input->bytes) return (csrec_reader){.left = input->size, .memory = input->bytes};
    return (csrec_reader){.left = input->size, .read = read_file, .context = input->file};
}

csrec_status csrec_reader_take(csrec_reader *reader, void *buffer, uint64_t bytes, const char *name,
                               csrec_error *error) {
    int64_t got = 0;
    if (bytes <= reader->left && bytes > 0) {
        if (reader->memory) {
            memcpy(buffer, reader->memory, (size_t)bytes);
            reader->memory += bytes;
            got = (int64_t)bytes;
        } else {
            errno = 0;
            got = reader->read(reader->context, buffer, bytes);
        }
    }
    if (got < 0)
        return errno ? csrec_read_failed(name, error)
                     : csrec_fail(error, CSREC_FORMAT,
                                  "%s: the data are damaged; write or copy the file again", name);
    if ((uint64_t)got < bytes) return ends_early(name, error);
    reader->left -= bytes;
    return CSREC_OK;
}

csrec_status csrec_reader_skip(csrec_reader *reader, uint64_t bytes, const char *name,
                               csrec_error *error) {
    if (bytes > reader->left) return ends_early(name, error);
    if (reader->memory)
        reader->memory += bytes;
    else if (fseeko(reader->context, (off_t)bytes, SEEK_CUR) != 0)
        return csrec_read_failed(name, error);
    reader->left -= bytes;
    return CSREC_OK;
}

csrec_status csrec_fail_forged(const char *name, const char *what, csrec_error *error) {
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: declares more %s than its bytes can hold; the file is truncated or "
                      "forged, write or copy it again",
                      name, what);
}

csrec_status csrec_image_deliver(csrec_status status, csrec_image *read, csrec_image *signal) {
    return CSREC_SETTLE(status, csrec_image_clear(read), *signal = *read);
}

csrec_status csrec_measurement_deliver(csrec_status status, csrec_measurement *read,
                                       csrec_measurement *measurement) {
    return CSREC_SETTLE(status, csrec_measurement_clear(read), *measurement = *read);
}

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

/* The bytes of the record that ends an .npy of ours, or 0 if there is none. */
static uint64_t fingerprint_record(csrec_input *input) {
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

csrec_status csrec_input_open(const char *path, csrec_input *input, csrec_error *error) {
    csrec_status status = input_open_whole(path, input, error);
    if (!status) status = check_readable(input, error);
    if (!status) status = check_member(input, error);
    if (!status) input->size -= fingerprint_record(input);
    return status;
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
    char header[CSREC_PATH_ROOM];
    const size_t length = strlen(path);
    if (csrec_format_of(path) == &csrec_bart_format.format && length < sizeof header) {
        strcpy(header, path); /* numbers alone are in the .cfl */
        path = strcpy(header + length - 3, "hdr") - (length - 3);
    }
    csrec_status status = input_open_whole(path, &input, error);
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
    if (fd < 0) *status = open_failed(path, error);
    return fd;
}

csrec_status csrec_file_checksum(const char *path, uint64_t *bytes, uint32_t *crc,
                                 csrec_error *error) {
    csrec_status status;
    int fd = open_regular(path, &status, error);
    if (status) return status;
    uint8_t *buffer = malloc(TAIL);
    if (!buffer) status = csrec_memory_fail(error, path);
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
