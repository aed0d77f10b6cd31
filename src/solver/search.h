/* SPDX-License-Identifier: BSD-3-Clause */
/* search.h - Matching Pursuit's search for any operator: all correlations, argmax, subtract. Used
 * if an operator has no search of its own. */
#ifndef CSREC_SOLVER_SEARCH_H
#define CSREC_SOLVER_SEARCH_H

#include "operator/operator.h"

extern const csrec_atom_search csrec_search_any;

#endif
