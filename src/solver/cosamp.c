/* SPDX-License-Identifier: BSD-3-Clause */
/* cosamp.c - Compressive Sampling Matching Pursuit: add 2 k candidates, fit, keep the k largest. */
#include <string.h>

#include "solver/support.h"

typedef struct cosamp {
    csrec_support s;         /* first */
    double *best_x, *best_r; /* of the previous iteration */
} cosamp;

static csrec_status cosamp_create(csrec_run *run, csrec_error *error) {
    CSREC_TRY(csrec_sparse_begin(run, sizeof(cosamp), error));
    cosamp *o = run->state;
    CSREC_TAKE(&run->pool, o->best_x, run->A->n);
    CSREC_TAKE(&run->pool, o->best_r, run->A->m);
    return csrec_pool_status(&run->pool);
}

/* More columns than samples cannot be fitted, so the number of candidates is limited. */
static bool cosamp_update(csrec_run *run) {
    cosamp *o = run->state;
    csrec_support *s = &o->s;
    size_t x_bytes = (size_t)run->A->n * sizeof *s->x, r_bytes = (size_t)run->A->m * sizeof *s->r;
    double before = s->energy;
    memcpy(o->best_x, s->x, x_bytes);
    memcpy(o->best_r, s->r, r_bytes);
    run->fault = csrec_support_correlate(s);
    if (run->fault) return false;
    int64_t room = (run->A->m - s->size) / run->A->parts, most = 2 * s->k < room ? 2 * s->k : room;
    int64_t joined = csrec_support_largest(s, s->c, most);
    for (int64_t i = 0; i < joined; i++) s->chosen[s->largest[i]] = true;
    s->size += joined;
    run->fault = csrec_support_fit(s, CSREC_FIT_CLOSE);
    csrec_support_prune(s, s->k);
    if (!run->fault) run->fault = csrec_support_residual(s);
    if (!run->fault && s->energy < before) return true;
    memcpy(s->x, o->best_x, x_bytes);
    memcpy(s->r, o->best_r, r_bytes);
    s->energy = before;
    return false;
}

static const csrec_param params[] = {CSREC_SPARSE_PARAM, {0}};

static csrec_solver_need cosamp_need(const csrec_solver_size *size) {
    return (csrec_solver_need){csrec_support_bytes(size) + 8.0 * (size->n + size->m), 200.0, 0.0};
}

const csrec_solver_type csrec_solver_cosamp = {
    .name = "cosamp",
    .brief = "CoSaMP: adds candidates, fits all, keeps the k largest",
    .source = "Needell and Tropp 2009, algorithm 2.1",
    .params = params,
    .norms = true,
    .fits = true,
    .pursues = true,
    .create = cosamp_create,
    .need = cosamp_need,
    .update = cosamp_update,
    .energy = csrec_support_energy,
    .result = csrec_support_result};
