/* SPDX-License-Identifier: BSD-3-Clause */
/* mask_samples.c - patterns of samples: uniform, jitter, clustered, Poisson-disc. */
#include <string.h>

#include "learn/net/mask.h"

static size_t pixels(const csrec_mask_plan *p) {
    return (size_t)p->size * (size_t)p->size;
}

float csrec_mask_share_draw(csrec_mask_draws *d) {
    bool usual = csrec_mask_chance(d, 0.8f);
    return usual ? csrec_mask_scale(d, 0.03f, 0.6f) : csrec_mask_scale(d, 0.01f, 1);
}

void csrec_mask_known_uniform(csrec_mask_plan *plan, float share) {
    for (size_t i = 0; i < pixels(plan); i++)
        plan->known[i] = csrec_mask_chance(&plan->draws, share);
}

/* One pixel in each of cells x cells boxes, which are at least a pixel. */
void csrec_mask_known_jitter(csrec_mask_plan *plan, float share) {
    int size = plan->size, cells = (int)(sqrtf(share) * (float)size + 0.5f);
    if (cells < 1) cells = 1;
    if (cells > size) cells = size;
    memset(plan->known, 0, pixels(plan));
    for (int j = 0; j < cells; j++)
        for (int i = 0; i < cells; i++) {
            int left = i * size / cells, right = (i + 1) * size / cells;
            int top = j * size / cells, low = (j + 1) * size / cells;
            int x = csrec_mask_count(&plan->draws, left, right - 1);
            int y = csrec_mask_count(&plan->draws, top, low - 1);
            plan->known[(size_t)y * (size_t)size + (size_t)x] = 1;
        }
}

enum { KNOTS_MAX = 24 };

/* A density through knots of exp(spread normal) of mean 1, bilinear between them. */
void csrec_mask_known_clustered(csrec_mask_plan *plan, float share) {
    float knot[KNOTS_MAX + 1][KNOTS_MAX + 1], sum = 0;
    csrec_mask_draws *d = &plan->draws;
    int knots = csrec_mask_count(d, 3, KNOTS_MAX);
    float spread = csrec_mask_between(d, 0.7f, 2);
    for (int j = 0; j <= knots; j++)
        for (int i = 0; i <= knots; i++) sum += knot[j][i] = expf(spread * csrec_mask_normal(d));
    float factor = share * (float)((knots + 1) * (knots + 1)) / sum;
    for (int y = 0; y < plan->size; y++) {
        float v = (float)(y * knots) / (float)plan->size;
        int j = (int)v;
        v -= (float)j;
        for (int x = 0; x < plan->size; x++) {
            float u = (float)(x * knots) / (float)plan->size;
            int i = (int)u;
            u -= (float)i;
            float top = knot[j][i] + (knot[j][i + 1] - knot[j][i]) * u;
            float low = knot[j + 1][i] + (knot[j + 1][i + 1] - knot[j + 1][i]) * u;
            float density = factor * (top + (low - top) * v);
            plan->known[(size_t)y * (size_t)plan->size + (size_t)x] = csrec_mask_chance(d, density);
        }
    }
}

/* Half the width, less a half, of each row of pixels nearer than sqrt(squared) to one. */
static int disc_rows(int squared, int *half) {
    int reach = 0;
    while ((reach + 1) * (reach + 1) < squared) reach++;
    for (int y = 0; y <= reach; y++) {
        int x = 0;
        while ((x + 1) * (x + 1) + y * y < squared) x++;
        half[y] = x;
    }
    return reach;
}

static void disc_block(csrec_mask_plan *plan, int at, int reach, const int *half) {
    int size = plan->size, x = at % size, y = at / size;
    for (int dy = -reach; dy <= reach; dy++) {
        if (y + dy < 0 || y + dy >= size) continue;
        int wide = half[dy < 0 ? -dy : dy];
        int first = x - wide < 0 ? 0 : x - wide, last = x + wide >= size ? size - 1 : x + wide;
        memset(plan->blocked + (size_t)(y + dy) * (size_t)size + first, 1,
               (size_t)(last - first + 1));
    }
}

/* All pixels in random order (Fisher and Yates). */
static void order_draw(csrec_mask_plan *plan) {
    int n = plan->size * plan->size;
    for (int i = 0; i < n; i++) {
        int j = csrec_mask_below(&plan->draws, i + 1);
        if (j < i) plan->order[i] = plan->order[j];
        plan->order[j] = (uint32_t)i;
    }
}

/* Whether two pixels can be at this squared distance. */
static bool is_distance(int squared) {
    for (int y = 0; y * y <= squared; y++) {
        int x = (int)sqrtf((float)(squared - y * y) + 0.5f);
        if (x * x + y * y == squared) return true;
    }
    return false;
}

static int next_radius(int squared) {
    squared -= squared / 20 > 1 ? squared / 20 : 1;
    while (!is_distance(squared)) squared--;
    return squared;
}

/* Darts at the pixels of the list in its random order. It keeps those that were blocked, in order:
 * at a smaller radius some of them are free. Returns the hits, at most `wanted`. */
static int darts_throw(csrec_mask_plan *plan, int squared, int wanted, int *n) {
    int half[CSREC_MASK_SIZE_MAX + 1], hits = 0, kept = 0;
    int reach = disc_rows(squared, half);
    memset(plan->blocked, 0, (size_t)plan->size * (size_t)plan->size);
    for (int i = 0; i < plan->size * plan->size; i++)
        if (plan->known[i]) disc_block(plan, i, reach, half);
    for (int i = 0; i < *n; i++) {
        int at = (int)plan->order[i];
        bool is_free = !plan->blocked[at] && hits < wanted;
        if (!is_free) {
            plan->order[kept++] = plan->order[i];
            continue;
        }
        plan->known[at] = 1;
        disc_block(plan, at, reach, half);
        hits++;
    }
    *n = kept;
    return hits;
}

/* As src/sampling/poisson.c: from a radius at which darts fill slightly fewer places than
 * wanted, to smaller ones until the count is met. Without Bridson's steps before the darts, which
 * spare time for large pictures only. */
int csrec_mask_known_poisson(csrec_mask_plan *plan, float share) {
    int n = plan->size * plan->size, wanted = (int)(share * (float)n + 0.5f);
    if (wanted < 1) wanted = 1;
    int squared = (int)ceilf(0.75f * (float)n / (float)wanted), list = n;
    while (!is_distance(squared)) squared++;
    memset(plan->known, 0, (size_t)n);
    order_draw(plan);
    wanted -= darts_throw(plan, squared, wanted, &list);
    while (wanted > 0) {
        squared = next_radius(squared);
        wanted -= darts_throw(plan, squared, wanted, &list);
    }
    return squared;
}
