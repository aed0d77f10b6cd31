/* SPDX-License-Identifier: BSD-3-Clause */
/* measured.c - the operator of a measurement, its products for all channels, and its norm. */
#include "operator/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/unit.h"

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

csrec_status csrec_measurement_operator(const csrec_measurement *m, const char *backend,
                                        csrec_operator **A, csrec_error *error) {
    const csrec_measurement real = csrec_measurement_real(m);
    CSREC_TRY(csrec_measurement_check(m, "measurement", error));
    csrec_operator_spec spec = spec_of(&real);
    spec.backend = backend;
    csrec_status status = csrec_operator_create(&spec, A, error);
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

csrec_status csrec_measured_create(const csrec_context *context, const csrec_measurement *m,
                                   csrec_measured *d, csrec_error *error) {
    const csrec_operator_spec spec = spec_of(m);
    *d = (csrec_measured){.m = m};
    CSREC_TRY(csrec_operator_create_on(context, &spec, &d->A, error));
    CSREC_TRY(check_sizes(m, &d->A, error));
    CSREC_TRY(csrec_shape_count(&m->shape, &d->entries));
    d->wide = (int)(d->A->n / d->entries);
    d->each = (int)(d->A->m / m->n);
    d->values = d->A->n * m->channels;
    d->y_values = d->A->m * m->channels;
    d->from = malloc((size_t)d->A->n * sizeof *d->from);
    d->to = malloc((size_t)d->A->m * sizeof *d->to);
    return d->from && d->to ? CSREC_OK
                            : csrec_fail(error, CSREC_MEMORY, "operator %s: %s", d->A->row->name,
                                         csrec_status_text(CSREC_MEMORY));
}

void csrec_measured_clear(csrec_measured *d) {
    csrec_operator_destroy(d->A);
    csrec_pool_clear(&d->pool);
    free(d->from);
    free(d->to);
}

csrec_status csrec_measured_product(const csrec_measured *d, const double *x, double *out) {
    const int64_t channels = d->m->channels;
    for (int64_t c = 0; c < channels; c++) {
        csrec_channel_take(d->entries, channels, c, d->wide, x, d->from);
        CSREC_TRY(d->A->type->forward(d->A, d->from, d->to));
        csrec_channel_put(d->m->n, channels, c, d->each, d->to, out);
    }
    return CSREC_OK;
}

csrec_status csrec_measured_residual(const csrec_measured *d, const double *x, double *out) {
    csrec_status status = csrec_measured_product(d, x, out);
    for (int64_t i = 0; i < d->y_values && !status; i++) out[i] -= d->m->y[i];
    return status;
}

csrec_status csrec_measured_adjoint(const csrec_measured *d, const double *v, double *x) {
    const int64_t channels = d->m->channels;
    for (int64_t c = 0; c < channels; c++) {
        csrec_channel_take(d->m->n, channels, c, d->each, v, d->to);
        CSREC_TRY(d->A->type->adjoint(d->A, d->to, d->from));
        csrec_channel_put(d->entries, channels, c, d->wide, d->from, x);
    }
    return CSREC_OK;
}

csrec_status csrec_measured_normal(const csrec_measured *d, const double *x, double *out) {
    const csrec_operator_type *type = d->A->type;
    const int64_t channels = d->m->channels;
    if (channels == 1 && type->normal) return type->normal(d->A, x, out);
    for (int64_t c = 0; c < channels; c++) {
        csrec_channel_take(d->entries, channels, c, d->wide, x, d->from);
        CSREC_TRY(type->forward(d->A, d->from, d->to));
        CSREC_TRY(type->adjoint(d->A, d->to, d->from));
        csrec_channel_put(d->entries, channels, c, d->wide, d->from, out);
    }
    return CSREC_OK;
}

/* Entries that are not sampled begin with the mean of the samples. */
static void start_points(const csrec_measurement *m, int64_t entries, double *x) {
    const int64_t channels = m->channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0.0;
        for (int64_t k = 0; k < m->n; k++) mean += m->y[k * channels + c] / (double)m->n;
        for (int64_t i = 0; i < entries; i++) x[i * channels + c] = mean;
        for (int64_t k = 0; k < m->n; k++) x[m->index[k] * channels + c] = m->y[k * channels + c];
    }
}

/* Of ||A||^2 m: where the rows see less of the constant 1, it is rounding, or their errors. */
static const double SEEN = 1e-6;

/* mean [values]: in part `part` of each channel the constant that fits y best, 0 where the rows see
 * next to nothing of it. x, v: to work in. */
static csrec_status fit_constants(const csrec_measured *d, int part, double *mean, double *x,
                                  double *v) {
    const int64_t channels = d->m->channels;
    const double least = SEEN * d->norm * d->norm * (double)d->m->n;
    for (int64_t i = 0; i < d->values; i++) x[i] = i % d->wide == part;
    csrec_status status = csrec_measured_product(d, x, v);
    for (int64_t c = 0; c < channels && !status; c++) {
        double along = 0.0, square = 0.0;
        for (int64_t i = 0; i < d->y_values; i++) {
            if (i / d->each % channels != c) continue;
            along += v[i] * d->m->y[i];
            square += v[i] * v[i];
        }
        for (int64_t e = 0; e < d->entries; e++)
            mean[(e * channels + c) * d->wide + part] = square > least ? along / square : 0.0;
    }
    return status;
}

csrec_status csrec_measured_start(const csrec_measured *d, double *x) {
    if (!d->m->through) {
        start_points(d->m, d->entries, x);
        return CSREC_OK;
    }
    double *mean = calloc((size_t)d->values, sizeof *mean);
    double *v = malloc((size_t)d->y_values * sizeof *v);
    csrec_status status = mean && v ? CSREC_OK : CSREC_MEMORY;
    /* coils may see nothing of an entry, which would keep the constant */
    const bool sees = !d->m->through->coils;
    for (int part = 0; part < d->wide && sees && !status; part++)
        status = fit_constants(d, part, mean, x, v);
    if (!status) status = csrec_measured_residual(d, mean, v);
    if (!status) status = csrec_measured_adjoint(d, v, x);
    for (int64_t i = 0; i < d->values && !status; i++) x[i] = mean[i] - x[i] / (d->norm * d->norm);
    free(mean);
    free(v);
    return status;
}

csrec_status csrec_measurement_simulate(const csrec_measurement *measurement, const double *signal,
                                        double *y, csrec_error *error) {
    const csrec_measurement m = csrec_measurement_real(measurement);
    csrec_measured d;
    csrec_status status = csrec_measured_create(&csrec_context_cpu, &m, &d, error);
    if (!status) {
        status = csrec_measured_product(&d, signal, y);
        if (status) csrec_fail(error, status, "measurement: %s", csrec_status_text(status));
    }
    csrec_measured_clear(&d);
    return status;
}

enum { POWERS = 16, TRIALS = 2 };

/* Whether A A^T v = c v for random v, with c = v^T A A^T v / v^T v in *square. */
static csrec_status try_tight(const csrec_operator *A, double *x, double *v, double *w, bool *tight,
                              double *square) {
    *tight = true;
    for (int t = 0; t < TRIALS && *tight; t++) {
        csrec_random_normals((uint64_t)t, A->m, v);
        CSREC_TRY(A->type->adjoint(A, v, x));
        CSREC_TRY(A->type->forward(A, x, w));
        const double along = sqrt(csrec_squares(A->n, x)), own = sqrt(csrec_squares(A->m, v));
        *square = along * along / (own * own);
        for (int64_t i = 0; i < A->m; i++) w[i] -= *square * v[i];
        *tight = sqrt(csrec_squares(A->m, w)) <= 1e-9 * *square * own;
    }
    return CSREC_OK;
}

csrec_status csrec_measured_norm(csrec_measured *d) {
    const csrec_operator *A = d->A;
    double *x = d->from, *v = malloc(2 * (size_t)(A->m > A->n ? A->m : A->n) * sizeof *v);
    double square = 0.0;
    csrec_status status = v ? try_tight(A, x, v, v + A->m, &d->tight, &square) : CSREC_MEMORY;
    const bool powers = !status && !d->tight && A->norm == 0.0;
    if (powers) csrec_random_normals(TRIALS, A->n, x);
    for (int i = A->type->normal ? POWERS / 2 : 0; i < POWERS && powers && !status; i++) {
        double size = sqrt(csrec_squares(A->n, x));
        for (int64_t j = 0; j < A->n && size > 0.0; j++) x[j] /= size;
        if (A->type->normal) {
            status = A->type->normal(A, x, v);
            square = sqrt(csrec_squares(A->n, v));
            memcpy(x, v, (size_t)A->n * sizeof *x);
            continue;
        }
        status = A->type->forward(A, x, v);
        square = sqrt(csrec_squares(A->m, v)); /* and squared: the last digit of the results */
        square *= square;
        if (!status) status = A->type->adjoint(A, v, x);
    }
    free(v);
    d->norm = powers ? 1.02 * sqrt(square) : !status && d->tight ? sqrt(square) : A->norm;
    return status;
}
