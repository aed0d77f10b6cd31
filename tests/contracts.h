/* contracts.h - what the tests that run all rows of a table share: refusals, and a caller that
 * listens.
 */
#ifndef CSREC_TESTS_CONTRACTS_H
#define CSREC_TESTS_CONTRACTS_H

#include <string.h>

#include "check.h"

static csrec_error error;

static inline void expect_line(csrec_status status, const char *who) {
    if (!status || !*error.text || strchr(error.text, '\n'))
        fail_msg("%s: status %d, '%s'", who, (int)status, error.text);
}

typedef struct listener {
    int64_t calls;
    bool stops;
} listener;

static inline bool listen(const csrec_progress *progress, void *context) {
    listener *l = context;
    assert_non_null(progress->stage);
    l->calls++;
    return l->stops;
}

#endif
