/* SPDX-License-Identifier: BSD-3-Clause */
/* neighbours.h - positions near each other, and the order of a Hilbert curve. */
#ifndef CSREC_SAMPLING_NEIGHBOURS_H
#define CSREC_SAMPLING_NEIGHBOURS_H

#include "csrec/status.h"

enum { CSREC_NEIGHBOURS = 8 };

/* Positions of a signal of up to three axes, numbered 0 .. n - 1, n < 2^31. */
typedef struct csrec_points {
    int64_t extent[3]; /* those of missing axes are 1, in front */
    int64_t n;
    int32_t *at; /* [n][3] */
} csrec_points;

/* In pixels, exactly rounded. */
double csrec_points_distance(const csrec_points *points, int64_t a, int64_t b);

/* The numbers in the order of a Hilbert curve whose coordinates are `shift` fifths of the extents
 * off. CSREC_MEMORY. */
csrec_status csrec_points_order(const csrec_points *points, int shift, int64_t *order);

/* near [n][CSREC_NEIGHBOURS]: the numbers of points that are near, the nearest first, then -1.
 * Those on curves shifted against each other (Liao, Lopez and Leutenegger 2001): most of the
 * nearest, in O(n log n) wherever the points are. CSREC_MEMORY. */
csrec_status csrec_points_neighbours(const csrec_points *points, int32_t *near);

#endif
