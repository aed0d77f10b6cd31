/* nearby.h - the samples of a measurement by their places, for any number of axes. */
#ifndef CSREC_RECOVER_NEARBY_H
#define CSREC_RECOVER_NEARBY_H

#include "base/error.h"

/* A tree of medians (Bentley 1975), stored as an order of the samples: a node is a range of them,
 * and the sample in its middle divides it, along one axis. It does not depend on the measurement's
 * order. */
typedef struct csrec_nearby {
    int64_t n;
    int dims;
    int64_t *row;     /* [n][1 + dims] number of the sample, then its place */
    uint8_t *divided; /* [n] the axis, of the node with this middle */
} csrec_nearby;

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
csrec_status csrec_nearby_create(const csrec_measurement *m, csrec_nearby *nearby,
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

#endif
