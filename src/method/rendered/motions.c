/* SPDX-License-Identifier: BSD-3-Clause */
/* motions.c - where the pixels of a rendering are in the frames before it: by guides named motion,
 * or found in what is known of surfaces, or else in the frames by themselves. */
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "method/beside/flow.h"
#include "method/rendered/lights.h"

void csrec_motions_create(csrec_lights *l) {
    csrec_film *f = l->film;
    const int64_t n = f->height * f->width;
    for (int k = 0; k < CSREC_LIGHTS_WINDOW; k++) {
        CSREC_TAKE(&f->pool, l->found[k], 2 * n);
        l->found_of[k] = -1;
    }
    for (int k = 0; k < 2; k++) {
        CSREC_TAKE(&f->pool, l->picture[k], n);
        CSREC_TAKE(&f->pool, l->place[k], n);
        l->picture_of[k] = -1;
    }
    CSREC_TAKE(&f->pool, l->flow_work, csrec_flow_work(f->height, f->width));
}

/* The mean of logarithms of what is finite and above 0; 0 if nothing is. */
static double middle_of(int64_t n, const float *plane) {
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (!(plane[i] > 0.0f) || !isfinite(plane[i])) continue;
        sum += log((double)plane[i]);
        count += 1.0;
    }
    return count > 0.0 ? exp(sum / count) : 0.0;
}

/* Colours, edges and distances in one; NAN where one of these is not known. */
static double surface_at(const csrec_lights *l, const csrec_surfaces *s, int64_t i) {
    static const double of_normal[3] = {0.5, 0.3, 0.2};
    double sum = 0.0;
    for (int64_t k = 0; k < s->albedos; k++) sum += (double)s->albedo[k][i] / (double)s->albedos;
    for (int64_t k = 0; k < s->normals; k++) sum += of_normal[k] * (double)s->normal[k][i];
    if (!s->depth) return sum;
    return sum +
           (isinf(s->depth[i]) ? 1.0 : (double)s->depth[i] / ((double)s->depth[i] + l->depth));
}

/* Whether a frame's surfaces are known at all pixels. */
static bool picture_surfaces(csrec_lights *l, const csrec_surfaces *s, float *picture) {
    const int64_t n = l->film->height * l->film->width;
    if (s->albedos + s->normals == 0 && !s->depth) return false;
    if (s->depth && !(l->depth > 0.0)) l->depth = fmax(middle_of(n, s->depth), 1e-30);
    for (int64_t i = 0; i < n; i++) {
        picture[i] = (float)surface_at(l, s, i);
        if (!isfinite(picture[i])) return false;
    }
    return true;
}

/* The frame by itself, as dark and light look. */
static void picture_light(csrec_lights *l, int64_t t, float *picture) {
    const int64_t n = l->film->height * l->film->width, C = l->film->channels;
    const float *alone = l->alone[csrec_lights_slot(l, t)];
    memset(picture, 0, (size_t)n * sizeof *picture);
    if (csrec_film_at(l->film, t)->m.n == 0) return;
    for (int64_t k = 0; k < n * C; k++) picture[k % n] += fmaxf(alone[k], 0.0f) / (float)C;
    if (!(l->light > 0.0)) l->light = middle_of(n, picture);
    for (int64_t i = 0; i < n && l->light > 0.0; i++)
        picture[i] = log1pf(picture[i] / (float)l->light);
}

static void make_picture(csrec_lights *l, int64_t t) {
    float *picture = l->picture[t % 2];
    if (l->picture_of[t % 2] == t) return;
    l->picture_of[t % 2] = t;
    if (!picture_surfaces(l, &l->surfaces[csrec_lights_slot(l, t)], picture))
        picture_light(l, t, picture);
}

void csrec_motions_find(csrec_lights *l, int64_t first, int64_t last) {
    const csrec_film *f = l->film;
    for (int64_t t = first + 1; t <= last; t++) {
        const int64_t slot = csrec_lights_slot(l, t);
        if (l->found_of[slot] == t) continue;
        l->found_of[slot] = t;
        if (l->surfaces[slot].motions == 2) continue;
        make_picture(l, t - 1);
        make_picture(l, t);
        csrec_flow_find(f->height, f->width, l->picture[t % 2], l->picture[(t + 1) % 2],
                        f->r.options->threads, l->flow_work, l->found[slot]);
    }
}

void csrec_motions_follow(csrec_lights *l, int64_t late, int64_t early) {
    const int64_t height = l->film->height, width = l->film->width, n = height * width;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(csrec_threads_for(n, l->film->r.options->threads))
    for (int64_t i = 0; i < n; i++) {
        float y = (float)(i / width), x = (float)(i % width);
        for (int64_t t = late; t > early; t--) {
            const int64_t slot = csrec_lights_slot(l, t);
            const csrec_surfaces *s = &l->surfaces[slot];
            const bool told = s->motions == 2;
            const float *down = told ? s->motion[0] : l->found[slot],
                        *right = told ? s->motion[1] : l->found[slot] + n;
            const float moved = csrec_flow_between(height, width, down, y, x);
            x += csrec_flow_between(height, width, right, y, x);
            y += moved;
        }
        l->place[0][i] = y;
        l->place[1][i] = x;
    }
}
