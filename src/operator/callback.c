/* SPDX-License-Identifier: BSD-3-Clause */
/* callback.c - an operator whose products are the caller's functions. */
#include <math.h>
#include <pthread.h>

#include "operator/operator.h"

/* What a failed product is known by. */
typedef struct fault {
    const char *function, *out; /* NULL: none */
    int64_t place;              /* of the value that is not finite; -1: the function failed */
    double value;
    csrec_status status;
} fault;

typedef struct callback {
    csrec_product_fn forward, adjoint;
    void *context;
    bool parallel;
    pthread_mutex_t lock; /* held during calls, unless parallel; guards the fault */
    fault fault;
} callback;

/* A function may use its own operator. */
static bool create_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t kind;
    if (pthread_mutexattr_init(&kind)) return false;
    const bool made = !pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) &&
                      !pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
    return made;
}

static csrec_status callback_create(csrec_operator *A, const csrec_operator_spec *spec,
                                    csrec_error *error) {
    if (!spec->forward || !spec->adjoint || spec->m < 1 || spec->n < 1 || spec->m > INT64_MAX / 2 ||
        spec->n > INT64_MAX / 2)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator callback: needs forward, adjoint, and m and n from 1 to 2^62");
    callback *c = csrec_operator_data(A, sizeof *c);
    if (!c || !create_lock(&c->lock)) return CSREC_MEMORY;
    c->forward = spec->forward;
    c->adjoint = spec->adjoint;
    c->context = spec->context;
    c->parallel = spec->parallel;
    A->complex_x = A->complex_y = spec->complex_signal;
    A->m = A->complex_x ? 2 * spec->m : spec->m;
    A->n = A->complex_x ? 2 * spec->n : spec->n;
    A->serial = !spec->parallel;
    A->doubted = !spec->unchecked;
    return CSREC_OK;
}

static void callback_destroy(csrec_operator *A) {
    pthread_mutex_destroy(&((callback *)A->data)->lock);
}

/* The solvers rely on finite numbers. */
static csrec_status check(int64_t n, const double *values, fault *found) {
    for (int64_t i = 0; i < n && found->place < 0; i++)
        if (!isfinite(values[i])) found->place = i;
    if (found->place < 0) return CSREC_OK;
    found->value = values[found->place];
    return CSREC_DATA;
}

static csrec_status call(callback *c, csrec_product_fn product, fault found, const double *in,
                         int64_t n, double *out) {
    if (!c->parallel) pthread_mutex_lock(&c->lock);
    found.status = product(in, out, c->context);
    if (!found.status) found.status = check(n, out, &found);
    if (!c->parallel) pthread_mutex_unlock(&c->lock);
    if (!found.status) return CSREC_OK;
    pthread_mutex_lock(&c->lock);
    c->fault = found;
    pthread_mutex_unlock(&c->lock);
    return found.status;
}

static csrec_status callback_forward(const csrec_operator *A, const double *x, double *y) {
    callback *c = A->data;
    return call(c, c->forward, (fault){.function = "forward", .out = "y", .place = -1}, x, A->m, y);
}

static csrec_status callback_adjoint(const csrec_operator *A, const double *y, double *x) {
    callback *c = A->data;
    return call(c, c->adjoint, (fault){.function = "adjoint", .out = "x", .place = -1}, y, A->n, x);
}

static bool callback_explain(const csrec_operator *A, csrec_error *error) {
    callback *c = A->data;
    pthread_mutex_lock(&c->lock);
    const fault found = c->fault;
    c->fault = (fault){0};
    pthread_mutex_unlock(&c->lock);
    if (!found.function) return false;
    if (found.place < 0)
        csrec_fail(error, found.status, "operator callback: %s failed: %s", found.function,
                   csrec_status_text(found.status));
    else
        csrec_fail(error, found.status, "operator callback: %s gives %s[%lld] = %g, not finite",
                   found.function, found.out, (long long)(found.place / A->parts), found.value);
    return true;
}

const csrec_operator_type csrec_operator_callback = {.name = "callback",
                                                     .brief = "products by two functions",
                                                     .takes = CSREC_TAKES_COMPLEX,
                                                     .create = callback_create,
                                                     .destroy = callback_destroy,
                                                     .forward = callback_forward,
                                                     .adjoint = callback_adjoint,
                                                     .explain = callback_explain};
