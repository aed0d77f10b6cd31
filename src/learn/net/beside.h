/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.h - the network of a model of kind beside: a picture from its samples, those of the frames
 * before and after it, and guides.
 *
 * Samples of all frames have the normal values z = (v - mean) / unit, unit^2 = their variance +
 * tone^2; guides have normal values of their own, (g - mean) / standard deviation, at most 8 in
 * size. For T frames, of which the middle one is recovered, and G guides, the network takes 3 T + 2
 * + G planes: the samples of each frame as csrec_pyramid_fill spreads them; z of each frame, 0
 * where unknown; 1 where known, 0 elsewhere; sigma / unit; the guides; and F. F is csrec_guided_fit
 * of the middle frame, and what csrec_pyramid_fill makes of its residual; without guides the spread
 * samples of that frame. What there is not is 0. It makes the planes D and s: v = mean + unit (F +
 * D), and the variance of its error is unit^2 exp(s). */
#pragma once

#include "base/call.h"
#include "base/pool.h"
#include "learn/net/guided.h"
#include "learn/net/pass.h"

enum { CSREC_BESIDE_FRAMES = 15 }; /* of a network, at most */

/* A frame and what is known beside it. Frames that there are not have known NULL. */
typedef struct csrec_beside_window {
    int frames;                                /* odd */
    const float *values[CSREC_BESIDE_FRAMES];  /* [height][width], anything where unknown */
    const uint8_t *known[CSREC_BESIDE_FRAMES]; /* [height][width], not 0: known */
    int guides;                                /* that there are, at most CSREC_GUIDED_MOST */
    const float *guide;                        /* [guides][height][width], finite */
    float sigma, tone;
    int threads;
} csrec_beside_window;

/* The network, or none; memory for pictures of one size. */
typedef struct csrec_beside {
    csrec_prior_use use;
    csrec_net *net; /* of the use; NULL: F alone */
    int frames, guides;
    int64_t height, width, multiple;
    int n_planes;
    float *planes; /* [n_planes][height][width], the last is F */
    float *turned, *out, *work;
    double mean, unit; /* of the planes */
    csrec_pool pool;
} csrec_beside;

/* network false: F alone, of one frame and so many guides. May be
 * cleared after a failure, too. CSREC_FILE, CSREC_MEMORY. */
csrec_status csrec_beside_create(const csrec_prior_from *from, bool network, int guides,
                                 const csrec_context *context, const csrec_net_options *options,
                                 int64_t height, int64_t width, csrec_beside *beside,
                                 csrec_error *error);
void csrec_beside_clear(csrec_beside *beside);

/* Makes the planes of a window, which has as many frames as the network, and at most its guides. */
void csrec_beside_look(csrec_beside *beside, const csrec_beside_window *window);

/* Adds F + D [height][width] in values, by a pass flipped and turned by `turn`, 0 to 7, to result;
 * and to squares, if not NULL, the squared errors that it expects. Without a network, or stopped by
 * the call, it adds F, and nothing to squares. */
csrec_status csrec_beside_add(csrec_beside *beside, int turn, int threads, csrec_call *call,
                              float *result, float *squares, csrec_error *error);

/* What csrec_net_fit fits the network to: samples of the window's middle frame, `known`, are shown
 * or hidden; the other frames and the guides stay as they are. All of it stays. */
typedef struct csrec_beside_part {
    const csrec_beside *beside;
    const csrec_beside_window *window;
} csrec_beside_part;
csrec_fit_source csrec_beside_source(const csrec_beside_part *part, const uint8_t *known);
