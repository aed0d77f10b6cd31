/* colour.h - channels of noisy pictures along the principal colours of their samples. */
#ifndef CSREC_METHOD_GAUSSIAN_COLOUR_H
#define CSREC_METHOD_GAUSSIAN_COLOUR_H

#include "method/gaussian/gaussian.h"

typedef struct csrec_gaussian_axes {
    int channels;                                              /* 0: unchanged */
    double axis[CSREC_GAUSSIAN_POOLED][CSREC_GAUSSIAN_POOLED]; /* orthonormal rows */
} csrec_gaussian_axes;

/* From the samples y of a picture of at most CSREC_GAUSSIAN_POOLED channels; unchanged if there are
 * no finite principal axes. */
void csrec_gaussian_axes_find(const csrec_gaussian_picture *picture, csrec_gaussian_axes *axes);

/* Axes of a measurement, whose values in `unit` are of ordinary size: equal to those of its picture
 * up to rounding. */
void csrec_gaussian_axes_of(const csrec_measurement *measurement, double unit,
                            csrec_gaussian_axes *axes);

/* Rotates y and u to the axes. Noise of equal variance in all channels keeps that variance. */
void csrec_gaussian_axes_turn(const csrec_gaussian_axes *axes, csrec_gaussian_picture *picture);

/* The value of original channel c at an entry. */
double csrec_gaussian_axes_back(const csrec_gaussian_axes *axes, float *const *u, int64_t c,
                                int64_t entry);

/* Its variance, of independent ones along the axes. */
double csrec_gaussian_axes_variance(const csrec_gaussian_axes *axes, float *const *variance,
                                    int64_t c, int64_t entry);

#endif
