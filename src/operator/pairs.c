/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs.c - an operator of real vectors, applied to real and imaginary parts; or any operator,
 * applied to several x and y: the copies of an entry follow each other, and are one entry of as
 * many parts. */
#include <stdlib.h>

#include "operator/chain.h"

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

typedef csrec_status (*product_fn)(const csrec_operator *A, const double *in, double *out);

/* n and m: numbers of in and out for one copy, of which n_parts and m_parts follow each other. */
static csrec_status apply(const pairs *c, product_fn product, int64_t n, int64_t n_parts, int64_t m,
                          int64_t m_parts, const double *in, double *out) {
    double *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)m * sizeof *to);
    csrec_status status = from && to ? CSREC_OK : CSREC_MEMORY;
    for (int64_t k = 0; k < c->copies && !status; k++) {
        for (int64_t j = 0; j < n; j++)
            from[j] = in[(j / n_parts * c->copies + k) * n_parts + j % n_parts];
        status = product(c->of.first, from, to);
        for (int64_t i = 0; i < m; i++)
            out[(i / m_parts * c->copies + k) * m_parts + i % m_parts] = to[i];
    }
    free(from);
    free(to);
    return status;
}

static csrec_status pairs_forward(const csrec_operator *A, const double *x, double *y) {
    const pairs *c = A->data;
    return apply(c, c->of.first->type->forward, c->of.first->n, c->x_parts, c->of.first->m,
                 c->y_parts, x, y);
}

static csrec_status pairs_adjoint(const csrec_operator *A, const double *y, double *x) {
    const pairs *c = A->data;
    return apply(c, c->of.first->type->adjoint, c->of.first->m, c->y_parts, c->of.first->n,
                 c->x_parts, y, x);
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
                                                  .column_norms = pairs_column_norms,
                                                  .explain = csrec_chain_explain};
