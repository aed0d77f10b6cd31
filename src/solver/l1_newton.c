/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_newton.c - with the signs u = x / |x| of the entries F that x uses, the conditions of the
 * minimum, A_F^T (y - A_F x) = lambda u, are solved by Newton's step d, and differentiated by
 * lambda:
 *
 *     H d = A_F^T r - lambda u,     H dx/dlambda = -u,     H = A_F^T A_F + lambda U.
 *
 * U is the derivative of u: 0 for real entries; for complex ones (1 - u u^T) / |x| on the pair, so
 * that only their directions turn. For real x one step ends at the minimum if the signs are its. */
#include "solver/l1_newton.h"

#include <math.h>
#include <string.h>

/* Products of a solution at most; its residual at the end as a share of that at the begin, that it
 * may end with, and that it must not rise to. */
enum { PRODUCTS_MOST = 300 };
#define NEWTON_EXACT  1e-12
#define NEWTON_ENOUGH 1e-4
#define NEWTON_WRONG  1e3

/* Directions of less curvature, as a share of that of columns at right angles, are combinations of
 * columns that are 0 but for rounding: then the signs contradict each other, and no x meets them.
 */
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
    const csrec_operator *A = s->A;
    if (A->type->adjoint_on)
        return csrec_run_stops(s->run) ? CSREC_STOPPED : A->type->adjoint_on(A, s->chosen, q, v);
    csrec_status status = csrec_support_adjoint(s, q, v);
    for (int64_t j = 0; j < A->n && !status; j++)
        if (!s->chosen[j]) v[j] = 0.0;
    return status;
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
        csrec_status status = multiply(o, p, v);
        if (status) return status;
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
    csrec_status status = csrec_support_adjoint(s, s->r, s->g);
    if (status) return status;
    add_signs(s, -lambda, s->g);
    memcpy(o->x, s->x, columns * sizeof *o->x);
    memcpy(o->r, s->r, rows * sizeof *o->r);
    status = solve(o, o->x, o->r, s->c, found);
    if (status || !*found) return status;
    memset(s->g, 0, columns * sizeof *s->g);
    add_signs(s, -1.0, s->g);
    memset(o->slope_x, 0, columns * sizeof *o->slope_x);
    memset(o->slope_r, 0, rows * sizeof *o->slope_r);
    for (int64_t j = 0; s->nonnegative && j < s->A->n; j++)
        if (o->x[j] < 0.0) *found = false;
    return solve(o, o->slope_x, o->slope_r, s->c, found);
}
