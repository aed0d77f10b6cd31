/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian.h - recovery of pictures and volumes by Gaussians of groups of similar patches
 * (docs/gaussian.md). */
#ifndef CSREC_METHOD_GAUSSIAN_GAUSSIAN_H
#define CSREC_METHOD_GAUSSIAN_GAUSSIAN_H

#include "base/error.h"
#include "base/call.h"
#include "base/pool.h"
#include "method/gaussian/whiten.h"
#include "method/need.h"

/* One round: every group of patches matched on the estimate, fitted, conditioned, aggregated.
 * Constants are for values with a range of 255. */
typedef struct csrec_gaussian_round {
    int patch, step;   /* edge of a patch, distance of reference patches, in pixels */
    int group;         /* patches of a group, K */
    int radius;        /* of the window of the matches, in pixels */
    float diagonal;    /* added to a group's covariance */
    float trust;       /* the same, times the mean posterior variance of the round before */
    float noise;       /* least variance of a sample's noise */
    int em;            /* steps of expectation maximisation */
    float em_diagonal; /* added to the covariance after each */
    float evenness;    /* aggregation weights are 1 / (posterior variance + evenness) */
    int margin;        /* patches are compared with as many pixels around them */
    int every;         /* posterior covariances are averaged over every so many patches; 0: all */
    bool again;        /* reuse candidates of the round before, which had equal patches and steps */
    float floor;       /* added to the channels' variances where they are pooled */
    /* Along the first axis of a volume; 0: as along the others. */
    int deep, deep_step, deep_radius;
} csrec_gaussian_round;

/* What the rounds improve: pictures [height * width], volumes [depth * height * width], with a
 * range of 255. */
typedef struct csrec_gaussian_picture {
    int depth, height, width, channels; /* depth 1: a picture */
    const unsigned char *mask;          /* 1 at samples */
    float **y;                          /* [channels] samples in place, anything elsewhere */
    float **u;        /* [channels] the estimate; samples in place where sigma = 0 */
    float *guide;     /* [guides] images for matching patches */
    float **variance; /* [channels] posterior, of the round before */
    float sigma;
    bool pooled; /* the channels of a group share one covariance of its pixels */
    int guides;  /* 0: one */
} csrec_gaussian_picture;

/* The best candidates of every reference patch, kept from one round for the next. */
typedef struct csrec_gaussian_matches {
    int rows, columns, radius; /* references, rows of all slices; window */
    int *count;                /* [rows * columns] */
    uint16_t *shift;           /* [rows * columns][CSREC_GAUSSIAN_KEPT] places in the window */
    csrec_pool pool;           /* of both */
} csrec_gaussian_matches;

enum { CSREC_GAUSSIAN_KEPT = 128, CSREC_GAUSSIAN_RADIUS = 127 };

/* A round's reference patches by their corners: slices, rows and columns, each `step` apart, moved
 * by less than that at random, and both ends. The sizes fit into the picture. */
typedef struct csrec_gaussian_lines {
    int patch[3], step[3], count[3];
    const int *at[3]; /* [count] */
    int deep;         /* of the search window: +-deep slices */
} csrec_gaussian_lines;

/* extent: depth, height, width; at: room for their sum. */
csrec_gaussian_lines csrec_gaussian_lay(const int extent[3], const csrec_gaussian_round *round,
                                        uint64_t seed, int *at);

void csrec_gaussian_matches_clear(csrec_gaussian_matches *matches);

/* Replaces u and variance by those of the next round, unless the call is stopped; reports to the
 * call round `number`, from 0, of `count`. `seed` shifts the reference patches. matches: zeroed
 * before the first round; a round `again` needs the seed of the one before. The result does not
 * depend on the number of threads. */
csrec_status csrec_gaussian_run(csrec_gaussian_picture *picture, const csrec_gaussian_round *round,
                                uint64_t seed, int threads, csrec_gaussian_matches *matches,
                                csrec_call *call, int number, int count);

/* Bytes that such a round uses besides the picture. */
double csrec_gaussian_round_bytes(const csrec_gaussian_picture *picture,
                                  const csrec_gaussian_round *round, int threads);

/* The rounds for a picture or volume, on the method's own start or a given one. The margin with
 * which sparse patches are matched. */
const csrec_gaussian_round *csrec_gaussian_rounds(bool volume, bool pooled, bool quick, bool given,
                                                  int *count);
int csrec_gaussian_margin(double n, double entries, bool volume);

/* Memory and time of a recovery. */
csrec_need csrec_gaussian_need(const csrec_task *task);

static inline int64_t csrec_gaussian_entries(const csrec_gaussian_picture *picture) {
    return (int64_t)picture->depth * picture->height * picture->width;
}

#define CSREC_STAGE_GROUPS "Gaussian groups"

struct csrec_recovery;

/* The rounds of the method on a given start, recovery->signal, in place of its own; for methods
 * that have a better one. The options are those of the method. */
csrec_status csrec_gaussian_refine(const struct csrec_recovery *recovery, csrec_error *error);

/* Memory and time of that. */
csrec_need csrec_gaussian_refine_need(const csrec_task *task);

#endif
