/* SPDX-License-Identifier: BSD-3-Clause */
/* texture.h - procedural colours of the scene: sky, marble, the tiled floor. */
#ifndef CSREC_SAMPLES_TEXTURE_H
#define CSREC_SAMPLES_TEXTURE_H

#include "vec.h"

/* Radiance of the sky in unit direction d; sun is the unit direction towards the sun. */
vec texture_sky(vec d, vec sun);

/* Marble with colour `ground` and veins of colour `vein` at point p. */
vec texture_marble(vec p, vec ground, vec vein);

/* The floor y = 0 at (x, z), seen from a distance: far tiles fade into their mean, which no number
 * of rays a pixel could resolve. */
vec texture_floor(double x, double z, double distance);

#endif
