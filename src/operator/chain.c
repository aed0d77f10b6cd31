/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.c - the product of two operators: A = second first. */
#include <stdlib.h>

#include "operator/devices.h"

typedef csrec_chain chain;

static csrec_status chain_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    const csrec_operator *first = spec->first, *second = spec->second;
    if (!first || !second || first->m != second->n)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator chain: first returns %lld entries, second takes %lld",
                          (long long)(first ? first->m : 0), (long long)(second ? second->n : 0));
    if (first->complex_y != second->complex_x)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "operator chain: first returns %s values, second takes %s ones; use operator pairs",
            first->complex_y ? "complex" : "real", second->complex_x ? "complex" : "real");
    chain *c = csrec_operator_data(A, sizeof *c);
    if (!c) return CSREC_MEMORY;
    *c = (chain){first, second};
    A->m = second->m;
    A->n = first->n;
    A->complex_x = first->complex_x;
    A->complex_y = second->complex_y;
    csrec_operator_inherit(A, first);
    csrec_operator_inherit(A, second);
    return CSREC_OK;
}

static bool explain(const csrec_operator *A, csrec_error *error) {
    const chain *c = A->data;
    return csrec_operator_explain(c->first, error) ||
           (c->second && csrec_operator_explain(c->second, error));
}

static csrec_status chain_forward(const csrec_operator *A, const double *x, double *y) {
    const chain *c = A->data;
    double *between = csrec_operator_borrow(A, c->first->m);
    csrec_status status = between ? c->first->type->forward(c->first, x, between) : CSREC_MEMORY;
    if (!status) status = c->second->type->forward(c->second, between, y);
    csrec_operator_give_back(A, between);
    return status;
}

static csrec_status chain_adjoint(const csrec_operator *A, const double *y, double *x) {
    const chain *c = A->data;
    double *between = csrec_operator_borrow(A, c->first->m);
    csrec_status status = between ? c->second->type->adjoint(c->second, y, between) : CSREC_MEMORY;
    if (!status) status = c->first->type->adjoint(c->first, between, x);
    csrec_operator_give_back(A, between);
    return status;
}

/* The first operator may know its columns cheaply. */
static csrec_status chain_column(const csrec_operator *A, int64_t j, double *a) {
    const chain *c = A->data;
    double *between = csrec_operator_borrow(A, c->first->m);
    csrec_status status = between ? csrec_operator_column(c->first, j, between) : CSREC_MEMORY;
    if (!status) status = c->second->type->forward(c->second, between, a);
    csrec_operator_give_back(A, between);
    return status;
}

const csrec_operator_type csrec_operator_chain = {.name = "chain",
                                                  .brief = "the product of two operators",
                                                  .create = chain_create,
                                                  .forward = chain_forward,
                                                  .adjoint = chain_adjoint,
                                                  .column = chain_column,
                                                  .explain = explain};

/* ---- an operator of real vectors, applied to real and imaginary parts; or any operator,
 * applied to several x and y: the copies of an entry follow each other, and are one entry of as
 * many parts. */

typedef struct pairs {
    csrec_chain of;                   /* its first; no second */
    int64_t copies, x_parts, y_parts; /* numbers of an entry of first's x and y */
} pairs;

static csrec_status pairs_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    const csrec_operator *first = spec->first;
    if (!first || (spec->n == 0 && (first->complex_x || first->complex_y)))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator pairs: needs an operator of real vectors as first");
    pairs *c = csrec_operator_data(A, sizeof *c);
    if (!c) return CSREC_MEMORY;
    *c = (pairs){{first, NULL}, spec->n ? spec->n : 2, first->parts, first->complex_y ? 2 : 1};
    A->m = c->copies * first->m;
    A->n = c->copies * first->n;
    A->complex_x = A->complex_y = spec->n == 0;
    A->parts = c->copies * first->parts;
    A->norm = first->norm;
    A->exponent = first->exponent;
    csrec_operator_inherit(A, first);
    return CSREC_OK;
}

/* own [batch][n] are copies first, first + 1, ... among all, whose entries have so many parts. */
static void move(int64_t copies, int64_t parts, int64_t first, int64_t batch, int64_t n,
                 bool gather, double *all, double *own) {
    for (int64_t j = 0; j < n; j += parts)
        for (int64_t k = 0; k < batch; k++)
            for (int64_t p = 0; p < parts; p++) {
                double *one = all + j * copies + (first + k) * parts + p,
                       *other = own + k * n + j + p;
                *(gather ? other : one) = *(gather ? one : other);
            }
}

/* Copies share the loads of first's columns, where it has these. */
static csrec_status apply(const pairs *c, bool adjoint, const bool *chosen, const double *in,
                          double *out) {
    const csrec_operator *A = c->of.first;
    const int64_t n = adjoint ? A->m : A->n, n_parts = adjoint ? c->y_parts : c->x_parts;
    const int64_t m = adjoint ? A->n : A->m, m_parts = adjoint ? c->x_parts : c->y_parts;
    const int64_t batch = adjoint && A->type->adjoint_on ? c->copies : 1;
    double *from = malloc((size_t)(batch * n) * sizeof *from);
    double *to = malloc((size_t)(batch * m) * sizeof *to);
    csrec_status status = from && to ? CSREC_OK : CSREC_MEMORY;
    for (int64_t first = 0; first < c->copies && !status; first += batch) {
        move(c->copies, n_parts, first, batch, n, true, (double *)in, from);
        status = adjoint ? csrec_operator_adjoint_on(A, batch, chosen, from, to)
                         : A->type->forward(A, from, to);
        move(c->copies, m_parts, first, batch, m, false, out, to);
    }
    free(from);
    free(to);
    return status;
}

static csrec_status pairs_forward(const csrec_operator *A, const double *x, double *y) {
    return apply(A->data, false, NULL, x, y);
}

static csrec_status pairs_adjoint(const csrec_operator *A, const double *y, double *x) {
    return apply(A->data, true, NULL, y, x);
}

/* All copies of a column are chosen, or none. */
static csrec_status pairs_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                     const double *y, double *x) {
    const pairs *c = A->data;
    const int64_t n = c->of.first->n, parts = c->x_parts;
    bool *own = chosen ? malloc((size_t)n * sizeof *own) : NULL;
    csrec_status status = own || !chosen ? CSREC_OK : CSREC_MEMORY;
    for (int64_t j = 0; j < n && own; j++) own[j] = chosen[j / parts * A->parts + j % parts];
    for (int64_t k = 0; k < count && !status; k++)
        status = apply(c, true, own, y + k * A->m, x + k * A->n);
    free(own);
    return status;
}

static csrec_status pairs_column_norms(const csrec_operator *A, double *norms) {
    const pairs *c = A->data;
    csrec_status status = csrec_operator_column_norms(c->of.first, norms);
    const int64_t parts = c->x_parts;
    for (int64_t j = A->n; j-- > 0 && !status;) /* both parts of an entry have one norm */
        norms[j] = norms[j / A->parts * parts];
    return status;
}

const csrec_operator_type csrec_operator_pairs = {.name = "pairs",
                                                  .brief =
                                                      "an operator on real and imaginary parts",
                                                  .create = pairs_create,
                                                  .forward = pairs_forward,
                                                  .adjoint = pairs_adjoint,
                                                  .adjoint_on = pairs_adjoint_on,
                                                  .column_norms = pairs_column_norms,
                                                  .explain = explain};
