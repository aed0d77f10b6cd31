/* SPDX-License-Identifier: BSD-3-Clause */
/* plate.h - the smoothest signal on a grid of one to three axes that passes through samples:
 *
 *     min_u E(u) + sum_k w_k (u_k - y_k)^2,
 *
 *     membrane:      E = sum over axes a of |D_a u|^2, least where u is harmonic
 *     biharmonic:    E = |sum over a of D_a^T D_a u|^2
 *     thin plate:    E = sum over a, b of |D_a D_b u|^2 (Duchon 1977)
 *
 * D_a are differences to the next entry, none across the edge. The last two are the same but at the
 * edges, where the biharmonic u levels out and the plate goes on straight: E is 0 of constants and
 * of linear functions. w_k infinite: u_k = y_k.
 *
 * Conjugate gradients, preconditioned by one V-cycle of multigrid (Briggs, Henson and McCormick
 * 2000, chapters 3 and 10): Chebyshev smoothing, cubic interpolation of corrections, and the same
 * energy on grids of twice the spacing, on which a point is fixed where any sample is near. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/call.h"
#include "base/pool.h"

typedef enum csrec_plate_kind {
    CSREC_PLATE_MEMBRANE = 1,
    CSREC_PLATE_BIHARMONIC,
    CSREC_PLATE_THIN
} csrec_plate_kind;

typedef struct csrec_plate csrec_plate;

/* extent: of three axes, 1 for those that are missing. fixed [entries], or
 * NULL: not 0 where u keeps its value. weight [entries], or NULL: w_k, 0 where no sample is. Both
 * are copied. CSREC_MEMORY. */
csrec_status csrec_plate_create(const int64_t extent[3], csrec_plate_kind kind,
                                const uint8_t *fixed, const double *weight, int threads,
                                csrec_plate **plate);
void csrec_plate_destroy(csrec_plate *plate);

/* u [entries]: the samples where fixed and the start elsewhere, then the result. y [entries]: the
 * samples where weight is not 0, or NULL. Ends when the energy of what is left is below tolerance^2
 * of the start's, after `most` iterations, or when the call is stopped. Returns the iterations. */
int64_t csrec_plate_solve(csrec_plate *plate, const double *y, double tolerance, int64_t most,
                          csrec_call *call, double *u);

/* All holes of a signal, those that do not touch one by one. */
typedef struct csrec_plate_fill {
    int64_t extent[3];
    const uint8_t *known; /* [entries] */
    csrec_plate_kind kind;
    int threads;
    double tolerance;
    int64_t iterations; /* of a hole, at most */
} csrec_plate_fill;

/* u as of csrec_plate_solve. *iterations: of all holes. CSREC_MEMORY. */
csrec_status csrec_plate_holes(const csrec_plate_fill *fill, csrec_call *call, double *u,
                               int64_t *iterations);

/* Bytes for each entry. */
double csrec_plate_bytes(bool weighted);

/* ---- one grid of the multigrid cycle: the matrix A of the energy, times the volume of
 * a cell, and its smoother. */

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

/* out = A u where not fixed, else 0. u may be any where fixed. rows: scratch, as the level's. */
void csrec_plate_product(const csrec_plate_level *level, const double *u, double *rows,
                         double *out);

/* r = b - A x. */
void csrec_plate_residual(csrec_plate_level *level);

/* x gains a polynomial in A of r, and r = b - A x holds before and after: Chebyshev's, least on the
 * upper part of the spectrum. d and t are overwritten. */
void csrec_plate_smooth(csrec_plate_level *level, int degree, double part);

/* Sum of a_i b_i in an order that no number of threads changes. */
double csrec_plate_dot(int64_t n, const double *a, const double *b);
