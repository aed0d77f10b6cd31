/* SPDX-License-Identifier: BSD-3-Clause */
/* plate_level.h - one grid of the multigrid cycle: the matrix A of the energy, times the volume of
 * a cell, and its smoother. */
#ifndef CSREC_METHOD_SMOOTH_PLATE_LEVEL_H
#define CSREC_METHOD_SMOOTH_PLATE_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "method/smooth/plate.h"

/* An axis of n entries with spacing h: rows of B, the axis's own part of the energy's matrix, and
 * of G = D^T D / h^2. B is G of membranes and G^2 of biharmonic signals; of thin plates G^2 without
 * what the edge cuts. */
typedef struct csrec_plate_axis {
    int64_t n;
    double h;
    double *B; /* [n][5], offsets -2 to 2 */
    double *G; /* [n][3] */
} csrec_plate_axis;

typedef struct csrec_plate_level {
    csrec_pool pool; /* of all arrays */
    csrec_plate_axis axis[3];
    int64_t count;
    double cell;    /* volume of a cell, in cells of the finest grid */
    bool crossed;   /* no membrane: also 2 G_a G_b of each pair of axes */
    uint8_t *fixed; /* [count] */
    double *weight; /* [count], or NULL */
    float *scale;   /* [count]: 1 / the diagonal; 0 where fixed */
    float *x, *b, *r, *d, *t;
    float *rows; /* [threads][2][n of the last axis]: scratch */
    int threads;
    double most; /* of the spectrum of the diagonal's inverse times A, a bound */
} csrec_plate_level;

/* Its pool is to be cleared, also after a failure. */
csrec_status csrec_plate_level_create(const int64_t extent[3], const double h[3],
                                      csrec_plate_kind kind, bool weighted, int threads,
                                      csrec_plate_level *level);

/* After fixed and weight are set. */
void csrec_plate_level_scale(csrec_plate_level *level);

/* out = A u where not fixed, else 0. u may have values where fixed. rows: scratch, as the level's.
 */
void csrec_plate_product(const csrec_plate_level *level, const double *u, double *rows,
                         double *out);

/* r = b - A x. */
void csrec_plate_residual(csrec_plate_level *level);

/* x gains a polynomial in A of r, and r = b - A x holds before and after: Chebyshev's, least on the
 * upper part of the spectrum. d and t are overwritten. */
void csrec_plate_smooth(csrec_plate_level *level, int degree, double part);

/* Sum of a_i b_i in an order that no number of threads changes. */
double csrec_plate_dot(int64_t n, const double *a, const double *b);

#endif
