/* SPDX-License-Identifier: BSD-3-Clause */
/* pursuit.h - Matching Pursuit on the sampled Haar matrix, exact on a grid.
 *
 * The grid. Samples are rounded to multiples of a unit 2^-q with n max|y| < 2^52 units, and so is
 * every step. Then every sum of residuals over a block is an integer below 2^53 and exact in
 * double, in any order: ||r||_1 <= sqrt(n) ||r||_2 <= sqrt(n) ||y||_2 <= n max|y|, as no step
 * lengthens r. Results do not depend on summation order, threads, instruction set or device.
 * All values below are in units.
 *
 * The key of a column with block sum v over n samples is |v| / sqrt(n) as the bits of a double, the
 * low 6 bits replaced by the level of its block (63: column 0). One integer comparison finds the
 * larger inner product (to 46 bits), and of equals the coarser; of those the leftmost is taken,
 * which is the smallest column number. */
#pragma once

#include <math.h>
#include <string.h>

#include "haar/tree.h"

__extension__ typedef __int128 csrec_wide;

CSREC_BOTH int64_t csrec_pursuit_key(double v, double scale, int level) {
    double score = fabs(v) * scale;
    int64_t bits;
    memcpy(&bits, &score, sizeof bits);
    return (bits & ~INT64_C(63)) | level;
}

/* Units in 1.0: the power of two 2^q. 1 for y = 0. */
double csrec_pursuit_units(int64_t n, const double *y);

/* The step for block sum v over n samples, d = v / n rounded to a unit (a multiplication by the
 * rounded reciprocal, so that a table of reciprocals gives the same), and what it takes from
 * ||r||^2: (2 v - d n) d, exact. Never negative; 0 means that r cannot be improved. */
CSREC_BOTH double csrec_pursuit_step(double v, double size) {
    return rint(v * (1.0 / size));
}

CSREC_BOTH csrec_wide csrec_pursuit_gain(double v, double size, double d) {
    return ((csrec_wide)2 * (int64_t)v - (csrec_wide)(int64_t)d * (int64_t)size) * (int64_t)d;
}

CSREC_BOTH double csrec_wide_double(csrec_wide w) {
    return (double)(int64_t)(w >> 64) * 0x1p64 + (double)(uint64_t)w;
}

/* A pursuit. All implementations pick the same columns and give bit-identical results. */
typedef struct csrec_pursuit_type {
    /* y: [n] */
    csrec_status (*create)(const csrec_tree *tree, const double *y, void **state);
    void (*destroy)(void *state);
    /* max |<r, Psi_i>|, in the units of y; stores the column. On failure: - csrec_status. */
    double (*select)(void *state);
    /* Subtracts the selected column's part from r. false: no further decrease is possible. */
    bool (*update)(void *state);
    /* ||r||^2, in the units of y squared. */
    double (*energy)(const void *state);
    /* Results: x with each column once (atoms may be NULL), and r = y - Psi x with y as given (r
     * may be NULL). */
    csrec_status (*result)(const void *state, const double *y, csrec_atoms *atoms, double *r);
} csrec_pursuit_type;

extern const csrec_pursuit_type csrec_pursuit_eager;     /* the row tree, kept up to date */
extern const csrec_pursuit_type csrec_pursuit_reference; /* a transform per iteration */

/* ---- Orthogonal Matching Pursuit on the row tree, as a pursuit. */

/* y must outlive it. Atoms are numbered by the operator's columns, count 0 (csrec_tree_places). */
extern const csrec_pursuit_type csrec_pursuit_orthogonal;
