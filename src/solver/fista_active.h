/* SPDX-License-Identifier: BSD-3-Clause */
/* fista_active.h - the l1 problem on an operator with its columns in memory: solves it on a working
 * set of columns and proves that no other column belongs to the set. */
#ifndef CSREC_SOLVER_FISTA_ACTIVE_H
#define CSREC_SOLVER_FISTA_ACTIVE_H

#include "solver/support.h"

typedef struct csrec_active csrec_active;

/* For the share `lambda` > 0 of max_j |<a_j, y>|, from s->x and s->r. A: s->A, or another operator
 * with the same columns, which outlives the rounds. *active is NULL if A has no
 * column access or x has too many non-zero entries. CSREC_MEMORY. */
csrec_status csrec_active_create(csrec_support *s, const csrec_operator *A, double lambda,
                                 csrec_active **active);
void csrec_active_destroy(csrec_active *active);

/* The columns of an operator that is known by products, computed when steps have cost as much. */
typedef struct csrec_active_columns {
    csrec_operator *stored; /* or NULL; the solver destroys it after the rounds */
    int64_t walked;         /* steps */
} csrec_active_columns;

/* Counts a step. Whether it is time to store columns, which take no more than 64 MiB. */
bool csrec_active_is_due(csrec_active_columns *columns, const csrec_support *s);

/* Stores them for csrec_active_create; *active is NULL, too, if there is no memory for them. */
csrec_status csrec_active_store(csrec_active_columns *columns, csrec_support *s, double lambda,
                                csrec_active **active);

/* Result of a round: x and r have improved; they are the minimum, or the run is stopped; or steps
 * on all columns have to go on from here: more columns are needed than a Gram matrix pays for, or
 * rounds help no longer and x is not the minimum. */
typedef enum csrec_round {
    CSREC_ROUND_BETTER,
    CSREC_ROUND_DONE,
    CSREC_ROUND_FULL,
    CSREC_ROUND_STUCK
} csrec_round;

/* The lambda of the last round, which falls to that of csrec_active_lambda. */
double csrec_active_reached(const csrec_active *active);

/* The lambda that rounds lead to. */
double csrec_active_lambda(const csrec_active *active);

/* The next rounds are for this lambda > 0, in the units of <a_j, y>. */
void csrec_active_aim(csrec_active *active, double lambda);

csrec_round csrec_active_round(csrec_active *active);

#endif
