/* callback.c - an operator whose products are the caller's functions. */
#include <math.h>
#include <stdlib.h>

#include "operator/operator.h"

typedef struct callback {
    csrec_product_fn forward, adjoint;
    void *context;
} callback;

static csrec_status callback_create(csrec_operator *A, const csrec_operator_spec *spec,
                                    csrec_error *error) {
    if (!spec->forward || !spec->adjoint || spec->m < 1 || spec->n < 1 || spec->m > INT64_MAX / 2 ||
        spec->n > INT64_MAX / 2)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator callback: needs forward, adjoint, and m and n from 1 to 2^62");
    callback *c = malloc(sizeof *c);
    if (!c) return csrec_fail(error, CSREC_MEMORY, "operator callback: out of memory");
    *c = (callback){spec->forward, spec->adjoint, spec->context};
    A->complex_x = A->complex_y = spec->complex_signal;
    A->m = A->complex_x ? 2 * spec->m : spec->m;
    A->n = A->complex_x ? 2 * spec->n : spec->n;
    A->data = c;
    return CSREC_OK;
}

static void callback_destroy(csrec_operator *A) {
    free(A->data);
}

/* The solvers rely on finite numbers. */
static csrec_status check(int64_t n, const double *values) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return CSREC_DATA;
    return CSREC_OK;
}

static csrec_status callback_forward(const csrec_operator *A, const double *x, double *y) {
    const callback *c = A->data;
    csrec_status status = c->forward(x, y, c->context);
    return status ? status : check(A->m, y);
}

static csrec_status callback_adjoint(const csrec_operator *A, const double *y, double *x) {
    const callback *c = A->data;
    csrec_status status = c->adjoint(y, x, c->context);
    return status ? status : check(A->n, x);
}

const csrec_operator_type csrec_operator_callback = {.name = "callback",
                                                     .brief = "products by two functions",
                                                     .takes = CSREC_TAKES_COMPLEX,
                                                     .create = callback_create,
                                                     .destroy = callback_destroy,
                                                     .forward = callback_forward,
                                                     .adjoint = callback_adjoint};
