/* SPDX-License-Identifier: BSD-3-Clause */
/* nearby.c - a tree of medians over the places of samples. */
#include "measurement/nearby.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unravel.h"

static void set_row(const csrec_measurement *m, int64_t i, int64_t *row) {
    row[0] = i;
    csrec_unravel_index(&m->shape, m->index[i], row + 1);
}

/* By the place on one axis, then on the others: no two samples are equal. */
static bool before(const csrec_nearby *t, const int64_t *a, const int64_t *b, int axis) {
    if (a[1 + axis] != b[1 + axis]) return a[1 + axis] < b[1 + axis];
    for (int k = 1; k <= t->dims; k++)
        if (a[k] != b[k]) return a[k] < b[k];
    return false;
}

static void exchange(const csrec_nearby *t, int64_t *a, int64_t *b) {
    for (int k = 0; k <= t->dims; k++) {
        int64_t kept = a[k];
        a[k] = b[k];
        b[k] = kept;
    }
}

/* Hoare's selection: the rank `middle` of begin .. end - 1 gets what a sorted range has there. */
static void select_middle(csrec_nearby *t, int64_t begin, int64_t end, int64_t middle, int axis) {
    int64_t width = 1 + t->dims, pivot[1 + CSREC_DIMS_MAX];
    for (int64_t low = begin, high = end - 1; low < high;) {
        int64_t i = low, j = high;
        memcpy(pivot, t->row + width * (low + (high - low) / 2), (size_t)width * sizeof *pivot);
        while (i <= j) {
            while (before(t, t->row + width * i, pivot, axis)) i++;
            while (before(t, pivot, t->row + width * j, axis)) j--;
            if (i <= j) exchange(t, t->row + width * i++, t->row + width * j--);
        }
        if (middle <= j)
            high = j;
        else if (middle >= i)
            low = i;
        else
            return;
    }
}

static int widest_axis(const csrec_nearby *t, int64_t begin, int64_t end) {
    int widest = 0;
    int64_t most = -1;
    for (int a = 0; a < t->dims; a++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int64_t k = begin; k < end; k++) {
            int64_t place = csrec_nearby_place(t, k)[a];
            if (place < low) low = place;
            if (place > high) high = place;
        }
        if (high - low > most) {
            most = high - low;
            widest = a;
        }
    }
    return widest;
}

/* Depth: log2 n. */
static void divide(csrec_nearby *t, int64_t begin, int64_t end) {
    int64_t middle = csrec_nearby_middle(t, begin, end);
    if (end - begin < 2) return;
    int axis = widest_axis(t, begin, end);
    select_middle(t, begin, end, middle, axis);
    t->division[middle] = (csrec_division){csrec_nearby_place(t, middle)[axis], axis};
    divide(t, begin, middle);
    divide(t, middle, end);
}

csrec_status csrec_nearby_create(const csrec_measurement *m, int64_t block, csrec_nearby *nearby,
                                 csrec_error *error) {
    size_t n = (size_t)m->n, width = 1 + (size_t)m->shape.dims;
    *nearby = (csrec_nearby){.n = m->n, .dims = m->shape.dims, .block = block};
    if (n <= SIZE_MAX / sizeof *nearby->row / width) {
        nearby->row = malloc(n * width * sizeof *nearby->row);
        nearby->division = malloc(n * sizeof *nearby->division);
    }
    if (!nearby->row || !nearby->division)
        return csrec_fail(error, CSREC_MEMORY, "no memory for the places of %lld samples",
                          (long long)m->n);
    for (int64_t i = 0; i < m->n; i++) set_row(m, i, nearby->row + i * (int64_t)width);
    divide(nearby, 0, nearby->n);
    return CSREC_OK;
}

void csrec_nearby_clear(csrec_nearby *nearby) {
    free(nearby->row);
    free(nearby->division);
    *nearby = (csrec_nearby){0};
}

typedef struct search {
    const csrec_nearby *t;
    int64_t rank;
    int n, most;
    csrec_neighbour *found; /* [most], nearest first */
} search;

static bool nearer(csrec_neighbour a, csrec_neighbour b) {
    return a.distance != b.distance ? a.distance < b.distance : a.rank < b.rank;
}

static void consider(search *s, int64_t rank) {
    csrec_neighbour it = {rank, csrec_nearby_distance(s->t, rank, s->rank)};
    if (rank == s->rank) return;
    if (s->n == s->most && !nearer(it, s->found[s->n - 1])) return;
    int at = s->n < s->most ? s->n++ : s->n - 1;
    for (; at > 0 && nearer(it, s->found[at - 1]); at--) s->found[at] = s->found[at - 1];
    s->found[at] = it;
}

static void search_range(search *s, int64_t begin, int64_t end) {
    enum { FEW = 8 };
    if (end - begin <= FEW) {
        for (int64_t k = begin; k < end; k++) consider(s, k);
        return;
    }
    int64_t middle = csrec_nearby_middle(s->t, begin, end);
    const csrec_division *d = &s->t->division[middle];
    double off = (double)(csrec_nearby_place(s->t, s->rank)[d->axis] - d->place);
    bool left = off < 0.0;
    search_range(s, left ? begin : middle, left ? middle : end);
    /* As far as the worst is not too far: of equally far ones, a lower rank may be there. */
    if (s->n < s->most || off * off <= s->found[s->n - 1].distance)
        search_range(s, left ? middle : begin, left ? end : middle);
}

int csrec_nearby_find(const csrec_nearby *nearby, int64_t rank, int most, csrec_neighbour *found) {
    search s = {nearby, rank, 0, most, found};
    search_range(&s, 0, nearby->n);
    return s.n;
}

double csrec_nearby_range(const csrec_measurement *m, double unit, int64_t channel) {
    double low = m->y[channel], high = low;
    for (int64_t i = 0; i < m->n; i++) {
        low = fmin(low, m->y[i * m->channels + channel]);
        high = fmax(high, m->y[i * m->channels + channel]);
    }
    return high / unit - low / unit;
}
