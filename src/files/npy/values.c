/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c - the elements of a .npy: converts byte order, axis order and type in one pass. */
#include <stdlib.h>

#include "base/error.h"
#include "base/half.h"
#include "base/memory.h"
#include "files/npy/npy.h"

/* Elements converted at a time: a buffer that stays in the first-level cache. */
enum { CHUNK = 2048 };

static void swap_all(void *data, int64_t n, size_t bytes) {
    if (bytes == 2)
        for (uint16_t *v = data; n-- > 0; v++) *v = __builtin_bswap16(*v);
    else if (bytes == 4)
        for (uint32_t *v = data; n-- > 0; v++) *v = __builtin_bswap32(*v);
    else if (bytes == 8)
        for (uint64_t *v = data; n-- > 0; v++) *v = __builtin_bswap64(*v);
}

/* In place, from the last. */
static void expand_half(void *data, int64_t n) {
    const uint16_t *from = data;
    for (float *to = data; n-- > 0;) {
        float value = csrec_half_value(from[n]);
        memcpy(to + n, &value, sizeof value);
    }
}

typedef enum { AS_STORED, AS_F32, AS_F64, AS_I64 } target_type;

static void convert_f64(csrec_dtype dtype, const void *from, int64_t n, double *to) {
    switch (dtype) {
#define CSREC_DTYPE_CONVERT(name, type, code, bytes)                                               \
    case CSREC_##name:                                                                             \
        for (int64_t i = 0; i < n; i++) to[i] = (double)((const type *)from)[i];                   \
        break;
        CSREC_DTYPE_LIST(CSREC_DTYPE_CONVERT)
#undef CSREC_DTYPE_CONVERT
    }
}

/* n: at most CHUNK. */
static void convert_f32(csrec_dtype dtype, const void *from, int64_t n, float *to) {
    double wide[CHUNK];
    convert_f64(dtype, from, n, wide);
    for (int64_t i = 0; i < n; i++) to[i] = (float)wide[i];
}

/* Returns the first element beyond INT64_MAX (U64 only), or -1. */
static int64_t convert_i64(csrec_dtype dtype, const void *from, int64_t n, int64_t *to) {
    int64_t beyond = -1;
    switch (dtype) {
#define CSREC_DTYPE_CONVERT(name, type, code, bytes)                                               \
    case CSREC_##name:                                                                             \
        for (int64_t i = 0; i < n; i++) to[i] = (int64_t)((const type *)from)[i];                  \
        break;
        CSREC_DTYPE_LIST(CSREC_DTYPE_CONVERT)
#undef CSREC_DTYPE_CONVERT
    }
    if (dtype == CSREC_U64)
        for (int64_t i = n; i-- > 0;)
            if (to[i] < 0) beyond = i;
    return beyond;
}

/* NumPy writes 0 and 1; anything else counts as true there too. */
static void clean_bool(uint8_t *data, int64_t n) {
    for (int64_t i = 0; i < n; i++) data[i] = data[i] != 0;
}

/* Elements in file order, converted to the target's type. */
static csrec_status read_flat(csrec_reader *reader, const csrec_npy_header *header,
                              const char *name, target_type target, void *data,
                              csrec_error *error) {
    uint64_t buffer[CHUNK];
    size_t bytes = csrec_dtype_size(header->dtype);
    bool direct = target == AS_STORED || (target == AS_F32 && header->dtype == CSREC_F32) ||
                  (target == AS_F64 && header->dtype == CSREC_F64) ||
                  (target == AS_I64 && header->dtype == CSREC_I64);
    /* Unconverted elements are read straight into the result; larger pieces need fewer calls. */
    int64_t piece = direct ? INT64_C(1) << 16 : CHUNK;
    for (int64_t i = 0, n; i < header->count; i += n) {
        n = header->count - i < piece ? header->count - i : piece;
        void *into = direct ? (char *)data + (size_t)i * bytes : (void *)buffer;
        csrec_status status =
            csrec_reader_take(reader, into, (uint64_t)n * header->bytes, name, error);
        if (status) return status;
        if (header->swap) swap_all(into, n, (size_t)header->bytes);
        if (header->half) expand_half(into, n);
        if (header->dtype == CSREC_BOOL) clean_bool(into, n);
        if (direct) continue;
        if (target == AS_F32) convert_f32(header->dtype, buffer, n, (float *)data + i);
        if (target == AS_F64) convert_f64(header->dtype, buffer, n, (double *)data + i);
        if (target != AS_I64) continue;
        int64_t beyond = convert_i64(header->dtype, buffer, n, (int64_t *)data + i);
        if (beyond >= 0)
            return csrec_fail(error, CSREC_DATA, "%s: element %lld is %llu; values go to 2^63 - 1",
                              name, (long long)(i + beyond), (unsigned long long)buffer[beyond]);
    }
    return CSREC_OK;
}

/* to (C order) from elements in Fortran order: walks `to` in order and steps through `from` by
 * strides, like an odometer. */
static void transpose(const csrec_shape *shape, int64_t count, size_t bytes, const char *from,
                      char *to) {
    int64_t position[CSREC_DIMS_MAX] = {0}, stride[CSREC_DIMS_MAX], source = 0;
    stride[0] = 1;
    for (int d = 1; d < shape->dims; d++) stride[d] = stride[d - 1] * shape->dim[d - 1];
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * bytes, from + (size_t)source * bytes, bytes);
        for (int d = shape->dims - 1; d >= 0; d--) {
            source += stride[d];
            if (++position[d] < shape->dim[d]) break;
            source -= stride[d] * shape->dim[d];
            position[d] = 0;
        }
    }
}

static csrec_status read_values(csrec_reader *reader, const csrec_npy_header *header,
                                const char *name, target_type target, void *data,
                                csrec_error *error) {
    if (header->kind == 'U' || header->kind == 'S')
        return csrec_fail(error, CSREC_FORMAT, "%s: holds text; save numbers", name);
    if (!header->fortran || header->shape.dims < 2)
        return read_flat(reader, header, name, target, data, error);
    size_t bytes = target == AS_STORED ? csrec_dtype_size(header->dtype) : target == AS_F32 ? 4 : 8;
    csrec_status status = csrec_memory_check((uint64_t)header->count * bytes, 1, name, error);
    char *flat = status == CSREC_OK ? malloc((size_t)header->count * bytes) : NULL;
    if (!status && !flat) status = csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    if (!status) status = read_flat(reader, header, name, target, flat, error);
    /* The parts of a complex number stay together. */
    csrec_shape shape = header->shape;
    shape.dims -= header->is_complex;
    int64_t each = header->is_complex ? 2 : 1;
    if (!status) transpose(&shape, header->count / each, bytes * (size_t)each, flat, data);
    free(flat);
    return status;
}

csrec_status csrec_npy_values(csrec_reader *reader, const csrec_npy_header *header,
                              const char *name, void *data, csrec_error *error) {
    return read_values(reader, header, name, AS_STORED, data, error);
}

csrec_status csrec_npy_values_f32(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, float *data, csrec_error *error) {
    return read_values(reader, header, name, AS_F32, data, error);
}

csrec_status csrec_npy_values_f64(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, double *data, csrec_error *error) {
    return read_values(reader, header, name, AS_F64, data, error);
}

csrec_status csrec_npy_values_i64(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, int64_t *data, csrec_error *error) {
    if (header->kind == 'f')
        return csrec_fail(error, CSREC_DATA,
                          "%s: holds floats where integers are needed; save with .astype(np.int64)",
                          name);
    return read_values(reader, header, name, AS_I64, data, error);
}

csrec_status csrec_npy_text(csrec_reader *reader, const csrec_npy_header *header, const char *name,
                            char *text, size_t room, csrec_error *error) {
    size_t width = header->kind == 'U' ? 4 : 1, length = 0;
    if (header->count != 1)
        return csrec_fail(error, CSREC_DATA, "%s: holds %lld texts; save one", name,
                          (long long)header->count);
    for (uint64_t i = 0; i < header->bytes / width; i++) {
        uint32_t letter = 0;
        csrec_status status = csrec_reader_take(reader, &letter, width, name, error);
        if (status) return status;
        if (width == 1)
            letter = *(uint8_t *)&letter;
        else if (header->swap)
            letter = __builtin_bswap32(letter);
        if (letter == 0) continue; /* padding */
        if (length + 1 >= room)
            return csrec_fail(error, CSREC_DATA, "%s: the text is too long", name);
        text[length++] = letter >= ' ' && letter <= '~' ? (char)letter : '?';
    }
    text[length] = 0;
    return CSREC_OK;
}
