/* SPDX-License-Identifier: BSD-3-Clause */
/* staircase.c - the operator staircase: running sums, y_k = x_0 + ... + x_k, so a sparse x is a
 * signal of few jumps. */
#include "operator/operator.h"

static csrec_status staircase_create(csrec_operator *A, const csrec_operator_spec *spec,
                                     csrec_error *error) {
    if (spec->m < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "operator staircase: m must be at least 1");
    A->m = A->n = spec->m;
    return CSREC_OK;
}

static csrec_status staircase_forward(const csrec_operator *A, const double *x, double *y) {
    double sum = 0;
    for (int64_t k = 0; k < A->m; k++) y[k] = sum += x[k];
    return CSREC_OK;
}

static csrec_status staircase_adjoint(const csrec_operator *A, const double *y, double *x) {
    double sum = 0;
    for (int64_t k = A->m; k-- > 0;) x[k] = sum += y[k];
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_staircase = {.name = "staircase",
                                                      .brief = "running sums of x",
                                                      .create = staircase_create,
                                                      .forward = staircase_forward,
                                                      .adjoint = staircase_adjoint};
