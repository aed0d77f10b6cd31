/* SPDX-License-Identifier: BSD-3-Clause */
/* rendered.h - the engine of method rendered: pictures from rays, with albedo, normal and depth,
 * each by itself or with the rays of the frames around it. */
#pragma once

#include "learn/net/rendered.h"
#include "measurement/guides.h"
#include "method/beside/beside.h"

/* The network or the filter, and memory for pictures of one size. */
typedef struct csrec_rendering {
    const csrec_recovery *r; /* settings, options, context, report */
    const csrec_measurement *m, *own;
    bool network, sequence; /* sequence: progress is that of frames */
    csrec_rendered net;
    float *work;                    /* without it */
    csrec_rendered_samples samples; /* of three channels, or of one in the place of the first */
    int64_t height, width, entries;
    float *radiance, *deviation, *albedo; /* [3][entries] */
    float *rays, *aov_rays;
    float *result, *squares; /* [3][entries] */
    csrec_pool pool;
} csrec_rendering;

/* Value of one of the method's settings. */
int csrec_rendering_setting(const csrec_recovery *recovery, const char *name);

/* r must last. Clear it even after a failure. CSREC_FILE: no prior, where the settings ask for one;
 * CSREC_MEMORY. */
csrec_status csrec_rendering_create(const csrec_recovery *r, int64_t height, int64_t width,
                                    csrec_rendering *rendering, csrec_error *error);
void csrec_rendering_clear(csrec_rendering *rendering);

/* signal [entries * channels]; variance NULL or as signal. own: m, or those samples of it whose
 * rays the AOVs are of, if these are known at samples alone. */
csrec_status csrec_rendering_run(csrec_rendering *rendering, const csrec_measurement *m,
                                 const csrec_measurement *own, double *signal, double *variance,
                                 csrec_call *call, csrec_error *error);

/* Rays of a sample: those that are told, or that its noise tells of. */
double csrec_rendering_rays(const csrec_measurement *m, int64_t i);

/* The first `most` planes of a kind, plane [most]; returns how many there are. */
int64_t csrec_rendering_planes(const csrec_measurement *m, int64_t entries, const char *kind,
                               int64_t most, const float **plane);

/* Frames of a sequence by this method: a film whose frames have the rays of those around them. */
csrec_status csrec_rendered_film(const csrec_recovery *r, bool guides, csrec_film *film,
                                 csrec_error *error);
