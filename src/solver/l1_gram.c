/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_gram.c - the Gram matrix, and accelerated proximal steps on it, with Newton's step between
 * them.
 *
 * Gradients are affine in x, so c at an extrapolated point follows from c at two others, and a step
 * is one product with G. Groups of columns are solved so (l1_groups.c has their steps and
 * Newton's); single columns by their signs (l1_signs.c), and by steps where these are too many. */
#include "solver/l1.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Maximum products of a call, and maximum columns for Newton's step, which costs k^3 / 6: some
 * tenths of a second. */
#define CSREC_RESTRICTED_WORK 0x1p29
enum { NEWTON_MOST = 1024, NEWTON_TRIES = 32, STEPS_LEAST = 30, STEPS_MOST = 1000 };

/* Of lambda, the miss from which Newton's whole steps lead to the minimum of groups, as a rule. */
#define LEAP_FROM 0.02

csrec_status csrec_l1_gram_create(csrec_run *run, int64_t room, double lambda, csrec_pool *pool,
                                  csrec_l1_gram *q) {
    *q = (csrec_l1_gram){
        .run = run, .room = room, .parts = 1, .lambda = lambda, .simd = csrec_dense_simd_choose()};
    double **all[] = {&q->x,      &q->c, &q->allowed, &q->x0, &q->c0,   &q->next,
                      &q->c_next, &q->z, &q->c_z,     &q->d,  &q->slope};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) CSREC_TAKE(pool, *all[i], room);
    CSREC_TAKE(pool, q->G, room * (room + 7) / 8 * 8);
    CSREC_TAKE(pool, q->R, room * (room + 7) / 8 * 8);
    CSREC_TAKE(pool, q->free, room);
    return csrec_pool_status(pool);
}

void csrec_l1_gram_keep(csrec_l1_gram *q, int64_t count, const int64_t *kept) {
    for (int64_t k = 0; k < count; k++) {
        q->x[k] = q->x[kept[k]];
        q->c[k] = q->c[kept[k]];
        for (int64_t i = 0; i < count; i++)
            q->G[k * q->stride + i] = q->G[kept[k] * q->stride + kept[i]];
    }
    q->size = count;
}

void csrec_l1_gram_grow(csrec_l1_gram *q, int64_t size) {
    int64_t stride = (size + 7) / 8 * 8;
    if (stride < q->stride) stride = q->stride; /* rows move apart only */
    for (int64_t i = q->size - 1; i > 0; i--)
        memmove(q->G + i * stride, q->G + i * q->stride, (size_t)q->size * sizeof *q->G);
    q->size = size;
    q->stride = stride;
}

static double miss_of(const csrec_l1_gram *q, int64_t j) {
    if (q->x[j] != 0.0) return fabs(q->c[j] - copysign(q->lambda, q->x[j]));
    return (q->nonnegative ? q->c[j] : fabs(q->c[j])) - q->lambda;
}

double csrec_l1_gram_miss(const csrec_l1_gram *q) {
    if (q->parts > 1) return csrec_l1_groups_miss(q);
    double worst = 0.0;
    for (int64_t j = 0; j < q->size; j++) worst = fmax(worst, miss_of(q, j) - q->allowed[j]);
    return worst;
}

/* c_v = c0 - G (v - x0), from the start of the call, so that rounding does not accumulate. Most
 * columns stay at 0. */
void csrec_l1_gram_gradient(csrec_l1_gram *q, const double *v, double *c_v) {
    for (int64_t j = 0; j < q->size; j++) q->d[j] = v[j] - q->x0[j];
    memcpy(c_v, q->c0, (size_t)q->size * sizeof *c_v);
    for (int64_t j = 0, end; j < q->size; j = end + 1) {
        for (end = j; end < q->size && q->d[end] != 0.0;) end++;
        q->simd->subtract(q->size, end - j, q->G + j * q->stride, q->stride, q->d + j, c_v);
    }
}

/* A lower bound of ||G|| by power iteration, whose start G may map to 0, and at least the largest
 * entry of the diagonal. q->next, q->c_next are scratch. */
static double estimate_norm(csrec_l1_gram *q) {
    size_t bytes = (size_t)q->size * sizeof(double);
    double *v = q->next, *image = q->c_next, norm = 0.0, least = 0.0, steepest = DBL_MIN;
    for (int64_t j = 0; j < q->size; j++) {
        least = fmax(least, q->G[j * q->stride + j]);
        steepest = fmax(steepest, fabs(q->c[j]));
    }
    /* Relative to each: they have different units. */
    for (int64_t j = 0; j < q->size; j++)
        v[j] = q->G[j * q->stride + j] / fmax(least, DBL_MIN) + fabs(q->c[j]) / steepest;
    for (int i = 0; i < 8; i++) {
        double length = sqrt(q->simd->dot(q->size, v, v));
        if (!(length > 0.0)) break;
        for (int64_t j = 0; j < q->size; j++) v[j] /= length;
        memset(image, 0, bytes);
        q->simd->subtract(q->size, q->size, q->G, q->stride, v, image);
        norm = -q->simd->dot(q->size, v, image);
        memcpy(v, image, bytes);
    }
    return fmax(norm, least);
}

static void start_steps(csrec_l1_gram *q, double *t) {
    memcpy(q->z, q->x, (size_t)q->size * sizeof *q->z);
    memcpy(q->c_z, q->c, (size_t)q->size * sizeof *q->c_z);
    *t = 1.0;
}

/* next = soft(z + c_z / L, lambda / L) */
static void soften(csrec_l1_gram *q) {
    double limit = q->lambda / q->L;
    for (int64_t j = 0; j < q->size; j++) {
        double v = q->z[j] + q->c_z[j] / q->L;
        q->next[j] = v > limit ? v - limit : v < -limit && !q->nonnegative ? v + limit : 0.0;
    }
}

/* next of z. True if 1 / L is short enough between them: <d, G d> <= L <d, d> for d = next - z. */
static bool shrink(csrec_l1_gram *q) {
    double curved = 0.0, moved = 0.0;
    (q->parts > 1 ? csrec_l1_groups_shrink : soften)(q);
    csrec_l1_gram_gradient(q, q->next, q->c_next);
    for (int64_t j = 0; j < q->size; j++) {
        double d = q->next[j] - q->z[j];
        curved += d * (q->c_z[j] - q->c_next[j]);
        moved += d * d;
    }
    return curved <= q->L * moved * (1.0 + 0x1p-20);
}

/* One step of FISTA with O'Donoghue and Candes' restart. */
static void step(csrec_l1_gram *q, double *t) {
    /* A difference due to rounding may look curved, so the growth of L is limited. */
    for (int tries = 0; !shrink(q) && tries < 20; tries++) q->L *= 1.5;
    double longer = 0.5 * (1.0 + sqrt(1.0 + 4.0 * *t * *t)), inertia = (*t - 1.0) / longer;
    double against = 0.0;
    for (int64_t j = 0; j < q->size; j++)
        against += (q->z[j] - q->next[j]) * (q->next[j] - q->x[j]);
    if (against > 0.0) {
        longer = 1.0;
        inertia = 0.0;
    }
    for (int64_t j = 0; j < q->size; j++) {
        q->z[j] = q->next[j] + inertia * (q->next[j] - q->x[j]);
        q->c_z[j] = q->c_next[j] + inertia * (q->c_next[j] - q->c[j]);
        q->x[j] = q->next[j];
        q->c[j] = q->c_next[j];
    }
    *t = longer;
}

/* R^T d = d */
void csrec_l1_gram_solve_back(const csrec_l1_gram *q, int64_t k, double *d) {
    for (int64_t i = k - 1; i >= 0; i--) {
        d[i] /= q->R[i * q->stride + i];
        q->simd->subtract(i, 1, q->R + i * q->stride, q->stride, d + i, d);
    }
}

double csrec_l1_gram_rise(const csrec_l1_gram *q) {
    double sum = 0.0;
    for (int64_t j = 0; j < q->size; j++)
        sum += q->lambda * (q->parts > 1 ? 0.0 : fabs(q->x[j]) - fabs(q->z[j])) -
               0.5 * (q->x[j] - q->z[j]) * (q->c[j] + q->c_z[j]);
    for (int64_t j = 0; q->parts > 1 && j < q->size; j += q->parts)
        sum += q->lambda *
               (csrec_entry_size(q->parts, q->x + j) - csrec_entry_size(q->parts, q->z + j));
    return sum;
}

/* Steps between two of Newton's, so that these take no more time: k^3 / 6 products in short rows
 * take as long as k^3 / 2 in long ones. */
static int64_t steps_of_newton(const csrec_l1_gram *q) {
    double k = 0.0;
    for (int64_t j = 0; j < q->size; j++) k += q->x[j] != 0.0;
    if (q->parts == 1 || k > NEWTON_MOST) return STEPS_MOST + 1;
    return 8 + (int64_t)(0.5 * k * k / (double)q->size);
}

void csrec_l1_gram_solve(csrec_l1_gram *q, double enough) {
    if (q->parts == 1 && csrec_l1_signs_solve(q, enough)) return;
    double k = (double)q->size, t, miss;
    bool leaps = q->parts == 2; /* joint columns that look alike have many minima: they stray */
    int64_t most = (int64_t)(CSREC_RESTRICTED_WORK / (k * k + 1.0)), since = 0;
    if (most < STEPS_LEAST) most = STEPS_LEAST;
    if (most > STEPS_MOST) most = STEPS_MOST;
    memcpy(q->x0, q->x, (size_t)q->size * sizeof *q->x);
    memcpy(q->c0, q->c, (size_t)q->size * sizeof *q->c);
    q->L = fmax(q->L, estimate_norm(q));
    if (!(q->L > 0.0)) return;
    start_steps(q, &t);
    for (int64_t i = 0; i < most && (miss = csrec_l1_gram_miss(q)) > enough; i++) {
        if (csrec_run_stops(q->run)) break;
        if (leaps && i % 8 == 0 && miss < LEAP_FROM * q->lambda) {
            if (csrec_l1_groups_leap(q, enough)) break;
            start_steps(q, &t);
            leaps = false;
        }
        step(q, &t);
        if (++since % 8 || since < steps_of_newton(q)) continue;
        for (int tries = 0; tries < NEWTON_TRIES && !csrec_l1_groups_newton(q); tries++)
            if (csrec_run_stops(q->run)) break;
        start_steps(q, &t);
        since = 0;
    }
}
