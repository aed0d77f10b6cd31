/* SPDX-License-Identifier: BSD-3-Clause */
/* interval.h - intervals that hold a share of the errors. */
#pragma once

#include "recover/uncertainty.h"

/* Expected squared errors that rise with the variance v that a method expects: squares [n] at v
 * [n], between them linear; n 0: square[0] v + square[1]. */
enum { CSREC_RISE_MOST = 24 };
typedef struct csrec_rise {
    int n;
    double v[CSREC_RISE_MOST], square[CSREC_RISE_MOST];
} csrec_rise;

/* A value of a sample that was left out: p is recovered without it, q with it. */
typedef struct csrec_missed {
    int64_t at;            /* the value of the whole signal */
    double square, result; /* (y - p)^2, (y - q)^2 */
    double noise;          /* the square expected of y's noise alone */
    double variance;       /* the squared error that was expected of p */
    double far;            /* how squares grow with the distance of samples */
} csrec_missed;

/* Of squares without their noise, by their distances: means of classes of as many samples, 64 or
 * more, by their variances, that do not fall (isotonic regression) and are `least` at least.
 * CSREC_MEMORY. */
csrec_status csrec_rise_fit(int64_t n, const csrec_missed *missed, double least, csrec_rise *rise,
                            csrec_error *error);
double csrec_rise_at(const csrec_rise *rise, double v);

/* half [whole->values] of the widths of intervals of so many percent (interval); whole: the
 * recovery from all samples. unpromised: adds the values of which nothing is promised.
 * CSREC_MEMORY. */
csrec_status csrec_interval_fill(csrec_estimator *estimator, const csrec_glance *whole,
                                 double *half, double *unpromised, csrec_error *error);
