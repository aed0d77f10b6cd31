/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - whether there is a device to test on. */
#pragma once

#include "check.h"
#include "kernels/device/device.h"

/* Says why there is none: `if (no_device()) skip();`. */
static inline bool no_device(void) {
    csrec_error error;
    if (!csrec_cuda_use(&error)) return false;
    print_message("SKIPPED: %s\n", error.text);
    return true;
}

/* Under a checker of memory or races every step takes a thousand times as long. */
static inline bool brief(void) {
    return getenv("CSREC_TEST_BRIEF") != NULL;
}

/* TEST_THERE(name, long) { ... }: a test that is skipped without a device and, if it is long, under
 * a checker. */
#define TEST_THERE(name, long_)                                                                    \
    static void name##_there(void);                                                                \
    TEST(name) {                                                                                   \
        if (no_device() || ((long_) && brief())) skip();                                           \
        name##_there();                                                                            \
    }                                                                                              \
    static void name##_there(void)

/* The first usable device, for tests that are skipped without one. */
static inline const csrec_context *cuda_context(void) {
    static csrec_context context;
    assert_ok(csrec_context_create("cuda", &context, NULL));
    return &context;
}
