/* stop.h - what stopping rules must be, whoever stops by them. */
#ifndef CSREC_BASE_STOP_H
#define CSREC_BASE_STOP_H

#include "csrec.h"

/* CSREC_ARGUMENT, and the rule that is out of its range in one line. */
csrec_status csrec_stop_check(const csrec_stop *stop, csrec_error *error);

#endif
