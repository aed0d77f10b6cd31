/* signal.c - reads whole signals, pictures or arrays, opening the file once: a pipe can be opened
 * only once. */
#include "base/error.h"
#include "files/format.h"

/* A picture of two axes would be a line with a channel for each column, and a count that is not
 * that of the shape a read beyond the end. */
static csrec_status check_delivered(const csrec_input *input, const csrec_image *signal,
                                    const char *function, bool data, csrec_error *error) {
    const csrec_shape *shape = &signal->pixels.shape;
    const int bits = signal->bits, axes = shape->dims;
    const csrec_dtype type = signal->pixels.dtype;
    int64_t count = axes > CSREC_DIMS_MAX ? -1 : 1;
    for (int a = 0; a < axes && count > 0; a++)
        if (__builtin_mul_overflow(count, shape->dim[a], &count)) count = -1;
    const bool pairs = axes > 0 && shape->dim[axes - 1] == 2 && bits == 0;
    const csrec_rule rules[] = {
        {signal->pixels.count == count && count >= 0, "pixels.count", "that of pixels.shape"},
        {csrec_dtype_size(type) > 0, "pixels.dtype", "one of csrec_dtype"},
        {!data || count == 0 || signal->pixels.data, "pixels.data", "set"},
        {bits == 0 || bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16, "bits",
         "1, 2, 4, 8 or 16, or 0 of an array"},
        {bits == 0 || type == (bits == 16 ? CSREC_U16 : CSREC_U8), "pixels.dtype",
         "CSREC_U8, or CSREC_U16 with 16 bits"},
        {bits == 0 || axes == 3 || axes == 4, "pixels.shape",
         "height, width, channels of a picture, perhaps after pages"},
        {!signal->is_complex || pairs, "is_complex", "false without a last axis of 2"}};
    csrec_error why;
    if (!csrec_rules_check("format", input->row->format.name, CSREC_RULES(rules), &why))
        return CSREC_OK;
    return csrec_fail(error, CSREC_FORMAT, "%s: read by %s: %s", input->name, function, why.text);
}

csrec_status csrec_format_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_words_begin(error);
    csrec_status status = row->signal(input, signal, error);
    if (status) return csrec_words_end(status, input->name, "as it is read", error);
    status = check_delivered(input, signal, "signal", true, error);
    if (status) csrec_image_clear(signal);
    return status;
}

csrec_status csrec_format_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                               csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_words_begin(error);
    csrec_status status = row->peek(input, signal, transparent, error);
    return status ? csrec_words_end(status, input->name, "as it is read", error)
                  : check_delivered(input, signal, "peek", false, error);
}

static csrec_status read_format(csrec_input *input, csrec_image *signal, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->signal) return csrec_format_signal(input, signal, error);
    return csrec_format_unknown(input, CSREC_USE_READ, "convert it to one of these", error);
}

csrec_status csrec_signal_read(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    status = read_format(&input, signal, error);
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_signal_look(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    bool transparent;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    input.slab.count = 1;
    if (row && row->format.uses & CSREC_USE_SLABS)
        status = csrec_format_peek(&input, signal, &transparent, error);
    else
        status = csrec_format_no_slabs(&input, error);
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_image_split(const csrec_image *image, bool channels_last, const char *name,
                               csrec_shape *shape, int64_t *channels, csrec_error *error) {
    bool last = image->bits > 0 || image->has_channels || channels_last;
    *shape = image->pixels.shape;
    *channels = 1;
    if (image->is_complex) shape->dims--;
    if (shape->dims == 0 || image->pixels.count == 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: a scalar or empty array is no signal; save 1 to 4 axes", name);
    if (last && shape->dims < 2)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: a 1-D array has no axis for channels beside; its entries are the signal", name);
    if (last) *channels = shape->dim[--shape->dims];
    if (image->is_complex) *channels *= 2;
    return CSREC_OK;
}
