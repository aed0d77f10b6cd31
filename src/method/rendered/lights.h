/* SPDX-License-Identifier: BSD-3-Clause */
/* lights.h - a film of renderings: where the surfaces of a frame are in the frames around it, and
 * the rays of these that tell of its light. */
#pragma once

#include "method/rendered/rendered.h"

enum { CSREC_LIGHTS_REACH = 3, CSREC_LIGHTS_WINDOW = 2 * CSREC_LIGHTS_REACH + 1 };

/* What is known of a frame's surfaces, or not: 0 planes, or NULL. */
typedef struct csrec_surfaces {
    const float *albedo[CSREC_GUIDES_MOST], *normal[3], *depth, *motion[2];
    int64_t albedos, normals, motions;
} csrec_surfaces;

/* Samples of a frame, and the pixels of the frame that is recovered on which they are seen. */
typedef struct csrec_seen {
    int64_t n;
    int64_t *at, *sample;
    double *rays; /* as many as they are worth */
} csrec_seen;

typedef struct csrec_lights {
    csrec_rendering rendering;
    csrec_film *film;
    csrec_surfaces surfaces[CSREC_LIGHTS_WINDOW];
    /* Motion of each frame to the one before it [2][entries], down and right: */
    float *found[CSREC_LIGHTS_WINDOW];
    int64_t found_of[CSREC_LIGHTS_WINDOW];
    float *picture[2], *flow_work; /* of frames of even and of odd numbers */
    int64_t picture_of[2];
    double depth, light; /* units of these */
    float *place[2];     /* [entries] of a frame's pixels in another frame */
    int64_t *sample;     /* [entries] 1 + that of a frame which is there; 0: none */
    csrec_seen seen;
    /* Frames by themselves [channels + 1][entries]: light, and its variance, of all channels: */
    float *alone[CSREC_LIGHTS_WINDOW];
    int64_t alone_of[CSREC_LIGHTS_WINDOW];
    double *differs, *expected, *others; /* [entries] squares of a frame and another, in windows */
    double *line;
    double gain[CSREC_LIGHTS_WINDOW]; /* what the frame is brighter than each of the others */
    csrec_measurement all;            /* the frame's rays and those that are carried to it */
    double *total;                    /* [entries] rays */
} csrec_lights;

static inline int64_t csrec_lights_slot(const csrec_lights *l, int64_t t) {
    return csrec_film_slot(l->film, t);
}

/* Takes memory for motion from the film's pool. */
void csrec_motions_create(csrec_lights *lights);

/* Finds the motion of frames first + 1 to last, each to the one before, where it is not told; by
 * what they are by themselves if surfaces are not known everywhere. */
void csrec_motions_find(csrec_lights *lights, int64_t first, int64_t last);

/* Sets place: of the pixels of frame `late` in frame `early` before it; NAN: not known. */
void csrec_motions_follow(csrec_lights *lights, int64_t late, int64_t early);
