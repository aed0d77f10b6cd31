/* fista.c - min 1/2 ||A x - y||^2 + lambda ||x||_1 by accelerated proximal gradient steps.
 *
 * lambda has the units of <a_j, y>. For lambda >= max_j |<a_j, y>| the minimum is x = 0, so the
 * parameter `lambda` is a share of that maximum. The step is 1 / L with L = ||A||^2 found by power
 * iteration and raised where a step proves it too small (Beck and Teboulle's backtracking). With
 * `debias` the columns found are fitted by least squares at the end.
 *
 * Where the operator has its columns in memory, an iteration is a round of fista_active.c instead,
 * whose steps are on a few columns. Without lambda every column takes part, and steps on all it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/fista_active.h"
#include "solver/sparse.h"

/* Power iteration is within a small factor of ||A||^2. If 1.5^100 times more is not enough, the
 * numbers have left the range of a double, and no step length works. */
enum { RAISES = 100, DRAWN = 1 << 16 /* numbers processed between two reports */ };

typedef struct fista {
    csrec_support s;      /* first */
    csrec_active *active; /* or NULL */
    double lambda, L, t;  /* L: 0 before the first step */
    double *z, *next;     /* [n] extrapolated x, next x */
    double *at_z;         /* [m] y - A z */
    bool debias;
} fista;

static void fista_destroy(csrec_run *run) {
    fista *o = run->state;
    if (o) {
        csrec_active_destroy(o->active);
        free(o->z);
        free(o->next);
        free(o->at_z);
    }
    csrec_sparse_destroy(run);
}

/* v has all frequencies and is the same in every run. */
static csrec_status draw(csrec_run *run, int64_t n, double *v) {
    for (int64_t j = 0; j < n; j++) {
        if (j % DRAWN == 0 && csrec_run_stops(run)) return CSREC_STOPPED;
        v[j] = csrec_random_normal(1, 0, (uint64_t)j);
    }
    return CSREC_OK;
}

/* ||A||^2 from below; g, q are scratch. */
static csrec_status estimate_norm(fista *o) {
    csrec_support *s = &o->s;
    csrec_status status = draw(s->run, s->A->n, s->g);
    for (int i = 0; i < 12 && !status; i++) {
        double length = sqrt(csrec_squares(s->A->n, s->g));
        if (length == 0.0) break;
        for (int64_t j = 0; j < s->A->n; j++) s->g[j] /= length;
        status = csrec_support_forward(s, s->g, s->q);
        o->L = csrec_squares(s->A->m, s->q);
        if (!status) status = csrec_support_adjoint(s, s->q, s->g);
    }
    if (!(o->L > 0.0)) o->L = 1.0;
    return status;
}

static csrec_status fista_create(csrec_run *run, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, sizeof(fista), error);
    fista *o = run->state;
    if (status) return status;
    o->z = malloc((size_t)run->A->n * sizeof *o->z);
    o->next = malloc((size_t)run->A->n * sizeof *o->next);
    o->at_z = malloc((size_t)run->A->m * sizeof *o->at_z);
    if (!o->z || !o->next || !o->at_z)
        return csrec_fail(error, CSREC_MEMORY, "solver fista: out of memory");
    o->debias = csrec_run_param(run, "debias") != 0.0;
    double share = csrec_run_param(run, "lambda");
    if (share > 0.0 && !csrec_run_stops(run))
        status = csrec_active_create(&o->s, share, &o->active);
    return status ? csrec_fail(error, status, "solver fista: out of memory for %lld columns",
                               (long long)run->A->n)
                  : CSREC_OK;
}

/* The state that steps on all columns need, from the current x. */
static csrec_status fista_start(csrec_run *run, fista *o) {
    csrec_support *s = &o->s;
    csrec_status status = csrec_support_adjoint(s, run->y, s->g);
    double largest = 0.0;
    for (int64_t j = 0; j < run->A->n; j++) largest = fmax(largest, fabs(s->g[j]));
    o->lambda = csrec_run_param(run, "lambda") * largest;
    o->t = 1.0;
    memcpy(o->z, s->x, (size_t)run->A->n * sizeof *o->z);
    memcpy(o->at_z, s->r, (size_t)run->A->m * sizeof *o->at_z);
    return status ? status : estimate_norm(o);
}

/* next = soft(z - A^T (A z - y) / L, lambda / L); p keeps the gradient at z. */
static void fista_shrink(fista *o, int64_t n) {
    double limit = o->lambda / o->L;
    for (int64_t j = 0; j < n; j++) {
        double v = o->z[j] + o->s.p[j] / o->L;
        o->next[j] = v > limit ? v - limit : v < -limit ? v + limit : 0.0;
    }
}

/* Is 1/2 ||A next - y||^2 below its quadratic model at z, as 1 / L demands? Leaves y - A next in
 * q. at_z: ||A z - y||^2. */
static bool step_holds(fista *o, double at_z, csrec_status *status) {
    csrec_support *s = &o->s;
    *status = csrec_support_forward(s, o->next, s->q);
    for (int64_t i = 0; i < s->A->m; i++) s->q[i] = s->y[i] - s->q[i];
    double slope = 0.0, moved = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) {
        double d = o->next[j] - o->z[j];
        slope -= s->p[j] * d;
        moved += d * d;
    }
    double model = at_z + 2.0 * slope + o->L * moved;
    return csrec_squares(s->A->m, s->q) <= model + 0x1p-40 * at_z;
}

/* r is affine in x: y - A z follows from those of x and next, without a product. */
static void extrapolate(fista *o) {
    csrec_support *s = &o->s;
    double t = 0.5 * (1.0 + sqrt(1.0 + 4.0 * o->t * o->t)), inertia = (o->t - 1.0) / t;
    double against = 0.0;
    for (int64_t j = 0; j < s->A->n; j++)
        against += (o->z[j] - o->next[j]) * (o->next[j] - s->x[j]);
    /* Momentum that points uphill is reset (O'Donoghue and Candes 2015). */
    if (against > 0.0) {
        t = 1.0;
        inertia = 0.0;
    }
    for (int64_t j = 0; j < s->A->n; j++) o->z[j] = o->next[j] + inertia * (o->next[j] - s->x[j]);
    for (int64_t i = 0; i < s->A->m; i++) o->at_z[i] = s->q[i] + inertia * (s->q[i] - s->r[i]);
    o->t = t;
}

/* One step on all columns. */
static bool fista_step(csrec_run *run, fista *o) {
    csrec_support *s = &o->s;
    int64_t n = run->A->n, m = run->A->m;
    if (o->L == 0.0) run->fault = fista_start(run, o);
    double at_z = csrec_squares(m, o->at_z);
    if (!run->fault) run->fault = csrec_support_adjoint(s, o->at_z, s->p);
    if (run->fault) return false;
    fista_shrink(o, n);
    for (int tries = 0; !step_holds(o, at_z, &run->fault); tries++) {
        if (run->fault || tries == RAISES) return false;
        o->L *= 1.5;
        fista_shrink(o, n);
    }
    if (run->fault) return false;
    double moved = 0.0, size = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double d = o->next[j] - s->x[j];
        moved += d * d;
        size += o->next[j] * o->next[j];
    }
    extrapolate(o);
    memcpy(s->x, o->next, (size_t)n * sizeof *s->x);
    memcpy(s->r, s->q, (size_t)m * sizeof *s->r);
    s->energy = csrec_squares(m, s->r);
    return moved > 0x1p-90 * size; /* x does not change in 13 digits */
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
        o->s.size = 0;
        for (int64_t j = 0; j < run->A->n; j++) {
            o->s.chosen[j] = o->s.x[j] != 0.0;
            o->s.size += o->s.chosen[j];
        }
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
    .products_alone = true,
    .create = fista_create,
    .need = fista_need,
    .destroy = fista_destroy,
    .update = fista_update,
    .energy = csrec_support_energy,
    .result = fista_result,
    .settles = fista_settles};
