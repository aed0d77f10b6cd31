/* units.h - scales values to ordinary size before a solver runs, so that no square of them
 * overflows or underflows, and scales results back.
 *
 * A unit is a power of two, so dividing by it does not round: methods that are linear in y give the
 * same bits in any unit. It is 1 for values of ordinary size.
 */
#ifndef CSREC_SOLVER_UNITS_H
#define CSREC_SOLVER_UNITS_H

#include "base/error.h"
#include "base/unit.h"

/* Converts a length from the units of y to the new unit, clamped to 2^300, which is longer than
 * every sample and has a finite square. */
double csrec_in_unit(double length, double unit);

/* Columns and coefficients; counts stay 0. CSREC_MEMORY. */
csrec_status csrec_atoms_copy(const csrec_atoms *from, csrec_atoms *to);

/* Options with all lengths in the new unit: sigma, min_coefficient, the start's coefficients, and
 * the settings that the solver's table names. csrec_scaled_clear frees what they point to. */
typedef struct csrec_scaled {
    csrec_solve_options solve;
    csrec_setting *settings;
    csrec_atoms start;
} csrec_scaled;

/* CSREC_MEMORY. `to` may be cleared after a failure too. */
csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, csrec_scaled *to);
void csrec_scaled_clear(csrec_scaled *scaled);

/* v *= unit. Returns the first index whose value is then not finite, or -1. */
int64_t csrec_scale_back(int64_t n, double unit, double *v);

#endif
