/* SPDX-License-Identifier: BSD-3-Clause */
/* prior.h - the network of a model of kind net, and the planes that it takes and makes.
 *
 * A picture of C channels has samples v_c at known pixels, of noise sigma. In normal values
 *     z_c = (v_c - mean_c) / unit,   unit^2 = mean over channels of the samples' variance + tone^2,
 * the network takes 2 C + 2 planes: for each channel F_c, the samples spread over all pixels by a
 * pyramid of means (Gortler et al. 1996, "pull-push"); for each z_c, 0 where unknown; 1 where known
 * and 0 elsewhere; and sigma / unit. It makes 2 C planes: for each channel D_c, then s_c, so that
 *     v_c = mean_c + unit (F_c + D_c),   variance of its error = unit^2 exp(s_c).
 * Nothing depends on the values' unit or offset but by rounding. */
#pragma once

#include <math.h>

#include "learn/model.h"
#include "net/net.h"

/* The environment variable that names a folder of priors. */
#define CSREC_PRIORS "CSREC_PRIORS"

enum { CSREC_PRIOR_CHANNELS = 16 };

/* Reads the prior that csrec_prior_installed finds. CSREC_FILE: there is none, with the remedy. */
csrec_status csrec_prior_find(int64_t channels, csrec_model **model, csrec_error *error);

/* The folder that the user names; NULL: none. */
const char *csrec_prior_named(void);

int csrec_prior_channels(const csrec_model *model);

/* Checks the arrays layers and weights of a model whose network takes and makes so many planes. */
csrec_status csrec_prior_check_layers(const csrec_model *model, int64_t takes, int64_t makes,
                                      const char *name, csrec_error *error);

/* The network, of so many planes, with the weights of the model, which outlives it. */
csrec_status csrec_prior_create(const csrec_model *model, int64_t planes,
                                const csrec_context *context, const csrec_net_options *options,
                                csrec_net **net, csrec_error *error);

/* Where a network comes from: a model; or, if that is NULL, the installed prior of csrec_prior_find
 * for so many channels, from those that are kept, if any. */
typedef struct csrec_prior_from {
    const csrec_model *model;
    csrec_priors *kept;
} csrec_prior_from;

typedef struct csrec_prior_use {
    const csrec_model *model;
    csrec_net *net;
    csrec_priors *kept;
    csrec_model *own;           /* read for this use, or NULL */
    struct csrec_prior_net *of; /* the kept network, or NULL */
} csrec_prior_use;

/* The model, and its network of so many planes. CSREC_FILE, CSREC_MEMORY. End it even then; a kept
 * network whose weights a fit has changed is not kept on. */
csrec_status csrec_prior_begin(const csrec_prior_from *from, int64_t channels, csrec_prior_use *use,
                               csrec_error *error);
csrec_status csrec_prior_start(csrec_prior_use *use, int64_t planes, const csrec_context *context,
                               const csrec_net_options *options, csrec_error *error);
void csrec_prior_end(csrec_prior_use *use);

/* The expected squared error, of its logarithm s in normal values. Training tells apart what is
 * within 20. */
static inline float csrec_prior_square(double unit, float s) {
    return (float)(unit * unit * exp(fmin(fmax((double)s, -20.0), 20.0)));
}

/* Samples of a picture. */
typedef struct csrec_prior_samples {
    int channels;
    int64_t height, width;
    const float *values;  /* [channels][height][width], anything where unknown */
    const uint8_t *known; /* [height][width], not 0: known; at least one */
    float sigma, tone;    /* tone > 0: 1/255 of white less black, in the values' unit */
    int threads;          /* of csrec_threads, for planes that are large */
} csrec_prior_samples;

/* Normal values of a picture, and its extents with padding: by reflection to multiples that the
 * network can halve. */
typedef struct csrec_prior_frame {
    double mean[CSREC_PRIOR_CHANNELS], unit;
    int64_t height, width; /* padded */
} csrec_prior_frame;

static inline int64_t csrec_prior_padded(int64_t extent, int64_t multiple) {
    return (extent + multiple - 1) / multiple * multiple;
}

/* The entry that padding repeats at place i >= 0: reflection at both ends, the edge itself once. */
static inline int64_t csrec_prior_reflect(int64_t i, int64_t extent) {
    if (extent == 1) return 0;
    i %= 2 * (extent - 1);
    return i < extent ? i : 2 * (extent - 1) - i;
}

/* planes: [2 C + 2][padded height][padded width]. work: csrec_pyramid_work. */
void csrec_prior_planes(const csrec_prior_samples *samples, int64_t multiple, float *work,
                        float *planes, csrec_prior_frame *frame);
