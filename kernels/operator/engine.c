/* engine.c - operators whose products a CUDA device computes: the CPU's operator, its data
 * copied to the device once, and a type that calls there.
 *
 * The device's buffers serve one call at a time, whichever threads call: a chain uses those of its
 * factors, and all products queue on one stream. No callback of a user runs under that lock. */
#include "kernels/operator/engine.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/haar/operator.h"
#include "kernels/haar/reference.h"
#include "kernels/device/device.h"
#include "kernels/solver/omp.h"
#include "kernels/operator/operator.h"
#include "operator/chain.h"
#include "operator/dense.h"
#include "operator/haar.h"

struct csrec_operator_device {
    csrec_operator_type type; /* the row with the device's products */
    csrec_atom_search search; /* of the row tree, with the device's reference pursuit */
    csrec_cuda_operator *op;
    csrec_cuda_omp_plan *omp; /* made when first asked for */
};

static csrec_status apply(const csrec_operator *A, csrec_cuda_way way, const double *in,
                          double *out) {
    csrec_status status;
#pragma omp critical(csrec_cuda_operator)
    status = csrec_cuda_operator_apply(A->device->op, way, in, out, NULL);
    return status;
}

static csrec_status forward(const csrec_operator *A, const double *x, double *y) {
    return apply(A, CSREC_CUDA_FORWARD, x, y);
}

static csrec_status adjoint(const csrec_operator *A, const double *y, double *x) {
    return apply(A, CSREC_CUDA_ADJOINT, y, x);
}

static csrec_status correlate(const csrec_operator *A, const double *r, double *c) {
    return apply(A, CSREC_CUDA_CORRELATE, r, c);
}

static csrec_status column_norms(const csrec_operator *A, double *norms) {
    return apply(A, CSREC_CUDA_NORMS, NULL, norms);
}

static csrec_status synthesize(const csrec_operator *A, const double *x, double *signal) {
    return apply(A, CSREC_CUDA_SYNTHESIZE, x, signal);
}

static csrec_status analyze(const csrec_operator *A, const double *signal, double *x) {
    return apply(A, CSREC_CUDA_ANALYZE, signal, x);
}

static csrec_status search(const csrec_operator *A, bool reference, const double *y, void **state) {
    return csrec_haar_search(A, reference ? &csrec_cuda_pursuit_reference : &csrec_pursuit_eager, y,
                             state);
}

static csrec_status make_chain(const csrec_operator *A, csrec_cuda_operator **op,
                               csrec_error *error) {
    const csrec_chain *c = A->data;
    if (!c->first->device || !c->second->device)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator chain: backend cuda needs both factors made with backend cuda");
    return csrec_cuda_operator_chain(c->first->device->op, c->second->device->op, op, error);
}

static csrec_status make(const csrec_operator *A, csrec_cuda_operator **op, csrec_error *error) {
    const csrec_dense *dense = csrec_dense_of(A);
    if (dense)
        return csrec_cuda_operator_dense(A->m, A->n, dense->columns, dense->norms, op, error);
    if (csrec_dct_of(A)) return csrec_cuda_operator_dct(csrec_dct_of(A), op, error);
    if (A->row == &csrec_operator_wavelet) return csrec_cuda_operator_wavelet(A->data, op, error);
    if (A->row == &csrec_operator_mask) return csrec_cuda_operator_mask(A->data, op, error);
    if (A->row == &csrec_operator_haar) return csrec_cuda_haar_create(A, op, error);
    if (csrec_conv_dictionary_of(A))
        return csrec_cuda_operator_conv(csrec_conv_dictionary_of(A), op, error);
    if (A->row == &csrec_operator_chain) return make_chain(A, op, error);
    return csrec_fail(error, CSREC_UNSUPPORTED, "operator %s: not on backend cuda; use backend cpu",
                      A->row->name);
}

csrec_status csrec_cuda_take_operator(csrec_operator *A, csrec_error *error) {
    csrec_operator_device *device = calloc(1, sizeof *device);
    if (!device) return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", A->row->name);
    csrec_status status;
#pragma omp critical(csrec_cuda_operator)
    status = make(A, &device->op, error);
    if (status) {
        free(device);
        return status;
    }
    device->type = *A->row;
    device->type.forward = forward;
    device->type.adjoint = adjoint;
    device->type.correlate = correlate;
    device->type.column_norms = column_norms;
    if (A->row->synthesize) device->type.synthesize = synthesize;
    if (A->row->analyze) device->type.analyze = analyze;
    device->type.shrink = NULL; /* thresholding goes through the products, then */
    device->type.access = NULL; /* and so do few columns */
    if (A->row == &csrec_operator_haar) {
        device->search = *A->row->search;
        device->search.create = search;
        device->type.search = &device->search;
    }
    A->device = device;
    A->type = &device->type;
    return CSREC_OK;
}

void csrec_cuda_release_operator(csrec_operator *A) {
    csrec_operator_device *device = A->device;
#pragma omp critical(csrec_cuda_operator)
    {
        csrec_cuda_omp_destroy(device->omp);
        csrec_cuda_operator_destroy(device->op);
    }
    free(device);
    A->device = NULL;
    A->type = A->row;
}

/* For solvers that do little between products. Milliseconds of 40 iterations, products on 16
 * threads of the CPU and on the device (bench/cuda_calls.c), whose first use takes 200:
 *
 *                     dct, fista   dct, iht   wavelet, fista   wavelet, iht
 *     128 x 128          112, 42    157, 53           29, 20         76, 64
 *     512 x 512        1909, 667  4395, 1959        835, 131      1570, 563
 */
bool csrec_cuda_products_pay(const csrec_measurement *m, const csrec_recover_options *options) {
    enum { ENTRIES = 1 << 16 };
    const char *basis = options->basis, *solver = options->solve.solver;
    int64_t entries;
    if (!basis || (strcmp(basis, "dct") != 0 && strcmp(basis, "wavelet") != 0)) return false;
    if (!solver || (strcmp(solver, "fista") != 0 && strcmp(solver, "iht") != 0)) return false;
    return !csrec_shape_count(&m->shape, &entries) && entries >= ENTRIES;
}

csrec_status csrec_cuda_omp(const csrec_omp_job *job, const csrec_omp_result *result) {
    csrec_operator_device *device = job->A->device;
    csrec_status status;
    if (!device || !csrec_dense_of(job->A)) return CSREC_UNSUPPORTED;
#pragma omp critical(csrec_cuda_operator)
    status = csrec_cuda_omp_run(device->op, &device->omp, job, result, NULL);
    return status;
}
