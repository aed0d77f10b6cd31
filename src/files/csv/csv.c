/* csv.c - the row of text in the table of formats: content tells samples from a matrix. */
#include "files/csv/csv.h"

#include "base/error.h"
#include "files/format.h"
#include "files/measurement.h"

/* The name only shows which format the user expects. */
static csrec_status check_name(const csrec_input *input, csrec_status status,
                               const csrec_error *told, csrec_error *error) {
    const csrec_format *believed = csrec_format_of(input->name);
    if (status && believed && believed != &csrec_csv_format.format)
        return csrec_fail(error, status, "%s: is not %s but text; write the file again",
                          input->name, believed->what);
    return status ? csrec_fail(error, status, "%s", told->text) : CSREC_OK;
}

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_error told = {{0}};
    csrec_status status = csrec_input_load(input, error);
    if (status) return status;
    const char *text = (const char *)input->bytes;
    if (csrec_csv_is_matrix(text, input->size))
        status = csrec_csv_matrix_parse(text, input->size, input->name, signal, &told);
    else
        status =
            csrec_fail(&told, CSREC_FORMAT,
                       "%s: its lines are samples, and no whole signal; csrecover makes one of "
                       "them",
                       input->name);
    return check_name(input, status, &told, error);
}

static csrec_status read_measurement(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *m, csrec_error *error) {
    csrec_error told = {{0}};
    csrec_status status = csrec_input_load(input, error);
    if (status) return status;
    const char *text = (const char *)input->bytes;
    if (csrec_csv_is_matrix(text, input->size))
        return csrec_measurement_from_signal(input, options, m, error);
    status = csrec_read_options_check(options, false, true, input->name, error);
    if (status) return status;
    status = csrec_csv_parse(text, input->size, input->name, options, m, &told);
    return check_name(input, status, &told, error);
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    return shape->dims <= 2 && channels == 1
               ? NULL
               : "a CSV has one or two axes and one channel; write .npy";
}

const csrec_format_row csrec_csv_format = {
    .format = {"csv", ".csv", "CSV", "a table of numbers",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TEXT, NULL},
    .signal = read_signal,
    .measurement = read_measurement,
    .refusal = refusal,
    .write = csrec_csv_matrix_write,
};
