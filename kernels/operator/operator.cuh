/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.cuh - declarations shared by the kinds of operators on the device. */
#pragma once

#include "kernels/device/device.h"
#include "kernels/operator/operator.h"
#include "kernels/device/pipe.h"

/* First member of every kind's struct. */
struct csrec_cuda_operator {
    int device;
    int64_t m, n, entries; /* entries 0: neither SYNTHESIZE nor ANALYZE */
    bool unit;             /* columns of length 1 or 0: correlations are the adjoint */
    bool normed;           /* norms are known */
    /* Takes the kind's arrays from the block by csrec_cuda_operator_take; called twice (device.h).
     */
    void (*lay_out)(csrec_cuda_operator *op, csrec_cuda_block *block);
    /* Queues a product between device vectors; overwrites `in`. CSREC_UNSUPPORTED: NORMS have none
     * of their own. */
    csrec_status (*queue)(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error);
    void (*destroy)(csrec_cuda_operator *op); /* frees what is not in the block; may be NULL */
    csrec_cuda_block block;
    csrec_cuda_pipe pipe;
    double *in, *out;   /* device copies of the host's vectors */
    double *norms;      /* [n] */
    csrec_status fault; /* of an array that is filled, and its line: while it is made */
    csrec_error *error;
};

static inline csrec_cuda_operator
csrec_cuda_operator_of(int64_t m, int64_t n, decltype(csrec_cuda_operator::lay_out) lay_out,
                       decltype(csrec_cuda_operator::queue) queue) {
    csrec_cuda_operator op = {};
    op.m = m;
    op.n = n;
    op.lay_out = lay_out;
    op.queue = queue;
    return op;
}

/* Takes memory for the kind `op` [bytes], whose fields are copied, and fills it; what names it in
 * an error message. */
csrec_status csrec_cuda_operator_open(const csrec_cuda_operator *op, size_t bytes, const char *what,
                                      csrec_cuda_operator **made, csrec_error *error);

/* Copies an array of the host to the device. */
csrec_status csrec_cuda_operator_fill(csrec_cuda_operator *op, void *to, const void *from,
                                      int64_t count, size_t size, csrec_error *error);

/* An array of the block; as it is taken, it gets a copy of the host's, unless that is NULL. */
template <class T>
static inline void csrec_cuda_operator_take(csrec_cuda_operator *op, csrec_cuda_block *block,
                                            int64_t count, T **array, const T *from) {
    csrec_cuda_take(block, count, array);
    if (from && block->base && !op->fault)
        op->fault = csrec_cuda_operator_fill(op, *array, from, count, sizeof(T), op->error);
}

/* op->norms, computed once. */
csrec_status csrec_cuda_operator_norms(csrec_cuda_operator *op, csrec_error *error);

/* The columns [n][m] of an operator made by csrec_cuda_operator_dense. */
const double *csrec_cuda_operator_columns(const csrec_cuda_operator *op);

/* The sampled entries: y = signal[index], and back with 0 elsewhere. */
struct csrec_cuda_samples {
    int64_t entries, m;
    int64_t *index; /* [m] */
};

/* Those of the mask. */
void csrec_cuda_samples_take(csrec_cuda_operator *op, csrec_cuda_block *block,
                             csrec_cuda_samples *samples, const csrec_mask *mask);
csrec_status csrec_cuda_samples_gather(const csrec_cuda_samples *samples, const double *signal,
                                       double *y, csrec_error *error);
/* y NULL: ones. */
csrec_status csrec_cuda_samples_scatter(const csrec_cuda_samples *samples, const double *y,
                                        double *signal, csrec_error *error);

enum { CSREC_CUDA_THREADS = 256 };
