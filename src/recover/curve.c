/* SPDX-License-Identifier: BSD-3-Clause */
/* curve.c - recovery of the logarithm of values that span decades: beside a lamp, an error that is
 * small for the lamp is larger than all else. Where the logarithm says that a value is large, the
 * recovery without it may err less: from which value on is seen at samples left out. The range of
 * results. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/threads.h"
#include "csrec/sampling.h"
#include "method/smooth/series.h"
#include "recover/recover.h"
#include "measurement/each.h"
#include "measurement/law.h"

enum { LEAST_SAMPLES = 64, WINDOW = 1 << 17, STREAM_CURVE = 1 << 22 };

static const double DECADES = 4.0;           /* the largest sample, in means */
static const double LEFT_OUT = 0.25;         /* share of the samples of a window */
static const double CEILING = 2.0;           /* of results, in largest samples */
static const double BETTER = 0.9;            /* of the errors without a curve */
static const double CUT = 3.0 * 1.482602219; /* of errors, in medians of their size, */
static const double CUT_MOST = 3.0;          /* and at most this */

const char *csrec_curve_name(csrec_curve curve) {
    static const char *const names[] = {"auto", "none", "log"};
    return (unsigned)curve < 3 ? names[curve] : NULL;
}

csrec_span csrec_span_of(const csrec_measurement *m) {
    const int64_t values = csrec_measurement_values(m);
    csrec_span s = {INFINITY, -INFINITY, 0.0};
    for (int64_t i = 0; i < values && m->y; i++) {
        const double y = m->y[i];
        s.least = y < s.least ? y : s.least;
        s.most = y > s.most ? y : s.most;
        s.mean += isnan(y) ? 0.0 : y / (double)values;
    }
    return s.least <= s.most ? s : (csrec_span){NAN, NAN, s.mean};
}

csrec_span csrec_span_surveyed(const csrec_survey *survey, double unit) {
    csrec_span s = {NAN, NAN, 0.0};
    for (int64_t c = 0; c < survey->channels; c++) {
        s.least = fmin(survey->value[c], s.least);
        s.most = fmax(survey->value[survey->channels + c], s.most);
        s.mean += survey->mean[c] * unit / (double)survey->channels;
    }
    return s;
}

static bool spans_decades(csrec_span s) {
    return s.least >= 0.0 && s.most > DECADES * s.mean;
}

void csrec_range_resolve(const csrec_measurement *m, csrec_span span, bool atoms,
                         const double given[2], csrec_recover_options *o) {
    const bool open = o->by_samples && !atoms && !m->through && m->scale[0] == m->scale[1];
    const bool from_0 = span.least >= 0.0;
    const double ends[2] = {open && from_0 ? 0.0 : -INFINITY, INFINITY};
    const bool none = given[0] == given[1];
    for (int i = 0; i < 2 && !m->is_complex; i++)
        o->range[i] = none || isnan(given[i]) ? ends[i] : given[i];
}

int64_t csrec_range_clamp(const double range[2], int64_t n, double *values) {
    int64_t clamped = 0;
#pragma omp parallel for reduction(+ : clamped) num_threads(csrec_threads_for(n, 0))
    for (int64_t i = 0; i < n * (range[0] < range[1]); i++) {
        clamped += values[i] < range[0] || values[i] > range[1];
        values[i] = values[i] < range[0] ? range[0] : values[i] > range[1] ? range[1] : values[i];
    }
    return clamped;
}

csrec_status csrec_curve_check(const csrec_measurement *m, const csrec_recover_options *o,
                               csrec_span span, bool atoms, csrec_error *error) {
    const bool given = o->range[0] != o->range[1] && !(isnan(o->range[0]) && isnan(o->range[1]));
    const char *why = m->through                      ? "what is measured through an operator"
                      : m->is_complex                 ? "complex samples"
                      : csrec_measurement_is_noisy(m) ? "noise of one sigma for all values"
                      : atoms                         ? "atoms, which are those of the samples"
                      : o->model                      ? "a model, which has the values of its data"
                      : span.least < 0.0              ? "samples below 0"
                                                      : NULL;
    if (o->range[0] > o->range[1] || (m->is_complex && given))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "range = %g, %g; real values from a lower end to a higher one have one",
                          o->range[0], o->range[1]);
    if (!csrec_curve_name(o->curve))
        return csrec_fail(error, CSREC_ARGUMENT, "curve = %d; use auto, none or log", o->curve);
    if (o->curve != CSREC_CURVE_LOG || !why) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED, "curve log is not for %s; leave it out", why);
}

/* No table, whose columns are unlike. */
csrec_curve csrec_curve_possible(const csrec_measurement *m, const csrec_recover_options *o,
                                 csrec_span span, bool atoms) {
    const bool open = o->by_samples && !m->through && !m->is_complex &&
                      !csrec_measurement_is_noisy(m) && !atoms && m->scale[0] == m->scale[1] &&
                      m->shape.dims <= 3 && !o->model &&
                      !(csrec_method_of(o)->info.accepts & CSREC_ACCEPTS(SOLVER));
    if (o->curve != CSREC_CURVE_AUTO) return o->curve;
    if (!open || !spans_decades(span)) return CSREC_CURVE_NONE;
    if (m->sequence) return CSREC_CURVE_NONE;
    const bool may = !m->y || (m->n >= LEAST_SAMPLES && csrec_table_axis(m) < 0);
    return may ? CSREC_CURVE_AUTO : CSREC_CURVE_NONE;
}

static double into(const csrec_curved *to, double y) {
    return log1p(y / to->floor);
}

static double out_of(const csrec_curved *to, double u) {
    const double c = to->floor, f = to->factor;
    return isnan(u) ? u : fmin(f * c * expm1(u) + (f - 1.0) * c, to->most);
}

/* Of n > 0 sizes, as their bits, which have the order of the numbers. */
static double quantile(int64_t n, uint64_t *sizes, double rank) {
    double value;
    if (csrec_sort_rows(n, sizes, NULL)) return NAN;
    memcpy(&value, &sizes[(int64_t)(rank * (double)n)], sizeof value);
    return value;
}

static void drop(const char *choice, csrec_curved *to) {
    free(to->m.y);
    *to = (csrec_curved){.choice = choice};
}

/* The samples in the curve. */
static csrec_status begin(const csrec_measurement *m, csrec_span span, csrec_curved *to,
                          csrec_error *error) {
    const int64_t values = m->n * m->channels;
    const double most = fmin(CEILING * span.most, DBL_MAX);
    *to = (csrec_curved){.m = *m, .factor = 1.0, .most = most, .above = INFINITY};
    to->m.y = malloc((size_t)values * sizeof *to->m.y);
    if (!to->m.y) return csrec_memory_fail(error, NULL);
    CSREC_TRY(csrec_values_floor(values, m->y, &to->floor, error));
    for (int64_t i = 0; i < values; i++) to->m.y[i] = into(to, m->y[i]);
    if (to->floor == 0.0) drop(NULL, to);
    return CSREC_OK;
}

void csrec_curve_back(const csrec_curved *curved, const double *y, const double *plain,
                      double *signal, double *variance) {
    const csrec_measurement *m = &curved->m;
    const int64_t C = m->channels, values = csrec_measurement_signal_values(m);
    for (int64_t i = 0; i < m->n * C; i++) /* from now on what is kept, else NAN */
        m->y[i] = signal[m->index[i / C] * C + i % C] == m->y[i] ? y[i] : NAN;
    for (int64_t i = 0; i < values; i++) {
        signal[i] = out_of(curved, signal[i]);
        if (variance) variance[i] *= (signal[i] + curved->floor) * (signal[i] + curved->floor);
        if (!(signal[i] >= curved->above)) continue;
        signal[i] = plain[i];
        if (variance) variance[i] = plain[values + i];
    }
    for (int64_t i = 0; i < m->n * C; i++)
        if (!isnan(m->y[i])) signal[m->index[i / C] * C + i % C] = m->y[i];
}

/* The entries of the first axis around the largest sample, without some of the samples. */
typedef struct trial {
    csrec_pool pool;
    csrec_measurement shown;
    csrec_recover_options options;
    int64_t n; /* values left out, and where they are among the samples and in the window */
    int64_t *left, *at;
    double *signal, *plain; /* plain: at the values left out, without the curve */
    uint64_t *sizes;
} trial;

/* By position, so that the order of samples does not matter. */
static csrec_status leave_out(const csrec_measurement *m, uint64_t seed, trial *t) {
    const int64_t C = m->channels, all = csrec_measurement_signal_values(m);
    const int64_t row = all / C / m->shape.dim[0], rows = WINDOW / row + 1;
    int64_t largest = 0;
    for (int64_t i = 1; i < m->n * C; i++)
        if (m->y[i] > m->y[largest] || isnan(m->y[largest])) largest = i;
    int64_t first = m->index[largest / C] / row - rows / 2;
    if (first + rows > m->shape.dim[0]) first = m->shape.dim[0] - rows;
    if (first < 0) first = 0;
    t->shown = (csrec_measurement){.shape = m->shape, .channels = C};
    if (rows < m->shape.dim[0]) t->shown.shape.dim[0] = rows;
    const int64_t entries = t->shown.shape.dim[0] * row;
    CSREC_TAKE(&t->pool, t->shown.index, entries);
    CSREC_TAKE(&t->pool, t->shown.y, entries * C);
    CSREC_TAKE(&t->pool, t->left, entries * C);
    CSREC_TAKE(&t->pool, t->at, entries * C);
    CSREC_TAKE(&t->pool, t->signal, entries * C);
    CSREC_TAKE(&t->pool, t->plain, entries * C);
    CSREC_TAKE(&t->pool, t->sizes, entries * C);
    for (int64_t k = 0; k < m->n * C && !t->pool.lacks; k++) {
        const int64_t at = m->index[k / C] - first * row, c = k % C;
        const bool hides =
            csrec_random_uniform(seed, STREAM_CURVE, (uint64_t)m->index[k / C]) < LEFT_OUT;
        if (at < 0 || at >= entries) continue;
        if (hides && !isnan(m->y[k])) t->left[t->n] = k, t->at[t->n++] = at * C + c;
        if (hides) continue;
        t->shown.y[t->shown.n * C + c] = m->y[k];
        t->shown.index[t->shown.n] = at;
        t->shown.n += c == C - 1;
    }
    return csrec_pool_status(&t->pool);
}

/* What a value x misses: its square, or the relative error. */
static double missed(double y, double x, const csrec_curved *to, bool square) {
    const double off = (x - y) / to->floor;
    return square ? off * off : fabs(x - y) / (y + fabs(x) + to->floor);
}

/* Root mean square times relative error of x at the values left out. */
static double score(const csrec_measurement *m, const trial *t, const csrec_curved *to,
                    const double *x) {
    double squares = 0.0, relative = 0.0;
    for (int64_t k = 0; k < t->n; k++) {
        squares += missed(m->y[t->left[k]], x[k], to, true);
        relative += missed(m->y[t->left[k]], x[k], to, false);
    }
    return sqrt(squares) * relative;
}

/* The mean of exp of the errors in the curve, of which a few large ones tell nothing. */
static double factor_of(const csrec_measurement *m, const trial *t) {
    double mean = 0.0;
    for (int64_t k = 0; k < t->n; k++) {
        const double size = fabs(m->y[t->left[k]] - t->signal[t->at[k]]);
        memcpy(&t->sizes[k], &size, sizeof size);
    }
    const double cut = fmin(CUT * quantile(t->n, t->sizes, 0.5), CUT_MOST);
    for (int64_t k = 0; k < t->n; k++) {
        const double e = m->y[t->left[k]] - t->signal[t->at[k]];
        mean += exp(fmax(fmin(e, cut), -cut)) / (double)t->n;
    }
    return isfinite(mean) ? mean : 1.0;
}

/* x [n], by the curve, becomes plain from to->above on: the least score. */
static csrec_status join(const csrec_measurement *m, trial *t, double *x, csrec_curved *to) {
    double squares = 0.0, relative = 0.0, least;
    for (int64_t k = 0; k < t->n; k++) {
        memcpy(&t->sizes[k], &x[k], sizeof *x);
        t->at[k] = k;
        squares += missed(m->y[t->left[k]], x[k], to, true);
        relative += missed(m->y[t->left[k]], x[k], to, false);
    }
    least = BETTER * squares * relative * relative;
    csrec_status status = csrec_sort_rows(t->n, t->sizes, t->at);
    for (int64_t k = t->n - 1; k >= 0 && !status; k--) { /* from the largest on */
        const int64_t i = t->at[k];
        const double y = m->y[t->left[i]];
        squares += missed(y, t->plain[i], to, true) - missed(y, x[i], to, true);
        relative += missed(y, t->plain[i], to, false) - missed(y, x[i], to, false);
        if (squares * relative * relative >= least || (k > 0 && x[t->at[k - 1]] == x[i])) continue;
        least = squares * relative * relative;
        to->above = x[i];
    }
    for (int64_t k = 0; k < t->n; k++)
        if (x[k] >= to->above) x[k] = t->plain[k];
    return status;
}

/* Both ways from the same samples; AUTO: which of them errs less, and from which value on. */
static csrec_status try_curve(const csrec_measurement *m, bool choose, trial *t, csrec_curved *to,
                              csrec_error *error) {
    csrec_measurement *shown = &t->shown;
    csrec_status status = CSREC_OK;
    if (choose) status = csrec_recover(shown, &t->options, t->signal, NULL, NULL, error);
    for (int64_t k = 0; k < t->n && choose; k++) t->plain[k] = t->signal[t->at[k]];
    for (int64_t i = 0; i < shown->n * m->channels; i++) shown->y[i] = into(to, shown->y[i]);
    if (!status) status = csrec_recover(shown, &t->options, t->signal, NULL, NULL, error);
    if (status) return status;
    to->factor = factor_of(&to->m, t);
    if (!choose) return CSREC_OK;
    double *x = t->shown.y; /* no more needed, and as long */
    for (int64_t k = 0; k < t->n; k++) x[k] = fmax(out_of(to, t->signal[t->at[k]]), 0.0);
    if (join(m, t, x, to)) return csrec_memory_fail(error, NULL);
    if (!(score(m, t, to, x) < BETTER * score(m, t, to, t->plain)))
        drop("no curve: values span decades, but their logarithm errs more on samples left out",
             to);
    else if (isfinite(to->above))
        to->choice = "the logarithm of values that span decades, but for the largest: each way "
                     "where it errs less on samples left out";
    return CSREC_OK;
}

csrec_status csrec_curve_choose(const csrec_measurement *m, const csrec_recover_options *o,
                                csrec_curved *to, csrec_error *error) {
    const bool choose = o->curve == CSREC_CURVE_AUTO;
    trial t = {.n = 0};
    *to = (csrec_curved){.choice = NULL};
    if (o->curve == CSREC_CURVE_NONE) return CSREC_OK;
    csrec_status status = begin(m, csrec_span_of(m), to, error);
    if (status || to->floor == 0.0) return status;
    if (leave_out(m, o->seed, &t)) status = csrec_memory_fail(error, NULL);
    t.options = csrec_options_within(o, NULL);
    t.options.backend = csrec_device_name(CSREC_DEVICE_CPU); /* on all devices the same choice */
    t.options.curve = CSREC_CURVE_NONE;
    if (m->shape.dims == 3) t.options.method = csrec_method_frames.info.name; /* the fast one */
    to->choice = "the logarithm of values that span decades: it errs less on samples left out";
    if (!choose) to->choice = "the logarithm of the values, as the options say";
    if (!status && t.n && t.shown.n)
        status = try_curve(m, choose, &t, to, error);
    else if (choose)
        drop(NULL, to);
    csrec_pool_clear(&t.pool);
    double told[] = {to->factor, to->above}; /* 0: no curve */
    if (!status) status = csrec_ranks_tell(o->comm, CSREC_TAG_CURVE, told, sizeof told, error);
    if (!status && (told[0] == 0.0) != (to->factor == 0.0))
        status = csrec_fail(error, CSREC_DEVICE, "processes choose unlike curves; name one");
    to->factor = told[0];
    to->above = told[1];
    return status;
}
