/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h - the exact Matching Pursuit of one signal by all processes of a communicator.
 *
 * Each process runs the pursuits of its pieces ahead (pieces.h), down to a common threshold of the
 * key. What a column above the pieces might reach meanwhile is bounded from how far the pieces'
 * sums moved; as long as no bound comes up to the threshold, and no stopping rule either, all picks
 * above it are right, in whatever order they were made. If a bound does, the interval of thresholds
 * in which it does is divided; the last few picks are exchanged and put into their order. All
 * processes decide alike, as they know the same numbers.
 */
#ifndef CSREC_HAAR_SHARED_H
#define CSREC_HAAR_SHARED_H

#include "csrec/comm.h"
#include "csrec/solve.h"
#include "haar/pieces.h"

typedef struct csrec_shared_job {
    csrec_comm *comm; /* NULL: one process */
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] ascending */
    const double *y;      /* [n] */
    csrec_columns columns;
    int64_t limit; /* most iterations */
    double goal;   /* stop at ||r||^2 <= goal */
    double small;  /* stop at coefficients below this */
    bool (*stops)(void *context, int64_t iterations, double energy); /* or NULL */
    void *context;
    csrec_context where;           /* the pieces are; on a device r is not to be had */
    const csrec_pieces_type *type; /* the engine; NULL: that of the device */
    int threads;                   /* of the CPU */
    bool residual;                 /* r is wanted */
    bool scattered; /* each process gets the atoms of its own pieces, not the first one all */
    /* How the work is divided, which does not change the result; 0: as suits the size. */
    int64_t most;  /* samples of a piece */
    int64_t log;   /* picks ahead of a piece: a power of two */
    int64_t few;   /* picks that are exchanged one by one */
    int64_t batch; /* picks from one exchange to the next */
} csrec_shared_job;

typedef struct csrec_shared_report {
    csrec_outcome outcome;
    int64_t iterations;
    double energy; /* ||r||^2 */
    /* Of this process, but for the first three. */
    int64_t rounds, tops, merged; /* exchanges; picks above the pieces, and put into order */
    int64_t picks, undone;        /* of its pieces; made, and taken back */
    int64_t messages, bytes;      /* sent */
    double waited;                /* seconds in exchanges */
} csrec_shared_report;

/* The same picks as csrec_pursuit_eager, to the bit. All processes call it with the same job.
 * atoms, r [n]: on the first process the results, or each process's part of them if scattered (of r
 * the samples of its pieces; others are unchanged); either may be NULL where it is not given.
 * CSREC_MEMORY, or what a communicator returns. */
csrec_status csrec_shared_pursuit(const csrec_shared_job *job, csrec_atoms *atoms, double *r,
                                  csrec_shared_report *report, csrec_error *error);

#endif
