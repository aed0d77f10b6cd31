/* SPDX-License-Identifier: BSD-3-Clause */
/* session.c - samples as they come, in arrays of all entries, so that adding costs no more than
 * what is added; pictures and expected errors of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/net.h"
#include "measurement/guides.h"
#include "measurement/measurement.h"
#include "recover/session.h"

static csrec_status check_options(csrec_session *s, const csrec_session_options *o,
                                  csrec_error *error) {
    const csrec_recover_options *r = &s->options;
    const char *vain = r->history   ? "history"
                       : r->comm    ? "comm"
                       : r->journal ? "journal"
                       : r->labels  ? "labels"
                                    : NULL;
    if (vain) return csrec_fail(error, CSREC_ARGUMENT, "%s: a session has none; omit it", vain);
    if (csrec_shape_count(&o->shape, &s->entries) || o->channels < 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "a session needs a shape of positive extents, and channels");
    if (o->shape.dims > 3 || s->entries > INT64_C(1) << 31)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "a session of %d axes and %lld entries; at most 3 and 2^31",
                          o->shape.dims, (long long)s->entries);
    /* the rest as of a measurement of one sample */
    int64_t index = 0;
    csrec_measurement one = s->form;
    double *zeros = calloc((size_t)s->form.channels, sizeof *zeros);
    one.n = 1;
    one.index = &index;
    one.y = zeros;
    one.guides = (csrec_guides *)(uintptr_t)o->guides;
    const csrec_status status =
        zeros ? csrec_measurement_check(&one, "session", error) : csrec_memory_fail(error, NULL);
    free(zeros);
    return status;
}

static csrec_status copy_guides(csrec_session *s, const csrec_guides *guides, csrec_error *error) {
    static const int64_t from[CSREC_DIMS_MAX] = {0};
    csrec_guides *copy =
        guides ? csrec_guides_crop(guides, &s->form.shape, from, &s->form.shape) : NULL;
    if (guides && !copy) return csrec_fail(error, CSREC_MEMORY, "out of memory for guides");
    csrec_guides_destroy(s->form.guides);
    s->form.guides = copy;
    return CSREC_OK;
}

static csrec_status prepare(csrec_session *s, const csrec_session_options *o, csrec_error *error) {
    csrec_recover_defaults(&s->options);
    if (o->recover) s->options = *o->recover;
    s->rays = o->rays;
    s->form = (csrec_measurement){.shape = o->shape,
                                  .channels = o->channels ? o->channels : 1,
                                  .dtype = CSREC_F64,
                                  .sigma = o->sigma,
                                  .scale = {o->scale[0], o->scale[1]}};
    CSREC_TRY(check_options(s, o, error));
    const int64_t values = s->entries * s->form.channels;
    CSREC_TAKE(&s->pool, s->mean, values);
    CSREC_ZEROS(&s->pool, s->count, s->entries);
    CSREC_TAKE(&s->pool, s->signal, values);
    CSREC_TAKE(&s->pool, s->density, s->entries);
    if (o->allowed) CSREC_TAKE(&s->pool, s->allowed, s->entries);
    if (s->pool.lacks)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for a session of %lld entries",
                          (long long)s->entries);
    if (o->allowed) memcpy(s->allowed, o->allowed, (size_t)s->entries);
    if (!s->options.priors) {
        CSREC_TRY(csrec_priors_create(&s->own, error));
        s->options.priors = s->own;
    }
    return copy_guides(s, o->guides, error);
}

csrec_status csrec_session_create(const csrec_session_options *options, csrec_session **session,
                                  csrec_error *error) {
    csrec_session *s = csrec_pool_create(sizeof *s);
    if (!s) return csrec_memory_fail(error, NULL);
    const csrec_status status = prepare(s, options, error);
    return CSREC_SETTLE(status, csrec_session_destroy(s), *session = s);
}

static void forget_list(csrec_session *s) {
    s->seen.guides = NULL; /* the form's */
    s->seen.rays = NULL;   /* the counts */
    csrec_measurement_clear(&s->seen);
    free(s->counts);
    s->counts = NULL;
    s->room = 0;
    s->listed = false;
}

void csrec_session_destroy(csrec_session *s) {
    if (!s) return;
    forget_list(s);
    for (int k = 0; k < CSREC_SESSION_BEFORE; k++) csrec_measurement_clear(&s->before[k]);
    csrec_guides_destroy(s->form.guides);
    csrec_priors_destroy(s->own);
    csrec_pool_destroy(s);
}

/* The variances of what is there, when the first deviation comes. */
static csrec_status begin_variances(csrec_session *s, csrec_error *error) {
    const int64_t C = s->form.channels;
    const double known = s->rays ? NAN : s->form.sigma * s->form.sigma;
    if (s->variance) return CSREC_OK;
    if (s->n > 0 && !s->rays && s->form.sigma == 0.0)
        return csrec_fail(error, CSREC_DATA,
                          "deviation: the values before have none, and there is no sigma; give all "
                          "or none");
    CSREC_TAKE(&s->pool, s->variance, s->entries * C);
    if (!s->variance) {
        s->pool.lacks = false;
        return csrec_fail(error, CSREC_MEMORY, "out of memory for deviations");
    }
    for (int64_t i = 0; i < s->entries * C; i++)
        s->variance[i] = s->count[i / C] > 0.0 ? known / s->count[i / C] : NAN;
    return CSREC_OK;
}

static csrec_status check_added(const csrec_session *s, int64_t n, const int64_t *index,
                                const double *deviation, csrec_error *error) {
    if (n < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "n = %lld; must be 0 or more", (long long)n);
    if (n > 0 && s->variance && !deviation && !s->rays && s->form.sigma == 0.0)
        return csrec_fail(error, CSREC_DATA,
                          "deviation: the values before have some, and there is no sigma; give all "
                          "or none");
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= s->entries || (s->allowed && !s->allowed[index[i]]))
            return csrec_fail(error, CSREC_DATA, "position %lld (number %lld) %s",
                              (long long)index[i], (long long)i,
                              index[i] < 0 || index[i] >= s->entries
                                  ? "is outside of the signal; positions are flat, in C order"
                                  : "is not allowed; omit it");
    for (int64_t i = 0; i < n * s->form.channels && deviation; i++)
        if (deviation[i] < 0.0)
            return csrec_fail(error, CSREC_DATA, "deviation %lld is %g; must be 0 or more",
                              (long long)i, deviation[i]);
    return CSREC_OK;
}

/* Of variances v of a new value and V of the mean: the share of the new one, and that of both. */
static double join_variances(const csrec_session *s, double *V, double v, double counted) {
    double share = counted;
    if (s->rays) {
        *V = (1.0 - share) * (1.0 - share) * *V + share * share * v;
        return share;
    }
    if (*V > 0.0 || v > 0.0) share = *V / (*V + v);
    *V = *V > 0.0 && v > 0.0 ? 1.0 / (1.0 / *V + 1.0 / v) : 0.0;
    return share;
}

/* Of rays the variance of the mean of all, of which that of n or of more is not known: by their
 * sums of squares about their means, `apart` from each other. A single ray has none. */
static double spread_variance(double V, double n, double v, double more, double apart) {
    const double all = n + more;
    const double old = n == 1.0 && isnan(V) ? 0.0 : V * n * fmax(n - 1.0, 0.0);
    const double own = more == 1.0 && isnan(v) ? 0.0 : v * more * fmax(more - 1.0, 0.0);
    if (!(all > 1.0)) return NAN;
    return (old + own + apart * apart * n * more / all) / (all * (all - 1.0));
}

static void add_one(csrec_session *s, int64_t at, const double *y, const double *deviation,
                    double rays) {
    const int64_t C = s->form.channels;
    const bool first = s->count[at] == 0.0;
    s->count[at] += rays;
    s->n += first;
    s->repeats |= s->count[at] != 1.0;
    for (int64_t c = 0; c < C; c++) {
        double *mean = s->mean + at * C + c, *V = s->variance ? s->variance + at * C + c : NULL;
        const double own = deviation ? deviation[c] * deviation[c]
                           : s->rays ? NAN
                                     : s->form.sigma * s->form.sigma / rays;
        double share = rays / s->count[at];
        if (first) *mean = y[c];
        if (first && V) *V = own;
        if (!first && V && s->rays && isnan(*V + own))
            *V = spread_variance(*V, s->count[at] - rays, own, rays, y[c] - *mean);
        else if (!first && V)
            share = join_variances(s, V, own, share);
        if (!first) *mean += share * (y[c] - *mean);
    }
}

static bool is_whole(const csrec_session *s, const double *y, const double *deviation,
                     double rays) {
    bool whole = isfinite(rays) && rays > 0.0;
    for (int64_t c = 0; c < s->form.channels && whole; c++)
        whole = isfinite(y[c]) &&
                (!deviation || isfinite(deviation[c]) || (s->rays && isnan(deviation[c])));
    return whole;
}

/* rays: or numbers of measurements. */
static csrec_status add_all(csrec_session *s, int64_t n, const int64_t *index, const double *y,
                            const double *deviation, const double *rays, int64_t *left,
                            csrec_error *error) {
    const int64_t C = s->form.channels;
    int64_t lost = 0;
    CSREC_TRY(check_added(s, n, index, deviation, error));
    if (deviation && n > 0) CSREC_TRY(begin_variances(s, error));
    for (int64_t i = 0; i < n; i++) {
        const double *own = deviation ? deviation + i * C : NULL, number = rays ? rays[i] : 1.0;
        if (is_whole(s, y + i * C, own, number))
            add_one(s, index[i], y + i * C, own, number);
        else
            lost++;
    }
    if (left) *left = lost;
    if (lost == n) return CSREC_OK;
    s->listed = false;
    s->made = 0;
    return CSREC_OK;
}

csrec_status csrec_session_add(csrec_session *s, int64_t n, const int64_t *index, const double *y,
                               const double *deviation, const double *rays, int64_t *left,
                               csrec_error *error) {
    if (!rays || s->rays) return add_all(s, n, index, y, deviation, rays, left, error);
    return csrec_fail(error, CSREC_ARGUMENT,
                      "rays: the session has none; create it with rays, or omit them");
}

static bool reserve(csrec_session *s) {
    const int64_t C = s->form.channels;
    csrec_measurement *m = &s->seen;
    const bool told = s->variance || (s->repeats && !s->rays && s->form.sigma > 0.0);
    if (s->room >= s->n && s->n > 0 && told == (m->deviation != NULL)) return true;
    forget_list(s);
    const int64_t n = s->n + s->n / 4 < s->entries ? s->n + s->n / 4 : s->entries;
    *m = (csrec_measurement){.n = 0};
    m->index = malloc((size_t)(n + 1) * sizeof *m->index);
    m->y = malloc((size_t)(n * C + 1) * sizeof *m->y);
    s->counts = malloc((size_t)(n + 1) * sizeof *s->counts);
    if (told) m->deviation = malloc((size_t)(n * C + 1) * sizeof *m->y);
    s->room = n;
    if (m->index && m->y && s->counts && (m->deviation || !told)) return true;
    forget_list(s);
    return false;
}

/* The deviation of value c at an entry, if it is known. */
static double deviation_at(const csrec_session *s, int64_t at, int64_t c) {
    return s->variance ? sqrt(s->variance[at * s->form.channels + c])
                       : s->form.sigma / sqrt(s->count[at]);
}

const csrec_measurement *csrec_session_samples(csrec_session *s) {
    const int64_t C = s->form.channels;
    csrec_measurement *m = &s->seen;
    if (s->listed) return m;
    if (!reserve(s)) return NULL;
    csrec_measurement list = s->form;
    list.index = m->index;
    list.y = m->y;
    list.deviation = m->deviation;
    for (int64_t at = 0; at < s->entries; at++) { /* without branches, as nobody foresees them */
        list.index[list.n] = at;
        s->counts[list.n] = s->count[at];
        list.n += s->count[at] != 0.0;
    }
    for (int64_t k = 0; k < list.n; k++)
        for (int64_t c = 0; c < C; c++) {
            list.y[k * C + c] = s->mean[list.index[k] * C + c];
            if (list.deviation) list.deviation[k * C + c] = deviation_at(s, list.index[k], c);
        }
    if (s->rays) list.rays = s->counts;
    *m = list;
    s->listed = true;
    return m;
}

csrec_status csrec_session_sequence(csrec_session *s, bool all, csrec_sequence **sequence,
                                    csrec_error *error) {
    const csrec_measurement *now = csrec_session_samples(s);
    *sequence = NULL;
    csrec_status status = now ? csrec_sequence_create(&s->options, sequence, error)
                              : csrec_fail(error, CSREC_MEMORY, "out of memory for samples");
    for (int64_t k = 0; k <= s->frames && !status; k++) {
        if (k == s->frames && now->n == 0 && !all) break;
        if (csrec_sequence_ready(*sequence)) csrec_sequence_skip(*sequence);
        status = csrec_sequence_push(*sequence, k < s->frames ? &s->before[k] : now, error);
    }
    if (status) csrec_sequence_destroy(*sequence);
    return status;
}

/* Signal and density of a frame behind others; without a density that cannot be told, where it is
 * not wanted. */
static csrec_status make_frame(csrec_session *s, int *made, csrec_recover_report *report,
                               csrec_error *error) {
    const int64_t C = s->form.channels;
    csrec_sequence *sequence;
    double *errors = malloc((size_t)(s->entries * C) * sizeof *errors);
    if (!errors) return csrec_fail(error, CSREC_MEMORY, "out of memory for expected errors");
    csrec_status status = csrec_session_sequence(s, true, &sequence, error);
    if (!status) {
        const bool wanted = *made & CSREC_MAKES_DENSITY;
        *made = CSREC_MAKES_SIGNAL | CSREC_MAKES_DENSITY;
        status = csrec_sequence_last(sequence, s->signal, errors, report, error);
        if (status == CSREC_DATA && !wanted) {
            *made = CSREC_MAKES_SIGNAL;
            status = csrec_sequence_last(sequence, s->signal, NULL, report, error);
        }
        csrec_sequence_destroy(sequence);
    }
    for (int64_t i = 0; i < s->entries && !status && *made & CSREC_MAKES_DENSITY; i++) {
        double sum = 0.0;
        for (int64_t c = 0; c < C; c++) sum += errors[i * C + c] * errors[i * C + c];
        s->density[i] = isfinite(sum) ? sqrt(sum) : 0.0; /* the method expects none */
    }
    free(errors);
    return status;
}

csrec_status csrec_session_make(csrec_session *s, int wanted, csrec_error *error) {
    if ((s->made & wanted) == wanted) return CSREC_OK;
    const csrec_measurement *m = csrec_session_samples(s);
    if (!m) return csrec_fail(error, CSREC_MEMORY, "out of memory for samples");
    if (m->n == 0 && s->frames == 0)
        return csrec_fail(error, CSREC_DATA, "nothing is measured yet; add samples");
    csrec_recover_report report = s->report; /* that of a density alone is not kept */
    int made = wanted;
    CSREC_TRY(s->frames > 0 ? make_frame(s, &made, &report, error)
                            : csrec_recover_expecting(m, &s->options, &made, s->signal, s->density,
                                                      &report, error));
    if (made & CSREC_MAKES_SIGNAL) s->report = report;
    if (report.outcome != CSREC_INTERRUPTED)
        s->made |= made;
    else if (wanted & CSREC_MAKES_DENSITY)
        return csrec_fail(error, CSREC_STOPPED, "stopped");
    return CSREC_OK;
}

csrec_status csrec_session_picture(csrec_session *s, double *signal, csrec_recover_report *report,
                                   csrec_error *error) {
    CSREC_TRY(csrec_session_make(s, CSREC_MAKES_SIGNAL, error));
    memcpy(signal, s->signal, (size_t)(s->entries * s->form.channels) * sizeof *signal);
    if (report) *report = s->report;
    return CSREC_OK;
}

csrec_status csrec_session_expected(csrec_session *s, double *map, double *rms,
                                    csrec_error *error) {
    CSREC_TRY(csrec_session_make(s, CSREC_MAKES_SIGNAL, error));
    if (s->frames == 0) return csrec_uncertainty(&s->seen, &s->options, s->signal, map, rms, error);
    const int64_t values = s->entries * s->form.channels;
    double squares = 0.0, *own = map ? map : malloc((size_t)values * sizeof *own);
    csrec_sequence *sequence;
    if (!own) return csrec_fail(error, CSREC_MEMORY, "out of memory for expected errors");
    csrec_status status = csrec_session_sequence(s, true, &sequence, error);
    if (!status) {
        status = csrec_sequence_last(sequence, s->signal, own, NULL, error);
        csrec_sequence_destroy(sequence);
    }
    for (int64_t i = 0; i < values && !status; i++) squares += own[i] * own[i];
    if (!status && rms) *rms = sqrt(squares / (double)values);
    if (!map) free(own);
    return status;
}

csrec_status csrec_session_frame(csrec_session *s, const csrec_guides *guides, csrec_error *error) {
    const csrec_measurement *m = csrec_session_samples(s);
    csrec_measurement kept = s->form;
    if (s->form.shape.dims != 2)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "frames are pictures of two axes; this session "
                          "has %d",
                          s->form.shape.dims);
    if (!m) return csrec_fail(error, CSREC_MEMORY, "out of memory for samples");
    csrec_measurement with = s->form;
    const csrec_measurement *const one[] = {m};
    csrec_status status = CSREC_OK;
    if (m->n > 0) status = csrec_measurement_merge(1, one, &kept, NULL, error);
    if (!status && m->n == 0 && s->form.guides) {
        const int64_t from[CSREC_DIMS_MAX] = {0};
        kept.guides = csrec_guides_crop(s->form.guides, &kept.shape, from, &kept.shape);
        if (!kept.guides) status = csrec_fail(error, CSREC_MEMORY, "out of memory for guides");
    }
    with.guides = (csrec_guides *)(uintptr_t)guides;
    if (!status && guides) status = csrec_guides_check(&with, "frame", error);
    if (!status && guides) status = copy_guides(s, guides, error);
    if (status) {
        csrec_measurement_clear(&kept);
        return status;
    }
    if (s->frames == CSREC_SESSION_BEFORE) {
        csrec_measurement_clear(&s->before[0]);
        memmove(s->before, s->before + 1, (CSREC_SESSION_BEFORE - 1) * sizeof *s->before);
        s->frames--;
    }
    s->before[s->frames++] = kept;
    memset(s->count, 0, (size_t)s->entries * sizeof *s->count);
    s->n = 0;
    s->repeats = s->listed = false;
    s->made = 0;
    return CSREC_OK;
}

csrec_status csrec_session_save(csrec_session *s, const char *path, csrec_error *error) {
    const csrec_measurement *m = csrec_session_samples(s);
    if (!m) return csrec_fail(error, CSREC_MEMORY, "out of memory for samples");
    if (m->n == 0) return csrec_fail(error, CSREC_DATA, "nothing is measured yet; add samples");
    csrec_measurement file = *m;
    file.guides = NULL;
    if (s->repeats && !s->variance) { /* counts tell it all */
        file.rays = s->counts;
        file.deviation = NULL;
    }
    return csrec_measurement_write(path, &file, false, error);
}

csrec_status csrec_session_load(csrec_session *s, const char *path, csrec_error *error) {
    csrec_measurement m;
    csrec_status status = csrec_measurement_read(path, NULL, &m, error);
    if (status) return status;
    if (!csrec_shape_equal(&m.shape, &s->form.shape) || m.channels != s->form.channels)
        status = csrec_fail(error, CSREC_DATA,
                            "%.200s: has another shape or other channels than the session", path);
    else if ((status = csrec_measurement_check_points(&m, path, error)) == CSREC_OK) {
        status = add_all(s, m.n, m.index, m.y, m.deviation, m.rays, NULL, error);
    }
    csrec_measurement_clear(&m);
    return status;
}
