/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c - plug-and-play recovery by orthogonal approximate message passing (Ma and Ping 2017;
 * vector approximate message passing of Rangan, Schniter and Fletcher 2019, with a denoiser as
 * Metzler, Maleki and Baraniuk 2016):
 *
 *     u = x + n/m A^T (y - A x) / c                        A A^T = c I, A is m x n
 *     v = ||y - A x||^2 / (m c) - s^2 / c                  mean squared error of x; s: noise on y
 *     t^2 = v (n/m - 1) + n/m s^2 / c                      and of u
 *     z = denoise(u, t)
 *     a = sum_i dz_i / du_i / n                            by a random probe
 *     x = (z - a u) / (1 - a)
 *
 * Where the rows mix all entries, u is the signal with white Gaussian noise of level t, as the
 * denoiser expects: u has the errors of x with their part in the rows' space turned, so that they
 * do not correlate with those of x, and x has errors that do not correlate with those of u. Levels
 * need no schedule. It ends when t falls no more.
 *
 * A denoiser keeps the mean; what is wrong with it would grow in every step where its share of the
 * rows is above m/n, as where one of them is the mean itself. Its step has the factor 1 / share in
 * place of n/m, and it begins as the measurements tell it.
 *
 * t cannot grow where the conditions hold. If it does, they do not, and the result is lost. */
#include <math.h>
#include <string.h>

#include "csrec/sampling.h"
#include "method/pnp/pnp.h"
#include "method/tv/tv.h"
#include "operator/mask.h"

/* It ends after so many steps in which t falls by less than this share of the least before, and is
 * lost where it is so many times the least. So many steps follow a fit of the network at most. */
enum { STALLS = 3, AFTER = 8 };
static const double FALLS = 0.01, GROWS = 1.5;

/* Tones that do not count. */
static const double NOTHING = 0.1;

/* Less than this share of m/n, the rows tell nothing of the mean. */
static const double LEAST_SHARE = 0.5;

/* Means of back over the entries, of each of the values of an entry: `width`. */
static double mean_of(const csrec_pnp *p, int64_t width, int64_t k) {
    double sum = 0.0;
    for (int64_t i = k; i < p->data.values; i += width) sum += p->back[i];
    return sum / (double)p->data.entries;
}

csrec_status csrec_pnp_decorrelate(csrec_pnp *p, double *level) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    const double c = d->norm * d->norm, own = p->sigma * p->sigma / c;
    const double gain = (double)d->values / (double)d->y_values;
    csrec_status status = csrec_measured_residual(&p->data, p->x, p->r);
    if (!status) status = csrec_measured_adjoint(&p->data, p->r, p->back);
    double energy = csrec_squares(d->y_values, p->r) / c;
    for (int64_t k = 0; k < width; k++) {
        const double mean = mean_of(p, width, k) / c, whole = p->gain * mean;
        for (int64_t i = k; i < d->values; i += width)
            p->w[i] = p->x[i] - whole - gain * (p->back[i] / c - mean);
        energy -= mean * whole * (double)d->entries;
    }
    double error = fmax(energy / (double)d->y_values - own, 0.0);
    *level = sqrt(error * fmax(gain - 1.0, 0.0) + gain * own);
    return status;
}

/* x = (z - a u) / (1 - a) */
static csrec_status correct(csrec_pnp *p, double level, int turns, csrec_error *error) {
    double a = 0.0;
    csrec_status status = csrec_denoiser_slope(&p->denoiser, p->w, p->z, level, turns, &p->call,
                                               p->back, p->x, &a, error);
    a = fmin(fmax(a, 0.0), 0.9);
    for (int64_t i = 0; i < p->data.values; i++) p->x[i] = (p->z[i] - a * p->w[i]) / (1.0 - a);
    return status;
}

csrec_status csrec_pnp_centre(csrec_pnp *p) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    const double c = d->norm * d->norm, rate = (double)d->y_values / (double)d->values;
    for (int64_t i = 0; i < d->values; i++) p->x[i] = 1.0;
    csrec_status status = csrec_measured_product(&p->data, p->x, p->r);
    const double share = csrec_squares(d->y_values, p->r) / (c * (double)d->values);
    p->gain = share >= LEAST_SHARE * rate ? 1.0 / share : 0.0;
    if (!status) status = csrec_measured_adjoint(&p->data, d->m->y, p->back);
    for (int64_t k = 0; k < width; k++) {
        const double mean = p->gain * mean_of(p, width, k) / c;
        for (int64_t i = k; i < d->values; i += width) p->x[i] = mean;
    }
    return status;
}

/* tone: from the scale, or so that the signal's standard deviation, t / sqrt(n/m) of x = its mean,
 * is 50 tones, as that of many pictures. */
static csrec_status begin(csrec_pnp *p) {
    const csrec_measurement *m = p->data.m;
    const double given = fabs(m->scale[1] - m->scale[0]);
    const size_t bytes = (size_t)p->data.values * sizeof *p->x;
    double level = 0.0;
    csrec_status status = csrec_pnp_centre(p);
    memcpy(p->z, p->x, bytes);
    memcpy(p->mean, p->x, bytes);
    if (!status) status = csrec_pnp_decorrelate(p, &level);
    double spread = level * sqrt((double)p->data.y_values / (double)p->data.values);
    p->tone = given > 0.0 ? given / 255.0 : spread > 0.0 ? spread / 50.0 : 1.0;
    return status;
}

/* z of u, unless the denoiser was stopped. */
static csrec_status denoise(csrec_pnp *p, double level, int turns, csrec_error *error) {
    csrec_status status = csrec_denoise(&p->denoiser, p->w, level, turns, &p->call, p->x, error);
    if (status || csrec_call_stopped(&p->call)) return status;
    memcpy(p->z, p->x, (size_t)p->data.values * sizeof *p->z);
    csrec_pnp_keep(p);
    return status;
}

/* Until the level falls no more, and at most until *done is `end`. p->w: u, of *level; *best: the
 * least. more: it goes on after a fit, from x as it is corrected: z is no start, as its errors
 * correlate with those of u, and the level that it shows is a fraction of the true one. */
static csrec_status pass_messages(csrec_pnp *p, bool more, int64_t end, int64_t *done,
                                  double *level, double *best, bool *lost, csrec_error *error) {
    const int turns = (int)csrec_pnp_setting(p, "turns");
    double least = INFINITY;
    int stalls = 0;
    for (; *done < end; ++*done) {
        const csrec_progress now = {"plug-and-play", *done, end, -1.0};
        if (csrec_call_report(&p->call, &now)) break;
        CSREC_TRY(csrec_pnp_decorrelate(p, level));
        *lost = !(*level <= GROWS * fmax(least, NOTHING * p->tone));
        if (*lost || (!(*level < (1.0 - FALLS) * least) && ++stalls > STALLS)) break;
        *best = least = fmin(least, *level);
        CSREC_TRY(denoise(p, *level, turns, error));
        if (more || *done + 1 < end) CSREC_TRY(correct(p, *level, turns, error));
    }
    return CSREC_OK;
}

/* Fits the network to u, and goes on. The level tells the error: where it falls no more, the fit
 * was one to noise, and the mean before it stays. */
static csrec_status fit_messages(csrec_pnp *p, bool more, int64_t *done, double *level,
                                 double *best, bool *falls, csrec_error *error) {
    const size_t bytes = (size_t)p->data.values * sizeof *p->mean;
    double now = INFINITY;
    bool lost = false;
    memcpy(p->along, p->mean, bytes);
    csrec_status status = csrec_pnp_adapt(p, p->w, *level, false, error);
    if (!status) status = pass_messages(p, more, *done + AFTER, done, level, &now, &lost, error);
    *falls = !lost && now < *best;
    if (!*falls) memcpy(p->mean, p->along, bytes);
    *best = fmin(*best, now);
    return status;
}

csrec_status csrec_pnp_messages(csrec_pnp *p, int64_t *done, bool *lost, csrec_error *error) {
    const int64_t end = (int64_t)csrec_pnp_setting(p, "iterations");
    int64_t rounds = csrec_pnp_fits(p);
    double level = 0.0, best = INFINITY;
    bool falls = true;
    csrec_status status = begin(p);
    if (status) return csrec_fail(error, status, "plug-and-play: %s", csrec_status_text(status));
    status = csrec_pnp_open(p, error);
    if (!status) status = pass_messages(p, rounds > 0, end, done, &level, &best, lost, error);
    for (; rounds > 0 && falls && !status && !*lost && !csrec_call_stopped(&p->call); rounds--)
        status = fit_messages(p, rounds > 1, done, &level, &best, &falls, error);
    return status || *lost ? status : csrec_pnp_meet(p, p->mean);
}

enum { TRIES = 16, STREAM = 77 };

/* The signal in so many pieces along an axis at most, of so many entries at least. */
enum { PIECES = 4, LEAST = 8 };

/* Of the mean energy of a piece: what each has at least. Of random rows less happens once in a
 * thousand tries for pieces of 8 entries, and never for those of 64. */
static const double LEAST_ENERGY = 0.1;

static uint64_t drawn(int try, int k, int64_t below) {
    return csrec_random_u64(1, STREAM, (uint64_t)(4 * try + k)) % (uint64_t)below;
}

/* A wave of whole periods along each axis, or 1 at the entry `single` if that is not -1. What a
 * denoiser keeps is smooth: every other wave has 0 or 1 periods. */
static void draw(const csrec_pnp *p, int try, int64_t single, double *x) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    int64_t extent[3], wave[3], periods = 0;
    csrec_mask_extents(&d->m->shape, extent);
    for (int a = 0; a < 3; a++) {
        const int64_t most = try % 4 ? (extent[a] + 1) / 2 : extent[a] > 2 ? 2 : 1;
        periods += wave[a] = (int64_t)drawn(try, a, most);
    }
    if (periods == 0) wave[2] = extent[2] > 2; /* constants are treated apart */
    for (int64_t e = 0; e < d->values && single >= 0; e++) x[e] = e / width == single;
    const double full = 2.0 * acos(-1.0), step = full * (double)wave[2] / (double)extent[2];
    const double twice = 2.0 * cos(step); /* times cos a: cos a + step and cos a - step */
    for (int64_t row = 0; row < extent[0] * extent[1] && single < 0; row++) {
        const int64_t at[2] = {row / extent[1], row % extent[1]};
        double phase = 1.0;
        for (int a = 0; a < 2; a++)
            phase += full * (double)(wave[a] * at[a] % extent[a]) / (double)extent[a];
        double now = cos(phase), before = cos(phase - step);
        for (int64_t e = row * extent[2]; e < (row + 1) * extent[2]; e++) {
            for (int64_t k = 0; k < width; k++) x[e * width + k] = now;
            const double next = twice * now - before;
            before = now;
            now = next;
        }
    }
}

/* Denoisers of pictures know nothing of narrower ones. */
static bool is_wide(const csrec_shape *shape) {
    bool wide = true;
    for (int a = 0; a < shape->dims; a++) wide = wide && shape->dim[a] >= LEAST;
    return wide;
}

/* Whether A^T of p->r, made of the entry `single`, has energy in every piece of the signal: rows
 * that reach a part of it alone, as those of blocks, do not. */
static csrec_status is_everywhere(csrec_pnp *p, int64_t single, bool *everywhere) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    double energy[PIECES * PIECES * PIECES] = {0}, sum = 0.0;
    int64_t extent[3], pieces[3], size[PIECES * PIECES * PIECES] = {0};
    csrec_status status = csrec_measured_adjoint(&p->data, p->r, p->back);
    csrec_mask_extents(&d->m->shape, extent);
    for (int a = 0; a < 3; a++)
        pieces[a] = extent[a] < 2 * LEAST        ? 1
                    : extent[a] > PIECES * LEAST ? PIECES
                                                 : extent[a] / LEAST;
    memset(p->back + single * width, 0, (size_t)width * sizeof *p->back);
    for (int64_t row = 0; row < extent[0] * extent[1] && !status; row++)
        for (int64_t k = 0; k < pieces[2]; k++) {
            const int64_t i = row / extent[1] * pieces[0] / extent[0],
                          j = row % extent[1] * pieces[1] / extent[1],
                          piece = (i * pieces[1] + j) * pieces[2] + k,
                          from = (k * extent[2] + pieces[2] - 1) / pieces[2],
                          to = ((k + 1) * extent[2] + pieces[2] - 1) / pieces[2];
            const double own =
                csrec_squares((to - from) * width, p->back + (row * extent[2] + from) * width);
            energy[piece] += own;
            size[piece] += to - from;
            sum += own / (double)d->entries;
        }
    for (int64_t i = 0; i < pieces[0] * pieces[1] * pieces[2]; i++)
        *everywhere = *everywhere && energy[i] >= LEAST_ENERGY * sum * (double)size[i];
    return status;
}

csrec_status csrec_pnp_mixes(csrec_pnp *p, bool *mixes) {
    const csrec_measured *d = &p->data;
    const double rate = (double)d->y_values / (double)d->values;
    const double room = 0.25 + 6.0 * sqrt(2.0 / (double)d->y_values);
    *mixes = d->tight && d->m->through && is_wide(&d->m->shape);
    for (int t = 0; t < TRIES && *mixes; t++) {
        const int64_t single = t % 2 ? (int64_t)drawn(t, 3, d->entries) : -1;
        draw(p, t, single, p->x);
        CSREC_TRY(csrec_measured_product(&p->data, p->x, p->r));
        double share =
            csrec_squares(d->y_values, p->r) / (d->norm * d->norm * csrec_squares(d->values, p->x));
        *mixes = fabs(share / rate - 1.0) <= room;
        if (*mixes && single >= 0) CSREC_TRY(is_everywhere(p, single, mixes));
    }
    return CSREC_OK;
}

/* ---- plug-and-play recovery by splitting, for any A: half-quadratic (Zhang et al. 2021,
 * algorithm 1), or the alternating direction method of multipliers (Venkatakrishnan, Bouman and
 * Wohlberg 2013; Chan, Wang and Elgendy 2017) with the scaled multiplier w:
 *
 *     x <- argmin ||A x - y||^2 / s^2 + ||x - (z - w)||^2 / s_k^2,      s: of the noise on y
 *     x <- z + relax (x - z)
 *     z <- denoise(x + w, s_k),    w <- x + w - z                       (half-quadratic: w = 0)
 *
 * with s_k falling from s_1 to s_K in a geometric series: the weight of the multiplier's term grows
 * as 1 / s_k^2, and w is scaled with it. */

/* The start: total variation, roughly. */
static csrec_status start(csrec_pnp *p) {
    csrec_tv_problem t = csrec_tv_defaults(&p->data, p->recovery->options->threads);
    int64_t done;
    t.iterations = 300;
    return csrec_tv_solve(&t, &p->call, p->z, &done);
}

/* 1/255 of white less black: of the measurement's scale, else of the start. */
static double tone_of(const csrec_pnp *p) {
    const csrec_measurement *m = p->data.m;
    double given = fabs(m->scale[1] - m->scale[0]), least = p->z[0], most = p->z[0];
    if (given > 0.0) return given / 255.0;
    for (int64_t i = 0; i < p->data.values; i++) {
        least = fmin(least, p->z[i]);
        most = fmax(most, p->z[i]);
    }
    return most > least ? (most - least) / 255.0 : 1.0;
}

/* The noise of step k of K. */
static double noise_at(const csrec_pnp *p, int64_t k, int64_t K) {
    double first = csrec_pnp_setting(p, "first") * p->tone;
    /* What noise on y is in x, if its energy spreads over all entries. */
    double own = p->sigma / p->data.norm * sqrt((double)p->data.y_values / (double)p->data.values);
    double last = fmax(csrec_pnp_setting(p, "last") * p->tone, own);
    double share = K > 1 ? (double)k / (double)(K - 1) : 1.0;
    return last < first ? first * pow(last / first, share) : last;
}

/* x from z and w, over-relaxed, with w added. */
static csrec_status approach(csrec_pnp *p, double sigma) {
    const double relax = csrec_pnp_setting(p, "relax") / 100.0;
    const double share = p->sigma * p->sigma / (sigma * sigma);
    for (int64_t i = 0; i < p->data.values; i++) p->z[i] -= p->w[i];
    csrec_status status = csrec_pnp_fit(p, p->z, share);
    for (int64_t i = 0; i < p->data.values; i++) {
        const double z = p->z[i] + p->w[i];
        p->x[i] = z + relax * (p->x[i] - z) + p->w[i];
    }
    return status;
}

static csrec_status step(csrec_pnp *p, bool admm, double sigma, double next, csrec_error *error) {
    csrec_status status = approach(p, sigma);
    if (!status)
        status = csrec_denoise(&p->denoiser, p->x, sigma, (int)csrec_pnp_setting(p, "turns"),
                               &p->call, p->z, error);
    if (!status) csrec_pnp_keep(p);
    const double scale = next * next / (sigma * sigma);
    for (int64_t i = 0; i < p->data.values && admm && !status; i++)
        p->w[i] = scale * (p->x[i] - p->z[i]);
    return status;
}

/* Steps `from` to K. */
static csrec_status alternate(csrec_pnp *p, bool admm, int64_t from, int64_t *done,
                              csrec_error *error) {
    const int64_t K = (int64_t)csrec_pnp_setting(p, "iterations");
    for (int64_t k = from; k < K; k++, ++*done) {
        const csrec_progress now = {"plug-and-play", k, K, -1.0};
        if (csrec_call_report(&p->call, &now)) break;
        CSREC_TRY(step(p, admm, noise_at(p, k, K), noise_at(p, k + 1, K), error));
    }
    return CSREC_OK;
}

csrec_status csrec_pnp_split(csrec_pnp *p, bool admm, int64_t *done, csrec_error *error) {
    const int64_t K = (int64_t)csrec_pnp_setting(p, "iterations");
    int64_t rounds = csrec_pnp_fits(p);
    csrec_status status = start(p);
    if (status) return csrec_fail(error, status, "plug-and-play: %s", csrec_status_text(status));
    p->tone = tone_of(p);
    status = csrec_pnp_open(p, error);
    memcpy(p->mean, p->z, (size_t)p->data.values * sizeof *p->mean);
    memset(p->w, 0, (size_t)p->data.values * sizeof *p->w);
    *done = 0;
    if (!status) status = alternate(p, admm, 0, done, error);
    for (; rounds > 0 && !status && !csrec_call_stopped(&p->call); rounds--) {
        status = csrec_pnp_adapt(p, p->mean, noise_at(p, K / 2, K), true, error);
        if (!status) status = alternate(p, admm, K / 2, done, error);
    }
    return status ? status : csrec_pnp_meet(p, p->mean);
}
