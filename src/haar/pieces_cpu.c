/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces_cpu.c - pieces on the CPU: an eager pursuit and a log for each. */
#include <math.h>
#include <stdlib.h>

#include "haar/eager.h"
#include "haar/pieces.h"

/* ---- the unsettled picks of pieces: sums over intervals of thresholds, lists. */

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

typedef struct piece {
    csrec_tree tree;
    csrec_eager *eager;
} piece;

typedef struct pieces {
    const csrec_pieces_job *job;
    piece *piece; /* [job->count] */
} pieces;

/* A pick as the code of a step. */
static int64_t code_of(csrec_pick pick) {
    return (int64_t)pick.at * 8 + pick.kind;
}

static csrec_pick pick_of(int64_t code) {
    csrec_pick pick = {.at = (int32_t)(code >> 3)};
    pick.kind = code & 7;
    return pick;
}

/* ------------------------------------------------------------------ create -------------------- */

static void clear_piece(piece *p) {
    csrec_pool_destroy(p->eager);
    csrec_tree_clear(&p->tree);
}

static void cpu_destroy(void *state) {
    pieces *all = state;
    if (!all) return;
    for (int32_t k = 0; all->piece && k < all->job->count; k++) clear_piece(&all->piece[k]);
    free(all->piece);
    free(all);
}

static csrec_status create_piece(const csrec_pieces_job *job, int32_t own, piece *p) {
    const csrec_piece *where = &job->cut->piece[job->piece[own]];
    csrec_status status = csrec_tree_create(job->cut->levels, where->size, job->rows + where->first,
                                            job->cut->columns, &p->tree);
    return status ? status
                  : csrec_eager_create(&p->tree, job->y + where->first, job->units, where->edge,
                                       &p->eager);
}

static csrec_status cpu_create(const csrec_pieces_job *job, void **state, csrec_error *error) {
    pieces *all = calloc(1, sizeof *all);
    if (!all) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    all->job = job;
    all->piece = calloc((size_t)job->count + 1, sizeof *all->piece);
    csrec_status status = all->piece ? CSREC_OK : CSREC_MEMORY;
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->threads)
    for (int32_t k = 0; k < job->count; k++) {
        csrec_status own = all->piece ? create_piece(job, k, &all->piece[k]) : CSREC_MEMORY;
        if (own) {
#pragma omp atomic write
            status = own;
        }
    }
    if (!status) {
        *state = all;
        return CSREC_OK;
    }
    cpu_destroy(all);
    return csrec_fail(error, status, "%s", csrec_status_text(status));
}

static void cpu_start(const void *state, double *sum, csrec_wide *energy) {
    const pieces *all = state;
    *energy = 0;
    for (int32_t k = 0; k < all->job->count; k++) {
        sum[k] = all->piece[k].eager->total;
        *energy += all->piece[k].eager->energy;
    }
}

/* ------------------------------------------------------------------ picks --------------------- */

static void run_piece(csrec_eager *e, int64_t theta, double small, csrec_steps *s) {
    for (s->halt = CSREC_HALT_NONE; (s->head = csrec_eager_key(e)) >= theta; s->count++) {
        double before = e->total;
        if (s->count == s->room) {
            s->halt = CSREC_HALT_FULL;
            return;
        }
        if (e->simd->select(e) < small) {
            s->halt = CSREC_HALT_SMALL;
            return;
        }
        if (!e->simd->update(e)) {
            s->halt = CSREC_HALT_STALL;
            return;
        }
        *csrec_steps_at(s, s->count) =
            (csrec_step){s->head, code_of(e->pick), e->step, e->total - before, e->gain};
    }
}

static csrec_status cpu_run(void *state, int64_t theta, csrec_steps *all, csrec_error *error) {
    pieces *own = state;
    (void)error;
#pragma omp parallel for schedule(dynamic, 1) num_threads(own->job->threads)
    for (int32_t k = 0; k < own->job->count; k++)
        run_piece(own->piece[k].eager, theta, own->job->small, &all[k]);
    return CSREC_OK;
}

static void cpu_undo(void *state, int32_t own, csrec_steps *s) {
    csrec_eager *e = ((pieces *)state)->piece[own].eager;
    while (s->count > 0) {
        const csrec_step *last = csrec_steps_at(s, --s->count);
        e->pick = pick_of(last->code);
        e->simd->apply(e, -last->d);
    }
}

static void cpu_shift(void *state, int32_t own, double t) {
    csrec_eager *e = ((pieces *)state)->piece[own].eager;
    e->simd->shift(e, t);
}

/* ------------------------------------------------------------------ results ------------------- */

static csrec_status cpu_result(const void *state, int32_t own, csrec_atoms *atoms,
                               csrec_error *error) {
    const pieces *all = state;
    const csrec_eager *e = all->piece[own].eager;
    const double *y = all->job->y + all->job->cut->piece[all->job->piece[own]].first;
    csrec_status status = csrec_eager_result(e, y, atoms, NULL);
    return status ? csrec_fail(error, status, "out of memory for the atoms") : CSREC_OK;
}

const csrec_pieces_type csrec_pieces_cpu = {cpu_create, cpu_destroy, cpu_start, cpu_run,
                                            cpu_undo,   cpu_shift,   cpu_result};
