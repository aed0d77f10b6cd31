/* SPDX-License-Identifier: BSD-3-Clause */
/* carry.c - samples of other frames carried to where a frame shows the same. */
#include <math.h>
#include <string.h>

#include "measurement/channels.h"
#include "method/beside/beside.h"
#include "method/beside/flow.h"

/* Differences of carried samples from the frame by itself, in means of them. */
static const double MOST_APART = 8.0;

void csrec_film_flow(const csrec_film *f, const float *flow, int64_t y, int64_t x, float move[2]) {
    const csrec_motion *m = &f->motion;
    for (int k = 0; k < 2; k++)
        move[k] = 2.0f * csrec_flow_between(m->height, m->width, flow + k * m->height * m->width,
                                            0.5f * (float)y - 0.25f, 0.5f * (float)x - 0.25f);
}

double csrec_film_between(const csrec_film *f, const double *signal, int64_t C, int64_t c, double y,
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

/* A frame's samples of a channel in tones; returns their number. */
static int64_t spread(csrec_film *f, int64_t k, int64_t c, double middle, double unit,
                      float *values, uint8_t *known) {
    const csrec_measurement *m = &csrec_film_at(f, k)->m;
    const csrec_holes *holes = &f->holes[csrec_film_slot(f, k)];
    int64_t count = 0;
    memset(known, 0, (size_t)(f->height * f->width));
    for (int64_t i = 0; i < m->n; i++) {
        const double y = m->y[i * m->channels + c];
        if (isnan(y)) continue;
        if (f->hides && csrec_holes_moved(holes, m->index[i] / f->width, m->index[i] % f->width))
            continue;
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
    csrec_film_flow(f, m->flow[csrec_film_slot(f, k)], y, x, move);
    const float row = rintf((float)y + move[0]), column = rintf((float)x + move[1]);
    const float down = row - (float)y - move[0], right = column - (float)x - move[1];
    const float far = fmaxf(fabsf(down), fabsf(right));
    if (!(row >= 0.0f && column >= 0.0f && row < (float)f->height && column < (float)f->width))
        return;
    const int64_t to = (int64_t)row * f->width + (int64_t)column;
    if (known[to] && far >= m->near[to]) return;
    const double differs = csrec_film_between(f, own, f->channels, c, (double)y + (double)down,
                                              (double)x + (double)right) -
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
    if (frame->foreign) {
        memset(known, 0, (size_t)n);
        return 0;
    }
    if (!frame->carried) return spread(f, k, c, middle, unit, values, known);
    const double *gain = m->gain[csrec_film_slot(f, k)] + 2 * c;
    middle = (middle - gain[1]) / gain[0];
    unit /= gain[0];
    const int64_t count = spread(f, k, c, middle, unit, m->values, m->known);
    memset(known, 0, (size_t)n);
    for (int64_t at = 0; at < n && count > 0; at++)
        if (m->known[at]) carry_sample(f, k, c, unit, at, values, known);
    return count;
}

/* Mean difference of those of channel c that are carried, from frame t by itself. */
static double differ(const csrec_film *f, const double *own, int64_t c, const double tones[2]) {
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        if (!f->known[0][i]) continue;
        sum += fabs(tones[0] + tones[1] * (double)f->values[0][i] - own[i * f->channels + c]);
        count += 1.0;
    }
    return sum / fmax(count, 1.0);
}

/* Those of channel c of the frames around t that are carried, nearer frames first, at pixels where
 * nothing is in y [entries][channels]; but none that differ much more than most, as what is hidden
 * in frame t does. */
static void gather_channel(csrec_film *f, int64_t t, int64_t c, double *y) {
    const double *own = csrec_film_kept(f, t);
    double range[2];
    csrec_film_range(f, t, c, true, range);
    const double tones[2] = {0.5 * (range[0] + range[1]),
                             range[1] > range[0] ? range[1] - range[0] : 1.0};
    for (int64_t away = 1; away <= f->reach; away++)
        for (int side = -1; side <= 1; side += 2) {
            const int64_t k = t + side * away;
            if (k < 0 || k >= f->pushed) continue;
            csrec_film_samples(f, k, c, tones[0], tones[1], f->values[0], f->known[0]);
            const double most =
                csrec_film_at(f, t)->followed ? MOST_APART * differ(f, own, c, tones) : INFINITY;
            for (int64_t i = 0; i < f->height * f->width; i++) {
                const double v = tones[0] + tones[1] * (double)f->values[0][i];
                const int64_t to = i * f->channels + c;
                if (f->known[0][i] && isnan(y[to]) && !(fabs(v - own[to]) > most)) y[to] = v;
            }
        }
}

csrec_status csrec_film_gather(csrec_film *f, int64_t t, csrec_measurement *all, csrec_pool *pool,
                               csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    const int64_t n = f->height * f->width, C = f->channels;
    const int64_t least = csrec_measurement_even(m) ? C : 1; /* so that what is even stays so */
    *all = *m;
    CSREC_TAKE(pool, all->index, n);
    CSREC_TAKE(pool, all->y, n * C);
    if (pool->lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < n * C; i++) all->y[i] = NAN;
    for (int64_t c = 0; c < C; c++) gather_channel(f, t, c, all->y);
    for (int64_t i = 0; i < m->n * C; i++)
        if (!isnan(m->y[i])) all->y[m->index[i / C] * C + i % C] = m->y[i];
    all->n = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t known = 0;
        for (int64_t c = 0; c < C; c++) known += !isnan(all->y[i * C + c]);
        if (known < least) continue;
        memmove(all->y + all->n * C, all->y + i * C, (size_t)C * sizeof *all->y);
        all->index[all->n++] = i;
    }
    return CSREC_OK;
}

void csrec_film_ahead(const csrec_film *f, int64_t t, double *plane, double *work) {
    const int64_t n = f->height * f->width;
    if (f->motion.of != t || t == 0 || !f->frame[csrec_film_slot(f, t - 1)].carried) return;
    memcpy(work, plane, (size_t)n * sizeof *work);
    for (int64_t i = 0; i < n; i++) {
        float move[2];
        csrec_film_flow(f, f->motion.flow[csrec_film_slot(f, t - 1)], i / f->width, i % f->width,
                        move);
        const double moved =
            csrec_film_between(f, work, 1, 0, (double)(i / f->width) - (double)move[0],
                               (double)(i % f->width) - (double)move[1]);
        plane[i] = fmax(plane[i], moved);
    }
}
