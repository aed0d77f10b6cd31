/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.h - the memory of a measurement, and whether it is what csrec_measurement says, whole
 * or piece by piece. */
#pragma once

#include "csrec/measurement.h"
#include "base/error.h"

/* index [n] and y [n * channels], both uninitialised; on failure neither. */
csrec_status csrec_measurement_allocate(csrec_measurement *measurement, const char *name,
                                        csrec_error *error);

/* Whether float32 holds every value of the type: integers of 16 bits, and itself. */
bool csrec_dtype_fits_f32(csrec_dtype dtype);

/* Gives a measurement whose values had type `from` another. Integers of 8 and 16 bits have their
 * range for black and white, which becomes its scale. */
void csrec_measurement_retype(csrec_dtype dtype, csrec_dtype from, csrec_measurement *measurement);

/* csrec_measurement_check, and real samples of entries. CSREC_UNSUPPORTED: others. */
csrec_status csrec_measurement_check_points(const csrec_measurement *measurement, const char *name,
                                            csrec_error *error);

/* Checks that need neither index nor y: shape, n and channels, n against the signal's entries,
 * sigma and scale. */
csrec_status csrec_measurement_check_frame(const csrec_measurement *measurement, const char *name,
                                           int64_t *entries, csrec_error *error);

/* Whether positions from .. from + count - 1 are in the signal and none equals the one before it:
 * the checks that are possible while reading. */
csrec_status csrec_measurement_check_next(const csrec_measurement *measurement, int64_t from,
                                          int64_t count, const char *name, csrec_error *error);

/* The same where index is that of samples `from` on; and whether values [n][channels], of samples
 * `from` on, are finite, or NaN in channels that are not measured. */
csrec_status csrec_positions_check_piece(const csrec_measurement *measurement, int64_t from,
                                         int64_t count, const int64_t *index, const char *name,
                                         csrec_error *error);
csrec_status csrec_values_check_piece(const csrec_measurement *measurement, int64_t from, int64_t n,
                                      const double *values, const char *name, csrec_error *error);

/* Whether positions are in 0 .. entries - 1 and distinct. CSREC_DATA: *fault is the first that is
 * not in range, or, where all are, the first equal to an earlier one. At most O(n) memory besides
 * the result, none where they ascend. CSREC_MEMORY. */
csrec_status csrec_positions_check(int64_t n, const int64_t *index, int64_t entries,
                                   int64_t *fault);
