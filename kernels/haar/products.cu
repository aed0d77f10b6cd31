/* products.cu - csrec_haar_transform on the device: upload, transform, sort by column, download. */
#include <math.h>

#include "kernels/device/device.h"
#include "kernels/haar/levels.h"
#include "kernels/haar/transform.h"
#include "shim/shim.h"

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
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) place[k] = (uint32_t)k;
}

static __global__ void gather(int64_t n, arrays a) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    uint32_t from = a.order[k];
    a.products[k] = {a.sorted[k], a.value[from], a.count[from]};
}

static void lay_out(csrec_cuda_block *block, int64_t n, arrays *a) {
    a->rows = (uint64_t *)csrec_cuda_block_take(block, n, sizeof *a->rows);
    a->r = (double *)csrec_cuda_block_take(block, n, sizeof *a->r);
    a->column = (uint64_t *)csrec_cuda_block_take(block, 3 * n, sizeof *a->column);
    a->value = (double *)csrec_cuda_block_take(block, 3 * n, sizeof *a->value);
    a->count = (uint32_t *)csrec_cuda_block_take(block, 3 * n, sizeof *a->count);
    a->sorted = (uint64_t *)csrec_cuda_block_take(block, 3 * n, sizeof *a->sorted);
    a->place = (uint32_t *)csrec_cuda_block_take(block, 3 * n, sizeof *a->place);
    a->order = (uint32_t *)csrec_cuda_block_take(block, 3 * n, sizeof *a->order);
    a->products = (csrec_product *)csrec_cuda_block_take(block, 3 * n, sizeof *a->products);
    a->temporary = csrec_cuda_block_take(block, (int64_t)a->bytes, 1);
}

static csrec_status sort_products(arrays *a, int levels, int64_t found, csrec_error *error) {
    unsigned blocks = csrec_cuda_blocks(found, THREADS);
    number<<<blocks, THREADS>>>(found, a->place);
    csrec_status status = csrec_cuda_launched("number", error);
    if (!status)
        status = csrec_shim_sort(a->temporary, &a->bytes, found, levels + 1, a->column, a->sorted,
                                 a->place, a->order, error);
    if (status) return status;
    gather<<<blocks, THREADS>>>(found, *a);
    return csrec_cuda_launched("gather", error);
}

static csrec_status list(csrec_cuda_transform *transform, arrays *a, int levels, int64_t n,
                         const uint64_t *rows, const double *r, int64_t capacity,
                         csrec_product *products, int64_t *found, csrec_error *error) {
    size_t size = (size_t)n * sizeof *r;
    csrec_status status =
        csrec_cuda_check(cudaMemcpy(a->rows, rows, size, cudaMemcpyHostToDevice), "rows", error);
    if (!status)
        status = csrec_cuda_check(cudaMemcpy(a->r, r, size, cudaMemcpyHostToDevice), "r", error);
    if (!status)
        status = csrec_cuda_transform_run(transform, a->rows, a->r, a->column, a->value, a->count,
                                          error);
    int64_t total = 0;
    if (!status) status = csrec_cuda_transform_wait(transform, &total, NULL, error);
    if (!status && total <= capacity) status = sort_products(a, levels, total, error);
    if (!status && total <= capacity)
        status =
            csrec_cuda_check(cudaMemcpy(products, a->products, (size_t)total * sizeof *products,
                                        cudaMemcpyDeviceToHost),
                             "products", error);
    if (!status) *found = total;
    return status;
}

static csrec_status distinct(int levels, int64_t n, const uint64_t *rows, const double *r,
                             int64_t capacity, csrec_product *products, int64_t *found,
                             csrec_error *error) {
    arrays a = {};
    csrec_cuda_block block = {};
    csrec_cuda_transform *transform = NULL;
    csrec_status status =
        csrec_shim_sort(NULL, &a.bytes, 3 * n, levels + 1, NULL, NULL, NULL, NULL, error);
    if (!status)
        status = csrec_cuda_transform_create(levels, n, CSREC_COLUMNS_PAPER, &transform, error);
    lay_out(&block, n, &a);
    if (!status) status = csrec_cuda_block_create(&block, "all products", error);
    if (!status) {
        lay_out(&block, n, &a);
        status = list(transform, &a, levels, n, rows, r, capacity, products, found, error);
    }
    csrec_cuda_block_destroy(&block);
    csrec_cuda_transform_destroy(transform);
    return status;
}

static bool usable(int levels, int64_t n, const uint64_t *rows, const double *r) {
    if (levels < 0 || levels > 62 || n < 1 || (uint64_t)n > (uint64_t)1 << levels) return false;
    if (n > INT32_MAX) return false;
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(r[j]) || (j && rows[j] <= rows[j - 1])) return false;
    return rows[n - 1] < (uint64_t)1 << levels;
}

csrec_status csrec_cuda_products(int levels, int64_t n, const uint64_t *rows, const double *r,
                                 csrec_transform_method method, int64_t capacity,
                                 csrec_product *products, int64_t *found, csrec_error *error) {
    if (!usable(levels, n, rows, r))
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "transform: levels 0 .. 62, ascending rows below 2^levels, finite values");
    csrec_status status = csrec_cuda_use(error);
    if (status) return status;
    if (method == CSREC_TRANSFORM_DISTINCT)
        return distinct(levels, n, rows, r, capacity, products, found, error);
    return csrec_cuda_levels(levels, n, rows, r, capacity, products, found, error);
}
