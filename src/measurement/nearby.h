/* SPDX-License-Identifier: BSD-3-Clause */
/* nearby.h - the samples of a measurement by their places, for any number of axes. */
#pragma once

#include "csrec/measurement.h"
#include "base/error.h"

/* Where a node is divided: along the axis, samples before its middle are at most at this place, the
 * others at least. */
typedef struct csrec_division {
    int64_t place;
    int axis;
} csrec_division;

/* A tree (Bentley 1975), stored as an order of the samples: a node is a range of them, divided at
 * its middle. Ranges of more than a block are divided into blocks, all as large as possible and
 * equal but for one sample, others into halves. It does not depend on the measurement's order. */
typedef struct csrec_nearby {
    int64_t n;
    int dims;
    int64_t block;
    int64_t *row;             /* [n][1 + dims] number of the sample, then its place */
    csrec_division *division; /* [n] of the node with this middle */
} csrec_nearby;

static inline int64_t csrec_nearby_middle(const csrec_nearby *nearby, int64_t begin, int64_t end) {
    int64_t n = end - begin, blocks = (n + nearby->block - 1) / nearby->block, left = blocks / 2;
    return begin + (blocks > 1 ? left * (n / blocks) + left * (n % blocks) / blocks : n / 2);
}

static inline int64_t csrec_nearby_sample(const csrec_nearby *nearby, int64_t rank) {
    return nearby->row[rank * (1 + nearby->dims)];
}

static inline const int64_t *csrec_nearby_place(const csrec_nearby *nearby, int64_t rank) {
    return nearby->row + rank * (1 + nearby->dims) + 1;
}

/* The square of the distance of two samples. */
static inline double csrec_nearby_distance(const csrec_nearby *nearby, int64_t a, int64_t b) {
    const int64_t *p = csrec_nearby_place(nearby, a), *q = csrec_nearby_place(nearby, b);
    double sum = 0.0;
    for (int k = 0; k < nearby->dims; k++) {
        double d = (double)(p[k] - q[k]);
        sum += d * d;
    }
    return sum;
}

/* CSREC_MEMORY. Clear it even then. */
csrec_status csrec_nearby_create(const csrec_measurement *m, int64_t block, csrec_nearby *nearby,
                                 csrec_error *error);
void csrec_nearby_clear(csrec_nearby *nearby);

/* A neighbour: its rank, and the square of its distance. */
typedef struct csrec_neighbour {
    int64_t rank;
    double distance;
} csrec_neighbour;

/* The `most` nearest others of a sample, nearest first, equally far ones by rank. Returns their
 * number: fewer where there are no more samples. */
int csrec_nearby_find(const csrec_nearby *nearby, int64_t rank, int most, csrec_neighbour *found);

/* Largest less least value of a channel, in units of y. */
double csrec_nearby_range(const csrec_measurement *m, double unit, int64_t channel);
