/* dtype.c - NumPy type codes, and the header of a written array. */
#include <stdio.h>
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

static const char *remedy(char kind) {
    switch (kind) {
    case 'c':
        return "save with .astype(np.complex64)";
    case 'f':
        return "save with .astype(np.float32)";
    case 'O':
        return "Python objects are not read; save with .astype(np.float32)";
    case 'V':
        return "save each field as an array of its own";
    case 'm':
    case 'M':
        return "save times as numbers with .astype(np.int64)";
    case 'U':
    case 'S':
        return "save numbers, not text";
    default:
        return "save with .astype(np.float32) or an integer type";
    }
}

csrec_status csrec_npy_descr(const char *descr, const char *name, csrec_npy_header *header,
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
