/* measurement.c - reading a measurement of any format. */
#include "files/measurement.h"

#include "base/error.h"
#include "files/format.h"

csrec_status csrec_read_options_check(const csrec_read_options *options, bool whole,
                                      bool coordinates, const char *name, csrec_error *error) {
    const char *vain = whole                    ? NULL
                       : options->mask          ? "mask"
                       : options->has_unknown   ? "value for unknown"
                       : options->channels_last ? "axis of channels"
                                                : NULL;
    if (vain)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has its positions inside; leave the %s out (it goes with pictures "
                          "and whole arrays)",
                          name, vain);
    if (options->slab.count != 0 && !whole)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has its positions inside, and is read as a whole", name);
    if (options->grid && !coordinates)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has a shape; leave the grid out (it goes with coordinates, .csv)",
                          name);
    return CSREC_OK;
}

static csrec_status parse_format(csrec_input *input, const csrec_read_options *options,
                                 csrec_measurement *m, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->measurement) return row->measurement(input, options, m, error);
    if (row && row->signal) return csrec_measurement_from_signal(input, options, m, error);
    return csrec_format_unknown(input, CSREC_USE_SAMPLES, "save it with numpy.savez", error);
}

csrec_status csrec_measurement_parse(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error) {
    static const csrec_read_options defaults = {0};
    csrec_measurement result = {0};
    if (options && options->placement) options->placement->dims = 0;
    csrec_status status = parse_format(input, options ? options : &defaults, &result, error);
    if (status) return status;
    bool empty = input->slab.count > 0 && result.n == 0;
    if (!empty) status = csrec_measurement_check(&result, input->name, error);
    if (!status)
        *measurement = result;
    else
        csrec_measurement_clear(&result);
    return status;
}

csrec_status csrec_measurement_read(const char *path, const char *mask_path,
                                    csrec_measurement *measurement, csrec_error *error) {
    const csrec_read_options options = {.mask = mask_path};
    return csrec_measurement_read_with(path, &options, measurement, error);
}

csrec_status csrec_measurement_read_with(const char *path, const csrec_read_options *options,
                                         csrec_measurement *measurement, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    if (options) input.progress = options->progress, input.context = options->context;
    status = csrec_measurement_parse(&input, options, measurement, error);
    csrec_input_close(&input);
    return status;
}
