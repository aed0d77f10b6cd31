/* measured.c - the operator of a measurement, and its norm. */
#include "operator/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/unit.h"
#include "measurement/through.h"

static csrec_operator_spec spec_of(const csrec_measurement *m) {
    csrec_operator_spec spec = {.name = "mask"};
    if (m->through) spec = *m->through;
    spec.shape = &m->shape;
    const csrec_through_type *type = csrec_through_find(spec.name);
    if (!type || type->chosen) spec.index = m->index;
    if (!spec.matrix) spec.m = m->n;
    return spec;
}

/* Channels of y and of the signal are copied by these sizes. */
static csrec_status check_sizes(const csrec_measurement *m, csrec_operator **A,
                                csrec_error *error) {
    const int64_t rows = csrec_measurement_values(m) / m->channels;
    const int64_t columns = csrec_measurement_signal_values(m) / m->channels;
    if ((*A)->m == rows && (*A)->n == columns) return CSREC_OK;
    csrec_fail(error, CSREC_DATA,
               "operator %s: create made a matrix of %lld x %lld for a measurement of %lld x %lld; "
               "make one of that size",
               (*A)->row->name, (long long)(*A)->m, (long long)(*A)->n, (long long)rows,
               (long long)columns);
    csrec_operator_destroy(*A);
    *A = NULL;
    return CSREC_DATA;
}

csrec_status csrec_measured_operator(const csrec_context *context, const csrec_measurement *m,
                                     csrec_operator **A, csrec_error *error) {
    const csrec_operator_spec spec = spec_of(m);
    csrec_status status = csrec_operator_create_on(context, &spec, A, error);
    return status ? status : check_sizes(m, A, error);
}

csrec_status csrec_measurement_operator(const csrec_measurement *m, const char *backend,
                                        csrec_operator **A, csrec_error *error) {
    const csrec_measurement real = csrec_measurement_real(m);
    csrec_status status = csrec_measurement_check(m, "measurement", error);
    if (status) return status;
    csrec_operator_spec spec = spec_of(&real);
    spec.backend = backend;
    status = csrec_operator_create(&spec, A, error);
    return status ? status : check_sizes(&real, A, error);
}

void csrec_channel_take(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                        double *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * width, from + (i * channels + c) * width, (size_t)width * sizeof *to);
}

void csrec_channel_put(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                       double *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (i * channels + c) * width, from + i * width, (size_t)width * sizeof *to);
}

csrec_status csrec_measured_product(const csrec_measurement *m, const csrec_operator *A,
                                    const double *signal, double *x, double *out, double *y) {
    int64_t entries;
    csrec_status status = csrec_shape_count(&m->shape, &entries);
    for (int64_t c = 0; c < m->channels && !status; c++) {
        csrec_channel_take(entries, m->channels, c, (int)(A->n / entries), signal, x);
        status = A->type->forward(A, x, out);
        csrec_channel_put(m->n, m->channels, c, (int)(A->m / m->n), out, y);
    }
    return status;
}

csrec_status csrec_measurement_simulate(const csrec_measurement *measurement, const double *signal,
                                        double *y, csrec_error *error) {
    const csrec_measurement m = csrec_measurement_real(measurement);
    csrec_operator *A = NULL;
    csrec_status status = csrec_measured_operator(&csrec_context_cpu, &m, &A, error);
    if (status) return status;
    double *x = malloc((size_t)A->n * sizeof *x), *out = malloc((size_t)A->m * sizeof *out);
    status = x && out ? csrec_measured_product(&m, A, signal, x, out, y) : CSREC_MEMORY;
    if (status) csrec_fail(error, status, "measurement: %s", csrec_status_text(status));
    free(x);
    free(out);
    csrec_operator_destroy(A);
    return status;
}

/* ------------------------------------------------------------------ norm ---------------------- */

enum { POWERS = 16, TRIALS = 2 };

/* Whether A A^T v = c v for random v, with c = v^T A A^T v / v^T v in *square. */
static csrec_status try_tight(const csrec_operator *A, double *x, double *v, double *w, bool *tight,
                              double *square) {
    csrec_status status = CSREC_OK;
    *tight = true;
    for (int t = 0; t < TRIALS && *tight && !status; t++) {
        csrec_random_normals((uint64_t)t, A->m, v);
        status = A->type->adjoint(A, v, x);
        if (!status) status = A->type->forward(A, x, w);
        const double along = sqrt(csrec_squares(A->n, x)), own = sqrt(csrec_squares(A->m, v));
        *square = along * along / (own * own);
        for (int64_t i = 0; i < A->m; i++) w[i] -= *square * v[i];
        *tight = sqrt(csrec_squares(A->m, w)) <= 1e-9 * *square * own;
    }
    return status;
}

csrec_status csrec_measured_norm(const csrec_operator *A, double *norm, bool *tight) {
    double *x = malloc((size_t)A->n * sizeof *x), *v = malloc(2 * (size_t)A->m * sizeof *v);
    double square = 0.0;
    csrec_status status = x && v ? try_tight(A, x, v, v + A->m, tight, &square) : CSREC_MEMORY;
    const bool powers = !status && !*tight && A->norm == 0.0;
    if (powers) csrec_random_normals(TRIALS, A->n, x);
    for (int i = 0; i < POWERS && powers && !status; i++) {
        double size = sqrt(csrec_squares(A->n, x));
        for (int64_t j = 0; j < A->n && size > 0.0; j++) x[j] /= size;
        status = A->type->forward(A, x, v);
        square = sqrt(csrec_squares(A->m, v)); /* and squared: the last digit of the results */
        square *= square;
        if (!status) status = A->type->adjoint(A, v, x);
    }
    free(x);
    free(v);
    *norm = powers ? 1.02 * sqrt(square) : !status && *tight ? sqrt(square) : A->norm;
    return status;
}
