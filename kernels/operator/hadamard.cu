/* SPDX-License-Identifier: BSD-3-Clause */
/* hadamard.cu - Hadamard's rows (operator/devices.h) on the device. The transform reads and writes
 * the grid once for the first 11 levels and once for each 6 more: a block of 2048 entries, or 64
 * rows of 32 columns, stays in shared memory. Additions are the CPU's, level by level, so results
 * are its bits. */
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS, BLOCK = 2048, ROWS = 64, COLUMNS = 32 };

typedef struct hadamard_operator {
    csrec_cuda_operator op;
    const csrec_hadamard *h; /* while it is made */
    int64_t padded;
    int32_t *row, *place; /* [m], [n] */
    double *grid;         /* [padded] */
} hadamard_operator;

/* One butterfly of a level: pair t of entries `width` apart. */
static __device__ void butterfly(double *x, int t, int width, int stride, int column) {
    int low = (t / width * 2 * width + t % width) * stride + column, high = low + width * stride;
    double u = x[low], v = x[high];
    x[low] = u + v;
    x[high] = u - v;
}

/* All levels of blocks of n <= BLOCK entries. */
static __global__ void transform_blocks(int n, double *x) {
    __shared__ double part[BLOCK];
    double *own = x + (int64_t)blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += THREADS) part[i] = own[i];
    for (int width = 1; width < n; width *= 2) {
        __syncthreads();
        for (int t = threadIdx.x; t < n / 2; t += THREADS) butterfly(part, t, width, 1, 0);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += THREADS) own[i] = part[i];
}

/* The levels of `rows` rows, `stride` entries apart, for COLUMNS columns. */
static __global__ void transform_rows(int rows, int64_t stride, double *x) {
    __shared__ double part[ROWS * COLUMNS];
    const int64_t strips = stride / COLUMNS;
    double *own = x + blockIdx.x / strips * rows * stride + blockIdx.x % strips * COLUMNS;
    const int column = threadIdx.x % COLUMNS, first = threadIdx.x / COLUMNS;
    for (int r = first; r < rows; r += THREADS / COLUMNS)
        part[r * COLUMNS + column] = own[r * stride + column];
    for (int width = 1; width < rows; width *= 2) {
        __syncthreads();
        for (int t = first; t < rows / 2; t += THREADS / COLUMNS)
            butterfly(part, t, width, COLUMNS, column);
    }
    __syncthreads();
    for (int r = first; r < rows; r += THREADS / COLUMNS)
        own[r * stride + column] = part[r * COLUMNS + column];
}

static csrec_status transform(int64_t n, double *x, csrec_error *error) {
    const int block = n < BLOCK ? (int)n : (int)BLOCK;
    CSREC_TRY(CSREC_CUDA_RUN(transform_blocks, (unsigned)(n / block), THREADS, error, block, x));
    for (int64_t stride = block, rows; stride < n; stride *= rows) {
        rows = n / stride < (int64_t)ROWS ? n / stride : (int64_t)ROWS;
        CSREC_TRY(CSREC_CUDA_RUN(transform_rows, (unsigned)(n / rows / COLUMNS), THREADS, error,
                                 (int)rows, stride, x));
    }
    return CSREC_OK;
}

static __global__ void put(int64_t n, const int32_t *place, const double *x, double *grid) {
    int64_t i = csrec_cuda_thread();
    if (i < n) grid[place[i]] = x[i];
}

static __global__ void get(int64_t n, const int32_t *place, const double *grid, double *x) {
    int64_t i = csrec_cuda_thread();
    if (i < n) x[i] = grid[place[i]];
}

static __global__ void fill(int64_t n, double value, double *x) {
    int64_t i = csrec_cuda_thread();
    if (i < n) x[i] = value;
}

/* to = (H P from), or its transpose: from and to have these numbers of entries at these places. */
static csrec_status product(hadamard_operator *own, int64_t n, const int32_t *at, const double *in,
                            int64_t m, const int32_t *to, double *out, csrec_error *error) {
    CSREC_TRY(csrec_cuda_clear(own->grid, (size_t)own->padded * sizeof *own->grid, NULL, error));
    CSREC_TRY(CSREC_CUDA_EACH(put, n, THREADS, error, n, at, in, own->grid));
    CSREC_TRY(transform(own->padded, own->grid, error));
    return CSREC_CUDA_EACH(get, m, THREADS, error, m, to, own->grid, out);
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product wanted, double *in,
                          double *out, csrec_error *error) {
    hadamard_operator *own = (hadamard_operator *)op;
    if (wanted == CSREC_CUDA_FORWARD)
        return product(own, op->n, own->place, in, op->m, own->row, out, error);
    if (wanted == CSREC_CUDA_ADJOINT)
        return product(own, op->m, own->row, in, op->n, own->place, out, error);
    if (wanted != CSREC_CUDA_NORMS) return CSREC_UNSUPPORTED;
    return CSREC_CUDA_EACH(fill, op->n, THREADS, error, op->n, sqrt((double)op->m), out);
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    hadamard_operator *own = (hadamard_operator *)op;
    csrec_cuda_operator_take(op, block, op->m, &own->row, own->h->row);
    csrec_cuda_operator_take(op, block, op->n, &own->place, own->h->place);
    csrec_cuda_take(block, own->padded, &own->grid);
}

csrec_status csrec_cuda_operator_hadamard(const csrec_hadamard *h, csrec_cuda_operator **made,
                                          csrec_error *error) {
    hadamard_operator own = {};
    own.op = csrec_cuda_operator_of(h->m, h->entries, lay_out, queue);
    own.h = h;
    own.padded = h->padded;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator hadamard", made, error);
}
