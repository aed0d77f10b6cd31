/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.h - the target sparsity k of the solvers that keep k columns. */
#ifndef CSREC_SOLVER_SPARSE_H
#define CSREC_SOLVER_SPARSE_H

#include "solver/support.h"

/* The table row of parameter "k". */
#define CSREC_SPARSE_PARAM                                                                         \
    { "k", 0, 0, 9e15, "columns to keep; 0: a quarter of the samples" }

/* run->state = a csrec_support at the front of `size` zeroed bytes. */
csrec_status csrec_sparse_create(csrec_run *run, size_t size, csrec_error *error);

/* The same, and its k, where 0 stands for a quarter of the samples. Refuses more than m or n. Of
 * complex x, k, m and n count complex numbers. Of a start the k entries are kept that have the
 * largest share ||a_j|| |x_j|; their columns are chosen. */
csrec_status csrec_sparse_begin(csrec_run *run, size_t size, csrec_error *error);

#endif
