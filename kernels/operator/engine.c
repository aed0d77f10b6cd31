/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - operators whose products a CUDA device computes: the CPU's operator, its data copied
 * to the device once, and a type that calls the kernels. The other functions of the operator's type
 * (columns, searches and least squares on the tree) run on the CPU.
 *
 * Chains and pairs work in the buffers of their factors, so a call takes the locks of all of them:
 * always in the order of their addresses, so that no two calls wait for each other. */
#include "kernels/operator/engine.h"

#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/operator/haar_tree.h"
#include "kernels/operator/nufft.h"
#include "operator/devices.h"
#include "operator/dense.h"

static int compare(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (pthread_mutex_t *const *)a,
              y = (uintptr_t) * (pthread_mutex_t *const *)b;
    return (x > y) - (x < y);
}

/* The state's own lock and those of the factors, each once. */
static bool gather_locks(const csrec_operator *A, csrec_operator_state *state) {
    const bool works_in_others = A->row == &csrec_operator_chain || A->row == &csrec_operator_pairs;
    const csrec_chain *c = works_in_others ? A->data : NULL;
    const csrec_operator *factors[2] = {c ? c->first : NULL, c ? c->second : NULL};
    int n = 1, kept = 0;
    for (int f = 0; f < 2; f++) n += factors[f] ? factors[f]->state->n_locks : 0;
    state->locks = malloc((size_t)n * sizeof *state->locks);
    if (!state->locks) return false;
    state->locks[0] = &state->own;
    n = 1;
    for (int f = 0; f < 2; f++)
        for (int k = 0; factors[f] && k < factors[f]->state->n_locks; k++)
            state->locks[n++] = factors[f]->state->locks[k];
    qsort(state->locks, (size_t)n, sizeof *state->locks, compare);
    for (int k = 0; k < n; k++)
        if (k == 0 || state->locks[k] != state->locks[k - 1])
            state->locks[kept++] = state->locks[k];
    state->n_locks = kept;
    return true;
}

void csrec_cuda_operator_begin(const csrec_operator *A) {
    for (int k = 0; k < A->state->n_locks; k++) pthread_mutex_lock(A->state->locks[k]);
}

void csrec_cuda_operator_end(const csrec_operator *A) {
    for (int k = A->state->n_locks; k-- > 0;) pthread_mutex_unlock(A->state->locks[k]);
}

static csrec_status apply(const csrec_operator *A, csrec_cuda_product product, const double *in,
                          double *out) {
    csrec_cuda_operator_begin(A);
    csrec_status status = csrec_cuda_operator_apply(A->state->op, product, in, out, NULL);
    csrec_cuda_operator_end(A);
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

static csrec_status normal(const csrec_operator *A, const double *x, double *z) {
    return apply(A, CSREC_CUDA_NORMAL, x, z);
}

/* Products that the device has not are those of the row. */
static bool multiplies(const csrec_operator *A) {
    return A->row != &csrec_operator_nufft || CSREC_CUDA_NUFFT;
}

/* Whether a chain or pairs of A can be made of this factor. */
static csrec_status check_factor(const csrec_operator *A, const csrec_operator *factor,
                                 csrec_error *error) {
    const char *name = A->row->name;
    if (!factor->state)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator %s: backend cuda needs each factor made with backend cuda",
                          name);
    if (factor->context.ordinal != A->context.ordinal)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator %s: a factor is on another CUDA device; make them on one",
                          name);
    if (!multiplies(factor))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator %s: with nufft backend cuda needs cuFINUFFT; build csrec "
                          "with -DCSREC_CUFINUFFT=ON or use backend cpu",
                          name);
    return CSREC_OK;
}

static csrec_status make_chain(const csrec_operator *A, csrec_cuda_operator **op,
                               csrec_error *error) {
    const csrec_chain *c = A->data;
    csrec_status status = check_factor(A, c->first, error);
    if (status == CSREC_OK) status = check_factor(A, c->second, error);
    if (status != CSREC_OK) return status;
    return csrec_cuda_operator_chain(c->first->state->op, c->second->state->op, op, error);
}

static csrec_status make_pairs(const csrec_operator *A, csrec_cuda_operator **op,
                               csrec_error *error) {
    const csrec_operator *first = ((const csrec_chain *)A->data)->first;
    csrec_status status = check_factor(A, first, error);
    return status != CSREC_OK ? status : csrec_cuda_operator_pairs(first->state->op, op, error);
}

static csrec_status make(const csrec_operator *A, csrec_cuda_operator **op, csrec_error *error) {
    const csrec_dense *dense = csrec_dense_of(A);
    if (dense)
        return csrec_cuda_operator_dense(A->m, A->n, dense->columns, dense->norms, op, error);
    if (csrec_dct_of(A)) return csrec_cuda_operator_dct(csrec_dct_of(A), op, error);
    if (A->row == &csrec_operator_wavelet) return csrec_cuda_operator_wavelet(A->data, op, error);
    if (A->row == &csrec_operator_mask || A->row == &csrec_operator_identity)
        return csrec_cuda_operator_mask(A->data, op, error);
    if (A->row == &csrec_operator_haar) return csrec_cuda_haar_create(A, op, error);
    if (A->row == &csrec_operator_chain) return make_chain(A, op, error);
    if (A->row == &csrec_operator_pairs) return make_pairs(A, op, error);
    if (A->row == &csrec_operator_hadamard) return csrec_cuda_operator_hadamard(A->data, op, error);
    if (A->row == &csrec_operator_fourier || A->row == &csrec_operator_nufft)
        return csrec_cuda_operator_fourier(A->data, op, error);
    if (A->row == &csrec_operator_matrix) return csrec_cuda_operator_matrix(A->data, op, error);
    if (A->row == &csrec_operator_blur) return csrec_cuda_operator_blur(A->data, op, error);
    if (A->row == &csrec_operator_downsample)
        return csrec_cuda_operator_downsample(A->data, op, error);
    return csrec_fail(error, CSREC_UNSUPPORTED, "operator %s: not on backend cuda; use backend cpu",
                      A->row->name);
}

static void set_type(const csrec_operator *A, csrec_operator_state *state) {
    csrec_operator_type *type = &state->type;
    *type = *A->row;
    if (multiplies(A)) {
        type->forward = forward;
        type->adjoint = adjoint;
        type->correlate = correlate;
    }
    if (A->row->normal) type->normal = normal;
    type->column_norms = column_norms;
    if (A->row->synthesize) type->synthesize = synthesize;
    if (A->row->analyze) type->analyze = analyze;
    type->shrink = NULL; /* thresholding then uses the products */
    type->access = NULL; /* and so do products with few columns */
}

static csrec_status take(csrec_operator *A, csrec_error *error) {
    csrec_operator_state *state = calloc(1, sizeof *state);
    if (!state) return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", A->row->name);
    csrec_status status = csrec_cuda_enter(&A->context, error);
    if (!status) status = make(A, &state->op, error);
    if (!status && !gather_locks(A, state)) {
        csrec_cuda_operator_destroy(state->op);
        status = csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", A->row->name);
    }
    if (status) {
        free(state);
        return status;
    }
    pthread_mutex_init(&state->own, NULL);
    set_type(A, state);
    A->state = state;
    A->type = &state->type;
    return CSREC_OK;
}

static void release(csrec_operator *A) {
    csrec_operator_state *state = A->state;
    if (state->kept) state->drop(state->kept);
    csrec_cuda_operator_destroy(state->op);
    pthread_mutex_destroy(&state->own);
    free(state->locks);
    free(state);
    A->state = NULL;
    A->type = A->row;
}

const csrec_operator_engine csrec_operator_cuda = {take, release};
