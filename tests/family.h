/* SPDX-License-Identifier: BSD-3-Clause */
/* family.h - a family of aligned pictures: a round head with eyes and a mouth, lit from a side.
 * Nine numbers make one, each moves the picture in a curve, so no few components hold it exactly.
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "csrec.h"

static inline double family_blob(double y, double x, double height, double width) {
    return exp(-0.5 * (y * y / (height * height) + x * x / (width * width)));
}

/* Member `number` of the family of a seed, [height][width], about 0 to 255. */
static inline void family_make(uint64_t seed, uint64_t number, int height, int width, float *to) {
    double p[9];
    for (int i = 0; i < 9; i++) p[i] = 2.0 * csrec_random_uniform(seed, number, (uint64_t)i) - 1.0;
    double long_ = 0.72 + 0.08 * p[0], wide = 0.55 + 0.07 * p[1];
    double eyes = -0.18 + 0.04 * p[2], apart = 0.24 + 0.04 * p[3];
    double mouth = 0.36 + 0.05 * p[4], smile = 0.1 * p[5];
    for (int i = 0; i < height; i++)
        for (int j = 0; j < width; j++) {
            double y = 2.0 * (i + 0.5) / height - 1.0, x = 2.0 * (j + 0.5) / width - 1.0;
            double r = sqrt(y * y / (long_ * long_) + x * x / (wide * wide));
            double face = 1.0 / (1.0 + exp(14.0 * (r - 1.0)));
            double light = 1.0 + 0.5 * p[6] * x + 0.3 * p[7] * y - 0.25 * r * r;
            double dark = family_blob(y - eyes, x - apart, 0.07, 0.1) +
                          family_blob(y - eyes, x + apart, 0.07, 0.1) +
                          0.8 * family_blob(y - mouth - smile * x * x * 4.0, x, 0.05, 0.25) +
                          0.4 * family_blob(y - 0.08, x - 0.05 * p[8], 0.15, 0.05);
            to[i * width + j] = (float)(40.0 + 150.0 * face * light * (1.0 - 0.7 * dark));
        }
}
