/* l1_groups.c - groups of columns in the l1 problem on a Gram matrix. Where no group is 0 the
 * objective is smooth, and Newton's step d there solves
 *
 *     (G + lambda U) d = c - lambda u,    u = x / |x|,    U = (1 - u u^T) / |x| on each group.
 */
#include "solver/l1_groups.h"

#include <math.h>
#include <string.h>

/* The least pivot as a share of its diagonal: of columns that depend on each other, the step goes
 * where they differ. */
#define GROUPS_PIVOT 0x1p-40

/* The square length of a step near the end, as a share of that of x; and of one that leads away,
 * where columns cancel each other. */
#define GROUPS_NEAR 1e-8
#define GROUPS_FAR  1e8

/* Halvings of a step. */
enum { HALVINGS = 12 };

static double size_at(const csrec_l1_gram *q, const double *v, int64_t j) {
    return csrec_entry_size(q->parts, v + j);
}

double csrec_l1_groups_miss(const csrec_l1_gram *q) {
    const int64_t parts = q->parts;
    double worst = 0.0;
    for (int64_t j = 0; j < q->size; j += parts) {
        double size = size_at(q, q->x, j), square = 0.0;
        for (int64_t p = j; p < j + parts; p++) {
            double off = size > 0.0 ? q->c[p] - q->lambda * (q->x[p] / size) : q->c[p];
            square += off * off;
        }
        double miss = sqrt(square) - (size > 0.0 ? 0.0 : q->lambda) - q->allowed[j];
        if (miss > worst) worst = miss;
    }
    return worst;
}

void csrec_l1_groups_shrink(csrec_l1_gram *q) {
    const double limit = q->lambda / q->L;
    const int64_t parts = q->parts;
    for (int64_t j = 0; j < q->size; j++) q->next[j] = q->z[j] + q->c_z[j] / q->L;
    for (int64_t j = 0; j < q->size; j += parts) {
        double size = size_at(q, q->next, j), kept = size > limit ? 1.0 - limit / size : 0.0;
        for (int64_t p = j; p < j + parts; p++) q->next[p] *= kept;
    }
}

/* The columns of groups that are not 0, in `free`. */
static int64_t list_used(csrec_l1_gram *q) {
    int64_t k = 0;
    for (int64_t j = 0; j < q->size; j += q->parts) {
        if (!(size_at(q, q->x, j) > 0.0)) continue;
        for (int64_t p = j; p < j + q->parts; p++) q->free[k++] = p;
    }
    return k;
}

/* lambda U between columns i and j of one group. */
static double turning(const csrec_l1_gram *q, int64_t i, int64_t j) {
    double size = size_at(q, q->x, j / q->parts * q->parts);
    return q->lambda / size * ((i == j ? 1.0 : 0.0) - (q->x[i] / size) * (q->x[j] / size));
}

/* R R^T = G + lambda U on the first k of `free`. */
static void factor(csrec_l1_gram *q, int64_t k) {
    for (int64_t at = 0; at < k; at++) {
        int64_t j = q->free[at], group = at / q->parts * q->parts;
        const double *G = q->G + j * q->stride;
        double *row = q->R + at * q->stride, own = G[j] + turning(q, j, j);
        for (int64_t i = 0; i < at; i++) {
            const double *other = q->R + i * q->stride;
            double entry = G[q->free[i]] + (i < group ? 0.0 : turning(q, q->free[i], j));
            row[i] = (entry - q->simd->dot(i, row, other)) / other[i];
        }
        double left = own - q->simd->dot(at, row, row);
        row[at] = sqrt(fmax(left, GROUPS_PIVOT * G[j]));
    }
}

/* d = (G + lambda U)^-1 (c - lambda u), in the order of `free`; returns <d, c - lambda u>. */
static double direction(csrec_l1_gram *q, int64_t k, double *d) {
    double *right = q->next, gain = 0.0;
    for (int64_t i = 0; i < k; i++) {
        const double *row = q->R + i * q->stride;
        int64_t j = q->free[i];
        right[i] = q->c[j] - q->lambda * (q->x[j] / size_at(q, q->x, j / q->parts * q->parts));
        d[i] = (right[i] - q->simd->dot(i, row, d)) / row[i];
    }
    csrec_l1_gram_solve_back(q, k, d);
    for (int64_t i = 0; i < k; i++) gain += d[i] * right[i];
    return gain;
}

/* The sum of |x + t d| - |x|, d on the first k of `free`. */
static double lengthened(const csrec_l1_gram *q, int64_t k, const double *d, double t) {
    double sum = 0.0;
    for (int64_t i = 0; i < k; i += q->parts) {
        double square = 0.0;
        for (int64_t p = i; p < i + q->parts; p++) {
            double x = q->x[q->free[p]] + t * d[p];
            square += x * x;
        }
        sum += sqrt(square) - size_at(q, q->x, q->free[i]);
    }
    return sum;
}

/* The longest of 1, 1/2, 1/4, ... at which the objective at x + t d falls by a share of what its
 * slope promises; 0: none. q->z, q->c_z are scratch. */
static double length(csrec_l1_gram *q, int64_t k, const double *d, double gain) {
    double slope = 0.0, curved = 0.0, t = 1.0;
    memcpy(q->z, q->x, (size_t)q->size * sizeof *q->z);
    for (int64_t i = 0; i < k; i++) q->z[q->free[i]] += d[i];
    csrec_l1_gram_gradient(q, q->z, q->c_z);
    for (int64_t i = 0; i < k; i++) {
        int64_t j = q->free[i];
        slope += d[i] * q->c[j];
        curved += d[i] * (q->c[j] - q->c_z[j]);
    }
    for (int i = 0; i < HALVINGS; i++, t *= 0.5) {
        double rise = t * (0.5 * t * curved - slope) + q->lambda * lengthened(q, k, d, t);
        if (rise <= -1e-3 * t * gain) return t;
    }
    return 0.0;
}

/* The first group that is nearest to 0 before the end of d, and where: there it may have to stay.
 * -1: none. */
static int64_t first_crossing(const csrec_l1_gram *q, int64_t k, const double *d, double *t) {
    int64_t first = -1;
    *t = 1.0;
    for (int64_t i = 0; i < k; i += q->parts) {
        double along = 0.0, square = 0.0;
        for (int64_t p = i; p < i + q->parts; p++) {
            along -= q->x[q->free[p]] * d[p];
            square += d[p] * d[p];
        }
        if (along <= 0.0 || along >= *t * square) continue;
        *t = along / square;
        first = i;
    }
    return first;
}

/* Goes along d to where a group is 0, if its conditions hold there. */
static bool stop_at_zero(csrec_l1_gram *q, int64_t k, const double *d) {
    double t;
    int64_t zero = first_crossing(q, k, d, &t);
    if (zero < 0 || !csrec_l1_gram_move(q, k, d, t, zero)) return false;
    if (size_at(q, q->c, q->free[zero]) <= q->lambda) return true;
    memcpy(q->x, q->z, (size_t)q->size * sizeof *q->x);
    memcpy(q->c, q->c_z, (size_t)q->size * sizeof *q->c);
    return false;
}

bool csrec_l1_groups_newton(csrec_l1_gram *q) {
    int64_t k = list_used(q);
    double *d = q->c_next;
    factor(q, k);
    double gain = direction(q, k, d);
    if (k == 0 || !(gain > 0.0) || !isfinite(gain)) return true;
    const double far = csrec_squares(k, d) / csrec_squares(q->size, q->x);
    if (!(far < GROUPS_FAR)) return true;
    if (stop_at_zero(q, k, d)) return false;
    double t = length(q, k, d, gain);
    /* Near the end the objective falls by less than its rounding: then its conditions decide. */
    if (t == 0.0 && far > GROUPS_NEAR) return true;
    return !csrec_l1_gram_move(q, k, d, t > 0.0 ? t : 1.0, -1);
}
