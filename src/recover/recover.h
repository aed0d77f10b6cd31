/* recover.h - the parts of csrec_recover: plan, tiles, units. */
#ifndef CSREC_RECOVER_RECOVER_H
#define CSREC_RECOVER_RECOVER_H

#include "method/method.h"

/* The default preset of a measurement: sets the method and its settings; the options are unchanged
 * if no method of it suits. */
void csrec_preset_default(const csrec_measurement *measurement, csrec_recover_options *options);

/* CSREC_ARGUMENT and a line that names the field, if row i lacks something: a preset has a name, a
 * method that suits what the row is for, and at most four settings. CSREC_UNSUPPORTED past the end.
 */
csrec_status csrec_preset_check_row(int i, csrec_error *error);

/* csrec_recover that also sets variance [entries * channels], the squared errors that the method
 * expects. A method that has none to tell leaves what the caller put there. */
csrec_status csrec_recover_variance(const csrec_measurement *measurement,
                                    const csrec_recover_options *options, double *signal,
                                    double *variance, csrec_recover_report *report,
                                    csrec_error *error);

#endif
