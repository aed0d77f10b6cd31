/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - an operator's state on a CUDA device, for solvers that run on the device. */
#pragma once

#include <pthread.h>

#include "kernels/operator/operator.h"
#include "operator/engine.h"

struct csrec_operator_state {
    csrec_operator_type type; /* the operator type with the device's products */
    csrec_cuda_operator *op;
    void *kept; /* a solver's data kept with the operator, and the function that frees it */
    void (*drop)(void *kept);
    pthread_mutex_t own;     /* the device's buffers serve one call at a time */
    pthread_mutex_t **locks; /* [n_locks] its own and, of a chain, its factors', by address */
    int n_locks;
};

/* Around each use of A's buffers on the device, by any thread. No callback of a user runs between.
 */
void csrec_cuda_operator_begin(const csrec_operator *A);
void csrec_cuda_operator_end(const csrec_operator *A);
