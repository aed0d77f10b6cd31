/* SPDX-License-Identifier: BSD-3-Clause */
/* known.h - what the memory sanitizer is told at the calls of libraries that are not instrumented.
 * A call of NAME is compiled as one of known_NAME, which checks that what NAME reads was written,
 * calls NAME, and marks what that has written. */
#pragma once

#include <sanitizer/msan_interface.h>
#include <stddef.h>

#define CHECKED(values, count)                                                                     \
    __msan_check_mem_is_initialized((values), (size_t)(count) * sizeof *(values))
#define WRITTEN(values, count) __msan_unpoison((values), (size_t)(count) * sizeof *(values))
#define KNOWN(type, name, ...)                                                                     \
    type known_##name(__VA_ARGS__);                                                                \
    type known_##name(__VA_ARGS__)
