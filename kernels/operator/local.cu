/* SPDX-License-Identifier: BSD-3-Clause */
/* local.cu - matrices of blocks, blurs and means of boxes on the device: a thread, or a warp, an
 * entry of the result. */
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS, WARPS = THREADS / 32 };

typedef struct matrix_operator {
    csrec_cuda_operator op;
    const csrec_matrix *from; /* while it is made */
    int64_t rows, each, blocks;
    double *values; /* [rows][each] */
    int64_t *place; /* [blocks * each], -1: beyond the signal; NULL: a block that is the signal */
} matrix_operator;

/* y of row r and block b; a warp each. */
static __global__ void multiply(int64_t rows, int64_t each, int64_t blocks, const double *values,
                                const int64_t *place, const double *x, double *y) {
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (i >= rows * blocks) return;
    const double *row = values + i % rows * each;
    const int64_t first = i / rows * each;
    double sum = 0.0;
    for (int64_t k = threadIdx.x % 32; k < each; k += 32) {
        const int64_t at = place ? place[first + k] : k;
        if (at >= 0) sum = fma(row[k], x[at], sum);
    }
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 == 0) y[i] = sum;
}

/* x of entry i of the blocks, in their order. */
static __global__ void multiply_transposed(int64_t rows, int64_t each, int64_t blocks,
                                           const double *values, const int64_t *place,
                                           const double *y, double *x) {
    int64_t i = csrec_cuda_thread();
    if (i >= each * blocks || (place && place[i] < 0)) return;
    const double *own = y + i / each * rows, *column = values + i % each;
    double sum = 0.0;
    for (int64_t r = 0; r < rows; r++) sum = fma(column[r * each], own[r], sum);
    x[place ? place[i] : i] = sum;
}

static csrec_status matrix_queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                                 double *out, csrec_error *error) {
    matrix_operator *own = (matrix_operator *)op;
    if (product == CSREC_CUDA_FORWARD)
        return CSREC_CUDA_RUN(multiply, csrec_cuda_blocks(op->m, WARPS), THREADS, error, own->rows,
                              own->each, own->blocks, own->values, own->place, in, out);
    if (product != CSREC_CUDA_ADJOINT) return CSREC_UNSUPPORTED;
    return CSREC_CUDA_EACH(multiply_transposed, own->each * own->blocks, THREADS, error, own->rows,
                           own->each, own->blocks, own->values, own->place, in, out);
}

static void matrix_lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    matrix_operator *own = (matrix_operator *)op;
    csrec_cuda_operator_take(op, block, own->rows * own->each, &own->values, own->from->values);
    if (own->from->place)
        csrec_cuda_operator_take(op, block, own->each * own->blocks, &own->place, own->from->place);
}

csrec_status csrec_cuda_operator_matrix(const csrec_matrix *t, csrec_cuda_operator **made,
                                        csrec_error *error) {
    matrix_operator own = {};
    own.from = t;
    own.rows = t->rows;
    own.each = t->each;
    own.blocks = t->blocks;
    own.op = csrec_cuda_operator_of(t->rows * t->blocks, t->entries, matrix_lay_out, matrix_queue);
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator matrix", made, error);
}

struct blur_sizes {
    int64_t extent[3], kernel[3];
};

typedef struct blur_operator {
    csrec_cuda_operator op;
    const csrec_blur *b; /* while it is made */
    blur_sizes sizes;
    int64_t weights;
    double *h;
    csrec_cuda_samples samples;
    double *grid; /* [n] */
} blur_operator;

/* sum_k h_k x_(p + side (c - k)) over what lies in the signal: side 1 is the convolution, in the
 * CPU's order, -1 its transpose. */
static __device__ double convolve(const blur_sizes &s, const double *h, int64_t at, int side,
                                  const double *x) {
    const int64_t p[3] = {at / (s.extent[1] * s.extent[2]), at / s.extent[2] % s.extent[1],
                          at % s.extent[2]};
    double sum = 0.0;
    for (int64_t i = 0; i < s.kernel[0]; i++) {
        const int64_t z = p[0] + side * (s.kernel[0] / 2 - i);
        if (z < 0 || z >= s.extent[0]) continue;
        for (int64_t j = 0; j < s.kernel[1]; j++) {
            const int64_t r = p[1] + side * (s.kernel[1] / 2 - j);
            if (r < 0 || r >= s.extent[1]) continue;
            for (int64_t k = 0; k < s.kernel[2]; k++) {
                const int64_t c = p[2] + side * (s.kernel[2] / 2 - k);
                if (c >= 0 && c < s.extent[2])
                    sum += h[(i * s.kernel[1] + j) * s.kernel[2] + k] *
                           x[(z * s.extent[1] + r) * s.extent[2] + c];
            }
        }
    }
    return sum;
}

static __global__ void blur_at(int64_t m, const int64_t *index, blur_sizes s, const double *h,
                               const double *x, double *y) {
    int64_t k = csrec_cuda_thread();
    if (k < m) y[k] = convolve(s, h, index[k], 1, x);
}

static __global__ void blur_back(int64_t n, blur_sizes s, const double *h, const double *grid,
                                 double *x) {
    int64_t i = csrec_cuda_thread();
    if (i < n) x[i] = convolve(s, h, i, -1, grid);
}

static csrec_status blur_queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                               double *out, csrec_error *error) {
    blur_operator *own = (blur_operator *)op;
    if (product == CSREC_CUDA_FORWARD)
        return CSREC_CUDA_EACH(blur_at, op->m, THREADS, error, op->m, own->samples.index,
                               own->sizes, own->h, in, out);
    if (product != CSREC_CUDA_ADJOINT) return CSREC_UNSUPPORTED;
    CSREC_TRY(csrec_cuda_samples_scatter(&own->samples, in, own->grid, error));
    return CSREC_CUDA_EACH(blur_back, op->n, THREADS, error, op->n, own->sizes, own->h, own->grid,
                           out);
}

static void blur_lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    blur_operator *own = (blur_operator *)op;
    csrec_cuda_samples_take(op, block, &own->samples, &own->b->mask);
    csrec_cuda_operator_take(op, block, own->weights, &own->h, own->b->h);
    csrec_cuda_take(block, op->n, &own->grid);
}

csrec_status csrec_cuda_operator_blur(const csrec_blur *b, csrec_cuda_operator **made,
                                      csrec_error *error) {
    blur_operator own = {};
    own.b = b;
    own.weights = 1;
    for (int a = 0; a < 3; a++) {
        own.sizes.extent[a] = b->extent[a];
        own.sizes.kernel[a] = b->kernel[a];
        own.weights *= b->kernel[a];
    }
    own.op = csrec_cuda_operator_of(b->mask.m, b->mask.entries, blur_lay_out, blur_queue);
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator blur", made, error);
}

typedef struct downsample_operator {
    csrec_cuda_operator op;
    csrec_downsample d;
} downsample_operator;

static __global__ void average(csrec_downsample d, const double *x, double *y) {
    int64_t at = csrec_cuda_thread();
    if (at >= d.boxes[0] * d.boxes[1] * d.boxes[2]) return;
    const int64_t first[3] = {at / (d.boxes[1] * d.boxes[2]) * d.factor[0],
                              at / d.boxes[2] % d.boxes[1] * d.factor[1],
                              at % d.boxes[2] * d.factor[2]};
    const int64_t n[3] = {csrec_box_edge(&d, 0, first[0]), csrec_box_edge(&d, 1, first[1]),
                          csrec_box_edge(&d, 2, first[2])};
    const double share = 1.0 / ((double)(n[0] * n[1]) * (double)n[2]);
    double sum = 0.0;
    for (int64_t i = first[0]; i < first[0] + n[0]; i++)
        for (int64_t j = first[1]; j < first[1] + n[1]; j++)
            for (int64_t k = first[2]; k < first[2] + n[2]; k++)
                sum += share * x[(i * d.extent[1] + j) * d.extent[2] + k];
    y[at] = sum;
}

static __global__ void spread(csrec_downsample d, const double *y, double *x) {
    int64_t at = csrec_cuda_thread();
    if (at >= d.extent[0] * d.extent[1] * d.extent[2]) return;
    const int64_t i = at / (d.extent[1] * d.extent[2]), j = at / d.extent[2] % d.extent[1],
                  k = at % d.extent[2];
    const double share = 1.0 / ((double)(csrec_box_edge(&d, 0, i) * csrec_box_edge(&d, 1, j)) *
                                (double)csrec_box_edge(&d, 2, k));
    x[at] =
        share * y[(i / d.factor[0] * d.boxes[1] + j / d.factor[1]) * d.boxes[2] + k / d.factor[2]];
}

static csrec_status downsample_queue(csrec_cuda_operator *op, csrec_cuda_product product,
                                     double *in, double *out, csrec_error *error) {
    downsample_operator *own = (downsample_operator *)op;
    if (product == CSREC_CUDA_FORWARD)
        return CSREC_CUDA_EACH(average, op->m, THREADS, error, own->d, in, out);
    if (product != CSREC_CUDA_ADJOINT) return CSREC_UNSUPPORTED;
    return CSREC_CUDA_EACH(spread, op->n, THREADS, error, own->d, in, out);
}

csrec_status csrec_cuda_operator_downsample(const csrec_downsample *d, csrec_cuda_operator **made,
                                            csrec_error *error) {
    downsample_operator own = {};
    own.d = *d;
    own.op =
        csrec_cuda_operator_of(d->boxes[0] * d->boxes[1] * d->boxes[2],
                               d->extent[0] * d->extent[1] * d->extent[2], NULL, downsample_queue);
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator downsample", made, error);
}
