/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - measures elapsed time. */
#pragma once

/* Seconds of a monotonic clock. */
double csrec_seconds(void);
