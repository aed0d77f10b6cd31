/* SPDX-License-Identifier: BSD-3-Clause */
/* colour.h - channels of noisy pictures along the principal colours of their samples. */
#ifndef CSREC_METHOD_GAUSSIAN_COLOUR_H
#define CSREC_METHOD_GAUSSIAN_COLOUR_H

#include "method/gaussian/gaussian.h"

typedef struct csrec_gaussian_axes {
    int channels;                                              /* 0: unchanged */
    double axis[CSREC_GAUSSIAN_POOLED][CSREC_GAUSSIAN_POOLED]; /* orthonormal rows */
} csrec_gaussian_axes;

/* Sums over samples, less the first of them: in any units in which values have an ordinary size. */
typedef struct csrec_gaussian_colours {
    int channels; /* at most CSREC_GAUSSIAN_POOLED; 0: of more there are no sums */
    int64_t n;
    double first[CSREC_GAUSSIAN_POOLED], sum[CSREC_GAUSSIAN_POOLED];
    double products[CSREC_GAUSSIAN_POOLED * CSREC_GAUSSIAN_POOLED];
} csrec_gaussian_colours;

csrec_gaussian_colours csrec_gaussian_colours_of(int64_t channels);
/* values: [channels] of a sample, divided by `unit`. */
void csrec_gaussian_colours_add(csrec_gaussian_colours *colours, const double *values, double unit);
/* Adds the sums over other samples, in the same units. */
void csrec_gaussian_colours_join(csrec_gaussian_colours *colours,
                                 const csrec_gaussian_colours *others);
/* The sums in units that are `factor`, a power of two, of the present ones. */
void csrec_gaussian_colours_scale(csrec_gaussian_colours *colours, double factor);

/* The principal axes of the samples; unchanged if there are no finite ones. */
void csrec_gaussian_axes_of(const csrec_gaussian_colours *colours, csrec_gaussian_axes *axes);

/* Those of the samples of a picture. */
void csrec_gaussian_axes_find(const csrec_gaussian_picture *picture, csrec_gaussian_axes *axes);

/* Rotates y and u to the axes. Noise of equal variance in all channels keeps that variance. */
void csrec_gaussian_axes_turn(const csrec_gaussian_axes *axes, csrec_gaussian_picture *picture);

/* The value of original channel c at an entry. */
double csrec_gaussian_axes_back(const csrec_gaussian_axes *axes, float *const *u, int64_t c,
                                int64_t entry);

/* Its variance, of independent ones along the axes. */
double csrec_gaussian_axes_variance(const csrec_gaussian_axes *axes, float *const *variance,
                                    int64_t c, int64_t entry);

#endif
