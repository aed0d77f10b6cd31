/* SPDX-License-Identifier: BSD-3-Clause */
/* units.h - scales values to ordinary size before a solver runs, so that no square of them
 * overflows or underflows, and scales results back.
 *
 * A unit is a power of two, so dividing by it does not round: methods that are linear in y give the
 * same bits in any unit. It is 1 for values of ordinary size.
 */
#ifndef CSREC_SOLVER_UNITS_H
#define CSREC_SOLVER_UNITS_H

#include "csrec/solve.h"
#include "base/error.h"
#include "base/unit.h"

/* Converts a length from the units of y to the new unit, clamped to 2^300, which is longer than
 * every sample and has a finite square. */
double csrec_in_unit(double length, double unit);

/* Columns and coefficients; counts stay 0. CSREC_MEMORY. */
csrec_status csrec_atoms_copy(const csrec_atoms *from, csrec_atoms *to);

/* Options with all lengths in the new unit: sigma and min_coefficient in that of y, the start's
 * coefficients, and the settings that the solver's table names, in that of x, which is the unit of
 * y divided by 2^exponent. A start that is 2^64 times as large, or 2^-300 times, is multiplied by a
 * power of two, too: squares of its product with A would leave the range, and it tells no more than
 * its columns and their shares. csrec_scaled_clear frees what they point to. */
typedef struct csrec_scaled {
    csrec_solve_options solve;
    csrec_setting *settings;
    csrec_atoms start;
} csrec_scaled;

/* CSREC_MEMORY. `to` may be cleared after a failure too. */
csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, int exponent,
                                 csrec_scaled *to);
void csrec_scaled_clear(csrec_scaled *scaled);

/* Multiplies coefficients by unit / 2^exponent. False: one is then not finite, or none is as large
 * as the least normal number and they have lost digits. */
bool csrec_atoms_scale_back(csrec_atoms *atoms, double unit, int exponent);

/* v *= unit. Returns the first index whose value is then not finite, or -1. */
int64_t csrec_scale_back(int64_t n, double unit, double *v);

#endif
