/* SPDX-License-Identifier: BSD-3-Clause */
/* session_move.c - where to measure next if moving costs time: lines that are worth their way. */
#include <math.h>
#include <stdlib.h>

#include "base/unravel.h"
#include "recover/session.h"

/* Darts for a position that is measured, and halvings of the price. Of 1.1 to 10 darts 2 were the
 * best in the mean over costs from (0, 0) to (10, 0.2) on three pictures. */
enum { DARTS = 2, HALVINGS = 40 };

/* Candidates `at` [n], ascending, and what is chosen of them. */
typedef struct choice {
    const csrec_shape *shape;
    const double *move, *gain; /* gain of each entry */
    int64_t n, *at, *kept, chosen;
} choice;

static int64_t width_of(const csrec_shape *shape) {
    return shape->dim[shape->dims - 1];
}

/* What it takes to go on, and to measure there. */
static double step_of(const choice *c, int64_t from, int64_t to) {
    const int64_t width = width_of(c->shape);
    if (to > from && to / width == from / width) return 1.0 + c->move[1] * (double)(to - from - 1);
    int64_t a[CSREC_DIMS_MAX], b[CSREC_DIMS_MAX];
    double squares = 0.0;
    csrec_unravel_index(c->shape, from, a);
    csrec_unravel_index(c->shape, to, b);
    for (int d = 0; d < c->shape->dims; d++) squares += pow((double)(a[d] - b[d]), 2.0);
    return 1.0 + c->move[0] + c->move[1] * sqrt(squares);
}

/* How many of what is chosen take no more than the time, at least one. */
static int64_t within(const choice *c, double time) {
    double taken = 1.0 + c->move[0];
    int64_t k = c->chosen > 0;
    while (k < c->chosen && (taken += step_of(c, c->kept[k - 1], c->kept[k])) <= time) k++;
    return k;
}

/* Of the candidates begin .. end - 1 of a line those whose gain is above the price of a
 * measurement, from the one to the other where together they gain most above the price of the time
 * (the largest sum of a stretch: Kadane's), if that is more than of the way to the line. */
static void take_line(choice *c, int64_t begin, int64_t end, double price) {
    double most = price * (c->move[0] + 0.5 * c->move[1] * (double)width_of(c->shape)), sum = 0.0;
    int64_t from = 0, to = -1, start = begin, last = -1;
    for (int64_t i = begin; i < end; i++) {
        const double gain = c->gain[c->at[i]] - price;
        if (gain <= 0.0) continue;
        if (last >= 0) sum -= price * c->move[1] * (double)(c->at[i] - last - 1);
        if (sum <= 0.0) sum = 0.0, start = i;
        sum += gain;
        last = c->at[i];
        if (sum > most) most = sum, from = start, to = i;
    }
    for (int64_t i = from; i <= to; i++)
        if (c->gain[c->at[i]] > price) c->kept[c->chosen++] = c->at[i];
}

static void take_lines(choice *c, double price) {
    const int64_t width = width_of(c->shape);
    c->chosen = 0;
    for (int64_t begin = 0, end = 0; begin < c->n; begin = end) {
        while (end < c->n && c->at[end] / width == c->at[begin] / width) end++;
        take_line(c, begin, end, price);
    }
}

/* The lowest price at which the time is enough; what is a little too much at it is cut. */
static void choose(choice *c, double time) {
    double low = -1.0, high = 0.0;
    for (int64_t i = 0; i < c->n; i++) high = fmax(high, c->gain[c->at[i]]);
    for (int k = 0; k < HALVINGS; k++) {
        const double price = k ? 0.5 * (low + high) : 0.0;
        take_lines(c, price);
        *(within(c, time) < c->chosen ? &low : &high) = price;
    }
    take_lines(c, low);
    c->chosen = within(c, time);
}

/* Of every `step`-th line those of every `along`-th position that are allowed; whether the time is
 * enough for them. */
static bool take_raster(const csrec_session *s, choice *c, double time, int64_t step,
                        int64_t along) {
    const csrec_shape *shape = c->shape;
    int64_t at[CSREC_DIMS_MAX];
    c->chosen = 0;
    for (int64_t i = 0; i < s->entries; i++) {
        bool on = !s->allowed || s->allowed[i];
        csrec_unravel_index(shape, i, at);
        for (int d = 0; d < shape->dims && on; d++) {
            const int64_t by = d + 1 < shape->dims ? step : along;
            on = at[d] % by == (by < shape->dim[d] ? by : shape->dim[d]) / 2 % by;
        }
        if (on) c->kept[c->chosen++] = i;
    }
    return c->chosen && within(c, time) == c->chosen;
}

/* The least step up to `most` that the time is enough for, by bisection: from line to line and
 * along them, or, where `step` is one, along lines so far apart. */
static int64_t least_step(const csrec_session *s, choice *c, double time, int64_t step,
                          int64_t most) {
    int64_t low = 0;
    while (most - low > 1) {
        const int64_t middle = low + (most - low) / 2;
        *(take_raster(s, c, time, step ? step : middle, middle) ? &most : &low) = middle;
    }
    return most;
}

/* The nearest lines, of a step along them no longer than from line to line, that the time is enough
 * for; on them the shortest. */
static void raster(const csrec_session *s, choice *c, double time) {
    int64_t longest = 1;
    for (int d = 0; d < c->shape->dims; d++)
        if (c->shape->dim[d] > longest) longest = c->shape->dim[d];
    const int64_t step = least_step(s, c, time, 0, longest);
    if (!take_raster(s, c, time, step, least_step(s, c, time, step, step)))
        take_raster(s, c, time, 1, 1);
    c->chosen = within(c, time);
}

csrec_status csrec_session_move(csrec_session *s, const csrec_session_next_options *o,
                                const double *density, const csrec_next_options *darts,
                                csrec_sampling *next, csrec_error *error) {
    csrec_sampling found = {0}, made = {.index = malloc((size_t)s->entries * sizeof *made.index)};
    choice c = {.shape = &s->form.shape, .move = o->move, .gain = density, .kept = made.index};
    csrec_next_options some = *darts;
    csrec_status status = CSREC_OK;
    int64_t free = 0;
    if (!made.index) return csrec_fail(error, CSREC_MEMORY, "out of memory for positions");
    for (int64_t i = 0; i < s->entries; i++)
        free += s->count[i] == 0.0 && (!s->allowed || s->allowed[i]);
    if (density) {
        some.count = o->count < free / DARTS ? DARTS * o->count : free;
        status = csrec_where_next(&s->seen, density, &some, &found, error);
        c.at = found.index;
        c.n = found.n;
        if (!status) choose(&c, (double)o->count);
    } else {
        raster(s, &c, (double)o->count);
    }
    csrec_sampling_clear(&found);
    made.n = c.chosen;
    return CSREC_SETTLE(status, csrec_sampling_clear(&made), *next = made);
}
