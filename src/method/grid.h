/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.h - one dyadic grid laid over an N-d signal: which row of the Haar matrix an entry becomes.
 *
 * The plain grid starts at entry 0. In a random grid each axis is split into units, a power of two
 * long, after a random shift; the units are spread evenly over the domain's slots of a unit each,
 * slot = (unit * slots + phase) / units rounded down, with a random phase. So nothing wraps around,
 * blocks of up to a unit have random positions, and the halves of larger ones hold equally many
 * units, +-1: with very uneven halves, columns are far from orthogonal and a pursuit moves large
 * blocks back and forth. The axes are permuted, which changes the order of their bits. Only the
 * rows change: the matrix and the pursuit stay the same.
 */
#ifndef CSREC_METHOD_GRID_H
#define CSREC_METHOD_GRID_H

#include "csrec/haar.h"

/* Coordinate c becomes c + shift, then its unit, of 2^bits, is mapped to its slot. */
typedef struct csrec_grid_axis {
    int axis;                    /* of the signal */
    int bits;                    /* plain grid: large enough for a single unit */
    int64_t shift;               /* below 2^bits */
    int64_t units, slots, phase; /* units <= slots <= 2 CSREC_GRID_UNITS, phase < slots */
} csrec_grid_axis;

enum { CSREC_GRID_UNITS = 64, CSREC_GRID_CELL = 256 };

typedef struct csrec_grid {
    csrec_shape shape;  /* of the signal */
    csrec_shape domain; /* axes permuted and padded; equal to shape for the plain grid */
    csrec_order order;
    csrec_grid_axis axis[CSREC_DIMS_MAX]; /* by axis of the domain */
    int levels;
} csrec_grid;

/* A single grid, number 0, is plain; several are all random, drawn from (seed, number).
 * CSREC_DATA: more than 62 levels. */
csrec_status csrec_grid_create(const csrec_shape *shape, csrec_order order, int64_t number,
                               int64_t grids, uint64_t seed, csrec_grid *grid);

csrec_status csrec_grid_rows(const csrec_grid *grid, int64_t n, const int64_t *index,
                             uint64_t *rows);

/* index[k]: signal entry of row first + k, or -1. */
csrec_status csrec_grid_entries(const csrec_grid *grid, uint64_t first, int64_t n, uint64_t *rows,
                                int64_t *index);

#endif
