/* fista.c - min 1/2 ||A x - y||^2 + lambda ||x||_1 by accelerated proximal gradient steps.
 *
 * lambda has the units of <a_j, y>. For lambda >= max_j |<a_j, y>| the minimum is x = 0, so the
 * parameter `lambda` is a share of that maximum. An iteration is a step of l1_steps.c. With
 * `debias` the columns found are fitted by least squares at the end.
 *
 * Where the operator has its columns in memory, an iteration is a round of fista_active.c instead,
 * whose steps are on a few columns. Without lambda every column takes part, and steps on all it is.
 */
#include "solver/fista_active.h"
#include "solver/l1_steps.h"
#include "solver/sparse.h"

typedef struct fista {
    csrec_support s;      /* first */
    csrec_active *active; /* or NULL */
    csrec_l1_steps steps;
    bool begun; /* steps on all columns */
    bool debias;
} fista;

static void fista_destroy(csrec_run *run) {
    fista *o = run->state;
    if (o) {
        csrec_active_destroy(o->active);
        csrec_l1_steps_clear(&o->steps);
    }
    csrec_sparse_destroy(run);
}

static csrec_status fista_create(csrec_run *run, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, sizeof(fista), error);
    fista *o = run->state;
    if (status) return status;
    if (csrec_l1_steps_create(&o->s, &o->steps))
        return csrec_fail(error, CSREC_MEMORY, "solver fista: out of memory");
    o->debias = csrec_run_param(run, "debias") != 0.0;
    double share = csrec_run_param(run, "lambda");
    if (share > 0.0 && !csrec_run_stops(run))
        status = csrec_active_create(&o->s, share, &o->active);
    return status ? csrec_fail(error, status, "solver fista: out of memory for %lld columns",
                               (long long)run->A->n)
                  : CSREC_OK;
}

/* One step on all columns. */
static bool fista_step(csrec_run *run, fista *o) {
    double largest;
    if (!o->begun) {
        run->fault = csrec_l1_steps_start(&o->steps, &largest);
        if (run->fault) return false;
        o->steps.lambda = csrec_run_param(run, "lambda") * largest;
        csrec_l1_steps_restart(&o->steps);
        o->begun = true;
    }
    /* It ends when x does not change in 13 digits. */
    return csrec_l1_steps_step(&o->steps) && o->steps.change > 0x1p-90;
}

static bool fista_update(csrec_run *run) {
    fista *o = run->state;
    if (!o->active) return fista_step(run, o);
    csrec_round came = csrec_active_round(o->active);
    if (came != CSREC_ROUND_FULL) return came == CSREC_ROUND_BETTER;
    csrec_active_destroy(o->active);
    o->active = NULL;
    return fista_step(run, o);
}

static csrec_status fista_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    fista *o = run->state;
    csrec_status status = CSREC_OK;
    if (o->debias && !run->stopped) {
        csrec_support_choose_used(&o->s);
        status = csrec_support_fit(&o->s);
    }
    if (status == CSREC_STOPPED) status = CSREC_OK; /* nothing is fitted */
    return status ? status : csrec_support_result(run, atoms, r);
}

static bool fista_settles(const csrec_run *run) {
    return ((const fista *)run->state)->debias;
}

static const csrec_param params[] = {
    {"lambda", 0.01, 0, 1, "weight of ||x||_1, as a share of max |<a_j, y>|; at 1, x = 0"},
    {"debias", 0, 0, 1, "1: fit the columns found by least squares at the end"},
    {0}};

static const char *const reals[] = {"lambda", NULL};

/* With backtracking about three products a step. */
static csrec_solver_need fista_need(const csrec_solver_size *size) {
    double steps = size->atoms > 0.0 ? size->atoms : 200.0;
    return (csrec_solver_need){csrec_support_bytes(size) + 8.0 * (2.0 * size->n + size->m),
                               3.0 * steps, 0.0};
}

const csrec_solver_type csrec_solver_fista = {
    .name = "fista",
    .brief = "least squares with an l1 penalty, accelerated proximal gradient",
    .source = "Beck and Teboulle 2009, equations 4.1 to 4.3, with backtracking and restart",
    .params = params,
    .reals = reals,
    .products_alone = true,
    .create = fista_create,
    .need = fista_need,
    .destroy = fista_destroy,
    .update = fista_update,
    .energy = csrec_support_energy,
    .result = fista_result,
    .settles = fista_settles};
