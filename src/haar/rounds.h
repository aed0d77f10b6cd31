/* SPDX-License-Identifier: BSD-3-Clause */
/* rounds.h - state of a shared pursuit, between rounds.c, which goes on from threshold to
 * threshold, merge.c, which puts a few picks into order, and shared.c, which begins and ends. */
#ifndef CSREC_HAAR_ROUNDS_H
#define CSREC_HAAR_ROUNDS_H

#include "haar/gather.h"
#include "haar/shared.h"

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
bool csrec_rounds_reached(const csrec_rounds *r, csrec_wide energy);

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

#endif
