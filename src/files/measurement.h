/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.h - shared by the readers of measurements; there is one a format (format.h). */
#pragma once

#include "files/input.h"
#include "measurement/measurement.h"

/* Reads any format from an open input, which this may close or empty. */
csrec_status csrec_measurement_parse(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error);

/* Refuses options that would be ignored: those of whole signals, and the grid of coordinates. */
csrec_status csrec_read_options_check(const csrec_read_options *options, bool whole,
                                      bool coordinates, const char *name, csrec_error *error);

/* The known entries of a whole signal, for formats of such (csrec_read_options). */
csrec_status csrec_measurement_from_signal(csrec_input *input, const csrec_read_options *options,
                                           csrec_measurement *measurement, csrec_error *error);
