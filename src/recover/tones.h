/* tones.h - what lies between black and white: methods whose constants are for values of 0 to 255
 * work in such tones, so that they do the same in any units. */
#ifndef CSREC_RECOVER_TONES_H
#define CSREC_RECOVER_TONES_H

#include "csrec.h"

/* Half of white less black: by the measurement's scale, unless the values, of half range `half`, go
 * far beyond. */
double csrec_tones_half(const csrec_measurement *measurement, double half);

/* A tone, in the units of y: 1/255 of white less black, 1 where all samples of a channel are equal
 * and there is no scale. The half range is that of the channel which has most.
 * middle: NULL or [channels], between each channel's least and most sample. */
double csrec_tones_unit(const csrec_measurement *measurement, double *middle);

/* More noise than that leaves nothing of a sample; its square is finite in a float. */
#define CSREC_TONES_NOISE 1e15

/* The noise in tones of `unit`, 0: none; at most CSREC_TONES_NOISE. */
float csrec_tones_sigma(const csrec_measurement *measurement, double unit);

#endif
