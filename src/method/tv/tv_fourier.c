/* SPDX-License-Identifier: BSD-3-Clause */
/* tv_fourier.c - total variation where A^T A is diagonal in the frequencies of the signal, as that
 * of operator fourier with one coil: alternating directions with exact steps (ADMM, as Goldstein
 * and Osher 2009 split it), in place of tv.c's steps along gradients.
 *
 *     min_x sum |z|   such that   z = w D x,  ||A x - y|| <= eps
 *
 * D here is periodic, so that D^T D is diagonal as well, and differences over the border do not
 * count in the sum: their z is free. x is that of least ||w D x - q||, q = z - u, in the ball:
 *
 *     x^_k = (F D^T q + mu c x0^)_k / (lambda_k + mu c_k)
 *
 * with c and lambda the diagonals of A^T A and D^T D, x0 the least of the x that fit y best, and mu
 * >= 0 the multiplier of the ball, infinite where y is met exactly. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "method/spectrum.h"
#include "method/tv/tv.h"

/* Over-relaxation, below 2; the threshold of z in lengths of a mean difference in x0; and shares of
 * the largest c: what rounding leaves of 0, and the least that a division by it may have. */
static const double RELAX = 1.8, THRESHOLD = 1.0, NOTHING = 1e-10, LEAST = 0.1;

enum { ROOTS_MOST = 40 };

typedef struct spectral {
    csrec_pool pool;
    const csrec_tv_problem *t;
    csrec_tv_grid grid;
    csrec_operator *F; /* of all frequencies */
    int64_t n, wide, channels;
    double *c, *lambda; /* [entries] */
    double *best, *now; /* [channels][entries] pairs: x0^; F D^T q, then x^ */
    double *x, *rhs;    /* [values] */
    double *v, *q;      /* [3][values]: w D x + u, relaxed, and z - u */
    double *sums, *r;   /* [rows]; [values of y] */
    double *old, *slope, *along, *bent, *step; /* [values] where A^T A is near a diagonal */
    double threshold, mu, square;              /* square: ||y||^2 */
    double room; /* eps^2 less what no x meets; not above 0: mu is infinite */
} spectral;

/* The next value along axis a, around the border. */
static int64_t next_of(const csrec_tv_grid *g, const int64_t at[3], int a, int64_t i) {
    return at[a] + 1 < g->extent[a] ? i + g->stride[a] : i - (g->extent[a] - 1) * g->stride[a];
}

static int64_t last_of(const csrec_tv_grid *g, const int64_t at[3], int a, int64_t i) {
    return at[a] > 0 ? i - g->stride[a] : i + (g->extent[a] - 1) * g->stride[a];
}

static bool counts(const spectral *s, int a) {
    return s->t->weight[a] > 0.0 && s->grid.extent[a] > 1;
}

/* v moves over-relaxed, and q is made of it, for `count` values under one root from the first on;
 * returns how far v would move without, squared. */
static double split_group(spectral *s, const int64_t at[3], int64_t first, int64_t count) {
    const csrec_tv_grid *g = &s->grid;
    double square = 0.0, moved = 0.0;
    for (int a = 0; a < 3; a++) {
        double *v = s->v + a * g->values, *q = s->q + a * g->values;
        for (int64_t i = first; counts(s, a) && i < first + count; i++) {
            double h = s->t->weight[a] * (s->x[next_of(g, at, a, i)] - s->x[i]);
            double d = h - 0.5 * (v[i] + q[i]);
            moved += d * d;
            q[i] = v[i] += RELAX * d;
            if (at[a] + 1 < g->extent[a]) square += v[i] * v[i];
        }
    }
    const double share = square > s->threshold * s->threshold ? s->threshold / sqrt(square) : 1.0;
    for (int a = 0; a < 3; a++)
        for (int64_t i = first; counts(s, a) && at[a] + 1 < g->extent[a] && i < first + count; i++)
            s->q[a * g->values + i] *= 1.0 - 2.0 * share;
    return moved;
}

/* Returns the root of the mean, over the entries, of the squares that v moves, in thresholds. */
static double split(spectral *s) {
    const csrec_tv_grid *g = &s->grid;
    const int64_t n = g->extent[0] * g->extent[1];
    double moved = 0.0;
#pragma omp parallel for num_threads(s->t->threads) schedule(static)
    for (int64_t row = 0; row < n; row++) {
        int64_t at[3] = {row / g->extent[1], row % g->extent[1], 0};
        int64_t i = row * g->extent[2] * g->width;
        double sum = 0.0;
        for (; at[2] < g->extent[2]; at[2]++)
            for (int64_t k = 0; k < g->width; k += g->group, i += g->group)
                sum += split_group(s, at, i, g->group);
        s->sums[row] = sum;
    }
    for (int64_t row = 0; row < n; row++) moved += s->sums[row];
    return sqrt(moved / (double)s->n) / s->threshold;
}

/* rhs = D^T q */
static void collect(spectral *s) {
    const csrec_tv_grid *g = &s->grid;
    const int64_t n = g->extent[0] * g->extent[1];
#pragma omp parallel for num_threads(s->t->threads) schedule(static)
    for (int64_t row = 0; row < n; row++) {
        int64_t at[3] = {row / g->extent[1], row % g->extent[1], 0};
        int64_t i = row * g->extent[2] * g->width;
        for (; at[2] < g->extent[2]; at[2]++)
            for (int64_t k = 0; k < g->width; k++, i++) {
                double sum = 0.0;
                for (int a = 0; a < 3; a++)
                    if (counts(s, a)) {
                        const double *q = s->q + a * g->values;
                        sum += s->t->weight[a] * (q[last_of(g, at, a, i)] - q[i]);
                    }
                s->rhs[i] = sum;
            }
    }
}

/* out [channels][entries] = F x */
static csrec_status transform(const spectral *s, const double *x, double *out) {
    for (int64_t c = 0; c < s->channels; c++) {
        csrec_channel_take(s->n, s->channels, c, (int)s->wide, x, s->t->data->from);
        CSREC_TRY(s->F->type->forward(s->F, s->t->data->from, out + 2 * c * s->n));
    }
    return CSREC_OK;
}

/* x = F^-1 of that */
static csrec_status restore(const spectral *s, const double *from, double *x) {
    const csrec_measured *d = s->t->data;
    for (int64_t c = 0; c < s->channels; c++) {
        CSREC_TRY(s->F->type->adjoint(s->F, from + 2 * c * s->n, d->from));
        for (int64_t i = 0; i < s->n; i++)
            for (int64_t k = 0; k < s->wide; k++)
                x[(i * s->channels + c) * s->wide + k] = d->from[i * s->wide + k] / (double)s->n;
    }
    return CSREC_OK;
}

/* ||A (x - x0)||^2 at this mu, and its slope. */
static double excess(const spectral *s, double mu, double *slope) {
    double sum = 0.0, falls = 0.0;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t k = 0; k < s->n; k++) {
            if (!(s->c[k] > 0.0 && s->lambda[k] > 0.0)) continue;
            const double *now = s->now + 2 * (c * s->n + k), *best = s->best + 2 * (c * s->n + k);
            double re = now[0] - s->lambda[k] * best[0], im = now[1] - s->lambda[k] * best[1];
            double over = 1.0 / (s->lambda[k] + mu * s->c[k]);
            double term = s->c[k] * (re * re + im * im) * over * over;
            sum += term;
            falls += term * s->c[k] * over;
        }
    *slope = -2.0 * falls / (double)s->n;
    return sum / (double)s->n;
}

/* The least mu within the ball: Newton's steps on the concave 1 / ||A (x - x0)||, from the last. */
static void find_multiplier(spectral *s) {
    for (int i = 0; i < ROOTS_MOST; i++) {
        double slope, sum = excess(s, s->mu, &slope);
        if (fabs(sum - s->room) <= 1e-10 * s->room || (s->mu == 0.0 && sum <= s->room)) return;
        double step = slope < 0.0 ? -2.0 * sum / slope * (sqrt(sum / s->room) - 1.0) : 0.0;
        s->mu = fmax(0.0, s->mu + step);
    }
}

/* now = x^ */
static void divide(spectral *s) {
    const bool exact = !(s->room > 0.0);
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t k = 0; k < s->n; k++) {
            double *now = s->now + 2 * (c * s->n + k);
            const double *best = s->best + 2 * (c * s->n + k);
            const double own = exact ? s->c[k] > 0.0 : s->mu * s->c[k];
            const double free = (exact && own > 0.0) || s->lambda[k] == 0.0 ? 0.0 : 1.0;
            const double below = free * s->lambda[k] + own;
            for (int p = 0; p < 2; p++)
                now[p] = below > 0.0 ? (free * now[p] + own * best[p]) / below : best[p];
        }
}

/* x <- rhs, the new x; returns the share of its length that it moved. */
static double advance(spectral *s) {
    double moved = 0.0, length = 0.0;
    for (int64_t i = 0; i < s->grid.values; i++) {
        double d = s->rhs[i] - s->x[i];
        moved += d * d;
        length += s->rhs[i] * s->rhs[i];
        s->x[i] = s->rhs[i];
    }
    return length > 0.0 ? sqrt(moved / length) : 0.0;
}

static csrec_status iterate(spectral *s, double *moved) {
    double dual = split(s);
    collect(s);
    CSREC_TRY(transform(s, s->rhs, s->now));
    if (s->room > 0.0) find_multiplier(s);
    divide(s);
    csrec_status status = restore(s, s->now, s->rhs);
    *moved = fmax(status ? 0.0 : advance(s), dual);
    return status;
}

/* F A^T A v of one channel v [wide entries]; v is lost. */
static csrec_status gram(const spectral *s, double *v, double *out) {
    const csrec_operator *A = s->t->data->A;
    csrec_status status = A->type->forward(A, v, s->t->data->to);
    if (!status) status = A->type->adjoint(A, s->t->data->to, v);
    return status ? status : s->F->type->forward(s->F, v, out);
}

/* Sets c as an impulse tells it, and whether divisions by it lose nothing. */
static csrec_status find_diagonal(spectral *s, bool *fits) {
    double *v = s->t->data->from, most = 0.0;
    memset(v, 0, (size_t)(s->n * s->wide) * sizeof *v);
    v[0] = 1.0;
    csrec_status status = gram(s, v, s->now);
    for (int64_t k = 0; k < s->n && !status; k++) most = fmax(most, s->now[2 * k]);
    *fits = !status && most > 0.0;
    for (int64_t k = 0; k < s->n && *fits; k++) {
        s->c[k] = fabs(s->now[2 * k]) <= NOTHING * most ? 0.0 : s->now[2 * k];
        *fits = (s->c[k] == 0.0 || s->c[k] >= LEAST * most) &&
                fabs(s->now[2 * k + 1]) <= NOTHING * most;
    }
    return status;
}

/* Whether F A^T A v = c F v for a random v. */
static csrec_status try_diagonal(spectral *s, bool *fits) {
    double *v = s->t->data->from, off = 0.0, length = 0.0;
    csrec_random_normals(1, s->n * s->wide, v);
    csrec_status status = s->F->type->forward(s->F, v, s->best);
    if (!status) status = gram(s, v, s->now);
    for (int64_t k = 0; k < 2 * s->n && !status; k++) {
        double due = s->c[k / 2] * s->best[k];
        off += (s->now[k] - due) * (s->now[k] - due);
        length += due * due;
    }
    *fits = off <= 1e-18 * length;
    return status;
}

/* The diagonal of D^T D at frequency k. */
static double laplacian(const spectral *s, int64_t k) {
    double sum = 0.0;
    for (int a = 2; a >= 0; k /= s->grid.extent[a--]) {
        const int64_t n = s->grid.extent[a], of = k % n;
        double w = 2.0 * s->t->weight[a] * sin(3.14159265358979323846 * (double)of / (double)n);
        sum += of ? w * w : 0.0;
    }
    return sum;
}

/* x0 and its spectrum, the room that eps leaves, and v = q = w D x0, of no multiplier. */
static csrec_status begin(spectral *s) {
    const csrec_measured *d = s->t->data;
    csrec_status status = csrec_measured_adjoint(d, d->m->y, s->x);
    if (!status) status = transform(s, s->x, s->best);
    for (int64_t c = 0; c < s->channels && !status; c++)
        for (int64_t k = 0; k < 2 * s->n; k++) {
            double *best = s->best + 2 * c * s->n + k;
            *best = s->c[k / 2] > 0.0 ? *best / s->c[k / 2] : 0.0;
        }
    if (!status) status = restore(s, s->best, s->x);
    if (!status) status = csrec_measured_residual(d, s->x, s->r);
    s->room = d->eps * d->eps - csrec_squares(d->y_values, s->r);
    return status;
}

/* v = q = w D x0, of multipliers 0, and the threshold. */
static void start_split(spectral *s) {
    const csrec_tv_grid *g = &s->grid;
    s->threshold = INFINITY;
    memset(s->v, 0, 3 * (size_t)g->values * sizeof *s->v);
    memset(s->q, 0, 3 * (size_t)g->values * sizeof *s->q);
    split(s);
    for (int64_t i = 0; i < 3 * g->values; i++) s->q[i] = s->v[i] /= RELAX;
    double inside = 0.0;
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; counts(s, a) && i < g->values; i++)
            if (i / g->stride[a] % g->extent[a] + 1 < g->extent[a])
                inside += s->v[a * g->values + i] * s->v[a * g->values + i];
    s->threshold = THRESHOLD * sqrt(inside / (double)s->n);
}

static csrec_status allocate(spectral *s) {
    const int64_t values = s->grid.values;
    CSREC_TAKE(&s->pool, s->lambda, s->n);
    CSREC_TAKE(&s->pool, s->rhs, values);
    CSREC_TAKE(&s->pool, s->v, 3 * values);
    CSREC_TAKE(&s->pool, s->q, 3 * values);
    CSREC_TAKE(&s->pool, s->r, s->t->data->y_values);
    CSREC_TAKE(&s->pool, s->sums, s->grid.extent[0] * s->grid.extent[1]);
    return csrec_pool_status(&s->pool);
}

/* ---- where A^T A is near a diagonal alone: each iteration moves x towards that of least
 *
 *     ||w D x - q||^2 + mu ||A x - y||^2
 *
 * by GRADIENTS steps of preconditioned conjugate gradients. mu makes both alike, and stays. The
 * threshold, which weighs the sum, follows the misfit. It begins at WEIGHT of what noise is in
 * A^T y, and changes by SLOWLY at most, as details that come too early stay where nothing is
 * measured. now = A^T A x, best = A^T y, c = 1 / (lambda + mu c). */
static const double WEIGHT = 8.0, SLOWLY = 1.08, NOISE_LEAST = 1e-3;

enum { GRADIENTS = 2 };

static csrec_status prepare_near(spectral *s) {
    const csrec_measured *d = s->t->data;
    const int64_t values = s->grid.values;
    double **const arrays[] = {&s->old, &s->slope, &s->along, &s->bent, &s->step}, mean = 0.0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        CSREC_TAKE(&s->pool, *arrays[i], values);
    csrec_status status = allocate(s);
    for (int64_t k = 0; k < s->n && !status; k++)
        mean += (s->lambda[k] = laplacian(s, k)) / (double)s->n;
    s->mu = mean > 0.0 ? mean / d->spectrum->mean : 1.0;
    for (int64_t k = 0; k < s->n && !status; k++)
        s->c[k] = 1.0 / (s->lambda[k] + s->mu * d->spectrum->c[k]);
    if (!status) status = csrec_measured_adjoint(d, d->m->y, s->best);
    for (int64_t i = 0; i < values && !status; i++) s->x[i] = s->best[i] / (d->norm * d->norm);
    if (!status) status = csrec_measured_normal(d, s->x, s->now);
    if (status) return status;
    start_split(s);
    s->square = csrec_squares(d->y_values, d->m->y);
    const double noise = fmax(d->eps, NOISE_LEAST * sqrt(s->square));
    s->threshold = WEIGHT * s->mu * noise * sqrt(d->spectrum->mean / (double)d->y_values);
    return CSREC_OK;
}

static csrec_status descend(spectral *s) {
    const csrec_measured *d = s->t->data;
    const int64_t n = s->grid.values;
    double before = INFINITY;
    csrec_status status = csrec_spectrum_filter(d, s->lambda, s->x, s->bent);
    for (int64_t i = 0; i < n; i++) {
        s->slope[i] = s->rhs[i] - s->bent[i] - s->mu * (s->now[i] - s->best[i]);
        s->along[i] = 0.0;
    }
    for (int k = 0; k < GRADIENTS && !status; k++) {
        status = csrec_spectrum_filter(d, s->c, s->slope, s->step);
        const double falls = csrec_dot(n, s->slope, s->step);
        for (int64_t i = 0; i < n; i++) s->along[i] = s->step[i] + falls / before * s->along[i];
        before = falls;
        if (!status) status = csrec_spectrum_filter(d, s->lambda, s->along, s->bent);
        if (!status) status = csrec_measured_normal(d, s->along, s->step);
        for (int64_t i = 0; i < n; i++) s->bent[i] += s->mu * s->step[i];
        const double bend = csrec_dot(n, s->along, s->bent);
        if (status || !(falls > 0.0 && bend > 0.0)) break;
        for (int64_t i = 0; i < n; i++) {
            s->x[i] += falls / bend * s->along[i];
            s->now[i] += falls / bend * s->step[i];
            s->slope[i] -= falls / bend * s->bent[i];
        }
    }
    return status;
}

static csrec_status iterate_near(spectral *s, double *moved) {
    const int64_t n = s->grid.values;
    split(s);
    collect(s);
    memcpy(s->old, s->x, (size_t)n * sizeof *s->old);
    csrec_status status = descend(s);
    const double misfit =
        s->square - 2.0 * csrec_dot(n, s->x, s->best) + csrec_dot(n, s->x, s->now);
    const double over = s->t->data->eps / sqrt(fmax(misfit, 1e-300));
    s->threshold *= fmin(fmax(over, 1.0 / SLOWLY), SLOWLY);
    for (int64_t i = 0; i < n; i++) s->old[i] -= s->x[i];
    *moved = sqrt(csrec_squares(n, s->old) / fmax(csrec_squares(n, s->x), 1e-300));
    return status;
}

/* Whether A is such an operator; if so, x = x0. */
static csrec_status prepare(spectral *s, bool *fits) {
    const csrec_measured *d = s->t->data;
    const csrec_operator_spec all = {
        .name = "fourier", .shape = &d->m->shape, .complex_signal = d->wide == 2};
    csrec_error error;
    *fits = false;
    if (!d->m->through && d->m->n < d->entries) return CSREC_OK; /* no frequencies */
    csrec_status status = csrec_operator_create_on(&d->A->context, &all, &s->F, &error);
    if (status) return status == CSREC_UNSUPPORTED ? CSREC_OK : status;
    CSREC_TAKE(&s->pool, s->c, s->n);
    CSREC_TAKE(&s->pool, s->best, 2 * s->n * s->channels);
    CSREC_TAKE(&s->pool, s->now, 2 * s->n * s->channels);
    status = csrec_pool_status(&s->pool);
    if (!status && (*fits = d->spectrum != NULL)) return prepare_near(s);
    if (!status) status = find_diagonal(s, fits);
    if (!status && *fits) status = try_diagonal(s, fits);
    if (!status && *fits) status = allocate(s);
    if (status || !*fits) return status;
    for (int64_t k = 0; k < s->n; k++) s->lambda[k] = laplacian(s, k);
    status = begin(s);
    if (!status) start_split(s);
    return status;
}

csrec_status csrec_tv_fourier(const csrec_tv_problem *t, csrec_call *call, double *x, int64_t *done,
                              bool *fits) {
    const csrec_measured *d = t->data;
    spectral s = {.t = t,
                  .grid = csrec_tv_grid_of(t),
                  .n = d->entries,
                  .wide = d->wide,
                  .channels = d->m->channels,
                  .x = x};
    double moved = INFINITY;
    csrec_status status = prepare(&s, fits);
    for (*done = 0; *fits && !status && *done < t->iterations && moved > t->tolerance; ++*done) {
        csrec_progress now = {"total variation", *done, t->iterations, -1.0};
        if (!(s.threshold > 0.0) || csrec_call_report(call, &now)) break;
        status = t->data->spectrum ? iterate_near(&s, &moved) : iterate(&s, &moved);
    }
    csrec_operator_destroy(s.F);
    csrec_pool_clear(&s.pool);
    return status;
}
