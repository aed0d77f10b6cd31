/* SPDX-License-Identifier: BSD-3-Clause */
/* blur.c - the operator of a convolution, by direct sums: O(positions * weights). */
#include "operator/devices.h"

#include <math.h>
#include <string.h>

static csrec_status blur_create(csrec_operator *A, const csrec_operator_spec *spec,
                                csrec_error *error) {
    CSREC_TRY(csrec_rows_of(spec, "blur", &A->n, error));
    csrec_blur *b = csrec_operator_data(A, sizeof *b);
    CSREC_TRY(b ? csrec_mask_attach(A, spec, &b->mask, error) : CSREC_MEMORY);
    csrec_mask_extents(spec->shape, b->extent);
    csrec_mask_axes(spec->shape, spec->kernel, b->kernel);
    const int64_t weights = b->kernel[0] * b->kernel[1] * b->kernel[2];
    if (!CSREC_TAKE(&A->pool, b->h, weights)) return CSREC_MEMORY;
    for (int64_t k = 0; k < weights; k++) {
        b->h[k] = spec->filters[k];
        A->norm += fabs(b->h[k]);
    }
    return CSREC_OK;
}

/* Weights that meet the signal at position p along an axis: first .. last - 1, where weight k meets
 * entry p + c - k. */
static void span(int64_t extent, int64_t kernel, int64_t p, int64_t *first, int64_t *last) {
    const int64_t c = kernel / 2;
    *first = p + c - extent + 1 > 0 ? p + c - extent + 1 : 0;
    *last = p + c + 1 < kernel ? p + c + 1 : kernel;
}

/* Visits the lines of weights that meet the signal at `at`: from x to y, or back. */
static void visit(const csrec_blur *b, int64_t at, const double *x, double *y, double value,
                  double *back) {
    const int64_t p[3] = {at / (b->extent[1] * b->extent[2]), at / b->extent[2] % b->extent[1],
                          at % b->extent[2]};
    int64_t first[3], last[3];
    double sum = 0.0;
    for (int a = 0; a < 3; a++) span(b->extent[a], b->kernel[a], p[a], &first[a], &last[a]);
    for (int64_t i = first[0]; i < last[0]; i++)
        for (int64_t j = first[1]; j < last[1]; j++) {
            const double *h = b->h + (i * b->kernel[1] + j) * b->kernel[2];
            int64_t line =
                ((p[0] + b->kernel[0] / 2 - i) * b->extent[1] + p[1] + b->kernel[1] / 2 - j) *
                    b->extent[2] +
                p[2] + b->kernel[2] / 2;
            for (int64_t k = first[2]; k < last[2]; k++)
                if (back)
                    back[line - k] += h[k] * value;
                else
                    sum += h[k] * x[line - k];
        }
    if (y) *y = sum;
}

static csrec_status blur_forward(const csrec_operator *A, const double *x, double *y) {
    const csrec_blur *b = A->data;
    for (int64_t k = 0; k < A->m; k++) visit(b, b->mask.index[k], x, y + k, 0.0, NULL);
    return CSREC_OK;
}

static csrec_status blur_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_blur *b = A->data;
    memset(x, 0, (size_t)A->n * sizeof *x);
    for (int64_t k = 0; k < A->m; k++) visit(b, b->mask.index[k], NULL, NULL, y[k], x);
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_blur = {.name = "blur",
                                                 .brief = "a convolution, at some positions",
                                                 .takes = CSREC_TAKES_INDEX,
                                                 .create = blur_create,
                                                 .forward = blur_forward,
                                                 .adjoint = blur_adjoint};
