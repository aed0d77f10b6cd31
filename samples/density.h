/* SPDX-License-Identifier: BSD-3-Clause */
/* density.h - where the samples of a measurement are dense. */
#ifndef CSREC_SAMPLES_DENSITY_H
#define CSREC_SAMPLES_DENSITY_H

#include "csrec.h"

/* The share of a picture's pixels that is sampled, around each pixel: black none, over red and
 * yellow to white, all. rgb: [height * width * 3]. CSREC_MEMORY. */
csrec_status density_draw(const csrec_measurement *scan, uint8_t *rgb);

#endif
