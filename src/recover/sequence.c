/* SPDX-License-Identifier: BSD-3-Clause */
/* sequence.c - frames one after another: through the window of a method that uses them,
 * or each by itself. */
#include "csrec/sequence.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measurement/channels.h"
#include "measurement/cut.h"
#include "measurement/each.h"
#include "measurement/law.h"
#include "measurement/measurement.h"
#include "method/beside/beside.h"
#include "recover/recover.h"

struct csrec_sequence {
    csrec_recover_options options; /* with a law of changed frames, so without it */
    csrec_noise_law law;
    double floor, range[2];  /* of the law, of the first frame; given, of frames that are changed */
    csrec_layout layout;     /* of the first frame */
    csrec_measurement frame; /* of a method that takes frames by themselves */
    csrec_context context;
    csrec_film film;
    csrec_span span, given; /* of all samples so far; as they were before the law changed them */
    double sigma;           /* of the last frame with samples */
    csrec_shape shape;      /* of a frame; no axes before the first */
    int64_t channels;
    bool windowed, waits, opened;
};

csrec_status csrec_sequence_create(const csrec_recover_options *options, csrec_sequence **sequence,
                                   csrec_error *error) {
    csrec_recover_options defaults;
    csrec_recover_defaults(&defaults);
    if (!options) options = &defaults;
    const char *vain = options->history                    ? "history"
                       : options->comm                     ? "comm"
                       : options->labels                   ? "labels"
                       : options->journal                  ? "journal"
                       : options->curve == CSREC_CURVE_LOG ? "curve log"
                                                           : NULL;
    *sequence = NULL;
    if (vain)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "%s: frames one after another have none; omit it, or recover one array of all", vain);
    const bool is_law = csrec_law_is_on(&options->law);
    if (is_law && csrec_law_check(&options->law, error)) return CSREC_ARGUMENT;
    csrec_sequence *s = calloc(1, sizeof *s);
    if (!s) return csrec_memory_fail(error, NULL);
    s->options = *options;
    s->law = options->law;
    s->options.law = (csrec_noise_law){.gain = 0.0};
    for (int i = 0; i < 2; i++) {
        s->range[i] = options->range[i];
        if (is_law) s->options.range[i] = NAN;
    }
    s->span = s->given = (csrec_span){NAN, NAN, 0.0};
    *sequence = s;
    return CSREC_OK;
}

void csrec_sequence_destroy(csrec_sequence *s) {
    if (!s) return;
    csrec_measurement_clear(&s->frame);
    csrec_film_clear(&s->film);
    if (s->opened) csrec_context_destroy(&s->context);
    free(s);
}

/* A frame as a sequence of one. */
static csrec_measurement stacked(const csrec_measurement *frame) {
    csrec_measurement m = *frame;
    m.shape = (csrec_shape){3, {1, frame->shape.dim[0], frame->shape.dim[1]}};
    m.sequence = true;
    return m;
}

const char *csrec_sequence_preset(int i, const csrec_measurement *frame,
                                  csrec_recover_options *options) {
    if (!frame || frame->shape.dims != 2) return csrec_recover_preset(i, frame, options);
    const csrec_measurement m = stacked(frame);
    return csrec_recover_preset(i, &m, options);
}

/* "auto" takes a device where that is faster for a frame, and the CPU where it cannot be had. */
static csrec_status open_device(csrec_sequence *s, const csrec_measurement *m, csrec_error *error) {
    const char *backend = s->layout.resolved.options.backend;
    const csrec_layout_job job = {m, &s->layout};
    csrec_status status = CSREC_DEVICE;
    if (csrec_device_automatic(backend)) {
        if (csrec_layout_faster(CSREC_DEVICE_CUDA, &job))
            status = csrec_context_create(csrec_device_name(CSREC_DEVICE_CUDA), &s->context, NULL);
        backend = csrec_device_name(CSREC_DEVICE_CPU);
    }
    if (status) status = csrec_context_create(backend, &s->context, error);
    s->opened = status == CSREC_OK;
    return status;
}

static csrec_status begin(csrec_sequence *s, const csrec_measurement *frame, csrec_error *error) {
    const csrec_measurement m = stacked(frame);
    const csrec_wanted wanted = {.signal = true};
    csrec_status status = csrec_layout_resolve(&m, &s->options, wanted, &s->layout, error);
    if (status) return status;
    s->windowed = s->layout.method->film != NULL;
    if (s->windowed) status = open_device(s, &m, error);
    if (!status && s->windowed)
        status = csrec_layout_make(&m, wanted, &s->context, &s->layout, error);
    if (!status && s->windowed) status = csrec_layout_check(&s->layout, error);
    const csrec_recovery r = {.measurement = &m,
                              .options = &s->layout.resolved.options,
                              .context = &s->context,
                              .unit = 1.0};
    if (!status && s->windowed) status = s->layout.method->film(&r, true, &s->film, error);
    if (!status) {
        s->shape = frame->shape;
        s->channels = frame->channels;
        return CSREC_OK;
    }
    csrec_film_clear(&s->film);
    s->film = (csrec_film){.pushed = 0};
    if (s->opened) csrec_context_destroy(&s->context);
    s->opened = false;
    return status;
}

/* A frame without samples (dropped, under a cloud) as one with a sample of 0, for what needs one;
 * free its index and y. */
static csrec_status stand_in(const csrec_measurement *frame, csrec_measurement *one,
                             csrec_error *error) {
    *one = *frame;
    if (frame->n == 0) one->rays = one->deviation = NULL;
    if (frame->n != 0 || frame->channels < 1) return CSREC_OK;
    one->n = 1;
    one->index = calloc(1, sizeof *one->index);
    one->y = calloc((size_t)frame->channels, sizeof *one->y);
    return one->index && one->y ? CSREC_OK : csrec_memory_fail(error, NULL);
}

static csrec_status check_frame(const csrec_sequence *s, const csrec_measurement *frame,
                                csrec_error *error) {
    CSREC_TRY(csrec_measurement_check_points(frame, "frame", error));
    if (frame->shape.dims != 2)
        return csrec_fail(error, CSREC_DATA,
                          "frame: has %d axes; frames of a sequence are pictures of two",
                          frame->shape.dims);
    if (s->shape.dims &&
        (!csrec_shape_equal(&s->shape, &frame->shape) || s->channels != frame->channels))
        return csrec_fail(error, CSREC_DATA,
                          "frame: is %lld x %lld with %lld channels, frames before it %lld x %lld "
                          "with %lld; recover them as sequences of their own",
                          (long long)frame->shape.dim[0], (long long)frame->shape.dim[1],
                          (long long)frame->channels, (long long)s->shape.dim[0],
                          (long long)s->shape.dim[1], (long long)s->channels);
    if (s->film.ended || csrec_sequence_ready(s)) /* the window has no room for more */
        return csrec_fail(error, CSREC_ARGUMENT, "frame: %s",
                          s->film.ended ? "the sequence has ended; begin another"
                                        : "one before it waits; take it first");
    return CSREC_OK;
}

/* By the law. */
static csrec_status change(csrec_sequence *s, csrec_measurement *m, csrec_error *error) {
    const int64_t n = m->n * m->channels;
    if (m->rays || m->deviation)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "frame: has rays or a sigma of each sample, which tell more than a law "
                          "of noise; leave one out");
    if (s->law.log > 0.0 && s->floor == 0.0) {
        csrec_status status = csrec_values_floor(n, m->y, &s->floor, error);
        s->floor *= CSREC_LAW_FLOOR;
        if (status) return status;
        if (s->floor == 0.0)
            return csrec_fail(error, CSREC_DATA,
                              "frame: no sample is above 0, so law light tells nothing");
    }
    for (int64_t i = 0; i < n; i++) m->y[i] = csrec_law_into(&s->law, s->floor, m->y[i]);
    const bool scaled = m->scale[0] != m->scale[1];
    for (int i = 0; i < 2 && scaled; i++)
        m->scale[i] = csrec_law_into(&s->law, s->floor, m->scale[i]);
    m->sigma = 1.0;
    m->uncut = true;
    return CSREC_OK;
}

/* An owned copy, checked. */
static csrec_status copy_frame(csrec_sequence *s, const csrec_measurement *frame,
                               csrec_measurement *copy, csrec_error *error) {
    csrec_measurement whole;
    const csrec_measurement *const one[] = {&whole};
    *copy = (csrec_measurement){.n = 0};
    csrec_status status = stand_in(frame, &whole, error);
    if (!status) status = check_frame(s, &whole, error);
    if (!status) status = csrec_measurement_merge(1, one, copy, NULL, error);
    if (frame->n == 0 && whole.n == 1) {
        free(whole.index);
        free(whole.y);
    }
    if (!status && frame->n > 0 && csrec_law_is_on(&s->law)) status = change(s, copy, error);
    if (!status && !s->shape.dims) status = begin(s, copy, error);
    if (!status && s->windowed && frame->n > 0) status = csrec_film_prepare(&s->film, copy, error);
    if (status) {
        csrec_measurement_clear(copy);
        return status;
    }
    copy->n = frame->n;
    if (frame->n > 0)
        s->sigma = copy->sigma;
    else if (copy->sigma == 0.0)
        copy->sigma = s->sigma;
    return CSREC_OK;
}

static void widen(csrec_span *span, const csrec_measurement *frame) {
    const csrec_span own = csrec_span_of(frame);
    span->least = fmin(own.least, span->least);
    span->most = fmax(own.most, span->most);
}

csrec_status csrec_sequence_push(csrec_sequence *s, const csrec_measurement *frame,
                                 csrec_error *error) {
    csrec_measurement copy;
    CSREC_TRY(copy_frame(s, frame, &copy, error));
    if (frame->n > 0) widen(&s->given, frame);
    widen(&s->span, &copy);
    if (s->windowed) {
        csrec_film_push(&s->film, &copy, true);
        return CSREC_OK;
    }
    csrec_measurement_clear(&s->frame);
    s->frame = copy;
    s->waits = true;
    return CSREC_OK;
}

void csrec_sequence_end(csrec_sequence *s) {
    s->film.ended = true;
}

int64_t csrec_sequence_delay(const csrec_sequence *s) {
    return s->film.reach;
}

bool csrec_sequence_ready(const csrec_sequence *s) {
    return s->windowed ? csrec_film_ready(&s->film) : s->waits;
}

/* A frame that was changed by the law. */
static void change_back(const csrec_sequence *s, const csrec_measurement *m, double *signal,
                        double *uncertainty, csrec_recover_report *report) {
    if (!csrec_law_is_on(&s->law)) return;
    csrec_law_return(&s->law, s->floor, m, s->options.interval > 0.0, signal, uncertainty);
    report->clamped = csrec_range_clamp(s->range, csrec_measurement_signal_values(m), signal);
}

static csrec_status take_alone(csrec_sequence *s, double *signal, double *uncertainty,
                               csrec_recover_report *report, csrec_error *error) {
    const int64_t values = s->shape.dim[0] * s->shape.dim[1] * s->channels;
    s->waits = false;
    for (int64_t i = 0; i < values && s->frame.n == 0; i++) signal[i] = NAN;
    for (int64_t i = 0; i < values && uncertainty; i++) uncertainty[i] = NAN;
    if (s->frame.n == 0) {
        if (report)
            *report = (csrec_recover_report){.outcome = CSREC_DONE,
                                             .remark = csrec_film_remark(values, signal)};
        return CSREC_OK;
    }
    csrec_recover_report own;
    csrec_status status = csrec_recover(&s->frame, &s->options, signal, NULL, &own, error);
    if (!status && uncertainty)
        status = csrec_uncertainty(&s->frame, &s->options, signal, uncertainty, NULL, error);
    if (!status) change_back(s, &s->frame, signal, uncertainty, &own);
    if (!status && report) *report = own;
    return status;
}

/* Known samples stay outside of the range. */
static void finish(csrec_sequence *s, const csrec_measurement *m, double *signal,
                   double *uncertainty, csrec_recover_report *report) {
    const int64_t values = s->shape.dim[0] * s->shape.dim[1] * s->channels;
    csrec_recover_options *o = &s->layout.resolved.options;
    const csrec_cut cut = csrec_cut_of(m);
    csrec_range_resolve(m, s->span, false, s->options.range, o);
    csrec_cut_back(&cut, values, signal, uncertainty);
    report->clamped = csrec_range_clamp(o->range, values, signal);
    csrec_samples_restore(m, signal);
    const bool unpromised = s->film.other && s->options.interval > 0.0; /* without a vote */
    for (int64_t i = 0; i < values && uncertainty; i++)
        uncertainty[i] = unpromised ? INFINITY : sqrt(uncertainty[i]);
    for (int64_t i = 0; i < m->n * s->channels && uncertainty; i++)
        if (!isnan(m->y[i]) && csrec_value_is_exact(m, i))
            uncertainty[m->index[i / s->channels] * s->channels + i % s->channels] = 0.0;
    report->residual = csrec_samples_residual(m, signal);
    report->backend = csrec_device_name(s->context.kind);
    report->pursuits = 1;
    report->remark = csrec_film_remark(values, signal);
    change_back(s, m, signal, uncertainty, report);
    csrec_layout_report(&s->layout, report);
}

csrec_status csrec_sequence_take(csrec_sequence *s, double *signal, double *uncertainty,
                                 csrec_recover_report *report, csrec_error *error) {
    const csrec_solve_options *solve = &s->options.solve;
    const int64_t t = s->film.taken;
    csrec_recover_report own = {0};
    csrec_call call;
    if (!csrec_sequence_ready(s))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "no frame is ready; push one, or end the sequence");
    if (uncertainty) CSREC_TRY(csrec_span_check(s->given, error));
    if (!s->windowed) return take_alone(s, signal, uncertainty, report, error);
    const double began = csrec_seconds();
    const int64_t fitted = s->film.fitted;
    for (int64_t i = 0; uncertainty && i < s->shape.dim[0] * s->shape.dim[1] * s->channels; i++)
        uncertainty[i] = NAN;
    csrec_call_begin(&call, solve->progress, solve->context,
                     (csrec_progress){"frames", t, s->film.pushed, -1.0});
    csrec_status status = csrec_film_take(&s->film, signal, uncertainty, &call, error);
    own.outcome = csrec_call_stopped(&call) ? CSREC_INTERRUPTED : CSREC_DONE;
    csrec_call_end(&call);
    if (status) return status;
    own.iterations = s->film.fitted - fitted;
    own.seconds_pursuit = own.seconds_total = csrec_seconds() - began;
    finish(s, &csrec_film_at(&s->film, t)->m, signal, uncertainty, &own);
    if (report) *report = own;
    return CSREC_OK;
}

void csrec_sequence_skip(csrec_sequence *s) {
    s->film.taken += s->windowed;
    s->film.fills = -1; /* of no frame yet */
    s->waits = false;
}

csrec_status csrec_sequence_last(csrec_sequence *s, double *signal, double *uncertainty,
                                 csrec_recover_report *report, csrec_error *error) {
    s->film.ended = true;
    while (s->windowed && s->film.taken < s->film.pushed - 1) csrec_sequence_skip(s);
    return csrec_sequence_take(s, signal, uncertainty, report, error);
}

/* Share of the density that is even: what appears is expected nowhere. */
static const double EVEN = 0.5;

/* Squares, up to a factor. */
static csrec_status expect_next(csrec_sequence *s, const csrec_next_options *o, double *squares,
                                csrec_error *error) {
    const int64_t entries = s->shape.dim[0] * s->shape.dim[1];
    const csrec_measurement *last =
        s->windowed ? &csrec_film_at(&s->film, s->film.pushed - 1)->m : &s->frame;
    csrec_call call;
    if (s->windowed && s->film.net.net) {
        csrec_call_begin(&call, o->progress, o->context,
                         (csrec_progress){"frames", s->film.taken, s->film.pushed, -1.0});
        const csrec_status status = csrec_film_next(&s->film, squares, &call, error);
        csrec_call_end(&call);
        return status;
    }
    if (last->n == 0) { /* nothing tells */
        for (int64_t i = 0; i < entries; i++) squares[i] = 1.0;
        return CSREC_OK;
    }
    const csrec_measurement m = stacked(last);
    const csrec_status status = csrec_uncertainty_density(&m, &s->options, squares, error);
    for (int64_t i = 0; i < entries && !status; i++) squares[i] *= squares[i];
    return status;
}

csrec_status csrec_sequence_density(csrec_sequence *s, const csrec_next_options *options,
                                    double *density, csrec_error *error) {
    const int64_t entries = s->shape.dims ? s->shape.dim[0] * s->shape.dim[1] : 0;
    double mean = 0.0;
    if (entries == 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "no frame is known yet; push one, and place the first evenly");
    CSREC_TRY(csrec_span_check(s->given, error));
    const csrec_status status = expect_next(s, options, density, error);
    for (int64_t i = 0; i < entries && !status; i++) {
        density[i] = sqrt(density[i]);
        mean += density[i] / (double)entries;
    }
    for (int64_t i = 0; i < entries && !status; i++)
        density[i] = mean > 0.0 ? (1.0 - EVEN) * density[i] / mean + EVEN : 1.0;
    return status;
}

csrec_status csrec_sequence_next(csrec_sequence *s, const csrec_next_options *options,
                                 csrec_sampling *next, csrec_error *error) {
    const csrec_measurement frame = {.shape = s->shape, .channels = s->channels};
    const size_t entries = s->shape.dims ? (size_t)(s->shape.dim[0] * s->shape.dim[1]) : 1;
    double *density = malloc(entries * sizeof *density);
    csrec_status status = density ? csrec_sequence_density(s, options, density, error)
                                  : csrec_memory_fail(error, NULL);
    if (!status) status = csrec_where_next(&frame, density, options, next, error);
    free(density);
    return status;
}
