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

struct csrec_whole; /* of tones.h */

typedef struct csrec_picture {
    const csrec_recover_options *options;
    int32_t height, width, sites, samples, channels;
    double *middle, unit; /* value = middle[c] + unit * scaled value */
    float threshold, sigma;
    int32_t *pixel, *site; /* inverse permutations: pixel of each site, site of each pixel */
    float *y;              /* [samples * channels] */
    float *u;              /* [sites * channels] the recovery so far */
    float *weighted;       /* [sites * channels] before the last pass; in class passes, scratch */
    float *variance;       /* NULL, or [sites * channels], where an engine sets it: of the mean of
                              the last feature pass's grids */
    csrec_error_map map;
    int threads;
    csrec_team team;
    const char *stage;
    int64_t grids_done, grids;    /* of the stage */
    int64_t grids_fitted, leaves; /* of all stages */
    int levels;                   /* of the first grid */
    const csrec_measurement *measurement;
    struct csrec_record *record; /* of each pass, or NULL */
    int64_t passes;              /* done */
} csrec_picture;

/* threads: the most that the CPU's engine uses. expects: allocates the variance. */
csrec_status csrec_picture_create(const csrec_measurement *measurement,
                                  const struct csrec_whole *whole,
                                  const csrec_recover_options *options, int threads, bool expects,
                                  csrec_picture *picture, csrec_error *error);
void csrec_picture_clear(csrec_picture *picture);

/* Bytes touched by a picture and the CPU's engine. */
double csrec_picture_bytes(double sites, double n, double channels, bool threshold, int threads);

/* CSREC_MEMORY. */
csrec_status csrec_picture_no_memory(const csrec_picture *picture, csrec_error *error);

/* Reports that so many more grids were fitted. Thread-safe. */
void csrec_picture_count(csrec_picture *picture, int grids);

/* Records after each pass: the recovery's own residual, and the signal that would be delivered. */
csrec_status csrec_picture_note(csrec_picture *picture);

/* Converts the variance to squared values. */
void csrec_picture_deliver_variance(const csrec_picture *picture, double *variance);

/* Converts u to values and puts samples back. */
void csrec_picture_deliver(const csrec_picture *picture, const csrec_measurement *measurement,
                           const float *u, double *signal);

#endif
