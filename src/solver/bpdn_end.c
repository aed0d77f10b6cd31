/* SPDX-License-Identifier: BSD-3-Clause */
/* bpdn_end.c - whether a point of the path is the solution of bpdn.c, as far as rounding lets it be
 * known, and x and r of it. */
#include "solver/l1.h"

#include <math.h>
#include <string.h>

/* Shares: of max |<a_j, y>|, the last lambda; of the goal, or of y, the error of ||r||; of ||x||_1,
 * the gap to its bound where A x = y; and of the goal and ||x||_1, what the dual may leave. */
#define BPDN_LAST   1e-14
#define BPDN_EXACT  1e-9
#define BPDN_GAP    1e-8
#define BPDN_PROVED 1e-6

double csrec_bpdn_rounding(const csrec_bpdn *o) {
    const csrec_support *s = &o->s;
    double sum = 0.0;
    if (!o->active)
        return o->steps.rounding * (o->whole + sqrt(o->steps.L * csrec_squares(s->A->n, s->x)));
    for (int64_t j = 0; j < s->A->n; j++) sum += (s->x[j] * s->norms[j]) * (s->x[j] * s->norms[j]);
    return CSREC_L1_ROUNDING * (o->whole + sqrt(sum));
}

double csrec_bpdn_least_miss(const csrec_bpdn *o) {
    return o->active ? 0.0 : csrec_l1_steps_rounding(&o->steps) / o->lambda;
}

bool csrec_bpdn_is_last(const csrec_bpdn *o) {
    return o->lambda < fmax(BPDN_LAST, o->active ? 0.0 : 8.0 * o->steps.rounding) * o->largest;
}

double csrec_bpdn_share_that_stays(csrec_bpdn *o) {
    int64_t m = o->s.A->m;
    csrec_bpdn_combine(m, o->newton.r, -o->lambda, o->newton.slope_r, o->s.q);
    return sqrt(csrec_squares(m, o->s.q) / csrec_squares(m, o->newton.r));
}

/* x and its residual, if that is short enough for A x = y. */
static bool takes(csrec_bpdn *o, const double *x, double most) {
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

bool csrec_bpdn_line_ends(csrec_bpdn *o) {
    csrec_support *s = &o->s;
    int64_t n = s->A->n, m = s->A->m;
    double product = 0.0, *x = o->steps.next, rounding = csrec_bpdn_rounding(o);
    double most = BPDN_EXACT * o->whole + 4.0 * rounding;
    for (int64_t i = 0; i < m; i++) product += s->y[i] * o->newton.r[i];
    if (csrec_bpdn_share_that_stays(o) * sqrt(csrec_squares(m, o->newton.r)) > most) return false;
    csrec_bpdn_combine(n, o->newton.x, -o->lambda, o->newton.slope_x, x);
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

void csrec_bpdn_scale_residual(const csrec_support *s, double t, double *v) {
    for (int64_t i = 0; i < s->A->m; i++) v[i] = s->y[i] + t * (s->r[i] - s->y[i]);
}

bool csrec_bpdn_takes_scaled(csrec_bpdn *o, double most) {
    csrec_support *s = &o->s;
    const double norm = csrec_l1_norm(s->A, s->x), t = o->tau / norm;
    if (!(norm > 0.0)) return false;
    csrec_bpdn_scale_residual(s, t, s->q);
    s->run->fault = csrec_support_adjoint(s, s->q, s->g);
    if (s->run->fault) return false;
    const double lambda = csrec_l1_largest(s, s->g);
    if (!(csrec_l1_miss(s, s->g, lambda) <= fmax(most, csrec_bpdn_least_miss(o)) * lambda))
        return false;
    for (int64_t j = 0; j < s->A->n; j++) s->x[j] *= t;
    s->run->fault = csrec_support_subtract(s);
    s->run->solved = !s->run->fault;
    return s->run->solved;
}

/* Whether ||r|| is least but for the last digits: A^T r is near 0, as at the last lambda, if x is
 * its minimum. */
static bool is_shortest(csrec_bpdn *o) {
    csrec_support *s = &o->s;
    double longest = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) longest = fmax(longest, s->norms[j]);
    const double rounding =
        o->active ? longest * csrec_bpdn_rounding(o) : csrec_l1_steps_rounding(&o->steps);
    s->run->fault = csrec_support_adjoint(s, s->r, s->g);
    return !s->run->fault && csrec_l1_largest(s, s->g) <= 1e-9 * o->largest + 8.0 * rounding;
}

/* x is the solution if it is near the bound tau of ||x||_1, where least squares may have a shorter
 * x. */
static void end_at_norm(csrec_bpdn *o) {
    const double norm = csrec_l1_norm(o->s.A, o->s.x), off = norm / o->tau - 1.0;
    if (off < 0.0 && csrec_bpdn_is_last(o))
        o->s.run->solved = is_shortest(o);
    else if (!csrec_bpdn_takes_scaled(o, BPDN_CLOSE))
        o->s.run->solved = fabs(off) <= BPDN_CLOSE;
}

/* Whether ||x||_1 is the least but for a share of BPDN_PROVED: v = r / max |<a_j, r>| is feasible
 * for the dual, so that none within the goal is below <y, v> - goal ||v||. */
static bool is_proved(csrec_bpdn *o) {
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

bool csrec_bpdn_end_here(csrec_bpdn *o) {
    const double length = sqrt(o->s.energy);
    if (o->tau > 0.0)
        end_at_norm(o);
    else
        o->s.run->solved = fabs(length - o->goal) <= BPDN_CLOSE * o->goal ||
                           (length < o->goal && o->goal - length <= BPDN_EXACT * o->whole) ||
                           is_proved(o);
    return false;
}

bool csrec_bpdn_is_met(const csrec_bpdn *o) {
    if (o->tau > 0.0) return fabs(csrec_l1_norm(o->s.A, o->s.x) - o->tau) <= BPDN_EXACT * o->tau;
    return fabs(sqrt(o->s.energy) - o->goal) <= BPDN_EXACT * o->goal + 4.0 * csrec_bpdn_rounding(o);
}

bool csrec_bpdn_fits_within(const csrec_bpdn *o) {
    return o->tau > 0.0 && o->s.energy <= (BPDN_EXACT * o->whole) * (BPDN_EXACT * o->whole) &&
           csrec_l1_norm(o->s.A, o->s.x) <= o->tau;
}
