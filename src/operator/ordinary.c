/* SPDX-License-Identifier: BSD-3-Clause */
/* ordinary.c - measures the size of an operator, and divides it by a power of two. */
#include "operator/ordinary.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Columns that are shorter, as a share of the longest, have no digits beside it. */
#define SPAN 0x1p-960

/* ---- by products: half of the exponent before and half after, so that neither leaves the range */

typedef struct quotient {
    const csrec_operator *base;
    double before, after;
} quotient;

typedef csrec_status (*product_fn)(const csrec_operator *A, const double *in, double *out);

static csrec_status apply(const quotient *q, product_fn product, int64_t n, const double *in,
                          int64_t m, double *out) {
    double *scaled = malloc((size_t)n * sizeof *scaled);
    if (!scaled) return CSREC_MEMORY;
    for (int64_t i = 0; i < n; i++) scaled[i] = in[i] * q->before;
    csrec_status status = product(q->base, scaled, out);
    for (int64_t i = 0; i < m && !status; i++) out[i] *= q->after;
    free(scaled);
    return status;
}

static csrec_status quotient_forward(const csrec_operator *A, const double *x, double *y) {
    const quotient *q = A->data;
    return apply(q, q->base->type->forward, A->n, x, A->m, y);
}

static csrec_status quotient_adjoint(const csrec_operator *A, const double *y, double *x) {
    const quotient *q = A->data;
    return apply(q, q->base->type->adjoint, A->m, y, A->n, x);
}

static bool quotient_explain(const csrec_operator *A, csrec_error *error) {
    return csrec_operator_explain(((const quotient *)A->data)->base, error);
}

static const csrec_operator_type quotient_type = {.name = "quotient",
                                                  .forward = quotient_forward,
                                                  .adjoint = quotient_adjoint,
                                                  .explain = quotient_explain};

static csrec_status by_products(const csrec_operator *A, int exponent, csrec_operator **made,
                                csrec_error *error) {
    csrec_operator *o = malloc(sizeof *o);
    if (o) *o = *A;
    if (o) o->pool = (csrec_pool){0};
    quotient *q = o ? csrec_operator_data(o, sizeof *q) : NULL;
    if (!q) {
        free(o);
        return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", A->row->name);
    }
    *q = (quotient){A, ldexp(1.0, -exponent / 2), ldexp(1.0, -(exponent - exponent / 2))};
    o->type = o->row = &quotient_type;
    o->owned = false;
    o->state = NULL;
    o->mask = NULL;
    o->spare = NULL;
    o->norm = 0.0;
    *made = o;
    return CSREC_OK;
}

/* ---- sizes */

/* The exponent of the largest of norms [n]. CSREC_UNSUPPORTED: their squares left the range. */
static csrec_status look_at(const csrec_operator *A, const double *norms, int *exponent,
                            csrec_error *error) {
    double most = 0.0, least = INFINITY;
    for (int64_t j = 0; j < A->n; j++) {
        most = fmax(most, norms[j]);
        if (norms[j] > 0.0) least = fmin(least, norms[j]);
    }
    if (!A->row->divide && !(most > 0.0 && isfinite(most))) return CSREC_UNSUPPORTED;
    most = fmin(most, DBL_MAX);
    if (most > 0.0) *exponent = ilogb(most);
    if (least >= SPAN * most) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "operator %s: columns from %.3g to %.3g long; rescale them", A->row->name,
                      least, most);
}

static csrec_status measure(const csrec_operator *A, int *exponent, csrec_error *error) {
    bool known = A->norm > 0.0 && isfinite(A->norm);
    if (known) *exponent = ilogb(A->norm);
    if (known || !A->row->column_norms) return known ? CSREC_OK : CSREC_UNSUPPORTED;
    double *norms = malloc((size_t)A->n * sizeof *norms);
    csrec_status status = norms ? csrec_operator_column_norms(A, norms) : CSREC_MEMORY;
    if (status)
        csrec_fail(error, status, "operator %s: %s", A->row->name, csrec_status_text(status));
    else
        status = look_at(A, norms, exponent, error);
    free(norms);
    return status;
}

csrec_status csrec_ordinary_create(const csrec_operator *A, csrec_operator **ordinary,
                                   csrec_error *error) {
    int exponent = 0;
    *ordinary = NULL;
    csrec_status status = A->doubted ? CSREC_UNSUPPORTED : measure(A, &exponent, error);
    if (status == CSREC_UNSUPPORTED) status = csrec_adjoint_test(A, &exponent, error);
    if (status || abs(exponent) <= 64) return status;
    status = A->row->divide ? A->row->divide(A, exponent, ordinary, error)
                            : by_products(A, exponent, ordinary, error);
    if (!status) (*ordinary)->exponent = A->exponent + exponent;
    if (!status) (*ordinary)->doubted = false;
    return status;
}
