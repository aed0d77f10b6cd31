/* SPDX-License-Identifier: BSD-3-Clause */
/* neighbours.c - near points from Hilbert curves that are shifted against each other. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/threads.h"
#include "csrec/haar.h"

/* Curves, and points looked at before and behind each on a curve. Two points that are near are
 * apart on one curve where a large cube ends between them, but seldom on all: fifths of the extents
 * put the ends of cubes of any size elsewhere on each curve. */
enum { SHIFTS = 4, WINDOW = 5 };

static double squared_distance(const csrec_points *p, int64_t a, int64_t b) {
    double sum = 0.0;
    for (int d = 0; d < 3; d++) {
        double step = (double)p->at[3 * a + d] - (double)p->at[3 * b + d];
        sum += step * step;
    }
    return sum;
}

double csrec_points_distance(const csrec_points *points, int64_t a, int64_t b) {
    return sqrt(squared_distance(points, a, b));
}

csrec_status csrec_points_order(const csrec_points *points, int shift, int64_t *order) {
    csrec_shape shape = {.dims = 3};
    int64_t off[3];
    for (int d = 0; d < 3; d++) {
        int64_t extent = points->extent[d];
        shape.dim[d] = extent == 1 ? 1 : 2 * extent;
        off[d] = extent == 1 ? 0 : shift * extent / 5;
    }
    uint64_t *rows = malloc(((size_t)points->n + 1) * sizeof *rows);
    if (!rows) return CSREC_MEMORY;
    for (int64_t k = 0; k < points->n; k++) {
        const int32_t *at = points->at + 3 * k;
        order[k] =
            ((at[0] + off[0]) * shape.dim[1] + at[1] + off[1]) * shape.dim[2] + at[2] + off[2];
    }
    csrec_status status =
        csrec_rows_from_index(&shape, CSREC_ORDER_HILBERT, points->n, order, rows);
    for (int64_t k = 0; k < points->n; k++) order[k] = k;
    if (!status) status = csrec_sort_rows(points->n, rows, order);
    free(rows);
    return status;
}

/* Keeps the nearest ones, ascending. */
static void insert(const csrec_points *p, int64_t a, int64_t b, int32_t *near) {
    double distance = squared_distance(p, a, b);
    int k = CSREC_NEIGHBOURS;
    while (k && (near[k - 1] < 0 || squared_distance(p, a, near[k - 1]) > distance)) k--;
    for (int i = 0; i < k; i++)
        if (near[i] == b) return;
    if (k == CSREC_NEIGHBOURS) return;
    for (int i = CSREC_NEIGHBOURS - 1; i > k; i--) near[i] = near[i - 1];
    near[k] = (int32_t)b;
}

csrec_status csrec_points_neighbours(const csrec_points *points, int32_t *near) {
    const int64_t n = points->n;
    int64_t *order = malloc(((size_t)n + 1) * sizeof *order);
    csrec_status status = order ? CSREC_OK : CSREC_MEMORY;
    for (int64_t k = 0; k < n * CSREC_NEIGHBOURS; k++) near[k] = -1;
    for (int shift = 0; shift < SHIFTS && !status; shift++) {
        status = csrec_points_order(points, shift, order);
        for (int64_t k = 0; k < n && !status; k++)
            for (int64_t i = k + 1; i <= k + WINDOW && i < n; i++) {
                insert(points, order[k], order[i], near + order[k] * CSREC_NEIGHBOURS);
                insert(points, order[i], order[k], near + order[i] * CSREC_NEIGHBOURS);
            }
    }
    free(order);
    return status;
}

/* ---- walks over the rows of a ball, clipped at the borders of the signal. */

static const int64_t ENTRIES_MAX = INT64_C(1) << 31;

int64_t csrec_root(int64_t v) {
    int64_t r = (int64_t)sqrt((double)v);
    while (r * r > v) r--;
    while ((r + 1) * (r + 1) <= v) r++;
    return r;
}

void csrec_extents(const csrec_shape *shape, int64_t extent[3]) {
    for (int a = 0; a < 3; a++) {
        int axis = a - 3 + shape->dims;
        extent[a] = axis < 0 ? 1 : shape->dim[axis];
    }
}

csrec_status csrec_extents_check(const csrec_shape *shape, int64_t n, const int64_t *index,
                                 const char *what, int64_t extent[3], int64_t *entries,
                                 csrec_error *error) {
    if (csrec_shape_count(shape, entries))
        return csrec_fail(error, CSREC_DATA,
                          "shape: an extent is below 1 or the product overflows; "
                          "use 1 to 3 extents whose product is at most 2^31");
    if (shape->dims > 3 || *entries > ENTRIES_MAX || n >= ENTRIES_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s signals of 1 to 3 axes and at most 2^31 entries, not %d axes and "
                          "%lld entries; divide the signal",
                          what, shape->dims, (long long)*entries);
    for (int64_t k = 0; k < n; k++)
        if (index[k] < 0 || index[k] >= *entries)
            return csrec_fail(error, CSREC_DATA,
                              "index: element %lld is %lld, outside 0 to %lld; give flat C-order "
                              "positions",
                              (long long)k, (long long)index[k], (long long)*entries - 1);
    csrec_extents(shape, extent);
    return CSREC_OK;
}

void csrec_locate(const int64_t extent[3], int64_t point, int64_t at[3]) {
    at[2] = point % extent[2];
    at[1] = point / extent[2] % extent[1];
    at[0] = point / extent[2] / extent[1];
}

/* The rows of the plane. */
static void enter(csrec_ball *ball) {
    int64_t dz = ball->z - ball->at[0];
    int64_t reach = csrec_root(ball->most - dz * dz);
    ball->y = csrec_larger(0, ball->at[1] - reach);
    ball->end = csrec_smaller(ball->extent[1] - 1, ball->at[1] + reach);
}

csrec_ball csrec_ball_at(const int64_t extent[3], int64_t point, int64_t squared) {
    csrec_ball ball = {.extent = extent, .most = squared - 1};
    int64_t reach = csrec_root(ball.most);
    csrec_locate(extent, point, ball.at);
    ball.z = csrec_larger(0, ball.at[0] - reach);
    ball.last = csrec_smaller(extent[0] - 1, ball.at[0] + reach);
    enter(&ball);
    return ball;
}

bool csrec_ball_next(csrec_ball *ball, csrec_ball_row *row) {
    if (ball->y > ball->end) {
        if (ball->z == ball->last) return false;
        ball->z++;
        enter(ball);
    }
    int64_t dz = ball->z - ball->at[0], dy = ball->y - ball->at[1];
    row->across = dz * dz + dy * dy;
    int64_t half = csrec_root(ball->most - row->across);
    int64_t low = csrec_larger(0, ball->at[2] - half);
    row->along = low - ball->at[2];
    row->count = csrec_smaller(ball->extent[2] - 1, ball->at[2] + half) - low + 1;
    row->first = (ball->z * ball->extent[1] + ball->y) * ball->extent[2] + low;
    ball->y++;
    return true;
}

/* ---- the Euclidean distance transform, one axis after the other.
 *
 * P. Felzenszwalb and D. Huttenlocher, "Distance transforms of sampled functions", 2012: along a
 * line, the distance to the nearest position is the lower envelope of parabolas, one over each
 * entry, raised by the squared distance that the axes before have found. */

typedef struct {
    double *height; /* [longest] of the line before */
    double *from;   /* [longest] where a parabola of the envelope begins */
    int64_t *foot;  /* [longest] its entry */
} envelope;

/* Where the parabola over b comes to lie under that over a < b. */
static double meeting(const double *height, int64_t a, int64_t b) {
    return 0.5 * ((double)(a + b) + (height[b] - height[a]) / (double)(b - a));
}

/* The number of parabolas of the envelope. */
static int64_t build(int64_t n, const envelope *e) {
    int64_t k = 0;
    for (int64_t q = 0; q < n; q++) {
        if (e->height[q] >= CSREC_FAR) continue;
        double from = -INFINITY;
        while (k && (from = meeting(e->height, e->foot[k - 1], q)) <= e->from[k - 1]) k--;
        e->from[k] = k ? from : -INFINITY;
        e->foot[k++] = q;
    }
    return k;
}

static void transform_line(int64_t n, int64_t stride, uint32_t *line, const envelope *e) {
    for (int64_t i = 0; i < n; i++) e->height[i] = line[i * stride];
    int64_t k = build(n, e);
    if (k == 0) return;
    for (int64_t i = 0, j = 0; i < n; i++) {
        while (j + 1 < k && e->from[j + 1] < (double)i) j++;
        double along = (double)(i - e->foot[j]);
        line[i * stride] = (uint32_t)fmin(e->height[e->foot[j]] + along * along, CSREC_FAR);
    }
}

/* A line of 0 and CSREC_FAR. */
static void transform_first(int64_t n, uint32_t *line) {
    const uint32_t most = 1 << 16; /* the root of CSREC_FAR */
    uint32_t steps = most;
    for (int64_t i = 0; i < n; i++) {
        steps = line[i] == 0 ? 0 : steps < most ? steps + 1 : most;
        line[i] = steps;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        steps = line[i] <= steps ? line[i] : steps + 1;
        line[i] = steps < most ? steps * steps : CSREC_FAR;
    }
}

/* Near positions are found without the envelope: lines side by side, and entries that are looked at
 * before and behind each. What is above LIMIT is farther than REACH. */
enum { SIDE = 32, REACH = 64, LIMIT = INT16_MAX - REACH * REACH };

/* Row i of [n][SIDE]; false: a position may be farther than REACH. */
static bool transform_near(int64_t n, int64_t i, const int16_t *before, int16_t row[SIDE]) {
    memcpy(row, before + i * SIDE, SIDE * sizeof *row);
    for (int64_t k = 1; k <= REACH; k++) {
        const int16_t *above = before + csrec_larger(i - k, 0) * SIDE,
                      *below = before + csrec_smaller(i + k, n - 1) * SIDE;
        const int16_t square = (int16_t)(k * k);
        int16_t farthest = 0;
        for (int c = 0; c < SIDE; c++) {
            const int16_t near = (int16_t)((above[c] < below[c] ? above[c] : below[c]) + square);
            row[c] = near < row[c] ? near : row[c];
            farthest = row[c] > farthest ? row[c] : farthest;
        }
        if (farthest <= square + 2 * k) return true;
    }
    return false;
}

/* `side` <= SIDE lines beside each other. work [2][n][SIDE]. */
static void transform_lines(int64_t n, int64_t stride, int64_t side, uint32_t *line, int16_t *work,
                            const envelope *e) {
    int16_t *found = work + n * SIDE;
    bool all = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < SIDE; c++) {
            const uint32_t own = c < side ? line[i * stride + c] : 0;
            work[i * SIDE + c] = own < LIMIT ? (int16_t)own : LIMIT;
        }
    for (int64_t i = 0; i < n && all; i++) all = transform_near(n, i, work, found + i * SIDE);
    for (int64_t i = 0; i < n && all; i++)
        for (int64_t c = 0; c < side; c++) line[i * stride + c] = (uint32_t)found[i * SIDE + c];
    for (int64_t c = 0; c < side && !all; c++) transform_line(n, stride, line + c, e);
}

csrec_status csrec_distance_squared(const int64_t extent[3], int threads, uint32_t *squared) {
    csrec_pool pool = {0};
    const int64_t lines = extent[0] * extent[1], longest = csrec_larger(extent[0], extent[1]);
    threads = csrec_threads_for(lines * extent[2], threads);
    const int64_t room = threads * longest;
    envelope all;
    int16_t *work;
    CSREC_TAKE(&pool, all.height, room);
    CSREC_TAKE(&pool, all.from, room);
    CSREC_TAKE(&pool, all.foot, room);
    CSREC_TAKE(&pool, work, 2 * SIDE * room);
    const csrec_status status = csrec_pool_status(&pool);
#pragma omp parallel num_threads(threads) if (!status)
    {
        const int64_t at = omp_get_thread_num() * longest;
        const envelope e = {all.height + at, all.from + at, all.foot + at};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < lines * !status; i++)
            transform_first(extent[2], squared + i * extent[2]);
        for (int a = 1; a >= 0 && !status; a--) {
            const int64_t stride = a ? extent[2] : extent[1] * extent[2];
            const int64_t sides = (stride + SIDE - 1) / SIDE, parts = a ? extent[0] : 1;
#pragma omp for schedule(static)
            for (int64_t k = 0; k < parts * sides * (extent[a] > 1); k++) {
                const int64_t i = k % sides * SIDE, first = k / sides * stride * extent[a] + i;
                transform_lines(extent[a], stride, csrec_smaller(SIDE, stride - i), squared + first,
                                work + 2 * SIDE * at, &e);
            }
        }
    }
    csrec_pool_clear(&pool);
    return status;
}
