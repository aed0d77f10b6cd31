/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.c - reads and writes whole arrays as .npy files. */
#include "files/npy/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/measurement.h"

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
    csrec_status status =
        csrec_memory_check((uint64_t)header->count * header->bytes, 1, name, error);
    if (status) return status;
    status = csrec_array_create(header->dtype, &header->shape, &result);
    if (status) return csrec_fail(error, status, "%s: %s", name, csrec_status_text(status));
    status = csrec_npy_values(reader, header, name, result.data, error);
    if (status)
        csrec_array_clear(&result);
    else
        *array = result;
    return status;
}

static csrec_status parse(csrec_reader *reader, const char *name, csrec_array *array,
                          csrec_error *error) {
    csrec_npy_header header;
    csrec_status status = read_header(reader, name, &header, error);
    return status ? status : read_array(reader, &header, name, array, error);
}

csrec_status csrec_npy_parse(const void *bytes, uint64_t size, const char *name, csrec_array *array,
                             csrec_error *error) {
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
    if (text && !record) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", output->name);
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
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error);
    if (status) return status;
    status = csrec_framed_write(&output, &csrec_npy_format.framing, path, &signal, v->take,
                                v->context, NULL, error);
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
    csrec_status status = csrec_input_narrow(input, &header->shape, error);
    if (status) return status;
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
    .signal = read_signal,
    .peek = peek,
    .refusal = refusal,
    .write = write_signal,
    .write_slabs = write_signal_slabs,
    .framing = {.make = make_frame},
};
