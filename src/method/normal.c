/* SPDX-License-Identifier: BSD-3-Clause */
/* normal.c - converts measurements to another unit of y. */
#include "method/normal.h"

#include <stdlib.h>

csrec_status csrec_normal_create(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, double unit,
                                 csrec_normal *normal, csrec_error *error) {
    *normal = (csrec_normal){.m = *measurement, .options = *options, .unit = unit};
    csrec_measurement *m = &normal->m;
    csrec_status status = csrec_scaled_create(&options->solve, unit, 0, &normal->scaled);
    if (status) return csrec_fail(error, status, "out of memory");
    normal->options.solve = normal->scaled.solve;
    m->sigma = csrec_in_unit(m->sigma, unit);
    for (int i = 0; i < 2; i++) m->scale[i] = csrec_in_unit(m->scale[i], unit);
    if (unit == 1.0) return CSREC_OK;
    size_t values = (size_t)csrec_measurement_values(m);
    normal->y = malloc(values * sizeof *normal->y);
    if (!normal->y) return csrec_fail(error, CSREC_MEMORY, "out of memory for %zu samples", values);
    for (size_t i = 0; i < values; i++) normal->y[i] = measurement->y[i] / unit;
    m->y = normal->y;
    return CSREC_OK;
}

void csrec_normal_clear(csrec_normal *normal) {
    csrec_scaled_clear(&normal->scaled);
    free(normal->y);
}

static csrec_status fail(const char *what, int64_t at, csrec_error *error) {
    return csrec_fail(error, CSREC_DATA,
                      "%s %lld of the recovery is beyond the range of a double; scale the samples "
                      "down, or look for very large numbers in the model",
                      what, (long long)at);
}

csrec_status csrec_normal_deliver(const csrec_normal *normal, double *signal, csrec_atoms *atoms,
                                  csrec_error *error) {
    const csrec_measurement *m = &normal->m;
    int64_t fault = -1;
    if (signal) fault = csrec_scale_back(csrec_measurement_signal_values(m), normal->unit, signal);
    if (fault >= 0) return fail("value", fault, error);
    for (int64_t c = 0; atoms && c < m->channels && fault < 0; c++)
        fault = csrec_scale_back(atoms[c].n, normal->unit, atoms[c].coefficient);
    return fault >= 0 ? fail("coefficient", fault, error) : CSREC_OK;
}
