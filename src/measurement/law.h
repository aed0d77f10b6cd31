/* SPDX-License-Identifier: BSD-3-Clause */
/* law.h - noise that grows with the light: what of it is estimated, and values in which it is white
 * (csrec_noise_law). */
#pragma once

#include "csrec/recover.h"
#include "base/error.h"

enum { CSREC_NOISE_BINS = 8 };

/* The noise of samples of about the same mean; weight 0: nothing is known. */
typedef struct csrec_noise_bin {
    double mean, variance, weight;
} csrec_noise_bin;

/* csrec_noise_estimate, but that sigma is NAN where noise differs, and the noise of eighths of the
 * samples, by their light, darkest first. */
csrec_status csrec_noise_look(const csrec_measurement *measurement,
                              csrec_noise_bin bin[CSREC_NOISE_BINS], double *sigma,
                              csrec_error *error);

/* The 1 % quantile of the values above 0, at least 2^-23 of the largest; 0: there are none. A floor
 * of a law is CSREC_LAW_FLOOR of it, as darker values have less noise in the logarithm. */
#define CSREC_LAW_FLOOR 0.0625
csrec_status csrec_values_floor(int64_t n, const double *values, double *floor, csrec_error *error);

/* What the values above 0 are multiples of, as counts are of a gain; 0 or NAN: of nothing. */
csrec_status csrec_values_step(int64_t n, const double *values, double *step, csrec_error *error);

static inline bool csrec_law_is_on(const csrec_noise_law *law) {
    return law->gain != 0.0 || law->base != 0.0 || law->log != 0.0;
}

/* CSREC_ARGUMENT unless one of gain and log is above 0, and all are finite. */
csrec_status csrec_law_check(const csrec_noise_law *law, csrec_error *error);

/* A value y there, and the unbiased way back. floor: of a law with log; factor: of it, too, 1: back
 * by exp. NAN stays. */
double csrec_law_into(const csrec_noise_law *law, double floor, double y);
double csrec_law_back(const csrec_noise_law *law, double floor, double factor, double u);

/* The error of y that an error there makes: a normal one, or of the noise of a sample. Half of an
 * interval around y that holds what an interval there holds: its wider side. */
double csrec_law_error(const csrec_noise_law *law, double floor, bool sampled, double y,
                       double error);
double csrec_law_half(const csrec_noise_law *law, double floor, double y, double half);

/* Signal back in place, and its errors (NULL: none), or half intervals. m: the changed samples. */
void csrec_law_return(const csrec_noise_law *law, double floor, const csrec_measurement *m,
                      bool interval, double *signal, double *errors);
