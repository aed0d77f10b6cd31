/* sparse.h - the target sparsity k of the solvers that keep k columns. */
#ifndef CSREC_SOLVER_SPARSE_H
#define CSREC_SOLVER_SPARSE_H

#include "solver/support.h"

/* The table row of parameter "k", and its value: 0 stands for a quarter of the samples. Refuses
 * more than m or n. Of complex x, m and n are those of complex numbers. */
#define CSREC_SPARSE_PARAM                                                                         \
    { "k", 0, 0, 9e15, "columns to keep; 0: a quarter of the samples" }

csrec_status csrec_sparse_target(const csrec_run *run, int64_t per_sample, int64_t *k,
                                 csrec_error *error);

/* run->state = a csrec_support at the front of `size` zeroed bytes. */
csrec_status csrec_sparse_create(csrec_run *run, size_t size, csrec_error *error);
void csrec_sparse_destroy(csrec_run *run);

#endif
