/* SPDX-License-Identifier: BSD-3-Clause */
/* motion.c - samples of other frames carried to where a frame shows the same: by the motion between
 * what both are by themselves, as far as it makes the samples of either easier to tell from the
 * other frame. */
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "measurement/channels.h"
#include "learn/net/pyramid.h"
#include "method/beside/beside.h"
#include "method/beside/flow.h"

enum { SIDE = 16 }; /* of blocks */

/* Squares that motion saves, as a share of those without it, turn it on: all of it from
 * (1 - FREE) / STEEP on, and none if it costs FREE / STEEP. */
static const double STEEP = 8.0, FREE = 0.25;

/* Differences of carried samples from the frame by itself, in means of them. */
static const double MOST_APART = 8.0;

static int64_t slot(const csrec_film *f, int64_t t) {
    return t % (2 * f->reach + 1);
}

void csrec_motion_create(csrec_film *f) {
    csrec_motion *m = &f->motion;
    const int64_t n = f->height * f->width;
    *m = (csrec_motion){.height = (f->height + 1) / 2, .width = (f->width + 1) / 2, .of = -1};
    m->blocks = csrec_blocks_of(SIDE, f->height, f->width);
    const int64_t half = m->height * m->width, blocks = m->blocks.down * m->blocks.across;
    for (int t = 0; t < 2 * f->reach + 1; t++) {
        CSREC_TAKE(&f->pool, m->gray[t], half);
        CSREC_TAKE(&f->pool, m->flow[t], 2 * half);
    }
    CSREC_TAKE(&f->pool, m->work, csrec_flow_work(m->height, m->width));
    CSREC_TAKE(&f->pool, m->sums, 2 * blocks);
    CSREC_TAKE(&f->pool, m->gate[0], blocks);
    CSREC_TAKE(&f->pool, m->gate[1], blocks);
    CSREC_TAKE(&f->pool, m->sample, n);
    CSREC_TAKE(&f->pool, m->values, n);
    CSREC_TAKE(&f->pool, m->near, n);
    CSREC_TAKE(&f->pool, m->known, n);
}

/* ------------------------------------------------------------------ gray planes --------------- */

static double mean_at(const csrec_film *f, const double *signal, int64_t at) {
    double sum = 0.0;
    for (int64_t c = 0; c < f->channels; c++) sum += signal[at * f->channels + c];
    return sum / (double)f->channels;
}

/* Middle and unit of all gray planes, by the first frame. */
static void set_unit(csrec_film *f, const double *signal) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        least = fmin(least, mean_at(f, signal, i));
        most = fmax(most, mean_at(f, signal, i));
    }
    f->motion.middle = 0.5 * (least + most);
    f->motion.unit = most > least && isfinite(most - least) ? most - least : 1.0;
}

/* Of frame t by itself; false: it has none to follow. */
static bool make_gray(csrec_film *f, int64_t t) {
    csrec_motion *m = &f->motion;
    const double *signal = csrec_film_kept(f, t);
    double sum = 0.0;
    if (csrec_film_at(f, t)->m.n == 0 || !csrec_measurement_even(&csrec_film_at(f, t)->m))
        return false;
    if (m->unit == 0.0) set_unit(f, signal);
    for (int64_t i = 0; i < f->height * f->width; i++) {
        m->values[i] = (float)((mean_at(f, signal, i) - m->middle) / m->unit);
        sum += (double)m->values[i];
    }
    csrec_flow_halve(f->height, f->width, m->values, m->gray[slot(f, t)]);
    return isfinite(sum);
}

/* ------------------------------------------------------------------ gates --------------------- */

/* Motion at a pixel of the frame, in its pixels. */
static void flow_at(const csrec_film *f, const float *flow, int64_t y, int64_t x, float move[2]) {
    const csrec_motion *m = &f->motion;
    for (int k = 0; k < 2; k++)
        move[k] = 2.0f * csrec_flow_between(m->height, m->width, flow + k * m->height * m->width,
                                            0.5f * (float)y - 0.25f, 0.5f * (float)x - 0.25f);
}

/* Channel c of C of a signal between pixels. */
static double between(const csrec_film *f, const double *signal, int64_t C, int64_t c, double y,
                      double x) {
    y = fmin(fmax(y, 0.0), (double)(f->height - 1));
    x = fmin(fmax(x, 0.0), (double)(f->width - 1));
    const int64_t row = (int64_t)y, column = (int64_t)x;
    const int64_t down = row + 1 < f->height ? f->width * C : 0,
                  right = column + 1 < f->width ? C : 0;
    const double *at = signal + (row * f->width + column) * C + c;
    const double first = at[0] + (x - (double)column) * (at[right] - at[0]);
    const double second = at[down] + (x - (double)column) * (at[down + right] - at[down]);
    return first + (y - (double)row) * (second - first);
}

/* Squares that `other` misses of a sample as it is, and moved. */
static void add_missed(const csrec_film *f, const double *y, const double *other, int64_t at,
                       const float move[2], double sums[2]) {
    const int64_t C = f->channels;
    const double row = (double)(at / f->width) + (double)move[0],
                 column = (double)(at % f->width) + (double)move[1];
    for (int64_t c = 0; c < C; c++) {
        if (isnan(y[c])) continue;
        const double still = y[c] - other[at * C + c];
        const double moved = y[c] - between(f, other, C, c, row, column);
        sums[0] += still * still;
        sums[1] += moved * moved;
    }
}

/* Sums of each block, in the order of positions: samples of frame m against another by itself, with
 * this flow forward or backward. */
static void compare(csrec_film *f, const csrec_measurement *m, const double *other,
                    const float *flow, float sign) {
    csrec_motion *o = &f->motion;
    const csrec_blocks *b = &o->blocks;
    memset(o->sums, 0, (size_t)(2 * b->down * b->across) * sizeof *o->sums);
    memset(o->sample, 0, (size_t)(f->height * f->width) * sizeof *o->sample);
    for (int64_t i = 0; i < m->n; i++) o->sample[m->index[i]] = i + 1;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(csrec_threads_for(8 * m->n, f->r.options->threads))
    for (int64_t row = 0; row < b->down; row++)
        for (int64_t at = row * SIDE * f->width;
             at < f->height * f->width && at < (row + 1) * SIDE * f->width; at++) {
            float move[2];
            if (o->sample[at] == 0) continue;
            flow_at(f, flow, at / f->width, at % f->width, move);
            move[0] *= sign;
            move[1] *= sign;
            add_missed(f, m->y + (o->sample[at] - 1) * f->channels, other, at, move,
                       o->sums + 2 * csrec_blocks_at(b, at / f->width, at % f->width));
        }
}

static void set_gate(const csrec_motion *m, double *gate) {
    for (int64_t b = 0; b < m->blocks.down * m->blocks.across; b++) {
        const double still = csrec_blocks_around(&m->blocks, m->sums, 2, b),
                     moved = csrec_blocks_around(&m->blocks, m->sums + 1, 2, b);
        const double open = still > 0.0 ? STEEP * (still - moved) / still + FREE : 0.0;
        gate[b] = fmin(fmax(open, 0.0), 1.0);
    }
}

/* In holes of either frame nothing tells of motion: that of what is around them. */
static void fill_holes(csrec_film *f, int64_t k, int64_t t, float *flow) {
    csrec_motion *m = &f->motion;
    const csrec_holes *a = &f->holes[slot(f, k)], *b = &f->holes[slot(f, t)];
    const int64_t n = m->height * m->width;
    float *weight = m->work, *z = weight + n, *work = z + n;
    if (a->n + b->n == 0) return;
    for (int64_t i = 0; i < n; i++) {
        const int64_t y = 2 * (i / m->width), x = 2 * (i % m->width);
        weight[i] = csrec_holes_at(a, y, x) + csrec_holes_at(b, y, x) < 0.5 ? 1.0f : 0.0f;
    }
    for (int s = 0; s < 2; s++, flow += n) {
        for (int64_t i = 0; i < n; i++) z[i] = weight[i] * flow[i];
        csrec_pyramid_fill(m->height, m->width, f->r.options->threads, z, weight, work, flow);
    }
}

/* The flow as far as samples of both frames gain by it. Neither frame by itself knows those of the
 * other. */
static void shut(csrec_film *f, int64_t k, int64_t t) {
    csrec_motion *m = &f->motion;
    float *flow = m->flow[slot(f, k)];
    compare(f, &csrec_film_at(f, k)->m, csrec_film_kept(f, t), flow, 1.0f);
    set_gate(m, m->gate[0]);
    compare(f, &csrec_film_at(f, t)->m, csrec_film_kept(f, k), flow, -1.0f);
    set_gate(m, m->gate[1]);
    for (int64_t b = 0; b < m->blocks.down * m->blocks.across; b++)
        m->gate[0][b] = fmin(m->gate[0][b], m->gate[1][b]);
    for (int64_t y = 0; y < m->height; y++)
        for (int64_t x = 0; x < m->width; x++) {
            const double open = csrec_blocks_between(&m->blocks, m->gate[0], 2 * y, 2 * x);
            for (int s = 0; s < 2; s++) flow[(s * m->height + y) * m->width + x] *= (float)open;
        }
    fill_holes(f, k, t, flow);
}

/* ------------------------------------------------------------------ the window ---------------- */

csrec_status csrec_film_follow(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    csrec_motion *m = &f->motion;
    csrec_status status = CSREC_OK;
    if (m->of == t) return CSREC_OK;
    const int64_t first = t < f->reach ? 0 : t - f->reach;
    for (int64_t k = first; k < f->pushed && k <= t + f->reach && !status; k++) {
        csrec_film_frame *frame = csrec_film_at(f, k);
        const bool had = frame->alone;
        status = csrec_film_alone(f, k, call, error);
        if (!had && !status) frame->followed = make_gray(f, k);
        frame->carried = false;
    }
    if (status || csrec_call_stopped(call)) return status;
    m->of = t;
    for (int64_t k = first; k < f->pushed && k <= t + f->reach; k++) {
        csrec_film_frame *frame = csrec_film_at(f, k);
        frame->carried = k != t && frame->followed && csrec_film_at(f, t)->followed;
        if (!frame->carried) continue;
        csrec_flow_find(m->height, m->width, m->gray[slot(f, k)], m->gray[slot(f, t)],
                        f->r.options->threads, m->work, m->flow[slot(f, k)]);
        shut(f, k, t);
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ samples ------------------- */

/* A frame's samples of a channel in tones; returns their number. */
static int64_t spread(const csrec_film *f, const csrec_measurement *m, int64_t c, double middle,
                      double unit, float *values, uint8_t *known) {
    int64_t count = 0;
    memset(known, 0, (size_t)(f->height * f->width));
    for (int64_t i = 0; i < m->n; i++) {
        const double y = m->y[i * m->channels + c];
        if (isnan(y)) continue;
        known[m->index[i]] = 1;
        values[m->index[i]] = (float)((y - middle) / unit);
        count++;
    }
    return count;
}

/* One sample to the pixel nearest to where it is seen, by what its frame differs so far off; the
 * nearest of several stays. */
static void carry_sample(csrec_film *f, int64_t k, int64_t c, double unit, int64_t at,
                         float *values, uint8_t *known) {
    csrec_motion *m = &f->motion;
    const double *own = csrec_film_kept(f, k);
    const int64_t y = at / f->width, x = at % f->width;
    float move[2];
    flow_at(f, m->flow[slot(f, k)], y, x, move);
    const float row = rintf((float)y + move[0]), column = rintf((float)x + move[1]);
    const float down = row - (float)y - move[0], right = column - (float)x - move[1];
    const float far = fmaxf(fabsf(down), fabsf(right));
    if (!(row >= 0.0f && column >= 0.0f && row < (float)f->height && column < (float)f->width))
        return;
    const int64_t to = (int64_t)row * f->width + (int64_t)column;
    if (known[to] && far >= m->near[to]) return;
    const double differs =
        between(f, own, f->channels, c, (double)y + (double)down, (double)x + (double)right) -
        own[at * f->channels + c];
    known[to] = 1;
    m->near[to] = far;
    values[to] = m->values[at] + (float)(differs / unit);
}

int64_t csrec_film_samples(csrec_film *f, int64_t k, int64_t c, double middle, double unit,
                           float *values, uint8_t *known) {
    csrec_motion *m = &f->motion;
    const csrec_film_frame *frame = csrec_film_at(f, k);
    const int64_t n = f->height * f->width;
    if (!frame->carried) return spread(f, &frame->m, c, middle, unit, values, known);
    const int64_t count = spread(f, &frame->m, c, middle, unit, m->values, m->known);
    memset(known, 0, (size_t)n);
    for (int64_t at = 0; at < n && count > 0; at++)
        if (m->known[at]) carry_sample(f, k, c, unit, at, values, known);
    return count;
}

/* Mean difference of those of channel c that are carried, from frame t by itself. */
static double differ(const csrec_film *f, const double *own, int64_t c) {
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        if (!f->known[0][i]) continue;
        sum += fabs(f->motion.middle + f->motion.unit * (double)f->values[0][i] -
                    own[i * f->channels + c]);
        count += 1.0;
    }
    return sum / fmax(count, 1.0);
}

/* Those of channel c of the frames around t that are carried, nearer frames first, at pixels where
 * nothing is in y [entries][channels]; but none that differ much more than most, as what is hidden
 * in frame t does. */
static void gather_channel(csrec_film *f, int64_t t, int64_t c, double *y) {
    const double *own = csrec_film_kept(f, t);
    for (int64_t away = 1; away <= f->reach; away++)
        for (int side = -1; side <= 1; side += 2) {
            const int64_t k = t + side * away;
            if (k < 0 || k >= f->pushed) continue;
            csrec_film_samples(f, k, c, f->motion.middle, f->motion.unit, f->values[0],
                               f->known[0]);
            const double most =
                csrec_film_at(f, t)->alone ? MOST_APART * differ(f, own, c) : INFINITY;
            for (int64_t i = 0; i < f->height * f->width; i++) {
                const double v = f->motion.middle + f->motion.unit * (double)f->values[0][i];
                const int64_t to = i * f->channels + c;
                if (f->known[0][i] && isnan(y[to]) && !(fabs(v - own[to]) > most)) y[to] = v;
            }
        }
}

csrec_status csrec_film_gather(csrec_film *f, int64_t t, csrec_measurement *all, csrec_pool *pool,
                               csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    const int64_t n = f->height * f->width, C = f->channels;
    *all = *m;
    CSREC_TAKE(pool, all->index, n);
    CSREC_TAKE(pool, all->y, n * C);
    if (pool->lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < n * C; i++) all->y[i] = NAN;
    for (int64_t c = 0; c < C; c++) gather_channel(f, t, c, all->y);
    for (int64_t i = 0; i < m->n; i++)
        memcpy(all->y + m->index[i] * C, m->y + i * C, (size_t)C * sizeof *m->y);
    all->n = 0;
    for (int64_t i = 0; i < n; i++) {
        bool known = true;
        for (int64_t c = 0; c < C; c++) known = known && !isnan(all->y[i * C + c]);
        if (!known) continue;
        memmove(all->y + all->n * C, all->y + i * C, (size_t)C * sizeof *all->y);
        all->index[all->n++] = i;
    }
    return CSREC_OK;
}

void csrec_film_ahead(const csrec_film *f, int64_t t, double *plane, double *work) {
    const int64_t n = f->height * f->width;
    if (f->motion.of != t || t == 0 || !f->frame[slot(f, t - 1)].carried) return;
    memcpy(work, plane, (size_t)n * sizeof *work);
    for (int64_t i = 0; i < n; i++) {
        float move[2];
        flow_at(f, f->motion.flow[slot(f, t - 1)], i / f->width, i % f->width, move);
        const double moved = between(f, work, 1, 0, (double)(i / f->width) - (double)move[0],
                                     (double)(i % f->width) - (double)move[1]);
        plane[i] = fmax(plane[i], moved);
    }
}
