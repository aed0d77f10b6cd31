/* SPDX-License-Identifier: BSD-3-Clause */
/* steps.c - the unsettled picks of pieces: sums over intervals of thresholds, lists. */
#include <math.h>

#include "haar/pieces.h"

/* ------------------------------------------------------------------ memory -------------------- */

/* A piece has at most as many picks in its log as four times its samples: small ones need little
 * memory. */
static int64_t room_of(const csrec_pieces_job *job, int32_t own) {
    int64_t room = 1, size = job->cut->piece[job->piece[own]].size;
    while (room < job->log && room < 4 * size) room *= 2;
    return room;
}

csrec_status csrec_steps_create(const csrec_pieces_job *job, csrec_pool *pool, csrec_steps **made) {
    csrec_steps *all = CSREC_ZEROS(pool, *made, (int64_t)job->count + 1);
    for (int32_t k = 0; all && k < job->count; k++) {
        all[k].room = room_of(job, k);
        CSREC_TAKE(pool, all[k].step, all[k].room);
    }
    return csrec_pool_status(pool);
}

/* ------------------------------------------------------------------ settling ------------------ */

void csrec_steps_settle(csrec_steps *s, int64_t settled) {
    s->begin += settled;
    s->count -= settled;
}

static int64_t count_above(const csrec_steps *s, int64_t threshold) {
    int64_t count = 0;
    while (count < s->count && csrec_steps_at(s, count)->key >= threshold) count++;
    return count;
}

void csrec_steps_settle_above(const csrec_pieces_job *job, csrec_steps *all, int64_t threshold) {
    for (int32_t k = 0; k < job->count; k++)
        csrec_steps_settle(&all[k], count_above(&all[k], threshold));
}

/* ------------------------------------------------------------------ summaries ----------------- */

typedef struct survey {
    int intervals;
    const int64_t *threshold;
    csrec_interval *interval;
    csrec_stretch *stretch;
    int64_t stretches, next;
} survey;

static int interval_of(const survey *s, int from, int64_t m) {
    while (from < s->intervals && m < s->threshold[from]) from++;
    return from;
}

/* Picks from *i on that are in the interval of the first of them; m: the smallest key so far. */
static void survey_stretch(survey *s, const csrec_steps *p, int interval, int64_t *i, int64_t *m,
                           csrec_stretch *to) {
    csrec_interval *all = &s->interval[interval];
    double sum = 0.0;
    all->largest = csrec_larger(all->largest, csrec_smaller(*m, csrec_steps_at(p, *i)->key));
    for (; *i < p->count; ++*i) {
        const csrec_step *e = csrec_steps_at(p, *i);
        if (e->key < s->threshold[interval]) break;
        *m = csrec_smaller(*m, e->key);
        sum += e->change;
        to->low = fmin(to->low, sum);
        to->high = fmax(to->high, sum);
        all->picks++;
        all->gain += e->gain;
    }
    to->change = sum;
}

static void survey_piece(survey *s, const csrec_steps *p, int32_t number) {
    int64_t i = 0, m = INT64_MAX;
    int at = 0;
    while (i < p->count &&
           (at = interval_of(s, at, csrec_smaller(m, csrec_steps_at(p, i)->key))) < s->intervals) {
        csrec_stretch *to = &s->stretch[s->stretches++];
        *to = (csrec_stretch){.piece = number, .interval = at};
        survey_stretch(s, p, at, &i, &m, to);
    }
    m = csrec_smaller(m, i < p->count ? csrec_steps_at(p, i)->key : p->head);
    at = interval_of(s, at, m);
    if (at == s->intervals || i < p->count || !p->halt) {
        s->next = csrec_larger(s->next, m);
    } else {
        s->interval[at].halts++;
        s->interval[at].largest = csrec_larger(s->interval[at].largest, m);
    }
}

int64_t csrec_steps_survey(const csrec_pieces_job *job, const csrec_steps *all, int intervals,
                           const int64_t *threshold, csrec_interval *interval,
                           csrec_stretch *stretch, int64_t *next) {
    survey s = {intervals, threshold, interval, stretch, 0, -1};
    for (int32_t k = 0; k < job->count; k++) survey_piece(&s, &all[k], job->piece[k]);
    *next = s.next;
    return s.stretches;
}

int64_t csrec_steps_list(const csrec_pieces_job *job, const csrec_steps *all, int64_t threshold,
                         csrec_move *move) {
    int64_t n = 0;
    for (int32_t k = 0; k < job->count; k++) {
        const csrec_steps *p = &all[k];
        int64_t count = count_above(p, threshold);
        bool halts = count == p->count && p->halt && p->head >= threshold;
        for (int64_t i = 0; move && i < count; i++) {
            const csrec_step *e = csrec_steps_at(p, i);
            move[n + i] = (csrec_move){e->key, e->gain, e->change, job->piece[k], 0};
        }
        n += count;
        if (!halts) continue;
        if (move) move[n] = (csrec_move){p->head, 0, 0.0, job->piece[k], p->halt};
        n++;
    }
    return n;
}
