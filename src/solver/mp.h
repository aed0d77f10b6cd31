/* SPDX-License-Identifier: BSD-3-Clause */
/* mp.h - the search of Matching Pursuit. */
#pragma once

#include "solver/solver.h"

/* For any operator: all correlations, argmax, subtract. Used if an operator has no search of its
 * own. */
extern const csrec_atom_search csrec_search_any;
