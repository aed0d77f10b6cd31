/* SPDX-License-Identifier: BSD-3-Clause */
/* splitting.c - plug-and-play recovery by splitting, for any A: half-quadratic (Zhang et al. 2021,
 * algorithm 1), or the alternating direction method of multipliers (Venkatakrishnan, Bouman and
 * Wohlberg 2013; Chan, Wang and Elgendy 2017) with the scaled multiplier w:
 *
 *     x <- argmin ||A x - y||^2 / s^2 + ||x - (z - w)||^2 / s_k^2,      s: of the noise on y
 *     x <- z + relax (x - z)
 *     z <- denoise(x + w, s_k),    w <- x + w - z                       (half-quadratic: w = 0)
 *
 * with s_k falling from s_1 to s_K in a geometric series: the weight of the multiplier's term grows
 * as 1 / s_k^2, and w is scaled with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/pnp/pnp.h"
#include "method/tv/tv.h"

/* The start: total variation, roughly. */
static csrec_status start(csrec_pnp *p) {
    csrec_tv_problem t = csrec_tv_defaults(&p->data, p->recovery->options->threads);
    int64_t done;
    t.iterations = 300;
    csrec_status status = csrec_measured_start(&p->data, p->z);
    return status ? status : csrec_tv_solve(&t, &p->call, p->z, &done);
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

csrec_status csrec_pnp_split(csrec_pnp *p, bool admm, int64_t *done, csrec_error *error) {
    const int64_t K = (int64_t)csrec_pnp_setting(p, "iterations");
    csrec_status status = start(p);
    if (status) return csrec_fail(error, status, "plug-and-play: %s", csrec_status_text(status));
    p->tone = tone_of(p);
    status = csrec_pnp_open(p, error);
    memcpy(p->mean, p->z, (size_t)p->data.values * sizeof *p->mean);
    memset(p->w, 0, (size_t)p->data.values * sizeof *p->w);
    for (*done = 0; *done < K && !status; ++*done) {
        const csrec_progress now = {"plug-and-play", *done, K, -1.0};
        if (csrec_call_report(&p->call, &now)) break;
        status = step(p, admm, noise_at(p, *done, K), noise_at(p, *done + 1, K), error);
    }
    return status ? status : csrec_pnp_meet(p, p->mean);
}
