/* SPDX-License-Identifier: BSD-3-Clause */
/* normal.h - converts a measurement and options to another unit of y, and results back. */
#ifndef CSREC_METHOD_NORMAL_H
#define CSREC_METHOD_NORMAL_H

#include "csrec/recover.h"
#include "solver/units.h"

/* value = unit * converted value. Other pointers are those of the original. */
typedef struct csrec_normal {
    csrec_measurement m;
    csrec_recover_options options;
    double unit;
    double *y; /* owned, or NULL where unit is 1 */
    csrec_scaled scaled;
} csrec_normal;

/* y, sigma, scale and the lengths among the options. CSREC_MEMORY; clear it even then. */
csrec_status csrec_normal_create(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, double unit,
                                 csrec_normal *normal, csrec_error *error);
void csrec_normal_clear(csrec_normal *normal);

/* Converts signal and atoms, each may be NULL, back to the units of y. CSREC_DATA: a value is not
 * finite, or not finite in a double. */
csrec_status csrec_normal_deliver(const csrec_normal *normal, double *signal, csrec_atoms *atoms,
                                  csrec_error *error);

#endif
