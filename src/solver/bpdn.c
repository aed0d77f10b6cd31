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
 * step and the tangent of the path (l1_newton.c) lead to the solution; a step of l1_steps.c that
 * moves x nowhere proves that it is one.
 *
 * For goal 0, lambda = 0 is no l1 problem. There the line itself gives x if it leads to r = 0 and
 * r / lambda of the last minimum, whose products with the columns are at most 1, proves that
 * ||x||_1 is least: then <y, r> / lambda, which no feasible ||x||_1 is below, is equal to it.
 *
 * Products round, and those of a caller may do so in floats. So every condition holds as well as
 * rounding of y - A x and of A^T r lets it be known (l1_steps.h), and no lambda is sought below it.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/fista_active.h"
#include "solver/l1_newton.h"
#include "solver/l1_steps.h"
#include "solver/sparse.h"

/* Shares: of max |<a_j, y>|, the first lambda and the last; of lambda, by how much a minimum found
 * by steps may miss its conditions at first and at the end; of the goal, or of y, the error of
 * ||r||; of ||x||_1, the gap to its bound where A x = y; and of lambda, the change below which
 * Newton's step is taken, and that two minima of a line are apart; of the goal and ||x||_1, what
 * the dual may leave at the end. The least factor from one lambda to the next, also where entries
 * of several parts bend the path; the width of the last interval of them. */
#define BPDN_FIRST  0.25
#define BPDN_LAST   1e-14
#define BPDN_ROUGH  0.1
#define BPDN_FINE   1e-10
#define BPDN_EXACT  1e-9
#define BPDN_GAP    1e-8
#define BPDN_CLOSE  1e-7
#define BPDN_PROVED 1e-6
#define BPDN_NEAR   0.25
#define BPDN_FACTOR 0.1
#define BPDN_CURVED 0.4
#define BPDN_SPAN   1e-4
#define BPDN_WIDTH  1e-8
#define BPDN_HIDDEN 32.0

/* Steps between two of Newton's, twice as many each time; of Newton's, before it goes without; and
 * lines, before intervals are halved.
 */
enum { STEPS_FIRST = 10, TANGENTS_MOST = 60, LINES_MOST = 30 };

typedef struct bpdn {
    csrec_support s;              /* first */
    csrec_active *active;         /* or NULL */
    csrec_active_columns columns; /* of an operator that is known by products */
    csrec_l1_steps steps;         /* where active is NULL, and for all below, too */
    csrec_l1_newton newton;
    bool begun;
    double goal, whole, largest; /* bound of ||r||, ||y||, max |<a_j, y>| */
    double tau;                  /* bound of ||x||_1 in its place, or 0 */
    double lambda, miss;         /* of the minimum looked for */
    double rough;                /* miss for a lambda that is far from the last */
    double above, below;         /* lambdas with ||r|| above and below the goal */
    double lambda_before;        /* of the minimum before */
    double *x_before, *r_before; /* [n], [m] */
    bool anew;                   /* it has begun anew, without Newton's steps, */
    int tangents;                /* of which there were so many */
    int lines;                   /* tried between two lambdas */
    int64_t left, most;          /* steps until Newton's, and after it; most 0: far from the end */
} bpdn;

static void bpdn_destroy(csrec_run *run) {
    bpdn *o = run->state;
    if (o) {
        csrec_active_destroy(o->active);
        csrec_operator_destroy(o->columns.stored);
    }
}

static csrec_status bpdn_create(csrec_run *run, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, sizeof(bpdn), error);
    bpdn *o = run->state;
    if (status) return status;
    csrec_rules rules = csrec_rules_of(&run->options->stop, -1, run->A->m, run->y);
    status = csrec_l1_read(run, &o->s, error);
    if (status) return status;
    o->goal = sqrt(rules.goal);
    o->tau = csrec_run_param(run, "tau");
    if (o->tau > 0.0 && rules.goal > 0.0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "tau bounds ||x||_1 in place of epsilon and sigma; leave them out");
    o->whole = sqrt(rules.whole);
    o->miss = o->rough = BPDN_ROUGH;
    CSREC_ZEROS(&run->pool, o->x_before, run->A->n);
    CSREC_TAKE(&run->pool, o->r_before, run->A->m);
    status = csrec_l1_steps_create(&o->s, &o->steps);
    if (!status) status = csrec_l1_newton_create(&o->s, &o->newton);
    if (!status && !csrec_run_stops(run))
        status = csrec_active_create(&o->s, run->A, BPDN_FIRST, &o->active);
    return status ? csrec_fail(error, status, "solver bpdn: out of memory for %lld columns",
                               (long long)run->A->n)
                  : CSREC_OK;
}

/* By how much rounding may change r = y - A x, by the sizes of the terms: sqrt(L) is ||A||. */
static double rounding_of_r(const bpdn *o) {
    const csrec_support *s = &o->s;
    double sum = 0.0;
    if (!o->active)
        return o->steps.rounding * (o->whole + sqrt(o->steps.L * csrec_squares(s->A->n, s->x)));
    for (int64_t j = 0; j < s->A->n; j++) sum += (s->x[j] * s->norms[j]) * (s->x[j] * s->norms[j]);
    return CSREC_L1_ROUNDING * (o->whole + sqrt(sum));
}

/* The same of A^T r, as a share of lambda: by how much a minimum misses its conditions at least. */
static double least_miss(const bpdn *o) {
    return o->active ? 0.0 : csrec_l1_steps_rounding(&o->steps) / o->lambda;
}

/* Below this lambda A^T r is rounding. */
static bool is_last(const bpdn *o) {
    return o->lambda < fmax(BPDN_LAST, o->active ? 0.0 : 8.0 * o->steps.rounding) * o->largest;
}

static void set_lambda(bpdn *o, double lambda) {
    o->lambda = o->steps.lambda = lambda;
    if (o->active) csrec_active_aim(o->active, lambda);
    csrec_l1_steps_restart(&o->steps);
}

/* The path begins at x = 0, r = y, the minimum for the largest lambda. */
static void start_line(bpdn *o) {
    const csrec_support *s = &o->s;
    memset(o->x_before, 0, (size_t)s->A->n * sizeof *o->x_before);
    memcpy(o->r_before, s->y, (size_t)s->A->m * sizeof *o->r_before);
    o->lambda_before = o->largest;
}

static csrec_status begin(bpdn *o) {
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

/* x = 0 is the solution: it meets the constraint, or no column meets y. */
static void take_nothing(bpdn *o) {
    csrec_support_zero(&o->s);
    o->s.run->solved = true;
}

/* v = from + t slope */
static void combine(int64_t n, const double *from, double t, const double *slope, double *v) {
    for (int64_t j = 0; j < n; j++) v[j] = from[j] + t * slope[j];
}

/* The line through the last two minima, as Newton's step has it: from the last, by slope. */
static void draw_line(bpdn *o) {
    const csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double span = o->lambda - o->lambda_before;
    memcpy(o->newton.x, s->x, (size_t)n * sizeof *s->x);
    memcpy(o->newton.r, s->r, (size_t)m * sizeof *s->r);
    for (int64_t j = 0; j < n; j++) o->newton.slope_x[j] = (s->x[j] - o->x_before[j]) / span;
    for (int64_t i = 0; i < m; i++) o->newton.slope_r[i] = (s->r[i] - o->r_before[i]) / span;
}

/* The lambda at which ||x||_1 on the line is tau, as its signs stay. */
static double lambda_of_norm(const bpdn *o) {
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
static double lambda_on_line(const bpdn *o) {
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
static void go_on(bpdn *o, double lambda) {
    csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double t = lambda - o->lambda;
    if (fabs(t) > BPDN_SPAN * o->lambda) { /* else the line is that of two minima further apart */
        memcpy(o->x_before, s->x, (size_t)n * sizeof *s->x);
        memcpy(o->r_before, s->r, (size_t)m * sizeof *s->r);
        o->lambda_before = o->lambda;
    }
    if (!o->active) {
        combine(n, o->newton.x, t, o->newton.slope_x, s->x);
        combine(m, o->newton.r, t, o->newton.slope_r, s->r);
        s->energy = csrec_squares(m, s->r);
    }
    set_lambda(o, lambda);
}

/* The length of r on the line at lambda = 0, as a share of its length at lambda. */
static double share_that_stays(bpdn *o) {
    int64_t m = o->s.A->m;
    combine(m, o->newton.r, -o->lambda, o->newton.slope_r, o->s.q);
    return sqrt(csrec_squares(m, o->s.q) / csrec_squares(m, o->newton.r));
}

/* x and its residual, if that is short enough for A x = y. */
static bool takes(bpdn *o, const double *x, double most) {
    csrec_support *s = &o->s;
    s->run->fault = csrec_support_forward(s, x, s->q);
    if (s->run->fault) return false;
    for (int64_t i = 0; i < s->A->m; i++) s->q[i] = s->y[i] - s->q[i];
    const double energy = csrec_squares(s->A->m, s->q);
    if (sqrt(energy) > most) return false;
    memcpy(s->x, x, (size_t)s->A->n * sizeof *s->x);
    memcpy(s->r, s->q, (size_t)s->A->m * sizeof *s->r);
    s->energy = energy;
    return true;
}

/* Whether the line at lambda = 0 is the solution of A x = y; then x is. */
static bool line_ends(bpdn *o) {
    csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double product = 0.0, *x = o->steps.next, rounding = rounding_of_r(o);
    double most = BPDN_EXACT * o->whole + 4.0 * rounding;
    for (int64_t i = 0; i < m; i++) product += s->y[i] * o->newton.r[i];
    if (share_that_stays(o) * sqrt(csrec_squares(m, o->newton.r)) > most) return false;
    combine(n, o->newton.x, -o->lambda, o->newton.slope_x, x);
    double norm = csrec_l1_norm(s->A, x);
    if (fabs(norm - product / o->lambda) > BPDN_GAP * norm + o->whole * rounding / o->lambda)
        return false;
    /* Entries that end at 0 end there but for rounding. */
    for (int64_t j = 0; j < n; j++)
        if (!(fabs(x[j]) * s->norms[j] > 1e-13 * o->whole) || (s->nonnegative && x[j] < 0.0))
            x[j] = 0.0;
    /* The products may round more than columns that were computed by them. */
    if (o->columns.stored)
        most = fmax(most, o->steps.rounding * (o->whole + sqrt(o->steps.L * csrec_squares(n, x))));
    s->run->solved = takes(o, x, 4.0 * most);
    return s->run->solved;
}

/* 1/2 ||r||^2 + lambda ||x||_1 is no larger at the end of Newton's step. It is if the signs of x
 * are not those of a minimum, and columns that nearly depend on each other carry x far away. */
static bool step_descends(const bpdn *o) {
    const csrec_support *s = &o->s;
    double here = 0.5 * s->energy + o->lambda * csrec_l1_norm(s->A, s->x);
    double there =
        0.5 * csrec_squares(s->A->m, o->newton.r) + o->lambda * csrec_l1_norm(s->A, o->newton.x);
    return there <= here + 1e-12 * here;
}

/* Newton's step and the tangent in place of the line, from a minimum that is roughly known. False:
 * there are none; the line is as it was. */
static bool take_tangent(bpdn *o) {
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
static bool approach(bpdn *o, bool fine) {
    draw_line(o);
    double stays = share_that_stays(o);
    bool near = !o->active && stays < BPDN_NEAR && take_tangent(o);
    if (o->s.run->fault || ((fine || o->active) && line_ends(o))) return false;
    if (o->s.run->fault || is_last(o)) return false;
    if (near && !fine && share_that_stays(o) < BPDN_NEAR) {
        go_on(o, o->lambda); /* to where Newton's step leads */
        return true;
    }
    o->most = 0;
    o->miss = fmax(BPDN_FINE, BPDN_ROUGH * fmin(1.0, stays));
    go_on(o, BPDN_FACTOR * o->lambda);
    return true;
}

/* v = r of t x. */
static void scale_residual(const csrec_support *s, double t, double *v) {
    for (int64_t i = 0; i < s->A->m; i++) v[i] = s->y[i] + t * (s->r[i] - s->y[i]);
}

/* The path begins as a ray from x = 0, where ||x||_1 near 0 leaves no digits to lambda. Whether x
 * times a number, with ||x||_1 = tau, misses the conditions by at most `most`; then x is that. */
static bool takes_scaled(bpdn *o, double most) {
    csrec_support *s = &o->s;
    const double norm = csrec_l1_norm(s->A, s->x), t = o->tau / norm;
    if (!(norm > 0.0)) return false;
    scale_residual(s, t, s->q);
    s->run->fault = csrec_support_adjoint(s, s->q, s->g);
    if (s->run->fault) return false;
    const double lambda = csrec_l1_largest(s, s->g);
    if (!(csrec_l1_miss(s, s->g, lambda) <= fmax(most, least_miss(o)) * lambda)) return false;
    for (int64_t j = 0; j < s->A->n; j++) s->x[j] *= t;
    s->run->fault = csrec_support_subtract(s);
    s->run->solved = !s->run->fault;
    return s->run->solved;
}

/* Whether ||r|| is least but for the last digits: A^T r is near 0, as at the last lambda, if x is
 * its minimum. */
static bool is_shortest(bpdn *o) {
    csrec_support *s = &o->s;
    double longest = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) longest = fmax(longest, s->norms[j]);
    const double rounding =
        o->active ? longest * rounding_of_r(o) : csrec_l1_steps_rounding(&o->steps);
    s->run->fault = csrec_support_adjoint(s, s->r, s->g);
    return !s->run->fault && csrec_l1_largest(s, s->g) <= 1e-9 * o->largest + 8.0 * rounding;
}

/* x is the solution if it is near the bound tau of ||x||_1, where least squares may have a shorter
 * x. */
static void end_at_norm(bpdn *o) {
    const double norm = csrec_l1_norm(o->s.A, o->s.x), off = norm / o->tau - 1.0;
    if (off < 0.0 && is_last(o))
        o->s.run->solved = is_shortest(o);
    else if (!takes_scaled(o, BPDN_CLOSE))
        o->s.run->solved = fabs(off) <= BPDN_CLOSE;
}

/* Whether ||x||_1 is the least but for a share of BPDN_PROVED: v = r / max |<a_j, r>| is feasible
 * for the dual, so that none within the goal is below <y, v> - goal ||v||. */
static bool is_proved(bpdn *o) {
    csrec_support *s = &o->s;
    const double length = sqrt(s->energy), norm = csrec_l1_norm(s->A, s->x);
    double product = 0.0;
    if (!(length <= (1.0 + BPDN_CLOSE) * o->goal)) return false;
    s->run->fault = csrec_support_adjoint(s, s->r, s->g);
    if (s->run->fault) return false;
    for (int64_t i = 0; i < s->A->m; i++) product += s->y[i] * s->r[i];
    const double least = (product - o->goal * length) / csrec_l1_largest(s, s->g);
    return fabs(norm - least) <= BPDN_PROVED * norm;
}

/* There is no other lambda. x is the solution but for the last digits if ||r|| is near the goal, or
 * below one that is small beside y. False. */
static bool end_here(bpdn *o) {
    const double length = sqrt(o->s.energy);
    if (o->tau > 0.0)
        end_at_norm(o);
    else
        o->s.run->solved = fabs(length - o->goal) <= BPDN_CLOSE * o->goal ||
                           (length < o->goal && o->goal - length <= BPDN_EXACT * o->whole) ||
                           is_proved(o);
    return false;
}

/* Minima that were not left no lambda between those known: the last is looked for again, closer,
 * and at last without Newton's steps, whose end may be none; false: that was so before. */
static bool look_again(bpdn *o) {
    if (o->anew && o->miss <= BPDN_FINE) return end_here(o);
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
static void bound(bpdn *o) {
    double length = sqrt(o->s.energy), at = o->lambda * (o->goal / length);
    double miss = fmax(o->miss, least_miss(o)) + rounding_of_r(o) / length;
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

/* Minima have left no lambda between those known; it is one if they are exact. */
static bool is_narrow(const bpdn *o) {
    return o->above - o->below <= (o->below > 0.0 ? BPDN_WIDTH * o->lambda : 0.0);
}

/* The next lambda by the line, between those known; false: there is none. */
static bool next_by_line(bpdn *o, double next) {
    const double factor = o->s.A->parts > 1 ? BPDN_CURVED : BPDN_FACTOR;
    bound(o);
    o->most = 0;
    if (is_last(o)) return end_here(o);
    if (is_narrow(o)) {
        end_here(o);
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

/* The constraint is met with equality. */
static bool is_met(const bpdn *o) {
    if (o->tau > 0.0) return fabs(csrec_l1_norm(o->s.A, o->s.x) - o->tau) <= BPDN_EXACT * o->tau;
    return fabs(sqrt(o->s.energy) - o->goal) <= BPDN_EXACT * o->goal + 4.0 * rounding_of_r(o);
}

/* The next lambda after a minimum; false: it is the solution, or there is none. */
static bool advance(bpdn *o, bool fine) {
    if (o->goal == 0.0 && o->tau == 0.0) return approach(o, fine);
    o->s.run->solved = fine && is_met(o);
    if (o->s.run->solved) return false;
    const bool longer = fine && o->tau > 0.0 && csrec_l1_norm(o->s.A, o->s.x) > o->tau;
    if (longer && (takes_scaled(o, BPDN_FINE) || o->s.run->fault)) return false;
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
static bool improve(bpdn *o, bool *fine) {
    csrec_l1_steps *steps = &o->steps;
    if (!o->active && csrec_active_is_due(&o->columns, &o->s)) {
        o->s.run->fault =
            csrec_active_store(&o->columns, &o->s, o->lambda / o->largest, &o->active);
        if (o->active) csrec_active_aim(o->active, o->lambda);
    }
    if (o->s.run->fault) return false;
    if (o->active) {
        csrec_round came = csrec_active_round(o->active);
        *fine = came == CSREC_ROUND_DONE;
        if (came < CSREC_ROUND_FULL) return *fine;
        csrec_active_destroy(o->active);
        o->active = NULL;
        o->s.run->fault = csrec_l1_steps_start(steps, &o->largest);
        csrec_l1_steps_restart(steps);
    }
    bool still = !csrec_l1_steps_step(steps);
    double miss = steps->L * steps->moved / o->lambda;
    *fine = still || miss <= fmax(BPDN_FINE, least_miss(o));
    return *fine || miss <= o->miss || (o->most && --o->left == 0);
}

/* r is 0 but for its last digits within ||x||_1 <= tau: no minimum has to be known. */
static bool fits_within(const bpdn *o) {
    return o->tau > 0.0 && o->s.energy <= (BPDN_EXACT * o->whole) * (BPDN_EXACT * o->whole) &&
           csrec_l1_norm(o->s.A, o->s.x) <= o->tau;
}

static bool bpdn_update(csrec_run *run) {
    bpdn *o = run->state;
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
    run->solved = fits_within(o);
    return !run->solved && (!found || advance(o, fine));
}

static const csrec_param params[] = {
    {"tau", 0, 0, DBL_MAX, "least ||A x - y|| with ||x||_1 <= tau; 0: least ||x||_1"},
    CSREC_L1_PARAMS,
    {0}};

static const char *const lengths[] = {"tau", NULL};

/* A run that ends before its end may be beyond tau: then x is a multiple of it that is not. */
static csrec_status bpdn_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    bpdn *o = run->state;
    csrec_support *s = &o->s;
    const double norm = o->tau > 0.0 ? csrec_l1_norm(s->A, s->x) : 0.0,
                 t = norm > 0.0 ? o->tau / norm : 1.0;
    if (t < 1.0 - BPDN_CLOSE && !run->looking) {
        for (int64_t j = 0; j < s->A->n; j++) s->x[j] *= t;
        scale_residual(s, t, s->r);
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
