/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - what solvers do on the device that has the operator. */
#pragma once

#include "csrec/solve.h"
#include "operator/operator.h"

struct csrec_many; /* solver.h */

typedef struct csrec_solver_engine {
    /* Batch-OMP of all right-hand sides on a dense operator, at most `room` columns each.
     * CSREC_UNSUPPORTED: not of these. */
    csrec_status (*omp)(const struct csrec_many *job, int64_t room);
} csrec_solver_engine;

extern const csrec_solver_engine csrec_solver_cpu, csrec_solver_cuda;

/* Some of the right-hand sides. */
typedef struct csrec_omp_part {
    const csrec_operator *A; /* dense */
    int64_t count, room;     /* right-hand sides; columns at most, of each */
    const double *y;         /* [count][m] finite */
    const csrec_stop *stop;
} csrec_omp_part;

/* Columns in the order of their picks, and A's coefficients on them. outcome < 0: not solved here,
 * as columns nearly depend on each other; the rest of that one means nothing. */
typedef struct csrec_omp_result {
    int32_t *outcome;    /* [count] a csrec_outcome */
    int32_t *size;       /* [count] columns picked */
    int32_t *iterations; /* [count] */
    double *residual;    /* [count] ||r|| / ||y|| */
    int32_t *column;     /* [count][room] */
    double *coefficient; /* [count][room] */
    double *r;           /* [count][m], or NULL */
} csrec_omp_result;

/* The entry `omp` of a device that solves a part at a time. CSREC_UNSUPPORTED: a residual of each
 * step is wanted, or the device says so. */
csrec_status csrec_omp_in_parts(const struct csrec_many *job, int64_t room,
                                csrec_status (*solve)(const csrec_omp_part *part,
                                                      const csrec_omp_result *result));
