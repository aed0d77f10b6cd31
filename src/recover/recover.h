/* recover.h - what csrec_recover is made of: a plan, the whole or its tiles, and the units. */
#ifndef CSREC_RECOVER_RECOVER_H
#define CSREC_RECOVER_RECOVER_H

#include "method/method.h"

/* The preset that is the default of a measurement: sets the method and its settings, or leaves the
 * options as they are where no method of it suits. */
void csrec_preset_default(const csrec_measurement *measurement, csrec_recover_options *options);

#endif
