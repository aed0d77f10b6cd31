/* SPDX-License-Identifier: BSD-3-Clause */
/* backends.h - the same tests on every backend: a test takes the backend's name as its state. */
#pragma once

#include "device/device.h"
#include "check.h"

/* TEST_ON("cpu", name) { ... }: a test on a backend; TEST_ON_EACH: one on each. */
#define TEST_ON(backend, name) TEST_LISTED(name, CHECK_LIST_ON(backend, name))
#define TEST_ON_EACH(name)                                                                         \
    TEST_LISTED(name, CHECK_LIST_ON("cpu", name); CHECK_LIST_ON("cuda", name))
#define CHECK_LIST_ON(backend, name) check_list(#name " on " backend, name, backend)

/* Skips, with the reason, where the backend cannot be used. */
static inline const char *check_backend(void **state) {
    const char *name = *state;
    csrec_context context;
    csrec_error error;
    if (csrec_context_create(name, &context, &error)) {
        print_message("SKIPPED: %s\n", error.text);
        skip();
    }
    csrec_context_destroy(&context);
    return name;
}
