/* SPDX-License-Identifier: BSD-3-Clause */
/* fit.c - the network fitted further to the frames of a film, one after another. */
#include <math.h>

#include "base/clock.h"
#include "csrec/sampling.h"
#include "method/beside/beside.h"

/* A frame of a sequence takes one step in so many of those of a picture. */
enum { SHARE = 8, STREAM_FIT = 1 << 24 };

int64_t csrec_film_steps(double steps, bool sequence) {
    return (int64_t)ceil(sequence ? steps / SHARE : steps);
}

/* Samples that the vote leaves out are neither shown nor hidden, in any frame. So the network is
 * not fitted to them when the vote asks what it misses there, and it is the one that makes the
 * result: shares hold for it. Frames before may have seen them beside, but were not asked for them.
 */
static int64_t fit_to(csrec_film *f, int64_t t, const uint8_t *known) {
    int64_t count = 0;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        f->fit_to[i] = known[i] && !(f->votes && csrec_film_left_out(f, t, i));
        count += f->fit_to[i];
    }
    return count;
}

csrec_status csrec_film_fit(csrec_film *f, int64_t t, int64_t c, const csrec_beside_window *w,
                            csrec_call *call, csrec_error *error) {
    const uint8_t *known = w->known[f->net.frames / 2];
    const csrec_beside_part part = {&f->net, w};
    const csrec_fit_source source = csrec_beside_source(&part, f->fit_to);
    csrec_fit_options fit = csrec_fit_usual(f->r.context, f->steps, 0, f->r.options->threads);
    const double began = csrec_seconds(), left = f->seconds - f->spent;
    int64_t done = 0;
    if (!known || fit_to(f, t, known) < 2 || (f->seconds > 0.0 && left <= 0.0)) return CSREC_OK;
    fit.seconds = f->seconds > 0.0 ? left / (double)(f->channels - c) : 0.0;
    fit.seed = csrec_random_u64(f->r.options->seed, STREAM_FIT, (uint64_t)(t * f->channels + c));
    csrec_status status = csrec_net_fit(f->net.net, &source, &fit, call, &done, error);
    f->fitted += done;
    f->spent += csrec_seconds() - began;
    return status;
}
