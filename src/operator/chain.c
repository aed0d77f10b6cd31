/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.c - the product of two operators: A = second first. */
#include "operator/chain.h"

typedef csrec_chain chain;

static csrec_status chain_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    const csrec_operator *first = spec->first, *second = spec->second;
    if (!first || !second || first->m != second->n)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator chain: first returns %lld entries, second takes %lld",
                          (long long)(first ? first->m : 0), (long long)(second ? second->n : 0));
    if (first->complex_y != second->complex_x)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator chain: first returns %s values, second takes %s ones; use "
                          "operator pairs",
                          first->complex_y ? "complex" : "real",
                          second->complex_x ? "complex" : "real");
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

bool csrec_chain_explain(const csrec_operator *A, csrec_error *error) {
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
                                                  .explain = csrec_chain_explain};
