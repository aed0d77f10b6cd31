/* mp.c - Matching Pursuit: while r is long, take out the column that r leans on most. */
#include "solver/search.h"
#include "solver/solver.h"

static const csrec_atom_search *search_of(const csrec_run *run) {
    const csrec_atom_search *own = run->A->type->search;
    return own ? own : &csrec_search_any;
}

static csrec_status create(csrec_run *run, csrec_error *error) {
    if (run->options->start)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "solver mp: starts from 0 only; solve for the residual of the start");
    csrec_status status =
        search_of(run)->create(run->A, run->options->reference, run->y, &run->state);
    return status ? csrec_fail(error, status, "solver mp: out of memory for %lld samples",
                               (long long)run->A->m)
                  : CSREC_OK;
}

static void destroy(csrec_run *run) {
    if (run->state) search_of(run)->destroy(run->state);
}

static double select_atom(csrec_run *run) {
    double best = search_of(run)->select(run->state);
    if (best < 0.0) run->fault = (csrec_status)-best;
    return best;
}

static bool update(csrec_run *run) {
    return search_of(run)->update(run->state);
}
static double energy(const csrec_run *run) {
    return search_of(run)->energy(run->state);
}

static csrec_status result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    return search_of(run)->result(run->state, atoms, r);
}

/* search.c: a column an iteration; as many as the samples, where no limit is given. */
static csrec_solver_need need(const csrec_solver_size *size) {
    double atoms = size->atoms > 0.0 ? size->atoms : size->m;
    return (csrec_solver_need){8.0 * (3.0 * size->n + 2.0 * size->m), atoms, 0.0};
}

const csrec_solver_type csrec_solver_mp = {.name = "mp",
                                           .brief = "Matching Pursuit",
                                           .source = "Mallat and Zhang 1993; table 1 of Park 2015",
                                           .create = create,
                                           .need = need,
                                           .destroy = destroy,
                                           .select = select_atom,
                                           .update = update,
                                           .energy = energy,
                                           .result = result};
