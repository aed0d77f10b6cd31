/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c - the CPU, the device that is always available. */
#include <stdio.h>

#include "base/threads.h"
#include "device/device.h"

static bool describe(int i, char *text, size_t size) {
    if (i == 0) snprintf(text, size, "%d threads", csrec_threads_wanted(0));
    return i == 0;
}

static csrec_status open(csrec_context *context, csrec_error *error) {
    if (context->ordinal > 0)
        return csrec_fail(error, CSREC_DEVICE, "backend cpu:%d: there is one CPU; use cpu",
                          context->ordinal);
    context->ordinal = 0;
    return CSREC_OK;
}

static int count(csrec_error *error) {
    (void)error;
    return 1;
}

static csrec_status usable(int i, csrec_error *error) {
    return open(&(csrec_context){.ordinal = i}, error);
}

const csrec_context csrec_context_cpu = {.kind = CSREC_DEVICE_CPU};
const csrec_device csrec_device_cpu = {
    .describe = describe, .open = open, .count = count, .usable = usable};
