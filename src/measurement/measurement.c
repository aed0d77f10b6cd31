/* measurement.c - the memory of a measurement. */
#include "measurement/measurement.h"

#include <stdlib.h>

#include "base/memory.h"
#include "measurement/through.h"

csrec_status csrec_measurement_allocate(csrec_measurement *m, const char *name,
                                        csrec_error *error) {
    const uint64_t values =
        (uint64_t)m->channels * (m->is_complex ? 2 : 1) * (uint64_t)csrec_through_coils(m->through);
    uint64_t each = 8 * values + 8;
    csrec_status status = (uint64_t)m->n > UINT64_MAX / each
                              ? csrec_fail(error, CSREC_MEMORY, "%s: too many samples", name)
                              : csrec_memory_check((uint64_t)m->n * each, 1, name, error);
    if (status != CSREC_OK) return status;
    m->index = malloc((size_t)m->n * sizeof *m->index);
    m->y = malloc((size_t)m->n * (size_t)values * sizeof *m->y);
    if (m->index && m->y) return CSREC_OK;
    csrec_measurement_clear(m);
    return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
}

void csrec_measurement_clear(csrec_measurement *measurement) {
    if (!measurement) return;
    free(measurement->index);
    free(measurement->y);
    csrec_through_destroy(measurement->through);
    *measurement = (csrec_measurement){0};
}
