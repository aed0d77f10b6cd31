/* SPDX-License-Identifier: BSD-3-Clause */
/* products.cu - csrec_haar_transform on the device: upload, transform, sort by column, download. */
#include "kernels/device/device.h"
#include "kernels/device/pipe.h"
#include "kernels/haar/transform.h"
#include "shim/shim.h"

extern "C" {
#include "haar/engine.h"
}

enum { THREADS = 256 };

struct arrays {
    uint64_t *rows, *column, *sorted;
    double *r, *value;
    uint32_t *count, *place, *order;
    csrec_product *products;
    void *temporary;
    size_t bytes;
};

static __global__ void number(int64_t n, uint32_t *place) {
    int64_t k = csrec_cuda_thread();
    if (k < n) place[k] = (uint32_t)k;
}

static __global__ void gather(int64_t n, arrays a) {
    int64_t k = csrec_cuda_thread();
    if (k >= n) return;
    uint32_t from = a.order[k];
    a.products[k] = {a.sorted[k], a.value[from], a.count[from]};
}

static void lay_out(csrec_cuda_block *block, int64_t n, arrays *a) {
    csrec_cuda_take(block, n, &a->rows, &a->r);
    csrec_cuda_take(block, 3 * n, &a->column, &a->value, &a->count, &a->sorted, &a->place,
                    &a->order, &a->products);
    a->temporary = csrec_cuda_block_take(block, (int64_t)a->bytes, 1);
}

static csrec_status sort_products(arrays *a, int levels, int64_t found, csrec_error *error) {
    unsigned blocks = csrec_cuda_blocks(found, THREADS);
    csrec_status status = CSREC_CUDA_RUN(number, blocks, THREADS, error, found, a->place);
    if (!status)
        status = csrec_shim_sort(a->temporary, &a->bytes, found, levels + 1, a->column, a->sorted,
                                 a->place, a->order, error);
    if (status) return status;
    return CSREC_CUDA_RUN(gather, blocks, THREADS, error, found, *a);
}

static csrec_status list(csrec_cuda_transform *transform, arrays *a, csrec_cuda_pipe *pipe,
                         csrec_transform_job *job, csrec_error *error) {
    size_t size = (size_t)job->n * sizeof *job->r;
    csrec_status status = csrec_cuda_pipe_send(pipe, a->rows, job->rows, size, error);
    if (!status) status = csrec_cuda_pipe_send(pipe, a->r, job->r, size, error);
    if (!status)
        status = csrec_cuda_transform_run(transform, a->rows, a->r, a->column, a->value, a->count,
                                          error);
    if (!status) status = csrec_cuda_transform_wait(transform, &job->found, NULL, error);
    if (status || job->found > job->capacity) return status;
    status = sort_products(a, job->levels, job->found, error);
    return status ? status
                  : csrec_cuda_pipe_receive(pipe, job->products, a->products,
                                            (size_t)job->found * sizeof *job->products, error);
}

static csrec_status transform_distinct(csrec_transform_job *job, csrec_error *error) {
    arrays a = {};
    csrec_cuda_block block = {};
    csrec_cuda_transform *transform = NULL;
    csrec_status status =
        csrec_shim_sort(NULL, &a.bytes, 3 * job->n, job->levels + 1, NULL, NULL, NULL, NULL, error);
    if (!status)
        status = csrec_cuda_transform_create(job->levels, job->n, CSREC_COLUMNS_PAPER, &transform,
                                             error);
    if (!status)
        status =
            csrec_cuda_lay(&block, "all products", error, [&] { lay_out(&block, job->n, &a); });
    if (!status) {
        csrec_cuda_pipe pipe;
        csrec_cuda_pipe_create((size_t)job->n * 3 * sizeof *job->products, &pipe);
        status = list(transform, &a, &pipe, job, error);
        csrec_cuda_pipe_destroy(&pipe);
    }
    csrec_cuda_block_destroy(&block);
    csrec_cuda_transform_destroy(transform);
    return status;
}

static csrec_status cuda_transform(const csrec_context *context, csrec_transform_job *job,
                                   csrec_error *error) {
    csrec_status status = csrec_cuda_enter(context, error);
    if (status) return status;
    if (job->n > INT32_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: transform of %lld samples; at most 2^31 - 1",
                          (long long)job->n);
    if (job->method != CSREC_TRANSFORM_DISTINCT)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: the transform lists distinct columns only; use method "
                          "distinct, or backend cpu");
    return transform_distinct(job, error);
}

const csrec_haar_engine csrec_haar_cuda = {cuda_transform};
