/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_steps.c - accelerated proximal gradient steps on all columns (Beck and Teboulle 2009,
 * equations 4.1 to 4.3), with backtracking and restart. */
#include <math.h>
#include <string.h>

#include "solver/l1.h"
#include "csrec/sampling.h"

/* Power iteration is within a small factor of ||A||^2. If 1.5^100 times more is not enough, the
 * numbers have left the range of a double, and no step length works. */
enum { RAISES = 100, DRAWN = 1 << 16 /* numbers processed between two reports */ };

csrec_status csrec_l1_read(csrec_run *run, csrec_support *s, csrec_error *error) {
    s->nonnegative = csrec_run_param(run, "nonnegative") != 0.0;
    if (s->nonnegative && s->A->parts > 1)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "nonnegative: entries of x are complex or joint, and have no sign");
    bool clipped = false;
    for (int64_t j = 0; s->nonnegative && j < s->A->n; j++) {
        clipped = clipped || s->x[j] < 0.0;
        s->x[j] = fmax(s->x[j], 0.0);
    }
    csrec_status status = clipped ? csrec_support_residual(s) : CSREC_OK;
    /* A start whose r is no shorter than that of x = 0 has no smaller objective. */
    if (!status && s->energy >= csrec_squares(s->A->m, s->y)) csrec_support_zero(s);
    return status == CSREC_STOPPED ? CSREC_OK : status;
}

csrec_status csrec_l1_steps_create(csrec_support *s, csrec_l1_steps *o) {
    *o = (csrec_l1_steps){.s = s};
    CSREC_TAKE(&s->run->pool, o->z, s->A->n);
    CSREC_TAKE(&s->run->pool, o->next, s->A->n);
    CSREC_TAKE(&s->run->pool, o->at_z, s->A->m);
    return csrec_pool_status(&s->run->pool);
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
static csrec_status estimate_norm(csrec_l1_steps *o) {
    csrec_support *s = o->s;
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

/* The length of v - w / 3, as a share of that of v; w is used up. */
static double off_by(int64_t n, const double *v, double *w) {
    for (int64_t i = 0; i < n; i++) w[i] = v[i] - w[i] / 3.0;
    double size = csrec_squares(n, v);
    return size > 0.0 ? sqrt(csrec_squares(n, w) / size) : 0.0;
}

/* Products of g and of 3 g differ by their rounding alone; z, at_z, next and q are scratch. */
static csrec_status measure_rounding(csrec_l1_steps *o) {
    csrec_support *s = o->s;
    int64_t n = s->A->n, m = s->A->m;
    CSREC_TRY(csrec_support_forward(s, s->g, s->q));
    for (int64_t j = 0; j < n; j++) o->z[j] = 3.0 * s->g[j];
    CSREC_TRY(csrec_support_forward(s, o->z, o->at_z));
    o->rounding = fmax(CSREC_L1_ROUNDING, 2.0 * off_by(m, s->q, o->at_z));
    for (int64_t i = 0; i < m; i++) o->at_z[i] = 3.0 * s->q[i];
    CSREC_TRY(csrec_support_adjoint(s, s->q, o->next));
    CSREC_TRY(csrec_support_adjoint(s, o->at_z, o->z));
    o->rounding = fmax(o->rounding, 2.0 * off_by(n, o->next, o->z));
    return CSREC_OK;
}

double csrec_l1_norm(const csrec_operator *A, const double *x) {
    double sum = 0.0;
    for (int64_t j = 0; j < A->n; j += A->parts) sum += csrec_entry_size(A->parts, x + j);
    return sum;
}

double csrec_l1_largest(const csrec_support *s, const double *v) {
    double largest = 0.0;
    const int64_t parts = s->A->parts;
    for (int64_t j = 0; j < s->A->n; j += parts)
        largest = fmax(largest, s->nonnegative ? v[j] : csrec_entry_size(parts, v + j));
    return largest;
}

double csrec_l1_miss(const csrec_support *s, const double *c, double lambda) {
    const int64_t parts = s->A->parts;
    double worst = fmax(0.0, csrec_l1_largest(s, c) - lambda);
    for (int64_t j = 0; j < s->A->n; j += parts) {
        double size = csrec_entry_size(parts, s->x + j), square = 0.0;
        for (int64_t p = j; p < j + parts && size > 0.0; p++) {
            double off = c[p] - lambda * (s->x[p] / size);
            square += off * off;
        }
        worst = fmax(worst, sqrt(square));
    }
    return worst;
}

csrec_status csrec_l1_steps_start(csrec_l1_steps *o, double *largest) {
    CSREC_TRY(csrec_support_adjoint(o->s, o->s->y, o->s->g));
    *largest = csrec_l1_largest(o->s, o->s->g);
    o->size_y = sqrt(csrec_squares(o->s->A->m, o->s->y));
    csrec_status status = estimate_norm(o);
    return status ? status : measure_rounding(o);
}

void csrec_l1_steps_restart(csrec_l1_steps *o) {
    o->t = 1.0;
    memcpy(o->z, o->s->x, (size_t)o->s->A->n * sizeof *o->z);
    memcpy(o->at_z, o->s->r, (size_t)o->s->A->m * sizeof *o->at_z);
}

/* next = soft(z - A^T (A z - y) / L, lambda / L); p keeps the gradient at z. */
static void shrink_real(csrec_l1_steps *o, int64_t n) {
    double limit = o->lambda / o->L;
    for (int64_t j = 0; j < n; j++) {
        double v = o->z[j] + o->s->p[j] / o->L;
        o->next[j] = v > limit ? v - limit : v < -limit ? v + limit : 0.0;
    }
}

/* The same for entries of several parts, whose magnitude is shortened. */
static void shrink_entries(csrec_l1_steps *o, int64_t n) {
    const double limit = o->lambda / o->L;
    const int64_t parts = o->s->A->parts;
    for (int64_t j = 0; j < n; j++) o->next[j] = o->z[j] + o->s->p[j] / o->L;
    for (int64_t j = 0; j < n; j += parts) csrec_entry_shorten(parts, limit, o->next + j);
}

static void shrink(csrec_l1_steps *o) {
    const csrec_support *s = o->s;
    const int64_t n = s->A->n;
    (s->A->parts > 1 ? shrink_entries : shrink_real)(o, n);
    for (int64_t j = 0; s->nonnegative && j < n; j++) o->next[j] = fmax(o->next[j], 0.0);
}

/* Is 1/2 ||A next - y||^2 below its quadratic model at z, as 1 / L demands? That is ||A d||^2 <=
 * L ||d||^2 for d = next - z, and A d, a difference of residuals, is known to the rounding of A x.
 * Leaves y - A next in q. */
static bool step_holds(csrec_l1_steps *o, csrec_status *status) {
    csrec_support *s = o->s;
    *status = csrec_support_forward(s, o->next, s->q);
    double raised = 0.0, moved = 0.0;
    for (int64_t i = 0; i < s->A->m; i++) {
        s->q[i] = s->y[i] - s->q[i];
        double d = o->at_z[i] - s->q[i];
        raised += d * d;
    }
    for (int64_t j = 0; j < s->A->n; j++) {
        double d = o->next[j] - o->z[j];
        moved += d * d;
    }
    o->moved = sqrt(moved);
    return isfinite(raised + moved) &&
           sqrt(raised) <= (1.0 + 0x1p-20) * sqrt(o->L) * o->moved +
                               fmax(0x1p-40, 4.0 * o->rounding) * o->size_y;
}

/* r is affine in x: y - A z follows from those of x and next, without a product. */
static void extrapolate(csrec_l1_steps *o) {
    csrec_support *s = o->s;
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

double csrec_l1_steps_rounding(const csrec_l1_steps *o) {
    return sqrt(o->L) * o->rounding * (o->size_y + sqrt(o->L * csrec_squares(o->s->A->n, o->s->x)));
}

bool csrec_l1_steps_step(csrec_l1_steps *o) {
    csrec_support *s = o->s;
    csrec_status *fault = &s->run->fault;
    int64_t n = s->A->n, m = s->A->m;
    if (!*fault) *fault = csrec_support_adjoint(s, o->at_z, s->p);
    if (*fault) return false;
    shrink(o);
    for (int tries = 0; !step_holds(o, fault); tries++) {
        if (*fault || tries == RAISES) return false;
        o->L *= 1.5;
        shrink(o);
    }
    if (*fault) return false;
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
    o->change = moved > 0.0 ? moved / size : 0.0;
    return moved > 0.0;
}

/* ---- with the signs u = x / |x| of the entries F that x uses, the conditions of the minimum,
 * A_F^T (y - A_F x) = lambda u, are solved by Newton's step d, and differentiated by lambda:
 *
 *     H d = A_F^T r - lambda u,     H dx/dlambda = -u,     H = A_F^T A_F + lambda U.
 *
 * U is the derivative of u: 0 for real entries; for complex ones (1 - u u^T) / |x| on the pair, so
 * that only their directions turn. For real x one step ends at the minimum if the signs are its. */

/* Products of a solution at most; its residual at the end as a share of that at the begin, that it
 * may end with, and that it must not rise to. */
enum { PRODUCTS_MOST = 300 };
#define NEWTON_EXACT  1e-12
#define NEWTON_ENOUGH 1e-4
#define NEWTON_WRONG  1e3

/* Directions of less curvature, as a share of that of columns at right angles, are combinations of
 * columns that are 0 but for rounding: then signs contradict each other, and no x meets them. */
#define NEWTON_FLAT 1e-13

csrec_status csrec_l1_newton_create(csrec_support *s, csrec_l1_newton *o) {
    *o = (csrec_l1_newton){.s = s};
    CSREC_TAKE(&s->run->pool, o->x, s->A->n);
    CSREC_TAKE(&s->run->pool, o->r, s->A->m);
    CSREC_TAKE(&s->run->pool, o->slope_x, s->A->n);
    CSREC_TAKE(&s->run->pool, o->slope_r, s->A->m);
    return csrec_pool_status(&s->run->pool);
}

/* v += scale u on F, 0 elsewhere. */
static void add_signs(const csrec_support *s, double scale, double *v) {
    const double *x = s->x;
    int64_t n = s->A->n;
    for (int64_t j = 0; j < n; j++)
        if (!s->chosen[j]) v[j] = 0.0;
    const int64_t parts = s->A->parts;
    if (parts > 1)
        for (int64_t j = 0; j < n; j += parts) {
            if (!s->chosen[j]) continue;
            double size = csrec_entry_size(parts, x + j);
            for (int64_t p = j; p < j + parts; p++) v[p] += scale * (x[p] / size);
        }
    else
        for (int64_t j = 0; j < n; j++)
            if (s->chosen[j]) v[j] += copysign(scale, scale * x[j]);
}

/* v += lambda U p on F, for entries of several parts. */
static void add_turning(const csrec_l1_newton *o, const double *p, double *v) {
    const csrec_support *s = o->s;
    const double *x = s->x;
    const int64_t parts = s->A->parts;
    for (int64_t j = 0; j < s->A->n && parts > 1; j += parts) {
        if (!s->chosen[j]) continue;
        double size = csrec_entry_size(parts, x + j), along = 0.0;
        for (int64_t i = j; i < j + parts; i++) along += x[i] / size * p[i];
        for (int64_t i = j; i < j + parts; i++)
            v[i] += o->lambda / size * (p[i] - along * (x[i] / size));
    }
}

/* p = D v and its square length in the metric of D, the inverse squares of the norms. */
static double precondition(const csrec_support *s, const double *v, double *p) {
    double sum = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) {
        p[j] = s->chosen[j] ? v[j] / (s->norms[j] * s->norms[j]) : 0.0;
        sum += p[j] * v[j];
    }
    return sum;
}

/* v = A^T q on F, 0 elsewhere. */
static csrec_status adjoint_on_used(const csrec_support *s, const double *q, double *v) {
    return csrec_run_stops(s->run) ? CSREC_STOPPED
                                   : csrec_operator_adjoint_on(s->A, 1, s->chosen, q, v);
}

/* v = H p; s->q = A p. */
static csrec_status multiply(csrec_l1_newton *o, const double *p, double *v) {
    csrec_support *s = o->s;
    csrec_status status = csrec_support_forward(s, p, s->q);
    if (!status) status = adjoint_on_used(s, s->q, v);
    if (!status) add_turning(o, p, v);
    return status;
}

/* x += H^-1 g and r -= A H^-1 g by conjugate gradients; g = s->g is used up, v is scratch [n].
 * *found becomes false if they do not converge. */
static csrec_status solve(csrec_l1_newton *o, double *x, double *r, double *v, bool *found) {
    csrec_support *s = o->s;
    int64_t n = s->A->n, m = s->A->m;
    double *g = s->g, *p = s->p, gamma = precondition(s, g, p), begin = gamma;
    double least = NEWTON_EXACT * NEWTON_EXACT * begin, most = NEWTON_WRONG * NEWTON_WRONG * begin;
    for (int i = 0; i < PRODUCTS_MOST && gamma > least && gamma <= most; i++) {
        CSREC_TRY(multiply(o, p, v));
        double curved = 0.0, length = 0.0;
        for (int64_t j = 0; j < n; j++) curved += p[j] * v[j];
        for (int64_t j = 0; j < n; j++) length += (p[j] * s->norms[j]) * (p[j] * s->norms[j]);
        if (!(curved > NEWTON_FLAT * length)) break;
        double alpha = gamma / curved;
        for (int64_t j = 0; j < n; j++) x[j] += alpha * p[j];
        for (int64_t k = 0; k < m; k++) r[k] -= alpha * s->q[k];
        for (int64_t j = 0; j < n; j++) g[j] -= alpha * v[j];
        double next = precondition(s, g, v), beta = next / gamma;
        for (int64_t j = 0; j < n; j++) p[j] = v[j] + beta * p[j];
        gamma = next;
    }
    *found = *found && gamma <= NEWTON_ENOUGH * NEWTON_ENOUGH * begin;
    return CSREC_OK;
}

csrec_status csrec_l1_newton_find(csrec_l1_newton *o, double lambda, bool *found) {
    csrec_support *s = o->s;
    size_t columns = (size_t)s->A->n, rows = (size_t)s->A->m;
    o->lambda = lambda;
    csrec_support_choose_used(s); /* F */
    *found = s->size <= s->A->m;
    if (!*found) return CSREC_OK;
    CSREC_TRY(csrec_support_adjoint(s, s->r, s->g));
    add_signs(s, -lambda, s->g);
    memcpy(o->x, s->x, columns * sizeof *o->x);
    memcpy(o->r, s->r, rows * sizeof *o->r);
    csrec_status status = solve(o, o->x, o->r, s->c, found);
    if (status || !*found) return status;
    memset(s->g, 0, columns * sizeof *s->g);
    add_signs(s, -1.0, s->g);
    memset(o->slope_x, 0, columns * sizeof *o->slope_x);
    memset(o->slope_r, 0, rows * sizeof *o->slope_r);
    for (int64_t j = 0; s->nonnegative && j < s->A->n; j++)
        if (o->x[j] < 0.0) *found = false;
    return solve(o, o->slope_x, o->slope_r, s->c, found);
}
