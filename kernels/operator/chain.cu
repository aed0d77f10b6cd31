/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.cu - the product of two operators; the intermediate vector stays on the device. */
#include "kernels/operator/operator.cuh"

typedef struct chain_operator {
    csrec_cuda_operator op;
    csrec_cuda_operator *first, *second;
    double *between; /* [first->m] */
} chain_operator;

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    chain_operator *own = (chain_operator *)op;
    csrec_cuda_take(block, own->first->m, &own->between);
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    chain_operator *own = (chain_operator *)op;
    if (product != CSREC_CUDA_FORWARD && product != CSREC_CUDA_ADJOINT) return CSREC_UNSUPPORTED;
    csrec_cuda_operator *before = product == CSREC_CUDA_FORWARD ? own->first : own->second;
    csrec_cuda_operator *last = product == CSREC_CUDA_FORWARD ? own->second : own->first;
    csrec_status status = before->queue(before, product, in, own->between, error);
    return status ? status : last->queue(last, product, own->between, out, error);
}

csrec_status csrec_cuda_operator_chain(csrec_cuda_operator *first, csrec_cuda_operator *second,
                                       csrec_cuda_operator **made, csrec_error *error) {
    chain_operator own = {};
    own.op = csrec_cuda_operator_of(second->m, first->n, lay_out, queue);
    own.first = first;
    own.second = second;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator chain", made, error);
}

typedef struct pairs_operator {
    csrec_cuda_operator op;
    csrec_cuda_operator *first;
    double *from, *to; /* one part of the longer of both vectors */
} pairs_operator;

static __global__ void take_part(int64_t n, int part, const double *pairs, double *out) {
    int64_t i = csrec_cuda_thread();
    if (i < n) out[i] = pairs[2 * i + part];
}

static __global__ void put_part(int64_t n, int part, const double *in, double *pairs) {
    int64_t i = csrec_cuda_thread();
    if (i < n) pairs[2 * i + part] = in[i];
}

static csrec_status pairs_queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                                double *out, csrec_error *error) {
    enum { THREADS = CSREC_CUDA_THREADS };
    pairs_operator *own = (pairs_operator *)op;
    if (product != CSREC_CUDA_FORWARD && product != CSREC_CUDA_ADJOINT) return CSREC_UNSUPPORTED;
    const bool forward = product == CSREC_CUDA_FORWARD;
    const int64_t n = forward ? own->first->n : own->first->m;
    const int64_t m = forward ? own->first->m : own->first->n;
    csrec_status status = CSREC_OK;
    for (int part = 0; part < 2 && !status; part++) {
        status = CSREC_CUDA_EACH(take_part, n, THREADS, error, n, part, in, own->from);
        if (!status) status = own->first->queue(own->first, product, own->from, own->to, error);
        if (status) break;
        status = CSREC_CUDA_EACH(put_part, m, THREADS, error, m, part, own->to, out);
    }
    return status;
}

static void pairs_lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    pairs_operator *own = (pairs_operator *)op;
    const int64_t most = own->first->n > own->first->m ? own->first->n : own->first->m;
    csrec_cuda_take(block, most, &own->from, &own->to);
}

csrec_status csrec_cuda_operator_pairs(csrec_cuda_operator *first, csrec_cuda_operator **made,
                                       csrec_error *error) {
    pairs_operator own = {};
    own.op = csrec_cuda_operator_of(2 * first->m, 2 * first->n, pairs_lay_out, pairs_queue);
    own.first = first;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator pairs", made, error);
}
