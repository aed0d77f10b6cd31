/* SPDX-License-Identifier: BSD-3-Clause */
/* mp.c - Matching Pursuit: while r is long, subtract the column with the largest correlation. */
#include <string.h>

#include "solver/mp.h"
#include "haar/tree.h"
#include "solver/support.h"

static const csrec_atom_search *mp_search_of(const csrec_run *run) {
    const csrec_atom_search *own = run->A->type->search;
    return own ? own : &csrec_search_any;
}

static csrec_status mp_create(csrec_run *run, csrec_error *error) {
    if (run->options->start)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "solver mp: starts from 0 only; solve for the residual of the start "
                          "instead");
    csrec_status status =
        mp_search_of(run)->create(run->A, run->options->reference, run->y, &run->state);
    return status ? csrec_fail(error, status, "solver mp: out of memory for %lld samples",
                               (long long)run->A->m)
                  : CSREC_OK;
}

static void mp_destroy(csrec_run *run) {
    if (run->state) mp_search_of(run)->destroy(run->state);
}

static double mp_select(csrec_run *run) {
    double best = mp_search_of(run)->select(run->state);
    if (best < 0.0) run->fault = (csrec_status)-best;
    return best;
}

static bool mp_update(csrec_run *run) {
    return mp_search_of(run)->update(run->state);
}
static double mp_energy(const csrec_run *run) {
    return mp_search_of(run)->energy(run->state);
}

static csrec_status mp_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    return mp_search_of(run)->result(run->state, atoms, r);
}

/* As search.c works: one column an iteration; as many as there are samples if no limit is given. */
static csrec_solver_need mp_need(const csrec_solver_size *size) {
    double atoms = size->atoms > 0.0 ? size->atoms : size->m;
    return (csrec_solver_need){8.0 * (3.0 * size->n + 2.0 * size->m), atoms, 0.0};
}

const csrec_solver_type csrec_solver_mp = {.name = "mp",
                                           .brief = "Matching Pursuit",
                                           .source = "Mallat and Zhang 1993; table 1 of Park 2015",
                                           .reference = true,
                                           .norms = true,
                                           .pursues = true,
                                           .create = mp_create,
                                           .need = mp_need,
                                           .destroy = mp_destroy,
                                           .select = mp_select,
                                           .update = mp_update,
                                           .energy = mp_energy,
                                           .result = mp_result};

/* ---- Matching Pursuit's pick and update for any operator, by its correlations. */

typedef struct search {
    csrec_pool pool; /* first */
    const csrec_operator *A;
    csrec_lengths lengths;
    double *r, *a; /* [m] residual, picked column */
    double *c, *x; /* [n] */
    int64_t picked;
    double energy;
} search;

static csrec_status search_create(const csrec_operator *A, bool reference, const double *y,
                                  void **state) {
    (void)reference; /* this is already the readable reference */
    search *s = csrec_pool_create(sizeof *s);
    if (!s) return CSREC_MEMORY;
    s->A = A;
    CSREC_TAKE(&s->pool, s->r, A->m);
    CSREC_TAKE(&s->pool, s->a, A->m);
    CSREC_TAKE(&s->pool, s->c, A->n);
    CSREC_ZEROS(&s->pool, s->x, A->n);
    csrec_status status = csrec_pool_status(&s->pool);
    if (!status) status = csrec_lengths_create(A, true, NULL, &s->pool, &s->lengths);
    if (status) {
        csrec_pool_destroy(s);
        return status;
    }
    memcpy(s->r, y, (size_t)A->m * sizeof *s->r);
    s->energy = csrec_squares(A->m, y);
    *state = s;
    return CSREC_OK;
}

/* <a_j, r> / ||a_j||, by lengths as they are. The default of csrec_operator_correlate measures all
 * columns again. */
static csrec_status search_correlate(const search *s) {
    const double *norms = s->lengths.norms;
    if (s->A->type->correlate && !s->lengths.known) return s->A->type->correlate(s->A, s->r, s->c);
    csrec_status status = s->A->type->adjoint(s->A, s->r, s->c);
    for (int64_t j = 0; j < s->A->n && !status; j++)
        s->c[j] = norms[j] > 0.0 ? s->c[j] / norms[j] : 0.0;
    return status;
}

static double select_column(void *state) {
    search *s = state;
    double best = 0.0;
    csrec_status status = search_correlate(s);
    if (!status) status = csrec_lengths_pick(&s->lengths, NULL, s->c, &s->picked, &best);
    return status ? -(double)status : best;
}

/* r -= A_j step for the columns of the entry, a_j as they are, not of unit length. */
static bool search_update(void *state) {
    search *s = state;
    int64_t parts = s->A->parts, j = s->picked;
    double norm = s->lengths.norms[j];
    if (norm == 0.0) return false;
    for (int64_t p = 0; p < parts; p++) {
        if (csrec_operator_column(s->A, j + p, s->a)) return false;
        double step = s->c[j + p] / norm;
        for (int64_t i = 0; i < s->A->m; i++) s->r[i] -= step * s->a[i];
    }
    for (int64_t p = 0; p < parts; p++) s->x[j + p] += s->c[j + p] / norm;
    double before = s->energy;
    s->energy = csrec_squares(s->A->m, s->r);
    return s->energy < before;
}

static double search_energy(const void *state) {
    return ((const search *)state)->energy;
}

static csrec_status search_result(const void *state, csrec_atoms *atoms, double *r) {
    const search *s = state;
    if (r) memcpy(r, s->r, (size_t)s->A->m * sizeof *r);
    return atoms ? csrec_atoms_from_dense(s->A->n, s->x, atoms) : CSREC_OK;
}

const csrec_atom_search csrec_search_any = {search_create, csrec_pool_destroy, select_column,
                                            search_update, search_energy,      search_result};
