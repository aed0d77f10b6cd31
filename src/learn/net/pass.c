/* SPDX-License-Identifier: BSD-3-Clause */
/* pass.c - passes of a learned prior's network over a picture. */
#include "learn/net/pass.h"
#include "learn/net/pyramid.h"

#include "base/threads.h"

csrec_status csrec_pass_room(const csrec_pool *pool, int64_t height, int64_t width,
                             csrec_error *error) {
    if (!pool->lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for a picture of %lld x %lld",
                      (long long)height, (long long)width);
}

void csrec_turn_planes(const csrec_turn *t, int64_t count, const float *planes, int64_t height,
                       int64_t width, int threads, float *turned) {
    const int64_t n = t->rows * t->columns, rows = csrec_turned_rows(t),
                  columns = csrec_turned_columns(t);
    threads = csrec_threads_for(height * width * count, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < count * height; line++) {
        const int64_t r = csrec_prior_reflect(line % height, rows);
        const float *from = planes + line / height * n;
        float *to = turned + line * width;
        for (int64_t c = 0; c < columns; c++) to[c] = from[csrec_turn_source(t, r, c)];
        for (int64_t c = columns; c < width; c++) to[c] = to[csrec_prior_reflect(c, columns)];
    }
}

static csrec_status open_network(csrec_prior_pass *p, const csrec_prior_from *from,
                                 int64_t channels, int64_t prior, const csrec_context *context,
                                 const csrec_net_options *options, csrec_error *error) {
    CSREC_TRY(csrec_prior_begin(from, prior, &p->use, error));
    p->channels = csrec_prior_channels(p->use.model);
    if (p->channels != 1 && p->channels != channels)
        return csrec_fail(
            error, CSREC_DATA,
            "model: array 'channels': is for pictures of %d channels, but the samples "
            "have %lld; use a model for %lld%s",
            p->channels, (long long)channels, (long long)channels, channels > 1 ? " or for 1" : "");
    csrec_status status = csrec_prior_start(&p->use, 2 * p->channels + 2, context, options, error);
    p->net = p->use.net;
    if (!status) csrec_net_info(p->net, NULL, &p->multiple, NULL);
    return status;
}

csrec_status csrec_prior_pass_create(const csrec_prior_from *from, int64_t channels, int64_t prior,
                                     const csrec_context *context, const csrec_net_options *options,
                                     int64_t height, int64_t width, csrec_prior_pass *p,
                                     csrec_error *error) {
    *p = (csrec_prior_pass){.height = height, .width = width};
    CSREC_TRY(open_network(p, from, channels, prior, context, options, error));
    size_t n = (size_t)(height * width), own = (size_t)p->channels;
    size_t plane =
        (size_t)(csrec_prior_padded(height, p->multiple) * csrec_prior_padded(width, p->multiple));
    CSREC_TAKE(&p->pool, p->turned, own * n);
    CSREC_TAKE(&p->pool, p->known, n);
    CSREC_TAKE(&p->pool, p->work, csrec_pyramid_work(height, width));
    CSREC_TAKE(&p->pool, p->planes, (2 * own + 2) * plane);
    CSREC_TAKE(&p->pool, p->out, 2 * own * plane);
    return csrec_pass_room(&p->pool, height, width, error);
}

void csrec_prior_pass_clear(csrec_prior_pass *p) {
    csrec_prior_end(&p->use);
    csrec_pool_clear(&p->pool);
}

static void turn_samples(csrec_prior_pass *p, const csrec_turn *t, csrec_prior_samples *s) {
    const int64_t n = p->height * p->width;
    s->height = csrec_turned_rows(t);
    s->width = csrec_turned_columns(t);
    const int threads = csrec_threads_for(n, s->threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t r = 0; r < s->height; r++)
        for (int64_t c = 0; c < s->width; c++) {
            int64_t from = csrec_turn_source(t, r, c), at = r * s->width + c;
            p->known[at] = s->known[from];
            for (int k = 0; k < p->channels; k++) p->turned[k * n + at] = s->values[k * n + from];
        }
    s->values = p->turned;
    s->known = p->known;
}

/* Line r of channel k. A pass that was stopped has the planes that it was given. */
static void add_line(const csrec_prior_pass *p, const csrec_turn *t, const csrec_prior_samples *s,
                     const csrec_prior_frame *frame, int64_t r, int k, bool stopped, float *result,
                     float *squares) {
    const int64_t plane = frame->height * frame->width, line = r * frame->width;
    const float *F = p->planes + k * plane + line, *D = p->out + k * plane + line;
    const float *logs = D + p->channels * plane;
    const int64_t first = k * p->height * p->width + csrec_turn_source(t, r, 0);
    const int64_t step = csrec_turn_source(t, r, 1) - csrec_turn_source(t, r, 0);
    for (int64_t c = 0; c < s->width; c++) {
        const int64_t to = first + c * step;
        const float z = stopped ? F[c] : F[c] + D[c];
        result[to] += (float)(frame->mean[k] + frame->unit * (double)z);
        if (!squares) continue;
        squares[to] += csrec_prior_square(frame->unit, logs[c]);
    }
}

csrec_status csrec_prior_pass_add(csrec_prior_pass *p, const csrec_prior_samples *samples, int turn,
                                  csrec_call *call, float *result, float *squares,
                                  csrec_error *error) {
    const csrec_turn t = {turn, p->width, 0, 0, p->height, p->width};
    csrec_prior_samples s = *samples;
    csrec_prior_frame frame;
    if (turn) turn_samples(p, &t, &s);
    csrec_prior_planes(&s, p->multiple, p->work, p->planes, &frame);
    CSREC_TRY(csrec_net_run(p->net, frame.height, frame.width, p->planes, p->out, 0, call, error));
    const bool stopped = csrec_call_stopped(call);
    const int threads = csrec_threads_for(s.height * s.width, s.threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t r = 0; r < s.height; r++)
        for (int k = 0; k < p->channels; k++)
            add_line(p, &t, &s, &frame, r, k, stopped, result, squares);
    return CSREC_OK;
}

static int64_t room(const void *of, int64_t rows, int64_t columns) {
    const csrec_prior_part *p = of;
    return p->samples->channels * rows * columns + csrec_pyramid_work(rows, columns);
}

static void make_part(const void *of, const csrec_turn *t, const uint8_t *shown, uint64_t key,
                      float *work, float *X, float *target) {
    (void)key;
    const csrec_prior_part *p = of;
    const int64_t n = t->rows * t->columns, count = p->samples->height * p->samples->width;
    csrec_prior_samples s = *p->samples;
    csrec_prior_frame frame;
    s.height = csrec_turned_rows(t);
    s.width = csrec_turned_columns(t);
    s.values = work;
    s.known = shown;
    for (int k = 0; k < s.channels; k++)
        for (int64_t i = 0; i < n; i++)
            work[k * n + i] =
                p->samples->values[k * count + csrec_turn_source(t, i / s.width, i % s.width)];
    csrec_prior_planes(&s, p->multiple, work + s.channels * n, X, &frame);
    for (int k = 0; k < s.channels; k++)
        for (int64_t i = 0; i < n; i++)
            target[(k * frame.height + i / s.width) * frame.width + i % s.width] =
                (float)(((double)work[k * n + i] - frame.mean[k]) / frame.unit);
}

csrec_fit_source csrec_prior_source(const csrec_prior_part *part) {
    const csrec_prior_samples *s = part->samples;
    return (csrec_fit_source){.of = part,
                              .height = s->height,
                              .width = s->width,
                              .known = s->known,
                              .channels = s->channels,
                              .takes = 2 * s->channels + 2,
                              .makes = 2 * s->channels,
                              .room = room,
                              .make = make_part};
}
