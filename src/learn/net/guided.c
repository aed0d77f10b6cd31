/* SPDX-License-Identifier: BSD-3-Clause */
/* guided.c - a fit of samples by guides, local where there are enough samples for it. */
#include "learn/net/guided.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/pyramid.h"

enum { REACH = 4, MOST = CSREC_GUIDED_MOST + 2, PAIRS = MOST * (MOST + 1) / 2 };

static const double SPREAD = 1.2, RIDGE = 0.1, LEAST = 1e-4, FEW = 5.0, MORE = 10.0;
static const double PI = 3.14159265358979323846;

/* Planes 1, guides, z; sums of the product of two of them. */
static int pair_of(int count, int i, int j) {
    return i * count - i * (i - 1) / 2 + j - i;
}

/* A level of the pyramid. */
typedef struct level {
    int64_t height, width;
    int guides, pairs, threads;
    float *sums;   /* [pairs][height][width] */
    float *across; /* the same, spread along lines */
    float *own;    /* [guides + 1][height][width] coefficients */
    float *rest;   /* of the work */
} level;

static int pairs_of(int guides) {
    return (guides + 2) * (guides + 3) / 2;
}

int64_t csrec_guided_work(int64_t height, int64_t width, int guides) {
    const int64_t planes = 2 * pairs_of(guides) + guides + 1;
    int64_t floats = 0;
    do {
        height = csrec_pyramid_half(height);
        width = csrec_pyramid_half(width);
        floats += planes * height * width;
    } while (height > 1 || width > 1);
    return floats;
}

static level level_of(int64_t height, int64_t width, int guides, int threads, float *work) {
    const int64_t cells = height * width;
    level l = {.height = height, .width = width, .guides = guides, .pairs = pairs_of(guides)};
    l.threads = csrec_threads_for(cells * l.pairs, threads);
    l.sums = work;
    l.across = work + l.pairs * cells;
    l.own = work + 2 * l.pairs * cells;
    l.rest = l.own + (guides + 1) * cells;
    return l;
}

/* Along the lines of all planes, 0 beyond their ends. */
static void spread_lines(const level *l, const float weight[2 * REACH + 1]) {
    const int64_t width = l->width;
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t line = 0; line < l->pairs * l->height; line++) {
        const float *from = l->sums + line * width;
        float *to = l->across + line * width;
        memset(to, 0, (size_t)width * sizeof *to);
        for (int k = -REACH; k <= REACH; k++) {
            const int64_t first = k < 0 ? -k : 0, end = k > 0 ? width - k : width;
            for (int64_t x = first; x < end; x++) to[x] += weight[k + REACH] * from[x + k];
        }
    }
}

/* Of line y, spread from line to line: [pairs][width]. */
static void spread_line(const level *l, int64_t y, const float weight[2 * REACH + 1], float *to) {
    const int64_t width = l->width;
    memset(to, 0, (size_t)(l->pairs * width) * sizeof *to);
    for (int p = 0; p < l->pairs; p++)
        for (int k = -REACH; k <= REACH; k++) {
            if (y + k < 0 || y + k >= l->height) continue;
            const float *from = l->across + (p * l->height + y + k) * width;
            for (int64_t x = 0; x < width; x++) to[p * width + x] += weight[k + REACH] * from[x];
        }
}

/* Products at the samples, summed over 2 x 2: level 1. */
static void sum_products(const level *l, int64_t height, int64_t width, const float *guide,
                         const float *z, const float *weight) {
    const int64_t cells = l->height * l->width;
    const int count = l->guides + 2;
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t row = 0; row < l->height; row++) {
        for (int p = 0; p < l->pairs; p++)
            memset(l->sums + p * cells + row * l->width, 0, (size_t)l->width * sizeof *l->sums);
        for (int64_t i = 2 * row * width; i < (2 * row + 2) * width && i < height * width; i++) {
            float value[MOST] = {1.0f}, *to = l->sums + row * l->width + i % width / 2;
            if (weight[i] == 0.0f) continue;
            for (int g = 0; g < l->guides; g++) value[g + 1] = guide[g * height * width + i];
            value[count - 1] = z[i];
            for (int a = 0, p = 0; a < count; a++)
                for (int b = a; b < count; b++, p++) to[p * cells] += value[a] * value[b];
        }
    }
}

/* C a = b of so many unknowns, C symmetric and definite; a takes the place of b. */
static void solve(int n, double C[MOST][MOST], double b[MOST]) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const double factor = C[j][i] / C[i][i];
            for (int k = i; k < n; k++) C[j][k] -= factor * C[i][k];
            b[j] -= factor * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= C[i][k] * b[k];
        b[i] /= C[i][i];
    }
}

/* Coefficients of one cell from its sums [pairs], `step` apart; returns the samples around it. */
static double solve_cell(const level *l, const float *sums, int64_t step, bool whole,
                         double a[MOST]) {
    const int G = l->guides, count = G + 2;
    const double weight = fmax((double)sums[0], 1e-12);
    const double n = (double)sums[0] * (whole ? 1.0 : 4.0 * PI * SPREAD * SPREAD);
    double C[MOST][MOST], mean[MOST] = {0};
    for (int i = 0; i <= G; i++) mean[i] = (double)sums[(i + 1) * step] / weight;
    for (int i = 0; i < G; i++) {
        for (int j = i; j <= G; j++) {
            const double both = (double)sums[pair_of(count, i + 1, j + 1) * step] / weight;
            C[i][j] = C[j][i] = both - mean[i] * mean[j];
        }
        a[i] = C[i][G];
        C[i][i] += RIDGE / fmax(n, 1e-3) + LEAST;
    }
    solve(G, C, a);
    a[G] = mean[G];
    for (int i = 0; i < G; i++) a[G] -= a[i] * mean[i];
    return n;
}

/* What line y of a level of these extents has from the next one, between its cells. */
static void interpolate_line(int64_t height, int64_t width, int64_t y, const float *coarse,
                             float *to) {
    const int64_t across = csrec_pyramid_half(width);
    int64_t row[2];
    float down;
    csrec_pyramid_place(y, height, row, &down);
    const float *above = coarse + row[0] * across, *below = coarse + row[1] * across;
    for (int64_t x = 0; x < width; x++) to[x] = csrec_pyramid_between(above, below, down, x, width);
}

/* coarse: coefficients of the next level; NULL at the top. line: [pairs][width] of work. */
static void solve_line(const level *l, int64_t y, const float *coarse, float *line) {
    const int64_t cells = l->height * l->width;
    const int64_t half = csrec_pyramid_half(l->height) * csrec_pyramid_half(l->width);
    for (int i = 0; i <= l->guides && coarse; i++)
        interpolate_line(l->height, l->width, y, coarse + i * half,
                         l->own + i * cells + y * l->width);
    for (int64_t x = 0; x < l->width; x++) {
        double a[MOST];
        const double n = solve_cell(l, line + x, l->width, !coarse, a);
        const double share = coarse ? fmin(fmax((n - FEW) / MORE, 0.0), 1.0) : 1.0;
        for (int i = 0; i <= l->guides; i++) {
            float *own = l->own + i * cells + y * l->width + x;
            *own = (float)(share < 1.0 ? share * a[i] + (1.0 - share) * (double)*own : a[i]);
        }
    }
}

/* Coefficients of a level from its sums. Sums along lines are over when lines are solved, so that
 * each thread takes those of its lines in the place of the sums. */
static void solve_level(const level *l) {
    float weight[2 * REACH + 1];
    const int64_t cells = l->height * l->width;
    const bool whole = cells == 1;
    level next = {0};
    if (whole) {
        solve_line(l, 0, NULL, l->sums);
        return;
    }
    next = level_of(csrec_pyramid_half(l->height), csrec_pyramid_half(l->width), l->guides,
                    l->threads, l->rest);
    for (int p = 0; p < l->pairs; p++)
        csrec_pyramid_pull(l->height, l->width, l->threads, l->sums + p * cells,
                           next.sums + p * next.height * next.width);
    solve_level(&next);
    double sum = 0.0, w[2 * REACH + 1];
    for (int k = -REACH; k <= REACH; k++) {
        w[k + REACH] = exp(-0.5 * k * k / (SPREAD * SPREAD));
        sum += w[k + REACH];
    }
    for (int k = 0; k <= 2 * REACH; k++) weight[k] = (float)(w[k] / sum);
    spread_lines(l, weight);
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t y = 0; y < l->height; y++) {
        float *line = l->sums + y * l->pairs * l->width;
        spread_line(l, y, weight, line);
        solve_line(l, y, next.own, line);
    }
}

static void find_range(int64_t count, const float *z, float range[2]) {
    float low = z[0], high = z[0];
    for (int64_t i = 1; i < count; i++) {
        low = z[i] < low ? z[i] : low;
        high = z[i] > high ? z[i] : high;
    }
    range[0] = low - 0.5f * (high - low);
    range[1] = high + 0.5f * (high - low);
}

void csrec_guided_fit(int64_t height, int64_t width, int guides, const float *guide, const float *z,
                      const float *weight, int threads, float *work, float *fit) {
    const int64_t count = height * width;
    float range[2];
    if (count == 1) {
        fit[0] = z[0];
        return;
    }
    level l = level_of(csrec_pyramid_half(height), csrec_pyramid_half(width), guides,
                       csrec_threads(threads), work);
    const int64_t cells = l.height * l.width;
    sum_products(&l, height, width, guide, z, weight);
    solve_level(&l);
    find_range(count, z, range);
    threads = csrec_threads_for(count * (guides + 1), threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < height; y++) {
        float *to = fit + y * width, *line = l.sums + y / 2 * l.pairs * l.width;
        line += y % 2 * width; /* two lines of the picture have the room of one of the level */
        interpolate_line(height, width, y, l.own + guides * cells, to);
        for (int i = 0; i < guides; i++) {
            const float *g = guide + i * count + y * width;
            interpolate_line(height, width, y, l.own + i * cells, line);
            for (int64_t x = 0; x < width; x++) to[x] += line[x] * g[x];
        }
        for (int64_t x = 0; x < width; x++) to[x] = fminf(fmaxf(to[x], range[0]), range[1]);
    }
}
