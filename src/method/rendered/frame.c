/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.c - a picture from few rays of a path tracer, with albedo, normal and depth, by a network
 * that was trained on synthetic scenes, or by a filter (docs/renderings.md). */
#include <math.h>
#include <string.h>

#include "measurement/each.h"
#include "method/rendered/filter.h"
#include "method/rendered/rendered.h"

int csrec_rendering_setting(const csrec_recovery *r, const char *name) {
    const csrec_param *param = csrec_param_find(csrec_method_rendered.params, name);
    return (int)csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, name, param->value);
}

int64_t csrec_rendering_planes(const csrec_measurement *m, int64_t entries, const char *kind,
                               int64_t most, const float **plane) {
    const csrec_guides *g = m->guides;
    int64_t found = 0;
    for (int64_t k = 0; g && k < g->n; k++) {
        const char *own = csrec_guide_kind(g->name[k]);
        if (strcmp(own ? own : g->name[k], kind) != 0) continue;
        if (found < most) plane[found] = g->values + k * entries;
        found++;
    }
    return found;
}

/* Of each channel its own, if there are as many, or the mean of all. */
static void take_albedo(csrec_rendering *j, int64_t first) {
    const float *plane[CSREC_GUIDES_MOST];
    const int64_t n = j->entries,
                  found = csrec_rendering_planes(j->m, n, "albedo", CSREC_GUIDES_MOST, plane);
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
static const float *take_planes(const csrec_rendering *j, const char *kind, int64_t count) {
    const float *plane[3];
    if (csrec_rendering_planes(j->m, j->entries, kind, count, plane) < count) return NULL;
    for (int64_t k = 1; k < count; k++)
        if (plane[k] != plane[0] + k * j->entries) return NULL;
    return plane[0];
}

/* AOVs that are known at samples alone are those of their rays, or of a guide named rays. */
static void take_aov_rays(csrec_rendering *j) {
    const csrec_guides *g = j->m->guides;
    const float *told = NULL;
    bool gaps = false;
    for (int64_t k = 0; g && k < g->n; k++) {
        const float *plane = g->values + k * j->entries;
        if (strcmp(g->name[k], "rays") == 0) told = plane;
        for (int64_t i = 0; i < j->entries && !gaps; i++) gaps = isnan(plane[i]);
    }
    j->samples.aov_rays = told || gaps ? j->aov_rays : NULL;
    for (int64_t i = 0; i < j->entries; i++)
        j->aov_rays[i] = !told ? CSREC_RENDERED_KNOWN : isnan(told[i]) ? 0.0f : told[i];
    for (int64_t i = 0; i < j->own->n && !told; i++)
        j->aov_rays[j->own->index[i]] = (float)csrec_rendering_rays(j->own, i);
}

/* Without a count those that its noise tells of: paths scatter by about their mean. */
double csrec_rendering_rays(const csrec_measurement *m, int64_t i) {
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
static void gather(csrec_rendering *j, int64_t first, int64_t count) {
    const csrec_measurement *m = j->m;
    const int64_t n = j->entries;
    memset(j->radiance, 0, (size_t)(3 * n) * sizeof *j->radiance);
    memset(j->rays, 0, (size_t)n * sizeof *j->rays);
    for (int64_t i = 0; i < m->n; i++) {
        j->rays[m->index[i]] = (float)csrec_rendering_rays(m, i);
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

csrec_status csrec_rendering_create(const csrec_recovery *r, int64_t height, int64_t width,
                                    csrec_rendering *j, csrec_error *error) {
    const int64_t n = height * width;
    const csrec_net_options options = {.threads = r->options->threads};
    *j = (csrec_rendering){.r = r, .height = height, .width = width, .entries = n};
    j->network = csrec_rendering_setting(r, "network") != 0;
    const csrec_prior_from from = {r->options->model, r->options->priors};
    CSREC_TRY(j->network ? csrec_rendered_create(&from, r->context, &options, height, width,
                                                 &j->net, error)
                         : CSREC_OK);
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

void csrec_rendering_clear(csrec_rendering *j) {
    csrec_rendered_clear(&j->net);
    csrec_pool_clear(&j->pool);
}

/* What the network loses or adds of the light is given back as far as rays tell it beyond doubt:
 * the factor 1 + d has the variance v, and d^2 / (d^2 + v) of d is taken. */
static double gain_of(const csrec_rendering *j, int64_t k) {
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
static void deliver(const csrec_rendering *j, int64_t first, int64_t count, double *signal,
                    double *variance) {
    const double of_squares = j->network ? 0.22 : 10.0;
    const int64_t n = j->entries, C = j->m->channels;
    for (int64_t k = first; k < first + count; k++) {
        const double gain = gain_of(j, k - first);
        for (int64_t i = 0, from = (k - first) * n; i < n; i++) {
            signal[i * C + k] = gain * (double)j->result[from + i];
            if (variance)
                variance[i * C + k] = of_squares * gain * gain * (double)j->squares[from + i];
        }
        for (int64_t i = 0; i < j->m->n && variance; i++)
            if (csrec_value_is_exact(j->m, i * C + k)) variance[j->m->index[i] * C + k] = 0.0;
    }
}

static csrec_status look(csrec_rendering *j, int64_t first, int64_t count, csrec_call *call,
                         csrec_error *error) {
    const int turns = csrec_rendering_setting(j->r, "turns"), threads = j->r->options->threads;
    csrec_status status = csrec_rendered_look(&j->net, &j->samples, count == 3 ? -1 : 0, error);
    int passes = 0;
    for (; passes < turns && !status; passes++) {
        const csrec_progress now = {"network", first * turns + passes, turns * j->m->channels,
                                    -1.0};
        const bool stop = j->sequence ? csrec_call_poll(call) : csrec_call_report(call, &now);
        if (stop && passes > 0) break;
        status = csrec_rendered_add(&j->net, passes, threads, call, j->result, j->squares, error);
    }
    if (!status) csrec_rendered_finish(&j->net, &j->samples, passes, j->result, j->squares);
    return status;
}

csrec_status csrec_rendering_run(csrec_rendering *j, const csrec_measurement *m,
                                 const csrec_measurement *own, double *signal, double *variance,
                                 csrec_call *call, csrec_error *error) {
    const int64_t C = m->channels, bytes = 3 * j->entries * (int64_t)sizeof *j->result;
    const int64_t count = C == 3 && !csrec_rendering_setting(j->r, "apart") ? 3 : 1;
    csrec_status status = CSREC_OK;
    j->m = m;
    j->own = own;
    for (int64_t c = 0; c < C && !status; c += count) {
        memset(j->result, 0, (size_t)bytes);
        memset(j->squares, 0, (size_t)bytes);
        gather(j, c, count);
        if (j->network)
            status = look(j, c, count, call, error);
        else
            csrec_filter_light(&j->samples, (int)count, j->work, j->result, j->squares);
        if (!status) deliver(j, c, count, signal, variance);
    }
    return status;
}
