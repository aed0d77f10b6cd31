/* SPDX-License-Identifier: BSD-3-Clause */
/* stop.h - stopping rules, shared by all solvers and devices that use them. */
#pragma once

#include <float.h>
#include <math.h>

#include "csrec/solve.h"

/* CSREC_ARGUMENT, with one line that names the rule out of its range. */
csrec_status csrec_stop_check(const csrec_stop *stop, csrec_error *error);

/* ||r|| / ||y|| that is rounding, for a precision of 2 u. An entry of r comes from sums of up to m
 * terms that are y's size; n terms err by more than t sqrt(n) u less than once in exp(t^2 / 2)
 * (Higham and Mary 2019, theorem 2.4). t = 16: what is shorter says nothing of y, and columns
 * picked for it are noise. */
static inline double csrec_stop_rounding(const csrec_stop *stop, int64_t m) {
    return 8.0 * fmax(stop->precision, DBL_EPSILON) * sqrt((double)m);
}

/* ||r||^2 that is asked for, 0: none; and that which ends a pursuit. whole: ||y||^2. */
static inline double csrec_stop_goal(const csrec_stop *stop, int64_t m, double whole) {
    return fmax(stop->epsilon * stop->epsilon * whole, stop->sigma * stop->sigma * (double)m);
}

static inline double csrec_stop_end(const csrec_stop *stop, int64_t m, double whole) {
    double rounding = csrec_stop_rounding(stop, m);
    return fmax(csrec_stop_goal(stop, m, whole), rounding * rounding * whole);
}

/* The outcome of a pursuit that ends as `reached` with residual = ||r|| / ||y||: without a step
 * left, x may be perfect (on the Haar tree, whose fixed point has 52 - log2 m bits of y), or miss a
 * bound that was asked for. */
static inline csrec_outcome csrec_stop_verdict(const csrec_stop *stop, int64_t m, double residual,
                                               csrec_outcome reached) {
    if (reached != CSREC_EXHAUSTED) return reached;
    if (residual <= csrec_stop_rounding(stop, m) * sqrt((double)m)) return CSREC_CONVERGED;
    return stop->epsilon > 0.0 || stop->sigma > 0.0 ? CSREC_UNMET : reached;
}
