/* pieces_cpu.c - pieces on the CPU: an eager pursuit and a log for each. */
#include <stdlib.h>

#include "haar/atoms.h"
#include "haar/eager.h"
#include "haar/pieces.h"

/* A step that can be taken back. */
typedef struct entry {
    int64_t key;
    csrec_pick pick;
    double step, change;
    csrec_wide gain;
} entry;

typedef struct piece {
    csrec_tree tree;
    csrec_eager *eager;
    entry *log;           /* [room] a ring */
    int64_t begin, count; /* unsettled picks: begin .. begin + count - 1, modulo room */
    int64_t room;         /* a power of two */
    csrec_halt halt;      /* of the last run */
    int64_t head;         /* its best key */
} piece;

typedef struct pieces {
    const csrec_pieces_job *job;
    piece *piece; /* [job->count] */
} pieces;

static entry *entry_at(const piece *p, int64_t i) {
    return &p->log[(p->begin + i) & (p->room - 1)];
}

/* ------------------------------------------------------------------ create -------------------- */

static void clear_piece(piece *p) {
    csrec_eager_destroy(p->eager);
    csrec_tree_clear(&p->tree);
    free(p->log);
}

static void cpu_destroy(void *state) {
    pieces *all = state;
    if (!all) return;
    for (int32_t k = 0; all->piece && k < all->job->count; k++) clear_piece(&all->piece[k]);
    free(all->piece);
    free(all);
}

/* A piece has at most as many picks in its log as four times its samples: small ones need little
 * memory. */
static int64_t room_of(const csrec_pieces_job *job, int64_t size) {
    int64_t room = 1;
    while (room < job->log && room < 4 * size) room *= 2;
    return room;
}

static csrec_status create_piece(const csrec_pieces_job *job, int32_t own, piece *p) {
    const csrec_piece *where = &job->cut->piece[job->piece[own]];
    p->room = room_of(job, where->size);
    p->log = malloc((size_t)p->room * sizeof *p->log);
    csrec_status status =
        p->log ? csrec_tree_create(job->cut->levels, where->size, job->rows + where->first,
                                   job->cut->columns, &p->tree)
               : CSREC_MEMORY;
    return status ? status
                  : csrec_eager_create(&p->tree, job->y + where->first, job->units, where->edge,
                                       &p->eager);
}

static csrec_status cpu_create(const csrec_pieces_job *job, void **state) {
    pieces *all = calloc(1, sizeof *all);
    if (!all) return CSREC_MEMORY;
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
    if (status)
        cpu_destroy(all);
    else
        *state = all;
    return status;
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

static void run_piece(piece *p, int64_t theta, double small) {
    csrec_eager *e = p->eager;
    for (p->halt = CSREC_HALT_NONE; (p->head = csrec_eager_key(e)) >= theta; p->count++) {
        double before = e->total;
        if (p->count == p->room) {
            p->halt = CSREC_HALT_FULL;
            return;
        }
        if (e->simd->select(e) < small) {
            p->halt = CSREC_HALT_SMALL;
            return;
        }
        if (!e->simd->update(e)) {
            p->halt = CSREC_HALT_STALL;
            return;
        }
        *entry_at(p, p->count) = (entry){p->head, e->pick, e->step, e->total - before, e->gain};
    }
}

static void cpu_run(void *state, int64_t theta) {
    pieces *all = state;
#pragma omp parallel for schedule(dynamic, 1) num_threads(all->job->threads)
    for (int32_t k = 0; k < all->job->count; k++) run_piece(&all->piece[k], theta, all->job->small);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void undo_piece(piece *p) {
    csrec_eager *e = p->eager;
    while (p->count > 0) {
        const entry *last = entry_at(p, --p->count);
        e->pick = last->pick;
        e->simd->apply(e, -last->step);
    }
}

static int64_t cpu_undo(void *state, int64_t first, int64_t size) {
    pieces *all = state;
    int64_t undone = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(all->job->threads) reduction(+ : undone)
    for (int32_t k = 0; k < all->job->count; k++) {
        const csrec_piece *where = &all->job->cut->piece[all->job->piece[k]];
        if (where->first < first || where->first >= first + size) continue;
        undone += all->piece[k].count;
        undo_piece(&all->piece[k]);
    }
    return undone;
}

static void settle_piece(piece *p, int64_t settled) {
    p->begin += settled;
    p->count -= settled;
}

static void cpu_settle(void *state, const int64_t *settled) {
    pieces *all = state;
    for (int32_t k = 0; k < all->job->count; k++) settle_piece(&all->piece[k], settled[k]);
}

static int64_t count_above(const piece *p, int64_t threshold) {
    int64_t count = 0;
    while (count < p->count && entry_at(p, count)->key >= threshold) count++;
    return count;
}

static void cpu_settle_above(void *state, int64_t threshold) {
    pieces *all = state;
    for (int32_t k = 0; k < all->job->count; k++)
        settle_piece(&all->piece[k], count_above(&all->piece[k], threshold));
}

static void cpu_shift(void *state, const csrec_top *top, bool indicator, double d) {
    pieces *all = state;
#pragma omp parallel for schedule(dynamic, 1) num_threads(all->job->threads)
    for (int32_t k = 0; k < all->job->count; k++) {
        csrec_eager *e = all->piece[k].eager;
        int64_t first = all->job->cut->piece[all->job->piece[k]].first;
        double t = csrec_cut_shift(top, indicator, d, first);
        if (t != 0.0) e->simd->shift(e, t);
    }
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
static void survey_stretch(survey *s, const piece *p, int interval, int64_t *i, int64_t *m,
                           csrec_stretch *to) {
    csrec_interval *all = &s->interval[interval];
    double sum = 0.0;
    all->largest = larger(all->largest, smaller(*m, entry_at(p, *i)->key));
    for (; *i < p->count; ++*i) {
        const entry *e = entry_at(p, *i);
        if (e->key < s->threshold[interval]) break;
        *m = smaller(*m, e->key);
        sum += e->change;
        to->low = fmin(to->low, sum);
        to->high = fmax(to->high, sum);
        all->picks++;
        all->gain += e->gain;
    }
    to->change = sum;
}

static void survey_piece(survey *s, const piece *p, int32_t number) {
    int64_t i = 0, m = INT64_MAX;
    int at = 0;
    while (i < p->count &&
           (at = interval_of(s, at, smaller(m, entry_at(p, i)->key))) < s->intervals) {
        csrec_stretch *to = &s->stretch[s->stretches++];
        *to = (csrec_stretch){.piece = number, .interval = at};
        survey_stretch(s, p, at, &i, &m, to);
    }
    m = smaller(m, i < p->count ? entry_at(p, i)->key : p->head);
    at = interval_of(s, at, m);
    if (at == s->intervals || i < p->count || !p->halt) {
        s->next = larger(s->next, m);
    } else {
        s->interval[at].halts++;
        s->interval[at].largest = larger(s->interval[at].largest, m);
    }
}

static int64_t cpu_survey(const void *state, int intervals, const int64_t *threshold,
                          csrec_interval *interval, csrec_stretch *stretch, int64_t *next) {
    const pieces *all = state;
    survey s = {intervals, threshold, interval, stretch, 0, -1};
    for (int32_t k = 0; k < all->job->count; k++)
        survey_piece(&s, &all->piece[k], all->job->piece[k]);
    *next = s.next;
    return s.stretches;
}

static int64_t cpu_list(const void *state, int64_t threshold, csrec_move *move) {
    const pieces *all = state;
    int64_t n = 0;
    for (int32_t k = 0; k < all->job->count; k++) {
        const piece *p = &all->piece[k];
        int64_t count = count_above(p, threshold);
        bool halts = count == p->count && p->halt && p->head >= threshold;
        for (int64_t i = 0; move && i < count; i++) {
            const entry *e = entry_at(p, i);
            move[n + i] = (csrec_move){e->key, e->gain, e->change, all->job->piece[k], 0};
        }
        n += count;
        if (!halts) continue;
        if (move) move[n] = (csrec_move){p->head, 0, 0.0, all->job->piece[k], p->halt};
        n++;
    }
    return n;
}

/* ------------------------------------------------------------------ results ------------------- */

static csrec_status cpu_result(const void *state, int32_t own, csrec_atoms *atoms, double *r) {
    const pieces *all = state;
    const csrec_eager *e = all->piece[own].eager;
    const double *y = all->job->y + all->job->cut->piece[all->job->piece[own]].first;
    csrec_listing listing = {{0}};
    if (r) csrec_eager_residual(e, y, r);
    if (!atoms) return CSREC_OK;
    csrec_eager_list(e, y, &listing, NULL);
    csrec_status status = csrec_atoms_create(csrec_listing_start(&listing), atoms);
    if (!status) csrec_eager_list(e, y, &listing, atoms);
    return status;
}

const csrec_pieces_type csrec_pieces_cpu = {cpu_create, cpu_destroy, cpu_start,        cpu_run,
                                            cpu_survey, cpu_list,    cpu_settle_above, cpu_settle,
                                            cpu_undo,   cpu_shift,   cpu_result};
