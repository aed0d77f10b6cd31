/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - solvers on the operator's CUDA device. */
#include "kernels/operator/engine.h"
#include "kernels/solver/omp.h"
#include "solver/engine.h"

static void drop(void *plan) {
    csrec_cuda_omp_destroy(plan);
}

/* The plan stays with the operator for the next call. */
static csrec_status solve(const csrec_omp_part *part, const csrec_omp_result *result) {
    csrec_operator_state *state = part->A->state;
    csrec_cuda_operator_begin(part->A);
    csrec_cuda_omp_plan *plan = state->kept;
    csrec_status status = csrec_cuda_omp_run(state->op, &plan, part, result, NULL);
    state->kept = plan;
    state->drop = drop;
    csrec_cuda_operator_end(part->A);
    return status;
}

static csrec_status omp(const struct csrec_many *job, int64_t room) {
    return csrec_omp_in_parts(job, room, solve);
}

const csrec_solver_engine csrec_solver_cuda = {.omp = omp};
