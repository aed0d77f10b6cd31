/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.h - white noise that is cut where the range of the samples ends, as at black and white of
 * bytes: there samples are nearer to the signal, and not right in the mean. Foi, Clipped noisy
 * images, Signal Processing 89 (2009). */
#pragma once

#include "csrec/measurement.h"

/* Samples are min(max(v + noise, end[0]), end[1]); infinite: not cut there. */
typedef struct csrec_cut {
    double sigma, end[2];
} csrec_cut;

/* The least and the largest sample, where it is black or white (scale), or that of more than 1 % of
 * the values and 5, else infinite. */
void csrec_cut_ends(const csrec_measurement *measurement, double end[2]);

/* sigma 0: the noise is not cut, or not one sigma of real entries. */
csrec_cut csrec_cut_of(const csrec_measurement *measurement);

/* The same of a number of values from end[0] to end[1], which at [2] of them have. */
csrec_cut csrec_cut_between(const csrec_measurement *form, double values, const double at[2],
                            double end[2]);

/* Of samples of v: their mean, their variance, and the slope of the mean in v. */
typedef struct csrec_cut_seen {
    double mean, variance, slope;
} csrec_cut_seen;

csrec_cut_seen csrec_cut_see(const csrec_cut *cut, double v);

/* A signal [values] of means of samples: to the v between the ends that has this mean; variance:
 * NULL, or that of the means, to that of v. */
void csrec_cut_back(const csrec_cut *cut, int64_t values, double *signal, double *variance);
