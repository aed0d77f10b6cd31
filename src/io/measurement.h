/* measurement.h - shared by the readers of measurements; there is one a format (format.h). */
#ifndef CSREC_IO_MEASUREMENT_H
#define CSREC_IO_MEASUREMENT_H

#include "io/input.h"

/* Reads any format from an open input, which this may close or empty. */
csrec_status csrec_measurement_parse(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error);

/* Refuses options that would be ignored: those of whole signals, and the grid of coordinates. */
csrec_status csrec_read_options_check(const csrec_read_options *options, bool whole,
                                      bool coordinates, const char *name, csrec_error *error);

/* The known entries of a whole signal, for formats of such (csrec_read_options). */
csrec_status csrec_measurement_from_signal(csrec_input *input, const csrec_read_options *options,
                                           csrec_measurement *measurement, csrec_error *error);

/* index [n] and y [n * channels], both uninitialised; on failure neither. */
csrec_status csrec_measurement_allocate(csrec_measurement *measurement, const char *name,
                                        csrec_error *error);

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

/* The same where index is that of samples `from` on; and whether values [n][each], of samples
 * `from` on, are finite. */
csrec_status csrec_positions_check_piece(const csrec_measurement *measurement, int64_t from,
                                         int64_t count, const int64_t *index, const char *name,
                                         csrec_error *error);
csrec_status csrec_values_check_piece(int64_t from, int64_t n, int64_t each, const double *values,
                                      const char *name, csrec_error *error);

/* Whether positions are in 0 .. entries - 1 and distinct. CSREC_DATA: *fault is the first that is
 * not in range, or, where all are, the first equal to an earlier one. At most O(n) memory besides
 * the result, none where they ascend. CSREC_MEMORY. */
csrec_status csrec_positions_check(int64_t n, const int64_t *index, int64_t entries,
                                   int64_t *fault);

#endif
