/* SPDX-License-Identifier: BSD-3-Clause */
/* dct.c - overlapping block cosine frame of a signal with one to three axes, sampled. */
#include "operator/dct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static csrec_status axis_create(csrec_pool *pool, int64_t extent, int block, int step,
                                csrec_dct_axis *axis) {
    axis->extent = extent;
    axis->edge = extent < block ? (int)extent : block;
    axis->count = (extent - axis->edge + step - 1) / step + 1;
    int edge = axis->edge;
    CSREC_TAKE(pool, axis->first, axis->count);
    CSREC_ZEROS(pool, axis->weight, extent);
    CSREC_TAKE(pool, axis->cosine, edge * edge);
    if (csrec_pool_status(pool)) return CSREC_MEMORY;
    for (int64_t k = 0; k < axis->count; k++) {
        int64_t first = k * step, last = axis->extent - axis->edge;
        axis->first[k] = first < last ? first : last;
        for (int j = 0; j < axis->edge; j++) axis->weight[axis->first[k] + j] += 1.0;
    }
    for (int64_t i = 0; i < axis->extent; i++) axis->weight[i] = 1.0 / axis->weight[i];
    for (int k = 0; k < edge; k++)
        for (int i = 0; i < edge; i++)
            axis->cosine[k * edge + i] =
                sqrt((k ? 2.0 : 1.0) / edge) * cos(PI * (2 * i + 1) * k / (2.0 * edge));
    return CSREC_OK;
}

static csrec_status dct_check(const csrec_operator_spec *spec, int64_t extent[3],
                              csrec_error *error) {
    if (!csrec_mask_extents(spec->shape, extent))
        return csrec_fail(error, CSREC_UNSUPPORTED, "operator dct: needs a shape of 1 to 3 axes");
    if (spec->block < CSREC_DCT_LEAST || spec->block > CSREC_DCT_MOST)
        return csrec_fail(error, CSREC_ARGUMENT, "operator dct: block = %d; must be %d to %d",
                          spec->block, CSREC_DCT_LEAST, CSREC_DCT_MOST);
    if (spec->step < 1 || spec->step > spec->block)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator dct: step = %d; must be 1 to the block, %d", spec->step,
                          spec->block);
    return CSREC_OK;
}

static csrec_status dct_create(csrec_operator *A, const csrec_operator_spec *spec,
                               csrec_error *error) {
    int64_t extent[3];
    CSREC_TRY(dct_check(spec, extent, error));
    csrec_dct *d = csrec_operator_data(A, sizeof *d);
    if (!d) return CSREC_MEMORY;
    d->block = spec->block;
    d->step = spec->step;
    d->blocks = d->size = 1;
    csrec_status status = csrec_mask_attach(A, spec, &d->mask, error);
    for (int a = 0; a < 3 && !status; a++) {
        status = axis_create(&A->pool, extent[a], spec->block, spec->step, &d->axis[a]);
        d->blocks *= d->axis[a].count;
        d->size *= d->axis[a].edge;
    }
    A->n = d->blocks * d->size;
    return status;
}

/* out[o][k][i] = sum_j matrix(k, j) in[o][j][i], or matrix(j, k) if transposed. */
static void apply(const double *matrix, bool transposed, int edge, int64_t outer, int64_t inner,
                  const double *in, double *out) {
    memset(out, 0, (size_t)(outer * edge * inner) * sizeof *out);
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < edge; k++)
            for (int j = 0; j < edge; j++) {
                double c = transposed ? matrix[j * edge + k] : matrix[k * edge + j];
                const double *from = in + (o * edge + j) * inner;
                double *to = out + (o * edge + k) * inner;
                for (int64_t i = 0; i < inner; i++) to[i] += c * from[i];
            }
}

/* The same for the last axis, whose entries are side by side: last(j, k) is the factor of in[o][j]
 * in out[o][k]. */
static void apply_last(const double *last, int edge, int64_t outer, const double *restrict in,
                       double *restrict out) {
    memset(out, 0, (size_t)(outer * edge) * sizeof *out);
    for (int64_t o = 0; o < outer; o++, in += edge, out += edge)
        for (int j = 0; j < edge; j++)
            for (int k = 0; k < edge; k++) out[k] += last[j * edge + k] * in[j];
}

/* The matrices of the three axes on one block: values in block, scratch in other [size]. The
 * result is in `other`: three passes. last: the third matrix as apply_last has it. */
static void transform(const csrec_dct *d, double *const matrix[3], const double *last,
                      bool transposed, double *block, double *other) {
    int64_t e0 = d->axis[0].edge, e1 = d->axis[1].edge, e2 = d->axis[2].edge;
    if (e0 * e1 > 1) { /* the matrix of an axis of one entry is 1 */
        apply(matrix[0], transposed, (int)e0, 1, e1 * e2, block, other);
        apply(matrix[1], transposed, (int)e1, e0, e2, other, block);
    }
    apply_last(last, (int)e2, e0 * e1, block, other);
}

/* First entry of block number b. */
static int64_t corner(const csrec_dct *d, int64_t b) {
    const csrec_dct_axis *axis = d->axis;
    int64_t k2 = b % axis[2].count, k1 = b / axis[2].count % axis[1].count,
            k0 = b / axis[2].count / axis[1].count;
    return (axis[0].first[k0] * axis[1].extent + axis[1].first[k1]) * axis[2].extent +
           axis[2].first[k2];
}

static void cut(const csrec_dct *d, const double *signal, int64_t b, double *block) {
    const csrec_dct_axis *axis = d->axis;
    const double *from = signal + corner(d, b);
    size_t bytes = (size_t)axis[2].edge * sizeof *block;
    for (int i = 0; i < axis[0].edge; i++)
        for (int j = 0; j < axis[1].edge; j++, block += axis[2].edge)
            memcpy(block, from + (i * axis[1].extent + j) * axis[2].extent, bytes);
}

static void add(const csrec_dct *d, const double *block, int64_t b, double *signal) {
    const csrec_dct_axis *axis = d->axis;
    double *to = signal + corner(d, b);
    for (int i = 0; i < axis[0].edge; i++)
        for (int j = 0; j < axis[1].edge; j++)
            for (int k = 0; k < axis[2].edge; k++)
                to[(i * axis[1].extent + j) * axis[2].extent + k] += *block++;
}

/* signal *= 1/c, or its square. */
static void weigh(const csrec_dct *d, bool squared, double *signal) {
    const csrec_dct_axis *axis = d->axis;
    for (int64_t i = 0; i < axis[0].extent; i++)
        for (int64_t j = 0; j < axis[1].extent; j++)
            for (int64_t k = 0; k < axis[2].extent; k++) {
                double w = axis[0].weight[i] * axis[1].weight[j] * axis[2].weight[k];
                *signal++ *= squared ? w * w : w;
            }
}

/* x_B = matrices (R_B signal) for every block. */
static csrec_status blocks_of(const csrec_dct *d, double *const matrix[3], const double *signal,
                              double *x) {
    double *block = malloc((size_t)d->size * sizeof *block);
    if (!block) return CSREC_MEMORY;
    double last[CSREC_DCT_MOST * CSREC_DCT_MOST];
    const int edge = d->axis[2].edge;
    for (int j = 0; j < edge; j++)
        for (int k = 0; k < edge; k++) last[j * edge + k] = matrix[2][k * edge + j];
    for (int64_t b = 0; b < d->blocks; b++) {
        cut(d, signal, b, block);
        transform(d, matrix, last, false, block, x + b * d->size);
    }
    free(block);
    return CSREC_OK;
}

static csrec_status dct_analyze(const csrec_operator *A, const double *signal, double *x) {
    const csrec_dct *d = A->data;
    double *const matrix[3] = {d->axis[0].cosine, d->axis[1].cosine, d->axis[2].cosine};
    return blocks_of(d, matrix, signal, x);
}

/* Adds blocks first .. end - 1 of x, then weighs. */
static csrec_status synthesize_some(const csrec_dct *d, const double *x, int64_t first, int64_t end,
                                    double *signal) {
    double *const matrix[3] = {d->axis[0].cosine, d->axis[1].cosine, d->axis[2].cosine};
    double *block = malloc(2 * (size_t)d->size * sizeof *block);
    if (!block) return CSREC_MEMORY;
    memset(signal, 0, (size_t)d->mask.entries * sizeof *signal);
    for (int64_t b = first; b < end; b++, x += d->size) {
        memcpy(block, x, (size_t)d->size * sizeof *block);
        transform(d, matrix, matrix[2], true, block, block + d->size);
        add(d, block + d->size, b, signal);
    }
    weigh(d, false, signal);
    free(block);
    return CSREC_OK;
}

static csrec_status dct_synthesize(const csrec_operator *A, const double *x, double *signal) {
    const csrec_dct *d = A->data;
    return synthesize_some(d, x, 0, d->blocks, signal);
}

static csrec_status dct_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_dct *d = A->data;
    double *signal = csrec_operator_borrow(A, d->mask.entries);
    if (!signal) return CSREC_MEMORY;
    csrec_mask_scatter(&d->mask, y, signal);
    weigh(d, false, signal);
    csrec_status status = dct_analyze(A, signal, x);
    csrec_operator_give_back(A, signal);
    return status;
}

static csrec_status dct_column(const csrec_operator *A, int64_t j, double *a) {
    const csrec_dct *d = A->data;
    double *signal = csrec_operator_borrow(A, d->mask.entries);
    double *x = calloc((size_t)d->size, sizeof *x);
    csrec_status status = signal && x ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        x[j % d->size] = 1.0;
        status = synthesize_some(d, x, j / d->size, j / d->size + 1, signal);
    }
    if (!status) csrec_mask_gather(&d->mask, signal, a);
    csrec_operator_give_back(A, signal);
    free(x);
    return status;
}

/* ||a||^2 = sum over the block's samples of (1/c)^2 times the squared cosines, which are products
 * over the axes like the cosines: the same transform with squared matrices. */
static csrec_status dct_column_norms(const csrec_operator *A, double *norms) {
    const csrec_dct *d = A->data;
    enum { SIZE = CSREC_DCT_MOST * CSREC_DCT_MOST };
    double *signal = calloc((size_t)d->mask.entries, sizeof *signal);
    double *squares = malloc(3 * SIZE * sizeof *squares);
    csrec_status status = signal && squares ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        double *const matrix[3] = {squares, squares + SIZE, squares + 2 * SIZE};
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < d->axis[a].edge * d->axis[a].edge; i++)
                matrix[a][i] = d->axis[a].cosine[i] * d->axis[a].cosine[i];
        for (int64_t k = 0; k < d->mask.m; k++) signal[d->mask.index[k]] = 1.0;
        weigh(d, true, signal);
        status = blocks_of(d, matrix, signal, norms);
    }
    for (int64_t j = 0; j < A->n && !status; j++) norms[j] = sqrt(norms[j]);
    if (!status) csrec_norms_clean(A->n, norms); /* a sample where a cosine is 0 */
    free(signal);
    free(squares);
    return status;
}

static const csrec_param params[] = {
    {"block", 0, 0, CSREC_DCT_MOST,
     "edge of a block, 4 to 32; 0: chosen for the solver; with threshold, the mean of 8, 16 and "
     "32"},
    {"step", 0, 0, CSREC_DCT_MOST, "distance of blocks, at most block; 0: half a block"},
    {0}};

/* Seconds of one thread for a multiplication of a block's transform, and for a coefficient besides;
 * for an entry: a step of blocks that are never stored, and that times the edge. */
static const double PER_PRODUCT = 2.1e-10, PER_COEFFICIENT = 5e-9, PER_PIXEL = 1.9e-9,
                    PER_PIXEL_EDGE = 8.5e-11;

/* Blocks `step` apart along each axis, at both ends too. Where none are stored (dct_shrink.c): two
 * planes of floats. */
static csrec_operator_need dct_need(const csrec_operator_spec *spec) {
    const csrec_shape *shape = spec->shape;
    int block = spec->block, step = spec->step;
    csrec_operator_need need = {.n = 1.0, .own = 8.0 * (double)spec->m};
    double edges = 0.0, pixels = 1.0, floats = 1.0;
    bool fast = shape->dims == 2 && (block & (block - 1)) == 0 && block % step == 0;
    for (int a = 0; a < shape->dims; a++) {
        int64_t extent = shape->dim[a], edge = extent < block ? extent : block;
        need.n *= (double)(((extent - edge + step - 1) / step + 1) * edge);
        edges += (double)edge;
        need.own += 8.0 * (double)(extent + (extent - edge + step - 1) / step + 1); /* an axis */
        const int64_t cells = csrec_dct_cells(extent > block ? extent : block, block, step);
        pixels *= (double)(cells * step);
        floats *= (double)((a + 1 < shape->dims ? cells : csrec_dct_across(cells)) * step);
        fast = fast && extent >= block;
    }
    need.stored = !fast;
    need.product = need.n * (PER_PRODUCT * edges + PER_COEFFICIENT);
    need.step = pixels * (PER_PIXEL + PER_PIXEL_EDGE * block);
    if (fast) need.kept = 8.0 * floats;
    return need;
}

const csrec_operator_type csrec_operator_dct = {
    .name = "dct",
    .brief = "overlapping block cosine frame of a sampled signal, 1 to 3 axes",
    .params = params,
    .takes = CSREC_TAKES_INDEX,
    .create = dct_create,
    .forward = csrec_mask_forward,
    .adjoint = dct_adjoint,
    .column_norms = dct_column_norms,
    .column = dct_column,
    .synthesize = dct_synthesize,
    .analyze = dct_analyze,
    .shrink = &csrec_dct_shrink,
    .need = dct_need};
