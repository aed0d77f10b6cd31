/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - measures elapsed time. */
#ifndef CSREC_BASE_CLOCK_H
#define CSREC_BASE_CLOCK_H

/* Seconds of a monotonic clock. */
double csrec_seconds(void);

#endif
