/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.cu - the procedural random partial Haar transform, one thread a sample, one launch a level
 * (levels.cuh). */
#include "kernels/haar/levels.h"

#include "kernels/device/device.h"
#include "kernels/haar/levels.cuh"
#include "shim/shim.h"

enum { THREADS = 256 };

static __global__ void start(level_entries e, const double *r) {
    int64_t k = csrec_cuda_thread();
    if (k < e.n) start_entry(e, k, r);
}

/* One level; count 0 marks threads without a group. */
static __global__ void reduce(level_entries e, int levels, int n, csrec_product *products) {
    int64_t k = csrec_cuda_thread();
    if (k >= e.n) return;
    double sub;
    bool two_sided;
    products[k].count = 0;
    if (!reduce_entry(e, k, n, &sub, &two_sided)) return;
    uint64_t column = ((uint64_t)1 << (levels - n)) + (e.rows[k] >> n);
    products[k] = {column, sub * (1.0 / sqrt((double)e.size[k])), e.size[k]};
}

struct level_run {
    level_arrays a;
    int64_t *kept;
    csrec_product *products, *chosen;
    void *temporary;
    size_t bytes;
    csrec_cuda_block block;
};

static void lay_out(level_run *run) {
    int64_t n = run->a.e.n;
    csrec_cuda_block *b = &run->block;
    take_arrays(b, &run->a);
    csrec_cuda_take(b, n, &run->products, &run->chosen);
    csrec_cuda_take(b, 1, &run->kept);
    run->temporary = csrec_cuda_block_take(b, (int64_t)run->bytes, 1);
}

static csrec_status begin(level_run *run, const uint64_t *rows, const double *r,
                          csrec_error *error) {
    csrec_status status = csrec_shim_keep(NULL, &run->bytes, run->a.e.n, NULL, NULL, NULL, error);
    if (!status)
        status =
            csrec_cuda_lay(&run->block, "the transform by levels", error, [&] { lay_out(run); });
    return status ? status : fill_arrays(&run->a, rows, r, error);
}

/* All levels from fine to coarse; the products of a level go before those of the level before.
 * products NULL: counts them. */
static csrec_status list_levels(level_run *run, int levels, csrec_product *products, int64_t total,
                                int64_t *found, csrec_error *error) {
    const level_entries e = run->a.e;
    const unsigned blocks = csrec_cuda_blocks(e.n, THREADS);
    int64_t place = total;
    *found = 1;
    csrec_status status = CSREC_CUDA_RUN(start, blocks, THREADS, error, e, run->a.r);
    for (int n = 1; n <= levels && !status; n++) {
        int64_t kept = 0;
        status = CSREC_CUDA_RUN(reduce, blocks, THREADS, error, e, levels, n, run->products);
        if (!status)
            status = csrec_shim_keep(run->temporary, &run->bytes, e.n, run->products, run->chosen,
                                     run->kept, error);
        if (!status) status = csrec_cuda_copy(&kept, run->kept, sizeof kept, error);
        *found += kept;
        place -= kept;
        if (!status && products)
            status = csrec_cuda_copy(products + place, run->chosen, (size_t)kept * sizeof *products,
                                     error);
    }
    double sum = 0.0;
    if (!status) status = csrec_cuda_copy(&sum, e.add, sizeof sum, error);
    double one = 1.0 / sqrt((double)e.n);
    if (!status && products) products[0] = {0, sum * one, e.n};
    return status;
}

csrec_status csrec_cuda_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found,
                               csrec_error *error) {
    level_run run = {};
    run.a.e.n = n;
    int64_t total = 0;
    csrec_status status = begin(&run, rows, r, error);
    if (!status) status = list_levels(&run, levels, NULL, 0, &total, error);
    if (!status && total <= capacity)
        status = list_levels(&run, levels, products, total, &total, error);
    if (!status) *found = total;
    csrec_cuda_block_destroy(&run.block);
    return status;
}
