/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - whether there is a device to measure on. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "kernels/device/device.h"

/* Says why there is none. */
static inline bool bench_no_device(void) {
    csrec_error error;
    if (!csrec_cuda_use(&error)) return false;
    printf("SKIPPED: %s\n", error.text);
    return true;
}
