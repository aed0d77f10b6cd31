/* SPDX-License-Identifier: BSD-3-Clause */
/* vote.c - where a frame by itself counts: the share of either way is what errs least at samples
 * that both do without, block by block. */
#include <math.h>
#include <string.h>

#include "csrec/sampling.h"
#include "method/beside/beside.h"

enum { STREAM_VOTE = 1 << 23, LEAST_LEFT_OUT = 24, STEP = 4 };

static const double LEFT_OUT = 0.15; /* of the samples of a frame */
static const double IN_BLOCK = 6.0;  /* samples left out in a block, about */
static const double STAY = 0.7;      /* of holes, where those of other frames are */
static const double PRIOR = 12.0; /* samples of the mean of the frame that count in every block */

/* Of a frame: the samples that are kept, those that are left out here and there, and those that are
 * hidden as others are by the frame's holes, which other frames have moved by as much; by position,
 * so that sums do not depend on their order. */
typedef struct parting {
    csrec_measurement kept, out, hidden;
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
    const csrec_holes *holes = &f->holes[csrec_film_slot(f, t)];
    *p = (parting){.kept = *m, .out = *m, .hidden = *m};
    int64_t *sample = CSREC_ZEROS(&p->pool, sample, entries); /* which one, from 1 on */
    csrec_measurement *const parts[] = {&p->kept, &p->out, &p->hidden};
    for (int k = 0; k < 3; k++) {
        parts[k]->n = 0;
        CSREC_TAKE(&p->pool, parts[k]->index, m->n);
        CSREC_TAKE(&p->pool, parts[k]->y, m->n * C);
    }
    for (int k = 0; k < 2; k++) CSREC_TAKE(&p->pool, p->ways[k], values);
    CSREC_TAKE(&p->pool, p->variance, values);
    if (p->pool.lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < values; i++) p->variance[i] = NAN;
    for (int64_t i = 0; i < m->n; i++) sample[m->index[i]] = i + 1;
    for (int64_t at = 0; at < entries; at++) {
        if (sample[at] == 0) continue;
        const bool hides =
            p->hidden.n < m->n / 2 && csrec_holes_moved(holes, at / f->width, at % f->width);
        csrec_measurement *to = parts[hides ? 2 : csrec_film_left_out(f, t, at)];
        memcpy(to->y + to->n * C, m->y + (sample[at] - 1) * C, (size_t)C * sizeof *m->y);
        to->index[to->n++] = at;
    }
    return CSREC_OK;
}

static double within_1(double share) {
    return fmin(fmax(share, 0.0), 1.0);
}

/* At a sample: the product of what is missed by itself and the difference of the ways; its square;
 * and 1. */
static void add_product(const csrec_film *f, const parting *p, const csrec_measurement *out,
                        int64_t i, double sums[3]) {
    const int64_t C = f->channels, at = out->index[i];
    for (int64_t c = 0; c < C; c++) {
        const double alone = p->ways[1][at * C + c], step = p->ways[0][at * C + c] - alone;
        const double weighed = f->weight[c] * f->weight[c] * step;
        if (!isfinite(step) || isnan(out->y[i * C + c])) continue;
        sums[0] += (out->y[i * C + c] - alone) * weighed;
        sums[1] += step * weighed;
    }
    sums[2] += 1.0;
}

/* Samples here and there tell nothing of holes, where a frame by itself is made up; those that are
 * hidden in the same shapes do. Without guides and other frames nothing is known beside it. */
static void divide_holes(csrec_film *f, const parting *p) {
    double all[3] = {0.0, 0.0, 0.0};
    for (int64_t i = 0; i < p->hidden.n; i++) add_product(f, p, &p->hidden, i, all);
    const bool itself = f->lonely && (f->unguided || !p->kept.guides);
    f->far = itself                                     ? 0.0
             : all[2] >= LEAST_LEFT_OUT && all[1] > 0.0 ? within_1(all[0] / all[1])
                                                        : 1.0;
}

static void divide_blocks(csrec_film *f, const parting *p, double *sums) {
    const int64_t count = f->blocks.down * f->blocks.across;
    double all[3] = {0.0, 0.0, 0.0};
    for (int64_t i = 0; i < p->out.n; i++) {
        const int64_t at = p->out.index[i];
        add_product(f, p, &p->out, i,
                    sums + 3 * csrec_blocks_at(&f->blocks, at / f->width, at % f->width));
    }
    for (int64_t b = 0; b < 3 * count; b++) all[b % 3] += sums[b];
    const double mean = PRIOR * all[1] / fmax(all[2], 1.0);
    const double share = all[1] > 0.0 ? within_1(all[0] / all[1]) : 1.0;
    for (int64_t b = 0; b < count; b++) {
        const double steps = mean + csrec_blocks_around(&f->blocks, sums + 1, 3, b);
        const double missed = mean * share + csrec_blocks_around(&f->blocks, sums, 3, b);
        f->share[b] = steps > 0.0 ? within_1(missed / steps) : 1.0;
    }
}

/* Whether the holes of the frames around are mostly where those of frame t are: then hidden samples
 * are hidden there, too. */
static bool holes_stay(const csrec_film *f, int64_t t) {
    const csrec_holes *own = &f->holes[csrec_film_slot(f, t)];
    double both = 0.0, frames = 0.0, area = 0.0;
    for (int64_t k = t - f->reach; k <= t + f->reach; k++) {
        if (k < 0 || k >= f->pushed || k == t) continue;
        const csrec_holes *other = &f->holes[csrec_film_slot(f, k)];
        frames += 1.0;
        for (int64_t y = 0; y < f->height; y += STEP)
            for (int64_t x = 0; x < f->width; x += STEP) {
                const double hole = csrec_holes_at(own, y, x);
                area += hole;
                both += hole * csrec_holes_at(other, y, x);
            }
    }
    return frames > 0.0 && both > STAY * area;
}

/* Squares that the way with all misses at samples that it does without. */
static double missed(const csrec_film *f, const parting *p) {
    const csrec_measurement *const parts[] = {&p->out, &p->hidden};
    const int64_t C = f->channels;
    double sum = 0.0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < parts[k]->n * C; i++) {
            const double off = parts[k]->y[i] - p->ways[0][parts[k]->index[i / C] * C + i % C];
            if (isfinite(off)) sum += f->weight[i % C] * f->weight[i % C] * off * off;
        }
    return sum;
}

/* With guides and without, of which the better remains. */
static csrec_status try_guides(csrec_film *f, int64_t t, parting *p, csrec_call *call,
                               csrec_error *error) {
    const parting guided = *p;
    const int64_t values = f->height * f->width * f->channels;
    CSREC_TAKE(&p->pool, p->ways[0], values);
    CSREC_TAKE(&p->pool, p->variance, values);
    if (p->pool.lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < values; i++) p->variance[i] = NAN;
    f->unguided = false;
    csrec_status status = csrec_film_recover(f, t, guided.ways[0], guided.variance, call, error);
    f->unguided = true;
    if (!status) status = csrec_film_recover(f, t, p->ways[0], p->variance, call, error);
    f->unguided = !status && missed(f, p) < missed(f, &guided);
    if (!f->unguided) {
        p->ways[0] = guided.ways[0];
        p->variance = guided.variance;
    }
    return status;
}

static csrec_status find_shares(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    csrec_film_frame *frame = csrec_film_at(f, t);
    const csrec_film_frame whole = *frame;
    parting p;
    csrec_status status = part(f, t, &whole.m, &p, error);
    double *sums = CSREC_ZEROS(&p.pool, sums, 3 * f->height * f->width);
    if (!status && p.pool.lacks) status = csrec_memory_fail(error, NULL);
    f->voted = !status && p.out.n >= LEAST_LEFT_OUT;
    if (f->voted) {
        const double each = (double)(f->height * f->width) / (double)p.out.n;
        f->blocks = csrec_blocks_of((int64_t)ceil(sqrt(IN_BLOCK * each)), f->height, f->width);
        frame->m = p.kept;
        f->hides = holes_stay(f, t);
        status = f->reach > 0 && whole.m.guides
                     ? try_guides(f, t, &p, call, error)
                     : csrec_film_recover(f, t, p.ways[0], p.variance, call, error);
        f->hides = false;
        frame->m = whole.m;
        if (!status) status = csrec_film_itself(f, &p.kept, call, p.ways[1], error);
    }
    if (!status && f->voted) {
        divide_blocks(f, &p, sums);
        divide_holes(f, &p);
        if (csrec_film_scale(f, &p.out, p.ways, p.variance, LEFT_OUT))
            status = csrec_memory_fail(error, NULL);
    }
    csrec_pool_clear(&p.pool);
    return status;
}

double csrec_film_share(const csrec_film *f, int64_t y, int64_t x) {
    return csrec_blocks_between(&f->blocks, f->share, y, x);
}

csrec_status csrec_film_decide(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    const bool holds = t % CSREC_FILM_EVERY != 0 && f->voted && !f->changes;
    return holds || csrec_film_thin(f, t) || csrec_call_stopped(call)
               ? CSREC_OK
               : find_shares(f, t, call, error);
}

csrec_status csrec_film_vote(csrec_film *f, int64_t t, double *signal, csrec_call *call,
                             csrec_error *error) {
    const int64_t C = f->channels;
    const double *alone = csrec_film_kept(f, t);
    const csrec_holes *holes = &f->holes[csrec_film_slot(f, t)];
    csrec_status status = CSREC_OK;
    if (csrec_film_thin(f, t) || !f->voted || csrec_call_stopped(call)) return CSREC_OK;
    status = csrec_film_alone(f, t, call, error);
    if (csrec_call_stopped(call)) return status;
    for (int64_t y = 0; y < f->height && !status; y++)
        for (int64_t x = 0; x < f->width; x++) {
            const double near = csrec_film_share(f, y, x);
            const double share = near + csrec_holes_at(holes, y, x) * (f->far - near);
            for (int64_t c = 0; c < C; c++) {
                const int64_t at = (y * f->width + x) * C + c;
                if (isfinite(alone[at])) signal[at] = alone[at] + share * (signal[at] - alone[at]);
            }
        }
    return status;
}
