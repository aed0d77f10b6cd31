/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.c - recovery of pictures with guides and of frames of a sequence (docs/beside.md). */
#include "method/beside/beside.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "measurement/channels.h"
#include "measurement/each.h"
#include "measurement/guides.h"

static const csrec_param params[] = {
    {"turns", 1, 1, 8, "passes over a frame, flipped and turned, whose results are averaged"},
    {"network", 1, 0, 1, "0: the fit by the guides alone, without the learned prior"},
    {"vote", 1, 0, 1,
     "1: averaged with the frame by itself, weighed by the errors of both at samples left out"},
    {"steps", 0, 0, 1000000,
     "steps that fit the network further to the samples; each frame of a sequence has an eighth"},
    {"motion", 1, 0, 1, "1: samples of other frames are carried to where the frame shows the same"},
    {0}};

/* The samples of each frame of a sequence, in their order. */
typedef struct frames {
    const csrec_measurement *m;
    int64_t n;      /* frames */
    int64_t *first; /* [n + 1] of their samples */
    int64_t *index;
    double *y;
    csrec_measurement each; /* rays and deviations, where there are such */
    csrec_film *film;
    csrec_pool pool;
} frames;

static csrec_status split(const csrec_measurement *m, frames *f, csrec_error *error) {
    const int64_t area = m->shape.dim[1] * m->shape.dim[2], C = m->channels;
    int64_t *next;
    *f = (frames){.m = m, .n = m->shape.dim[0]};
    CSREC_ZEROS(&f->pool, f->first, f->n + 1);
    CSREC_TAKE(&f->pool, next, f->n + 1);
    CSREC_TAKE(&f->pool, f->index, m->n);
    CSREC_TAKE(&f->pool, f->y, m->n * C);
    csrec_each_take(&f->pool, m, m->n, &f->each);
    f->each.y = f->y;
    if (f->pool.lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < m->n; i++) f->first[m->index[i] / area + 1]++;
    for (int64_t t = 0; t < f->n; t++) f->first[t + 1] += f->first[t];
    memcpy(next, f->first, (size_t)(f->n + 1) * sizeof *next);
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t to = next[m->index[i] / area]++;
        f->index[to] = m->index[i] % area;
        csrec_sample_copy(m, i, &f->each, to);
    }
    return CSREC_OK;
}

/* Frame t, whose guides are owned. CSREC_MEMORY. */
static csrec_status frame_at(const frames *f, int64_t t, csrec_measurement *frame,
                             csrec_error *error) {
    const csrec_measurement *m = f->m;
    const int64_t at[3] = {t, 0, 0};
    const csrec_shape slice = {3, {1, m->shape.dim[1], m->shape.dim[2]}};
    *frame = *m;
    frame->shape = (csrec_shape){2, {m->shape.dim[1], m->shape.dim[2]}};
    frame->sequence = false;
    frame->pattern = CSREC_PATTERN_NONE;
    frame->n = f->first[t + 1] - f->first[t];
    frame->index = f->index + f->first[t];
    frame->y = f->y + f->first[t] * m->channels;
    if (m->rays) frame->rays = f->each.rays + f->first[t];
    if (m->deviation) frame->deviation = f->each.deviation + f->first[t] * m->channels;
    if (m->guides) frame->guides = csrec_guides_crop(m->guides, &m->shape, at, &slice);
    if (m->guides && !frame->guides)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for guides");
    return csrec_film_prepare(f->film, frame, error);
}

static csrec_status take_all(csrec_film *film, const csrec_recovery *r, csrec_call *call,
                             csrec_error *error) {
    const int64_t values = film->height * film->width * film->channels;
    csrec_status status = CSREC_OK;
    while (csrec_film_ready(film) && !status) {
        const int64_t t = film->taken;
        const csrec_progress now = {
            "frames", t, r->measurement->shape.dims == 3 ? r->measurement->shape.dim[0] : 1, -1.0};
        csrec_call_report(call, &now);
        status = csrec_film_take(film, r->signal + t * values,
                                 r->variance ? r->variance + t * values : NULL, call, error);
    }
    return status;
}

static csrec_status run_sequence(const csrec_recovery *r, csrec_film *film, csrec_call *call,
                                 csrec_error *error) {
    frames f;
    csrec_status status = split(r->measurement, &f, error);
    f.film = film;
    csrec_guides *held[CSREC_BESIDE_FRAMES] = {0}; /* of the frames of the window */
    const int64_t window = 2 * film->reach + 1;
    for (int64_t t = 0; t < f.n && !status; t++) {
        csrec_measurement frame;
        status = frame_at(&f, t, &frame, error);
        if (status) break;
        csrec_guides_destroy(held[t % window]);
        held[t % window] = frame.guides;
        csrec_film_push(film, &frame, false);
        film->ended = t == f.n - 1;
        status = take_all(film, r, call, error);
    }
    if (!status)
        r->report->remark =
            csrec_film_remark(f.n * film->height * film->width * film->channels, r->signal);
    for (int k = 0; k < CSREC_BESIDE_FRAMES; k++) csrec_guides_destroy(held[k]);
    csrec_pool_clear(&f.pool);
    return status;
}

csrec_status csrec_film_run(const csrec_recovery *r, csrec_film_fn begin, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const double began = csrec_seconds();
    csrec_call call;
    csrec_film film;
    csrec_call_begin(&call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"frames", 0, 1, -1.0});
    csrec_status status = begin(r, m->guides || !csrec_measurement_even(m), &film, error);
    if (!status && m->shape.dims == 3) status = run_sequence(r, &film, &call, error);
    if (!status && m->shape.dims == 2) {
        csrec_film_push(&film, m, false);
        film.ended = true;
        status = take_all(&film, r, &call, error);
    }
    r->report->outcome = csrec_call_stopped(&call) ? CSREC_INTERRUPTED : CSREC_DONE;
    r->report->iterations += film.fitted;
    csrec_call_end(&call);
    csrec_film_clear(&film);
    r->report->pursuits = 1;
    r->report->seconds_pursuit = csrec_seconds() - began;
    return status;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    return csrec_film_run(r, csrec_film_create, error);
}

static bool suits(const csrec_measurement *m) {
    const int64_t most = INT64_C(1) << 30, axis = m->shape.dims - 2;
    if (m->through || m->is_complex || m->channels > 4096) return false;
    if (m->sequence ? m->shape.dims != 3 : m->shape.dims != 2) return false;
    if (m->shape.dim[axis] > most || m->shape.dim[axis + 1] > most / m->shape.dim[axis])
        return false;
    return m->sequence || m->guides || csrec_measurement_has_bands(m);
}

/* Seconds a pixel of a pass and of the fit, one thread. With the vote there are four ways, two of
 * them of a picture by itself; of a sequence those of samples left out in every second frame. */
static const double PASS = 3.6e-6, FIT = 6e-7, WAYS = 4.0, WAYS_OF_FRAMES = 3.0, MOTION = 8e-7;

/* Bytes of motion: frames by themselves, and planes of half the extents. */
static double bytes_of_motion(double area, double channels) {
    return area * (7.0 * (8.0 * channels + 0.75 * 4.0) + 20.0 + 17.0);
}

/* Of the frames' fit, whose parts have planes of guides and of other frames, too. */
static csrec_need need_of_fit(const csrec_task *task, double area) {
    const double parts = 4.0 * 120.0, part = fmin(area, CSREC_FIT_SIDE * CSREC_FIT_SIDE);
    const bool network = csrec_task_param(task, &params[1]) != 0.0;
    const double steps = (double)csrec_film_steps(network ? csrec_task_param(task, &params[3]) : 0,
                                                  task->shape.dims == 3);
    const double count = (double)task->entries / area, channels = (double)task->channels;
    double seconds = count * channels * steps * csrec_fit_seconds(area, 0.0);
    if (task->options->seconds > 0.0) seconds = fmin(seconds, task->options->seconds);
    return (csrec_need){.bytes = steps > 0.0 ? csrec_fit_bytes(area, 0.0) + parts * part : 0.0,
                        .seconds = seconds};
}

static csrec_need need_of(const csrec_task *task) {
    const bool network = csrec_task_param(task, &params[1]) != 0.0;
    const double pixels = (double)task->entries, count = (double)task->shape.dim[0];
    const double area = task->shape.dims == 3 ? pixels / count : pixels;
    const double planes = network ? 4.0 * 2.0 * 40.0 + 320.0 : 4.0 * 16.0, weights = 1.3e8;
    const bool votes = csrec_task_param(task, &params[2]) != 0.0;
    const double ways = !votes ? 1.0 : task->shape.dims == 3 ? WAYS_OF_FRAMES : WAYS;
    const bool moves = task->shape.dims == 3 && csrec_task_param(task, &params[4]) != 0.0;
    const double each = ways * ((network ? csrec_task_param(task, &params[0]) * PASS : 0.0) + FIT) +
                        (moves ? MOTION : 0.0);
    const double channels = (double)task->channels;
    const csrec_need fit = need_of_fit(task, area);
    const double seconds = pixels * channels * each + fit.seconds;
    return (csrec_need){.bytes = csrec_signal_bytes(task) + area * (planes + 4.0 * 80.0) +
                                 (network ? weights * (1.0 + votes) : 0.0) + fit.bytes +
                                 (moves ? bytes_of_motion(area, channels) : 0.0) +
                                 16.0 * (double)task->n * (1.0 + channels),
                        .seconds = 0.2 + csrec_task_share(task, seconds, 1 << 20)};
}

/* Frames are in order, and each is in memory as a whole. */
static bool has_parts(const csrec_task *task) {
    return task->shape.dims == 2;
}

static bool device_faster(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

static const csrec_setting cheap_settings[] = {
    {"turns", 1}, {"steps", 0}, {"vote", 0}, {"motion", 0}, {0}};

const csrec_method_type csrec_method_beside = {
    .info = {.name = "beside",
             .topic = "guides and frames",
             .brief = "guides, and frames before and after: a local fit, and a network trained on "
                      "synthetic scenes",
             .source = "docs/beside.md",
             .model = "beside",
             .accepts = CSREC_ACCEPTS(MODEL) | CSREC_ACCEPTS(SECONDS),
             .predicts_error = true,
             .device = "the network"},
    .params = params,
    .cheap_settings = cheap_settings,
    .suits = suits,
    .wants = "a picture with guides, or a sequence",
    .film = csrec_film_create,
    .need = need_of,
    .parts = has_parts,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
