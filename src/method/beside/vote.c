/* SPDX-License-Identifier: BSD-3-Clause */
/* vote.c - a frame by itself, without guides and other frames, and where it counts: the share of
 * either way is what errs least at samples that both do without, block by block. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "csrec/sampling.h"
#include "learn/net/pass.h"
#include "measurement/channels.h"
#include "method/beside/beside.h"
#include "method/method.h"

enum { STREAM_VOTE = 1 << 23, LEAST_LEFT_OUT = 24, EVERY = 4 };

static const double LEFT_OUT = 0.15; /* of the samples of a frame */
static const double IN_BLOCK = 6.0;  /* samples left out in a block, about */
static const double PRIOR = 12.0; /* samples of the mean of the frame that count in every block */

/* ------------------------------------------------------------------ a frame by itself --------- */

/* By the prior for single pictures; channels from `first` on. */
static csrec_status add_channels(csrec_film *f, const csrec_measurement *m, const double *middle,
                                 double unit, int64_t first, csrec_call *call, double *signal,
                                 csrec_error *error) {
    const int64_t n = f->height * f->width, C = f->channels;
    const int own = f->alone.channels;
    csrec_prior_samples s = {.channels = own, .height = f->height, .width = f->width};
    s.values = f->plane;
    s.known = f->known[0];
    s.sigma = csrec_tones_sigma(m, unit);
    s.tone = 1.0f;
    s.threads = f->r.options->threads;
    csrec_status status = CSREC_OK;
    memset(f->known[0], 0, (size_t)n);
    memset(f->sum, 0, (size_t)(own * n) * sizeof *f->sum);
    for (int64_t i = 0; i < m->n; i++) {
        f->known[0][m->index[i]] = 1;
        for (int c = 0; c < own; c++)
            f->plane[c * n + m->index[i]] =
                (float)((m->y[i * C + first + c] - middle[first + c]) / unit);
    }
    int passes = 0;
    for (; passes < f->turns && !status; passes++) {
        if (csrec_call_poll(call) && passes > 0) break;
        status = csrec_prior_pass_add(&f->alone, &s, passes, call, f->sum, NULL, error);
    }
    for (int64_t i = 0; i < n && !status; i++)
        for (int c = 0; c < own; c++)
            signal[i * C + first + c] =
                middle[first + c] + unit * (double)f->sum[c * n + i] / passes;
    return status;
}

static csrec_status by_network(csrec_film *f, const csrec_measurement *m, csrec_whole *whole,
                               csrec_call *call, double *signal, csrec_error *error) {
    csrec_pool pool = {0};
    double *middle = CSREC_TAKE(&pool, middle, f->channels);
    csrec_status status = pool.lacks ? csrec_fail(error, CSREC_MEMORY, "out of memory") : CSREC_OK;
    const double unit = status ? 1.0 : csrec_tones_unit(m, whole, middle);
    for (int64_t c = 0; c < f->channels && !status; c += f->alone.channels)
        status = add_channels(f, m, middle, unit, c, call, signal, error);
    csrec_pool_clear(&pool);
    return status;
}

/* By block cosines. */
static csrec_status by_blocks(csrec_film *f, const csrec_measurement *m, csrec_whole *whole,
                              csrec_call *call, double *signal, csrec_error *error) {
    static const csrec_setting small[] = {{"block", 8}};
    csrec_recover_options options = csrec_options_within(f->r.options, call);
    csrec_recover_report report = {0};
    csrec_recovery own = f->r;
    options.method = csrec_method_frames.info.name;
    options.solve.settings = small;
    options.solve.n_settings = 1;
    own.measurement = m;
    own.whole = whole;
    own.signal = signal;
    own.variance = own.common = NULL;
    own.atoms = NULL;
    own.report = &report;
    return csrec_recover_start(&own, &options, error);
}

static csrec_status by_itself(csrec_film *f, const csrec_measurement *m, csrec_call *call,
                              double *signal, csrec_error *error) {
    csrec_measurement plain = *m;
    csrec_whole whole;
    plain.guides = NULL;
    csrec_status status = csrec_whole_of(&plain, &whole, error);
    if (!status)
        status = (f->net.net ? by_network : by_blocks)(f, &plain, &whole, call, signal, error);
    csrec_whole_clear(&whole);
    return status;
}

/* ------------------------------------------------------------------ what is left out ---------- */

/* Of a frame: the samples that are kept, and the others; by position, so that sums do not depend on
 * their order. */
typedef struct parting {
    csrec_measurement kept, out;
    double *ways[2];  /* from what is kept: with all, by itself */
    double *variance; /* of the former, as expected; NAN: not told */
    csrec_pool pool;
} parting;

bool csrec_film_left_out(const csrec_film *f, int64_t t, int64_t entry) {
    const uint64_t place = (uint64_t)(t * f->height * f->width + entry);
    return csrec_random_uniform(f->r.options->seed, STREAM_VOTE, place) < LEFT_OUT;
}

static csrec_status part(const csrec_film *f, int64_t t, const csrec_measurement *m, parting *p,
                         csrec_error *error) {
    const int64_t C = f->channels, entries = f->height * f->width, values = entries * C;
    *p = (parting){.kept = *m, .out = *m};
    int64_t *sample = CSREC_ZEROS(&p->pool, sample, entries); /* which one, from 1 on */
    csrec_measurement *const parts[] = {&p->kept, &p->out};
    for (int k = 0; k < 2; k++) {
        parts[k]->n = 0;
        CSREC_TAKE(&p->pool, parts[k]->index, m->n);
        CSREC_TAKE(&p->pool, parts[k]->y, m->n * C);
        CSREC_TAKE(&p->pool, p->ways[k], values);
    }
    CSREC_TAKE(&p->pool, p->variance, values);
    if (p->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < values; i++) p->variance[i] = NAN;
    for (int64_t i = 0; i < m->n; i++) sample[m->index[i]] = i + 1;
    for (int64_t at = 0; at < entries; at++) {
        if (sample[at] == 0) continue;
        csrec_measurement *to = parts[csrec_film_left_out(f, t, at)];
        memcpy(to->y + to->n * C, m->y + (sample[at] - 1) * C, (size_t)C * sizeof *m->y);
        to->index[to->n++] = at;
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ shares -------------------- */

/* Products of a block: of what is missed by itself and the difference of the ways, and its square;
 * samples. */
static void add_products(const csrec_film *f, const parting *p, double *sums) {
    const int64_t C = f->channels, across = (f->width + f->block - 1) / f->block;
    for (int64_t i = 0; i < p->out.n; i++) {
        const int64_t at = p->out.index[i];
        double *to = sums + 3 * (at / f->width / f->block * across + at % f->width / f->block);
        for (int64_t c = 0; c < C; c++) {
            const double alone = p->ways[1][at * C + c], step = p->ways[0][at * C + c] - alone;
            if (!isfinite(step) || isnan(p->out.y[i * C + c])) continue;
            to[0] += (p->out.y[i * C + c] - alone) * step;
            to[1] += step * step;
        }
        to[2] += 1.0;
    }
}

static double within_1(double share) {
    return fmin(fmax(share, 0.0), 1.0);
}

/* Sums of a block and the eight around it, the nearer the more, and of the frame. */
static void divide_blocks(csrec_film *f, const double *sums) {
    const int64_t down = (f->height + f->block - 1) / f->block,
                  across = (f->width + f->block - 1) / f->block;
    double all[3] = {0.0, 0.0, 0.0};
    for (int64_t b = 0; b < 3 * down * across; b++) all[b % 3] += sums[b];
    const double mean = all[1] / fmax(all[2], 1.0);
    const double share = all[1] > 0.0 ? within_1(all[0] / all[1]) : 1.0;
    for (int64_t b = 0; b < down * across; b++) {
        double own[2] = {PRIOR * mean * share, PRIOR * mean};
        for (int64_t k = 0; k < 9; k++) {
            const int64_t y = b / across + k / 3 - 1, x = b % across + k % 3 - 1;
            if (y < 0 || x < 0 || y >= down || x >= across) continue;
            const double weight = (k / 3 == 1 ? 2.0 : 1.0) * (k % 3 == 1 ? 2.0 : 1.0) / 4.0;
            for (int s = 0; s < 2; s++) own[s] += weight * sums[3 * (y * across + x) + s];
        }
        f->share[b] = own[1] > 0.0 ? within_1(own[0] / own[1]) : 1.0;
    }
}

static csrec_status find_shares(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    csrec_film_frame *frame = csrec_film_at(f, t);
    const csrec_film_frame whole = *frame;
    parting p;
    csrec_status status = part(f, t, &whole.m, &p, error);
    double *sums = CSREC_ZEROS(&p.pool, sums, 3 * f->height * f->width);
    if (!status && p.pool.lacks) status = csrec_fail(error, CSREC_MEMORY, "out of memory");
    f->voted = !status && p.out.n >= LEAST_LEFT_OUT;
    if (f->voted) {
        const double each = (double)(f->height * f->width) / (double)p.out.n;
        f->block = (int64_t)ceil(sqrt(IN_BLOCK * each));
        frame->m = p.kept;
        status = csrec_film_recover(f, t, p.ways[0], p.variance, call, error);
        frame->m = whole.m;
        if (!status) status = by_itself(f, &p.kept, call, p.ways[1], error);
    }
    if (!status && f->voted) {
        add_products(f, &p, sums);
        divide_blocks(f, sums);
        csrec_film_scale(f, &p.out, p.ways, p.variance, LEFT_OUT);
    }
    csrec_pool_clear(&p.pool);
    return status;
}

/* ------------------------------------------------------------------ the result ---------------- */

double csrec_film_share(const csrec_film *f, int64_t y, int64_t x) {
    const int64_t down = (f->height + f->block - 1) / f->block,
                  across = (f->width + f->block - 1) / f->block;
    const double v = fmax(((double)y + 0.5) / (double)f->block - 0.5, 0.0),
                 u = fmax(((double)x + 0.5) / (double)f->block - 0.5, 0.0);
    const int64_t row = (int64_t)v < down - 1 ? (int64_t)v : down - 1,
                  column = (int64_t)u < across - 1 ? (int64_t)u : across - 1;
    const int64_t below = row + (row < down - 1), right = column + (column < across - 1);
    const double a = u - (double)column, b = v - (double)row;
    const double first = (1.0 - fmin(a, 1.0)) * f->share[row * across + column] +
                         fmin(a, 1.0) * f->share[row * across + right];
    const double second = (1.0 - fmin(a, 1.0)) * f->share[below * across + column] +
                          fmin(a, 1.0) * f->share[below * across + right];
    return first + fmin(b, 1.0) * (second - first);
}

csrec_status csrec_film_vote(csrec_film *f, int64_t t, double *signal, csrec_call *call,
                             csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    const int64_t C = f->channels;
    csrec_status status = CSREC_OK;
    if (m->n == 0 || !csrec_measurement_even(m) || csrec_call_stopped(call)) return CSREC_OK;
    if (t % EVERY == 0 || !f->voted) status = find_shares(f, t, call, error);
    if (status || !f->voted || csrec_call_stopped(call)) return status;
    status = by_itself(f, m, call, f->by_itself, error);
    if (csrec_call_stopped(call)) return status;
    for (int64_t y = 0; y < f->height && !status; y++)
        for (int64_t x = 0; x < f->width; x++) {
            const double share = csrec_film_share(f, y, x);
            for (int64_t c = 0; c < C; c++) {
                const int64_t at = (y * f->width + x) * C + c;
                if (isfinite(f->by_itself[at]))
                    signal[at] = f->by_itself[at] + share * (signal[at] - f->by_itself[at]);
            }
        }
    return status;
}
