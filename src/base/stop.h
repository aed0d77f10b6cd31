/* stop.h - validation of stopping rules, shared by all solvers that use them. */
#ifndef CSREC_BASE_STOP_H
#define CSREC_BASE_STOP_H

#include "csrec.h"

/* CSREC_ARGUMENT, with one line that names the rule out of its range. */
csrec_status csrec_stop_check(const csrec_stop *stop, csrec_error *error);

#endif
