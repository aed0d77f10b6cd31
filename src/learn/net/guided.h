/* SPDX-License-Identifier: BSD-3-Clause */
/* guided.h - a fit of samples by guides, planes of the same picture that are known everywhere. */
#pragma once

#include <stdint.h>

enum { CSREC_GUIDED_MOST = 8 }; /* guides of a fit */

/* Normal values of a guide are at most so large. */
#define CSREC_GUIDED_LIMIT 8.0f

/* Floats of work. */
int64_t csrec_guided_work(int64_t height, int64_t width, int guides);

/* fit [height][width] = a_1 g_1 + .. + a_k g_k + c, where the coefficients are those of least
 * squares at the samples z (0 where unknown; weight 1 or 0), linear within cells of a pyramid:
 * level l has cells of 2^l x 2^l pixels, whose sums of products are spread by a Gauss function
 * of 1.2 cells. With n samples around it a cell keeps the share q = (n - 5) / 10, within 0 to 1, of
 * its own solution, (cov(g, g) + (0.1 / n + 1e-4) I) a = cov(g, z), and has the rest from the next
 * level, between its cells; the top, one cell, is all samples. Between cells of level 1
 * coefficients are interpolated. The fit is kept within the samples' range, widened by half of it
 * on either side, which is meant to be around 0. guide: [guides][height][width] in normal values.
 */
void csrec_guided_fit(int64_t height, int64_t width, int guides, const float *guide, const float *z,
                      const float *weight, int threads, float *work, float *fit);
