/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.c - reads and writes whole arrays as .npy files: byte order, axis order and type of the
 * elements are converted in one pass. */
#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/npy/npy.h"

/* Of eight bytes, converted at a time: a buffer that stays in the first-level cache. */
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

static void convert_f32(csrec_dtype dtype, const void *from, int64_t n, float *to) {
    switch (dtype) {
#define CSREC_DTYPE_CONVERT(name, type, code, bytes)                                               \
    case CSREC_##name:                                                                             \
        for (int64_t i = 0; i < n; i++) to[i] = (float)((const type *)from)[i];                    \
        break;
        CSREC_DTYPE_LIST(CSREC_DTYPE_CONVERT)
#undef CSREC_DTYPE_CONVERT
    }
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
    int64_t piece = direct ? INT64_C(1) << 16 : (int64_t)(sizeof buffer / bytes);
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
        const bool rounds =
            target == AS_F64 && (header->dtype == CSREC_I64 || header->dtype == CSREC_U64);
        for (int64_t k = i; k < i + n && rounds; k++)
            if (fabs(((double *)data)[k]) >= 0x1p53)
                return csrec_fail(error, CSREC_DATA, "%s: has %.0f; " CSREC_ROUNDED, name,
                                  ((double *)data)[k]);
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
    if (!status && !flat) status = csrec_memory_fail(error, name);
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
        CSREC_TRY(csrec_reader_take(reader, &letter, width, name, error));
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

static csrec_status read_header(csrec_reader *reader, const char *name, csrec_npy_header *header,
                                csrec_error *error) {
    csrec_status status = csrec_npy_header_read(reader, name, header, error);
    if (!status && (header->kind == 'U' || header->kind == 'S'))
        return csrec_fail(error, CSREC_FORMAT, "%s: holds text; save numbers", name);
    return status;
}

static csrec_status read_array(csrec_reader *reader, const csrec_npy_header *header,
                               const char *name, csrec_array *array, csrec_error *error) {
    csrec_array result;
    CSREC_TRY(csrec_memory_check((uint64_t)header->count * header->bytes, 1, name, error));
    csrec_status status = csrec_array_create(header->dtype, &header->shape, &result);
    if (status) return csrec_fail(error, status, "%s: %s", name, csrec_status_text(status));
    status = csrec_npy_values(reader, header, name, result.data, error);
    return CSREC_SETTLE(status, csrec_array_clear(&result), *array = result);
}

static csrec_status parse(csrec_reader *reader, const char *name, csrec_array *array,
                          csrec_error *error) {
    csrec_npy_header header;
    csrec_status status = read_header(reader, name, &header, error);
    return status ? status : read_array(reader, &header, name, array, error);
}

csrec_status csrec_array_parse(const void *bytes, uint64_t size, const char *name,
                               csrec_array *array, csrec_error *error) {
    csrec_input input = csrec_input_memory(bytes, size, name);
    csrec_reader reader = csrec_input_reader(&input);
    return parse(&reader, name, array, error);
}

csrec_status csrec_array_read(const char *path, csrec_array *array, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    csrec_reader reader = csrec_input_reader(&input);
    if (input.size == 0)
        status =
            csrec_fail(error, CSREC_FORMAT, "%s: is empty; write it with numpy.save", input.name);
    else if (csrec_input_format(&input) == &csrec_npz_format)
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: is a .npz where a .npy is needed; save one array with numpy.save",
                            input.name);
    else
        status = parse(&reader, input.name, array, error);
    csrec_input_close(&input);
    return status;
}

/* The header; and the fingerprint, a separate record after the array. */
static csrec_status make_frame(const csrec_output *output, const char *path,
                               const csrec_image *signal, const char *like, uint32_t crc,
                               csrec_frame *frame, csrec_error *error) {
    char header[CSREC_NPY_HEADER_MAX];
    const char *text = csrec_output_fingerprint(output);
    const size_t head = csrec_npy_header_of(signal, header);
    size_t bytes = 0;
    char *record = text ? csrec_fingerprint_npy(text, CSREC_FINGERPRINT_UNIT, &bytes) : NULL;
    (void)path, (void)like, (void)crc;
    if (text && !record) return csrec_memory_fail(error, output->name);
    csrec_status status = csrec_frame_create(head, bytes, output->name, frame, error);
    if (!status) memcpy(frame->head, header, head);
    if (!status && record) memcpy(frame->tail, record, bytes);
    free(record);
    return status;
}

/* The data, or without any those that `take` delivers. */
typedef struct values {
    const csrec_array *array;
    bool is_complex;
    csrec_slab_fn take;
    void *context;
} values;

static bool is_pairs(const csrec_array *array) {
    const int last = array->shape.dims - 1;
    return (array->dtype == CSREC_F32 || array->dtype == CSREC_F64) && last >= 0 &&
           array->shape.dim[last] == 2;
}

static csrec_status add(csrec_files *files, const char *path, const values *v, csrec_error *error) {
    csrec_output output;
    const csrec_array *array = v->array;
    bool whole = v->take ? array->shape.dims > 0 && array->count > 0 : array->data != NULL;
    if (csrec_dtype_size(array->dtype) == 0 || array->shape.dims < 0 ||
        array->shape.dims > CSREC_DIMS_MAX || !whole || (v->is_complex && !is_pairs(array)))
        return csrec_fail(error, CSREC_ARGUMENT, "%s: the array to write is not a valid one", path);
    const csrec_image signal = {.pixels = *array, .is_complex = v->is_complex};
    CSREC_TRY(csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error));
    csrec_status status = csrec_framed_write(&output, &csrec_npy_format.framing, path, &signal,
                                             v->take, v->context, NULL, error);
    return csrec_output_close(&output, status, error);
}

csrec_status csrec_files_add_array(csrec_files *files, const char *path, const csrec_array *array,
                                   csrec_error *error) {
    return add(files, path, &(values){.array = array}, error);
}

csrec_status csrec_array_write(const char *path, const csrec_array *array, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_array(files, path, array, error);
    return csrec_files_finish(files, status, error);
}

static bool is_scattered(const csrec_npy_header *header) {
    return (header->fortran && header->shape.dims > 1) || header->shape.dims == 0;
}

/* To the slab that the input asks for. */
static csrec_status narrow(const csrec_input *input, csrec_reader *reader, csrec_npy_header *header,
                           csrec_error *error) {
    if (is_scattered(header)) return csrec_format_no_slabs(input, error);
    int64_t row = header->count / header->shape.dim[0];
    CSREC_TRY(csrec_input_narrow(input, &header->shape, error));
    header->count = input->slab.count * row;
    return csrec_reader_skip(reader, (uint64_t)(input->slab.first * row) * header->bytes,
                             input->name, error);
}

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_reader reader = csrec_input_reader(input);
    csrec_npy_header header;
    *signal = (csrec_image){0};
    csrec_status status = read_header(&reader, input->name, &header, error);
    if (!status && input->slab.count > 0) status = narrow(input, &reader, &header, error);
    if (!status) status = read_array(&reader, &header, input->name, &signal->pixels, error);
    signal->is_complex = !status && header.is_complex;
    return status;
}

static csrec_status peek(csrec_input *input, csrec_image *signal, bool *transparent,
                         csrec_error *error) {
    csrec_reader reader = csrec_input_reader(input);
    csrec_npy_header header;
    *transparent = true; /* NaN */
    csrec_status status = read_header(&reader, input->name, &header, error);
    if (input->file) rewind(input->file);
    if (status) return status;
    if (input->slab.count > 0 && is_scattered(&header))
        status = csrec_format_no_slabs(input, error);
    *signal = (csrec_image){
        .pixels = {.dtype = header.dtype, .shape = header.shape, .count = header.count},
        .is_complex = header.is_complex};
    return status;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = channels == 1 || shape->dims < CSREC_DIMS_MAX;
    return fits ? NULL
                : "a .npy has at most 8 axes, and channels would be one more; recover each channel "
                  "by itself";
}

static csrec_status write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                 const char *like, csrec_error *error) {
    (void)like;
    return add(files, path, &(values){&signal->pixels, signal->is_complex, NULL, NULL}, error);
}

static csrec_status write_signal_slabs(csrec_files *files, const char *path,
                                       const csrec_image *signal, csrec_slab_fn take, void *context,
                                       const char *like, csrec_error *error) {
    (void)like;
    return add(files, path, &(values){&signal->pixels, signal->is_complex, take, context}, error);
}

const csrec_format_row csrec_npy_format = {
    .format = {"npy", ".npy", ".npy", "a NumPy array",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_ROWS | CSREC_USE_SAMPLES |
                   CSREC_USE_SLABS,
               NULL},
    .magic = {{CSREC_NPY_MAGIC, sizeof CSREC_NPY_MAGIC - 1}},
    .is_complex = true,
    .signal = read_signal,
    .peek = peek,
    .refusal = refusal,
    .write = write_signal,
    .write_slabs = write_signal_slabs,
    .framing = {.make = make_frame},
};
