/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c - measures elapsed time. */
#include "base/clock.h"

#include <time.h>

double csrec_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
