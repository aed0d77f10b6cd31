/* SPDX-License-Identifier: BSD-3-Clause */
/* dct.cu - the frame of overlapping block cosines (operator/dct.h) on the device.
 *
 * Blocks are extracted and transformed along one axis after another, one thread per coefficient; an
 * entry of the signal gathers the blocks that cover it in ascending order, as the CPU adds them. */
#include <stdlib.h>

#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS };

struct axis {
    int64_t extent, count;
    int edge;
    int64_t *first;   /* [count] */
    int64_t *covered; /* [extent] the first block that covers the entry */
    int *covering;    /* [extent] how many do */
    double *weight;   /* [extent] 1 / covering */
    double *cosine;   /* [edge][edge] */
};

struct frame {
    axis a[3];
    int64_t blocks, size, n, entries;
};

typedef struct dct_operator {
    csrec_cuda_operator op;
    const csrec_dct *dct; /* while it is made */
    csrec_cuda_samples samples;
    frame f;
    double *signal; /* [entries] */
    double *other;  /* [n] */
} dct_operator;

static __global__ void cut(frame f, const double *signal, double *x) {
    int64_t j = csrec_cuda_thread();
    if (j >= f.n) return;
    int64_t b = j / f.size;
    int at = (int)(j % f.size), i2 = at % f.a[2].edge, rest = at / f.a[2].edge;
    int i1 = rest % f.a[1].edge, i0 = rest / f.a[1].edge;
    int64_t c2 = f.a[2].first[b % f.a[2].count] + i2;
    int64_t c1 = f.a[1].first[b / f.a[2].count % f.a[1].count] + i1;
    int64_t c0 = f.a[0].first[b / f.a[2].count / f.a[1].count] + i0;
    x[j] = signal[(c0 * f.a[1].extent + c1) * f.a[2].extent + c2];
}

/* out[o][k][i] = sum_j matrix(k, j) in[o][j][i], or matrix(j, k) if transposed; squared: of the
 * matrix' squares. */
static __global__ void apply(int64_t n, const double *matrix, bool transposed, bool squared,
                             int edge, int inner, const double *in, double *out) {
    int64_t at = csrec_cuda_thread();
    if (at >= n) return;
    int64_t o = at / (edge * inner);
    int k = (int)(at / inner % edge), i = (int)(at % inner);
    const double *from = in + o * edge * inner + i;
    double sum = 0.0;
    for (int j = 0; j < edge; j++) {
        double c = transposed ? matrix[j * edge + k] : matrix[k * edge + j];
        if (squared) c = c * c;
        sum += c * from[(int64_t)j * inner];
    }
    out[at] = sum;
}

static __device__ double weight_of(const frame &f, int64_t i0, int64_t i1, int64_t i2) {
    return f.a[0].weight[i0] * f.a[1].weight[i1] * f.a[2].weight[i2];
}

static __global__ void weigh(frame f, bool squared, double *signal) {
    int64_t at = csrec_cuda_thread();
    if (at >= f.entries) return;
    int64_t i2 = at % f.a[2].extent, rest = at / f.a[2].extent;
    double w = weight_of(f, rest / f.a[1].extent, rest % f.a[1].extent, i2);
    signal[at] *= squared ? w * w : w;
}

/* The mean of the blocks that cover an entry. */
static __global__ void gather_blocks(frame f, const double *x, double *signal) {
    int64_t at = csrec_cuda_thread();
    if (at >= f.entries) return;
    int64_t i2 = at % f.a[2].extent, i1 = at / f.a[2].extent % f.a[1].extent;
    int64_t i0 = at / f.a[2].extent / f.a[1].extent;
    double sum = 0.0;
    for (int64_t b0 = f.a[0].covered[i0], e0 = b0 + f.a[0].covering[i0]; b0 < e0; b0++)
        for (int64_t b1 = f.a[1].covered[i1], e1 = b1 + f.a[1].covering[i1]; b1 < e1; b1++)
            for (int64_t b2 = f.a[2].covered[i2], e2 = b2 + f.a[2].covering[i2]; b2 < e2; b2++) {
                int64_t block = (b0 * f.a[1].count + b1) * f.a[2].count + b2;
                int64_t inside = (i0 - f.a[0].first[b0]) * f.a[1].edge + (i1 - f.a[1].first[b1]);
                inside = inside * f.a[2].edge + (i2 - f.a[2].first[b2]);
                sum += x[block * f.size + inside];
            }
    signal[at] = sum * weight_of(f, i0, i1, i2);
}

static __global__ void take_roots(int64_t n, double *norms) {
    int64_t j = csrec_cuda_thread();
    if (j < n) norms[j] = sqrt(norms[j]);
}

/* The three axes on every block, in the buffer `from`; *result is `from` or `to`. Axes of one entry
 * have the matrix 1. */
static csrec_status transform(const frame *f, bool transposed, bool squared, double *from,
                              double *to, double **result, csrec_error *error) {
    int inner = (int)f->size;
    for (int a = 0; a < 3; a++) {
        inner /= f->a[a].edge;
        if (f->a[a].edge == 1) continue;
        CSREC_TRY(CSREC_CUDA_EACH(apply, f->n, THREADS, error, f->n, f->a[a].cosine, transposed,
                                  squared, f->a[a].edge, inner, from, to));
        double *held = from;
        from = to;
        to = held;
    }
    *result = from;
    return CSREC_OK;
}

/* Starts in the buffer for which the number of passes, even or odd, ends in x. */
static csrec_status analyze(dct_operator *own, bool squared, const double *signal, double *x,
                            csrec_error *error) {
    bool even = ((own->f.a[0].edge > 1) + (own->f.a[1].edge > 1) + (own->f.a[2].edge > 1)) % 2 == 0;
    double *from = even ? x : own->other, *to = even ? own->other : x, *result;
    csrec_status status = CSREC_CUDA_EACH(cut, own->f.n, THREADS, error, own->f, signal, from);
    return status ? status : transform(&own->f, false, squared, from, to, &result, error);
}

static csrec_status synthesize(dct_operator *own, double *x, double *signal, csrec_error *error) {
    double *result;
    CSREC_TRY(transform(&own->f, true, false, x, own->other, &result, error));
    return CSREC_CUDA_EACH(gather_blocks, own->f.entries, THREADS, error, own->f, result, signal);
}

/* y NULL: for the squared norms, from a signal of ones. */
static csrec_status adjoint(dct_operator *own, const double *y, double *x, csrec_error *error) {
    CSREC_TRY(y ? csrec_cuda_samples_scatter(&own->samples, y, own->signal, error)
                : csrec_cuda_samples_scatter(&own->samples, NULL, own->signal, error));
    CSREC_TRY(CSREC_CUDA_EACH(weigh, own->f.entries, THREADS, error, own->f, !y, own->signal));
    return analyze(own, !y, own->signal, x, error);
}

static csrec_status norms(dct_operator *own, double *x, csrec_error *error) {
    CSREC_TRY(adjoint(own, NULL, x, error));
    return CSREC_CUDA_EACH(take_roots, own->f.n, THREADS, error, own->f.n, x);
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    dct_operator *own = (dct_operator *)op;
    csrec_status status;
    switch (product) {
    case CSREC_CUDA_FORWARD:
        status = synthesize(own, in, own->signal, error);
        return status ? status : csrec_cuda_samples_gather(&own->samples, own->signal, out, error);
    case CSREC_CUDA_ADJOINT:
        return adjoint(own, in, out, error);
    case CSREC_CUDA_NORMS:
        return norms(own, out, error);
    case CSREC_CUDA_SYNTHESIZE:
        return synthesize(own, in, out, error);
    case CSREC_CUDA_ANALYZE:
        return analyze(own, false, in, out, error);
    default:
        return CSREC_UNSUPPORTED;
    }
}

static void lay_out_axis(csrec_cuda_operator *op, csrec_cuda_block *block, axis *a,
                         const csrec_dct_axis *from) {
    a->extent = from->extent;
    a->count = from->count;
    a->edge = from->edge;
    csrec_cuda_operator_take(op, block, a->count, &a->first, from->first);
    csrec_cuda_take(block, a->extent, &a->covered, &a->covering);
    csrec_cuda_operator_take(op, block, a->extent, &a->weight, from->weight);
    csrec_cuda_operator_take(op, block, a->edge * a->edge, &a->cosine, from->cosine);
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    dct_operator *own = (dct_operator *)op;
    for (int a = 0; a < 3; a++) lay_out_axis(op, block, &own->f.a[a], &own->dct->axis[a]);
    csrec_cuda_samples_take(op, block, &own->samples, &own->dct->mask);
    csrec_cuda_take(block, own->f.entries, &own->signal);
    csrec_cuda_take(block, own->f.n, &own->other);
}

/* Blocks ascend, so those that cover an entry are neighbours. */
static csrec_status fill_covering(csrec_cuda_operator *op, const axis *to,
                                  const csrec_dct_axis *from, csrec_error *error) {
    int64_t *covered = (int64_t *)malloc((size_t)from->extent * sizeof *covered);
    int *covering = (int *)calloc((size_t)from->extent, sizeof *covering);
    csrec_status status = covered && covering
                              ? CSREC_OK
                              : csrec_fail(error, CSREC_MEMORY, "operator dct: out of memory");
    for (int64_t b = from->count - 1; b >= 0 && !status; b--)
        for (int64_t i = from->first[b]; i < from->first[b] + from->edge; i++) {
            covered[i] = b;
            covering[i]++;
        }
    if (!status)
        status = csrec_cuda_operator_fill(op, to->covered, covered, from->extent, 8, error);
    if (!status)
        status = csrec_cuda_operator_fill(op, to->covering, covering, from->extent,
                                          sizeof *covering, error);
    free(covered);
    free(covering);
    return status;
}

csrec_status csrec_cuda_operator_dct(const csrec_dct *dct, csrec_cuda_operator **made,
                                     csrec_error *error) {
    dct_operator own = {};
    own.f.blocks = dct->blocks;
    own.f.size = dct->size;
    own.f.n = dct->blocks * dct->size;
    own.op = csrec_cuda_operator_of(dct->mask.m, own.f.n, lay_out, queue);
    own.op.entries = own.f.entries = dct->mask.entries;
    own.dct = dct;
    csrec_cuda_operator *op;
    csrec_status status = csrec_cuda_operator_open(&own.op, sizeof own, "operator dct", &op, error);
    if (status) return status;
    dct_operator *there = (dct_operator *)op;
    for (int a = 0; a < 3 && !status; a++)
        status = fill_covering(op, &there->f.a[a], &dct->axis[a], error);
    return CSREC_SETTLE(status, csrec_cuda_operator_destroy(op), *made = op);
}
