/* pairs.c - an operator of real vectors, applied to real and imaginary parts. */
#include <stdlib.h>

#include "operator/chain.h"

static csrec_status pairs_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    const csrec_operator *first = spec->first;
    if (!first || first->complex_x || first->complex_y)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator pairs: needs an operator of real vectors as first");
    csrec_chain *c = malloc(sizeof *c);
    if (!c) return csrec_fail(error, CSREC_MEMORY, "operator pairs: out of memory");
    *c = (csrec_chain){first, NULL};
    A->data = c;
    A->m = 2 * first->m;
    A->n = 2 * first->n;
    A->complex_x = A->complex_y = true;
    A->norm = first->norm;
    A->serial = first->serial;
    A->doubted = first->doubted;
    return CSREC_OK;
}

static void pairs_destroy(csrec_operator *A) {
    free(A->data);
}

typedef csrec_status (*product_fn)(const csrec_operator *A, const double *in, double *out);

/* n and m: entries of in and out for one part. */
static csrec_status apply(const csrec_operator *first, product_fn product, int64_t n, int64_t m,
                          const double *in, double *out) {
    double *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)m * sizeof *to);
    csrec_status status = from && to ? CSREC_OK : CSREC_MEMORY;
    for (int part = 0; part < 2 && !status; part++) {
        for (int64_t j = 0; j < n; j++) from[j] = in[2 * j + part];
        status = product(first, from, to);
        for (int64_t i = 0; i < m; i++) out[2 * i + part] = to[i];
    }
    free(from);
    free(to);
    return status;
}

static csrec_status pairs_forward(const csrec_operator *A, const double *x, double *y) {
    const csrec_operator *first = ((const csrec_chain *)A->data)->first;
    return apply(first, first->type->forward, first->n, first->m, x, y);
}

static csrec_status pairs_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_operator *first = ((const csrec_chain *)A->data)->first;
    return apply(first, first->type->adjoint, first->m, first->n, y, x);
}

static csrec_status pairs_column_norms(const csrec_operator *A, double *norms) {
    const csrec_operator *first = ((const csrec_chain *)A->data)->first;
    csrec_status status = csrec_operator_column_norms(first, norms);
    for (int64_t j = first->n; j-- > 0 && !status;) norms[2 * j] = norms[2 * j + 1] = norms[j];
    return status;
}

const csrec_operator_type csrec_operator_pairs = {.name = "pairs",
                                                  .brief =
                                                      "an operator on real and imaginary parts",
                                                  .create = pairs_create,
                                                  .destroy = pairs_destroy,
                                                  .forward = pairs_forward,
                                                  .adjoint = pairs_adjoint,
                                                  .column_norms = pairs_column_norms,
                                                  .explain = csrec_chain_explain};
