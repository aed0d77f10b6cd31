/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_signs.c - columns enter F and leave it until x is the minimum on W. */
#include "solver/l1.h"

#include <math.h>
#include <string.h>

/* Products of a call after F is as given, some tenths of a second; the share of F that enters at
 * once; and steps on one F, for rounding. */
#define WORK 0x1p29
enum { SHARE = 8, TRIES = 3 };

typedef struct search {
    csrec_l1_gram *q;
    int64_t k; /* columns of F: q->free, and rows of q->R */
    double work;
} search;

static bool spent(search *s) {
    return s->work > WORK || csrec_run_stops(s->q->run);
}

/* The sign that column j of F has, or begins with. */
static double sign_of(const csrec_l1_gram *q, int64_t j) {
    return copysign(1.0, q->x[j] != 0.0 ? q->x[j] : q->c[j]);
}

/* Column j enters F. false: it depends on its columns, R^T w = row k of R. */
static bool enter(search *s, int64_t j) {
    csrec_l1_gram *q = s->q;
    double *row = q->R + s->k * q->stride, own = q->G[j * q->stride + j];
    for (int64_t i = 0; i < s->k; i++) {
        const double *other = q->R + i * q->stride;
        row[i] = (q->G[j * q->stride + q->free[i]] - q->simd->dot(i, row, other)) / other[i];
    }
    s->work += 0.5 * (double)(s->k * s->k);
    double left = own - q->simd->dot(s->k, row, row);
    q->free[s->k] = j;
    if (!(left > 0x1p-40 * own)) return false;
    row[s->k++] = sqrt(left);
    return true;
}

/* Column p of F leaves it: the rows below, without entry p of F, are made lower triangular again by
 * rotations of neighbouring columns. */
static void leave(search *s, int64_t p) {
    csrec_l1_gram *q = s->q;
    double *cosine = q->z, *sine = q->c_z;
    for (int64_t r = p; r < s->k - 1; r++) {
        const double *from = q->R + (r + 1) * q->stride;
        double *to = q->R + r * q->stride, carry = from[p];
        memcpy(to, from, (size_t)p * sizeof *to);
        for (int64_t j = p; j < r; j++) {
            const double next = from[j + 1];
            to[j] = cosine[j] * carry + sine[j] * next;
            carry = cosine[j] * next - sine[j] * carry;
        }
        to[r] = sqrt(carry * carry + from[r + 1] * from[r + 1]);
        cosine[r] = carry / to[r];
        sine[r] = from[r + 1] / to[r];
        q->free[r] = q->free[r + 1];
    }
    s->work += 2.0 * (double)((s->k - p) * (s->k - p));
    s->k--;
}

/* d = G_FF^-1 (c_F - lambda s_F) and the right side; returns <d, right>. */
static double direction(search *s, double *d, double *right) {
    csrec_l1_gram *q = s->q;
    double gain = 0.0;
    for (int64_t i = 0; i < s->k; i++) {
        const double *row = q->R + i * q->stride;
        const int64_t j = q->free[i];
        right[i] = q->c[j] - q->lambda * sign_of(q, j);
        d[i] = (right[i] - q->simd->dot(i, row, d)) / row[i];
    }
    csrec_l1_gram_solve_back(q, s->k, d);
    for (int64_t i = 0; i < s->k; i++) gain += d[i] * right[i];
    s->work += (double)(s->k * s->k);
    return gain;
}

/* Where x + t d crosses 0 next, beyond place (*t, *at) in the order of t, then of F; 1, -1: nowhere
 * before t = 1. */
static void next_crossing(const search *s, const double *d, double *t, int64_t *at) {
    double near = 1.0;
    int64_t first = -1;
    for (int64_t i = 0; i < s->k; i++) {
        double x = s->q->x[s->q->free[i]];
        if (x * d[i] >= 0.0) continue;
        double here = -x / d[i];
        bool beyond = here > *t || (here == *t && i > *at);
        if (!beyond || here >= near) continue;
        near = here;
        first = i;
    }
    *t = near;
    *at = first;
}

/* The minimum over 0 <= t <= 1 of the objective at x + t d, whose slope is (t - 1) gain, and
 * 2 lambda |d_i| more beyond each place -x_i / d_i where a sign changes, or infinite if x >= 0.
 * *zero: the entry of F that is 0 there, or -1. */
static double length(const search *s, const double *d, double gain, int64_t *zero) {
    double sum = 0.0, t = 0.0;
    int64_t at = -1;
    *zero = -1;
    for (;;) {
        next_crossing(s, d, &t, &at);
        if ((t - 1.0) * gain + sum >= 0.0) return 1.0 - sum / gain; /* before the crossing */
        sum += 2.0 * s->q->lambda * fabs(d[at]);
        if (!s->q->nonnegative && (t - 1.0) * gain + sum < 0.0) continue;
        *zero = at;
        return t;
    }
}

/* A column that has just entered, and would go the wrong way beside others, leaves. */
static bool leave_wrong(search *s, const double *d) {
    csrec_l1_gram *q = s->q;
    int64_t worst = -1;
    for (int64_t i = 0; i < s->k; i++)
        if (q->x[q->free[i]] == 0.0 && d[i] * q->c[q->free[i]] <= 0.0 &&
            (worst < 0 || fabs(d[i]) > fabs(d[worst])))
            worst = i;
    if (worst >= 0) leave(s, worst);
    return worst >= 0;
}

/* To the minimum for F, columns that become 0 leaving it; c follows on F alone. */
static void descend(search *s) {
    csrec_l1_gram *q = s->q;
    double *d = q->next, *right = q->c_next;
    while (s->k > 0 && !spent(s)) {
        double gain = direction(s, d, right);
        if (leave_wrong(s, d)) continue;
        if (!(gain > 0.0) || !isfinite(gain)) return;
        int64_t zero;
        const double t = length(s, d, gain, &zero);
        for (int64_t i = 0; i < s->k; i++) {
            q->x[q->free[i]] += t * d[i];
            q->c[q->free[i]] -= t * right[i];
        }
        if (zero >= 0) {
            q->x[q->free[zero]] = 0.0;
            leave(s, zero);
        } else if (t == 1.0) {
            return;
        }
    }
}

/* Column j at place k of F is the sum of w_i times those before: along (-w, 1) only ||x||_1
 * changes, and falls one way or is even, until an entry is 0, which leaves. */
static bool exchange(search *s) {
    csrec_l1_gram *q = s->q;
    const int64_t k = s->k, j = q->free[k];
    double *d = q->c_next, slope = 0.0, t = INFINITY;
    int64_t zero = -1;
    memcpy(d, q->R + k * q->stride, (size_t)k * sizeof *d);
    csrec_l1_gram_solve_back(q, k, d);
    for (int64_t i = 0; i < k; i++) d[i] = -d[i];
    d[k] = 1.0;
    for (int64_t i = 0; i <= k; i++)
        slope += d[i] * (q->lambda * sign_of(q, q->free[i]) - q->c[q->free[i]]);
    const double way = slope > 0.0 ? -1.0 : 1.0;
    for (int64_t i = 0; i <= k; i++) {
        double x = q->x[q->free[i]];
        if (x * way * d[i] >= 0.0 || -x / (way * d[i]) >= t) continue;
        t = -x / (way * d[i]);
        zero = i;
    }
    if (zero < 0) return false;
    for (int64_t i = 0; i <= k; i++) q->x[q->free[i]] += t * way * d[i];
    q->x[q->free[zero]] = 0.0;
    if (zero == k) return true;
    leave(s, zero);
    return enter(s, j);
}

/* F of the x given. */
static bool begin(search *s) {
    csrec_l1_gram *q = s->q;
    for (int64_t j = 0; j < q->size; j++) {
        if (q->x[j] == 0.0) continue;
        if ((!enter(s, j) && !exchange(s)) || csrec_run_stops(q->run)) return false;
    }
    s->work = 0.0;
    return true;
}

/* By how much column j violates |c_j| <= lambda, of those that x does not use. */
static double violation(const csrec_l1_gram *q, int64_t j) {
    if (q->x[j] != 0.0) return 0.0;
    return (q->nonnegative ? q->c[j] : fabs(q->c[j])) - q->lambda - q->allowed[j];
}

/* The columns outside F that violate their conditions most enter it, at most a share of F; an
 * exchange is from the minimum for F, so only of the first. false: none does. */
static bool let_in(search *s) {
    csrec_l1_gram *q = s->q;
    int64_t some = 1 + s->k / SHARE, entered = 0;
    for (; entered < some; entered++) {
        int64_t best = -1;
        double most = 0.0;
        for (int64_t j = 0; j < q->size; j++)
            if (q->d[j] > most) {
                most = q->d[j];
                best = j;
            }
        if (best < 0) break;
        q->d[best] = 0.0;
        if (!enter(s, best) && (entered > 0 || !exchange(s))) break;
    }
    return entered > 0;
}

/* c of x, and in d the violations. */
static void follow(search *s) {
    csrec_l1_gram *q = s->q;
    csrec_l1_gram_gradient(q, q->x, q->c);
    s->work += (double)(q->size * s->k);
    for (int64_t j = 0; j < q->size; j++) q->d[j] = violation(q, j);
}

bool csrec_l1_signs_solve(csrec_l1_gram *q, double enough) {
    search s = {.q = q};
    const size_t bytes = (size_t)q->size * sizeof(double);
    const double miss = csrec_l1_gram_miss(q);
    memcpy(q->x0, q->x, bytes);
    memcpy(q->c0, q->c, bytes);
    bool good = begin(&s);
    if (good) follow(&s);
    for (int tries = 0; good && tries < TRIES && csrec_l1_gram_miss(q) > enough && !spent(&s);) {
        descend(&s);
        follow(&s);
        tries = let_in(&s) ? 0 : tries + 1;
    }
    if (good) csrec_l1_gram_gradient(q, q->x, q->c);
    memcpy(q->z, q->x0, bytes);
    memcpy(q->c_z, q->c0, bytes);
    if (good && (csrec_l1_gram_rise(q) <= 0.0 || csrec_l1_gram_miss(q) <= miss)) return true;
    memcpy(q->x, q->x0, bytes);
    memcpy(q->c, q->c0, bytes);
    return false;
}
