/* SPDX-License-Identifier: BSD-3-Clause */
/* interval.h - intervals that hold a share of the errors. */
#pragma once

#include "recover/uncertainty.h"

/* Expected squared errors a + b v where a method expects v. */
typedef struct csrec_line {
    double a, b;
} csrec_line;

/* A value of a sample that was left out: p is recovered without it, q with it. */
typedef struct csrec_missed {
    int64_t at;            /* the value of the whole signal */
    double square, result; /* (y - p)^2, (y - q)^2 */
    double noise;          /* the square expected of y's noise alone */
    double variance;       /* the squared error that was expected of p */
} csrec_missed;

/* The line of squares without their noise over variances, by least squares weighted by the inverse
 * squares of what is expected with noise; a, b >= 0. */
csrec_line csrec_line_fit(int64_t n, const csrec_missed *missed);

/* half [whole->values] of the widths of intervals of so many percent (interval); whole: the
 * recovery from all samples; scale: of expected squares, without noise. unpromised: adds the values
 * of which nothing is promised. CSREC_MEMORY. */
csrec_status csrec_interval_fill(csrec_estimator *estimator, const csrec_glance *whole,
                                 double scale, double *half, double *unpromised,
                                 csrec_error *error);
