/* SPDX-License-Identifier: BSD-3-Clause */
/* operator_rows.h - random operators of every row of the table, on a backend. */
#pragma once

#include "backends.h"
#include "operator/operator.h"
#include "operators.h"

SEED(seed);

enum { ROUNDS = 60 };

/* Sums of up to some thousand products of numbers of order 1: far above their rounding. */
static const double TOLERANCE = 1e-11;

static inline double *random_vector(int64_t n) {
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t k = 0; k < n; k++) v[k] = 2.0 * check_uniform(&seed) - 1.0;
    return v;
}

static inline void expect_near(const drawn *d, const char *what, double found, double wanted,
                               double scale) {
    const double most = strcmp(d->spec.name, "nufft") == 0 ? 1e-9 : TOLERANCE;
    if (fabs(found - wanted) <= most * (1.0 + scale)) return;
    print_message("%s: %s is %.17g, not %.17g\n", d->text, what, found, wanted);
    fail();
}

/* A brief run where a checker makes every call many times as slow. */
static inline int rounds(void) {
    return getenv("CSREC_TEST_BRIEF") ? ROUNDS / 10 : ROUNDS;
}

/* false: the backend has no such operator. */
static inline bool check_one(const char *name, const char *backend,
                             void (*check)(const drawn *d, const csrec_operator *A)) {
    drawn d = draw_operator(&seed, name, backend);
    d.spec.shape = &d.shape;
    csrec_operator *A;
    csrec_error error;
    csrec_status status = csrec_operator_create(&d.spec, &A, &error);
    bool offered = status != CSREC_UNSUPPORTED;
    if (!offered) print_message("SKIPPED: %s\n", error.text);
    if (offered && status) fail_msg("%s: %s", d.text, error.text);
    if (offered) {
        int64_t m, n;
        csrec_operator_size(A, &m, &n);
        if (m != d.m || n != d.n) fail_msg("%s: is %d x %d", d.text, (int)m, (int)n);
        check(&d, A);
        csrec_operator_destroy(A);
    }
    drop_drawn(&d);
    return offered;
}

/* Calls check for random operators of every row, all on the backend that is the test's state. */
static inline void for_every_row(void **state,
                                 void (*check)(const drawn *d, const csrec_operator *A)) {
    const char *backend = check_backend(state), *name, *brief;
    int rows = 0;
    for (; csrec_operator_info(rows, &name, &brief); rows++) {
        assert_non_null(brief);
        for (int k = 0; k < rounds() && check_one(name, backend, check); k++) continue;
    }
    assert_true(rows >= 6);
}
