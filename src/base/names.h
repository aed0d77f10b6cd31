/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - a name that a user gives, and those of a table. */
#pragma once

#include "csrec/status.h"

/* Start from {.given = ...} and add every name of the table. */
typedef struct csrec_names {
    const char *given;
    int distance;   /* of the nearest so far; 0: none is near */
    char hint[48];  /* "; did you mean omp?", or "" */
    char list[320]; /* "mp, omp, romp", or "" */
} csrec_names;

void csrec_names_add(csrec_names *names, const char *name);

/* CSREC_ARGUMENT: "WHAT 'GIVEN' is unknown; use mp, omp or romp; did you mean omp?" */
csrec_status csrec_names_unknown(const csrec_names *names, const char *what, csrec_error *error);
