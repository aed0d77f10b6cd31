/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h - rows in memory behind the callback of csrec_data. */
#pragma once

#include "check.h"

typedef struct source {
    const float *X; /* [m][n] */
    int64_t m, n;
    int64_t fail_at; /* the call that fails, from 1; 0: none */
    int64_t next, calls;
} source;

/* A pass goes through the rows in order, from the first. */
static inline csrec_status read_source(void *context, int64_t first, int64_t count, float *X,
                                       csrec_error *error) {
    source *s = context;
    assert_true(first == 0 || first == s->next);
    assert_true(count >= 1 && first + count <= s->m);
    if (++s->calls == s->fail_at) {
        if (error) strcpy(error->text, "the tape broke");
        return CSREC_FILE;
    }
    memcpy(X, s->X + first * s->n, (size_t)(count * s->n) * sizeof *X);
    s->next = first + count;
    return CSREC_OK;
}
