/* SPDX-License-Identifier: BSD-3-Clause */
/* fista.c - min 1/2 ||A x - y||^2 + lambda ||x||_1 by accelerated proximal gradient steps.
 *
 * lambda has the units of <a_j, y>. For lambda >= max_j |<a_j, y>| the minimum is x = 0, so the
 * parameter `lambda` is a share of that maximum. An iteration is a step of l1_steps.c. With
 * `debias` the columns found are fitted by least squares at the end.
 *
 * Where the operator has its columns in memory, or, of entries of several parts, steps have taken
 * as many products as its columns are, an iteration is a round of fista_active.c instead, whose
 * steps are on a few columns. Without lambda every column takes part, and steps on all it is.
 *
 * Steps alone need thousands where lambda is small. So larger lambdas are solved roughly first,
 * each from the last one's x, and when the signs of x stay, Newton's step (l1_steps.c) leads to the
 * minimum for these signs; a step from there that moves x nowhere proves that it is the minimum. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/l1.h"

/* The first lambda, as a share of max |<a_j, y>|, the factor to the next, and by how much, as a
 * share of lambda, its x may miss the conditions of the minimum; and how much x may at the end. */
#define FISTA_FIRST 0.1
#define FISTA_NEXT  0.25
#define FISTA_ROUGH 0.2
#define FISTA_FINE  1e-10

enum { SIGNS_STAY = 8 }; /* steps before Newton's; twice as many after one that led nowhere */

typedef struct fista {
    csrec_support s;      /* first */
    csrec_active *active; /* or NULL */
    csrec_active_columns columns;
    csrec_l1_steps steps;
    csrec_l1_newton newton;
    double lambda; /* the target; steps.lambda falls to it */
    bool begun;    /* steps on all columns, */
    double first;  /* for this lambda first, where rounds ceased to help; or 0 */
    bool debias;
    uint64_t signs;      /* a hash of those of x */
    int64_t stay, until; /* steps with the same signs; those before Newton's */
} fista;

static void fista_destroy(csrec_run *run) {
    fista *o = run->state;
    if (o) {
        csrec_active_destroy(o->active);
        csrec_operator_destroy(o->columns.stored);
    }
}

/* Whether a run of so many steps at most, 0: without a limit, may come to Newton's. */
static bool may_leap(int64_t atoms) {
    return atoms == 0 || atoms > SIGNS_STAY;
}

static csrec_status fista_create(csrec_run *run, csrec_error *error) {
    CSREC_TRY(csrec_sparse_create(run, sizeof(fista), error));
    fista *o = run->state;
    csrec_status status = csrec_l1_read(run, &o->s, error);
    if (status) return status;
    if (csrec_l1_steps_create(&o->s, &o->steps) ||
        (may_leap(run->options->stop.atoms) && csrec_l1_newton_create(&o->s, &o->newton)))
        return CSREC_MEMORY;
    o->debias = csrec_run_param(run, "debias") != 0.0;
    if (o->debias && o->s.nonnegative)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "debias: least squares do not keep x >= 0; leave out nonnegative or it");
    double share = csrec_run_param(run, "lambda");
    if (share > 0.0 && !csrec_run_stops(run))
        status = csrec_active_create(&o->s, run->A, share, &o->active);
    return status ? csrec_fail(error, status, "solver fista: out of memory for %lld columns",
                               (long long)run->A->n)
                  : CSREC_OK;
}

static csrec_status begin(csrec_run *run, fista *o) {
    double largest = 0.0;
    csrec_status status = csrec_l1_steps_start(&o->steps, &largest);
    o->lambda = o->steps.lambda = csrec_run_param(run, "lambda") * largest;
    double first = o->first > 0.0 ? o->first : FISTA_FIRST * largest;
    if (o->lambda > 0.0 && !run->options->start) /* a start is near its end */
        o->steps.lambda = fmax(o->lambda, first);
    csrec_l1_steps_restart(&o->steps);
    o->until = SIGNS_STAY;
    o->begun = true;
    return status;
}

/* 1/2 ||r||^2 + lambda ||x||_1. */
static double objective(const fista *o, const double *x, const double *r) {
    return 0.5 * csrec_squares(o->s.A->m, r) + o->lambda * csrec_l1_norm(o->s.A, x);
}

/* Whether x has kept its signs for long enough. */
static bool signs_stay(fista *o) {
    uint64_t hash = 0;
    for (int64_t j = 0; j < o->s.A->n; j++) {
        double x = o->s.x[j];
        if (x != 0.0) hash = (hash ^ (uint64_t)(2 * j + (x < 0.0))) * UINT64_C(0x9e3779b97f4a7c15);
    }
    o->stay = hash == o->signs ? o->stay + 1 : 0;
    o->signs = hash;
    return o->stay >= o->until;
}

/* Whether every entry that x uses has kept its sign: else the point is no minimum. */
static bool keeps_signs(const fista *o) {
    for (int64_t j = 0; o->s.A->parts == 1 && j < o->s.A->n; j++)
        if (o->s.x[j] * o->newton.x[j] < 0.0) return false;
    return true;
}

/* To the minimum for the signs of x, if there is one and it is lower. */
static csrec_status leap(fista *o) {
    csrec_support *s = &o->s;
    bool found = false;
    CSREC_TRY(csrec_l1_newton_find(&o->newton, o->lambda, &found));
    double here = objective(o, s->x, s->r), there = objective(o, o->newton.x, o->newton.r);
    o->stay = 0;
    o->until *= 2;
    if (!found || !keeps_signs(o) || !(there <= here + 1e-12 * here)) return CSREC_OK;
    memcpy(s->x, o->newton.x, (size_t)s->A->n * sizeof *s->x);
    csrec_status status = csrec_support_subtract(s);
    csrec_l1_steps_restart(&o->steps);
    return status;
}

/* By how much rounding of y - A x and of A^T r hides the conditions, as a share of lambda. */
static double hidden(const fista *o) {
    double precision = fmax(o->s.run->options->stop.precision, DBL_EPSILON), L = o->steps.L;
    double terms = o->steps.size_y + sqrt(L * csrec_squares(o->s.A->n, o->s.x));
    return 0.125 * precision * sqrt(L) * terms / o->lambda; /* of many entries, which err apart */
}

/* Whether the conditions hold after rounds, whose end is exact: a step does not tell it, which may
 * be below the last digit of entries of short columns. */
static bool holds(fista *o) {
    csrec_support *s = &o->s;
    s->run->fault = csrec_support_adjoint(s, s->r, s->g);
    return s->run->fault || csrec_l1_miss(s, s->g, o->lambda) <= 2.0 * FISTA_FINE * o->lambda;
}

/* One step on all columns. It ends where x meets the conditions of the minimum, or does not change
 * in 13 digits. */
static bool fista_step(csrec_run *run, fista *o) {
    csrec_l1_steps *steps = &o->steps;
    if (!o->begun) run->fault = begin(run, o);
    if (run->fault) return false;
    bool moves = csrec_l1_steps_step(steps);
    if (run->fault) return false;
    if (o->lambda == 0.0) return moves && steps->change > 0x1p-90;
    double miss = steps->L * steps->moved / steps->lambda;
    if (steps->lambda > o->lambda) {
        if (moves && miss > FISTA_ROUGH) return true;
        steps->lambda = fmax(o->lambda, FISTA_NEXT * steps->lambda);
        csrec_l1_steps_restart(steps);
        return true;
    }
    bool ends = !moves || miss <= FISTA_FINE;
    if (o->first > 0.0)
        ends = ends && holds(o);
    else
        ends = ends || miss <= hidden(o) || steps->change <= 0x1p-90;
    if (ends) return false;
    if (signs_stay(o)) run->fault = leap(o);
    return !run->fault;
}

/* Rounds on entries of several parts, which go on from steps where these have cost as much as
 * columns that can be stored. (Real ones have Newton's step, and of several minima, as in a frame,
 * steps find one that rounding does not decide.) */
static void enter_rounds(fista *o) {
    csrec_run *run = o->s.run;
    if (o->active || o->s.A->parts == 1 || !(o->lambda > 0.0) ||
        !csrec_active_is_due(&o->columns, &o->s))
        return;
    run->fault = csrec_active_store(&o->columns, &o->s, csrec_run_param(run, "lambda"), &o->active);
}

static bool fista_update(csrec_run *run) {
    fista *o = run->state;
    enter_rounds(o);
    if (run->fault) return false;
    if (!o->active) return fista_step(run, o);
    const csrec_round came = csrec_active_round(o->active);
    if (came == CSREC_ROUND_DONE && o->columns.stored) /* r by products, which may be floats */
        run->fault = csrec_support_residual(&o->s);
    if (came < CSREC_ROUND_FULL) return came == CSREC_ROUND_BETTER;
    if (came == CSREC_ROUND_STUCK) o->first = csrec_active_reached(o->active);
    csrec_active_destroy(o->active);
    o->active = NULL;
    if (o->begun) csrec_l1_steps_restart(&o->steps);
    return fista_step(run, o);
}

static csrec_status fista_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    fista *o = run->state;
    csrec_status status = CSREC_OK;
    if (o->debias && !run->stopped && !run->looking) {
        csrec_support_choose_used(&o->s);
        status = csrec_support_fit(&o->s, CSREC_FIT_EXACT);
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
    CSREC_L1_PARAMS,
    {0}};

static const char *const reals[] = {"lambda", NULL};

/* With backtracking about three products a step. */
static csrec_solver_need fista_need(const csrec_solver_size *size) {
    double steps = size->atoms > 0.0 ? size->atoms : 200.0;
    double vectors =
        may_leap((int64_t)size->atoms) ? 4.0 * size->n + 3.0 * size->m : 2.0 * size->n + size->m;
    return (csrec_solver_need){csrec_support_bytes(size) + 8.0 * vectors, 3.0 * steps, 0.0};
}

const csrec_solver_type csrec_solver_fista = {
    .name = "fista",
    .brief = "least squares with an l1 penalty, accelerated proximal gradient",
    .source = "Beck and Teboulle 2009, equations 4.1 to 4.3, with backtracking and restart",
    .params = params,
    .reals = reals,
    .products_alone = true,
    .steps = 100000,
    .weighted = true,
    .create = fista_create,
    .need = fista_need,
    .destroy = fista_destroy,
    .update = fista_update,
    .energy = csrec_support_energy,
    .result = fista_result,
    .settles = fista_settles};
