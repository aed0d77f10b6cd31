/* SPDX-License-Identifier: BSD-3-Clause */
/* motion.c - the motion between two frames, by what both are by themselves, as far as it makes the
 * samples of either easier to tell from the other frame; and how much brighter one is. */
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/pyramid.h"
#include "method/beside/beside.h"
#include "method/beside/flow.h"

enum { SIDE = 16 }; /* of blocks */

/* Squares that motion saves, as a share of those without it, turn it on: all of it from
 * (1 - FREE) / STEEP on, and none if it costs FREE / STEEP. */
static const double STEEP = 8.0, FREE = 0.25;

/* Of means and deviations of two frames, in deviations; squares with gains, of those without. */
static const double ALIKE = 0.05, BRIGHTER = 0.9;

/* The squares missed of a frame next to one, of the least in its window, that tell of a cut. */
static const double CHANGE = 2.0;

void csrec_motion_create(csrec_film *f) {
    csrec_motion *m = &f->motion;
    const int64_t n = f->height * f->width;
    *m = (csrec_motion){.height = (f->height + 1) / 2, .width = (f->width + 1) / 2, .of = -1};
    m->blocks = csrec_blocks_of(SIDE, f->height, f->width);
    const int64_t half = m->height * m->width, blocks = m->blocks.down * m->blocks.across;
    for (int t = 0; t < 2 * f->reach + 1; t++) {
        CSREC_TAKE(&f->pool, m->flow[t], 2 * half);
        CSREC_TAKE(&f->pool, m->gain[t], 2 * f->channels);
    }
    CSREC_TAKE(&f->pool, m->aside, 2 * half);
    CSREC_TAKE(&f->pool, m->gray, half);
    CSREC_TAKE(&f->pool, m->lit, half);
    CSREC_TAKE(&f->pool, m->work, csrec_flow_work(m->height, m->width));
    CSREC_TAKE(&f->pool, m->sums, 2 * blocks);
    CSREC_TAKE(&f->pool, m->gate[0], blocks);
    CSREC_TAKE(&f->pool, m->gate[1], blocks);
    CSREC_TAKE(&f->pool, m->sample, n);
    CSREC_TAKE(&f->pool, m->values, n);
    CSREC_TAKE(&f->pool, m->near, n);
    CSREC_TAKE(&f->pool, m->known, n);
}

/* Gains NULL: 1. */
static double with(const double *gain, int64_t c, double value) {
    return gain ? gain[2 * c] * value + gain[2 * c + 1] : value;
}

static double mean_at(const csrec_film *f, const double *signal, const double *gain, int64_t at) {
    double sum = 0.0;
    for (int64_t c = 0; c < f->channels; c++)
        sum += f->weight[c] * with(gain, c, signal[at * f->channels + c]);
    return sum / (double)f->channels;
}

/* Middle and unit of the gray planes of a window. */
static void set_unit(csrec_film *f, const double *signal) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        least = fmin(least, mean_at(f, signal, NULL, i));
        most = fmax(most, mean_at(f, signal, NULL, i));
    }
    f->motion.middle = 0.5 * (least + most);
    f->motion.unit = most > least && isfinite(most - least) ? most - least : 1.0;
}

/* Whether frame t by itself tells of motion. */
static bool tells(csrec_film *f, int64_t t) {
    const double *signal = csrec_film_kept(f, t);
    double sum = 0.0;
    if (!csrec_film_at(f, t)->alone) return false;
    for (int64_t i = 0; i < f->height * f->width * f->channels; i++) sum += signal[i];
    return isfinite(sum);
}

/* Frame t by itself, with gains or NULL. */
static void make_gray(csrec_film *f, int64_t t, const double *gain, float *gray) {
    csrec_motion *m = &f->motion;
    const double *signal = csrec_film_kept(f, t);
    for (int64_t i = 0; i < f->height * f->width; i++)
        m->values[i] = (float)((mean_at(f, signal, gain, i) - m->middle) / m->unit);
    csrec_flow_halve(f->height, f->width, m->values, gray);
}

/* Samples, another frame by itself, gains of either. */
typedef struct pair {
    const csrec_measurement *m;
    const double *own, *other, *others;
    const float *flow;
    float sign; /* of the flow */
} pair;

/* Squares that the other misses of a sample as it is, and moved. */
static void add_missed(const csrec_film *f, const pair *p, const double *y, int64_t at,
                       const float move[2], double sums[2]) {
    const int64_t C = f->channels;
    const double row = (double)(at / f->width) + (double)move[0],
                 column = (double)(at % f->width) + (double)move[1];
    for (int64_t c = 0; c < C; c++) {
        if (isnan(y[c])) continue;
        const double own = with(p->own, c, y[c]);
        const double still = own - with(p->others, c, p->other[at * C + c]);
        const double moved =
            own - with(p->others, c, csrec_film_between(f, p->other, C, c, row, column));
        sums[0] += f->weight[c] * f->weight[c] * still * still;
        sums[1] += f->weight[c] * f->weight[c] * moved * moved;
    }
}

/* Sums of each block, in the order of positions. */
static void compare(csrec_film *f, const pair *p) {
    const csrec_measurement *m = p->m;
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
            csrec_film_flow(f, p->flow, at / f->width, at % f->width, move);
            move[0] *= p->sign;
            move[1] *= p->sign;
            add_missed(f, p, m->y + (o->sample[at] - 1) * f->channels, at, move,
                       o->sums + 2 * csrec_blocks_at(b, at / f->width, at % f->width));
        }
}

/* In holes of either frame nothing tells of motion: that of what is around them. */
static void fill_holes(csrec_film *f, int64_t k, int64_t t, float *flow) {
    csrec_motion *m = &f->motion;
    const csrec_holes *a = &f->holes[csrec_film_slot(f, k)], *b = &f->holes[csrec_film_slot(f, t)];
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

/* Samples of frame k against frame t by itself, or the reverse. */
static pair pair_of(csrec_film *f, int64_t k, int64_t t, bool reverse) {
    const double *gain = f->motion.gain[csrec_film_slot(f, k)];
    const float *flow = f->motion.flow[csrec_film_slot(f, k)];
    return reverse ? (pair){&csrec_film_at(f, t)->m, NULL, csrec_film_kept(f, k), gain, flow, -1.0f}
                   : (pair){&csrec_film_at(f, k)->m, gain, csrec_film_kept(f, t), NULL, flow, 1.0f};
}

/* The flow as far as samples of both frames gain by it. Neither frame by itself knows those of the
 * other. */
static void shut(csrec_film *f, int64_t k, int64_t t) {
    csrec_motion *m = &f->motion;
    float *flow = m->flow[csrec_film_slot(f, k)];
    for (int back = 0; back < 2; back++) {
        const pair p = pair_of(f, k, t, back);
        compare(f, &p);
        for (int64_t b = 0; b < m->blocks.down * m->blocks.across; b++) {
            const double still = csrec_blocks_around(&m->blocks, m->sums, 2, b),
                         moved = csrec_blocks_around(&m->blocks, m->sums + 1, 2, b);
            const double open = still > 0.0 ? STEEP * (still - moved) / still + FREE : 0.0;
            m->gate[back][b] = fmin(fmax(open, 0.0), 1.0);
        }
    }
    for (int64_t b = 0; b < m->blocks.down * m->blocks.across; b++)
        m->gate[0][b] = fmin(m->gate[0][b], m->gate[1][b]);
    for (int64_t y = 0; y < m->height; y++)
        for (int64_t x = 0; x < m->width; x++) {
            const double open = csrec_blocks_between(&m->blocks, m->gate[0], 2 * y, 2 * x);
            for (int s = 0; s < 2; s++) flow[(s * m->height + y) * m->width + x] *= (float)open;
        }
    fill_holes(f, k, t, flow);
}

static void no_gain(const csrec_film *f, int64_t k) {
    for (int64_t c = 0; c < f->channels; c++) {
        f->motion.gain[csrec_film_slot(f, k)][2 * c] = 1.0;
        f->motion.gain[csrec_film_slot(f, k)][2 * c + 1] = 0.0;
    }
}

/* known: 1 where samples of frames k and t are around, 0 in holes of one. Returns their number. */
static double find_common(csrec_film *f, int64_t k, int64_t t) {
    const csrec_holes *a = &f->holes[csrec_film_slot(f, k)], *b = &f->holes[csrec_film_slot(f, t)];
    double count = 0.0;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        const int64_t y = i / f->width, x = i % f->width;
        f->motion.known[i] = csrec_holes_at(a, y, x) + csrec_holes_at(b, y, x) == 0.0;
        count += f->motion.known[i];
    }
    return count;
}

/* Mean and standard deviation of a channel of a frame by itself, of count pixels. */
static void moments(csrec_film *f, int64_t t, int64_t c, double count, double of[2]) {
    const double *signal = csrec_film_kept(f, t) + c;
    const uint8_t *known = f->motion.known;
    double squares = 0.0;
    of[0] = 0.0;
    for (int64_t i = 0; i < f->height * f->width; i++)
        if (known[i]) of[0] += signal[i * f->channels] / count;
    for (int64_t i = 0; i < f->height * f->width; i++)
        if (known[i]) squares += pow(signal[i * f->channels] - of[0], 2.0) / count;
    of[1] = sqrt(squares);
}

/* Gains that make mean and deviation of frame k those of frame t; false: these are alike. */
static bool find_gain(csrec_film *f, int64_t k, int64_t t) {
    double *gain = f->motion.gain[csrec_film_slot(f, k)], a[2], b[2];
    const double count = find_common(f, k, t);
    bool unlike = false;
    for (int64_t c = 0; c < f->channels && count > 0.0; c++) {
        moments(f, k, c, count, a);
        moments(f, t, c, count, b);
        if (!(a[1] > 0.0 && b[1] > 0.0)) continue;
        gain[2 * c] = b[1] / a[1];
        gain[2 * c + 1] = b[0] - gain[2 * c] * a[0];
        unlike = unlike || fabs(b[0] - a[0]) > ALIKE * b[1] || fabs(b[1] - a[1]) > ALIKE * b[1];
    }
    return unlike;
}

double csrec_film_seen(const csrec_film *f, int64_t k, int64_t c, double value) {
    return f->moves && f->frame[csrec_film_slot(f, k)].carried
               ? with(f->motion.gain[csrec_film_slot(f, k)], c, value)
               : value;
}

/* Finds the flow with the gains so far; the squares that frame t misses of samples of k. */
static double find_flow(csrec_film *f, int64_t k, int64_t t) {
    csrec_motion *m = &f->motion;
    double missed = 0.0;
    make_gray(f, k, m->gain[csrec_film_slot(f, k)], m->lit);
    csrec_flow_find(m->height, m->width, m->lit, m->gray, f->r.options->threads, m->work,
                    m->flow[csrec_film_slot(f, k)]);
    const pair p = pair_of(f, k, t, false);
    compare(f, &p);
    for (int64_t b = 0; b < m->blocks.down * m->blocks.across; b++)
        missed += fmin(m->sums[2 * b], m->sums[2 * b + 1]);
    return missed;
}

/* Squares of the samples of a frame about their means, as another would see them, and half of the
 * noise. */
static double spread_of(const csrec_film *f, const csrec_measurement *m, const double *gain) {
    double squares = 0.0;
    for (int64_t c = 0; c < f->channels; c++) {
        const double scale = f->weight[c] * gain[2 * c];
        double sum = 0.0, count = 0.0;
        for (int64_t i = 0; i < m->n; i++) {
            const double y = m->y[i * f->channels + c];
            sum += isnan(y) ? 0.0 : y;
            count += !isnan(y);
        }
        for (int64_t i = 0; i < m->n; i++) {
            const double off = scale * (m->y[i * f->channels + c] - sum / count);
            squares += isnan(off) ? 0.0 : off * off;
        }
        squares += 0.5 * count * pow(scale * m->sigma, 2.0);
    }
    return squares;
}

/* The flow of frame k that is kept aside becomes its flow, and the reverse. */
static void exchange_flow(csrec_film *f, int64_t k) {
    float **flow = &f->motion.flow[csrec_film_slot(f, k)], *own = *flow;
    *flow = f->motion.aside;
    f->motion.aside = own;
}

/* Frames may differ in exposure, light, or haze. Returns the squares that frame t misses of a
 * sample of k. */
static double carry_frame(csrec_film *f, int64_t k, int64_t t) {
    no_gain(f, k);
    double missed = find_flow(f, k, t), brighter = INFINITY;
    exchange_flow(f, k);
    if (find_gain(f, k, t)) brighter = find_flow(f, k, t);
    if (brighter < BRIGHTER * missed) {
        missed = brighter;
    } else {
        no_gain(f, k);
        exchange_flow(f, k);
    }
    const csrec_measurement *m = &csrec_film_at(f, k)->m;
    csrec_film_at(f, k)->foreign = missed > spread_of(f, m, f->motion.gain[csrec_film_slot(f, k)]);
    shut(f, k, t);
    return missed / (double)m->n;
}

csrec_status csrec_film_follow(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    csrec_motion *m = &f->motion;
    csrec_status status = CSREC_OK;
    if (m->of == t) return CSREC_OK;
    const int64_t first = t < f->reach ? 0 : t - f->reach;
    int64_t middle = -1; /* frame t, or the first that tells */
    for (int64_t k = first; k < f->pushed && k <= t + f->reach && !status; k++) {
        csrec_film_frame *frame = csrec_film_at(f, k);
        const bool thin = csrec_film_thin(f, k);
        if (!thin) status = csrec_film_alone(f, k, call, error);
        frame->followed = !thin && tells(f, k);
        if (frame->followed && (middle < 0 || k == t)) middle = k;
        frame->carried = frame->foreign = false;
    }
    if (status || csrec_call_stopped(call)) return status;
    m->of = t;
    f->changes = f->lonely = false;
    if (middle < 0) return CSREC_OK;
    set_unit(f, csrec_film_kept(f, middle));
    if (middle == t) make_gray(f, t, NULL, m->gray);
    double least = INFINITY, near = 0.0; /* missed of frames, of those next to it */
    f->lonely = middle == t;
    for (int64_t k = first; k < f->pushed && k <= t + f->reach; k++) {
        csrec_film_frame *frame = csrec_film_at(f, k);
        frame->carried = k != t && frame->followed && middle == t;
        frame->foreign = k != t && middle == t && csrec_film_thin(f, k);
        if (!frame->carried) continue;
        const double missed = carry_frame(f, k, t);
        f->changes = f->changes || frame->foreign;
        f->lonely = f->lonely && frame->foreign;
        least = fmin(least, missed);
        if (k >= t - 1 && k <= t + 1) near = fmax(near, missed);
    }
    f->changes = f->changes || near > CHANGE * least;
    return CSREC_OK;
}
