/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h - what the tables of methods, solvers, operators, formats, presets and models share: rows
 * beyond the library's own, and one way to say what a row must have. */
#pragma once

#include "csrec/operator.h"
#include "base/error.h"

/* A build may add rows: CSREC_MORE_ROWS names a header that defines these lists, as
 * tests/adding/rows.h does. */
#ifdef CSREC_MORE_ROWS
#include CSREC_MORE_ROWS
#else
#define CSREC_MORE_METHODS(X)
#define CSREC_MORE_SOLVERS(X)
#define CSREC_MORE_OPERATORS(X)
#define CSREC_MORE_THROUGHS(X)
#define CSREC_MORE_FORMATS(X)
#endif

/* What must hold of a row. */
typedef struct csrec_rule {
    bool holds;
    const char *field, *must; /* "run", "the function that recovers" */
} csrec_rule;

#define CSREC_RULES(rules) (int)(sizeof(rules) / sizeof *(rules)), rules

/* CSREC_ARGUMENT and a line for the first of n rules that does not hold: "method smear: run: must
 * be the function that recovers". name NULL: it has none. */
csrec_status csrec_rules_check(const char *table, const char *name, int n, const csrec_rule *rules,
                               csrec_error *error);

/* Around a function of a row: where it fails without words, these are "TABLE NAME: " and those of
 * the status, which is returned. */
void csrec_words_begin(csrec_error *error);
csrec_status csrec_words_end(csrec_status status, const char *table, const char *name,
                             csrec_error *error);

/* At most 24 small letters, digits and _, the first a letter. */
bool csrec_is_name(const char *name);

/* Whether the row that a table finds by a row's name is that one, or there is none. */
static inline bool csrec_is_own(const void *found, const void *row) {
    return !found || found == row;
}

/* One line that says something. */
bool csrec_is_line(const char *text);

/* Row i of params, up to one without a name; NULL: it has no such row. params may be NULL. */
const csrec_param *csrec_param_at(const csrec_param *params, int i);

/* Rows up to one without a name, each with a name of its own, a default in its range and a line of
 * help. NULL: there are none. */
bool csrec_is_params(const csrec_param *params);

#define CSREC_MUST_NAME "small letters, digits and _, and no other row's"
#define CSREC_MUST_LINE "a line of text"
#define CSREC_MUST_PARAMS                                                                          \
    "rows of a name of its own, a default in its range and a line of help, then one without a "    \
    "name"
