/* SPDX-License-Identifier: BSD-3-Clause */
/* law.c - recovery of samples whose noise grows with the light: of values in which it is white, and
 * back. */
#include "measurement/law.h"

#include <math.h>

#include "method/history.h"
#include "recover/recover.h"

/* The samples and options of such a recovery. */
typedef struct changed {
    const csrec_noise_law *law;
    double floor;
    csrec_measurement m;
    csrec_recover_options options;
    csrec_pool pool;
} changed;

static csrec_status check(const csrec_measurement *m, const csrec_recover_options *o, bool atoms,
                          csrec_error *error) {
    const char *why = m->through                     ? "what is measured through an operator"
                      : m->is_complex                ? "complex samples"
                      : m->rays || m->deviation      ? "samples with rays or a sigma of each"
                      : o->labels                    ? "labels"
                      : atoms                        ? "atoms"
                      : o->model                     ? "a model"
                      : csrec_comm_size(o->comm) > 1 ? "several processes"
                      : o->curve == CSREC_CURVE_LOG  ? "curve log"
                                                     : NULL;
    csrec_status status = csrec_law_check(&o->law, error);
    if (!status && why)
        status = csrec_fail(error, CSREC_UNSUPPORTED,
                            "noise of a law, poisson or light, is not for %s; leave one out", why);
    return status ? status : csrec_measurement_check(m, "measurement", error);
}

static double into(const changed *c, double y) {
    return csrec_law_into(c->law, c->floor, y);
}

/* To be closed even then. values: else only what a plan needs. */
static csrec_status begin(const csrec_measurement *m, const csrec_recover_options *o, bool atoms,
                          bool values, changed *c, csrec_error *error) {
    const int64_t n = csrec_measurement_values(m);
    *c = (changed){.law = &o->law, .m = *m, .options = *o};
    csrec_status status = check(m, o, atoms, error);
    c->options.law = (csrec_noise_law){.gain = 0.0};
    c->options.curve = CSREC_CURVE_NONE;
    c->options.range[0] = c->options.range[1] = NAN;
    c->options.history = NULL;
    c->m.sigma = 1.0;
    c->m.uncut = true; /* dark counts are few, not cut */
    if (status || !values) return status;
    if (o->law.log > 0.0) status = csrec_values_floor(n, m->y, &c->floor, error);
    c->floor *= CSREC_LAW_FLOOR;
    if (!status && o->law.log > 0.0 && c->floor == 0.0)
        status = csrec_fail(error, CSREC_DATA, "no sample is above 0, so law light tells nothing");
    if (!status && !CSREC_TAKE(&c->pool, c->m.y, n)) status = csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < n && !status; i++) c->m.y[i] = into(c, m->y[i]);
    for (int i = 0; i < 2; i++)
        if (m->scale[0] != m->scale[1]) c->m.scale[i] = into(c, m->scale[i]);
    return status;
}

/* Of a law with log: the factor that keeps the sum of the samples, where `sums`, else
 * the mean of errors; as they follow some of the noise, the mean of exp of these would be too
 * small. */
static double mean_of(const csrec_noise_law *law, const csrec_measurement *m, const double *signal,
                      bool sums) {
    const double FIREFLY = 3.0; /* beyond, logarithms count no more */
    const int64_t C = m->channels;
    double light = 0.0, result = 0.0, errors = 0.0, n = 0.0;
    for (int64_t i = 0; i < m->n * C && law->log > 0.0; i++) {
        const double u = law->log * signal[m->index[i / C] * C + i % C];
        const double e = law->log * m->y[i] - u;
        if (isnan(e)) continue;
        light += exp(u + fmin(e, FIREFLY));
        result += exp(u);
        errors += e;
        n++;
    }
    return n > 0.0 ? (sums ? light / result : errors / n) : (sums ? 1.0 : 0.0);
}

void csrec_law_return(const csrec_noise_law *law, double floor, const csrec_measurement *m,
                      bool interval, double *signal, double *errors) {
    const double factor = mean_of(law, m, signal, true);
    const int64_t C = m->channels, values = csrec_measurement_signal_values(m);
    for (int64_t i = 0; i < m->n * C && errors; i++) { /* the sign tells samples */
        double *e = &errors[m->index[i / C] * C + i % C];
        *e = -fabs(*e);
    }
    for (int64_t i = 0; i < values; i++) {
        signal[i] = csrec_law_back(law, floor, factor, signal[i]);
        if (!errors) continue;
        const double e = fabs(errors[i]);
        errors[i] = interval ? csrec_law_half(law, floor, signal[i], e)
                             : csrec_law_error(law, floor, signbit(errors[i]) != 0, signal[i], e);
    }
}

csrec_status csrec_law_recover(const csrec_measurement *m, const csrec_recover_options *o,
                               double *signal, bool atoms, csrec_recover_report *report,
                               csrec_error *error) {
    const int64_t values = csrec_measurement_signal_values(m);
    csrec_recover_report own = {0};
    changed c;
    csrec_status status = begin(m, o, atoms, true, &c, error);
    if (!status) status = csrec_recover(&c.m, &c.options, signal, NULL, &own, error);
    if (!status && signal) {
        csrec_law_return(c.law, c.floor, &c.m, false, signal, NULL);
        own.clamped = csrec_range_clamp(o->range, values, signal);
        own.residual = csrec_samples_residual(m, signal);
        csrec_history_begin(o->history, m, 1.0);
        csrec_history_end(o->history, signal, &own);
    }
    if (!status && report) *report = own;
    csrec_pool_clear(&c.pool);
    return status;
}

csrec_status csrec_law_plan(const csrec_measurement *m, const csrec_recover_options *o,
                            csrec_results results, csrec_plan *plan, csrec_error *error) {
    changed c;
    csrec_status status = begin(m, o, results != CSREC_RESULT_SIGNAL, false, &c, error);
    if (!status) status = csrec_recover_plan(&c.m, &c.options, results, plan, error);
    if (status) return status;
    plan->options.law = o->law;
    plan->options.history = o->history;
    for (int i = 0; i < 2; i++) plan->options.range[i] = o->range[i];
    return CSREC_OK;
}

csrec_status csrec_law_promise(const csrec_measurement *m, const csrec_recover_options *o,
                               const double *signal, double *uncertainty, csrec_promise *promise,
                               csrec_error *error) {
    const int64_t values = csrec_measurement_signal_values(m), C = m->channels;
    double squares = 0.0, n = 0.0, *there, *map;
    changed c;
    csrec_status status = begin(m, o, false, true, &c, error);
    CSREC_TAKE(&c.pool, there, values);
    CSREC_TAKE(&c.pool, map, values);
    if (!status && c.pool.lacks) status = csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < values && !status; i++) there[i] = into(&c, signal[i]);
    /* the errors of logarithms have no mean: only their exp has */
    const double bias =
        status ? 0.0 : mean_of(c.law, &c.m, there, false) / fmax(o->law.log, 1e-300);
    for (int64_t i = 0; i < values && !status; i++) there[i] += o->law.log > 0.0 ? bias : 0.0;
    if (!status) status = csrec_uncertainty_promise(&c.m, &c.options, there, map, promise, error);
    for (int64_t i = 0; i < values && !status; i++) {
        if (uncertainty && o->interval > 0.0)
            uncertainty[i] = csrec_law_half(c.law, c.floor, signal[i], map[i]);
        if (o->interval > 0.0) map[i] = promise->error; /* then of equal errors */
        there[i] = csrec_law_error(c.law, c.floor, false, signal[i], map[i]);
    }
    for (int64_t i = 0; i < m->n * C && !status; i++) {
        const int64_t at = m->index[i / C] * C + i % C;
        there[at] = csrec_law_error(c.law, c.floor, true, signal[at], map[at]);
    }
    for (int64_t i = 0; i < values && !status; i++) {
        if (uncertainty && o->interval == 0.0) uncertainty[i] = there[i];
        if (isnan(there[i])) continue;
        squares += there[i] * there[i];
        n++;
    }
    if (!status && n > 0.0) {
        promise->most = INFINITY; /* it is of the changed samples */
        promise->error = sqrt(squares / n);
    }
    csrec_pool_clear(&c.pool);
    return status;
}
