/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.c - method rendered: its settings, a picture by itself, and its row of the table. */
#include "method/rendered/rendered.h"

#include <math.h>

#include "base/clock.h"

static const csrec_param params[] = {
    {"turns", 1, 1, 8, "passes over the picture, flipped and turned, whose results are averaged"},
    {"network", 1, 0, 1, "0: light is filtered along surfaces, without the learned prior"},
    {"apart", 0, 0, 1, "1: red, green and blue each by itself, in three times the time"},
    {"motion", 1, 0, 1, "1: rays of other frames are carried to where the frame shows the same"},
    {0}};

static csrec_status run_picture(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const double began = csrec_seconds();
    csrec_rendering rendering;
    csrec_call call;
    csrec_call_begin(&call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"network", 0, 1, -1.0});
    csrec_status status =
        csrec_rendering_create(r, m->shape.dim[0], m->shape.dim[1], &rendering, error);
    if (!status)
        status = csrec_rendering_run(&rendering, m, m, r->signal, r->variance, &call, error);
    if (!status) csrec_samples_restore(m, r->signal);
    r->report->outcome = csrec_call_stopped(&call) ? CSREC_INTERRUPTED : CSREC_DONE;
    r->report->pursuits = 1;
    r->report->seconds_pursuit = csrec_seconds() - began;
    csrec_call_end(&call);
    csrec_rendering_clear(&rendering);
    return status;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    return r->measurement->sequence ? csrec_film_run(r, csrec_rendered_film, error)
                                    : run_picture(r, error);
}

static bool suits(const csrec_measurement *m) {
    const int64_t most = INT64_C(1) << 30;
    bool lit = m->rays; /* or else by noise and colours of surfaces */
    for (int64_t k = 0; m->deviation && m->guides && k < m->guides->n && !lit; k++)
        lit = csrec_guide_is_albedo(m->guides->name[k]);
    const int axis = m->shape.dims - 2;
    return lit && m->shape.dims == (m->sequence ? 3 : 2) && m->shape.dim[axis] <= most &&
           m->shape.dim[axis + 1] <= most / m->shape.dim[axis] && m->channels <= 4096;
}

/* Seconds a pixel of a pass, and of what carries the rays of other frames, one thread. */
static const double PASS = 3.6e-6, CARRY = 2.5e-6;

/* Bytes a pixel of a film: motion and pictures, frames by themselves, sums and samples. */
static double film_bytes(double channels) {
    return 7.0 * (8.0 + 4.0 * (channels + 1.0)) + 16.0 + 24.0 + 32.0 + 24.0 + 16.0 * channels;
}

static csrec_need need_of(const csrec_task *task) {
    const bool sequence = task->shape.dims == 3, together = task->channels == 3;
    const bool moves = sequence && csrec_task_param(task, &params[3]) != 0.0;
    const double planes = 20.0 + 8.0 + 25.0, tile = 320.0, channels = (double)task->channels;
    const double entries = (double)task->entries,
                 pixels = sequence ? entries / (double)task->shape.dim[0] : entries;
    const double runs = together && csrec_task_param(task, &params[2]) == 0.0 ? 1.0 : channels;
    const double pass = runs * csrec_task_param(task, &params[0]) * PASS;
    const double seconds = (moves ? 2.0 * pass + CARRY : pass) * entries;
    return (csrec_need){.bytes = csrec_signal_bytes(task) + 1.3e8 + 4.0 * planes * pixels +
                                 fmin(tile * pixels, 0x1p30) +
                                 (moves ? film_bytes(channels) * pixels : 0.0),
                        .seconds = 0.2 + csrec_task_share(task, seconds, 1 << 20)};
}

static bool device_faster(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

static const csrec_setting cheap_settings[] = {{"turns", 1}, {"apart", 0}, {0}};

const csrec_method_type csrec_method_rendered = {
    .info = {.name = "rendered",
             .topic = "guides and frames",
             .brief = "renderings of few rays, with albedo, normal and depth: a network trained on "
                      "synthetic scenes",
             .source = "docs/renderings.md",
             .model = "rendered",
             .accepts = CSREC_ACCEPTS(MODEL),
             .predicts_error = true,
             .device = "the network"},
    .params = params,
    .cheap_settings = cheap_settings,
    .suits = suits,
    .wants = "a picture of samples with numbers of rays, or with noise and albedo",
    .film = csrec_rendered_film,
    .graded = true,
    .need = need_of,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
