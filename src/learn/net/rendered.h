/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.h - the network of a model of kind rendered: radiance from few rays of a path tracer, at
 * some pixels or at all, and from albedo, normal and depth (AOVs), if they are known.
 *
 * Of a pixel: y the mean of its n rays in three channels, M = 1 where n > 0, A albedo, N normal, d
 * depth, m the rays that these three are the mean of. U = 4 (sum n sqrt(mean of the channels of y)
 * / sum n)^2; c = max(0, y / U) where M, else 0; tone(c) = log(1 + 20 c) / 3. fill(v, w) is
 * csrec_pyramid_fill of w v and w. The network takes the planes
 *      0 - 2   F = fill(tone(c), n)
 *      3 - 5   M tone(c)
 *      6       M
 *      7       log2(1 + n) / 6
 *      8       M min(2, D 20 / (3 (1 + 20 C))), D the mean over channels of the deviation / U, C
 *              that of c; -0.5 M where no deviation is known
 *      9 - 11  Q = fill(tone(c / (a + 0.04)), n), a: planes 12 - 14
 *     12 - 14  a = fill(A, m), A from 0 to 1; 0.96 everywhere if there is no albedo
 *     15 - 17  fill(N, m), N from -1 to 1; 0 if there is none
 *     18       fill(d / (d + g), m), 1 where nothing is hit, g the geometric mean of d where it is
 *              known and hits; 0 if there is none
 *     19       min(1, log2(1 + m) / 8); 0 if there is none of the three
 * and makes Y. With untone(z) = (exp(3 min(4, max(-0.01, z))) - 1) / 20, w = 1 / (1 + exp(-Y_6)),
 *     radiance = U ((1 - w) untone(F + Y_0..2) + w (a + 0.04) untone(Q + Y_3..5)),
 * and exp(Y_7) is the variance of the error of a channel in s(c), c = radiance / U: s = (c +
 * 0.002)^(1 / 2.2) below 1, 1.0009 + log(c) / 4.4 above. */
#pragma once

#include <math.h>

#include "base/call.h"
#include "base/pool.h"
#include "learn/net/pass.h"

enum {
    CSREC_RENDERED_TAKES = 20,
    CSREC_RENDERED_MAKES = 8,
    CSREC_RENDERED_EXACT = 256, /* rays of a sample without noise */
    CSREC_RENDERED_KNOWN = 255  /* rays of AOVs that are known everywhere */
};

/* The derivative of s(c). */
static inline double csrec_rendered_slope(double c) {
    return c < 1.0 ? pow(c + 0.002, 1.0 / 2.2 - 1.0) / 2.2 : 1.0 / (4.4 * c);
}

/* Left out, as if nothing was measured there: pixels of which a channel of radiance is not finite,
 * or whose rays are below 0 or not a number; AOVs of a pixel of which albedo or normal is not
 * finite or depth not a number. Radiance below 0 counts as 0. */
typedef struct csrec_rendered_samples {
    int64_t height, width;
    const float *radiance; /* [3][height][width], mean of the rays; not read where rays is 0 */
    /* [height][width]; 0: nothing was measured; CSREC_RENDERED_EXACT or more: exact, and kept. Of
     * noisy samples at most CSREC_RENDERED_KNOWN rays are to be told. */
    const float *rays;
    /* [3][height][width] standard deviation of radiance; below 0 or not a number in any channel:
     * unknown. NULL: unknown everywhere. */
    const float *deviation;
    const float *albedo, *normal, *depth; /* [3][h][w], [3][h][w], [h][w]; NULL: there is none */
    const float *aov_rays; /* [height][width]; 0: no AOV is known there. NULL: known everywhere */
    int threads;
} csrec_rendered_samples;

/* The network, and memory for pictures of one size. */
typedef struct csrec_rendered {
    csrec_prior_use use;
    csrec_net *net; /* of the use */
    int64_t height, width, multiple;
    int channel;    /* of the last look: 0 to 2, or -1: all three */
    double unit[3]; /* U of each channel */
    float *planes;  /* [CSREC_RENDERED_TAKES][height][width] */
    float *turned, *out, *work;
    csrec_pool pool;
} csrec_rendered;

/* May be cleared after a failure, too. CSREC_DATA: a model of
 * another kind; CSREC_FILE, CSREC_MEMORY. */
csrec_status csrec_rendered_create(const csrec_prior_from *from, const csrec_context *context,
                                   const csrec_net_options *options, int64_t height, int64_t width,
                                   csrec_rendered *rendered, csrec_error *error);
void csrec_rendered_clear(csrec_rendered *rendered);

/* Makes the planes, of all channels together: channel -1; or of the gray picture that channel 0, 1
 * or 2 is by itself, with its radiance, deviation and albedo three times. Passes then add to that
 * channel only. CSREC_DATA: no pixel is measured. */
csrec_status csrec_rendered_look(csrec_rendered *rendered, const csrec_rendered_samples *samples,
                                 int channel, csrec_error *error);

/* Adds tone(radiance / U), by a pass flipped and turned by `turn`, 0 to 7, to result
 * [3][height][width]; and to squares [3][height][width], if not NULL, the variances exp(Y_7). Of a
 * channel by itself, it adds the mean over its three results. Stopped by the call, it adds F, and
 * nothing to squares. */
csrec_status csrec_rendered_add(csrec_rendered *rendered, int turn, int threads, csrec_call *call,
                                float *result, float *squares, csrec_error *error);

/* From the sums of so many passes of each channel to radiance; and, if not NULL, to the expected
 * squared errors of radiance. Exact samples are kept, with the error 0. */
void csrec_rendered_finish(const csrec_rendered *rendered, const csrec_rendered_samples *samples,
                           int passes, float *result, float *squares);
