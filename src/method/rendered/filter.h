/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h - radiance without a network: what light leaves of it, filtered along surfaces. */
#pragma once

#include "learn/net/pyramid.h"
#include "learn/net/rendered.h"

/* Floats of work for a picture. */
static inline int64_t csrec_filter_work(int64_t height, int64_t width) {
    return 8 * height * width + csrec_pyramid_work(height, width);
}

/* radiance [3][height][width] of the samples' first `channels` channels; where squares is not NULL,
 * the squared errors that the numbers of rays tell of. Exact samples are kept. */
void csrec_filter_light(const csrec_rendered_samples *samples, int channels, float *work,
                        float *radiance, float *squares);
