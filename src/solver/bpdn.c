/* SPDX-License-Identifier: BSD-3-Clause */
/* bpdn.c - min ||x||_1 subject to ||A x - y|| <= goal, and basis pursuit, A x = y, for goal 0; or
 * min ||A x - y|| subject to ||x||_1 <= tau.
 *
 * The minimum is that of the l1 problem 1/2 ||A x - y||^2 + lambda ||x||_1 for the one lambda at
 * which ||r|| = goal, r = y - A x: its optimality conditions are the same. ||r|| rises with lambda,
 * so a root is to be found, as on the Pareto curve of van den Berg and Friedlander 2008. Along the
 * path of minima x and r are affine in lambda as long as no entry of x becomes or ceases to be 0
 * (Osborne, Presnell and Turlach 2000). So the line through the last two minima gives the next
 * lambda, where its r has the length `goal`, and the x to start from. A complex x follows a smooth
 * curve instead, and this is a secant.
 *
 * With tau it is ||x||_1, which falls as lambda rises, that is to be tau: the least ||r|| then.
 *
 * A minimum is found by rounds on few columns (fista_active.c) where the operator has its columns
 * in memory, or where steps have taken as many products as all its columns, if these find room.
 * Else steps on all columns (l1_steps.c) find it roughly, and when lambda changes little, Newton's
 * step and the tangent of the path (l1_steps.c) lead to the solution; a step of l1_steps.c that
 * moves x nowhere proves that it is one.
 *
 * For goal 0, lambda = 0 is no l1 problem. There the line itself gives x if it leads to r = 0 and
 * r / lambda of the last minimum, whose products with the columns are at most 1, proves that
 * ||x||_1 is least: then <y, r> / lambda, which no feasible ||x||_1 is below, is equal to it.
 *
 * Products round, and those of a caller may do so in floats. So every condition holds as well as
 * rounding of y - A x and of A^T r lets it be known (l1.h), and no lambda is sought below it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/l1.h"

/* Shares: of max |<a_j, y>|, the first lambda; of lambda, by how much a minimum found by steps may
 * miss its conditions at first, the change below which Newton's step is taken, and that two minima
 * of a line are apart. The least factor from one lambda to the next, also where entries of several
 * parts bend the path; the width of the last interval of them. */
#define BPDN_FIRST  0.25
#define BPDN_ROUGH  0.1
#define BPDN_NEAR   0.25
#define BPDN_FACTOR 0.1
#define BPDN_CURVED 0.4
#define BPDN_SPAN   1e-4
#define BPDN_WIDTH  1e-8
#define BPDN_HIDDEN 32.0

/* Steps between two of Newton's, twice as many each time; of Newton's, before it goes without; and
 * lines, before intervals are halved. */
enum { STEPS_FIRST = 10, TANGENTS_MOST = 60, LINES_MOST = 30 };

static void bpdn_destroy(csrec_run *run) {
    csrec_bpdn *o = run->state;
    if (o) {
        csrec_active_destroy(o->active);
        csrec_operator_destroy(o->columns.stored);
    }
}

static csrec_status bpdn_create(csrec_run *run, csrec_error *error) {
    CSREC_TRY(csrec_sparse_create(run, sizeof(csrec_bpdn), error));
    csrec_bpdn *o = run->state;
    csrec_rules rules = csrec_rules_of(&run->options->stop, -1, run->A->m, run->y);
    CSREC_TRY(csrec_l1_read(run, &o->s, error));
    o->goal = sqrt(rules.goal);
    o->tau = csrec_run_param(run, "tau");
    if (o->tau > 0.0 && rules.goal > 0.0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "tau bounds ||x||_1 in place of epsilon and sigma; leave them out");
    o->whole = sqrt(rules.whole);
    o->miss = o->rough = BPDN_ROUGH;
    CSREC_ZEROS(&run->pool, o->x_before, run->A->n);
    CSREC_TAKE(&run->pool, o->r_before, run->A->m);
    csrec_status status = csrec_l1_steps_create(&o->s, &o->steps);
    if (!status) status = csrec_l1_newton_create(&o->s, &o->newton);
    if (!status && !csrec_run_stops(run))
        status = csrec_active_create(&o->s, run->A, BPDN_FIRST, &o->active);
    return status ? csrec_fail(error, status, "solver bpdn: out of memory for %lld columns",
                               (long long)run->A->n)
                  : CSREC_OK;
}

/* Paths of entries of several parts bend, so that lines through exact minima lead no further than
 * those through rough ones. */
static void aim(csrec_bpdn *o) {
    const bool rough = o->s.A->parts > 1 && o->goal > 0.0 && o->miss > BPDN_FINE;
    if (o->active) csrec_active_aim(o->active, o->lambda, rough ? o->miss : 0.0);
}

static void set_lambda(csrec_bpdn *o, double lambda) {
    o->lambda = o->steps.lambda = lambda;
    aim(o);
    csrec_l1_steps_restart(&o->steps);
}

/* The path begins at x = 0, r = y, the minimum for the largest lambda. */
static void start_line(csrec_bpdn *o) {
    const csrec_support *s = &o->s;
    memset(o->x_before, 0, (size_t)s->A->n * sizeof *o->x_before);
    memcpy(o->r_before, s->y, (size_t)s->A->m * sizeof *o->r_before);
    o->lambda_before = o->largest;
}

static csrec_status begin(csrec_bpdn *o) {
    o->begun = true;
    csrec_status status = CSREC_OK;
    if (o->active)
        o->largest = csrec_active_lambda(o->active) / BPDN_FIRST;
    else
        status = csrec_l1_steps_start(&o->steps, &o->largest);
    start_line(o);
    o->above = o->largest;
    /* What rounding hides is 0. */
    if (o->goal < BPDN_HIDDEN * (o->active ? CSREC_L1_ROUNDING : o->steps.rounding) * o->whole)
        o->goal = 0.0;
    set_lambda(o, BPDN_FIRST * o->largest);
    return status;
}

/* The line through the last two minima, as Newton's step has it: from the last, by slope. */
static void draw_line(csrec_bpdn *o) {
    const csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double span = o->lambda - o->lambda_before;
    memcpy(o->newton.x, s->x, (size_t)n * sizeof *s->x);
    memcpy(o->newton.r, s->r, (size_t)m * sizeof *s->r);
    for (int64_t j = 0; j < n; j++) o->newton.slope_x[j] = (s->x[j] - o->x_before[j]) / span;
    for (int64_t i = 0; i < m; i++) o->newton.slope_r[i] = (s->r[i] - o->r_before[i]) / span;
}

/* The lambda at which ||x||_1 on the line is tau, as its signs stay. */
static double lambda_of_norm(const csrec_bpdn *o) {
    const csrec_operator *A = o->s.A;
    const double *x = o->newton.x, *d = o->newton.slope_x;
    double slope = 0.0;
    for (int64_t j = 0; j < A->n; j += A->parts) {
        double size = csrec_entry_size(A->parts, x + j);
        for (int64_t p = j; p < j + A->parts && size > 0.0; p++) slope += x[p] / size * d[p];
    }
    return slope < 0.0 ? o->lambda + (o->tau - csrec_l1_norm(A, x)) / slope : 0.0;
}

/* The lambda at which r on the line has the length of the goal, or where it is shortest. */
static double lambda_on_line(const csrec_bpdn *o) {
    const double *r = o->newton.r, *d = o->newton.slope_r;
    int64_t m = o->s.A->m;
    if (o->tau > 0.0) return lambda_of_norm(o);
    double square = csrec_squares(m, d), left = csrec_squares(m, r) - o->goal * o->goal;
    double slope = 0.0;
    for (int64_t i = 0; i < m; i++) slope += d[i] * r[i];
    if (!(square > 0.0)) return 0.0;
    double root = slope * slope - square * left;
    /* The larger root: ||r|| rises there. */
    return o->lambda + (root > 0.0 ? sqrt(root) - slope : -slope) / square;
}

/* Goes on to another lambda, from the point of the line there; rounds keep their x. */
static void go_on(csrec_bpdn *o, double lambda) {
    csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double t = lambda - o->lambda;
    if (fabs(t) > BPDN_SPAN * o->lambda) { /* else the line is that of two minima further apart */
        memcpy(o->x_before, s->x, (size_t)n * sizeof *s->x);
        memcpy(o->r_before, s->r, (size_t)m * sizeof *s->r);
        o->lambda_before = o->lambda;
    }
    if (!o->active) {
        csrec_bpdn_combine(n, o->newton.x, t, o->newton.slope_x, s->x);
        csrec_bpdn_combine(m, o->newton.r, t, o->newton.slope_r, s->r);
        s->energy = csrec_squares(m, s->r);
    }
    set_lambda(o, lambda);
}

/* 1/2 ||r||^2 + lambda ||x||_1 is no larger at the end of Newton's step. It is if the signs of x
 * are not those of a minimum, and columns that nearly depend on each other carry x far away. */
static bool step_descends(const csrec_bpdn *o) {
    const csrec_support *s = &o->s;
    double here = 0.5 * s->energy + o->lambda * csrec_l1_norm(s->A, s->x);
    double there =
        0.5 * csrec_squares(s->A->m, o->newton.r) + o->lambda * csrec_l1_norm(s->A, o->newton.x);
    return there <= here + 1e-12 * here;
}

/* Newton's step and the tangent in place of the line, from a minimum that is roughly known. False:
 * there are none; the line is as it was. */
static bool take_tangent(csrec_bpdn *o) {
    bool found = false;
    o->s.run->fault = csrec_l1_newton_find(&o->newton, o->lambda, &found);
    found = found && step_descends(o);
    if (!found) draw_line(o);
    if (o->s.run->fault || !found) return false;
    o->most = o->most ? 2 * o->most : STEPS_FIRST;
    o->left = o->most;
    o->miss = BPDN_FINE;
    return true;
}

/* A x = y: smaller and smaller lambda until the line through the minima ends. fine: x is one to
 * high accuracy. */
static bool approach(csrec_bpdn *o, bool fine) {
    draw_line(o);
    double stays = csrec_bpdn_share_that_stays(o);
    bool near = !o->active && stays < BPDN_NEAR && take_tangent(o);
    if (o->s.run->fault || ((fine || o->active) && csrec_bpdn_line_ends(o))) return false;
    if (o->s.run->fault || csrec_bpdn_is_last(o)) return false;
    if (near && !fine && csrec_bpdn_share_that_stays(o) < BPDN_NEAR) {
        go_on(o, o->lambda); /* to where Newton's step leads */
        return true;
    }
    o->most = 0;
    o->miss = fmax(BPDN_FINE, BPDN_ROUGH * fmin(1.0, stays));
    go_on(o, BPDN_FACTOR * o->lambda);
    return true;
}

/* Minima that were not left no lambda between those known: the last is looked for again, closer,
 * and at last without Newton's steps, whose end may be none; false: that was so before. */
static bool look_again(csrec_bpdn *o) {
    if (o->anew && o->miss <= BPDN_FINE) return csrec_bpdn_end_here(o);
    o->anew = o->miss <= BPDN_FINE;
    o->above = o->largest;
    o->below = 0.0;
    o->lines = 0;
    o->rough = o->anew ? BPDN_FINE : fmax(BPDN_FINE, 0.1 * o->rough);
    o->miss = fmax(BPDN_FINE, 0.1 * o->miss);
    start_line(o);
    return true;
}

/* ||r|| rises with lambda, and ||r|| / lambda falls (r / lambda is the point of a convex set that
 * is next to y / lambda): the lambda sought is beyond lambda goal / ||r|| of a minimum, as far as
 * this one is known. */
static void bound(csrec_bpdn *o) {
    double length = sqrt(o->s.energy), at = o->lambda * (o->goal / length);
    double miss = fmax(o->miss, csrec_bpdn_least_miss(o)) + csrec_bpdn_rounding(o) / length;
    double norm = o->tau > 0.0 ? csrec_l1_norm(o->s.A, o->s.x) : 0.0;
    if (o->tau > 0.0 && norm < o->tau)
        o->above = fmin(o->above, (1.0 + o->miss) * o->lambda);
    else if (o->tau > 0.0)
        o->below = fmax(o->below, (1.0 - o->miss) * o->lambda);
    else if (length > o->goal)
        o->above = fmin(o->above, (1.0 + miss) * at);
    else
        o->below = fmax(o->below, (1.0 - miss) * at);
}

/* The next lambda by the line, between those known; false: there is none. */
static bool next_by_line(csrec_bpdn *o, double next) {
    const double factor = o->s.A->parts > 1 ? BPDN_CURVED : BPDN_FACTOR;
    bound(o);
    o->most = 0;
    if (csrec_bpdn_is_last(o)) return csrec_bpdn_end_here(o);
    /* Minima have left no lambda between those known; it is one if they are exact. */
    if (o->above - o->below <= (o->below > 0.0 ? BPDN_WIDTH * o->lambda : 0.0)) {
        csrec_bpdn_end_here(o);
        return !o->s.run->solved && look_again(o);
    }
    if (o->below == 0.0)
        next = fmax(next < o->lambda ? next : 0.0, factor * o->lambda);
    else if (o->lines++ > LINES_MOST || !(next > o->below && next < o->above))
        next = sqrt(o->below * o->above);
    o->miss = fmax(BPDN_FINE, o->rough * fmin(1.0, fabs(next / o->lambda - 1.0)));
    go_on(o, next);
    return true;
}

/* The next lambda after a minimum; false: it is the solution, or there is none. */
static bool advance(csrec_bpdn *o, bool fine) {
    if (o->goal == 0.0 && o->tau == 0.0) return approach(o, fine);
    o->s.run->solved = fine && csrec_bpdn_is_met(o);
    if (o->s.run->solved) return false;
    const bool longer = fine && o->tau > 0.0 && csrec_l1_norm(o->s.A, o->s.x) > o->tau;
    if (longer && (csrec_bpdn_takes_scaled(o, BPDN_FINE) || o->s.run->fault)) return false;
    draw_line(o);
    double next = lambda_on_line(o);
    bool near = !o->active && !o->anew && fabs(next / o->lambda - 1.0) < BPDN_NEAR;
    if (near && o->tangents++ == TANGENTS_MOST) {
        o->miss = BPDN_FINE;
        return look_again(o);
    }
    if (near && take_tangent(o)) {
        next = lambda_on_line(o);
        go_on(o, fmin(fmax(next, 0.5 * o->lambda), 2.0 * o->lambda));
        return true;
    }
    return !o->s.run->fault && next_by_line(o, next);
}

/* A round or a step. Returns whether x is the minimum for lambda, roughly or `fine`, or whether it
 * is time for Newton's step. */
static bool improve(csrec_bpdn *o, bool *fine) {
    csrec_l1_steps *steps = &o->steps;
    if (!o->active && csrec_active_is_due(&o->columns, &o->s)) {
        o->s.run->fault =
            csrec_active_store(&o->columns, &o->s, o->lambda / o->largest, &o->active);
        aim(o);
    }
    if (o->s.run->fault) return false;
    if (o->active) {
        csrec_round came = csrec_active_round(o->active);
        *fine = came == CSREC_ROUND_DONE;
        if (came < CSREC_ROUND_FULL) return came != CSREC_ROUND_BETTER;
        csrec_active_destroy(o->active);
        o->active = NULL;
        o->s.run->fault = csrec_l1_steps_start(steps, &o->largest);
        csrec_l1_steps_restart(steps);
    }
    bool still = !csrec_l1_steps_step(steps);
    double miss = steps->L * steps->moved / o->lambda;
    *fine = still || miss <= fmax(BPDN_FINE, csrec_bpdn_least_miss(o));
    return *fine || miss <= o->miss || (o->most && --o->left == 0);
}

/* x = 0 is the solution: it meets the constraint, or no column meets y. */
static void take_nothing(csrec_bpdn *o) {
    csrec_support_zero(&o->s);
    o->s.run->solved = true;
}

static bool bpdn_update(csrec_run *run) {
    csrec_bpdn *o = run->state;
    bool fine = false;
    if (!o->begun) {
        const bool nothing = o->whole <= o->goal;
        if (!nothing) run->fault = begin(o);
        if (nothing || (!run->fault && o->largest == 0.0 && o->tau > 0.0)) take_nothing(o);
        if (nothing || o->largest == 0.0) return false;
    }
    if (run->fault) return false;
    bool found = improve(o, &fine);
    if (run->fault || run->stopped) return false;
    run->solved = csrec_bpdn_fits_within(o);
    return !run->solved && (!found || advance(o, fine));
}

static const csrec_param params[] = {
    {"tau", 0, 0, DBL_MAX, "least ||A x - y|| with ||x||_1 <= tau; 0: least ||x||_1"},
    CSREC_L1_PARAMS,
    {0}};

static const char *const lengths[] = {"tau", NULL};

/* A run that ends before its end may be beyond tau: then x is a multiple of it that is not. */
static csrec_status bpdn_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    csrec_bpdn *o = run->state;
    csrec_support *s = &o->s;
    const double norm = o->tau > 0.0 ? csrec_l1_norm(s->A, s->x) : 0.0,
                 t = norm > 0.0 ? o->tau / norm : 1.0;
    if (t < 1.0 - BPDN_CLOSE && !run->looking) {
        for (int64_t j = 0; j < s->A->n; j++) s->x[j] *= t;
        csrec_bpdn_scale_residual(s, t, s->r);
        s->energy = csrec_squares(s->A->m, s->r);
    }
    return csrec_support_result(run, atoms, r);
}

/* About thirty steps for each of ten lambdas. */
static csrec_solver_need bpdn_need(const csrec_solver_size *size) {
    double steps = size->atoms > 0.0 ? size->atoms : 300.0;
    return (csrec_solver_need){csrec_support_bytes(size) + 8.0 * (5.0 * size->n + 4.0 * size->m),
                               3.0 * steps, 0.0};
}

const csrec_solver_type csrec_solver_bpdn = {
    .name = "bpdn",
    .brief = "least l1 norm within the noise: ||A x - y|| <= sigma sqrt(m), or epsilon ||y||",
    .source = "Chen, Donoho and Saunders 1998; van den Berg and Friedlander 2008, root finding",
    .params = params,
    .reals = lengths,
    .lengths = lengths,
    .products_alone = true,
    .weighted = true,
    .constrained = true,
    .steps = 100000,
    .create = bpdn_create,
    .need = bpdn_need,
    .destroy = bpdn_destroy,
    .update = bpdn_update,
    .energy = csrec_support_energy,
    .result = bpdn_result};
