/* signal.c - reads whole signals, pictures or arrays, opening the file once: a pipe can be opened
 * only once. */
#include "io/format.h"

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
