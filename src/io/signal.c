/* signal.c - whole signals, pictures or arrays, from one opening of their file: pipes have only
 * one. */
#include "base/error.h"
#include "io/image.h"
#include "io/npy.h"

static csrec_status read_array(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_reader reader = csrec_input_reader(input);
    *signal = (csrec_image){0};
    return csrec_npy_array(&reader, input->name, &signal->pixels, error);
}

static csrec_status read_format(csrec_input *input, csrec_image *signal, csrec_error *error) {
    switch (csrec_input_format(input)) {
    case CSREC_FORMAT_PNG:
        return csrec_image_decode(input, signal, error);
    case CSREC_FORMAT_NPY:
        return read_array(input, signal, error);
    case CSREC_FORMAT_EMPTY:
        return csrec_fail(error, CSREC_FORMAT, "%s: is empty; write the file again", input->name);
    case CSREC_FORMAT_ZIP:
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: may be an .npz archive, and holds no single signal; save the array "
                          "as .npy",
                          input->name);
    case CSREC_FORMAT_TEXT:
    case CSREC_FORMAT_BINARY:
        break;
    }
    return csrec_fail(
        error, CSREC_FORMAT,
        "%s: neither a PNG picture nor a NumPy .npy array; convert it to one of these",
        input->name);
}

csrec_status csrec_signal_read(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status != CSREC_OK) return status;
    status = read_format(&input, signal, error);
    csrec_input_close(&input);
    return status;
}
