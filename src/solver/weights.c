/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.c - an operator with its columns divided by weights. */
#include "solver/weights.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

struct csrec_weighted {
    csrec_operator A; /* first */
    csrec_operator_type type;
    csrec_column_access access;
    const csrec_operator *base;
    void *state;              /* of the base's access */
    double *weight, *scratch; /* [n] of the columns, the weights in their unit */
    const double *weights;    /* of the entries, as given */
};

/* The weight of a column that stays 0. */
#define HEAVY 0x1p1000

static csrec_weighted *of(const csrec_operator *A) {
    return A->data;
}

/* v / w in scratch. */
static const double *divide(const csrec_operator *A, const double *v) {
    csrec_weighted *o = of(A);
    for (int64_t j = 0; j < A->n; j++) o->scratch[j] = v[j] / o->weight[j];
    return o->scratch;
}

static csrec_status weighted_forward(const csrec_operator *A, const double *x, double *y) {
    return of(A)->base->type->forward(of(A)->base, divide(A, x), y);
}

static csrec_status weighted_adjoint(const csrec_operator *A, const double *y, double *x) {
    csrec_status status = of(A)->base->type->adjoint(of(A)->base, y, x);
    for (int64_t j = 0; j < A->n && !status; j++) x[j] /= of(A)->weight[j];
    return status;
}

static csrec_status weighted_adjoint_on(const csrec_operator *A, const bool *chosen,
                                        const double *y, double *x) {
    csrec_status status = of(A)->base->type->adjoint_on(of(A)->base, chosen, y, x);
    for (int64_t j = 0; j < A->n && !status; j++) x[j] /= of(A)->weight[j];
    return status;
}

static csrec_status weighted_norms(const csrec_operator *A, double *norms) {
    csrec_status status = csrec_operator_column_norms(of(A)->base, norms);
    for (int64_t j = 0; j < A->n && !status; j++) norms[j] /= of(A)->weight[j];
    return status;
}

static csrec_status weighted_fit(const csrec_operator *A, const bool *chosen, const double *y,
                                 double *x, double *r) {
    csrec_status status = of(A)->base->type->fit(of(A)->base, chosen, y, x, r);
    for (int64_t j = 0; j < A->n && !status; j++) x[j] *= of(A)->weight[j];
    return status;
}

static bool weighted_explain(const csrec_operator *A, csrec_error *error) {
    return csrec_operator_explain(of(A)->base, error);
}

/* The state is the weighted operator itself: it serves one run. */
static csrec_status access_create(const csrec_operator *A, void **state) {
    *state = of(A);
    return of(A)->state ? CSREC_OK : of(A)->base->type->access->create(of(A)->base, &of(A)->state);
}

static void access_destroy(void *state) {
    csrec_weighted *o = state;
    if (o->state) o->base->type->access->destroy(o->state);
    o->state = NULL;
}

static void access_bounds(void *state, const double *r, double *upper) {
    const csrec_weighted *o = state;
    o->base->type->access->bounds(o->state, r, upper);
    for (int64_t j = 0; j < o->A.n; j++) upper[j] = upper[j] / o->weight[j] * (1.0 + 0x1p-50);
}

static double access_product(const void *state, int64_t j, const double *r) {
    const csrec_weighted *o = state;
    return o->base->type->access->product(o->state, j, r) / o->weight[j];
}

static void access_gram(const void *state, int64_t first, int64_t size, const int64_t *list,
                        int64_t stride, double *G) {
    const csrec_weighted *o = state;
    o->base->type->access->gram(o->state, first, size, list, stride, G);
    for (int64_t i = first; i < size; i++)
        for (int64_t k = 0; k <= i; k++)
            G[i * stride + k] = G[k * stride + i] =
                G[i * stride + k] / o->weight[list[i]] / o->weight[list[k]];
}

static void access_subtract(const void *state, int64_t size, const int64_t *list, const double *w,
                            double *r) {
    const csrec_weighted *o = state;
    for (int64_t k = 0; k < size; k++) o->scratch[k] = w[k] / o->weight[list[k]];
    o->base->type->access->subtract(o->state, size, list, o->scratch, r);
}

/* The functions that the base has. */
static void set_type(csrec_weighted *o) {
    const csrec_operator_type *base = o->base->type;
    o->access = (csrec_column_access){access_create,  access_destroy, access_bounds,
                                      access_product, access_gram,    access_subtract};
    o->type =
        (csrec_operator_type){.name = base->name,
                              .brief = base->brief,
                              .forward = weighted_forward,
                              .adjoint = weighted_adjoint,
                              .adjoint_on = base->adjoint_on ? weighted_adjoint_on : NULL,
                              .column_norms = o->base->row->column_norms ? weighted_norms : NULL,
                              .fit = base->fit ? weighted_fit : NULL,
                              .explain = weighted_explain,
                              .access = base->access ? &o->access : NULL};
}

/* The unit of the least, so that no column grows. */
static double unit_of_weights(int64_t n, const double *weights) {
    double least = weights[0];
    for (int64_t j = 1; j < n; j++) least = fmin(least, weights[j]);
    return csrec_unit_of(least);
}

csrec_status csrec_weighted_create(const csrec_operator *A, const double *weights,
                                   csrec_weighted **weighted) {
    csrec_weighted *o = calloc(1, sizeof *o);
    *weighted = o;
    if (!o) return CSREC_MEMORY;
    o->A = *A;
    o->A.pool = (csrec_pool){0};
    CSREC_TAKE(&o->A.pool, o->weight, A->n);
    CSREC_TAKE(&o->A.pool, o->scratch, A->n);
    if (csrec_pool_status(&o->A.pool)) return CSREC_MEMORY;
    const double unit = unit_of_weights(A->n / A->parts, weights);
    for (int64_t j = 0; j < A->n; j++) o->weight[j] = fmin(weights[j / A->parts] / unit, HEAVY);
    o->base = A;
    o->weights = weights;
    set_type(o);
    o->A.type = o->A.row = &o->type;
    o->A.owned = false;
    o->A.state = NULL;
    o->A.norm = 0.0;
    o->A.exponent -= ilogb(unit);
    o->A.data = o;
    return CSREC_OK;
}

void csrec_weighted_destroy(csrec_weighted *weighted) {
    if (!weighted) return;
    csrec_pool_clear(&weighted->A.pool);
    free(weighted);
}

const csrec_operator *csrec_weighted_operator(const csrec_weighted *weighted) {
    return &weighted->A;
}

void csrec_weighted_apply(const csrec_weighted *weighted, csrec_atoms *atoms) {
    const int64_t n = weighted->A.n, parts = weighted->A.parts;
    for (int64_t i = 0; i < atoms->n; i++) {
        if (atoms->column[i] >= (uint64_t)n) continue;
        const double z =
            atoms->coefficient[i] * weighted->weights[(int64_t)atoms->column[i] / parts];
        atoms->coefficient[i] = fmax(-DBL_MAX, fmin(DBL_MAX, z));
    }
}

bool csrec_weighted_undo(const csrec_weighted *weighted, csrec_atoms *atoms) {
    bool finite = true;
    for (int64_t i = 0; i < atoms->n; i++) {
        atoms->coefficient[i] /= weighted->weights[(int64_t)atoms->column[i] / weighted->A.parts];
        finite = finite && isfinite(atoms->coefficient[i]);
    }
    return finite;
}

csrec_status csrec_weights_check(const csrec_solver_type *type, const csrec_operator *A,
                                 const double *weights, csrec_error *error) {
    if (!weights) return CSREC_OK;
    if (!type->weighted)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "weights: solver %s minimises no l1 norm; use fista or bpdn", type->name);
    for (int64_t j = 0; j < A->n / A->parts; j++)
        if (!(weights[j] > 0.0) || !isfinite(weights[j]))
            return csrec_fail(error, CSREC_ARGUMENT, "weights[%lld] = %g; must be above 0",
                              (long long)j, weights[j]);
    return CSREC_OK;
}
