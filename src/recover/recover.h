/* recover.h - ways from a measurement to the whole signal; csrec_recover chooses one. */
#ifndef CSREC_RECOVER_RECOVER_H
#define CSREC_RECOVER_RECOVER_H

#include "base/error.h"

/* Tolerance of csrec_recover_defaults. */
#define CSREC_EPSILON_DEFAULT 1e-3

/* Seconds of a monotonic clock. */
double csrec_seconds(void);

struct csrec_backend;
struct csrec_whole; /* of tones.h */

/* What the options ask for, on all of the measurement at once. `unit`: of y, see normal.h. */
csrec_status csrec_recover_whole(const csrec_measurement *measurement,
                                 const struct csrec_whole *whole,
                                 const csrec_recover_options *options,
                                 const struct csrec_backend *backend, double unit, double *signal,
                                 csrec_atoms *atoms, csrec_recover_report *report,
                                 csrec_error *error);

/* The mean over options->shifts dyadic grids of what a pursuit on each recovers. */
csrec_status csrec_recover_grids(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, double *signal,
                                 csrec_atoms *atoms, csrec_recover_report *report,
                                 csrec_error *error);

#endif
