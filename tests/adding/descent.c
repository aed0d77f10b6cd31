/* SPDX-License-Identifier: BSD-3-Clause */
/* descent.c - the solver descent: x goes along A^T r as far as r becomes shorter. From x = 0 it
 * ends at the shortest x among those with the shortest r. */
#include <string.h>

#include "solver/solver.h"

typedef struct descent {
    double *x, *g;  /* [n]; g = A^T r */
    double *r, *Ag; /* [m] */
} descent;

static csrec_status descent_create(csrec_run *run, csrec_error *error) {
    const int64_t m = run->A->m, n = run->A->n;
    descent *d = csrec_run_state(run, sizeof *d);
    if (!d) return CSREC_MEMORY;
    CSREC_TAKE(&run->pool, d->x, n);
    CSREC_TAKE(&run->pool, d->g, n);
    CSREC_TAKE(&run->pool, d->r, m);
    CSREC_TAKE(&run->pool, d->Ag, m);
    if (csrec_pool_status(&run->pool)) return CSREC_MEMORY;
    csrec_status status = csrec_run_start(run, d->x, error);
    if (!status) status = csrec_operator_forward(run->A, d->x, d->r);
    for (int64_t i = 0; i < m; i++) d->r[i] = run->y[i] - d->r[i];
    return status;
}

static bool descent_update(csrec_run *run) {
    descent *d = run->state;
    if (csrec_run_stops(run)) return false;
    run->fault = csrec_operator_adjoint(run->A, d->r, d->g);
    if (!run->fault) run->fault = csrec_operator_forward(run->A, d->g, d->Ag);
    const double slope = csrec_squares(run->A->n, d->g), bend = csrec_squares(run->A->m, d->Ag);
    if (run->fault || !(bend > 0.0)) return false;
    for (int64_t j = 0; j < run->A->n; j++) d->x[j] += slope / bend * d->g[j];
    for (int64_t i = 0; i < run->A->m; i++) d->r[i] -= slope / bend * d->Ag[i];
    return true;
}

static double descent_energy(const csrec_run *run) {
    const descent *d = run->state;
    return csrec_squares(run->A->m, d->r);
}

static csrec_status descent_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    const descent *d = run->state;
    if (r) memcpy(r, d->r, (size_t)run->A->m * sizeof *r);
    return atoms ? csrec_run_atoms(run, d->x, atoms) : CSREC_OK;
}

const csrec_solver_type csrec_solver_descent = {.name = "descent",
                                                .brief = "least squares by steepest descent",
                                                .source = "CONTRIBUTING.md",
                                                .pursues = true,
                                                .create = descent_create,
                                                .update = descent_update,
                                                .energy = descent_energy,
                                                .result = descent_result};
