/* SPDX-License-Identifier: BSD-3-Clause */
/* ball.h - the entries of a signal of up to three axes that are near one of them. */
#ifndef CSREC_SAMPLING_BALL_H
#define CSREC_SAMPLING_BALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inline.h"
#include "csrec/array.h"

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

#endif
