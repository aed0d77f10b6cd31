/* SPDX-License-Identifier: BSD-3-Clause */
/* kspace.h - what readers of k-space share: BART, fastMRI, ISMRMRD. */
#pragma once

#include "files/measurement.h"

/* A scan of which no row is chosen yet: through fourier, of a complex signal, centred, unitary. The
 * axes of extent 1 are left out of the shape. CSREC_DATA: more than 3 are left. */
csrec_status csrec_kspace_begin(csrec_input *input, csrec_shape shape, int64_t coils,
                                csrec_measurement *m, csrec_error *error);
/* Of so many slices the one that the options choose. CSREC_ARGUMENT: there is no such. */
csrec_status csrec_kspace_choose(csrec_input *input, const csrec_read_options *options,
                                 int64_t slices, int64_t *number, csrec_error *error);
/* After it: the scan's frequencies are these, [points][axes] in cycles per field of view, x first;
 * those of extent 1 are left out. It copies them. Values are [coils][points][2] then. */
csrec_status csrec_kspace_follow(csrec_input *input, csrec_shape shape, const float *trajectory,
                                 int64_t points, int axes, csrec_measurement *m,
                                 csrec_error *error);
/* Takes rows of values [coils][entries][2]: those that are known, or without `known` those that are
 * not 0 in all coils. */
csrec_status csrec_kspace_take(csrec_input *input, const float *values, const uint8_t *known,
                               csrec_measurement *m, csrec_error *error);
/* After a measurement is read: maps of coils and the noise, of the options, of the input, or
 * estimated. Refuses such options where there is no k-space. */
csrec_status csrec_kspace_finish(csrec_input *input, const csrec_read_options *options,
                                 csrec_measurement *m, csrec_error *error);
/* csrec_read_options_check of a file that has its positions, but may have a mask. */
csrec_status csrec_kspace_options(const csrec_input *input, const csrec_read_options *options,
                                  csrec_error *error);
