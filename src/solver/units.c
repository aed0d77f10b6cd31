/* units.c - lengths in another unit, and back. */
#include "solver/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "haar/atoms.h"
#include "solver/solver.h"

double csrec_in_unit(double length, double unit) {
    return fmax(-0x1p300, fmin(0x1p300, length / unit));
}

csrec_status csrec_atoms_copy(const csrec_atoms *from, csrec_atoms *to) {
    csrec_status status = csrec_atoms_create(from->n, to);
    if (status) return status;
    memcpy(to->column, from->column, (size_t)from->n * sizeof *to->column);
    memcpy(to->coefficient, from->coefficient, (size_t)from->n * sizeof *to->coefficient);
    return CSREC_OK;
}

csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, csrec_scaled *to) {
    *to = (csrec_scaled){.solve = *solve};
    to->solve.stop.sigma = csrec_in_unit(solve->stop.sigma, unit);
    to->solve.stop.min_coefficient = csrec_in_unit(solve->stop.min_coefficient, unit);
    size_t settings = (size_t)solve->n_settings * sizeof *to->settings;
    if (unit == 1.0) return CSREC_OK;
    if (settings) {
        to->settings = malloc(settings);
        if (!to->settings) return CSREC_MEMORY;
        memcpy(to->settings, solve->settings, settings);
        to->solve.settings = to->settings;
    }
    for (int i = 0; i < solve->n_settings; i++)
        if (csrec_solver_measures(solve->solver, to->settings[i].name))
            to->settings[i].value = csrec_in_unit(to->settings[i].value, unit);
    if (!solve->start) return CSREC_OK;
    csrec_status status = csrec_atoms_copy(solve->start, &to->start);
    if (status) return status;
    for (int64_t i = 0; i < to->start.n; i++)
        to->start.coefficient[i] = csrec_in_unit(to->start.coefficient[i], unit);
    to->solve.start = &to->start;
    return CSREC_OK;
}

void csrec_scaled_clear(csrec_scaled *scaled) {
    free(scaled->settings);
    csrec_atoms_clear(&scaled->start);
}

int64_t csrec_scale_back(int64_t n, double unit, double *v) {
    int64_t fault = n;
    const int threads = csrec_threads_for(n, 0);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : fault)
    for (int64_t i = 0; i < n; i++) {
        v[i] *= unit;
        if (i < fault && !isfinite(v[i])) fault = i;
    }
    return fault < n ? fault : -1;
}
