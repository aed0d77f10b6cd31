/* SPDX-License-Identifier: BSD-3-Clause */
/* romp.c - Regularised OMP: each pick takes many columns of comparable correlation. */
#include <math.h>
#include <stdlib.h>

#include "solver/support.h"

typedef struct candidate {
    double size;    /* |<a_j, r>| / ||a_j|| */
    int64_t column; /* the first of its entry */
} candidate;

typedef struct romp {
    csrec_support s;       /* first */
    candidate *candidates; /* [k] */
} romp;

static csrec_status romp_create(csrec_run *run, csrec_error *error) {
    csrec_status status = csrec_sparse_begin(run, sizeof(romp), error);
    romp *o = run->state;
    if (!status) CSREC_TAKE(&run->pool, o->candidates, o->s.k);
    return status ? status : csrec_pool_status(&run->pool);
}

static double select_columns(csrec_run *run) {
    romp *o = run->state;
    run->fault = csrec_support_correlate(&o->s);
    int64_t parts = run->A->parts;
    double best = 0.0;
    for (int64_t j = 0; j < run->A->n; j++)
        if (o->s.chosen[j]) o->s.c[j] = 0.0;
    for (int64_t j = 0; j < run->A->n; j += parts)
        best = fmax(best, csrec_entry_size(parts, o->s.c + j));
    return best;
}

static int larger_first(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Of the groups of consecutive candidates in which the first is at most twice the last, finds the
 * one with the most energy: [*first, *end). */
static void regularise(const candidate *list, int64_t n, int64_t *first, int64_t *end) {
    double best = -1.0, energy = 0.0;
    for (int64_t i = 0, stop = 0; i < n; i++) {
        for (; stop < n && list[i].size <= 2.0 * list[stop].size; stop++)
            energy += list[stop].size * list[stop].size;
        if (energy > best) {
            best = energy;
            *first = i;
            *end = stop;
        }
        energy -= list[i].size * list[i].size;
    }
}

/* Identify, regularise, fit: the three steps of the paper. */
static bool romp_update(csrec_run *run) {
    romp *o = run->state;
    if (run->fault) return false;
    int64_t parts = run->A->parts, first = 0, end = 0;
    int64_t found = csrec_support_largest(&o->s, o->s.c, o->s.k) / parts;
    if (found == 0 || o->s.size >= run->A->m) return csrec_support_settle(&o->s);
    for (int64_t i = 0; i < found; i++) {
        int64_t j = o->s.largest[parts * i];
        o->candidates[i] = (candidate){csrec_entry_size(parts, o->s.c + j), j};
    }
    qsort(o->candidates, (size_t)found, sizeof *o->candidates, larger_first);
    regularise(o->candidates, found, &first, &end);
    for (int64_t i = first; i < end && o->s.size < run->A->m; i++) {
        for (int64_t p = 0; p < parts; p++) o->s.chosen[o->candidates[i].column + p] = true;
        o->s.size += parts;
    }
    return csrec_support_shortens(&o->s, o->s.energy);
}

static const csrec_param params[] = {
    {"k", 0, 0, 9e15, "columns considered in each step; 0: a quarter of the samples"}, {0}};

static csrec_solver_need romp_need(const csrec_solver_size *size) {
    double k = size->k > 0.0 ? size->k : size->m / 4.0;
    return (csrec_solver_need){csrec_support_bytes(size) + sizeof(candidate) * k, 200.0, 0.0};
}

const csrec_solver_type csrec_solver_romp = {
    .name = "romp",
    .brief = "Regularised OMP: picks many columns of comparable correlation at once",
    .source = "Needell and Vershynin 2010; decoder of Sen and Darabi 2011",
    .params = params,
    .norms = true,
    .fits = true,
    .pursues = true,
    .create = romp_create,
    .need = romp_need,
    .select = select_columns,
    .update = romp_update,
    .energy = csrec_support_energy,
    .result = csrec_support_fitted,
    .settles = csrec_support_settles};
