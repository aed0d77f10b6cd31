/* SPDX-License-Identifier: BSD-3-Clause */
/* haar.cu - the sampled Haar matrix on the device, over the row tree: sums are computed upwards and
 * values downwards, height after height; one thread computes each from finished ones. */
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS, ALONE = 1024 };

typedef struct haar_operator {
    csrec_cuda_operator op;
    const csrec_cuda_haar *from; /* arrays of the host: while it is made */
    csrec_cuda_haar tree;        /* arrays on the device */
    int top;                     /* heights from here on are few nodes: one block does them all */
    double *at;                  /* [nodes + m] sum, or value, at a position */
} haar_operator;

static __device__ void sum_node(const csrec_cuda_haar &t, int64_t k, double *sum) {
    int32_t node = t.order[k];
    sum[node] = sum[t.left[node]] + sum[t.right[node]];
}

static __global__ void sum_height(csrec_cuda_haar t, int height, double *sum) {
    int64_t k = t.first[height] + csrec_cuda_thread();
    if (k < t.first[height + 1]) sum_node(t, k, sum);
}

static __global__ void sum_top(csrec_cuda_haar t, int height, double *sum) {
    for (; height < t.heights; height++) {
        int64_t k = t.first[height] + threadIdx.x;
        if (k < t.first[height + 1]) sum_node(t, k, sum);
        __syncthreads();
    }
}

static __global__ void list_products(csrec_cuda_haar t, const double *sum, double *x) {
    int64_t c = csrec_cuda_thread();
    if (c >= t.n) return;
    double value = sum[t.plus[c]];
    if (t.minus[c] >= 0) value -= sum[t.minus[c]];
    x[c] = value * t.factor[c];
}

/* Contribution of the column of all samples of a position. */
static __device__ double own_value(const csrec_cuda_haar &t, int32_t position, const double *x) {
    int32_t c = t.single[position];
    return c < 0 ? 0.0 : x[c] * t.factor[c];
}

/* The root's value: column 0 holds every sample. */
static __global__ void start_values(csrec_cuda_haar t, const double *x, double *value) {
    int32_t root = 0; /* node 0, or the only leaf */
    value[root] = x[0] * t.factor[0];
}

static __device__ void pass_value(const csrec_cuda_haar &t, int64_t k, const double *x,
                                  double *value) {
    int32_t node = t.order[k], left = t.left[node], right = t.right[node];
    int32_t c = t.difference[node];
    double step = x[c] * t.factor[c], here = value[node];
    value[left] = (here + step) + own_value(t, left, x);
    value[right] = (here - step) + own_value(t, right, x);
}

static __global__ void pass_height(csrec_cuda_haar t, int height, const double *x, double *value) {
    int64_t k = t.first[height] + csrec_cuda_thread();
    if (k < t.first[height + 1]) pass_value(t, k, x, value);
}

static __global__ void pass_top(csrec_cuda_haar t, int height, const double *x, double *value) {
    for (int h = t.heights - 1; h >= height; h--) {
        int64_t k = t.first[h] + threadIdx.x;
        if (k < t.first[h + 1]) pass_value(t, k, x, value);
        __syncthreads();
    }
}

static unsigned height_blocks(const csrec_cuda_haar *t, int height) {
    return csrec_cuda_blocks(t->first[height + 1] - t->first[height], THREADS);
}

static csrec_status adjoint(haar_operator *own, const double *y, double *x, csrec_error *error) {
    const csrec_cuda_haar *t = &own->tree;
    CSREC_TRY(csrec_cuda_copy(own->at + t->nodes, y, (size_t)t->m * sizeof *y, error));
    for (int h = 0; h < own->top; h++)
        CSREC_TRY(CSREC_CUDA_RUN(sum_height, height_blocks(t, h), THREADS, error, *t, h, own->at));
    if (own->top < t->heights)
        CSREC_TRY(CSREC_CUDA_RUN(sum_top, 1, ALONE, error, *t, own->top, own->at));
    return CSREC_CUDA_EACH(list_products, t->n, THREADS, error, *t, own->at, x);
}

static csrec_status forward(haar_operator *own, const double *x, double *y, csrec_error *error) {
    const csrec_cuda_haar *t = &own->tree;
    CSREC_TRY(CSREC_CUDA_RUN(start_values, 1, 1, error, *t, x, own->at));
    if (own->top < t->heights)
        CSREC_TRY(CSREC_CUDA_RUN(pass_top, 1, ALONE, error, *t, own->top, x, own->at));
    for (int h = own->top - 1; h >= 0; h--) {
        CSREC_TRY(
            CSREC_CUDA_RUN(pass_height, height_blocks(t, h), THREADS, error, *t, h, x, own->at));
    }
    return csrec_cuda_copy(y, own->at + t->nodes, (size_t)t->m * sizeof *y, error);
}

static __global__ void fill_ones(int64_t n, double *x) {
    int64_t c = csrec_cuda_thread();
    if (c < n) x[c] = 1.0;
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    haar_operator *own = (haar_operator *)op;
    if (product == CSREC_CUDA_FORWARD) return forward(own, in, out, error);
    if (product == CSREC_CUDA_ADJOINT) return adjoint(own, in, out, error);
    if (product != CSREC_CUDA_NORMS) return CSREC_UNSUPPORTED;
    return CSREC_CUDA_EACH(fill_ones, op->n, THREADS, error, op->n, out);
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    haar_operator *own = (haar_operator *)op;
    const csrec_cuda_haar *h = own->from;
    csrec_cuda_haar *t = &own->tree;
    csrec_cuda_operator_take(op, block, t->nodes, &t->left, h->left);
    csrec_cuda_operator_take(op, block, t->nodes, &t->right, h->right);
    csrec_cuda_operator_take(op, block, t->nodes, &t->order, h->order);
    csrec_cuda_operator_take(op, block, t->n, &t->plus, h->plus);
    csrec_cuda_operator_take(op, block, t->n, &t->minus, h->minus);
    csrec_cuda_operator_take(op, block, t->n, &t->factor, h->factor);
    csrec_cuda_operator_take(op, block, t->nodes, &t->difference, h->difference);
    csrec_cuda_operator_take(op, block, t->nodes + t->m, &t->single, h->single);
    csrec_cuda_take(block, t->nodes + t->m, &own->at);
}

csrec_status csrec_cuda_operator_haar(const csrec_cuda_haar *haar, csrec_cuda_operator **made,
                                      csrec_error *error) {
    haar_operator own = {};
    own.op = csrec_cuda_operator_of(haar->m, haar->n, lay_out, queue);
    own.op.unit = true;
    own.from = haar;
    own.tree = *haar;
    for (own.top = haar->heights; own.top > 0; own.top--)
        if (haar->first[own.top] - haar->first[own.top - 1] > ALONE) break;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator haar", made, error);
}
