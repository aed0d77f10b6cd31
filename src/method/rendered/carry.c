/* SPDX-License-Identifier: BSD-3-Clause */
/* carry.c - frames of renderings with the rays of the frames around them, carried along motion to
 * where the same surface is seen, as far as its light is the same (docs/renderings.md). */
#include <math.h>
#include <string.h>

#include "base/unravel.h"
#include "measurement/each.h"
#include "method/rendered/lights.h"

enum { AROUND = 3 }; /* pixels on each side */

/* Added to the albedo where light is divided by it; differences of albedo, of normals (1 - cosine)
 * and of depth (relative) that leave 1 / e; rays that are too few to be carried. */
static const double DARK = 0.04, APART = 0.2, LEAST = 1.0 / 64.0;

/* Of expected squared errors the share that is noise, and not one error of both frames; what two
 * frames may differ by, in noise (docs/renderings.md). */
static const double OF_NETWORK = 0.75, OF_FILTER = 0.1, FREE = 2.0;

/* Squared errors that are expected of a frame among others, by those of it alone, at least. */
static const double LESS = 0.8;

static void look_at_surfaces(csrec_lights *l, int64_t t) {
    const csrec_measurement *m = &csrec_film_at(l->film, t)->m;
    const int64_t n = l->film->height * l->film->width;
    csrec_surfaces *s = &l->surfaces[csrec_lights_slot(l, t)];
    *s = (csrec_surfaces){.albedos = 0};
    s->albedos = csrec_rendering_planes(m, n, "albedo", CSREC_GUIDES_MOST, s->albedo);
    s->normals = csrec_rendering_planes(m, n, "normal", 3, s->normal) == 3 ? 3 : 0;
    s->motions = csrec_rendering_planes(m, n, "motion", 2, s->motion);
    if (csrec_rendering_planes(m, n, "depth", 1, &s->depth) < 1) s->depth = NULL;
}

/* What light of a channel is divided by; 0: not known. */
static double shade_of(const csrec_surfaces *s, int64_t C, int64_t c, int64_t i) {
    double sum = 0.0;
    if (s->albedos == C) return isnan(s->albedo[c][i]) ? 0.0 : (double)s->albedo[c][i] + DARK;
    for (int64_t k = 0; k < s->albedos; k++) sum += (double)s->albedo[k][i];
    return s->albedos == 0 || isnan(sum) ? 0.0 : sum / (double)s->albedos + DARK;
}

/* What a radiance at pixel p of `from` is at pixel q of `to`. */
static double shaded(const csrec_surfaces *from, int64_t p, const csrec_surfaces *to, int64_t q,
                     int64_t C, int64_t c) {
    const double here = shade_of(to, C, c, q), there = shade_of(from, C, c, p);
    return here > 0.0 && there > 0.0 ? here / there : 1.0;
}

static double fade(double difference) {
    return isnan(difference) ? 1.0 : exp(-(difference / APART) * (difference / APART));
}

/* From 1, the same surface by all that is known of both, to 0. */
static double likeness(const csrec_surfaces *a, int64_t p, const csrec_surfaces *b, int64_t q) {
    double differs = 0.0, turned = 0.0, weight = 1.0;
    for (int64_t k = 0; k < a->albedos && a->albedos == b->albedos; k++)
        differs += fabs((double)a->albedo[k][p] - (double)b->albedo[k][q]) / (double)a->albedos;
    weight *= fade(differs);
    for (int64_t k = 0; k < a->normals && b->normals; k++) {
        const double d = (double)a->normal[k][p] - (double)b->normal[k][q];
        turned += 0.5 * d * d; /* 1 - cosine; 0 where there is no surface in either */
    }
    weight *= fade(turned);
    if (!a->depth || !b->depth || a->depth[p] == b->depth[q]) return weight;
    const double near = fmin((double)a->depth[p], (double)b->depth[q]);
    return weight * fade(fabs((double)a->depth[p] - (double)b->depth[q]) / fmax(near, 1e-30));
}

static bool is_finite(const csrec_measurement *m, int64_t i) {
    double sum = 0.0;
    for (int64_t c = 0; c < m->channels; c++) sum += m->y[i * m->channels + c];
    return isfinite(sum);
}

static void see(csrec_seen *seen, int64_t at, int64_t sample, double rays) {
    if (!(rays > LEAST)) return;
    seen->at[seen->n] = at;
    seen->sample[seen->n] = sample;
    seen->rays[seen->n++] = rays;
}

/* Pixel i of the later of frames k and t, and where it is in the earlier: p of frame k, q of t. */
static bool match(const csrec_lights *l, int64_t k, int64_t t, int64_t i, int64_t *p, int64_t *q) {
    const int64_t height = l->film->height, width = l->film->width;
    const float y = rintf(l->place[0][i]), x = rintf(l->place[1][i]);
    if (!(y >= 0.0f && x >= 0.0f && y < (float)height && x < (float)width)) return false;
    const int64_t there = (int64_t)y * width + (int64_t)x;
    *p = k > t ? i : there;
    *q = k > t ? there : i;
    return true;
}

/* Sums over windows of 2 AROUND + 1 pixels a side, of what is not negative. */
static void sum_windows(const csrec_lights *l, double *plane) {
    const int64_t height = l->film->height, width = l->film->width;
    for (int axis = 1; axis >= 0; axis--) {
        csrec_windows_sum(axis ? height : width, axis ? 1 : width, axis ? width : height, AROUND,
                          l->line, plane);
        for (int64_t i = 0; i < height * width; i++) plane[i] = fmax(plane[i], 0.0);
    }
}

enum { STEPS = 64, OCTAVES = 16 }; /* of ratios of light */

/* The mean over channels of a frame's light by itself. */
static double white(const csrec_lights *l, const float *alone, int64_t i) {
    const int64_t n = l->film->height * l->film->width, C = l->film->channels;
    double sum = 0.0;
    for (int64_t c = 0; c < C; c++) sum += (double)alone[c * n + i] / (double)C;
    return sum;
}

/* How much brighter frame t is than frame k: the median of ratios, so that lamps may change, and
 * what shadows change does not count as long as it is less than half of a frame. */
static double gain_of(const csrec_lights *l, int64_t k, int64_t t) {
    const int64_t n = l->film->height * l->film->width;
    const int64_t from = csrec_lights_slot(l, k), to = csrec_lights_slot(l, t);
    int64_t count[STEPS * OCTAVES] = {0}, all = 0, below = 0, p, q;
    for (int64_t i = 0; i < n; i++) {
        if (!match(l, k, t, i, &p, &q)) continue;
        const double factor = shaded(&l->surfaces[from], p, &l->surfaces[to], q, 1, 0);
        const double here = white(l, l->alone[to], q), there = white(l, l->alone[from], p);
        if (!(here > 0.0) || !(there > 0.0)) continue;
        const double step = STEPS * (log2(here / (factor * there)) + OCTAVES / 2);
        if (!(step >= 0.0 && step < STEPS * OCTAVES)) continue;
        count[(int64_t)step]++;
        all++;
    }
    if (all == 0) return 1.0;
    int64_t i = 0;
    while (2 * (below + count[i]) < all) below += count[i++];
    const double within = (0.5 * (double)all - (double)below) / (double)count[i];
    return exp2(((double)i + within) / STEPS - OCTAVES / 2);
}

/* Sums of frames k and t by themselves, where they show the same. */
static void compare(csrec_lights *l, int64_t k, int64_t t) {
    const int64_t n = l->film->height * l->film->width, C = l->film->channels;
    const int64_t from = csrec_lights_slot(l, k), to = csrec_lights_slot(l, t);
    const csrec_surfaces *s = &l->surfaces[from], *own = &l->surfaces[to];
    const float *a = l->alone[to], *b = l->alone[from];
    double *const sums[] = {l->differs, l->expected, l->others};
    int64_t p, q;
    for (int j = 0; j < 3; j++) memset(sums[j], 0, (size_t)n * sizeof *sums[j]);
    for (int64_t i = 0; i < n; i++) {
        if (!match(l, k, t, i, &p, &q)) continue;
        const double alike = likeness(s, p, own, q);
        double factors = 0.0;
        for (int64_t c = 0; c < C; c++) {
            const double factor = l->gain[from] * shaded(s, p, own, q, C, c);
            const double off = (double)a[c * n + q] - factor * (double)b[c * n + p];
            l->differs[q] += alike * off * off;
            factors += factor * factor / (double)C;
        }
        l->others[q] += alike * factors * (double)b[C * n + p];
        l->expected[q] += alike * (factors * (double)b[C * n + p] + (double)a[C * n + q]);
    }
    for (int j = 0; j < 3; j++) sum_windows(l, sums[j]);
}

/* What is not explained of the difference is an error d that all rays of the other frame have in
 * common: n rays whose mean has the variance v are worth n / (1 + d^2 / v). */
static double trust_at(const csrec_lights *l, int64_t q) {
    const double share = l->rendering.network ? OF_NETWORK : OF_FILTER;
    const double off = l->differs[q] - FREE * share * l->expected[q];
    const double v = share * fmin(l->others[q], l->expected[q] - l->others[q]);
    return off > 0.0 ? 1.0 / (1.0 + off / fmax(v, 1e-300)) : 1.0;
}

/* Those of frame k in frame t, as many rays as they are worth. */
static void see_other(csrec_lights *l, int64_t k, int64_t t) {
    const int64_t n = l->film->height * l->film->width;
    const csrec_measurement *m = &csrec_film_at(l->film, k)->m;
    const csrec_surfaces *own = &l->surfaces[csrec_lights_slot(l, t)],
                         *other = &l->surfaces[csrec_lights_slot(l, k)];
    const bool told = csrec_film_at(l->film, t)->m.n > 0;
    int64_t p, q;
    l->seen.n = 0;
    if (m->n == 0) return;
    csrec_motions_follow(l, k > t ? k : t, k > t ? t : k);
    l->gain[csrec_lights_slot(l, k)] = told ? gain_of(l, k, t) : 1.0;
    if (told) compare(l, k, t);
    memset(l->sample, 0, (size_t)n * sizeof *l->sample);
    for (int64_t i = 0; i < m->n; i++)
        if (is_finite(m, i)) l->sample[m->index[i]] = i + 1;
    for (int64_t i = 0; i < n; i++) {
        if (!match(l, k, t, i, &p, &q) || !l->sample[p]) continue;
        const double rays = fmin(csrec_rendering_rays(m, l->sample[p] - 1), CSREC_RENDERED_KNOWN);
        see(&l->seen, q, l->sample[p] - 1,
            rays * likeness(other, p, own, q) * (told ? trust_at(l, q) : 1.0));
    }
}

/* Adds what is seen of frame k to the sums. Pixels that are exact stay. */
static void add(csrec_lights *l, int64_t k, int64_t t) {
    const csrec_measurement *m = &csrec_film_at(l->film, k)->m;
    const csrec_surfaces *from = &l->surfaces[csrec_lights_slot(l, k)],
                         *to = &l->surfaces[csrec_lights_slot(l, t)];
    const int64_t C = m->channels;
    for (int64_t j = 0; j < l->seen.n; j++) {
        const int64_t q = l->seen.at[j], i = l->seen.sample[j], p = m->index[i];
        const double rays = l->seen.rays[j];
        if (l->total[q] >= CSREC_RENDERED_EXACT) continue;
        l->total[q] += rays;
        for (int64_t c = 0; c < C; c++) {
            const double factor =
                k == t ? 1.0 : l->gain[csrec_lights_slot(l, k)] * shaded(from, p, to, q, C, c);
            const double noise = rays * factor * csrec_noise_told(m, i, c);
            l->all.y[q * C + c] += rays * factor * m->y[i * C + c];
            l->all.deviation[q * C + c] += noise * noise;
        }
    }
}

/* Means of the sums, one after another, for the pixels that have rays. */
static void divide(csrec_lights *l) {
    csrec_measurement *all = &l->all;
    const int64_t C = all->channels;
    all->n = 0;
    for (int64_t i = 0; i < l->film->height * l->film->width; i++) {
        if (!(l->total[i] > 0.0)) continue;
        const double rays = l->total[i];
        for (int64_t c = 0; c < C; c++) {
            all->y[all->n * C + c] = all->y[i * C + c] / rays;
            all->deviation[all->n * C + c] = sqrt(all->deviation[i * C + c]) / rays;
        }
        all->rays[all->n] = rays;
        all->index[all->n++] = i;
    }
}

/* What a frame is by its own rays. */
static csrec_status recover_alone(csrec_lights *l, int64_t k, csrec_call *call,
                                  csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(l->film, k)->m;
    const int64_t n = l->film->height * l->film->width, C = m->channels;
    const int64_t slot = csrec_lights_slot(l, k);
    float *alone = l->alone[slot];
    if (l->alone_of[slot] == k || m->n == 0) return CSREC_OK;
    CSREC_TRY(csrec_rendering_run(&l->rendering, m, m, l->all.y, l->all.deviation, call, error));
    l->alone_of[slot] = k;
    memset(alone + C * n, 0, (size_t)n * sizeof *alone);
    for (int64_t i = 0; i < n * C; i++) {
        alone[i % C * n + i / C] = (float)l->all.y[i];
        alone[C * n + i / C] += (float)l->all.deviation[i];
    }
    return CSREC_OK;
}

static csrec_status gather(csrec_lights *l, int64_t t, csrec_call *call, csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(l->film, t)->m;
    const int64_t n = l->film->height * l->film->width, C = m->channels;
    int64_t window[2];
    csrec_film_window(l->film, t, window);
    for (int64_t k = window[0]; k < window[1]; k++) look_at_surfaces(l, k);
    for (int64_t k = window[0]; k < window[1]; k++) CSREC_TRY(recover_alone(l, k, call, error));
    csrec_motions_find(l, window[0], window[1] - 1);
    memset(l->total, 0, (size_t)n * sizeof *l->total);
    memset(l->all.y, 0, (size_t)(n * C) * sizeof *l->all.y);
    memset(l->all.deviation, 0, (size_t)(n * C) * sizeof *l->all.deviation);
    l->seen.n = 0;
    for (int64_t i = 0; i < m->n; i++)
        if (is_finite(m, i)) see(&l->seen, m->index[i], i, csrec_rendering_rays(m, i));
    add(l, t, t);
    for (int64_t k = window[0]; k < window[1]; k++) {
        if (k == t) continue;
        see_other(l, k, t);
        add(l, k, t);
    }
    divide(l);
    l->all.shape = m->shape;
    l->all.guides = m->guides;
    return CSREC_OK;
}

/* The network takes the rays of other frames for as good as own ones; what they do not show is
 * left. So frames together are not expected to err less than by LESS of what the frame by itself
 * does. */
static void expect(const csrec_lights *l, int64_t t, double *variance) {
    const int64_t n = l->film->height * l->film->width, C = l->film->channels;
    const float *alone = l->alone[csrec_lights_slot(l, t)];
    if (csrec_film_at(l->film, t)->m.n == 0) return;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t c = 0; c < C; c++) sum += variance[i * C + c];
        const double factor = sum > 0.0 ? LESS * (double)alone[C * n + i] / sum : 1.0;
        for (int64_t c = 0; c < C && factor > 1.0; c++) variance[i * C + c] *= factor;
    }
}

/* A csrec_film_frame_fn. */
static csrec_status take(csrec_film *f, int64_t t, double *signal, double *variance,
                         csrec_call *call, csrec_error *error) {
    csrec_lights *l = f->own;
    const csrec_measurement *m = &csrec_film_at(f, t)->m, *all = f->reach > 0 ? &l->all : m;
    csrec_status status = f->reach > 0 ? gather(l, t, call, error) : CSREC_OK;
    for (int64_t i = 0; i < f->height * f->width * f->channels && !status && all->n == 0; i++)
        signal[i] = NAN; /* nothing is known of it */
    if (status || all->n == 0) return status;
    status = csrec_rendering_run(&l->rendering, all, m, signal, variance, call, error);
    if (!status && variance && f->reach > 0) expect(l, t, variance);
    return status;
}

static void clear(void *own) {
    csrec_lights *l = own;
    csrec_rendering_clear(&l->rendering);
}

static void take_memory(csrec_lights *l) {
    csrec_film *f = l->film;
    const int64_t n = f->height * f->width;
    for (int k = 0; k < CSREC_LIGHTS_WINDOW; k++) {
        CSREC_TAKE(&f->pool, l->alone[k], n * (f->channels + 1));
        l->alone_of[k] = -1;
    }
    CSREC_TAKE(&f->pool, l->differs, n);
    CSREC_TAKE(&f->pool, l->expected, n);
    CSREC_TAKE(&f->pool, l->others, n);
    CSREC_TAKE(&f->pool, l->line, f->height > f->width ? f->height : f->width);
    CSREC_TAKE(&f->pool, l->sample, n);
    CSREC_TAKE(&f->pool, l->seen.at, n);
    CSREC_TAKE(&f->pool, l->seen.sample, n);
    CSREC_TAKE(&f->pool, l->seen.rays, n);
    CSREC_TAKE(&f->pool, l->total, n);
    CSREC_TAKE(&f->pool, l->all.index, n);
    CSREC_TAKE(&f->pool, l->all.rays, n);
    CSREC_TAKE(&f->pool, l->all.y, n * f->channels);
    CSREC_TAKE(&f->pool, l->all.deviation, n * f->channels);
    csrec_motions_create(l);
}

csrec_status csrec_rendered_film(const csrec_recovery *r, bool guides, csrec_film *f,
                                 csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    (void)guides;
    *f = (csrec_film){.r = *r, .channels = m->channels, .other = take};
    f->r.measurement = NULL;
    f->height = m->shape.dim[1];
    f->width = m->shape.dim[2];
    f->reach = csrec_rendering_setting(r, "motion") ? CSREC_LIGHTS_REACH : 0;
    csrec_lights *l;
    CSREC_ZEROS(&f->pool, l, 1);
    if (!l) return csrec_fail(error, CSREC_MEMORY, "out of memory for frames");
    f->own = l;
    f->other_clear = clear;
    l->film = f;
    l->all.channels = m->channels;
    csrec_status status = csrec_rendering_create(&f->r, f->height, f->width, &l->rendering, error);
    l->rendering.sequence = true;
    if (status || f->reach == 0) return status;
    take_memory(l);
    if (!f->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for frames of %lld x %lld",
                      (long long)f->height, (long long)f->width);
}
