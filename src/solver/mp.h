/* SPDX-License-Identifier: BSD-3-Clause */
/* mp.h - Matching Pursuit on the sampled Haar matrix by several processes or threads. */
#pragma once

#include "csrec/comm.h"
#include "csrec/recover.h"
#include "solver/solver.h"

typedef struct csrec_mp_job {
    csrec_comm *comm; /* NULL: one process */
    int threads;      /* of this process */
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] ascending */
    const double *y;      /* [n] */
    csrec_columns columns;
    const csrec_solve_options *options;
} csrec_mp_job;

/* Whether csrec_mp_shared knows the options: solver mp without start, stagnation or reference. */
bool csrec_mp_shares(const csrec_solve_options *options);

/* The bits that csrec_solve gives with solver mp on operator haar. All processes call it with the
 * same job; atoms, which may be NULL, are given on the first, and the report on all. Every process
 * asks its own options->progress, and one that stops stops all. Adds this process's exchanges. */
csrec_status csrec_mp_shared(const csrec_mp_job *job, csrec_atoms *atoms,
                             csrec_solve_report *report, csrec_exchanges *exchanges,
                             csrec_error *error);

/* Adds what others, or another pursuit, exchanged. */
void csrec_exchanges_add(const csrec_exchanges *one, csrec_exchanges *all);

/* ---- Matching Pursuit's search for any operator: all correlations, argmax, subtract. Used
 * if an operator has no search of its own. */

extern const csrec_atom_search csrec_search_any;
