/* measurement.c - reading a measurement of any format, and its memory. */
#include "io/measurement.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/format.h"

csrec_status csrec_measurement_allocate(csrec_measurement *m, const char *name,
                                        csrec_error *error) {
    uint64_t each = 8 * (uint64_t)m->channels + 8;
    csrec_status status = (uint64_t)m->n > UINT64_MAX / each
                              ? csrec_fail(error, CSREC_MEMORY, "%s: too many samples", name)
                              : csrec_memory_check((uint64_t)m->n * each, 1, name, error);
    if (status != CSREC_OK) return status;
    m->index = malloc((size_t)m->n * sizeof *m->index);
    m->y = malloc((size_t)m->n * (size_t)m->channels * sizeof *m->y);
    if (m->index && m->y) return CSREC_OK;
    csrec_measurement_clear(m);
    return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
}

void csrec_measurement_clear(csrec_measurement *measurement) {
    if (!measurement) return;
    free(measurement->index);
    free(measurement->y);
    *measurement = (csrec_measurement){0};
}

static csrec_status parse_format(csrec_input *input, const char *mask_path, csrec_measurement *m,
                                 csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (!row || !row->measurement)
        return csrec_format_unknown(input, CSREC_USE_SAMPLES, "save it with numpy.savez", error);
    if (mask_path && row->positions)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has its positions inside; leave the mask out (it goes with a PNG)",
                          input->name);
    return row->measurement(input, mask_path, m, error);
}

csrec_status csrec_measurement_parse(csrec_input *input, const char *mask_path,
                                     csrec_measurement *measurement, csrec_error *error) {
    csrec_measurement result = {0};
    csrec_status status = parse_format(input, mask_path, &result, error);
    if (status != CSREC_OK) return status;
    status = csrec_measurement_check(&result, input->name, error);
    if (status == CSREC_OK)
        *measurement = result;
    else
        csrec_measurement_clear(&result);
    return status;
}

csrec_status csrec_measurement_read(const char *path, const char *mask_path,
                                    csrec_measurement *measurement, csrec_error *error) {
    return csrec_measurement_read_watched(path, mask_path, NULL, NULL, measurement, error);
}

csrec_status csrec_measurement_read_watched(const char *path, const char *mask_path,
                                            csrec_progress_fn progress, void *context,
                                            csrec_measurement *measurement, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status != CSREC_OK) return status;
    input.progress = progress;
    input.context = context;
    status = csrec_measurement_parse(&input, mask_path, measurement, error);
    csrec_input_close(&input);
    return status;
}
