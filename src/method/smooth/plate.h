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
#ifndef CSREC_METHOD_SMOOTH_PLATE_H
#define CSREC_METHOD_SMOOTH_PLATE_H

#include "base/call.h"

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

#endif
