/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.h - planes that are known beside the samples, from files. */
#pragma once

#include "files/input.h"

/* Adds planes of a shape, of which the frames of a sequence may all have the same: values [entries
 * * planes], NaN where unknown, are changed. What is infinite becomes unknown; of a depth it is as
 * far as the farthest that is not. Nothing is added where a plane is known nowhere. file: for
 * messages. */
csrec_status csrec_guides_take(csrec_measurement *measurement, const char *file, const char *name,
                               const csrec_shape *shape, int64_t planes, double *values,
                               csrec_error *error);
