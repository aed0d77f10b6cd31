/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_groups.c - groups of columns in the l1 problem on a Gram matrix, by proximal points:
 *
 *     x+ = argmin 1/2 ||A v - y||^2 + lambda sum |v| + 1/2 sum |v - x|^2 / s,    s = sigma /
 * ||a||^2
 *
 * on each group, which converge in few steps of large sigma, however nearly columns depend on each
 * other. With p(v) = soft(x + s c(v), s lambda), x+ is where p(v) = v. That is where the gradient
 * G (v - p) of the convex and once differentiable
 *
 *     f(v) = 1/2 v^T G v + 1/2 sum |p|^2 / s
 *
 * is 0, to which the semismooth Newton's step d leads: d = -v on groups with p = 0, and on others
 *
 *     (G + M) d = M (p - v) - G d_0,    M = 1 / s + lambda / |p| (1 - u u^T),    u = p / |p|,
 *
 * with d_0 the step on the former (Li, Sun and Toh 2018, for the lasso). Lengths of columns do not
 * matter, as s is measured by them. */
#include "solver/l1.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* sigma of the first step, by how much it rises, and its most: what it adds to G is above G's
 * rounding. */
#define GROUPS_FIRST 1e2
#define GROUPS_ANEW  1e4
#define GROUPS_MOST  1e10
#define GROUPS_RAISE 10.0

/* Of leaps: sigma, which only tells p, and the share of 1 / s that M keeps. */
#define GROUPS_LEAP 10.0
#define GROUPS_HELD 1e-4

/* Newton's steps for a proximal point, halvings of a step, and columns that one moves. */
enum { STEPS_MOST = 10, LEAPS_MOST = 9, HALVINGS = 30, MOVED_MOST = 1024 };

/* The error of a proximal point as a share of the way to it; and of p beside z, below which z
 * leads. */
#define GROUPS_CLOSE 0.1
#define GROUPS_NEAR  0.1

static double size_at(const csrec_l1_gram *q, const double *v, int64_t j) {
    return csrec_entry_size(q->parts, v + j);
}

static double miss_at(const csrec_l1_gram *q, const double *x, const double *c) {
    const int64_t parts = q->parts;
    double worst = 0.0;
    for (int64_t j = 0; j < q->size; j += parts) {
        double size = size_at(q, x, j), square = 0.0;
        for (int64_t p = j; p < j + parts; p++) {
            double off = size > 0.0 ? c[p] - q->lambda * (x[p] / size) : c[p];
            square += off * off;
        }
        double miss = sqrt(square) - (size > 0.0 ? 0.0 : q->lambda) - q->allowed[j];
        if (miss > worst) worst = miss;
    }
    return worst;
}

double csrec_l1_groups_miss(const csrec_l1_gram *q) {
    return miss_at(q, q->x, q->c);
}

void csrec_l1_groups_shrink(csrec_l1_gram *q) {
    const double limit = q->lambda / q->L;
    const int64_t parts = q->parts;
    for (int64_t j = 0; j < q->size; j++) q->next[j] = q->z[j] + q->c_z[j] / q->L;
    for (int64_t j = 0; j < q->size; j += parts) csrec_entry_shorten(parts, limit, q->next + j);
}

/* sigma / ||a_j||^2; 0 for a column of zeros. */
static double reach(const csrec_l1_gram *q, int64_t j) {
    const double square = q->G[j * q->stride + j];
    return square > 0.0 ? q->sigma / square : 0.0;
}

/* to = soft(from + s (c_z - t slope), s lambda) */
static void soften(const csrec_l1_gram *q, const double *from, double t, const double *slope,
                   double *to) {
    for (int64_t j = 0; j < q->size; j += q->parts) {
        const double s = reach(q, j);
        for (int64_t p = j; p < j + q->parts; p++)
            to[p] = from[p] + s * (slope ? q->c_z[p] - t * slope[p] : q->c_z[p]);
        csrec_entry_shorten(q->parts, s > 0.0 ? s * q->lambda : INFINITY, to + j);
    }
}

/* The columns of groups that p does not leave 0, in `free`. */
static int64_t list_used(csrec_l1_gram *q) {
    int64_t k = 0;
    for (int64_t j = 0; j < q->size; j += q->parts) {
        if (!(size_at(q, q->next, j) > 0.0)) continue;
        for (int64_t p = j; p < j + q->parts; p++) q->free[k++] = p;
    }
    return k;
}

/* M between columns i and j of one group. */
static double bent(const csrec_l1_gram *q, int64_t i, int64_t j) {
    const int64_t group = j / q->parts * q->parts;
    const double size = size_at(q, q->next, group), own = i == j ? 1.0 : 0.0;
    return own / reach(q, group) +
           q->lambda / size * (own - (q->next[i] / size) * (q->next[j] / size));
}

/* The entry of G + M, or of what is `bare` of it, between the columns at `at` and i <= at of
 * `free`. */
static double entry(const csrec_l1_gram *q, int64_t at, int64_t i) {
    const int64_t j = q->free[at], other = q->free[i];
    const double own = q->G[j * q->stride + other];
    if (i < at / q->parts * q->parts) return own;
    return own + bent(q, other, j) - (i == at ? q->bare / reach(q, j / q->parts * q->parts) : 0.0);
}

/* Entries first .. end - 1 of row `at` of R; sum [end - first]: products of that row and theirs,
 * of the entries before first. */
static void factor_row(csrec_l1_gram *q, int64_t at, int64_t first, int64_t end,
                       const double *sum) {
    double *row = q->R + at * q->stride;
    for (int64_t i = first; i < end; i++) {
        const double *other = q->R + i * q->stride;
        double left = entry(q, at, i) - sum[i - first];
        for (int64_t u = first; u < i; u++) left -= row[u] * other[u];
        row[i] = left / other[i];
    }
}

/* R R^T = G + M on the first k of `free`: two rows beside four at a time. */
static void factor(csrec_l1_gram *q, int64_t k) {
    for (int64_t at = 0; at < k; at += 2) {
        const int64_t rows = at + 1 < k ? 2 : 1;
        double *row[2] = {q->R + at * q->stride, q->R + (at + rows - 1) * q->stride}, sum[8];
        int64_t i = 0;
        for (; i + 4 <= at; i += 4) {
            const double *other[4];
            for (int64_t p = 0; p < 4; p++) other[p] = q->R + (i + p) * q->stride;
            q->simd->products(i, (const double *const *)row, other, sum);
            for (int64_t r = 0; r < rows; r++) factor_row(q, at + r, i, i + 4, sum + 4 * r);
        }
        for (int64_t r = at; r < at + rows; r++) {
            double *own = q->R + r * q->stride, none[4] = {0};
            for (int64_t p = i; p < r; p++)
                none[p - i] = q->simd->dot(i, own, q->R + p * q->stride);
            factor_row(q, r, i, r, none);
            own[r] = sqrt(fmax(entry(q, r, r) - q->simd->dot(r, own, own),
                               0x1p-44 * q->G[q->free[r] * (q->stride + 1)]));
        }
    }
}

/* slope = G d */
static void multiply(const csrec_l1_gram *q, const double *d, double *slope) {
    memset(slope, 0, (size_t)q->size * sizeof *slope);
    for (int64_t j = 0, end; j < q->size; j = end + 1) {
        for (end = j; end < q->size && d[end] != 0.0;) end++;
        q->simd->subtract(q->size, end - j, q->G + j * q->stride, q->stride, d + j, slope);
    }
    for (int64_t j = 0; j < q->size; j++) slope[j] = -slope[j];
}

/* What the conditions of the proximal point miss at z, by column of a group whose z is not 0. */
static double off_at(const csrec_l1_gram *q, int64_t group, int64_t p) {
    return q->c_z[p] - q->lambda * (q->z[p] / size_at(q, q->z, group)) -
           (q->z[p] - q->x[p]) / reach(q, group);
}

/* Newton's step from z; slope is scratch. */
static void direction(csrec_l1_gram *q, bool near, int64_t k, double *d, double *slope) {
    double *right = q->d;
    for (int64_t j = 0; j < q->size; j++)
        d[j] = size_at(q, q->next, j / q->parts * q->parts) > 0.0 ? 0.0 : -q->z[j];
    multiply(q, d, slope);
    for (int64_t i = 0; i < k; i++) {
        const double *row = q->R + i * q->stride;
        const int64_t j = q->free[i], group = j / q->parts * q->parts;
        double sum = near ? off_at(q, group, j) : -slope[j];
        for (int64_t p = group; p < group + q->parts && !near; p++)
            sum += bent(q, p, j) * (q->next[p] - q->z[p]);
        right[i] = (sum - q->simd->dot(i, row, right)) / row[i];
    }
    csrec_l1_gram_solve_back(q, k, right);
    for (int64_t i = 0; i < k; i++) d[q->free[i]] = right[i];
}

/* The longest of 1, 1/2, 1/4, ... at which f falls by a share of what its slope promises, but for
 * rounding; 0: none. */
static double length(csrec_l1_gram *q, const double *d, const double *slope) {
    double gain = 0.0, along = 0.0, curved = 0.0, terms = 0.0, t = 1.0;
    for (int64_t j = 0; j < q->size; j++) {
        gain += slope[j] * (q->next[j] - q->z[j]);
        along += slope[j] * q->z[j];
        curved += slope[j] * d[j];
        terms += fabs(slope[j]) * (fabs(q->z[j]) + fabs(d[j]));
    }
    if (!(gain > 0.0) || !isfinite(gain)) return 0.0;
    for (int i = 0; i < HALVINGS; i++, t *= 0.5) {
        double rise = t * (along + 0.5 * t * curved);
        soften(q, q->x, t, slope, q->d);
        for (int64_t j = 0; j < q->size; j++)
            if (q->d[j] != 0.0 || q->next[j] != 0.0)
                rise += 0.5 * (q->d[j] - q->next[j]) * (q->d[j] + q->next[j]) /
                        reach(q, j / q->parts * q->parts);
        if (rise <= -1e-4 * t * gain + 16.0 * DBL_EPSILON * t * terms) return t;
    }
    return 0.0;
}

/* Whether z is so near that p, whose rounding is that of c times s, is worth less: then p = z. */
static bool is_near(csrec_l1_gram *q) {
    for (int64_t j = 0; j < q->size; j += q->parts) {
        double square = 0.0;
        for (int64_t p = j; p < j + q->parts; p++)
            square += (q->next[p] - q->z[p]) * (q->next[p] - q->z[p]);
        if (sqrt(square) > GROUPS_NEAR * size_at(q, q->z, j)) return false;
    }
    memcpy(q->next, q->z, (size_t)q->size * sizeof *q->z);
    return true;
}

/* By how much z misses the conditions of the proximal point beyond rounding, in units of unit
 * columns; *way: the length of (z - x) / s in these. */
static double off(const csrec_l1_gram *q, double *way) {
    double worst = 0.0;
    *way = 0.0;
    for (int64_t j = 0; j < q->size; j += q->parts) {
        const double norm = sqrt(q->G[j * q->stride + j]), s = reach(q, j);
        const bool used = size_at(q, q->z, j) > 0.0;
        double square = 0.0, moved = 0.0;
        if (!(norm > 0.0)) continue;
        for (int64_t p = j; p < j + q->parts; p++) {
            const double miss = used ? off_at(q, j, p) : q->c_z[p] + q->x[p] / s;
            square += miss * miss;
            moved += (q->z[p] - q->x[p]) * (q->z[p] - q->x[p]);
        }
        const double miss = sqrt(square) - (used ? 0.0 : q->lambda) - 0.25 * q->allowed[j];
        worst = fmax(worst, miss / norm);
        *way = fmax(*way, sqrt(moved) * norm / q->sigma);
    }
    return worst;
}

/* One of Newton's steps for the proximal point. *miss is what z misses; false: there is no step. */
static bool step(csrec_l1_gram *q, double *miss, double *way) {
    const size_t bytes = (size_t)q->size * sizeof *q->z;
    double *d = q->c_next, before = *miss;
    soften(q, q->x, 0.0, NULL, q->next);
    const bool near = is_near(q);
    const int64_t k = list_used(q);
    if (k > MOVED_MOST) return false;
    factor(q, k);
    direction(q, near, k, d, q->slope);
    multiply(q, d, q->slope);
    const double t = near ? 1.0 : length(q, d, q->slope);
    for (int64_t j = 0; j < q->size; j++) q->z[j] += t * d[j];
    csrec_l1_gram_gradient(q, q->z, q->c_z);
    *miss = off(q, way);
    if (near && !(*miss < before)) { /* the last digits */
        memcpy(q->z, q->next, bytes);
        csrec_l1_gram_gradient(q, q->z, q->c_z);
        *miss = off(q, way);
        return false;
    }
    return t > 0.0;
}

/* x = z; false: undone, as the objective rises, and what is missed is more than before. */
static bool take(csrec_l1_gram *q, double before) {
    const size_t bytes = (size_t)q->size * sizeof *q->x;
    memcpy(q->next, q->z, bytes);
    memcpy(q->c_next, q->c_z, bytes);
    memcpy(q->z, q->x, bytes);
    memcpy(q->c_z, q->c, bytes);
    memcpy(q->x, q->next, bytes);
    memcpy(q->c, q->c_next, bytes);
    if (csrec_l1_gram_rise(q) <= 0.0 || csrec_l1_groups_miss(q) <= before) return true;
    memcpy(q->x, q->z, bytes);
    memcpy(q->c, q->c_z, bytes);
    return false;
}

/* Whole steps, of the natural residual x - p(x): x is where the last step led, and M has hardly a
 * 1 / s, which only keeps columns that depend on each other apart. */
bool csrec_l1_groups_leap(csrec_l1_gram *q, double enough) {
    const size_t bytes = (size_t)q->size * sizeof *q->z;
    const double sigma = q->sigma, before = csrec_l1_groups_miss(q);
    double *d = q->c_next, miss = before;
    memcpy(q->z, q->x, bytes);
    memcpy(q->c_z, q->c, bytes);
    q->sigma = GROUPS_LEAP;
    q->bare = 1.0 - GROUPS_HELD;
    for (int i = 0; i < LEAPS_MOST && miss > enough && !csrec_run_stops(q->run); i++) {
        soften(q, q->z, 0.0, NULL, q->next);
        const int64_t k = list_used(q);
        if (k > MOVED_MOST) break;
        factor(q, k);
        direction(q, false, k, d, q->slope);
        for (int64_t j = 0; j < q->size; j++) q->z[j] += d[j];
        csrec_l1_gram_gradient(q, q->z, q->c_z);
        miss = miss_at(q, q->z, q->c_z);
    }
    q->sigma = sigma;
    q->bare = 0.0;
    return miss <= enough && take(q, before);
}

bool csrec_l1_groups_newton(csrec_l1_gram *q) {
    const size_t bytes = (size_t)q->size * sizeof *q->z;
    const double before = csrec_l1_groups_miss(q);
    double miss = INFINITY, way = 0.0;
    bool moves = true;
    if (!(q->sigma > 0.0)) q->sigma = GROUPS_FIRST;
    if (q->lambda != q->near) q->sigma = fmin(q->sigma, GROUPS_ANEW);
    q->near = q->lambda;
    memcpy(q->z, q->x, bytes);
    memcpy(q->c_z, q->c, bytes);
    for (int i = 0; i < STEPS_MOST && moves && miss > GROUPS_CLOSE * way; i++) {
        if (csrec_run_stops(q->run)) return true;
        moves = step(q, &miss, &way);
    }
    const bool close = miss <= GROUPS_CLOSE * way, taken = take(q, before);
    const double after = csrec_l1_groups_miss(q);
    q->sigma = close ? fmin(GROUPS_MOST, GROUPS_RAISE * q->sigma)
                     : fmax(GROUPS_FIRST, q->sigma / (GROUPS_RAISE * GROUPS_RAISE));
    return !taken || after == 0.0 || !(after < 0.9 * before);
}
