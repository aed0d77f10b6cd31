/* chain.cu - the product of two operators; the intermediate vector stays on the device. */
#include "kernels/operator/operator.cuh"

typedef struct chain_operator {
    csrec_cuda_operator op;
    csrec_cuda_operator *first, *second;
    double *between; /* [first->m] */
} chain_operator;

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    chain_operator *own = (chain_operator *)op;
    own->between = (double *)csrec_cuda_block_take(block, own->first->m, sizeof *own->between);
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
    own.op.m = second->m;
    own.op.n = first->n;
    own.op.lay_out = lay_out;
    own.op.queue = queue;
    own.first = first;
    own.second = second;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator chain", made, error);
}
