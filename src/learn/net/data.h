/* SPDX-License-Identifier: BSD-3-Clause */
/* data.h - what a network is trained on: for each step a batch of parts of pictures, of
 * which it is shown samples.
 *
 * Everything is a function of the seed and the numbers of step and picture, whichever thread makes
 * it and when. */
#pragma once

#include "base/pool.h"
#include "learn/net/prior.h"

typedef struct csrec_net_data csrec_net_data;

typedef struct csrec_net_batch {
    float *X;      /* [batch][2 C + 2][side][side] planes, as csrec_prior_planes makes them */
    float *target; /* [batch][C][side][side] the whole pictures, in normal values */
    float *weight; /* [batch][side][side] of a pixel's error: 0 or 1 */
    double *unit;  /* [batch] of the normal values */
    csrec_pool pool;
} csrec_net_batch;

typedef struct csrec_net_data_options {
    int64_t count; /* of pictures, at least 1 */
    const csrec_net_picture *pictures;
    int channels, side, threads;
    int64_t batch;
    uint64_t seed;
} csrec_net_data_options;

csrec_status csrec_net_data_create(const csrec_net_data_options *options, csrec_net_data **data,
                                   csrec_error *error);
void csrec_net_data_destroy(csrec_net_data *data);

csrec_status csrec_net_batch_create(const csrec_net_data *data, csrec_net_batch *batch,
                                    csrec_error *error);
void csrec_net_batch_clear(csrec_net_batch *batch);

/* The batch of a step. Steps are made in order, from 0 on, by one caller at a time; call: NULL, or
 * if stopped, the batch is incomplete. */
void csrec_net_data_make(csrec_net_data *data, int64_t step, csrec_net_batch *batch,
                         csrec_call *call);

/* Before the first step: a batch of other parts, which may overlap those of steps; sampled
 * uniformly at random, picture i at 10 % if it is even, else at 25 %. */
void csrec_net_data_validation(csrec_net_data *data, csrec_net_batch *batch);

/* ------------------------------------------------------------------ options of csrec_net_learn */

/* Defaults in place of zeros. */
void csrec_net_learn_complete(csrec_net_learn_options *options);

/* Of complete options. */
csrec_status csrec_net_learn_check(const csrec_net_learn_options *options, csrec_error *error);

csrec_status csrec_net_pictures_check(int64_t count, const csrec_net_picture *pictures,
                                      int64_t channels, csrec_error *error);
