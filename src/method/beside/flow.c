/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.c - motion between two pictures, by least squares in windows, from coarse to fine. */
#include "method/beside/flow.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"

/* RADIUS of windows; WARPS: steps of each size; the smallest size has sides of LEAST and more. */
enum { RADIUS = 10, WARPS = 3, LEAST = 12, SIZES = 32, COLUMNS = 64 };

/* Planes of products: of the slopes down and right with each other, of both with what a step
 * misses, and the flow. */
enum { DOWN_DOWN, RIGHT_RIGHT, DOWN_RIGHT, DOWN_REST, RIGHT_REST, DOWN, RIGHT, PRODUCTS };

/* Draws to the mean of the window: this times the variance of the picture, at least of this much of
 * that at full size. */
static const double RIDGE = 0.02, LEAST_VARIANCE = 1e-4;

typedef struct size {
    int64_t height, width;
    const float *from, *to;
    float *flow; /* [2][height][width] */
} size;

typedef struct job {
    size size[SIZES];
    int n, threads;
    float *seen;          /* `to`, moved */
    float *sums, *across; /* [PRODUCTS][height][width]: in windows; along lines */
    double variance;
} job;

static int64_t half(int64_t extent) {
    return (extent + 1) / 2;
}

static int64_t at_most(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Whether a size has one of half its sides. */
static int halves(int64_t height, int64_t width) {
    return height >= 2 * LEAST && width >= 2 * LEAST;
}

int64_t csrec_flow_work(int64_t height, int64_t width) {
    int64_t floats = (1 + 2 * PRODUCTS) * height * width;
    while (halves(height, width)) {
        height = half(height);
        width = half(width);
        floats += 4 * height * width;
    }
    return floats;
}

void csrec_flow_halve(int64_t height, int64_t width, const float *from, float *to) {
    for (int64_t y = 0; y < half(height); y++)
        for (int64_t x = 0; x < half(width); x++) {
            const float *above = from + 2 * y * width,
                        *below = from + at_most(2 * y + 1, height - 1) * width;
            const int64_t right = at_most(2 * x + 1, width - 1);
            to[y * half(width) + x] =
                0.25f * (above[2 * x] + above[right] + below[2 * x] + below[right]);
        }
}

float csrec_flow_between(int64_t height, int64_t width, const float *plane, float y, float x) {
    y = fminf(fmaxf(y, 0.0f), (float)(height - 1));
    x = fminf(fmaxf(x, 0.0f), (float)(width - 1));
    const int64_t row = (int64_t)y, column = (int64_t)x;
    const float *above = plane + row * width, *below = above + (row + 1 < height ? width : 0);
    const int64_t next = column + (column + 1 < width);
    const float right = x - (float)column, down = y - (float)row;
    const float first = above[column] + right * (above[next] - above[column]);
    const float second = below[column] + right * (below[next] - below[column]);
    return first + down * (second - first);
}

/* Means along a line, 0 beyond its ends. */
static void sum_line(int64_t width, const float *from, float *to) {
    double sum = 0.0;
    for (int64_t x = 0; x < at_most(RADIUS, width); x++) sum += (double)from[x];
    for (int64_t x = 0; x < width; x++) {
        if (x + RADIUS < width) sum += (double)from[x + RADIUS];
        if (x > RADIUS) sum -= (double)from[x - RADIUS - 1];
        to[x] = (float)(sum / (2 * RADIUS + 1));
    }
}

/* The same down some columns of a plane. */
static void sum_columns(int64_t height, int64_t width, int64_t first, const float *from,
                        float *to) {
    const int64_t count = at_most(COLUMNS, width - first);
    double sum[COLUMNS] = {0.0};
    for (int64_t y = -RADIUS; y < height; y++) {
        for (int64_t i = 0; i < count && y + RADIUS < height; i++)
            sum[i] += (double)from[(y + RADIUS) * width + first + i];
        for (int64_t i = 0; i < count && y > RADIUS; i++)
            sum[i] -= (double)from[(y - RADIUS - 1) * width + first + i];
        for (int64_t i = 0; i < count && y >= 0; i++)
            to[y * width + first + i] = (float)(sum[i] / (2 * RADIUS + 1));
    }
}

static void sum_windows(const job *j, const size *s) {
    const int64_t n = s->height * s->width, parts = (s->width + COLUMNS - 1) / COLUMNS;
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t line = 0; line < PRODUCTS * s->height; line++)
        sum_line(s->width, j->sums + line * s->width, j->across + line * s->width);
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t i = 0; i < PRODUCTS * parts; i++)
        sum_columns(s->height, s->width, i % parts * COLUMNS, j->across + i / parts * n,
                    j->sums + i / parts * n);
}

static void move_line(const job *j, const size *s, int64_t y) {
    const float *down = s->flow + y * s->width, *right = down + s->height * s->width;
    for (int64_t x = 0; x < s->width; x++)
        j->seen[y * s->width + x] =
            csrec_flow_between(s->height, s->width, s->to, (float)y + down[x], (float)x + right[x]);
}

/* Slope of a plane between entry i - 1 and i + 1, which are `step` apart; one-sided at the ends. */
static float slope(const float *at, int64_t i, int64_t extent, int64_t step) {
    if (extent == 1) return 0.0f;
    if (i == 0) return at[step] - at[0];
    if (i == extent - 1) return at[0] - at[-step];
    return 0.5f * (at[step] - at[-step]);
}

/* What is missed is linear in the flow: the products of the rest at flow 0. */
static void multiply_line(const job *j, const size *s, int64_t y) {
    const int64_t n = s->height * s->width;
    for (int64_t x = 0; x < s->width; x++) {
        const int64_t i = y * s->width + x;
        const float down = slope(j->seen + i, y, s->height, s->width),
                    right = slope(j->seen + i, x, s->width, 1);
        const float *flow = s->flow + i;
        const float rest = s->from[i] - j->seen[i] + down * flow[0] + right * flow[n];
        const float product[PRODUCTS] = {down * down,  right * right, down * right, down * rest,
                                         right * rest, flow[0],       flow[n]};
        for (int p = 0; p < PRODUCTS; p++) j->sums[p * n + i] = product[p];
    }
}

static void solve_line(const job *j, const size *s, int64_t y, float ridge) {
    const int64_t n = s->height * s->width;
    const float most = 0.5f * (float)(s->height > s->width ? s->height : s->width);
    for (int64_t i = y * s->width; i < (y + 1) * s->width; i++) {
        const float *sum = j->sums + i;
        const float a = sum[DOWN_DOWN * n] + ridge, b = sum[RIGHT_RIGHT * n] + ridge,
                    c = sum[DOWN_RIGHT * n];
        const float e = sum[DOWN_REST * n] + ridge * sum[DOWN * n],
                    f = sum[RIGHT_REST * n] + ridge * sum[RIGHT * n], det = a * b - c * c;
        s->flow[i] = fminf(fmaxf((b * e - c * f) / det, -most), most);
        s->flow[n + i] = fminf(fmaxf((a * f - c * e) / det, -most), most);
    }
}

static double variance_of(int64_t n, const float *v) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double off = (double)v[i] - (double)v[0];
        sum += off;
        squares += off * off;
    }
    return fmax(squares / (double)n - sum * sum / ((double)n * (double)n), 0.0);
}

static void step(const job *j, const size *s, float ridge) {
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t y = 0; y < s->height; y++) move_line(j, s, y);
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t y = 0; y < s->height; y++) multiply_line(j, s, y);
    sum_windows(j, s);
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t y = 0; y < s->height; y++) solve_line(j, s, y, ridge);
}

/* Twice the flow of half the sides. */
static void grow(const size *s, const size *small) {
    const int64_t n = s->height * s->width, count = small->height * small->width;
    for (int64_t i = 0; i < 2 * n; i++) {
        const float y = 0.5f * (float)(i % n / s->width) - 0.25f,
                    x = 0.5f * (float)(i % s->width) - 0.25f;
        s->flow[i] = 2.0f * csrec_flow_between(small->height, small->width,
                                               small->flow + i / n * count, y, x);
    }
}

static void make_sizes(job *j, float *work) {
    for (; halves(j->size[j->n - 1].height, j->size[j->n - 1].width); j->n++) {
        const size *large = &j->size[j->n - 1];
        size *s = &j->size[j->n];
        *s = (size){.height = half(large->height), .width = half(large->width)};
        const int64_t n = s->height * s->width;
        csrec_flow_halve(large->height, large->width, large->from, work);
        csrec_flow_halve(large->height, large->width, large->to, work + n);
        s->from = work;
        s->to = work + n;
        s->flow = work + 2 * n;
        work += 4 * n;
    }
}

void csrec_flow_find(int64_t height, int64_t width, const float *from, const float *to, int threads,
                     float *work, float *flow) {
    const int64_t n = height * width;
    job j = {.size = {{height, width, from, to, flow}},
             .n = 1,
             .threads = csrec_threads_for(16 * n, threads),
             .seen = work,
             .sums = work + n,
             .across = work + (1 + PRODUCTS) * n,
             .variance = variance_of(n, from)};
    make_sizes(&j, work + (1 + 2 * PRODUCTS) * n);
    const size *least = &j.size[j.n - 1];
    memset(least->flow, 0, (size_t)(2 * least->height * least->width) * sizeof *flow);
    for (int k = j.n - 1; k >= 0; k--) {
        const size *s = &j.size[k];
        const double variance =
            fmax(variance_of(s->height * s->width, s->from), LEAST_VARIANCE * j.variance);
        if (k < j.n - 1) grow(s, &j.size[k + 1]);
        for (int w = 0; w < WARPS && variance > 0.0; w++) step(&j, s, (float)(RIDGE * variance));
    }
}
