/* measurement.c - reading a measurement of any format, and its memory. */
#include "io/measurement.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/csv.h"
#include "base/memory.h"

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

static csrec_status from_csv(csrec_input *input, csrec_measurement *m, csrec_error *error) {
    csrec_status status = csrec_input_load(input, error);
    if (status != CSREC_OK) return status;
    csrec_error text = {{0}};
    status = csrec_csv_parse((const char *)input->bytes, input->size, input->name, m, &text);
    /* Content decides the format, but a name says what its owner believes. */
    static const char *const believed[][2] = {
        {".npz", "a zip archive"}, {".png", "a PNG picture"}, {".npy", "a NumPy array"}};
    size_t length = strlen(input->name);
    for (int i = 0; status && length > 4 && i < 3; i++)
        if (strcmp(input->name + length - 4, believed[i][0]) == 0)
            return csrec_fail(error, status, "%s: is not %s but text; write the file again",
                              input->name, believed[i][1]);
    return status ? csrec_fail(error, status, "%s", text.text) : CSREC_OK;
}

static csrec_status parse_format(csrec_input *input, const char *mask_path, csrec_measurement *m,
                                 csrec_error *error) {
    csrec_format format = csrec_input_format(input);
    if (mask_path && (format == CSREC_FORMAT_ZIP || format == CSREC_FORMAT_TEXT))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has its positions inside; leave the mask out (it goes with a PNG)",
                          input->name);
    switch (format) {
    case CSREC_FORMAT_ZIP:
        return csrec_measurement_from_npz(input, m, error);
    case CSREC_FORMAT_PNG:
        return csrec_measurement_from_png(input, mask_path, m, error);
    case CSREC_FORMAT_TEXT:
        return from_csv(input, m, error);
    case CSREC_FORMAT_NPY:
        return csrec_fail(
            error, CSREC_FORMAT,
            "%s: is a plain .npy array without positions; sample it with cssample, or "
            "save samples and mask with numpy.savez(..., y=x[mask], mask=mask)",
            input->name);
    case CSREC_FORMAT_EMPTY:
        return csrec_fail(error, CSREC_FORMAT, "%s: is empty; write the file again", input->name);
    case CSREC_FORMAT_BINARY:
        break;
    }
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: is none of .npz, PNG and CSV; save it with numpy.savez", input->name);
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
