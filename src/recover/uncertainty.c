/* SPDX-License-Identifier: BSD-3-Clause */
/* uncertainty.c - expected errors of a recovery: recovers again without a share of the samples, in
 * windows of large signals, and compares the squared errors at the samples left out with those that
 * the method, or else the signal's local variance, lets expect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/net/rendered.h"
#include "measurement/channels.h"
#include "measurement/each.h"
#include "measurement/law.h"
#include "measurement/left_out.h"
#include "measurement/measurement.h"
#include "recover/interval.h"
#include "recover/window.h"

/* Recoveries without a fold; with them all samples of windows are left out once for intervals. */
enum { FOLDS = 4, INTERVAL_FOLDS = 10 };

/* Of the samples of a fold: the least share, the most, and the number that would do. A few large
 * errors decide, so that fewer than 1,000 scatter (docs/notebook/uncertainty.md). */
static const double HIDDEN_LEAST = 0.1, HIDDEN_MOST = 0.25, HIDDEN_ENOUGH = 1000.0;

/* ------------------------------------------------------------------ sums */

/* Adds the fold's squares: at samples left out, and where there is none. */
static void add_fold(csrec_estimator *e, const csrec_glance *g, const int64_t *origin) {
    const csrec_measurement *m = e->m;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t at = csrec_window_from_whole(&m->shape, &g->m.shape, origin, m->index[i]);
        if (at < 0 || g->state[at] != CSREC_LEFT_OUT) continue;
        for (int64_t c = 0; c < m->channels; c++) {
            double p = g->signal[at * m->channels + c], y = m->y[i * m->channels + c];
            double q = e->signal[m->index[i] * m->channels + c];
            const double own = e->deviation[i * m->channels + c];
            const double square = (y - p) * (y - p), v = g->variance[at * m->channels + c];
            e->squares += square;
            e->fourths += pow(square - own * own, 2.0);
            e->residuals += (y - q) * (y - q);
            e->answers += y < p ? p - q : q - p;
            e->surprise += fabs(y - p);
            e->expected += v;
            if (e->missed)
                e->missed[e->n_missed++] = (csrec_missed){m->index[i] * m->channels + c, square,
                                                          (y - q) * (y - q), own * own, v};
        }
        e->noises += csrec_noise_at(e, i) * (double)m->channels;
        e->nearer += g->nearer;
        e->hidden++;
    }
    for (int64_t at = 0; at < g->values / m->channels; at++) {
        for (int64_t c = 0; c < m->channels && g->state[at] == CSREC_SHOWN; c++) {
            e->shown += 1.0;
            e->shown_variance += g->variance[at * m->channels + c];
        }
        if (g->state[at] != CSREC_UNKNOWN) continue;
        int64_t whole = csrec_window_to_whole(&m->shape, &g->m.shape, origin, at);
        for (int64_t c = 0; c < m->channels; c++) {
            double d = e->signal[whole * m->channels + c] - g->signal[at * m->channels + c];
            if (isnan(d)) continue; /* of a sequence's frames that stay unknown */
            e->unknown += 1.0;
            e->variance += g->variance[at * m->channels + c];
            e->differences += d * d;
        }
    }
}

static csrec_status run_fold(csrec_estimator *e, int fold, csrec_error *error) {
    const csrec_shape window = csrec_window_of(&e->m->shape);
    int64_t origin[CSREC_DIMS_MAX];
    csrec_glance g;
    csrec_window_place(&e->m->shape, &window, fold, origin);
    csrec_status status = csrec_glance_create(e->m, &window, &g, error);
    if (!status) csrec_glance_show(e, origin, fold, &g);
    if (!status && g.m.n > 0) {
        status = csrec_glance_run(e, &g, NULL, error);
        if (!status) add_fold(e, &g, origin);
    }
    csrec_glance_clear(&g);
    return status;
}

/* Whether the noise is that of light, as rays tell: guessed, or by few of them. */
static bool is_vague(const csrec_estimator *e) {
    return e->m->rays && e->m->sigma == 0.0;
}

/* Factor of the expected variances. The noise of light may leave little to see of
 * the errors: then what was expected counts, as far as the deviation of the factor, of the fourths,
 * is above what it usually misses. */
static double factor(const csrec_estimator *e) {
    static const double usual = 0.2;
    const double found = csrec_left_out_factor(e->hidden, e->squares, e->noises, e->expected);
    const double variance = e->fourths / (e->expected * e->expected);
    if (!is_vague(e) || !(e->expected > 0.0)) return found;
    return 1.0 + (found - 1.0) * usual * usual / (usual * usual + variance);
}

/* Mean squared error of the result where there is no sample; NAN: no window had a sample to show.
 */
static double unknown_square(const csrec_estimator *e) {
    if (e->unknown == 0.0) return NAN;
    double cheap = factor(e) * csrec_left_out_fall(e->share) * e->variance / e->unknown;
    return fmax(cheap + e->excess * e->differences / e->unknown, CSREC_LEAST_EXPECTED * cheap);
}

/* Mean squared error of the result q at noisy samples. The noise is in y, and in q by the share h
 * of y that q follows, so (y - q)^2 is (1 - 2 h) noise and the error (Stein's estimate; h by what a
 * sample changes that was left out before). Of rays it is not known well enough for that. */
static double sampled_square(const csrec_estimator *e) {
    double noise = e->noise, n = (double)(e->hidden * e->m->channels);
    if (noise == 0.0) return 0.0;
    if (is_vague(e) && e->shown > 0.0) return factor(e) * e->shown_variance / e->shown;
    if (e->hidden < CSREC_LEAST_LEFT_OUT || !(e->surprise > 0.0)) return noise;
    noise = e->noises / n;
    double h = fmin(fmax(e->answers / e->surprise, 0.0), 1.0);
    return fmax(e->residuals / n - (1.0 - 2.0 * h) * noise, CSREC_LEAST_SIGNAL * noise);
}

/* What squares are at most, with 95 % confidence: where there is no sample by the mean of those
 * left out as it is, of the cheap recovery from fewer samples; and at samples. */
static void find_most(const csrec_estimator *e, const double squares[2], double most[2]) {
    static const double sure = 1.6448536269514722;
    const double n = (double)(e->hidden * e->m->channels);
    const double left = fmax(e->squares - e->noises, CSREC_LEAST_SIGNAL * e->squares) / n;
    const double better = e->unknown > 0.0 ? e->excess * e->differences / e->unknown : 0.0;
    const double spread = sqrt(fmax(e->fourths / n - left * left, 0.0) / n);
    const double there = e->nearer / (double)e->hidden; /* of unknown entries, by those left out */
    most[0] =
        fmax(there * left + better, CSREC_LEAST_EXPECTED * there * left) + sure * there * spread;
    most[1] = squares[1] + sure * sqrt(2.0 / n) * e->residuals / n;
    if (e->hidden < CSREC_LEAST_LEFT_OUT) most[0] = most[1] = INFINITY;
}

/* ------------------------------------------------------------------ the map */

/* Of all entries, from all samples. */
static csrec_status glance_whole(const csrec_estimator *e, csrec_glance *g,
                                 csrec_recover_report *report, csrec_error *error) {
    static const int64_t origin[CSREC_DIMS_MAX] = {0};
    csrec_status status = csrec_glance_create(e->m, &e->m->shape, g, error);
    if (status) return status;
    csrec_glance_show(e, origin, CSREC_FOLD_NONE, g);
    return csrec_glance_run(e, g, report, error);
}

/* squares: means where there is no sample, and at samples. */
static void fill_errors(const csrec_estimator *e, const csrec_glance *g, const double squares[2],
                        double *map) {
    double k = factor(e), sum[2] = {0.0, 0.0}, count[2] = {0.0, 0.0}, scale[2];
    for (int64_t i = 0; i < g->values; i++) {
        double d = e->signal[i] - g->signal[i], cheap = k * g->variance[i];
        const int state = g->state[i / g->m.channels], sampled = state != CSREC_UNKNOWN;
        map[i] = isnan(d) ? NAN
                 : state == CSREC_KEPT
                     ? 0.0
                     : fmax(cheap + e->excess * d * d, CSREC_LEAST_EXPECTED * cheap);
        if (isnan(d)) continue;
        sum[sampled] += map[i];
        count[sampled] += 1.0;
    }
    for (int s = 0; s < 2; s++) {
        scale[s] = sum[s] > 0.0 ? squares[s] * count[s] / sum[s] : 0.0;
        if (!isfinite(scale[s])) scale[s] = 1.0; /* no window had a sample to show */
    }
    for (int64_t i = 0; i < g->values; i++)
        map[i] = sqrt(scale[g->state[i / g->m.channels] != CSREC_UNKNOWN] * map[i]);
}

static csrec_status fill_map(csrec_estimator *e, const double squares[2], double *map,
                             double *unpromised, csrec_error *error) {
    csrec_glance g;
    csrec_status status = glance_whole(e, &g, NULL, error);
    if (!status && e->missed)
        status = csrec_interval_fill(e, &g, factor(e), map, unpromised, error);
    else if (!status)
        fill_errors(e, &g, squares, map);
    csrec_glance_clear(&g);
    return status;
}

/* ------------------------------------------------------------------ the call */

/* Once, by all samples. The rms error of a result that has both ways is near that of the one
 * without the curve, which has the largest errors. */
static csrec_status choose_curve(csrec_estimator *e, csrec_error *error) {
    csrec_curved curved;
    if (e->options.curve != CSREC_CURVE_AUTO) return CSREC_OK;
    csrec_status status = csrec_curve_choose(e->m, &e->options, &curved, error);
    e->options.curve =
        curved.floor > 0.0 && isinf(curved.above) ? CSREC_CURVE_LOG : CSREC_CURVE_NONE;
    free(curved.m.y);
    return status;
}

static csrec_status prepare(csrec_estimator *e, const csrec_recover_options *options,
                            csrec_error *error) {
    csrec_plan plan;
    csrec_status status = csrec_recover_plan(e->m, options, false, &plan, error);
    if (status) return status;
    const csrec_method_type *method = csrec_method_of(&plan.options);
    int64_t entries = 0;
    csrec_shape_count(&e->m->shape, &entries);
    double in_window = (double)e->m->n * fmin(1.0, (double)CSREC_WINDOW / (double)entries);
    e->share = options->interval > 0.0
                   ? 1.0 / INTERVAL_FOLDS
                   : fmin(fmax(HIDDEN_ENOUGH / in_window, HIDDEN_LEAST), HIDDEN_MOST);
    e->options = plan.options;
    e->interval = e->options.interval;
    e->options.interval = 0.0; /* glances tell errors */
    e->options.history = NULL;
    status = choose_curve(e, error);
    if (status || !method->cheap_settings) return status;
    e->excess = method->excess;
    e->options.seconds = 0.0;
    e->cheaper = plan.options.seconds > 0.0;
    int n = 0;
    for (; n < plan.options.solve.n_settings && n < CSREC_PARAMETERS_MOST; n++)
        e->settings[n] = plan.options.solve.settings[n];
    for (int k = 0; method->cheap_settings[k].name && k < CSREC_PARAMETERS_MOST; k++) {
        const csrec_setting *cheap = &method->cheap_settings[k];
        const double usual = csrec_param_find(method->params, cheap->name)->value;
        e->cheaper |= csrec_setting_value(&plan.options.solve, CSREC_OF_METHOD, cheap->name,
                                          usual) != cheap->value;
        e->settings[n++] = *cheap;
    }
    e->options.solve.settings = e->settings;
    e->options.solve.n_settings = n;
    return CSREC_OK;
}

typedef struct uncertainty_job {
    const csrec_recover_options *options;
    const double *signal;
    double *map, *density;        /* NULL: not wanted */
    double squares, most, values; /* expected, and at most, of so many */
    double unpromised;            /* values */
    int64_t entries, hidden;      /* hidden: values left out */
    const csrec_measurement *all; /* of csrec_recover_expecting, as the following */
    double *result;               /* NULL: not wanted */
    csrec_recover_report *report;
    int wanted, made;
} uncertainty_job;

/* Samples in units in which channels are alike (csrec_units_of), unit [channels], from the pool. */
static csrec_status make_alike(const csrec_measurement *part, csrec_pool *pool,
                               csrec_measurement *alike, double **unit, csrec_error *error) {
    const int64_t C = part->channels;
    csrec_whole whole = {.least = NULL};
    *alike = *part;
    CSREC_TAKE(pool, *unit, C);
    csrec_status status = csrec_whole_of(part, &whole, error);
    const bool unlike = !status && !pool->lacks && csrec_units_of(part, &whole, *unit);
    csrec_whole_clear(&whole);
    if (unlike) CSREC_TAKE(pool, alike->y, part->n * C);
    if (!status && pool->lacks) status = csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < part->n * C && unlike && !status; i++)
        alike->y[i] = part->y[i] / (*unit)[i % C];
    return status;
}

/* The noise of each sample, from the pool; as windows would find it otherwise, it is that of the
 * measurement from now on. */
static csrec_status find_noise(csrec_estimator *e, csrec_measurement *m, csrec_pool *pool,
                               csrec_error *error) {
    double *deviation = CSREC_TAKE(pool, deviation, m->n * m->channels);
    if (!deviation) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = csrec_noise_each(m, deviation, error);
    for (int64_t i = 0; i < m->n && !status; i++) {
        e->deviation = deviation;
        e->noise += csrec_noise_at(e, i) / (double)m->n;
    }
    if (m->rays || m->deviation) m->deviation = deviation;
    return status;
}

/* Leaves out some samples after others; rows are kept of them for intervals. */
static csrec_status run_folds(csrec_estimator *e, csrec_pool *pool, csrec_error *error) {
    const int folds = e->interval > 0.0 ? INTERVAL_FOLDS : FOLDS;
    const int64_t in_windows = (int64_t)folds * CSREC_WINDOW;
    const int64_t most = (e->m->n < in_windows ? e->m->n : in_windows) * e->m->channels;
    csrec_status status = CSREC_OK;
    if (e->interval > 0.0 && !CSREC_TAKE(pool, e->missed, most))
        return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int fold = 0; fold < folds && !status; fold++) status = run_fold(e, fold, error);
    return status;
}

/* A csrec_group_fn: of a group of channels, those of a signal. */
static csrec_status expect_group(void *context, const csrec_groups *groups, int64_t k,
                                 const csrec_measurement *part, const int64_t *sample,
                                 csrec_error *error) {
    uncertainty_job *j = context;
    csrec_pool pool = {0};
    const int64_t values = j->entries * part->channels;
    double *signal = CSREC_TAKE(&pool, signal, values), *map = NULL, *unit;
    const int64_t C = part->channels;
    csrec_measurement alike;
    csrec_estimator e = {.m = &alike, .signal = signal};
    if (j->map) CSREC_TAKE(&pool, map, values);
    csrec_status status = make_alike(part, &pool, &alike, &unit, error);
    (void)sample;
    if (!status) {
        csrec_groups_copy(groups, k, j->entries, signal, true, (double *)(uintptr_t)j->signal);
        for (int64_t i = 0; i < values; i++) signal[i] /= unit[i % C];
        status = find_noise(&e, &alike, &pool, error);
    }
    if (!status) status = prepare(&e, j->options, error);
    if (!status) status = run_folds(&e, &pool, error);
    double share = (double)part->n / (double)j->entries, most[2];
    double squares[2] = {share < 1.0 ? unknown_square(&e) : 0.0, sampled_square(&e)};
    find_most(&e, squares, most);
    for (int64_t c = 0; c < C && !status; c++) {
        const double each = (double)j->entries * unit[c] * unit[c];
        j->squares += each * ((1.0 - share) * squares[0] + share * squares[1]);
        if (share < 1.0) j->most += each * (1.0 - share) * most[0];
        if (e.noise > 0.0) j->most += each * share * most[1];
    }
    j->values += (double)values;
    j->hidden += e.hidden * C;
    if (!status && map) status = fill_map(&e, squares, map, &j->unpromised, error);
    for (int64_t i = 0; i < values && !status && map; i++) map[i] *= unit[i % C];
    if (!status && map) csrec_groups_copy(groups, k, j->entries, map, false, j->map);
    csrec_pool_clear(&pool);
    return status;
}

csrec_status csrec_uncertainty_promise(const csrec_measurement *measurement,
                                       const csrec_recover_options *options, const double *signal,
                                       double *uncertainty, csrec_promise *promise,
                                       csrec_error *error) {
    if (csrec_law_is_on(&options->law))
        return csrec_law_promise(measurement, options, signal, uncertainty, promise, error);
    uncertainty_job j = {.options = options, .signal = signal, .map = uncertainty};
    csrec_status status = csrec_measurement_check_points(measurement, "measurement", error);
    if (status) return status;
    csrec_shape_count(&measurement->shape, &j.entries);
    for (int64_t i = 0; i < j.entries * measurement->channels && uncertainty; i++)
        uncertainty[i] = NAN; /* as it stays where a channel is measured nowhere */
    status = csrec_groups_each(measurement, expect_group, &j, error);
    if (!status)
        *promise = (csrec_promise){.error = sqrt(j.squares / j.values),
                                   .most = sqrt(j.most / j.values),
                                   .unpromised = j.unpromised / j.values,
                                   .left_out = j.hidden};
    return status;
}

csrec_status csrec_uncertainty(const csrec_measurement *measurement,
                               const csrec_recover_options *options, const double *signal,
                               double *uncertainty, double *expected, csrec_error *error) {
    csrec_promise promise;
    const csrec_status status =
        csrec_uncertainty_promise(measurement, options, signal, uncertainty, &promise, error);
    if (!status && expected) *expected = promise.error;
    return status;
}

/* Of light the squares of what is seen: that of dark parts more (rendered.h). */
static void see(csrec_glance *g) {
    double mean = 0.0;
    for (int64_t i = 0; i < g->values && g->m.rays; i++)
        mean += sqrt(fmax(g->signal[i], 0.0)) / (double)g->values;
    const double unit = 4.0 * mean * mean;
    for (int64_t i = 0; i < g->values && unit > 0.0; i++)
        g->variance[i] *= pow(csrec_rendered_slope(fmax(g->signal[i], 0.0) / unit) / unit, 2.0);
}

/* Whether the recovery of the estimator is that of csrec_recover: the same samples, in the same
 * units and with the same noise, by the same settings. */
static bool is_recovery(const csrec_estimator *e, const csrec_measurement *all,
                        const csrec_measurement *part) {
    const csrec_measurement *m = e->m;
    const size_t values = (size_t)(m->n * m->channels);
    const bool noise = all->rays || all->deviation;
    return !e->cheaper && e->options.curve == CSREC_CURVE_NONE && m->y == part->y &&
           part->channels == all->channels && part->n == all->n &&
           (!noise || (all->deviation &&
                       memcmp(all->deviation, m->deviation, values * sizeof *m->deviation) == 0));
}

/* A csrec_group_fn: adds the squares. */
static csrec_status add_density(void *context, const csrec_groups *groups, int64_t k,
                                const csrec_measurement *part, const int64_t *sample,
                                csrec_error *error) {
    uncertainty_job *j = context;
    csrec_measurement alike;
    csrec_pool pool = {0};
    double *unit;
    csrec_estimator e = {.m = &alike};
    csrec_glance g = {0};
    (void)groups, (void)k, (void)sample;
    csrec_status status = make_alike(part, &pool, &alike, &unit, error);
    if (!status) status = find_noise(&e, &alike, &pool, error);
    if (!status) status = prepare(&e, j->options, error);
    const bool both = !status && j->result && is_recovery(&e, j->all, part);
    if (!status && (both || j->wanted & CSREC_MAKES_DENSITY)) {
        status = glance_whole(&e, &g, j->report, error);
        if (both && !status) memcpy(j->result, g.signal, (size_t)g.values * sizeof *g.signal);
        if (!status) j->made |= CSREC_MAKES_DENSITY | (both ? CSREC_MAKES_SIGNAL : 0);
        if (!status) see(&g);
    }
    for (int64_t i = 0; i < g.values && !status; i++)
        if (g.state[i / part->channels] != CSREC_KEPT)
            j->density[i / part->channels] += g.variance[i];
    csrec_glance_clear(&g);
    csrec_pool_clear(&pool);
    return status;
}

csrec_status csrec_recover_expecting(const csrec_measurement *measurement,
                                     const csrec_recover_options *options, int *made,
                                     double *signal, double *density, csrec_recover_report *report,
                                     csrec_error *error) {
    uncertainty_job j = {.options = options,
                         .density = density,
                         .result = signal,
                         .report = report,
                         .all = measurement,
                         .wanted = *made};
    csrec_status status = csrec_measurement_check_points(measurement, "measurement", error);
    if (status) return status;
    csrec_shape_count(&measurement->shape, &j.entries);
    memset(density, 0, (size_t)j.entries * sizeof *density);
    status = csrec_groups_each(measurement, add_density, &j, error);
    for (int64_t i = 0; i < j.entries && !status; i++) density[i] = sqrt(density[i]);
    if (!status && *made & ~j.made & CSREC_MAKES_SIGNAL) {
        status = csrec_recover(measurement, options, signal, NULL, report, error);
        j.made |= CSREC_MAKES_SIGNAL;
    }
    if (!status) *made = j.made;
    return status;
}

csrec_status csrec_uncertainty_density(const csrec_measurement *measurement,
                                       const csrec_recover_options *options, double *density,
                                       csrec_error *error) {
    int made = CSREC_MAKES_DENSITY;
    return csrec_recover_expecting(measurement, options, &made, NULL, density, NULL, error);
}
