/* SPDX-License-Identifier: BSD-3-Clause */
/* units.c - lengths in another unit, and back. */
#include "solver/units.h"

#include <float.h>
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

/* v 2^exponent / unit, clamped as csrec_in_unit; a recovery's unit may be any number. */
static double in_units(double v, double unit, int exponent) {
    int own;
    const double mantissa = frexp(unit, &own);
    return fmax(-0x1p300, fmin(0x1p300, ldexp(v / mantissa, exponent - own)));
}

/* The start is near the size of y, whatever it was. */
static csrec_status scale_start(const csrec_atoms *start, double unit, int exponent,
                                csrec_atoms *to) {
    csrec_status status = csrec_atoms_copy(start, to);
    const double largest = csrec_largest(start->n, start->coefficient);
    const int size = largest > 0.0 ? ilogb(largest) + exponent - ilogb(unit) : 0;
    if (size > 64 || size < -300) exponent -= size;
    for (int64_t i = 0; i < to->n && !status; i++)
        to->coefficient[i] = in_units(to->coefficient[i], unit, exponent);
    return status;
}

csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, int exponent,
                                 csrec_scaled *to) {
    *to = (csrec_scaled){.solve = *solve};
    to->solve.stop.sigma = csrec_in_unit(solve->stop.sigma, unit);
    to->solve.stop.min_coefficient = csrec_in_unit(solve->stop.min_coefficient, unit);
    size_t settings = (size_t)solve->n_settings * sizeof *to->settings;
    if (settings && (unit != 1.0 || exponent)) {
        to->settings = malloc(settings);
        if (!to->settings) return CSREC_MEMORY;
        memcpy(to->settings, solve->settings, settings);
        to->solve.settings = to->settings;
        for (int i = 0; i < solve->n_settings; i++)
            if (csrec_solver_measures(solve->solver, to->settings[i].name))
                to->settings[i].value = in_units(to->settings[i].value, unit, exponent);
    }
    if (!solve->start) return CSREC_OK;
    to->solve.start = &to->start;
    return scale_start(solve->start, unit, exponent, &to->start);
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

bool csrec_atoms_scale_back(csrec_atoms *atoms, double unit, int exponent) {
    const int shift = ilogb(unit) - exponent;
    bool exact = true;
    double largest = 0.0;
    for (int64_t i = 0; i < atoms->n && shift; i++) {
        const double v = ldexp(atoms->coefficient[i], shift);
        if (!isfinite(v)) return false;
        exact = exact && ldexp(v, -shift) == atoms->coefficient[i];
        largest = fmax(largest, fabs(v));
        atoms->coefficient[i] = v;
    }
    return exact || largest >= DBL_MIN;
}
