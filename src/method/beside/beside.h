/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.h - the engine of method beside: frames one after another, of which each is recovered from
 * its samples, those of the frames around it, and its guides. A picture is a single frame. */
#pragma once

#include "base/pool.h"
#include "learn/net/beside.h"
#include "learn/net/pass.h"
#include "method/beside/blocks.h"
#include "method/method.h"

/* Blocks of a frame in which nothing was measured: what hides it, as clouds, or was never seen. */
typedef struct csrec_holes {
    csrec_blocks blocks;
    double *empty; /* 1: it is */
    int64_t n;     /* of these */
} csrec_holes;

/* Takes memory for those of any frame of this size. */
void csrec_holes_create(int64_t height, int64_t width, csrec_holes *holes, csrec_pool *pool);
void csrec_holes_find(const csrec_measurement *frame, csrec_holes *holes);

/* From 0, where samples are around, to 1. */
double csrec_holes_at(const csrec_holes *holes, int64_t y, int64_t x);

/* Whether a pixel is in one of the holes, moved by half of the frame. */
bool csrec_holes_moved(const csrec_holes *holes, int64_t y, int64_t x);

/* A frame: its samples, in any order, and guides. */
typedef struct csrec_film_frame {
    csrec_measurement m;
    bool owned;
    bool alone, followed; /* what it is by itself is kept; and tells of motion */
    bool carried;         /* to the frame that is followed */
    bool foreign;         /* it shows another scene than that frame */
} csrec_film_frame;

/* Motion of the frames of a window to one of them, on planes of half the extents. */
typedef struct csrec_motion {
    int64_t height, width, of;         /* of: that frame; -1: none */
    double middle, unit;               /* gray = (mean of channels - middle) / unit */
    float *flow[CSREC_BESIDE_FRAMES];  /* [2][height][width] */
    float *aside;                      /* another one, of the frame that is carried now */
    double *gain[CSREC_BESIDE_FRAMES]; /* [channels][2]: a value v there is a v + b in that frame */
    float *gray, *lit, *work;          /* of that frame; of another, as bright as that one */
    csrec_blocks blocks;
    double *sums;    /* [blocks][2]: squares that are missed without motion, with it */
    double *gate[2]; /* [blocks]: by the samples of either frame */
    int64_t *sample; /* at an entry, from 1 on */
    float *values, *near;
    uint8_t *known;
} csrec_motion;

/* The next frame of a film of another method, as of csrec_film_take. */
struct csrec_film;
typedef csrec_status (*csrec_film_frame_fn)(struct csrec_film *film, int64_t t, double *signal,
                                            double *variance, csrec_call *call, csrec_error *error);

enum { CSREC_FILM_EVERY = 2 }; /* frames that a vote serves */

typedef struct csrec_film {
    csrec_recovery r; /* options, context, progress; no signal of its own */
    csrec_beside net;
    int64_t height, width, channels;
    int turns, reach;                            /* passes; frames before and after one */
    csrec_film_frame frame[CSREC_BESIDE_FRAMES]; /* number t at t % (2 reach + 1) */
    int64_t pushed, taken;
    bool ended;
    double *weight; /* [channels]: of values of a window, where channels are summed */
    /* One channel of a window in tones: */
    float *values[CSREC_BESIDE_FRAMES], *guide, *result, *squares;
    uint8_t *known[CSREC_BESIDE_FRAMES];
    int n_guides;
    /* Frames by themselves [entries * channels], of the window where frames move: */
    bool votes, moves;
    csrec_prior_pass prior;
    float *plane, *sum;
    double *by_itself[CSREC_BESIDE_FRAMES];
    /* The vote: the share of the window in blocks. */
    bool voted;
    double *share, far; /* far: in holes */
    bool unguided;      /* of a sequence: guides err more than none */
    bool changes;       /* a cut or light is next to the frame that is followed */
    bool lonely;        /* no other frame shows its scene */
    bool hides;         /* other frames have their holes elsewhere, too, now */
    int fills;          /* the kind of csrec_holes_fill, kept for some frames */
    csrec_blocks blocks;
    csrec_holes holes[CSREC_BESIDE_FRAMES];
    csrec_motion motion;
    /* The fit: */
    int64_t steps, fitted;    /* for each channel of a frame; taken so far */
    double seconds, spent;    /* at most for all frames, 0: no limit; so far */
    bool fits;                /* now */
    uint8_t *fit_to;          /* samples of a frame */
    double *left_out, *scale; /* of each channel: four sums, the scale of expected errors, */
    double *beyond;           /* and of intervals, if there was a vote; else 0 */
    /* Frames by another method; NULL: by this one. */
    csrec_film_frame_fn other;
    void (*other_clear)(void *own);
    void *own;
    csrec_pool pool;
} csrec_film;

/* Where what is kept of frame t is. */
static inline int64_t csrec_film_slot(const csrec_film *film, int64_t t) {
    return t % (2 * film->reach + 1);
}

/* r: its measurement tells shape, of a frame, and channels; guides: whether frames have any.
 * CSREC_FILE: no prior, where the settings ask for one; CSREC_MEMORY. Clear it even then. */
csrec_status csrec_film_create(const csrec_recovery *r, bool guides, csrec_film *film,
                               csrec_error *error);
void csrec_film_clear(csrec_film *film);

/* All frames of a recovery, or its picture. `film` is that of the method's row. */
typedef csrec_status (*csrec_film_fn)(const csrec_recovery *r, bool guides, csrec_film *film,
                                      csrec_error *error);
csrec_status csrec_film_run(const csrec_recovery *r, csrec_film_fn film, csrec_error *error);

/* owned: the film frees the measurement, also after a failure. */
void csrec_film_push(csrec_film *film, const csrec_measurement *frame, bool owned);

/* Whether the next frame has all frames around it that it needs. */
bool csrec_film_ready(const csrec_film *film);

/* The next frame: signal [entries * channels], variance as of csrec_recovery. */
csrec_status csrec_film_take(csrec_film *film, double *signal, double *variance, csrec_call *call,
                             csrec_error *error);

/* Frame t, until so many more are pushed as a window has. */
csrec_film_frame *csrec_film_at(csrec_film *film, int64_t t);

/* Whether frame t has none or so few samples, next to those around it, that by itself it tells
 * neither of motion nor of brightness. */
bool csrec_film_thin(csrec_film *film, int64_t t);

/* Least and most sample of a channel in the window of frame t, as they are, or as frame t would see
 * them; NAN: it has none. */
void csrec_film_range(csrec_film *film, int64_t t, int64_t c, bool seen, double range[2]);

/* The weights of channels, by the samples of the window of frame t. */
void csrec_film_weigh(csrec_film *film, int64_t t);

/* Frame t by its window and guides. */
csrec_status csrec_film_recover(csrec_film *film, int64_t t, double *signal, double *variance,
                                csrec_call *call, csrec_error *error);

/* By what is missed at samples left out: whether guides serve, how the frame by itself is weighed,
 * and the scales of expected errors; for CSREC_FILM_EVERY frames, or until something changes. */
csrec_status csrec_film_decide(csrec_film *film, int64_t t, csrec_call *call, csrec_error *error);

/* The mean of this signal and that of the frame by itself, so weighed. */
csrec_status csrec_film_vote(csrec_film *film, int64_t t, double *signal, csrec_call *call,
                             csrec_error *error);

/* A measurement of a frame by itself. */
csrec_status csrec_film_itself(csrec_film *film, const csrec_measurement *m, csrec_call *call,
                               double *signal, csrec_error *error);

/* The same of frame t, unless it is kept; and where it is kept. */
csrec_status csrec_film_alone(csrec_film *film, int64_t t, csrec_call *call, csrec_error *error);
double *csrec_film_kept(csrec_film *film, int64_t t);

/* Takes memory for motion from the pool of the film. */
void csrec_motion_create(csrec_film *film);

/* Finds the motion from the frames around frame t to it. */
csrec_status csrec_film_follow(csrec_film *film, int64_t t, csrec_call *call, csrec_error *error);

/* A plane of frame t, which was followed, as it is thought to be in the next: the larger of what
 * stays and what goes on as from the frame before. work: as the plane. */
void csrec_film_ahead(const csrec_film *film, int64_t t, double *plane, double *work);

/* Motion at a pixel of a frame of this flow, in its pixels. */
void csrec_film_flow(const csrec_film *film, const float *flow, int64_t y, int64_t x,
                     float move[2]);

/* Channel c of C of a signal between pixels. */
double csrec_film_between(const csrec_film *film, const double *signal, int64_t C, int64_t c,
                          double y, double x);

/* A value of channel c of frame k, as it is in the frame that was followed. */
double csrec_film_seen(const csrec_film *film, int64_t k, int64_t c, double value);

/* The samples of channel c of frame k, in tones (y - middle) / unit, carried to where they are seen
 * in the frame that was followed, as bright as there. Returns the number of those that it has. */
int64_t csrec_film_samples(csrec_film *film, int64_t k, int64_t c, double middle, double unit,
                           float *values, uint8_t *known);

/* Those of frame t, and elsewhere those that are carried to it; arrays from the pool. */
csrec_status csrec_film_gather(csrec_film *film, int64_t t, csrec_measurement *all,
                               csrec_pool *pool, csrec_error *error);

/* Whether the vote leaves out samples of frame t at this entry. */
bool csrec_film_left_out(const csrec_film *film, int64_t t, int64_t entry);

/* Steps that fit the network to channel c of frame t, of which this is the window. */
csrec_status csrec_film_fit(csrec_film *film, int64_t t, int64_t c, const csrec_beside_window *w,
                            csrec_call *call, csrec_error *error);

/* Steps for each frame of a sequence, or for a picture, of so many of the setting. */
int64_t csrec_film_steps(double steps, bool sequence);

/* Share of the window at a pixel that is not in a hole, between the middles of blocks. */
double csrec_film_share(const csrec_film *film, int64_t y, int64_t x);

/* Finds the scales of expected errors, or intervals, by a vote: a share of the samples was left
 * out; both ways from the others, and the squared errors that the first expects, or NAN. */
csrec_status csrec_film_scale(csrec_film *film, const csrec_measurement *out, double *const ways[2],
                              const double *variance, double share);

/* Scales the squared errors that the network expects; before the first vote they stay, and
 * intervals are INFINITY. */
void csrec_film_expect(const csrec_film *film, double *variance);

/* Where the frame after the last one pushed is thought to err: squares [entries], of all channels,
 * up to a factor. The network tells; nothing else changes. CSREC_STOPPED, CSREC_MEMORY. */
csrec_status csrec_film_next(csrec_film *film, double *squares, csrec_call *call,
                             csrec_error *error);

/* What to tell of a result that has frames, or channels of them, of which nothing is known in the
 * frames around them either, and which are NAN therefore; or NULL. */
const char *csrec_film_remark(int64_t values, const double *signal);

/* What this method takes of a frame: as its sigma, where samples have rays or deviations, the root
 * of their mean square; complete channels as guides of those that have gaps. Guides must be owned.
 * Nothing of a film of another method. CSREC_MEMORY: the frame has no guides. */
csrec_status csrec_film_prepare(const csrec_film *film, csrec_measurement *frame,
                                csrec_error *error);

/* The frames before and after t that there are: from window[0] to before window[1]. */
void csrec_film_window(const csrec_film *film, int64_t t, int64_t window[2]);

/* Guides of channel c of a frame. At most `most`, by what they tell of its samples in least
 * squares, written to guide [][entries], with gaps filled. work: csrec_pyramid_work. Returns their
 * number; -1: out of memory. */
int csrec_film_guides(const csrec_measurement *frame, int64_t c, int most, int threads, float *work,
                      float *guide);
