/* backends.h - the same tests on every backend: a test takes the backend's name as its state. */
#ifndef CSREC_TESTS_BACKENDS_H
#define CSREC_TESTS_BACKENDS_H

#include "device/backend.h"
#include "check.h"

/* A row for cmocka_run_group_tests. */
#define CHECK_ON(backend, test)                                                                    \
    { #test " on " backend, test, NULL, NULL, (void *)(uintptr_t)(backend) }

/* Skips, with the reason, where the backend cannot be used. */
static inline const char *check_backend(void **state) {
    const char *name = *state;
    const csrec_backend *backend;
    csrec_error error;
    if (csrec_backend_choose(name, &backend, &error)) {
        print_message("SKIPPED: %s\n", error.text);
        skip();
    }
    return name;
}

#endif
