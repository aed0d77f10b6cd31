/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.h - grids over the ranks of a communicator. Batches of consecutive grids go to the ranks in
 * turn, and each rank runs the pursuits of its batches without waiting. The sums over the grids
 * then travel from the rank of a batch to that of the next one, which adds its grids one after
 * another. So every value receives its terms in the order of the grids: the bits of one process,
 * whatever the number of ranks. Sums travel in chunks, so that ranks add at the same time, and end
 * on rank 0.
 *
 * Without a communicator the one rank has all batches, and no sums travel.
 *
 *     status = csrec_grids_chain_open(&chain, batch, error);
 *     while (!status && !stopped && csrec_grids_chain_next(&chain, &first, &count)) {
 *         ...                                       // pursuits
 *         status = csrec_grids_chain_take(&chain, error); // chain.added grids are in the sums
 *         if (chain.over) break;                    // another rank was stopped
 *         status = csrec_grids_chain_give(&chain, chain.added + count, error);
 *         for each chunk: csrec_grids_chain_receive, add, csrec_grids_chain_send
 *         chain.turn++;
 *     }
 *     if (!status) status = csrec_grids_chain_close(&chain, error); */
#pragma once

#include "csrec/comm.h"
#include "method/history.h"
#include "method/method.h"

typedef struct csrec_grids_chain {
    csrec_comm *comm;
    int64_t shifts, channels;
    int64_t
        length;  /* values that travel: on rank 0 set by the caller, on others known after take */
    double *sum; /* [length] on rank 0: where they end */
    /* Called while it waits for others: reports progress. */
    void (*waits)(void *context);
    void *context;
    int64_t added; /* grids in the sums */
    bool over;     /* the sums have ended: no more grids are added */
    int64_t turn;  /* this rank's batches that are done */
    /* of chain.c */
    int64_t batch; /* grids of a batch */
    bool ended;    /* rank 0: the sums are here */
} csrec_grids_chain;

/* Whether sums travel. */
bool csrec_grids_chain_shared(const csrec_grids_chain *chain);

/* All ranks take rank 0's number of grids in a batch: `most`, or so few that each has one. */
csrec_status csrec_grids_chain_open(csrec_grids_chain *chain, int64_t most, csrec_error *error);

/* This rank's batch of grids; false: there is none, or the sums have ended. */
bool csrec_grids_chain_next(csrec_grids_chain *chain, int64_t *first, int64_t *count);

/* Waits for the sums of all grids before this batch, to be received; sets added, or over. */
csrec_status csrec_grids_chain_take(csrec_grids_chain *chain, csrec_error *error);

/* Announces the sums that are sent next, of `added` grids. */
csrec_status csrec_grids_chain_give(csrec_grids_chain *chain, int64_t added, csrec_error *error);

/* Values of the chunk from `at` on, of whole entries; 0: no more. */
int64_t csrec_grids_chain_chunk(const csrec_grids_chain *chain, int64_t at);

/* A chunk, in its turn: values has room for that at 0, which is the longest. */
csrec_status csrec_grids_chain_receive(const csrec_grids_chain *chain, int64_t at, double *values,
                                       csrec_error *error);
csrec_status csrec_grids_chain_send(const csrec_grids_chain *chain, int64_t at,
                                    const double *values, csrec_error *error);

/* On all ranks, after their batches or a stop: rank 0 has the sums then, and added. */
csrec_status csrec_grids_chain_close(csrec_grids_chain *chain, csrec_error *error);

/* ---- one grid of the mean on the CPU: its samples in the order of their rows, its operator,
 * the pursuits' results, and their fit. */

typedef struct csrec_grid_run {
    csrec_grid grid;
    csrec_operator *A;
    uint64_t *rows;     /* [n] ascending; NULL unless the pursuit is shared */
    int64_t *order;     /* [n] sample of each row */
    csrec_atoms *atoms; /* [channels] */
    csrec_solve_report *reports;
    csrec_pool pool;     /* of the following arrays */
    csrec_status status; /* status of building it */
    csrec_error error;
} csrec_grid_run;

/* context: of the operator; NULL: a pursuit that is shared has the rows in its place. On failure
 * run->error has the text; in any case csrec_grid_run_clear frees it. Several threads may each
 * create one. */
csrec_status csrec_grid_run_create(const csrec_measurement *m, const csrec_recover_options *options,
                                   const csrec_context *context, int64_t number,
                                   csrec_grid_run *run);
void csrec_grid_run_clear(csrec_grid_run *run, int64_t channels);

/* sums [entries * channels] += the fits; squares, or NULL, += their squares. */
csrec_status csrec_grid_run_add(const csrec_grid_run *run, int64_t channels, int threads,
                                double *sums, double *squares);

/* ---- a device's interface for the mean over plain grids. */

typedef struct csrec_grids_engine {
    /* Runs all grids of the recovery, bit-identical on every device. CSREC_UNSUPPORTED: not this
     * solver or size. */
    csrec_status (*run)(const csrec_recovery *recovery, csrec_error *error);
} csrec_grids_engine;

/* Grids of a batch on the CPU: what is kept at a time. */
int64_t csrec_grids_batch(int threads, const csrec_recover_options *options);

extern const csrec_grids_engine csrec_grids_cpu, csrec_grids_cuda;
