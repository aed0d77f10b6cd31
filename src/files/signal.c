/* signal.c - reads whole signals, pictures or arrays, opening the file once: a pipe can be opened
 * only once. */
#include "base/error.h"
#include "files/format.h"

static csrec_status read_format(csrec_input *input, csrec_image *signal, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->signal) return row->signal(input, signal, error);
    return csrec_format_unknown(input, CSREC_USE_READ, "convert it to one of these", error);
}

csrec_status csrec_signal_read(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status != CSREC_OK) return status;
    status = read_format(&input, signal, error);
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_signal_look(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    bool transparent;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status != CSREC_OK) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    input.slab.count = 1;
    if (row && row->format.uses & CSREC_USE_SLABS)
        status = row->peek(&input, signal, &transparent, error);
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
        return csrec_fail(error, CSREC_DATA,
                          "%s: a 1-D array has no axis for channels beside; its entries are the signal",
                          name);
    if (last) *channels = shape->dim[--shape->dims];
    if (image->is_complex) *channels *= 2;
    return CSREC_OK;
}
