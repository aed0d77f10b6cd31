/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h - shared state of the parts of a recovery on a CUDA device. */
#pragma once

#include "csrec/recover.h"
#include "base/call.h"
#include "method/grids/chain.h"
#include "kernels/method/grids/signal.h"
#include "kernels/method/grids/synthesis.h"

enum { CSREC_CUDA_PART = 256 }; /* grids at most in a part */

/* Device memory that stays from the first grid to the last. */
typedef struct csrec_cuda_workspace {
    csrec_cuda_block block;
    int64_t *index;        /* [n] */
    double *y;             /* [n * channels]; batches only */
    uint64_t *rows;        /* [n] of one grid, not yet sorted */
    uint32_t *sample;      /* [n] 0 .. n - 1 */
    csrec_cuda_grid *grid; /* [CSREC_CUDA_PART] */
    void *scratch;         /* of the sort and, for batches, the tree */
    double *signal;        /* [entries * channels], or NULL if only atoms are wanted */
} csrec_cuda_workspace;

/* Rows and order of one grid: a block each. */
typedef struct csrec_cuda_plane {
    csrec_cuda_block block;
    uint64_t *rows;  /* [n] ascending */
    uint32_t *order; /* [n] sample of each row */
} csrec_cuda_plane;

typedef struct csrec_cuda_job {
    const csrec_context *context;
    const csrec_measurement *m;
    const csrec_recover_options *options;
    int64_t entries; /* 0: only atoms are wanted */
    csrec_cuda_workspace work;
    csrec_recover_report report;
    csrec_grids_chain chain; /* which grids are this rank's; its length is that of the signal */
    csrec_progress last;     /* the last report */
    csrec_ticker pace;       /* of reports while it waits for others */
    bool stopped;
    csrec_error *error;
} csrec_cuda_job;

/* Rows and order of grid `number`; its description becomes work.grid[place]. The plane is
 * destroyed by the caller, also on failure. */
csrec_status csrec_cuda_plane_create(csrec_cuda_job *job, int64_t number, int64_t place,
                                     csrec_cuda_plane *plane);

/* Reports progress; returns true after a request to stop. */
bool csrec_cuda_hear(csrec_cuda_job *job, const csrec_progress *now);

/* Adds the sums over this rank's grids to those of the grids before (engine.c): without ranks to
 * work.signal, over all grids. atoms: as those of a csrec_recovery. */
csrec_status csrec_cuda_run_batches(csrec_cuda_job *job, csrec_atoms *atoms);
csrec_status csrec_cuda_run_sequential(csrec_cuda_job *job, csrec_atoms *atoms);

/* Passes the sums on, chunk by chunk: receives them into work.signal, if they are to be received;
 * adds to `count` entries from `first` on, if add is not NULL; sends them, if they are to be sent.
 * Without ranks it adds to all entries at once. */
typedef struct csrec_cuda_pass {
    bool receive, send;
    csrec_status (*add)(void *context, int64_t first, int64_t count, csrec_error *error);
    void *context;
} csrec_cuda_pass;

csrec_status csrec_cuda_sum_pass(csrec_cuda_job *job, const csrec_cuda_pass *pass);
