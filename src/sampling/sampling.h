/* SPDX-License-Identifier: BSD-3-Clause */
/* sampling.h - one function per sampling pattern, called by csrec_sampling_create. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/call.h"
#include "base/inline.h"
#include "csrec/array.h"
#include "csrec/sampling.h"

/* Common parameters of all patterns; entries is the checked product of the extents and 1 <= count
 * <= entries. Each fills sampling->index [count] in any order. */
typedef struct csrec_sampling_plan {
    const csrec_shape *shape;
    int64_t entries, count;
    uint64_t seed;
    csrec_progress_fn progress; /* or NULL */
    void *context;
} csrec_sampling_plan;

csrec_status csrec_sampling_poisson(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                    csrec_error *error);
csrec_status csrec_sampling_jitter(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error);

/* ---- where to measure next: of the measurement and the density, NULL or [entries]. */

csrec_status csrec_places_check(const csrec_measurement *measurement, const double *density,
                                int64_t extent[3], int64_t *entries, csrec_error *error);

/* ---- positions near each other, and the order of a Hilbert curve. */

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

/* ---- the entries of a signal of up to three axes that are near one of them. */

/* floor(sqrt(v)), v >= 0. */
int64_t csrec_root(int64_t v);

/* The extents of a shape of one to three axes, those of missing axes 1, in front. */
void csrec_extents(const csrec_shape *shape, int64_t extent[3]);

/* The same, and the number of entries, of a signal of at most 2^31 entries and n positions in it;
 * else a line in error, which begins with `what` where the signal is too large. */
csrec_status csrec_extents_check(const csrec_shape *shape, int64_t n, const int64_t *index,
                                 const char *what, int64_t extent[3], int64_t *entries,
                                 csrec_error *error);

/* The coordinates of a flat position. */
void csrec_locate(const int64_t extent[3], int64_t point, int64_t at[3]);

/* A run of the last axis inside the ball. */
typedef struct csrec_ball_row {
    int64_t first, count; /* flat positions */
    int64_t across;       /* squared distance of the centre from the line of the row */
    int64_t along;        /* from the centre to `first`, along the row: 0 or less */
} csrec_ball_row;

/* The entries of a signal at less than a distance from one of them, row by row. */
typedef struct csrec_ball {
    const int64_t *extent; /* [3], of the caller */
    int64_t at[3];
    int64_t most;    /* the largest squared distance inside */
    int64_t z, last; /* the plane, and the last one */
    int64_t y, end;  /* the next row of this plane, and the last one */
} csrec_ball;

/* squared >= 1: of the distance. */
csrec_ball csrec_ball_at(const int64_t extent[3], int64_t point, int64_t squared);

/* The next row; false: there is none. */
bool csrec_ball_next(csrec_ball *ball, csrec_ball_row *row);

/* ---- a random order of 0 .. entries - 1 that is computed, not stored. */

enum { CSREC_PERMUTATION_ROUNDS = 12 };

typedef struct csrec_permutation {
    uint64_t entries;
    int half; /* bits of each half of the Feistel domain 2^(2 half) >= entries */
    uint64_t key[CSREC_PERMUTATION_ROUNDS];
} csrec_permutation;

/* 1 <= entries <= 2^62. */
void csrec_permutation_init(csrec_permutation *permutation, uint64_t entries, uint64_t seed);

/* The image of position i < entries: a bijection of 0 .. entries - 1. */
uint64_t csrec_permutation_at(const csrec_permutation *permutation, uint64_t i);

/* ---- how far every entry of a signal is from the nearest of some positions. */

/* No position, or none that is nearer than the root of this, about 2^16. */
#define CSREC_FAR UINT32_MAX

/* squared [entries]: on entry 0 at the positions and CSREC_FAR elsewhere; on return the squared
 * Euclidean distance to the nearest position, at most CSREC_FAR. Extents of missing axes are 1.
 * O(entries) time. CSREC_MEMORY. */
csrec_status csrec_distance_squared(const int64_t extent[3], int threads, uint32_t *squared);
