/* units.h - values are brought to ordinary size before a solver sees them, so that no square of
 * them overflows or vanishes, and what comes out is brought back.
 *
 * A unit is a power of two, so that dividing by it rounds nothing: methods that are linear in y
 * give the same bits in any unit. It is 1 for values of ordinary size, which are left as they are.
 */
#ifndef CSREC_SOLVER_UNITS_H
#define CSREC_SOLVER_UNITS_H

#include "base/error.h"
#include "base/unit.h"

/* A length in the units of y, in the new unit. At most 2^300 either way: longer than every sample
 * is as good as that, and its square is finite. */
double csrec_in_unit(double length, double unit);

/* Options whose lengths are in the new unit: sigma, min_coefficient, the start's coefficients, and
 * the settings that the solver's table names. They point into what csrec_scaled_clear frees. */
typedef struct csrec_scaled {
    csrec_solve_options solve;
    csrec_setting *settings;
    csrec_atoms start;
} csrec_scaled;

/* CSREC_MEMORY. `to` may be cleared after a failure too. */
csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, csrec_scaled *to);
void csrec_scaled_clear(csrec_scaled *scaled);

/* v *= unit. Returns the first place whose value is not finite then, or -1. */
int64_t csrec_scale_back(int64_t n, double unit, double *v);

#endif
