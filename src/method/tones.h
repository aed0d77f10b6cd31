/* SPDX-License-Identifier: BSD-3-Clause */
/* tones.h - the range from black to white: methods with constants for values of 0 to 255 work in
 * tones, so that results do not depend on the units. */
#ifndef CSREC_METHOD_TONES_H
#define CSREC_METHOD_TONES_H

#include "method/method.h"

struct csrec_gaussian_axes; /* of gaussian_colour.h */

/* Properties of the whole signal, of which the measurement may be a part, so that parts are
 * recovered like the whole. Values have the units of the measurement. */
typedef struct csrec_whole {
    double *least, *most; /* [channels] of the samples; 0 of what is measured through an operator */
    int64_t n, entries;   /* samples, and positions for them */
    const struct csrec_gaussian_axes *axes; /* principal colours; NULL: those of the measurement */
} csrec_whole;

/* For a measurement of the whole signal. CSREC_MEMORY, as for a copy; clear it even then. */
csrec_status csrec_whole_of(const csrec_measurement *measurement, csrec_whole *whole,
                            csrec_error *error);
csrec_status csrec_whole_copy(const csrec_whole *from, int64_t channels, csrec_whole *to,
                              csrec_error *error);
void csrec_whole_clear(csrec_whole *whole);

/* Half of white less black: by the measurement's scale, unless the values, of half range `half`, go
 * far beyond. */
double csrec_tones_half(const csrec_measurement *measurement, double half);

/* A tone, in the units of y: 1/255 of white less black, 1 where all samples of a channel are equal
 * and there is no scale. The half range is the largest of all channels.
 * middle: NULL or [channels], between each channel's least and most sample. */
double csrec_tones_unit(const csrec_measurement *measurement, const csrec_whole *whole,
                        double *middle);

/* csrec_recover_start of the same samples in tones: `tones` tells those of a value of a channel,
 * sigma is the noise in them. So is the signal. */
csrec_status csrec_recover_in_tones(const csrec_recovery *recovery, csrec_recover_options *options,
                                    double sigma,
                                    double (*tones)(const void *job, int64_t channel, double value),
                                    const void *job, csrec_error *error);

/* Upper limit of the noise: above it, samples have no effect. Its square is finite in a float. */
#define CSREC_TONES_NOISE 1e15

/* The noise in tones of `unit`, 0: none; at most CSREC_TONES_NOISE. */
float csrec_tones_sigma(const csrec_measurement *measurement, double unit);

#endif
