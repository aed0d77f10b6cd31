/* omp_backend.h - Batch-OMP where the operator's backend has a way of its own. */
#ifndef CSREC_SOLVER_OMP_BACKEND_H
#define CSREC_SOLVER_OMP_BACKEND_H

#include "solver/solver.h"

/* job on a dense operator, at most `room` columns each. CSREC_UNSUPPORTED: the backend has no way
 * of its own, or not for this one. */
csrec_status csrec_omp_on_backend(const csrec_many *job, int64_t room);

#endif
