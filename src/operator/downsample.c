/* SPDX-License-Identifier: BSD-3-Clause */
/* downsample.c - the operator of means of boxes. */
#include <math.h>
#include <string.h>

#include "operator/devices.h"

static csrec_status downsample_create(csrec_operator *A, const csrec_operator_spec *spec,
                                      csrec_error *error) {
    CSREC_TRY(csrec_rows_of(spec, "downsample", &A->m, error));
    csrec_shape_count(spec->shape, &A->n);
    csrec_downsample *d = csrec_operator_data(A, sizeof *d);
    if (!d) return CSREC_MEMORY;
    csrec_mask_extents(spec->shape, d->extent);
    csrec_mask_axes(spec->shape, spec->factor, d->factor);
    A->norm = 1.0;
    for (int a = 0; a < 3; a++) {
        d->boxes[a] = (d->extent[a] + d->factor[a] - 1) / d->factor[a];
        int64_t rest = d->extent[a] - (d->boxes[a] - 1) * d->factor[a]; /* in the smallest box */
        A->norm /= sqrt((double)rest);
    }
    return CSREC_OK;
}

/* Calls for each entry i of the signal with its box and share in it. */
static void average(const csrec_downsample *d, const double *x, double *y, double *back) {
    int64_t i = 0;
    for (int64_t z = 0; z < d->extent[0]; z++)
        for (int64_t r = 0; r < d->extent[1]; r++) {
            const double lines = (double)csrec_box_edge(d, 0, z) * (double)csrec_box_edge(d, 1, r);
            const int64_t row = (z / d->factor[0] * d->boxes[1] + r / d->factor[1]) * d->boxes[2];
            for (int64_t c = 0; c < d->extent[2]; c++, i++) {
                const int64_t box = row + c / d->factor[2];
                const double share = 1.0 / (lines * (double)csrec_box_edge(d, 2, c));
                if (back)
                    back[i] = share * y[box];
                else
                    y[box] += share * x[i];
            }
        }
}

static csrec_status downsample_forward(const csrec_operator *A, const double *x, double *y) {
    memset(y, 0, (size_t)A->m * sizeof *y);
    average(A->data, x, y, NULL);
    return CSREC_OK;
}

static csrec_status downsample_adjoint(const csrec_operator *A, const double *y, double *x) {
    average(A->data, NULL, (double *)(uintptr_t)y, x);
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_downsample = {.name = "downsample",
                                                       .brief = "means of boxes",
                                                       .takes = CSREC_TAKES_FACTOR,
                                                       .create = downsample_create,
                                                       .forward = downsample_forward,
                                                       .adjoint = downsample_adjoint};
