/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.h - the engine of method beside: frames one after another, of which each is recovered from
 * its samples, those of the frames around it, and its guides. A picture is a single frame. */
#ifndef CSREC_METHOD_BESIDE_BESIDE_H
#define CSREC_METHOD_BESIDE_BESIDE_H

#include "base/pool.h"
#include "learn/net/beside.h"
#include "learn/net/pass.h"
#include "method/method.h"

/* A frame: its samples, in any order, and guides. */
typedef struct csrec_film_frame {
    csrec_measurement m;
    bool owned;
} csrec_film_frame;

typedef struct csrec_film {
    csrec_recovery r; /* options, context, progress; no signal of its own */
    csrec_beside net;
    int64_t height, width, channels;
    int turns, reach;                            /* passes; frames before and after one */
    csrec_film_frame frame[CSREC_BESIDE_FRAMES]; /* number t at t % (2 reach + 1) */
    int64_t pushed, taken;
    bool ended;
    /* One channel of a window in tones: */
    float *values[CSREC_BESIDE_FRAMES], *guide, *result, *squares;
    uint8_t *known[CSREC_BESIDE_FRAMES];
    int n_guides;
    /* The vote: a frame by itself, and the share of the window in blocks of so many pixels a side.
     */
    bool votes, voted;
    csrec_prior_pass alone;
    float *plane, *sum;
    double *by_itself, *share;
    int64_t block;
    double *left_out, *scale; /* of each channel: four sums, and the scale of expected errors */
    csrec_pool pool;
} csrec_film;

/* r: its measurement tells shape, of a frame, and channels; guides: whether frames have any.
 * CSREC_FILE: no prior, where the settings ask for one; CSREC_MEMORY. Clear it even then. */
csrec_status csrec_film_create(const csrec_recovery *r, bool guides, csrec_film *film,
                               csrec_error *error);
void csrec_film_clear(csrec_film *film);

/* owned: the film frees the measurement, also after a failure. */
void csrec_film_push(csrec_film *film, const csrec_measurement *frame, bool owned);

/* Whether the next frame has all frames around it that it needs. */
bool csrec_film_ready(const csrec_film *film);

/* The next frame: signal [entries * channels], variance as of csrec_recovery. */
csrec_status csrec_film_take(csrec_film *film, double *signal, double *variance, csrec_call *call,
                             csrec_error *error);

/* Frame t, until so many more are pushed as a window has. */
csrec_film_frame *csrec_film_at(csrec_film *film, int64_t t);

/* Frame t by its window and guides. */
csrec_status csrec_film_recover(csrec_film *film, int64_t t, double *signal, double *variance,
                                csrec_call *call, csrec_error *error);

/* The mean of this signal and that of the frame by itself, weighed by what either misses at samples
 * left out; weights, and scales of the expected errors, serve four frames. */
csrec_status csrec_film_vote(csrec_film *film, int64_t t, double *signal, csrec_call *call,
                             csrec_error *error);

/* Share of the window at a pixel, between the middles of blocks. */
double csrec_film_share(const csrec_film *film, int64_t y, int64_t x);

/* Finds the scales of expected errors by a vote: a share of the samples was left out; both ways
 * from the others, and the squared errors that the first expects, or NAN. */
void csrec_film_scale(csrec_film *film, const csrec_measurement *out, double *const ways[2],
                      const double *variance, double share);

/* Scales the squared errors that the network expects; before the first vote they stay. */
void csrec_film_expect(const csrec_film *film, double *variance);

/* Where the frame after the last one pushed is thought to err: squares [entries], of all channels,
 * up to a factor. The network tells; nothing else changes. CSREC_STOPPED, CSREC_MEMORY. */
csrec_status csrec_film_next(csrec_film *film, double *squares, csrec_call *call,
                             csrec_error *error);

/* What to tell of a result that has frames, or channels of them, of which nothing is known in the
 * frames around them either, and which are NAN therefore; or NULL. */
const char *csrec_film_remark(int64_t values, const double *signal);

/* Guides of channel c of a frame. At most `most`, by what they tell of its samples in least
 * squares, written to guide [][entries], with gaps filled. work: csrec_pyramid_work. Returns their
 * number; -1: out of memory. */
int csrec_film_guides(const csrec_measurement *frame, int64_t c, int most, int threads, float *work,
                      float *guide);

#endif
