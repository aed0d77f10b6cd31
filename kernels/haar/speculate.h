/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate.h - Matching Pursuit on the sampled Haar matrix for one large signal, on the device
 * from first to last pick, with the picks, coefficients and residual of csrec_pursuit_eager to the
 * bit.
 *
 * The row tree is split into subtrees that run their own pursuits at the same time; picks that a
 * pick above the subtrees invalidates are rolled back (speculate.cu). */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "csrec/solve.h"

typedef struct csrec_speculate_problem {
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] ascending distinct; in host or device memory */
    const double *y;      /* [n] finite; in host memory */
    csrec_columns columns;
} csrec_speculate_problem;

typedef struct csrec_speculate_options {
    csrec_stop stop;
    csrec_progress_fn progress; /* polled by the host about every 10 ms; may be NULL */
    void *context;
    int32_t subtree; /* samples of a subtree at most; 0: chosen by size */
} csrec_speculate_options;

typedef struct csrec_speculate_report {
    csrec_solve_report solve;
    int64_t rounds; /* picks above the subtrees included */
    int64_t top;    /* picks above the subtrees */
    int64_t undone; /* picks rolled back */
    int64_t subtrees;
    size_t bytes; /* device memory used */
    double build_ms, pursuit_ms, result_ms;
} csrec_speculate_report;

/* As csrec_solve with solver mp on the haar operator; report may be NULL. One signal must fit:
 * CSREC_MEMORY names the bytes needed and available. CSREC_DEVICE: CUDA failed, or the device
 * cannot hold a cooperative kernel. CSREC_UNSUPPORTED: the stagnation rule is not implemented. */
csrec_status csrec_speculate_solve(const csrec_speculate_problem *problem,
                                   const csrec_speculate_options *options, csrec_atoms *atoms,
                                   csrec_speculate_report *report, csrec_error *error);

CSREC_C_END
