/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.cu - operators on the device: transfers of host vectors, samples, norms. */
#include "kernels/operator/operator.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS };

static __global__ void gather(int64_t m, const int64_t *index, const double *signal, double *y) {
    int64_t k = csrec_cuda_thread();
    if (k < m) y[k] = signal[index[k]];
}

/* y NULL: ones. */
static __global__ void scatter(int64_t m, const int64_t *index, const double *y, double *signal) {
    int64_t k = csrec_cuda_thread();
    if (k < m) signal[index[k]] = y ? y[k] : 1.0;
}

/* Columns of zeros have correlation 0. */
static __global__ void divide(int64_t n, const double *norms, double *c) {
    int64_t j = csrec_cuda_thread();
    if (j < n) c[j] = norms[j] > 0.0 ? c[j] / norms[j] : 0.0;
}

static __global__ void fill_unit(int64_t n, int64_t at, double *x) {
    int64_t j = csrec_cuda_thread();
    if (j < n) x[j] = j == at ? 1.0 : 0.0;
}

/* norm = ||a||, by one block: each thread its share, then a tree. */
static __global__ void measure(int64_t m, const double *a, double *norm) {
    __shared__ double part[THREADS];
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < m; i += THREADS) sum = fma(a[i], a[i], sum);
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *norm = sqrt(part[0]);
}

void csrec_cuda_samples_take(csrec_cuda_operator *op, csrec_cuda_block *block,
                             csrec_cuda_samples *samples, const csrec_mask *mask) {
    samples->entries = mask->entries;
    samples->m = mask->m;
    csrec_cuda_operator_take(op, block, mask->m, &samples->index, mask->index);
}

csrec_status csrec_cuda_samples_gather(const csrec_cuda_samples *samples, const double *signal,
                                       double *y, csrec_error *error) {
    return CSREC_CUDA_EACH(gather, samples->m, THREADS, error, samples->m, samples->index, signal,
                           y);
}

csrec_status csrec_cuda_samples_scatter(const csrec_cuda_samples *samples, const double *y,
                                        double *signal, csrec_error *error) {
    CSREC_TRY(csrec_cuda_clear(signal, (size_t)samples->entries * sizeof *signal, NULL, error));
    return CSREC_CUDA_EACH(scatter, samples->m, THREADS, error, samples->m, samples->index, y,
                           signal);
}

static int64_t longest(const csrec_cuda_operator *op) {
    int64_t most = op->m > op->n ? op->m : op->n;
    return most > op->entries ? most : op->entries;
}

static void lay_out(csrec_cuda_operator *op) {
    csrec_cuda_take(&op->block, longest(op), &op->in, &op->out);
    csrec_cuda_take(&op->block, op->n, &op->norms);
    if (op->lay_out) op->lay_out(op, &op->block);
}

csrec_status csrec_cuda_operator_open(const csrec_cuda_operator *op, size_t bytes, const char *what,
                                      csrec_cuda_operator **made, csrec_error *error) {
    csrec_cuda_operator *own = (csrec_cuda_operator *)malloc(bytes);
    if (!own) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", what);
    memcpy(own, op, bytes);
    lay_out(own);
    csrec_status status =
        csrec_cuda_check(cudaGetDevice(&own->device), "the current device", error);
    if (!status) status = csrec_cuda_block_create(&own->block, what, error);
    if (status) {
        free(own);
        return status;
    }
    csrec_cuda_pipe_open((size_t)longest(own) * sizeof *own->in, &own->pipe);
    own->error = error;
    lay_out(own);
    status = own->fault;
    own->error = NULL;
    return CSREC_SETTLE(status, csrec_cuda_operator_destroy(own), *made = own);
}

void csrec_cuda_operator_destroy(csrec_cuda_operator *op) {
    if (!op) return;
    cudaSetDevice(op->device);
    if (op->destroy) op->destroy(op);
    csrec_cuda_pipe_destroy(&op->pipe);
    csrec_cuda_block_destroy(&op->block);
    free(op);
}

csrec_status csrec_cuda_operator_fill(csrec_cuda_operator *op, void *to, const void *from,
                                      int64_t count, size_t size, csrec_error *error) {
    if (count == 0) return CSREC_OK;
    return csrec_cuda_pipe_send(&op->pipe, to, from, (size_t)count * size, error);
}

/* A column at a time. */
static csrec_status measure_columns(csrec_cuda_operator *op, csrec_error *error) {
    csrec_cuda_block block = {};
    double *x, *a;
    csrec_status status = csrec_cuda_lay(&block, "the norms of columns", error, [&] {
        csrec_cuda_take(&block, op->n, &x);
        csrec_cuda_take(&block, op->m, &a);
    });
    for (int64_t j = 0; j < op->n && !status; j++) {
        status = CSREC_CUDA_EACH(fill_unit, op->n, THREADS, error, op->n, j, x);
        if (!status) status = op->queue(op, CSREC_CUDA_FORWARD, x, a, error);
        if (!status) measure<<<1, THREADS>>>(op->m, a, op->norms + j);
        if (!status) status = csrec_cuda_launched("measure", error);
    }
    if (!status) status = csrec_cuda_check(cudaDeviceSynchronize(), "norms", error);
    csrec_cuda_block_destroy(&block);
    return status;
}

/* Columns of rounding are none, as on the CPU; once for an operator. */
static csrec_status clean_norms(csrec_cuda_operator *op, csrec_error *error) {
    const size_t bytes = (size_t)op->n * sizeof *op->norms;
    double *norms = (double *)malloc(bytes);
    if (!norms) return csrec_fail(error, CSREC_MEMORY, "out of memory for the norms of columns");
    csrec_status status = csrec_cuda_copy(norms, op->norms, bytes, error);
    if (!status) csrec_norms_clean(op->n, norms);
    if (!status) status = csrec_cuda_copy(op->norms, norms, bytes, error);
    free(norms);
    return status;
}

csrec_status csrec_cuda_operator_norms(csrec_cuda_operator *op, csrec_error *error) {
    if (op->normed) return CSREC_OK;
    csrec_status status = op->queue(op, CSREC_CUDA_NORMS, NULL, op->norms, error);
    if (status == CSREC_UNSUPPORTED) status = measure_columns(op, error);
    if (!status) status = clean_norms(op, error);
    op->normed = status == CSREC_OK;
    return status;
}

static csrec_status queue_correlate(csrec_cuda_operator *op, csrec_error *error) {
    csrec_status status = op->unit ? CSREC_OK : csrec_cuda_operator_norms(op, error);
    if (!status) status = op->queue(op, CSREC_CUDA_ADJOINT, op->in, op->out, error);
    if (status || op->unit) return status;
    return CSREC_CUDA_EACH(divide, op->n, THREADS, error, op->n, op->norms, op->out);
}

static int64_t size_in(const csrec_cuda_operator *op, csrec_cuda_product product) {
    const int64_t sizes[] = {op->n, op->m, op->m, 0, op->n, op->entries, op->n};
    return sizes[product];
}

static int64_t size_out(const csrec_cuda_operator *op, csrec_cuda_product product) {
    const int64_t sizes[] = {op->m, op->n, op->n, op->n, op->entries, op->n, op->n};
    return sizes[product];
}

csrec_status csrec_cuda_operator_apply(csrec_cuda_operator *op, csrec_cuda_product product,
                                       const double *in, double *out, csrec_error *error) {
    csrec_status status = csrec_cuda_check(cudaSetDevice(op->device), "the device", error);
    if (!status) status = csrec_cuda_operator_fill(op, op->in, in, size_in(op, product), 8, error);
    const double *result = op->out;
    if (!status && product == CSREC_CUDA_NORMS) {
        status = csrec_cuda_operator_norms(op, error);
        result = op->norms;
    } else if (!status && product == CSREC_CUDA_CORRELATE) {
        status = queue_correlate(op, error);
    } else if (!status) {
        status = op->queue(op, product, op->in, op->out, error);
    }
    if (status) return status;
    return csrec_cuda_pipe_receive(&op->pipe, out, result, (size_t)size_out(op, product) * 8,
                                   error);
}

typedef struct mask_operator {
    csrec_cuda_operator op;
    const csrec_mask *mask; /* while it is made */
    csrec_cuda_samples samples;
} mask_operator;

static void mask_lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    mask_operator *own = (mask_operator *)op;
    csrec_cuda_samples_take(op, block, &own->samples, own->mask);
}

static csrec_status mask_queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                               double *out, csrec_error *error) {
    const csrec_cuda_samples *samples = &((mask_operator *)op)->samples;
    if (product == CSREC_CUDA_FORWARD) return csrec_cuda_samples_gather(samples, in, out, error);
    if (product == CSREC_CUDA_ADJOINT) return csrec_cuda_samples_scatter(samples, in, out, error);
    if (product == CSREC_CUDA_NORMS) return csrec_cuda_samples_scatter(samples, NULL, out, error);
    return csrec_cuda_copy(out, in, (size_t)op->n * sizeof *out, error);
}

csrec_status csrec_cuda_operator_mask(const csrec_mask *mask, csrec_cuda_operator **made,
                                      csrec_error *error) {
    mask_operator own = {};
    own.op = csrec_cuda_operator_of(mask->m, mask->entries, mask_lay_out, mask_queue);
    own.op.entries = mask->entries;
    own.op.unit = true;
    own.mask = mask;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator mask", made, error);
}
