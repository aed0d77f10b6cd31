/* picture.h - the state of an adaptive recovery, shared by its passes.
 *
 * Sites are the pixels with the samples first; arrays over sites [sites * channels] start with
 * those over samples. Values are scaled to a range of 255 about each channel's middle: the
 * constants of the recipe are for that range.
 */
#ifndef CSREC_METHOD_ADAPTIVE_PICTURE_H
#define CSREC_METHOD_ADAPTIVE_PICTURE_H

#include "base/error.h"
#include "base/team.h"
#include "method/adaptive/features.h"
#include "method/adaptive/fit.h"

struct csrec_whole; /* of tones.h */

/* What one thread works with. */
typedef struct csrec_adaptive_thread {
    csrec_fit fit;
    csrec_axes *axes;
    int32_t *sum;          /* [sites * channels] of values in units */
    float *cells;          /* [3 cells]: smoothed errors, and scratch for them */
    float *square;         /* [samples] */
    float *line;           /* [3 width] */
    int64_t grids, leaves; /* done, and of all of them */
} csrec_adaptive_thread;

typedef struct csrec_picture {
    const csrec_recover_options *options;
    int32_t height, width, sites, samples, channels;
    double *middle, unit; /* value = middle[c] + unit * scaled value */
    float threshold, sigma;
    int32_t *pixel, *site; /* inverse permutations: pixel of a site, site of a pixel */
    float *y;              /* [samples * channels] */
    float *z;              /* what a pass fits: y - alpha u */
    float *u;              /* [sites * channels] the recovery so far */
    float *bases;          /* [CSREC_BASES * sites] */
    csrec_bases base;
    float *padded;             /* the picture with a border */
    float *weighted, *weights; /* class pass: sums of w f [sites * channels], of w [sites] */
    float *reference;          /* class pass: [cells] errors of its first class */
    csrec_error_map map;
    int threads;
    csrec_adaptive_thread *thread;
    csrec_team team;
    int64_t grids_done, grids;    /* of the stage */
    int64_t grids_fitted, leaves; /* on a device: done, and of all of them */
    int levels;                   /* of the first grid */
    const csrec_measurement *measurement;
    struct csrec_record *record; /* of the passes, or NULL */
    int64_t passes;              /* done */
} csrec_picture;

/* threads: 0 where a device does the passes. */
csrec_status csrec_picture_create(const csrec_measurement *measurement,
                                  const struct csrec_whole *whole,
                                  const csrec_recover_options *options, int threads,
                                  csrec_picture *picture, csrec_error *error);
void csrec_picture_clear(csrec_picture *picture);

/* Bytes that a picture and its threads touch. */
double csrec_picture_bytes(double sites, double n, double channels, bool threshold, int threads);

/* z = y - alpha u at the samples. */
void csrec_picture_residual(csrec_picture *picture, float alpha);

/* The bases after x and y, from u with the samples in place. */
void csrec_picture_features(csrec_picture *picture, int radius, double width);

/* After each pass: the residual of the recovery itself, and the signal as it would be delivered. */
csrec_status csrec_picture_take_down(csrec_picture *picture);

/* u to values, samples put back. */
void csrec_picture_deliver(const csrec_picture *picture, const csrec_measurement *measurement,
                           const float *u, double *signal);

#endif
