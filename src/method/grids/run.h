/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - one grid of the mean on the CPU: its samples in the order of their rows, its operator,
 * the pursuits' results, and their fit. */
#ifndef CSREC_METHOD_GRIDS_RUN_H
#define CSREC_METHOD_GRIDS_RUN_H

#include "csrec/recover.h"
#include "base/pool.h"
#include "method/grid.h"
#include "operator/operator.h"

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

#endif
