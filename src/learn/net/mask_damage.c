/* SPDX-License-Identifier: BSD-3-Clause */
/* mask_damage.c - what removes known pixels: lines, holes, scratches. */
#include <string.h>

#include "learn/net/mask.h"

/* Makes row `line` unknown, or column `line`. */
static void line_remove(csrec_mask_plan *p, bool column, int line) {
    size_t size = (size_t)p->size, at = (size_t)line;
    if (!column) {
        memset(p->known + at * size, 0, size);
        return;
    }
    for (size_t y = 0; y < size; y++) p->known[y * size + at] = 0;
}

/* Only every step-th line stays, 2 to 8, as scanners that skip lines leave them. */
static void lines_skip(csrec_mask_plan *p, bool column) {
    int step = csrec_mask_count(&p->draws, 2, 8), first = csrec_mask_below(&p->draws, step);
    for (int line = 0; line < p->size; line++)
        if (line % step != first) line_remove(p, column, line);
}

/* About 2 to 50 % of the lines, single or in runs of up to 8. */
static void lines_drop(csrec_mask_plan *p, bool column) {
    csrec_mask_draws *d = &p->draws;
    int longest = csrec_mask_chance(d, 0.5f) ? 1 : csrec_mask_count(d, 2, 8);
    float share = csrec_mask_scale(d, 0.02f, 0.5f);
    float start = share / (0.5f * (float)(1 + longest));  /* a line begins a run */
    line_remove(p, column, csrec_mask_below(d, p->size)); /* one in any case */
    for (int line = 0; line < p->size; line++) {
        if (!csrec_mask_chance(d, start)) continue;
        int end = line + csrec_mask_count(d, 1, longest);
        for (; line < end && line < p->size; line++) line_remove(p, column, line);
    }
}

void csrec_mask_lines_remove(csrec_mask_plan *plan) {
    csrec_mask_draws *d = &plan->draws;
    int which = csrec_mask_count(d, 1, 3); /* rows, columns, both */
    if (which == 3 && csrec_mask_chance(d, 0.6f)) which = 1;
    for (int column = 0; column < 2; column++) {
        if (!(which >> column & 1)) continue;
        if (csrec_mask_chance(d, 0.4f))
            lines_skip(plan, column);
        else
            lines_drop(plan, column);
    }
}

typedef struct {
    int left, top, width, height;
    bool round;
} hole;

static bool is_apart(const hole *a, const hole *b) {
    return a->left > b->left + b->width || b->left > a->left + a->width ||
           a->top > b->top + b->height || b->top > a->top + a->height;
}

static void hole_remove(csrec_mask_plan *p, const hole *h) {
    float rx = 0.5f * (float)h->width, ry = 0.5f * (float)h->height;
    for (int y = h->top < 0 ? 0 : h->top; y < h->top + h->height && y < p->size; y++)
        for (int x = h->left < 0 ? 0 : h->left; x < h->left + h->width && x < p->size; x++) {
            float u = ((float)(x - h->left) + 0.5f - rx) / rx;
            float v = ((float)(y - h->top) + 0.5f - ry) / ry;
            if (!h->round || u * u + v * v < 1) p->known[y * p->size + x] = 0;
        }
}

enum { HOLES = 12, TRIES = 40 };

/* Small ones and large ones as often. */
static int width_draw(csrec_mask_draws *d, int size) {
    float most = fminf(CSREC_MASK_HOLE, 0.6f * (float)size) + 0.99f;
    return (int)(csrec_mask_chance(d, 0.5f) ? csrec_mask_scale(d, 2, most)
                                            : csrec_mask_between(d, 2, most));
}

static hole hole_draw(csrec_mask_draws *d, int size) {
    hole h = {.width = width_draw(d, size), .round = csrec_mask_chance(d, 0.5f)};
    h.height = csrec_mask_chance(d, 0.6f) ? width_draw(d, size) : h.width;
    h.left = csrec_mask_count(d, -h.width / 2, size - 1 - h.width / 2);
    h.top = csrec_mask_count(d, -h.height / 2, size - 1 - h.height / 2);
    return h;
}

/* Discs, ellipses and boxes of 2 to 40 pixels, one pixel or more apart. */
void csrec_mask_holes_remove(csrec_mask_plan *plan) {
    hole held[HOLES];
    int wanted = csrec_mask_count(&plan->draws, 1, HOLES), n = 0;
    for (int tries = 0; tries < TRIES && n < wanted; tries++) {
        held[n] = hole_draw(&plan->draws, plan->size);
        bool apart = true;
        for (int k = 0; k < n; k++) apart = apart && is_apart(&held[k], &held[n]);
        if (apart) hole_remove(plan, &held[n++]);
    }
}

static void dot_remove(csrec_mask_plan *p, float x, float y, float radius) {
    int reach = (int)radius + 1, cx = (int)x, cy = (int)y;
    for (int j = cy - reach; j <= cy + reach; j++)
        for (int i = cx - reach; i <= cx + reach; i++) {
            float u = (float)i + 0.5f - x, v = (float)j + 0.5f - y;
            if (i < 0 || j < 0 || i >= p->size || j >= p->size) continue;
            if (u * u + v * v < radius * radius) p->known[j * p->size + i] = 0;
        }
}

/* A walk of half a pixel a step that turns slowly, 1 to 4 pixels wide, until it leaves or ends. */
static void scratch_remove(csrec_mask_plan *p) {
    csrec_mask_draws *d = &p->draws;
    float size = (float)p->size, x = csrec_mask_uniform(d) * size, y = csrec_mask_uniform(d) * size;
    float angle = 6.2831853f * csrec_mask_uniform(d), radius = csrec_mask_between(d, 0.72f, 2);
    float turn = 0, wild = csrec_mask_scale(d, 0.001f, 0.02f);
    int steps = (int)(csrec_mask_scale(d, 0.2f, 3) * size);
    for (int k = 0; k < steps && x >= 0 && y >= 0 && x < size && y < size; k++) {
        dot_remove(p, x, y, radius);
        if (k % 8 == 0) turn = 0.9f * turn + wild * csrec_mask_normal(d);
        angle += turn;
        x += 0.5f * cosf(angle);
        y += 0.5f * sinf(angle);
    }
}

void csrec_mask_scratches_remove(csrec_mask_plan *plan) {
    for (int k = csrec_mask_count(&plan->draws, 1, 10); k > 0; k--) scratch_remove(plan);
}
