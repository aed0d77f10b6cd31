/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.c - recovery of renderings from few rays of a path tracer, with albedo, normal and
 * depth, by a network that was trained on synthetic scenes (docs/renderings.md). */
#include "learn/net/rendered.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "method/method.h"
#include "method/rendered/filter.h"

static const csrec_param params[] = {
    {"turns", 1, 1, 8, "passes over the picture, flipped and turned, whose results are averaged"},
    {"network", 1, 0, 1, "0: light is filtered along surfaces, without the learned prior"},
    {"apart", 0, 0, 1, "1: red, green and blue each by itself, in three times the time"},
    {0}};

static int setting(const csrec_recovery *r, int param) {
    return (int)csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, params[param].name,
                                    params[param].value);
}

typedef struct job {
    const csrec_recovery *r;
    const csrec_measurement *m;
    bool network;
    csrec_rendered net;
    float *work;                    /* without it */
    csrec_rendered_samples samples; /* of three channels, or of one in the place of the first */
    int64_t entries;
    float *radiance, *deviation, *albedo; /* [3][entries] */
    float *rays, *aov_rays;
    float *result, *squares; /* [3][entries] */
    csrec_pool pool;
    csrec_call call;
} job;

/* ------------------------------------------------------------------ guides -------------------- */

/* The first `most` planes of a kind, plane [most]; how many there are. */
static int64_t find_planes(const job *j, const char *kind, int64_t most, const float **plane) {
    const csrec_guides *g = j->m->guides;
    int64_t found = 0;
    for (int64_t k = 0; g && k < g->n; k++) {
        const char *own = csrec_guide_kind(g->name[k]);
        if (!own || strcmp(own, kind) != 0) continue;
        if (found < most) plane[found] = g->values + k * j->entries;
        found++;
    }
    return found;
}

/* Of each channel its own, if there are as many, or the mean of all. */
static void take_albedo(job *j, int64_t first) {
    const float *plane[CSREC_GUIDES_MOST];
    const int64_t n = j->entries, found = find_planes(j, "albedo", CSREC_GUIDES_MOST, plane);
    j->samples.albedo = found ? j->albedo : NULL;
    for (int64_t k = 0; k < 3 && found; k++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (int64_t p = 0; p < found; p++) sum += (double)plane[p][i];
            const int64_t own = first + k < found ? first + k : first;
            j->albedo[k * n + i] =
                found == j->m->channels ? plane[own][i] : (float)(sum / (double)found);
        }
}

/* Planes that are one after the other, or NULL. */
static const float *take_planes(const job *j, const char *kind, int64_t count) {
    const float *plane[3];
    if (find_planes(j, kind, count, plane) < count) return NULL;
    for (int64_t k = 1; k < count; k++)
        if (plane[k] != plane[0] + k * j->entries) return NULL;
    return plane[0];
}

/* AOVs that are known at samples alone are those of their rays, or of a guide named rays. */
static void take_aov_rays(job *j) {
    const csrec_guides *g = j->m->guides;
    const float *told = NULL;
    bool gaps = false;
    for (int64_t k = 0; g && k < g->n; k++) {
        const float *plane = g->values + k * j->entries;
        if (strcmp(g->name[k], "rays") == 0) told = plane;
        for (int64_t i = 0; i < j->entries && !gaps; i++) gaps = isnan(plane[i]);
    }
    j->samples.aov_rays = told || gaps ? j->aov_rays : NULL;
    for (int64_t i = 0; i < j->entries; i++) {
        const float own = told ? told[i] : j->rays[i] > 0.0f ? j->rays[i] : CSREC_RENDERED_KNOWN;
        j->aov_rays[i] = isnan(own) ? 0.0f : own;
    }
}

/* ------------------------------------------------------------------ samples ------------------- */

/* Without a count those that its noise tells of: paths scatter by about their mean. */
static double rays_of(const csrec_measurement *m, int64_t i) {
    double light = 0.0, noise = 0.0;
    bool exact = true;
    for (int64_t c = 0; c < m->channels; c++) {
        const double own = csrec_noise_told(m, i, c);
        exact = exact && own == 0.0;
        light += fabs(m->y[i * m->channels + c]);
        noise += own;
    }
    if (exact) return CSREC_RENDERED_EXACT;
    const double rays = m->rays ? m->rays[i] : isnan(noise) ? 1.0 : pow(light / noise, 2.0);
    return fmin(fmax(rays, 1.0), CSREC_RENDERED_KNOWN);
}

/* Of `count` channels, 1 or 3, from `first` on. */
static void gather(job *j, int64_t first, int64_t count) {
    const csrec_measurement *m = j->m;
    const int64_t n = j->entries;
    memset(j->radiance, 0, (size_t)(3 * n) * sizeof *j->radiance);
    memset(j->rays, 0, (size_t)n * sizeof *j->rays);
    for (int64_t i = 0; i < m->n; i++) {
        j->rays[m->index[i]] = (float)rays_of(m, i);
        for (int64_t k = 0; k < count; k++) {
            j->radiance[k * n + m->index[i]] = (float)m->y[i * m->channels + first + k];
            j->deviation[k * n + m->index[i]] = (float)csrec_noise_told(m, i, first + k);
        }
    }
    take_albedo(j, first);
    j->samples.normal = take_planes(j, "normal", 3);
    j->samples.depth = take_planes(j, "depth", 1);
    take_aov_rays(j);
}

/* ------------------------------------------------------------------ passes -------------------- */

static csrec_status open(job *j, csrec_error *error) {
    const csrec_recovery *r = j->r;
    const int64_t height = j->m->shape.dim[0], width = j->m->shape.dim[1], n = height * width;
    const csrec_net_options options = {.threads = r->options->threads};
    j->network = setting(r, 1) != 0;
    csrec_status status = j->network
                              ? csrec_rendered_create(r->options->model, r->context, &options,
                                                      height, width, &j->net, error)
                              : CSREC_OK;
    if (status) return status;
    j->entries = n;
    if (!j->network) CSREC_TAKE(&j->pool, j->work, csrec_filter_work(height, width));
    CSREC_TAKE(&j->pool, j->radiance, 3 * n);
    CSREC_TAKE(&j->pool, j->deviation, 3 * n);
    CSREC_TAKE(&j->pool, j->albedo, 3 * n);
    CSREC_TAKE(&j->pool, j->rays, n);
    CSREC_TAKE(&j->pool, j->aov_rays, n);
    CSREC_TAKE(&j->pool, j->result, 3 * n);
    CSREC_TAKE(&j->pool, j->squares, 3 * n);
    j->samples = (csrec_rendered_samples){.height = height,
                                          .width = width,
                                          .radiance = j->radiance,
                                          .rays = j->rays,
                                          .deviation = j->deviation,
                                          .threads = r->options->threads};
    if (!j->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for a rendering of %lld x %lld",
                      (long long)height, (long long)width);
}

/* What the network loses or adds of the light is given back as far as rays tell it beyond doubt:
 * the factor 1 + d has the variance v, and d^2 / (d^2 + v) of d is taken. */
static double gain_of(const job *j, int64_t k) {
    const float *x = j->result + k * j->entries, *y = j->radiance + k * j->entries;
    double made = 0.0, missed = 0.0, squares = 0.0;
    for (int64_t i = 0; i < j->entries; i++) {
        if (!(j->rays[i] > 0.0f) || j->rays[i] >= CSREC_RENDERED_EXACT) continue;
        const double rays = (double)j->rays[i], off = (double)y[i] - (double)x[i];
        made += rays * (double)x[i];
        missed += rays * off;
        squares += rays * rays * off * off;
    }
    if (!(made > 0.0) || missed == 0.0) return 1.0;
    const double d = missed / made, v = squares / (made * made);
    return 1.0 + d * (d * d / (d * d + v));
}

/* What light misses is, at the brightest pixels, about half of what the network expects; the filter
 * expects noise alone and misses three times that (docs/renderings.md). */
static void deliver(const job *j, int64_t first, int64_t count) {
    const double of_squares = j->network ? 0.22 : 10.0;
    const int64_t n = j->entries, C = j->m->channels;
    double *variance = j->r->variance;
    for (int64_t k = first; k < first + count; k++) {
        const double gain = gain_of(j, k - first);
        for (int64_t i = 0, from = (k - first) * n; i < n; i++) {
            j->r->signal[i * C + k] = gain * (double)j->result[from + i];
            if (variance)
                variance[i * C + k] = of_squares * gain * gain * (double)j->squares[from + i];
        }
        for (int64_t i = 0; i < j->m->n && variance; i++)
            if (csrec_value_is_exact(j->m, i * C + k)) variance[j->m->index[i] * C + k] = 0.0;
    }
}

static csrec_status recover_channels(job *j, int64_t first, int64_t count, csrec_error *error) {
    const int turns = setting(j->r, 0);
    memset(j->result, 0, (size_t)(3 * j->entries) * sizeof *j->result);
    memset(j->squares, 0, (size_t)(3 * j->entries) * sizeof *j->squares);
    gather(j, first, count);
    if (!j->network) {
        csrec_filter_light(&j->samples, (int)count, j->work, j->result, j->squares);
        deliver(j, first, count);
        return CSREC_OK;
    }
    csrec_status status = csrec_rendered_look(&j->net, &j->samples, count == 3 ? -1 : 0, error);
    int passes = 0;
    for (; passes < turns && !status; passes++) {
        const csrec_progress now = {"network", first * turns + passes, turns * j->m->channels,
                                    -1.0};
        if (csrec_call_report(&j->call, &now) && passes > 0) break;
        status = csrec_rendered_add(&j->net, passes, j->r->options->threads, &j->call, j->result,
                                    j->squares, error);
    }
    if (status) return status;
    csrec_rendered_finish(&j->net, &j->samples, passes, j->result, j->squares);
    deliver(j, first, count);
    return CSREC_OK;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    const double began = csrec_seconds();
    job j = {.r = r, .m = r->measurement};
    const int64_t C = j.m->channels, count = C == 3 && !setting(r, 2) ? 3 : 1;
    csrec_call_begin(&j.call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"network", 0, 1, -1.0});
    csrec_status status = open(&j, error);
    for (int64_t c = 0; c < C && !status; c += count)
        status = recover_channels(&j, c, count, error);
    if (!status) csrec_samples_restore(j.m, r->signal);
    r->report->outcome = csrec_call_stopped(&j.call) ? CSREC_INTERRUPTED : CSREC_DONE;
    r->report->pursuits = 1;
    r->report->seconds_pursuit = csrec_seconds() - began;
    csrec_call_end(&j.call);
    csrec_rendered_clear(&j.net);
    csrec_pool_clear(&j.pool);
    return status;
}

/* ------------------------------------------------------------------ the table row ------------- */

static bool suits(const csrec_measurement *m) {
    const int64_t most = INT64_C(1) << 30;
    bool lit = m->rays; /* or else by noise and colours of surfaces */
    for (int64_t k = 0; m->deviation && m->guides && k < m->guides->n && !lit; k++)
        lit = csrec_guide_is_albedo(m->guides->name[k]);
    return lit && m->shape.dims == 2 && m->shape.dim[0] <= most &&
           m->shape.dim[1] <= most / m->shape.dim[0] && m->channels <= 4096;
}

/* Seconds a pixel of a pass, one thread. */
static const double PASS = 3.6e-6;

static csrec_need need_of(const csrec_task *task) {
    const double pixels = (double)task->entries, planes = 20.0 + 8.0 + 25.0, tile = 320.0;
    const bool together = task->channels == 3 && csrec_task_param(task, &params[2]) == 0.0;
    const double runs = together ? 1.0 : (double)task->channels;
    const double seconds = runs * csrec_task_param(task, &params[0]) * PASS * pixels;
    return (csrec_need){.bytes = csrec_signal_bytes(task) + 1.3e8 + 4.0 * planes * pixels +
                                 fmin(tile * pixels, 0x1p30),
                        .seconds = 0.2 + csrec_task_share(task, seconds, 1 << 20)};
}

static bool device_faster(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

static const csrec_setting cheap_settings[] = {{"turns", 1}, {"apart", 0}, {0}};

const csrec_method_type csrec_method_rendered = {
    .info = {.name = "rendered",
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
    .beside = true,
    .graded = true,
    .need = need_of,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
