/* SPDX-License-Identifier: BSD-3-Clause */
/* middle.h - from samples at any places in cells to values at the middles of the cells. */
#pragma once

#include "base/error.h"
#include "csrec/measurement.h"

/* Axes of a signal that has such samples. */
enum { CSREC_MIDDLE_DIMS = 3 };

/* Sample k lies offset[k * dims + d] cells behind the middle of its cell, index[k]. y becomes the
 * value there of the smoothest function through the sample and its 15 nearest neighbours (Duchon
 * 1977: of one axis the line between neighbours, of two the thin plate, r^2 log r, of three r), but
 * nothing beyond their values; what has no such function keeps its value. NaN: no sample of its
 * channel. *moved: the largest change. O(n log n). CSREC_MEMORY; CSREC_ARGUMENT: more axes. */
csrec_status csrec_measurement_to_middles(csrec_measurement *measurement, const double *offset,
                                          double *moved, csrec_error *error);
