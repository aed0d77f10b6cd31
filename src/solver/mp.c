/* SPDX-License-Identifier: BSD-3-Clause */
/* mp.c - Matching Pursuit: while r is long, subtract the column with the largest correlation. */
#include "solver/search.h"
#include "solver/solver.h"

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
