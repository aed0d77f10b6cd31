/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.cu - a stored matrix on the device, column by column as on the host.
 *
 * Both products split the matrix into panels to occupy enough threads; a panel's sums are written
 * to a row of `part`, and the rows are added in their order. */
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS, WARPS = THREADS / 32, ROWS = 4096 };

typedef struct dense_operator {
    csrec_cuda_operator op;
    const double *from, *norms; /* the host's columns and norms: while it is made */
    double *columns;            /* [n][m] */
    double *part;               /* [panels][m or n] */
} dense_operator;

/* The numbers of the threads with `wanted`, in their order; returns how many. All threads call. */
static __device__ int compact(bool wanted, int *list, int *start) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned all = __ballot_sync(0xffffffffu, wanted);
    if (lane == 0) start[warp] = __popc(all);
    __syncthreads();
    int at = __popc(all & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) at += start[w];
        total += start[w];
    }
    if (wanted) list[at] = (int)threadIdx.x;
    __syncthreads();
    return total;
}

/* part[panel][i] = sum of x_j a_ij over a panel of THREADS columns; a thread a row. Columns with
 * x_j = 0, which are most in most solvers, are not read. */
static __global__ void multiply(int64_t m, int64_t n, unsigned panels, const double *columns,
                                const double *x, double *part) {
    __shared__ int list[THREADS], start[WARPS];
    __shared__ double value[THREADS];
    int64_t panel = blockIdx.x % panels, first = panel * THREADS, j = first + threadIdx.x;
    value[threadIdx.x] = j < n ? x[j] : 0.0;
    int count = compact(value[threadIdx.x] != 0.0, list, start);
    int64_t i = (int64_t)(blockIdx.x / panels) * THREADS + threadIdx.x;
    if (i >= m) return;
    const double *a = columns + first * m + i;
    double sum = 0.0;
#pragma unroll 8
    for (int k = 0; k < count; k++) sum = fma(a[list[k] * m], value[list[k]], sum);
    part[panel * m + i] = sum;
}

/* part[panel][j] = sum of a_ij y_i over a panel of ROWS rows; a warp a column. */
static __global__ void multiply_transposed(int64_t m, int64_t n, unsigned panels,
                                           const double *columns, const double *y, double *part) {
    int64_t panel = blockIdx.x % panels;
    int64_t j = (int64_t)(blockIdx.x / panels) * WARPS + threadIdx.x / 32;
    if (j >= n) return;
    int64_t first = panel * ROWS, end = first + ROWS < m ? first + ROWS : m;
    const double *a = columns + j * m;
    double sum = 0.0;
#pragma unroll 4
    for (int64_t i = first + threadIdx.x % 32; i < end; i += 32) sum = fma(a[i], y[i], sum);
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 == 0) part[panel * n + j] = sum;
}

static __global__ void add_parts(int64_t size, int64_t panels, const double *part, double *out) {
    int64_t i = csrec_cuda_thread();
    if (i >= size) return;
    double sum = 0.0;
    for (int64_t k = 0; k < panels; k++) sum += part[k * size + i];
    out[i] = sum;
}

static csrec_status add_up(int64_t size, int64_t panels, const double *part, double *out,
                           csrec_error *error) {
    return CSREC_CUDA_EACH(add_parts, size, THREADS, error, size, panels, part, out);
}

static csrec_status forward(dense_operator *own, const double *x, double *y, csrec_error *error) {
    int64_t m = own->op.m, n = own->op.n;
    unsigned panels = csrec_cuda_blocks(n, THREADS);
    csrec_status status = CSREC_CUDA_RUN(multiply, csrec_cuda_blocks(m, THREADS) * panels, THREADS,
                                         error, m, n, panels, own->columns, x, own->part);
    return status ? status : add_up(m, panels, own->part, y, error);
}

static csrec_status adjoint(dense_operator *own, const double *y, double *x, csrec_error *error) {
    int64_t m = own->op.m, n = own->op.n;
    unsigned panels = csrec_cuda_blocks(m, ROWS);
    csrec_status status =
        CSREC_CUDA_RUN(multiply_transposed, csrec_cuda_blocks(n, WARPS) * panels, THREADS, error, m,
                       n, panels, own->columns, y, panels > 1 ? own->part : x);
    if (status || panels == 1) return status;
    return add_up(n, panels, own->part, x, error);
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    dense_operator *own = (dense_operator *)op;
    if (product == CSREC_CUDA_FORWARD) return forward(own, in, out, error);
    return product == CSREC_CUDA_ADJOINT ? adjoint(own, in, out, error) : CSREC_UNSUPPORTED;
}

const double *csrec_cuda_operator_columns(const csrec_cuda_operator *op) {
    return ((const dense_operator *)op)->columns;
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    dense_operator *own = (dense_operator *)op;
    int64_t by_columns = csrec_cuda_blocks(op->n, THREADS) * op->m;
    int64_t by_rows = csrec_cuda_blocks(op->m, ROWS) * op->n;
    csrec_cuda_operator_take(op, block, op->m * op->n, &own->columns, own->from);
    csrec_cuda_take(block, by_columns > by_rows ? by_columns : by_rows, &own->part);
    if (block->base && !op->fault)
        op->fault = csrec_cuda_operator_fill(op, op->norms, own->norms, op->n, 8, op->error);
}

csrec_status csrec_cuda_operator_dense(int64_t m, int64_t n, const double *columns,
                                       const double *norms, csrec_cuda_operator **made,
                                       csrec_error *error) {
    dense_operator own = {};
    own.op = csrec_cuda_operator_of(m, n, lay_out, queue);
    own.op.normed = true;
    own.from = columns;
    own.norms = norms;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator dense", made, error);
}
