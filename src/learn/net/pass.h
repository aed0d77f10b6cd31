/* SPDX-License-Identifier: BSD-3-Clause */
/* pass.h - passes of a learned prior's network over a picture, flipped and turned; a network that
 * is fitted further to the samples of one picture. */
#pragma once

#include "base/call.h"
#include "base/pool.h"
#include "learn/net/prior.h"

/* A part of a picture of `width` pixels a line: rows x columns pixels from (top, left), mirrored by
 * bits 0 (left to right) and 1 (top to bottom) of `turn`, then transposed by bit 2. */
typedef struct csrec_turn {
    int turn;
    int64_t width, top, left, rows, columns;
} csrec_turn;

static inline int64_t csrec_turned_rows(const csrec_turn *t) {
    return t->turn & 4 ? t->columns : t->rows;
}

static inline int64_t csrec_turned_columns(const csrec_turn *t) {
    return t->turn & 4 ? t->rows : t->columns;
}

/* The picture's pixel that is shown at row r, column c. */
static inline int64_t csrec_turn_source(const csrec_turn *t, int64_t r, int64_t c) {
    int64_t y = t->turn & 4 ? c : r, x = t->turn & 4 ? r : c;
    if (t->turn & 2) y = t->rows - 1 - y;
    if (t->turn & 1) x = t->columns - 1 - x;
    return (t->top + y) * t->width + t->left + x;
}

/* So many planes of a whole picture, turned, and padded to height x width as csrec_prior_planes
 * pads. */
void csrec_turn_planes(const csrec_turn *turn, int64_t count, const float *planes, int64_t height,
                       int64_t width, int threads, float *turned);

/* CSREC_MEMORY if the pool lacks arrays for a picture of this size. */
csrec_status csrec_pass_room(const csrec_pool *pool, int64_t height, int64_t width,
                             csrec_error *error);

/* The network, and memory for pictures of one size. */
typedef struct csrec_prior_pass {
    csrec_prior_use use;
    csrec_net *net; /* of the use */
    int channels;   /* of the network */
    int64_t height, width, multiple;
    float *turned, *work, *planes, *out;
    uint8_t *known;
    csrec_pool pool; /* of these arrays */
} csrec_prior_pass;

/* prior: channels of csrec_prior_begin. A model for 1 channel serves any, one by one. May be
 * cleared after a failure, too. CSREC_DATA: a model for other channels; CSREC_FILE, CSREC_MEMORY.
 */
csrec_status csrec_prior_pass_create(const csrec_prior_from *from, int64_t channels, int64_t prior,
                                     const csrec_context *context, const csrec_net_options *options,
                                     int64_t height, int64_t width, csrec_prior_pass *pass,
                                     csrec_error *error);
void csrec_prior_pass_clear(csrec_prior_pass *pass);

/* Adds what the network makes of the samples, of pass->channels channels, seen flipped and turned
 * by `turn`, 0 to 7, to result [channels][height][width]; and to squares, if not NULL, the squared
 * errors that it expects. Stopped by the call, it adds the spread samples. */
csrec_status csrec_prior_pass_add(csrec_prior_pass *pass, const csrec_prior_samples *samples,
                                  int turn, csrec_call *call, float *result, float *squares,
                                  csrec_error *error);

/* Seconds of reading the prior of a method, on one thread. */
#define CSREC_PRIOR_LOAD 0.02

enum { CSREC_FIT_SIDE = 256 }; /* of a part, at most, in pixels; a multiple of 32 */

/* What a network is fitted to: samples of the `channels` values that it makes of a pixel, and how
 * parts of the picture become planes. Planes have rows and columns as csrec_prior_padded. */
typedef struct csrec_fit_source {
    const void *of;
    int64_t height, width;
    const uint8_t *known; /* [height][width], not 0: a sample, to be shown or hidden. NULL: all
                             pixels are shown, and all count */
    int64_t channels;
    int64_t takes, makes; /* planes of the network */
    int64_t first;        /* the plane that the first D is added to */
    /* Floats of work for a part of so many rows and columns. */
    int64_t (*room)(const void *of, int64_t rows, int64_t columns);
    /* X: planes of a part of which no sample is known but those shown [rows][columns], as it is
     * turned; target: of each channel, normal values where there are samples; key: of draws. */
    void (*make)(const void *of, const csrec_turn *part, const uint8_t *shown, uint64_t key,
                 float *work, float *X, float *target);
} csrec_fit_source;

/* Of samples for passes of this network. Both stay. */
typedef struct csrec_prior_part {
    const csrec_prior_samples *samples;
    int64_t multiple;
} csrec_prior_part;
csrec_fit_source csrec_prior_source(const csrec_prior_part *part);

typedef struct csrec_fit_options {
    int64_t steps;
    int copies;     /* parts of the picture in a step */
    double rate;    /* of Adam */
    bool falls;     /* the rate, to 0 in the end */
    double seconds; /* at most; 0: no limit */
    uint64_t seed;
    int threads; /* at least 1; the result does not depend on it */
    bool ahead;  /* the parts of a step are made while the one before is computed elsewhere */
} csrec_fit_options;

/* copies 0: as many as pay, 6 on a device, else one; the rate that suits them. */
csrec_fit_options csrec_fit_usual(const csrec_context *context, int64_t steps, int copies,
                                  int threads);

/* CSREC_ARGUMENT: seconds that nothing is fitted in. */
csrec_status csrec_fit_check(int64_t steps, double seconds, csrec_error *error);

/* Each step shows the network a random share of the samples of parts of the picture, flipped and
 * turned, and takes a step of Adam on the mean squared error of the others; only samples are used.
 * The network then has the mean of the weights of the last steps. Stops early, with the weights so
 * far, if the call is stopped or the time is over; *done steps were taken. */
csrec_status csrec_net_fit(csrec_net *net, const csrec_fit_source *source,
                           const csrec_fit_options *options, csrec_call *call, int64_t *done,
                           csrec_error *error);

/* Bytes, and seconds of a step on a thread, of a fit to pictures of so many pixels; copies 0: 1. */
double csrec_fit_bytes(double pixels, double copies);
double csrec_fit_seconds(double pixels, double copies);
