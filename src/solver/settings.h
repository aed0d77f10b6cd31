/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h - named numbers, and whose parameters they are: a method's, a solver's, a basis's. */
#ifndef CSREC_SOLVER_SETTINGS_H
#define CSREC_SOLVER_SETTINGS_H

#include "csrec/solve.h"

/* A name may say whose parameter it is: solver.k. */
typedef enum csrec_owner_kind { CSREC_OF_METHOD, CSREC_OF_SOLVER, CSREC_OF_BASIS } csrec_owner_kind;

typedef struct csrec_owner {
    csrec_owner_kind kind;
    const char *name;          /* of the method, solver or basis; NULL: there is none */
    const csrec_param *params; /* ends with a row without a name; NULL: none */
    const char *const *reals;  /* those that may have a fraction, then NULL; NULL: all are counts */
} csrec_owner;

/* The parameter of that name; NULL if there is none. params may be NULL. */
const csrec_param *csrec_param_find(const csrec_param *params, const char *name);

/* The parameter of an owner that a setting sets; NULL: it is another's. */
const csrec_param *csrec_setting_param(const csrec_owner *owner, const csrec_setting *setting);

/* CSREC_ARGUMENT: a setting that is no owner's, or that of several and does not say whose, or a
 * value outside the parameter's range or with a fraction where a whole number is asked for. */
csrec_status csrec_settings_check(const csrec_solve_options *options, int n,
                                  const csrec_owner *owners, csrec_error *error);

/* Whether a setting's name means that parameter of a kind's. */
bool csrec_setting_is(const char *setting, csrec_owner_kind kind, const char *name);

/* The last value that the settings give to an owner's parameter, or `otherwise`. */
double csrec_setting_value(const csrec_solve_options *options, csrec_owner_kind kind,
                           const char *name, double otherwise);

/* Inserts a setting before all others, which override it. room: for one more setting. */
void csrec_setting_prepend(csrec_solve_options *options, csrec_setting first, csrec_setting *room);

#endif
