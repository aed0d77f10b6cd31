/* SPDX-License-Identifier: BSD-3-Clause */
/* rounds.c - a shared pursuit from threshold to threshold. */
#include "haar/shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Above every key: that of infinity. */
static const int64_t BEYOND = INT64_C(0x7FF0000000000000);

void csrec_rounds_end(csrec_rounds *r, csrec_outcome outcome) {
    r->ended = true;
    r->outcome = outcome;
}

static bool reached(const csrec_rounds *r, csrec_wide energy) {
    return csrec_wide_double(energy) / r->units / r->units <= r->job->goal;
}

bool csrec_rounds_over(csrec_rounds *r) {
    if (reached(r, r->energy))
        csrec_rounds_end(r, CSREC_CONVERGED);
    else if (r->iterations >= r->job->limit)
        csrec_rounds_end(r, CSREC_STEP_LIMIT);
    return r->ended;
}

static csrec_rounds_head *head_of(csrec_rounds *r) {
    return (csrec_rounds_head *)(void *)r->message;
}

static csrec_interval *intervals_of(csrec_rounds *r) {
    return (csrec_interval *)(void *)(r->message + sizeof(csrec_rounds_head));
}

static csrec_stretch *stretches_of(csrec_rounds *r) {
    return (csrec_stretch *)(void *)(intervals_of(r) + r->intervals);
}

/* The survey of a process. */
typedef struct survey {
    const csrec_rounds_head *head;
    const csrec_interval *interval;
    const csrec_stretch *stretch;
} survey;

static survey survey_of(const csrec_rounds *r, int rank) {
    size_t bytes;
    const char *data = csrec_gather_of(&r->gather, rank, &bytes);
    survey s = {.head = (const void *)data};
    s.interval = (const void *)(s.head + 1);
    s.stretch = (const void *)(s.interval + r->intervals);
    return s;
}

static void add_interval(csrec_interval *to, const csrec_interval *one) {
    to->picks += one->picks;
    to->halts += one->halts;
    to->gain += one->gain;
    to->largest = csrec_larger(to->largest, one->largest);
}

static void clear_intervals(csrec_interval *interval, int count) {
    for (int i = 0; i < count; i++) interval[i] = (csrec_interval){.largest = -1};
}

/* Lists the stretches of all processes by interval: counts, begins, then places. */
static void sort_stretches(csrec_rounds *r) {
    int64_t next[CSREC_INTERVALS] = {0};
    int size = csrec_comm_size(r->job->comm);
    for (int rank = 0; rank < size; rank++) {
        survey s = survey_of(r, rank);
        for (int64_t k = 0; k < s.head->stretches; k++) next[s.stretch[k].interval]++;
    }
    r->begin[0] = 0;
    for (int i = 0; i < CSREC_INTERVALS; i++) {
        r->begin[i + 1] = r->begin[i] + next[i];
        next[i] = r->begin[i];
    }
    for (int rank = 0; rank < size; rank++) {
        survey s = survey_of(r, rank);
        for (int64_t k = 0; k < s.head->stretches; k++)
            r->stretch[next[s.stretch[k].interval]++] = &s.stretch[k];
    }
}

/* Exchanges the message's surveys, and adds them up. */
static csrec_status exchange(csrec_rounds *r, csrec_error *error) {
    size_t bytes = (size_t)((char *)(stretches_of(r) + head_of(r)->stretches) - r->message);
    double start = csrec_seconds();
    csrec_status status = csrec_gather_all(&r->gather, r->message, bytes, error);
    r->report->waited += csrec_seconds() - start;
    r->report->rounds++;
    r->next = -1;
    clear_intervals(r->interval, r->intervals);
    for (int rank = 0; rank < csrec_comm_size(r->job->comm) && !status; rank++) {
        survey s = survey_of(r, rank);
        status = (csrec_status)s.head->status;
        if (status)
            return csrec_fail(error, status, "process %d: %s", rank, csrec_status_text(status));
        r->stop = r->stop || s.head->stop;
        r->next = csrec_larger(r->next, s.head->next);
        for (int i = 0; i < r->intervals; i++) add_interval(&r->interval[i], &s.interval[i]);
    }
    if (!status) sort_stretches(r);
    return status;
}

/* Whether its picks come in any order before all others, and none above the pieces between them. */
static bool passes(csrec_rounds *r, int i) {
    const csrec_interval *interval = &r->interval[i];
    r->suspects = 0;
    if (interval->picks == 0 && interval->halts == 0) return true;
    csrec_cut_narrow(&r->cut);
    for (int64_t k = r->begin[i]; k < r->begin[i + 1]; k++)
        csrec_cut_widen(&r->cut, r->stretch[k]->piece, r->stretch[k]->low, r->stretch[k]->high);
    for (int32_t t = 0; t < r->cut.tops; t++)
        if (csrec_cut_bound(&r->cut.top[t]) >= r->threshold[i]) r->suspect[r->suspects++] = t;
    return r->suspects == 0 && interval->halts == 0 &&
           r->iterations + interval->picks <= r->job->limit &&
           !reached(r, r->energy - interval->gain);
}

static void settle(csrec_rounds *r, int i) {
    for (int64_t k = r->begin[i]; k < r->begin[i + 1]; k++)
        csrec_cut_move(&r->cut, r->stretch[k]->piece, r->stretch[k]->change);
    r->energy -= r->interval[i].gain;
    r->iterations += r->interval[i].picks;
}

csrec_status csrec_rounds_begin(csrec_rounds *r, csrec_status status, const csrec_error *why,
                                csrec_error *error) {
    r->intervals = 1;
    if (status) {
        csrec_rounds_head failed = {.status = status};
        csrec_gather_all(&r->gather, &failed, sizeof failed, NULL);
        return csrec_fail(error, status, "pursuit of %lld samples: %s", (long long)r->job->n,
                          why->text[0] ? why->text : csrec_status_text(status));
    }
    csrec_rounds_head *head = head_of(r);
    csrec_wide energy;
    double *sum = malloc(((size_t)r->pieces.count + 1) * sizeof *sum);
    *head = (csrec_rounds_head){.status = sum ? CSREC_OK : CSREC_MEMORY, .next = -1};
    clear_intervals(intervals_of(r), 1);
    if (sum) {
        r->type->start(r->engine, sum, &energy);
        intervals_of(r)->gain = -energy;
        head->stretches = r->pieces.count;
        for (int32_t k = 0; k < r->pieces.count; k++)
            stretches_of(r)[k] = (csrec_stretch){.piece = r->own[k], .change = sum[k]};
    }
    free(sum);
    status = exchange(r, error);
    if (!status) settle(r, 0);
    return status;
}

static void put_threshold(csrec_rounds *r, int64_t key) {
    if (r->intervals == 0 || key < r->threshold[r->intervals - 1])
        r->threshold[r->intervals++] = key;
}

/* Divides low .. high - 1, and at the key of the best column above the pieces, which will come next
 * if nothing changes it. */
static void divide(csrec_rounds *r, int64_t low, int64_t high, int64_t top, int parts) {
    r->intervals = 0;
    bool inside = top > low && top < high;
    int64_t step = csrec_larger((high - low) / parts, 1);
    for (int k = parts - 1; k >= 0; k--) {
        int64_t key = low + step * k;
        if (k > 0 && key >= high) continue;
        if (inside && key < top) {
            put_threshold(r, top);
            inside = false;
        }
        put_threshold(r, key);
    }
}

/* Intervals of new picks: of many pieces few, as each has a stretch in each. */
static int parts_of(const csrec_rounds *r, bool within) {
    enum { MOST = CSREC_INTERVALS - 1, STRETCHES = 256, LEAST = 3 };
    int64_t parts = STRETCHES / r->cut.pieces;
    return within ? MOST : (int)csrec_smaller(csrec_larger(parts, LEAST), MOST);
}

static csrec_status look(csrec_rounds *r, csrec_error *error) {
    bool within = r->high > r->low;
    int64_t low = within ? r->low : r->theta, high = within ? r->high : r->next + 1;
    divide(r, low, csrec_larger(high, low), csrec_cut_best(&r->cut).key + 1, parts_of(r, within));
    csrec_status status = r->type->run(r->engine, r->theta, r->steps, error);
    csrec_rounds_head *head = head_of(r);
    *head = (csrec_rounds_head){.status = status};
    clear_intervals(intervals_of(r), r->intervals);
    if (!status)
        head->stretches = csrec_steps_survey(&r->pieces, r->steps, r->intervals, r->threshold,
                                             intervals_of(r), stretches_of(r), &head->next);
    const csrec_shared_job *job = r->job;
    if (job->stops)
        head->stop = job->stops(job->context, r->iterations,
                                csrec_wide_double(r->energy) / r->units / r->units);
    csrec_status all = exchange(r, status ? NULL : error);
    return status ? status : all;
}

/* Takes back all unsettled picks of a piece; returns their number. */
static int64_t undo(csrec_rounds *r, int32_t own) {
    int64_t count = r->steps[own].count;
    if (count > 0) r->type->undo(r->engine, own, &r->steps[own]);
    return count;
}

/* The step on a top's column changes the pieces below it, whose unsettled picks are wrong then. */
static void shift_pieces(csrec_rounds *r, const csrec_top *top, bool indicator, double d) {
    int64_t undone = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->pieces.threads) reduction(+ : undone)
    for (int32_t k = 0; k < r->pieces.count; k++) {
        double t = csrec_cut_shift(top, indicator, d, r->cut.piece[r->own[k]].first);
        if (t == 0.0) continue;
        undone += undo(r, k);
        r->type->shift(r->engine, k, t);
    }
    r->report->undone += undone;
}

void csrec_rounds_pick(csrec_rounds *r, const csrec_top_pick *pick) {
    const csrec_top *top = &r->cut.top[pick->top];
    double v = csrec_cut_sum(&r->cut, pick), size = (double)top->size;
    double d = csrec_pursuit_step(v, size);
    csrec_wide gain = csrec_pursuit_gain(v, size, d);
    if (fabs(v) * top->scale / r->units < r->job->small) {
        csrec_rounds_end(r, CSREC_SMALL);
        return;
    }
    if (gain <= 0) {
        csrec_rounds_end(r, CSREC_EXHAUSTED);
        return;
    }
    shift_pieces(r, top, pick->indicator, d);
    csrec_cut_apply(&r->cut, pick, d);
    r->energy -= gain;
    r->iterations++;
    r->report->tops++;
    r->low = r->high = 0;
}

/* An eighth of an octave: where few picks were, there may be many just below. */
static const double MOST_STEP = 0x1p49;

/* All down to theta is settled: pieces go on, about as many picks as are wanted in a round, but not
 * beyond the best column above them, which is next then if nothing changes it. */
static void go_down(csrec_rounds *r, int64_t best, int64_t next) {
    int64_t wanted = csrec_smaller(r->batch, r->job->limit - r->iterations);
    double more = (double)wanted / (double)(r->made > 0 ? r->made : 1);
    r->step = (int64_t)fmin((double)r->step * fmin(fmax(more, 0.125), 2.0), MOST_STEP) + 1;
    int64_t theta = csrec_larger(csrec_larger(next - r->step, best + 1), r->floor);
    r->step = next - theta;
    r->theta = theta;
    r->made = 0;
}

/* The first `passed` intervals are settled; the next pick of a piece is one of m = next. */
static csrec_status decide(csrec_rounds *r, int passed, int64_t next, csrec_error *error) {
    csrec_top_pick best = csrec_cut_best(&r->cut);
    if (csrec_larger(best.key, next) < r->floor) {
        csrec_rounds_end(r, CSREC_SMALL);
    } else if (best.key > next) {
        csrec_rounds_pick(r, &best);
    } else if (passed < r->intervals) {
        const csrec_interval *failed = &r->interval[passed];
        r->low = r->threshold[passed];
        r->high = failed->largest + 1;
        if (failed->picks <= r->few || r->high - r->low <= 1)
            return csrec_rounds_merge(r, r->low, error);
    } else if (best.key == next) {
        r->theta = csrec_smaller(r->theta, next);
        r->low = next;
        r->high = next + 1;
    } else {
        bool within = r->high > r->low && r->low > r->theta;
        r->low = r->high = 0;
        if (!within) go_down(r, best.key, next);
    }
    return CSREC_OK;
}

static csrec_status one_round(csrec_rounds *r, csrec_error *error) {
    csrec_status status = look(r, error);
    if (status) return status;
    int passed = 0;
    for (; passed < r->intervals && passes(r, passed); passed++) settle(r, passed);
    for (int i = 0; i < passed; i++) r->made += r->interval[i].picks;
    if (passed > 0) csrec_steps_settle_above(&r->pieces, r->steps, r->threshold[passed - 1]);
    int64_t next = r->next;
    for (int i = passed; i < r->intervals; i++) next = csrec_larger(next, r->interval[i].largest);
    r->next = next;
    if (csrec_rounds_over(r)) return CSREC_OK;
    if (r->stop)
        csrec_rounds_end(r, CSREC_INTERRUPTED);
    else
        status = decide(r, passed, next, error);
    return status;
}

/* Keys below that of `small` belong to smaller coefficients. */
static int64_t floor_of(double small) {
    int64_t bits;
    memcpy(&bits, &small, sizeof bits);
    return bits & ~INT64_C(63);
}

csrec_status csrec_rounds_run(csrec_rounds *r, csrec_error *error) {
    csrec_status status = CSREC_OK;
    r->floor = floor_of(r->job->small * r->units);
    r->theta = BEYOND;
    r->step = INT64_C(1) << 48;
    r->next = -1;
    while (!status && !csrec_rounds_over(r) && !r->ended) status = one_round(r, error);
    for (int32_t k = 0; k < r->pieces.count && !status; k++) r->report->undone += undo(r, k);
    return status;
}
