/* sensed.c - products with the operator of a measurement, for all channels. */
#include "method/sensed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/solver.h"

csrec_status csrec_sensed_create(const csrec_recovery *r, csrec_sensed *s, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_stop *stop = &r->options->solve.stop;
    *s = (csrec_sensed){.r = r, .m = m};
    csrec_status status = csrec_measured_operator(r->context, m, &s->A, error);
    if (!status) status = csrec_shape_count(&m->shape, &s->entries);
    if (status) return status;
    s->wide = (int)(s->A->n / s->entries);
    s->each = (int)(s->A->m / m->n);
    s->values = s->A->n * m->channels;
    s->y_values = s->A->m * m->channels;
    s->from = malloc((size_t)s->A->n * sizeof *s->from);
    s->to = malloc((size_t)s->A->m * sizeof *s->to);
    status = s->from && s->to ? csrec_measured_norm(s->A, &s->norm, &s->tight) : CSREC_MEMORY;
    if (status) return csrec_fail(error, status, "operator: %s", csrec_status_text(status));
    if (!(s->norm > 0.0))
        return csrec_fail(error, CSREC_DATA, "operator: is zero; nothing was measured");
    double sigma = stop->sigma > 0.0 ? stop->sigma : m->sigma;
    s->eps = sigma * sqrt((double)s->y_values);
    if (stop->epsilon > 0.0)
        s->eps = fmax(s->eps, stop->epsilon * sqrt(csrec_squares(s->y_values, m->y)));
    return CSREC_OK;
}

void csrec_sensed_clear(csrec_sensed *s) {
    csrec_operator_destroy(s->A);
    free(s->from);
    free(s->to);
}

csrec_status csrec_sensed_product(csrec_sensed *s, const double *x, double *out) {
    return csrec_measured_product(s->m, s->A, x, s->from, s->to, out);
}

csrec_status csrec_sensed_residual(csrec_sensed *s, const double *x, double *out) {
    csrec_status status = csrec_sensed_product(s, x, out);
    for (int64_t i = 0; i < s->y_values && !status; i++) out[i] -= s->m->y[i];
    return status;
}

csrec_status csrec_sensed_adjoint(csrec_sensed *s, const double *v, double *x) {
    const int64_t channels = s->m->channels;
    csrec_status status = CSREC_OK;
    for (int64_t c = 0; c < channels && !status; c++) {
        csrec_channel_take(s->m->n, channels, c, s->each, v, s->to);
        status = s->A->type->adjoint(s->A, s->to, s->from);
        csrec_channel_put(s->entries, channels, c, s->wide, s->from, x);
    }
    return status;
}

/* Entries that are not sampled begin with the mean of the samples. */
static void start_points(const csrec_sensed *s, double *x) {
    const int64_t channels = s->m->channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0.0;
        for (int64_t k = 0; k < s->m->n; k++) mean += s->m->y[k * channels + c] / (double)s->m->n;
        for (int64_t i = 0; i < s->entries; i++) x[i * channels + c] = mean;
        for (int64_t k = 0; k < s->m->n; k++)
            x[s->m->index[k] * channels + c] = s->m->y[k * channels + c];
    }
}

csrec_status csrec_sensed_start(csrec_sensed *s, double *x) {
    if (!s->m->through) {
        start_points(s, x);
        return CSREC_OK;
    }
    csrec_status status = csrec_sensed_adjoint(s, s->m->y, x);
    for (int64_t i = 0; i < s->values; i++) x[i] /= s->norm * s->norm;
    return status;
}

/* What ||A x - y|| may exceed the bound by, as a share of ||y||: methods end at about three digits;
 * and as a share of the bound. */
static const double NEAR = 5e-3, ABOVE = 1.05;

static const char MISSES[] =
    "The result misses its measurements by more than sigma and epsilon allow: it is not to be "
    "trusted. Tell their noise (sigma), or try another method.";

csrec_status csrec_sensed_report(csrec_sensed *s, const double *x, int64_t iterations,
                                 bool stopped) {
    csrec_recover_report *report = s->r->report;
    double *off = malloc((size_t)s->y_values * sizeof *off);
    csrec_status status = off ? csrec_sensed_residual(s, x, off) : CSREC_MEMORY;
    if (!status) {
        double whole = csrec_squares(s->y_values, s->m->y);
        double rest = csrec_squares(s->y_values, off);
        report->residual = whole > 0.0 ? sqrt(rest / whole) : 0.0;
        report->pursuits = 1;
        report->iterations = iterations;
        const bool misses = sqrt(rest) > ABOVE * s->eps + NEAR * sqrt(whole);
        report->outcome = stopped ? CSREC_INTERRUPTED : misses ? CSREC_UNMET : CSREC_DONE;
        if (misses && !stopped) report->remark = MISSES;
    }
    free(off);
    return status;
}

/* Of a fast transform; a matrix takes longer. */
static const double PER_ENTRY = 2e-9;

csrec_need csrec_sensed_need(const csrec_task *task) {
    double n = (double)task->entries, levels = log2(n + 2.0);
    return (csrec_need){8.0 * (3.0 * n + 2.0 * (double)task->n), PER_ENTRY * n * levels};
}

void csrec_sensed_complete(const csrec_measurement *measurement, bool atoms,
                           csrec_recover_options *options) {
    (void)measurement;
    (void)atoms;
    if (options->solve.stop.epsilon == CSREC_EPSILON_UNSET) options->solve.stop.epsilon = 0.0;
}

bool csrec_sensed_suits(const csrec_measurement *measurement) {
    int64_t entries;
    return measurement->shape.dims <= 3 && !csrec_shape_count(&measurement->shape, &entries) &&
           entries <= INT32_MAX;
}
