/* operator.c - the table of operators and the calls that go through it. */
#include "operator/operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"

static const csrec_operator_type *const types[] = {
    &csrec_operator_haar, &csrec_operator_dense, &csrec_operator_dct,  &csrec_operator_wavelet,
    &csrec_operator_conv, &csrec_operator_mask,  &csrec_operator_chain};

enum { TYPES = sizeof types / sizeof types[0] };

bool csrec_operator_info(int i, const char **name, const char **brief) {
    if (i < 0 || i >= TYPES) return false;
    *name = types[i]->name;
    *brief = types[i]->brief;
    return true;
}

const csrec_param *csrec_operator_param(int number, int i) {
    if (number < 0 || number >= TYPES || !types[number]->params) return NULL;
    const csrec_param *param = types[number]->params;
    for (; i > 0 && param->name; i--) param++;
    return i == 0 && param->name ? param : NULL;
}

csrec_status csrec_operator_create(const csrec_operator_spec *spec, csrec_operator **A,
                                   csrec_error *error) {
    const csrec_operator_type *type = NULL;
    for (int i = 0; i < TYPES && spec->name; i++)
        if (strcmp(types[i]->name, spec->name) == 0) type = types[i];
    if (!type)
        return csrec_fail(error, CSREC_ARGUMENT, "operator '%s' is unknown",
                          spec->name ? spec->name : "(none)");
    csrec_operator *made = calloc(1, sizeof *made);
    if (!made) return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", type->name);
    made->type = made->row = type;
    csrec_status status = type->create(made, spec, error);
    if (status) {
        free(made);
        return status;
    }
    status = csrec_backend_take_operator(spec->backend, made, error);
    if (status)
        csrec_operator_destroy(made);
    else
        *A = made;
    return status;
}

void csrec_operator_destroy(csrec_operator *A) {
    if (!A) return;
    if (A->device) A->backend->release_operator(A);
    A->row->destroy(A);
    free(A);
}

void csrec_operator_size(const csrec_operator *A, int64_t *m, int64_t *n) {
    *m = A->m;
    *n = A->n;
}

csrec_status csrec_operator_forward(const csrec_operator *A, const double *x, double *y) {
    return A->type->forward(A, x, y);
}

csrec_status csrec_operator_adjoint(const csrec_operator *A, const double *y, double *x) {
    return A->type->adjoint(A, y, x);
}

csrec_status csrec_operator_column(const csrec_operator *A, int64_t j, double *a) {
    if (j < 0 || j >= A->n) return CSREC_ARGUMENT;
    if (A->type->column) return A->type->column(A, j, a);
    double *unit = calloc((size_t)A->n, sizeof *unit);
    if (!unit) return CSREC_MEMORY;
    unit[j] = 1.0;
    csrec_status status = A->type->forward(A, unit, a);
    free(unit);
    return status;
}

csrec_status csrec_operator_column_norms(const csrec_operator *A, double *norms) {
    if (A->type->column_norms) return A->type->column_norms(A, norms);
    double *a = malloc((size_t)A->m * sizeof *a);
    csrec_status status = a ? CSREC_OK : CSREC_MEMORY;
    for (int64_t j = 0; j < A->n && !status; j++) {
        status = csrec_operator_column(A, j, a);
        double sum = 0.0;
        for (int64_t i = 0; i < A->m && !status; i++) sum += a[i] * a[i];
        norms[j] = sqrt(sum);
    }
    free(a);
    return status;
}

csrec_status csrec_operator_correlate(const csrec_operator *A, const double *r, double *c) {
    if (A->type->correlate) return A->type->correlate(A, r, c);
    double *norms = malloc((size_t)A->n * sizeof *norms);
    csrec_status status = norms ? csrec_operator_column_norms(A, norms) : CSREC_MEMORY;
    if (!status) status = A->type->adjoint(A, r, c);
    for (int64_t j = 0; j < A->n && !status; j++) c[j] = norms[j] > 0.0 ? c[j] / norms[j] : 0.0;
    free(norms);
    return status;
}
