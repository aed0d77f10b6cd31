/* SPDX-License-Identifier: BSD-3-Clause */
/* omp.h - Batch-OMP on the device: many right-hand sides on one stored matrix (solver/omp_batch.c
 * is the CPU's).
 *
 * The Gram matrix of the unit columns and their products with a part of the right-hand sides come
 * from a tiled product; then a block of threads takes a signal from its first pick to its last,
 * with the Cholesky factor in shared memory. All in double: the picks are the CPU's but for columns
 * whose correlations differ by rounding. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "kernels/operator/operator.h"
#include "solver/engine.h"

/* The unit columns, their Gram matrix and buffers, kept between calls with the same `room`. */
typedef struct csrec_cuda_omp_plan csrec_cuda_omp_plan;

/* Solves job on the matrix of op. *plan: NULL, or of an earlier call with op; made or made anew
 * where it does not fit the job. CSREC_UNSUPPORTED: the factor of job->room columns, or a residual,
 * exceeds the device's shared memory. */
csrec_status csrec_cuda_omp_run(csrec_cuda_operator *op, csrec_cuda_omp_plan **plan,
                                const csrec_omp_part *job, const csrec_omp_result *result,
                                csrec_error *error);
void csrec_cuda_omp_destroy(csrec_cuda_omp_plan *plan);

CSREC_C_END
