/* recover.h - the parts of csrec_recover: plan, tiles, units. */
#ifndef CSREC_RECOVER_RECOVER_H
#define CSREC_RECOVER_RECOVER_H

#include "method/method.h"

/* The default preset of a measurement: sets the method and its settings; the options are unchanged
 * if no method of it suits. */
void csrec_preset_default(const csrec_measurement *measurement, csrec_recover_options *options);

#endif
