/* SPDX-License-Identifier: BSD-3-Clause */
/* units.c - channels in units that methods can take as alike: of bands that are measured in other
 * units, as kelvin and pascal, and of values far from 0. Units are powers of two, so that they
 * round nothing. */
#include <math.h>

#include "method/method.h"
#include "measurement/each.h"

/* Ranges of channels, of the largest, that are not alike any more. */
static const double UNLIKE = 0.125;

/* Values so many ranges from 0 keep few digits in a float. */
static const double FAR = 16.0;

static double range_of(const csrec_whole *whole, int64_t c) {
    const double range = whole->most[c] - whole->least[c];
    return isfinite(range) ? range : 0.0;
}

bool csrec_units_of(const csrec_measurement *m, const csrec_whole *whole, double *unit) {
    double largest = 0.0;
    bool any = false;
    const bool one =
        csrec_measurement_is_noisy(m) || m->scale[0] != m->scale[1] || m->through || m->is_complex;
    for (int64_t c = 0; c < m->channels; c++) largest = fmax(largest, range_of(whole, c));
    for (int64_t c = 0; c < m->channels; c++) {
        const double range = range_of(whole, c);
        int exponent = 0;
        if (!one && range > 0.0 && range < UNLIKE * largest) frexp(range / largest, &exponent);
        unit[c] = ldexp(1.0, exponent);
        any = any || exponent != 0;
    }
    return any;
}

/* A recovery of (y - middle) / unit, by channel. */
typedef struct mapped {
    csrec_recovery own;
    csrec_measurement m;
    csrec_whole whole;
    csrec_recover_options options;
    double *y, *unit, *middle;
    csrec_pool pool;
} mapped;

static bool find_middles(const csrec_recovery *r, double *middle) {
    bool any = false;
    for (int64_t c = 0; c < r->measurement->channels; c++) {
        const double least = r->whole->least[c], most = r->whole->most[c];
        const double own = 0.5 * least + 0.5 * most;
        const bool far = fabs(own) > FAR * range_of(r->whole, c) && isfinite(own);
        middle[c] = far ? own : 0.0;
        any = any || far;
    }
    return any;
}

/* Whether channels have a unit or a middle. Models have the values of their data, but for networks;
 * atoms and a start are those of the samples, and so is what several processes share. */
static bool find(const csrec_method_type *method, const csrec_recovery *r, mapped *to) {
    const csrec_measurement *m = r->measurement;
    const bool model = r->options->model && method != &csrec_method_net;
    if (m->through || m->is_complex || model || method->shares || !r->signal || r->atoms ||
        r->options->solve.start || method->graded)
        return false;
    /* Settings of solvers may be lengths in units of y, which are one for all channels. */
    const csrec_solve_options *solve = &r->options->solve;
    const bool units = csrec_units_of(m, r->whole, to->unit) &&
                       !(method->info.accepts & CSREC_ACCEPTS(SOLVER) &&
                         (solve->stop.sigma > 0.0 || solve->n_settings > 0));
    for (int64_t c = 0; c < m->channels && !units; c++) to->unit[c] = 1.0;
    return find_middles(r, to->middle) || units;
}

static csrec_status begin(const csrec_recovery *r, mapped *to, csrec_error *error) {
    const int64_t C = r->measurement->channels, n = r->measurement->n;
    to->own = *r;
    to->m = *r->measurement;
    to->whole = *r->whole;
    to->options = *r->options;
    to->options.history = NULL; /* it has the result alone */
    to->m.y = CSREC_TAKE(&to->pool, to->y, n * C);
    CSREC_TAKE(&to->pool, to->whole.least, 2 * C);
    if (to->pool.lacks) return csrec_memory_fail(error, NULL);
    to->whole.most = to->whole.least + C;
    for (int64_t c = 0; c < C; c++) {
        to->whole.least[c] = (r->whole->least[c] - to->middle[c]) / to->unit[c];
        to->whole.most[c] = (r->whole->most[c] - to->middle[c]) / to->unit[c];
    }
    for (int64_t i = 0; i < n * C; i++)
        to->y[i] = (r->measurement->y[i] - to->middle[i % C]) / to->unit[i % C];
    to->own.measurement = &to->m;
    to->own.whole = &to->whole;
    to->own.options = &to->options;
    return CSREC_OK;
}

/* Samples that the method has kept are kept to the bit. */
static void deliver(const csrec_recovery *r, mapped *from) {
    const csrec_measurement *m = r->measurement;
    const int64_t C = m->channels, values = csrec_measurement_signal_values(m);
    for (int64_t i = 0; i < m->n * C; i++) /* from now on what is kept, else NAN */
        from->y[i] = r->signal[m->index[i / C] * C + i % C] == from->y[i] ? m->y[i] : NAN;
    for (int64_t i = 0; i < values; i++) {
        r->signal[i] = from->middle[i % C] + from->unit[i % C] * r->signal[i];
        if (r->variance) r->variance[i] *= from->unit[i % C] * from->unit[i % C];
    }
    for (int64_t i = 0; i < m->n * C; i++)
        if (!isnan(from->y[i])) r->signal[m->index[i / C] * C + i % C] = from->y[i];
}

csrec_status csrec_units_run(const csrec_method_type *method, const csrec_recovery *r,
                             csrec_recover_fn run, void *context, csrec_error *error) {
    mapped to = {.y = NULL};
    CSREC_TAKE(&to.pool, to.unit, r->measurement->channels);
    CSREC_TAKE(&to.pool, to.middle, r->measurement->channels);
    csrec_status status = to.pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
    if (!status && !find(method, r, &to)) {
        csrec_pool_clear(&to.pool);
        return run(r, context, error);
    }
    if (!status) status = begin(r, &to, error);
    if (!status) status = run(&to.own, context, error);
    if (!status) deliver(r, &to);
    csrec_pool_clear(&to.pool);
    return status;
}
