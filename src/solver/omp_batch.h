/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_batch.h - OMP of many right-hand sides on one dense matrix, through its Gram matrix. */
#ifndef CSREC_SOLVER_OMP_BATCH_H
#define CSREC_SOLVER_OMP_BATCH_H

#include "solver/solver.h"

/* The entry `many` of omp. CSREC_UNSUPPORTED if solving one by one is better: other operators, a
 * Gram matrix that costs more than it saves, few right-hand sides. */
csrec_status csrec_omp_batch(const csrec_many *job);

#endif
