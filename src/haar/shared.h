/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h - the exact Matching Pursuit of one signal by all processes of a communicator.
 *
 * Each process runs the pursuits of its pieces ahead (pieces.h), down to a common threshold of the
 * key. What a column above the pieces might reach meanwhile is bounded from how far the pieces'
 * sums moved; as long as no bound comes up to the threshold, and no stopping rule either, all picks
 * above it are right, in whatever order they were made. If a bound does, the interval of thresholds
 * in which it does is divided; the last few picks are exchanged and put into their order. All
 * processes decide alike, as they know the same numbers. */
#pragma once

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
    const csrec_pieces_type *type; /* the engine; NULL: csrec_pieces_cpu */
    int threads;
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
 * atoms: on the first process; may be NULL.
 * CSREC_MEMORY, or what a communicator returns. */
csrec_status csrec_shared_pursuit(const csrec_shared_job *job, csrec_atoms *atoms,
                                  csrec_shared_report *report, csrec_error *error);

/* ---- state of a shared pursuit, between rounds.c, which goes on from threshold to
 * threshold, cut.c, which puts a few picks into order, and shared.c, which begins and ends. */

/* ---- every process gets a block of bytes from each: ceil(log2(processes)) messages each
 * (Bruck et al. 1997, "Efficient algorithms for all-to-all communications"). */

/* Zero-initialised but for comm, which may be NULL: one process. The blocks lie one after another,
 * this process's first, then those of the ranks above it, and then from rank 0 on. Their sizes are
 * multiples of 16. */
typedef struct csrec_gather {
    csrec_comm *comm;
    char *data;   /* the blocks */
    size_t *end;  /* [processes] of the blocks */
    size_t room;  /* of data */
    int64_t sent; /* messages, and their bytes, so far */
    int64_t sent_bytes;
} csrec_gather;

/* All processes call it. CSREC_MEMORY, or what the communicator returns. */
csrec_status csrec_gather_all(csrec_gather *g, const void *own, size_t bytes, csrec_error *error);

/* What a rank gave, valid until the next call. */
const void *csrec_gather_of(const csrec_gather *g, int rank, size_t *bytes);

void csrec_gather_clear(csrec_gather *g);

typedef struct csrec_rounds {
    const csrec_shared_job *job;
    csrec_shared_report *report;
    csrec_cut cut;
    int *owner;       /* [pieces] process */
    int32_t *own;     /* [own pieces] their numbers */
    int32_t *place;   /* [pieces] among this process's; -1: another's */
    int32_t *suspect; /* [tops] whose columns may be picked in the interval looked at last */
    int32_t suspects;
    int64_t *settled; /* [own pieces] */
    int64_t few;      /* picks to exchange */
    csrec_pool pool;  /* of what the pieces are */
    csrec_pieces_job pieces;
    const csrec_pieces_type *type;
    void *engine;
    csrec_steps *steps; /* [own pieces] */
    csrec_gather gather;
    const csrec_stretch **stretch; /* of all processes, by interval; the interval's begin there */
    int64_t begin[CSREC_INTERVALS + 1];
    char *message; /* [room] */
    size_t room;
    /* The same on all processes. */
    double units;
    csrec_wide energy;
    int64_t iterations;
    bool stop; /* a process asks to */
    bool ended;
    csrec_outcome outcome;
    /* Keys. Pieces run to theta, and never below floor, where all coefficients are too small. The
     * next exchange looks at low .. high - 1 if high > low. */
    int64_t theta, floor, step, low, high;
    int intervals;
    int64_t threshold[CSREC_INTERVALS];
    csrec_interval interval[CSREC_INTERVALS];
    int64_t next;        /* largest m beyond the last interval */
    int64_t batch, made; /* picks wanted from theta to the next, and settled since the last */
} csrec_rounds;

/* What is first in a message of a survey; the intervals and then the stretches follow. */
typedef struct csrec_rounds_head {
    int64_t status, stop, stretches, next;
} csrec_rounds_head;

/* Ends the pursuit. */
void csrec_rounds_end(csrec_rounds *r, csrec_outcome outcome);
/* Ends it if a rule that is looked at before each pick says so. */
bool csrec_rounds_over(csrec_rounds *r);

/* The first survey: the pieces' sums and energies. status: this process's so far, and why it
 * failed. */
csrec_status csrec_rounds_begin(csrec_rounds *r, csrec_status status, const csrec_error *why,
                                csrec_error *error);
/* All picks. */
csrec_status csrec_rounds_run(csrec_rounds *r, csrec_error *error);

/* Picks the column, takes back what it invalidates, or ends. */
void csrec_rounds_pick(csrec_rounds *r, const csrec_top_pick *pick);

/* Exchanges the unsettled picks with m >= threshold, and makes them in their order up to the end,
 * the first pick above the pieces, or the last. */
csrec_status csrec_rounds_merge(csrec_rounds *r, int64_t threshold, csrec_error *error);
