/* SPDX-License-Identifier: BSD-3-Clause */
/* tv.h - the signal of least total variation among those that fit the measurements:
 *
 *     min_x sum_i sqrt(sum_a (w_a D_a x)_i^2)    such that ||A x - y||_2 <= eps
 *
 * D_a is the difference to the next entry along axis a, 0 at the last one; colours, and real and
 * imaginary parts, are under one root (Rudin, Osher and Fatemi 1992; Blomgren and Chan 1998).
 *
 * Where A^T A is diagonal in the frequencies, by alternating directions (tv_fourier.c). Else by
 * primal-dual steps (Chambolle and Pock 2011, algorithm 1, over-relaxed as Condat 2013, algorithm
 * 3.1): where A A^T = c I, or has small blocks (inverse.h), the constraint is kept in every step by
 * projection; else it is a second dual variable. */
#pragma once

#include "method/products.h"

typedef struct csrec_tv_problem {
    const csrec_measured *data;
    double weight[3]; /* w_a of the axes of csrec_mask_extents; 0 leaves one out */
    bool together;    /* channels under one root; else each by itself */
    int threads;
    int64_t iterations; /* at most */
    double tolerance;   /* ends when a step moves x by less than this share of its length, and the
                           dual variables, of length 1 at most, by less than this in the mean */
} csrec_tv_problem;

/* Places of the signal's values. */
typedef struct csrec_tv_grid {
    int64_t entries, width, values; /* width: values of an entry, all channels */
    int64_t group;                  /* values that share a root: of an entry, or of a channel */
    int64_t extent[3], stride[3];   /* between neighbours, in values */
} csrec_tv_grid;

csrec_tv_grid csrec_tv_grid_of(const csrec_tv_problem *problem);

/* The method's defaults for these measurements. */
csrec_tv_problem csrec_tv_defaults(const csrec_measured *data, int threads);

/* x [data->values]: the result. *done receives the iterations;
 * stopped by the call, x is the best so far. CSREC_MEMORY, and faults of A. */
csrec_status csrec_tv_solve(const csrec_tv_problem *problem, csrec_call *call, double *x,
                            int64_t *done);

/* The same where A^T A is diagonal in the frequencies, else *fits is false and x
 * is not set. */
csrec_status csrec_tv_fourier(const csrec_tv_problem *problem, csrec_call *call, double *x,
                              int64_t *done, bool *fits);
