/* SPDX-License-Identifier: BSD-3-Clause */
/* header.c - the header of a .npy file: a Python dictionary of descr, fortran_order, shape; NumPy
 * type codes. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/npy/npy.h"

static char host_order(void) {
    return *(const uint8_t *)&(uint16_t){1} ? '<' : '>';
}

const char *csrec_dtype_code(csrec_dtype dtype) {
    switch (dtype) {
#define CSREC_DTYPE_CODE(name, type, code, bytes)                                                  \
    case CSREC_##name:                                                                             \
        return code;
        CSREC_DTYPE_LIST(CSREC_DTYPE_CODE)
#undef CSREC_DTYPE_CODE
    }
    return "?";
}

const char *csrec_complex_code(csrec_dtype parts) {
    return parts == CSREC_F32 ? "c8" : "c16";
}

static bool find_dtype(const char *code, csrec_npy_header *header) {
#define CSREC_DTYPE_FIND(name, type, text, size)                                                   \
    if (strcmp(code, text) == 0) {                                                                 \
        header->dtype = CSREC_##name;                                                              \
        header->bytes = size;                                                                      \
        return true;                                                                               \
    }
    CSREC_DTYPE_LIST(CSREC_DTYPE_FIND)
#undef CSREC_DTYPE_FIND
    return false;
}

/* Numbers of 16 bits become floats. */
static bool find_half(const char *code, csrec_npy_header *header) {
    header->half = strcmp(code, "f2") == 0;
    if (!header->half) return false;
    header->dtype = CSREC_F32;
    header->bytes = 2;
    return true;
}

/* Complex numbers become pairs. */
static bool find_complex(const char *code, csrec_npy_header *header) {
    header->is_complex = strcmp(code, "c8") == 0 || strcmp(code, "c16") == 0;
    if (!header->is_complex) return false;
    header->kind = 'f';
    return find_dtype(code[1] == '8' ? "f4" : "f8", header);
}

/* U: 4 bytes a character, S: 1. The length is bounded, as it comes from the file. */
static bool find_text(const char *code, csrec_npy_header *header) {
    char *end;
    if (*code != 'U' && *code != 'S') return false;
    unsigned long length = strtoul(code + 1, &end, 10);
    if (end == code + 1 || *end || length < 1 || length > 1 << 20) return false;
    header->bytes = *code == 'U' ? 4 * length : length;
    return true;
}

/* By kinds, which begin the codes; the last is for all others. */
static const struct {
    const char *kinds, *text;
} remedies[] = {{"c", "save with .astype(np.complex64)"},
                {"f", "save with .astype(np.float32)"},
                {"O", "Python objects are not read; save with .astype(np.float32)"},
                {"V", "save each field as an array of its own"},
                {"mM", "save times as numbers with .astype(np.int64)"},
                {"US", "save numbers, not text"},
                {"", "save with .astype(np.float32) or an integer type"}};

static const char *remedy(char kind) {
    int i = 0;
    while (*remedies[i].kinds && !(kind && strchr(remedies[i].kinds, kind))) i++;
    return remedies[i].text;
}

/* The element type from its NumPy code such as "<f4"; refuses types that are no real numbers or
 * text, with a remedy. */
static csrec_status read_descr(const char *descr, const char *name, csrec_npy_header *header,
                               csrec_error *error) {
    const char *code = descr;
    char order = '|';
    if (*code && strchr("<>|=", *code)) order = *code++;
    header->kind = strcmp(code, "?") == 0 ? 'b' : *code;
    if (header->kind == 'b' && code[1] == 0) code = "b1";
    if (!find_half(code, header) && !find_complex(code, header) && !find_dtype(code, header) &&
        !find_text(code, header)) {
        char shown[24] = ""; /* bytes from the file: unprintable ones must not enter the message */
        for (size_t i = 0; descr[i] && i < sizeof shown - 1; i++)
            shown[i] = descr[i] >= ' ' && descr[i] <= '~' ? descr[i] : '?';
        return csrec_fail(error, CSREC_FORMAT, "%s: element type '%s' is not read; %s", name, shown,
                          remedy(header->kind));
    }
    header->swap = (order == '<' || order == '>') && order != host_order();
    return CSREC_OK;
}

/* Far above any header of plain types; structured types, which are refused, may be longer. */
enum { HEADER_LIMIT = 1 << 16 };

/* A cursor over the dictionary's text, which ends in a 0 byte. */
typedef struct {
    const char *at;
    csrec_npy_header *header;
    bool has_descr, has_order, has_shape;
    bool nested; /* descr is a list: a structured type */
    char descr[64];
} parser;

static void skip_blanks(parser *p) {
    while (*p->at && strchr(" \t\r\n", *p->at)) p->at++;
}

static bool take(parser *p, const char *token) {
    skip_blanks(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0) return false;
    p->at += length;
    return true;
}

static bool take_string(parser *p, char *text, size_t room) {
    skip_blanks(p);
    char quote = *p->at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(p->at + 1, quote);
    if (!end || (size_t)(end - p->at) > room) return false;
    size_t length = (size_t)(end - p->at) - 1;
    memcpy(text, p->at + 1, length);
    text[length] = 0;
    p->at = end + 1;
    return true;
}

static bool take_extent(parser *p, int64_t *extent) {
    skip_blanks(p);
    if (*p->at < '0' || *p->at > '9') return false;
    for (*extent = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (*extent > (INT64_MAX - 9) / 10) return false;
        *extent = *extent * 10 + (*p->at - '0');
    }
    if (*p->at == 'L') p->at++; /* long integers of Python 2 */
    return true;
}

/* dims beyond CSREC_DIMS_MAX are counted but not kept. */
static bool take_shape(parser *p) {
    csrec_shape *shape = &p->header->shape;
    int64_t extent;
    if (!take(p, "(")) return false;
    for (shape->dims = 0; !take(p, ")"); shape->dims++) {
        if (shape->dims > 0 && !take(p, ",")) return false;
        if (take(p, ")")) return true;
        if (!take_extent(p, &extent)) return false;
        if (shape->dims < CSREC_DIMS_MAX) shape->dim[shape->dims] = extent;
    }
    return true;
}

static bool take_order(parser *p) {
    if (take(p, "True")) return p->header->fortran = true;
    p->header->fortran = false;
    return take(p, "False");
}

static bool take_entry(parser *p) {
    char key[32];
    if (!take_string(p, key, sizeof key) || !take(p, ":")) return false;
    if (strcmp(key, "descr") == 0) {
        skip_blanks(p);
        p->has_descr = true;
        if (*p->at == '[' || *p->at == '(') return !(p->nested = true); /* refused later */
        return take_string(p, p->descr, sizeof p->descr);
    }
    if (strcmp(key, "fortran_order") == 0) return p->has_order = take_order(p);
    if (strcmp(key, "shape") == 0) return p->has_shape = take_shape(p);
    return false;
}

static bool take_dictionary(parser *p) {
    if (!take(p, "{")) return false;
    while (!take(p, "}")) {
        if (!take_entry(p)) return false;
        if (!take(p, ",")) return take(p, "}");
    }
    return true;
}

static csrec_status parse_text(const char *text, const char *name, csrec_npy_header *header,
                               csrec_error *error) {
    parser p = {.at = text, .header = header};
    bool good = take_dictionary(&p);
    if (p.nested)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: has a structured type; save each field as an array of its own",
                          name);
    if (!good || !p.has_descr || !p.has_order || !p.has_shape)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: the .npy header is damaged; write the file again with numpy.save",
                          name);
    return read_descr(p.descr, name, header, error);
}

/* magic, version, length of the dictionary: 2 bytes in version 1, 4 in 2 and 3, little-endian. */
static csrec_status read_length(csrec_reader *reader, const char *name, uint32_t *length,
                                csrec_error *error) {
    uint8_t head[12] = {0};
    CSREC_TRY(csrec_reader_take(reader, head, 8, name, error));
    if (memcmp(head, CSREC_NPY_MAGIC, 6) != 0)
        return csrec_fail(error, CSREC_FORMAT, "%s: is not .npy data; write it with numpy.save",
                          name);
    if (head[6] < 1 || head[6] > 3)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: .npy version %d is not known; write version 1, 2 or 3", name,
                          head[6]);
    size_t bytes = head[6] == 1 ? 2 : 4;
    csrec_status status = csrec_reader_take(reader, head + 8, bytes, name, error);
    *length = (uint32_t)head[8] | (uint32_t)head[9] << 8 | (uint32_t)head[10] << 16 |
              (uint32_t)head[11] << 24;
    return status;
}

/* Checked by division, so that no product can overflow. */
static csrec_status check_size(const csrec_reader *reader, const char *name,
                               csrec_npy_header *header, csrec_error *error) {
    const csrec_shape *shape = &header->shape;
    const int most = header->is_complex ? CSREC_DIMS_MAX - 1 : CSREC_DIMS_MAX;
    if (shape->dims > most)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: has %d axes; save it with at most %d",
                          name, shape->dims, most);
    if (header->is_complex) header->shape.dim[header->shape.dims++] = 2;
    uint64_t room = reader->left / header->bytes, count = 1;
    for (int d = 0; d < shape->dims; d++) {
        if (shape->dim[d] != 0) continue;
        header->count = 0;
        return reader->empty ? CSREC_OK
                             : csrec_fail(error, CSREC_DATA,
                                          "%s: is empty (an extent of its shape is 0); save at "
                                          "least one element",
                                          name);
    }
    for (int d = 0; d < shape->dims; d++) {
        if ((uint64_t)shape->dim[d] > room / count)
            return csrec_fail(error, CSREC_FORMAT,
                              "%s: declares more elements than its %llu bytes hold; the file is "
                              "truncated, write or copy it again",
                              name, (unsigned long long)reader->left);
        count *= (uint64_t)shape->dim[d];
    }
    if (count * header->bytes != reader->left)
        return csrec_fail(
            error, CSREC_FORMAT,
            "%s: declares %llu bytes of elements but %llu are present; write the file "
            "again with numpy.save",
            name, (unsigned long long)(count * header->bytes), (unsigned long long)reader->left);
    header->count = (int64_t)count;
    return CSREC_OK;
}

csrec_status csrec_npy_header_read(csrec_reader *reader, const char *name, csrec_npy_header *header,
                                   csrec_error *error) {
    uint32_t length = 0;
    CSREC_TRY(read_length(reader, name, &length, error));
    if (length > HEADER_LIMIT)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: the .npy header of %u bytes is too long; save a plain array", name,
                          length);
    char *text = malloc((size_t)length + 1);
    if (!text) return csrec_memory_fail(error, name);
    csrec_status status = csrec_reader_take(reader, text, length, name, error);
    text[length] = 0;
    *header = (csrec_npy_header){0};
    if (!status) status = parse_text(text, name, header, error);
    free(text);
    return status == CSREC_OK ? check_size(reader, name, header, error) : status;
}

size_t csrec_npy_header_write(const char *descr, const csrec_shape *shape,
                              char text[CSREC_NPY_HEADER_MAX]) {
    /* Elements of single bytes have no order: '|'. */
    char order = strcmp(descr + 1, "1") == 0 || *descr == 'S' ? '|' : host_order();
    memcpy(text, CSREC_NPY_MAGIC "\x01\x00", 8);
    int at = 10, room = CSREC_NPY_HEADER_MAX;
    at += snprintf(text + at, (size_t)(room - at),
                   "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, descr);
    for (int d = 0; d < shape->dims; d++)
        at += snprintf(text + at, (size_t)(room - at), "%lld%s", (long long)shape->dim[d],
                       shape->dims == 1      ? ","
                       : d + 1 < shape->dims ? ", "
                                             : "");
    at += snprintf(text + at, (size_t)(room - at), "), }");
    while (at % 64 != 63) text[at++] = ' '; /* elements start aligned */
    text[at++] = '\n';
    text[8] = (char)((at - 10) & 255);
    text[9] = (char)((at - 10) >> 8);
    return (size_t)at;
}

size_t csrec_npy_header_of(const csrec_image *signal, char text[CSREC_NPY_HEADER_MAX]) {
    csrec_shape shape = signal->pixels.shape;
    const csrec_dtype dtype = signal->pixels.dtype;
    if (!signal->is_complex) return csrec_npy_header_write(csrec_dtype_code(dtype), &shape, text);
    shape.dims--;
    return csrec_npy_header_write(csrec_complex_code(dtype), &shape, text);
}
