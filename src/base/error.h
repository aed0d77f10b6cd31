/* SPDX-License-Identifier: BSD-3-Clause */
/* error.h - one line of explanation beside a status. */
#pragma once

#include "csrec/status.h"

/* Around what a C++ or CUDA source calls, too. */
#ifdef __cplusplus
#define CSREC_C_BEGIN extern "C" {
#define CSREC_C_END   }
#else
#define CSREC_C_BEGIN
#define CSREC_C_END
#endif

CSREC_C_BEGIN

/* Formats one line into error (if not NULL) and returns status, so that a failure is one
 * statement: return csrec_fail(error, CSREC_DATA, "%s: array 'y': ...; remedy", path); */
csrec_status csrec_fail(csrec_error *error, csrec_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of CSREC_MEMORY: "out of memory", of what has a name, else NULL. */
csrec_status csrec_memory_fail(csrec_error *error, const char *name);

/* The words of a failure: its own, or those of its status, for failures deep in an engine that have
 * none. */
static inline const char *csrec_words_of(csrec_status status, const csrec_error *error) {
    return *error->text ? error->text : csrec_status_text(status);
}

CSREC_C_END

/* The status, after what undoes or what keeps an object that was being made. */
#define CSREC_SETTLE(status, undo, keep) ((status) ? (void)(undo) : (void)(keep), (status))

/* Ends the function with the status of a call that fails, where nothing is to be undone. */
#define CSREC_TRY(...)                                                                             \
    do {                                                                                           \
        const csrec_status tried = (__VA_ARGS__);                                                  \
        if (tried) return tried;                                                                   \
    } while (0)
