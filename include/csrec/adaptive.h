/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/adaptive.h - measuring in rounds, where a recovery expects to be wrong. */
#ifndef CSREC_ADAPTIVE_H
#define CSREC_ADAPTIVE_H

#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's instrument: sets y [n * channels] at flat C-order positions [n], in a short path's
 * order. Any status but CSREC_OK ends the measuring. */
typedef csrec_status (*csrec_measure_fn)(int64_t n, const int64_t *index, double *y, void *context);

/* Zero-initialised fields other than budget mean the defaults. */
typedef struct csrec_adaptive_options {
    int64_t budget; /* samples in all, 1 to the entries */
    int64_t first;  /* of them in the first, even round; 0: a fifth of the budget */
    int rounds;     /* after the first one, of as many samples each; 0: 8 */
    double goal;    /* the expected error at which it ends, in units of y; 0: none */
    uint64_t seed;
    const uint8_t *allowed;               /* [entries], 0: cannot be measured; NULL: all can */
    const csrec_recover_options *recover; /* of the recoveries between rounds; NULL: the defaults */
    csrec_progress_fn progress; /* or NULL; samples of the budget. true: stop with what there is */
    void *context;              /* of progress */
} csrec_adaptive_options;

/* Measures a signal in rounds: first evenly, then where a recovery of what is known expects errors
 * (csrec_uncertainty, csrec_where_next), with positions kept apart.
 *
 * measurement: shape, channels, and sigma, scale and dtype if known. n > 0: samples that are there
 * already, of which the budget is the sum; so a measurement that was stopped, or stored in a file,
 * goes on. It receives the samples; free it with csrec_measurement_clear. It is valid after any
 * failure, too, with the rounds that were complete.
 *
 * expected: NULL, or receives the expected root mean square error of the recovery of the last round
 * before its samples, NAN if there was none. With a goal it is asked for before each round, which
 * takes four recoveries of windows more.
 *
 * CSREC_ARGUMENT: budget, first, rounds or goal out of range. CSREC_DATA: a measured value is not
 * finite. Otherwise the errors of measure, of csrec_recover and of csrec_where_next. 1 to 3 axes.
 * Thread-safe for different measurements. */
CSREC_API csrec_status csrec_adaptive(const csrec_adaptive_options *options,
                                      csrec_measure_fn measure, void *instrument,
                                      csrec_measurement *measurement, double *expected,
                                      csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
