/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.h - motion between two pictures, by least squares in windows (Lucas and Kanade 1981), from
 * coarse to fine. */
#pragma once

#include <stdint.h>

/* `to` of half the extents, rounded up: means of 2 x 2 pixels, the last line and column twice. */
void csrec_flow_halve(int64_t height, int64_t width, const float *from, float *to);

/* Between the four pixels around (y, x); beyond the border the nearest of it. */
float csrec_flow_between(int64_t height, int64_t width, const float *plane, float y, float x);

/* Floats of work for csrec_flow_find. */
int64_t csrec_flow_work(int64_t height, int64_t width);

/* flow [2][height][width]: down and right, in pixels; from(p) is like to(p + flow(p)). In a window
 * around each pixel it is least in squares, and drawn to its mean there where the picture has
 * nothing to tell it by. Pictures of one extent, finite, of values near 1. Deterministic. */
void csrec_flow_find(int64_t height, int64_t width, const float *from, const float *to, int threads,
                     float *work, float *flow);
