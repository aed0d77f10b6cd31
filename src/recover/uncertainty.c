/* SPDX-License-Identifier: BSD-3-Clause */
/* uncertainty.c - expected errors of a recovery: recovers again without a share of the samples, in
 * windows of large signals, and compares the squared errors at the samples left out with those that
 * the method, or else the signal's local variance, lets expect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/rendered.h"
#include "measurement/channels.h"
#include "measurement/each.h"
#include "measurement/law.h"
#include "measurement/measurement.h"
#include "recover/interval.h"
#include "recover/window.h"

/* Recoveries without a fold; with them all samples of windows are left out once for intervals. */
enum { FOLDS = 4, INTERVAL_FOLDS = 10 };

/* Of the samples of a fold: the least share, the most, and the number that would do. A few large
 * errors decide, so that fewer than 1,000 scatter (docs/notebook/uncertainty.md). */
static const double HIDDEN_LEAST = 0.1, HIDDEN_MOST = 0.25, HIDDEN_ENOUGH = 1000.0;

static csrec_status run_fold(csrec_estimator *e, int fold, csrec_error *error) {
    const csrec_shape window = csrec_window_of(&e->m->shape);
    int64_t origin[CSREC_DIMS_MAX];
    csrec_glance g;
    csrec_window_place(&e->m->shape, &window, fold, origin);
    csrec_status status = csrec_glance_create(e->m, &window, &g, error);
    if (!status) csrec_glance_show(e, origin, fold, &g);
    if (!status && g.m.n > 0) {
        status = csrec_glance_run(e, &g, NULL, error);
        if (!status) csrec_squares_add(e, &g, origin);
    }
    csrec_glance_clear(&g);
    return status;
}

/* Of all entries, from all samples. */
static csrec_status glance_whole(const csrec_estimator *e, csrec_glance *g,
                                 csrec_recover_report *report, csrec_error *error) {
    static const int64_t origin[CSREC_DIMS_MAX] = {0};
    CSREC_TRY(csrec_glance_create(e->m, NULL, g, error));
    csrec_glance_show(e, origin, 0, g);
    return csrec_glance_run(e, g, report, error);
}

static void fill_errors(const csrec_estimator *e, const csrec_glance *g, double *map) {
    const double k = csrec_squares_factor(e);
    for (int64_t i = 0; i < g->values; i++) {
        const double d = e->signal[i] - g->signal[i], cheap = k * g->variance[i];
        map[i] = isnan(d) ? NAN
                 : g->state[i / g->m.channels] == CSREC_KEPT
                     ? 0.0
                     : fmax(cheap + e->excess * d * d, CSREC_LEAST_EXPECTED * cheap);
    }
}

/* To the roots of squares of the means where there is no sample, and at samples. */
static void scale_errors(const csrec_glance *g, const double squares[2], double *map) {
    double sum[2] = {0.0, 0.0}, count[2] = {0.0, 0.0}, scale[2];
    for (int64_t i = 0; i < g->values; i++) {
        const bool sampled = g->state[i / g->m.channels] != CSREC_UNKNOWN;
        if (isnan(map[i])) continue;
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

/* Of entries farther than those left out nothing is promised, and on a grid of none. */
static csrec_status fill_far(const csrec_estimator *e, const csrec_glance *g, double *map,
                             double *unpromised, csrec_error *error) {
    double distance;
    uint32_t *squared;
    if (g->m.shape.dims > 3 || !csrec_squares_are_near(e, &distance)) return CSREC_OK;
    CSREC_TRY(csrec_glance_distances(g, &squared, error));
    for (int64_t i = 0; i < g->values; i++) {
        const double d = sqrt((double)squared[i / g->m.channels]);
        if (g->state[i / g->m.channels] != CSREC_UNKNOWN || isnan(map[i])) continue;
        if (!e->missed) map[i] *= e->grid ? NAN : fmax(1.0, d / distance);
        if (!e->missed || !(e->grid || d > e->farthest)) continue;
        *unpromised += isfinite(map[i]);
        map[i] = INFINITY;
    }
    free(squared);
    return CSREC_OK;
}

static csrec_status fill_map(csrec_estimator *e, const double squares[2], double *map,
                             double *unpromised, csrec_error *error) {
    csrec_glance g;
    csrec_status status = glance_whole(e, &g, NULL, error);
    if (!status && e->missed)
        status = csrec_interval_fill(e, &g, map, unpromised, error);
    else if (!status)
        fill_errors(e, &g, map);
    if (!status) status = fill_far(e, &g, map, unpromised, error);
    if (!status && !e->missed) scale_errors(&g, squares, map);
    csrec_glance_clear(&g);
    return status;
}

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
    csrec_layout layout;
    CSREC_TRY(csrec_layout_resolve(e->m, options, (csrec_wanted){.signal = true}, &layout, error));
    const csrec_plan plan = layout.resolved;
    const csrec_method_type *method = layout.method;
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
    csrec_status status = choose_curve(e, error);
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

/* Larger samples have squares that may overflow when they are added. */
static const double LARGEST = 1e150;

csrec_status csrec_span_check(csrec_span span, csrec_error *error) {
    const double y = -span.least > span.most ? span.least : span.most;
    if (!(fabs(y) > LARGEST)) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "measurement: y has the value %g, beyond 1e150, of which no errors are told; "
                      "divide y by a power of 10",
                      y);
}

static csrec_status check(const csrec_measurement *m, csrec_error *error) {
    CSREC_TRY(csrec_measurement_check_points(m, "measurement", error));
    return csrec_span_check(csrec_span_of(m), error);
}

typedef struct uncertainty_job {
    const csrec_recover_options *options;
    const double *signal;
    double *map, *density;        /* NULL: not wanted */
    double squares, most, values; /* expected, and at most, of so many */
    double unpromised;            /* values */
    bool holes;
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
    if (C == 1 && *unit) return **unit = 1.0, CSREC_OK;
    csrec_status status = csrec_whole_of(part, &whole, error);
    const bool unlike = !status && !pool->lacks && csrec_units_of(part, &whole, *unit);
    csrec_whole_clear(&whole);
    if (unlike) CSREC_TAKE(pool, alike->y, part->n * C);
    if (!status && pool->lacks) status = csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < part->n * C && unlike && !status; i++)
        alike->y[i] = part->y[i] / (*unit)[i % C];
    return status;
}

/* The noise of each sample, from the pool; as windows would find it otherwise, it is that of the
 * measurement from now on. */
static csrec_status find_noise(csrec_estimator *e, csrec_measurement *m, csrec_pool *pool,
                               csrec_error *error) {
    if (!m->rays && !m->deviation && m->sigma == 0.0) return CSREC_OK;
    double *deviation = CSREC_TAKE(pool, deviation, m->n * m->channels);
    if (!deviation) return csrec_memory_fail(error, NULL);
    csrec_status status = csrec_noise_each(m, deviation, error);
    for (int64_t i = 0; i < m->n && !status; i++) {
        e->deviation = deviation;
        e->noise += csrec_noise_at(e, i) / (double)m->n;
    }
    if (m->rays || m->deviation) m->deviation = deviation;
    return status;
}

/* alike: the samples that the estimator takes (make_alike). */
static csrec_status begin(csrec_estimator *e, const csrec_recover_options *options,
                          const csrec_measurement *part, csrec_measurement *alike, csrec_pool *pool,
                          double **unit, csrec_error *error) {
    csrec_status status = make_alike(part, pool, alike, unit, error);
    e->m = alike;
    if (!status) status = find_noise(e, alike, pool, error);
    if (!status) e->cut = csrec_cut_of(alike);
    return status ? status : prepare(e, options, error);
}

/* Leaves out some samples after others; rows are kept of them for intervals. */
static csrec_status run_folds(csrec_estimator *e, csrec_pool *pool, csrec_error *error) {
    const int folds = e->interval > 0.0 ? INTERVAL_FOLDS : FOLDS;
    const int64_t in_windows = (int64_t)folds * CSREC_WINDOW;
    const int64_t most = (e->m->n < in_windows ? e->m->n : in_windows) * e->m->channels;
    csrec_status status = CSREC_OK;
    if (e->interval > 0.0 && !CSREC_TAKE(pool, e->missed, most))
        return csrec_memory_fail(error, NULL);
    for (int fold = 0; fold < folds && !status; fold++) status = run_fold(e, fold, error);
    csrec_squares_judge(e);
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
    csrec_estimator e = {.signal = signal};
    csrec_doubts doubts = {.grid = 1};
    if (j->map) CSREC_TAKE(&pool, map, values);
    csrec_status status = begin(&e, j->options, part, &alike, &pool, &unit, error);
    (void)sample;
    if (!status) status = csrec_doubts_places(part, &doubts, error);
    e.grid = doubts.grid > 1;
    j->holes = j->holes || doubts.unreached > 0.0;
    if (!status)
        csrec_groups_copy(groups, k, j->entries, signal, true, (double *)(uintptr_t)j->signal);
    for (int64_t i = 0; i < values && !status; i++) signal[i] /= unit[i % C];
    if (!status) status = run_folds(&e, &pool, error);
    double share = (double)part->n / (double)j->entries, squares[2], most[2];
    csrec_squares_tell(&e, share < 1.0, squares, most);
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
    uncertainty_job j = {.options = options, .signal = signal, .map = uncertainty};
    CSREC_TRY(check(measurement, error));
    if (csrec_law_is_on(&options->law))
        return csrec_law_promise(measurement, options, signal, uncertainty, promise, error);
    csrec_shape_count(&measurement->shape, &j.entries);
    for (int64_t i = 0; i < j.entries * measurement->channels && uncertainty; i++)
        uncertainty[i] = NAN; /* as it stays where a channel is measured nowhere */
    csrec_status status = csrec_groups_each(measurement, expect_group, &j, error);
    if (!status)
        *promise = (csrec_promise){.error = sqrt(j.squares / j.values),
                                   .most = j.holes ? INFINITY : sqrt(j.most / j.values),
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
    csrec_estimator e = {.signal = NULL};
    csrec_glance g = {0};
    (void)groups, (void)k, (void)sample;
    csrec_status status = begin(&e, j->options, part, &alike, &pool, &unit, error);
    const bool both = !status && j->result && is_recovery(&e, j->all, part);
    if (!status && (both || j->wanted & CSREC_MAKES_DENSITY)) {
        status = glance_whole(&e, &g, j->report, error);
        if (both && !status) memcpy(j->result, g.signal, (size_t)g.values * sizeof *g.signal);
        if (!status) j->made |= CSREC_MAKES_DENSITY | (both ? CSREC_MAKES_SIGNAL : 0);
        if (!status) see(&g);
    }
    const int64_t C = part->channels, entries = status ? 0 : g.values / C;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(entries, 0))
    for (int64_t i = 0; i < entries; i++)
        for (int64_t c = 0; c < C; c++)
            j->density[i] += g.state[i] == CSREC_KEPT ? 0.0 : g.variance[i * C + c];
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
    csrec_status status = check(measurement, error);
    if (status && *made & CSREC_MAKES_DENSITY) return status;
    csrec_shape_count(&measurement->shape, &j.entries);
    memset(density, 0, (size_t)j.entries * sizeof *density);
    status = status ? CSREC_OK : csrec_groups_each(measurement, add_density, &j, error);
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
