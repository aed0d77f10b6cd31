/* job.h - shared state of the parts of a recovery on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_GRIDS_JOB_H
#define CSREC_KERNELS_METHOD_GRIDS_JOB_H

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
    bool stopped;
    csrec_error *error;
} csrec_cuda_job;

/* Rows and order of grid `number`; its description becomes work.grid[place]. The plane is
 * destroyed by the caller, also on failure. */
csrec_status csrec_cuda_plane_create(csrec_cuda_job *job, int64_t number, int64_t place,
                                     csrec_cuda_plane *plane);

/* Adds the sums over all grids to work.signal; *added: grids, fewer than asked for if stopped.
 * atoms: as those of a csrec_recovery. */
csrec_status csrec_cuda_run_batches(csrec_cuda_job *job, csrec_atoms *atoms, int64_t *added);
csrec_status csrec_cuda_run_sequential(csrec_cuda_job *job, csrec_atoms *atoms, int64_t *added);

#endif
