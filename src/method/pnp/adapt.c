/* SPDX-License-Identifier: BSD-3-Clause */
/* adapt.c - the denoiser's network fitted further to one picture, of which no clean pixel is known.
 *
 * Of u = picture + white noise of level t, and of white noise n of standard deviation 1,
 *     u + a t n   and   u - t n / a
 * have errors that do not correlate. So what the first is denoised to, beside the second, has its
 * true mean squared error but for a constant ("recorrupted to recorrupted", Pang et al. 2021): the
 * network learns the picture's own textures, and no noise. It is told sqrt(1 + a^2) t.
 *
 * Where errors are not white, as on the way of alternating directions, it is shown an estimate with
 * noise added, and asked for the estimate. */
#include <float.h>
#include <math.h>

#include "base/clock.h"
#include "base/threads.h"
#include "csrec/sampling.h"
#include "learn/net/pyramid.h"
#include "method/pnp/pnp.h"

/* a; levels of noise that is added to an estimate, in shares of the most; and Adam's rate. */
static const double MORE = 0.5, LEAST = 0.2, RATE = 1e-4;

enum { STREAM_LEVEL = 1 << 26, STREAM_NOISE };

static int64_t room(const void *of, int64_t rows, int64_t columns) {
    const csrec_denoise_part *p = of;
    return 2 * p->d->pass.channels * rows * columns + csrec_pyramid_work(rows, columns);
}

/* A step sees the channels of one pass. */
static void make(const void *of, const csrec_turn *t, const uint8_t *shown, uint64_t key,
                 float *work, float *X, float *target) {
    const csrec_denoise_part *p = of;
    const csrec_denoiser *d = p->d;
    const int64_t n = t->rows * t->columns, whole = d->pass.height * d->pass.width,
                  own = d->pass.channels, columns = csrec_turned_columns(t);
    const float *from = d->values + (int64_t)(key % (uint64_t)(d->channels / own)) * own * whole;
    const double drawn = csrec_random_uniform(key, STREAM_LEVEL, 0);
    const double add = p->sigma * (p->clean ? pow(LEAST, drawn) : MORE);
    const double less = p->clean ? 0.0 : p->sigma / MORE;
    csrec_prior_samples s = {.channels = (int)own,
                             .height = csrec_turned_rows(t),
                             .width = columns,
                             .values = work,
                             .known = shown,
                             .sigma = (float)(p->clean ? add : hypot(p->sigma, add)),
                             .tone = 1.0f,
                             .threads = 1};
    csrec_prior_frame frame;
    float *noise = work + own * n;
    for (int64_t i = 0; i < own * n; i++) {
        noise[i] = (float)csrec_random_normal(key, STREAM_NOISE, (uint64_t)i);
        work[i] = from[i / n * whole + csrec_turn_source(t, i % n / columns, i % n % columns)] +
                  (float)add * noise[i];
    }
    csrec_prior_planes(&s, d->pass.multiple, noise + own * n, X, &frame);
    for (int64_t i = 0; i < own * n; i++)
        target[(i / n * frame.height + i % n / columns) * frame.width + i % n % columns] =
            (float)((work[i] - (add + less) * noise[i] - frame.mean[i / n]) / frame.unit);
}

csrec_fit_source csrec_denoise_source(const csrec_denoise_part *p) {
    return (csrec_fit_source){.of = p,
                              .height = p->d->pass.height,
                              .width = p->d->pass.width,
                              .channels = p->d->pass.channels,
                              .takes = 2 * p->d->pass.channels + 2,
                              .makes = 2 * p->d->pass.channels,
                              .room = room,
                              .make = make};
}

csrec_status csrec_denoiser_fit(csrec_denoiser *d, const double *x, double sigma, bool clean,
                                int64_t steps, csrec_call *call, int64_t *done,
                                csrec_error *error) {
    const csrec_denoise_part p = {d, sigma / d->tone, clean};
    const csrec_fit_source source = csrec_denoise_source(&p);
    const csrec_recover_options *o = d->recovery->options;
    const double began = csrec_seconds();
    const csrec_fit_options fit = {.steps = steps,
                                   .copies = 1,
                                   .rate = RATE,
                                   .falls = true,
                                   .seconds = d->seconds,
                                   .seed =
                                       csrec_random_u64(o->seed, STREAM_LEVEL, (uint64_t)d->calls),
                                   .threads = csrec_threads(o->threads)};
    csrec_denoiser_take(d, x);
    csrec_status status = csrec_net_fit(d->pass.net, &source, &fit, call, done, error);
    if (d->seconds > 0.0) d->seconds = fmax(d->seconds - (csrec_seconds() - began), DBL_MIN);
    return status;
}
