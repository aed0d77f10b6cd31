/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - a device's interface for rounds of a mixture over the patches of a picture. */
#pragma once

#include "learn/gmm.h"
#include "method/mixture/patches.h"

/* ---- a mixture of Gaussians over all patches of a picture, fitted to its samples. */

/* Called after each round, from 1, with the current u and the squared distance of the patches' mean
 * to the samples, before samples are put back. */
typedef void (*csrec_fit_round)(int round, double energy, void *context);

/* Values in any unit; `tone` is 1/255 of their range. */
typedef struct csrec_fit_picture {
    csrec_patches patches;
    const unsigned char *mask; /* [height * width] */
    const float *y;            /* [height * width * channels] samples in place */
    float *u;                  /* the same shape: the estimate */
    float *variance;           /* NULL, or the same shape: its expected squared errors */
    float noise, tone;         /* variance of a sample's noise; unit */
    bool keep;                 /* samples have no noise and are put back */
    int threads;
    csrec_call *call;
    csrec_fit_round round_done; /* may be NULL */
    void *context;
} csrec_fit_picture;

/* Added to covariances, to those for assignment, and to posterior variances, in units of tone^2. */
#define CSREC_FIT_DIAGONAL 1.0f
#define CSREC_FIT_CHOICE   4.0f
#define CSREC_FIT_EVENNESS 5.0f

/* Bytes that csrec_fit_run uses beside the picture on the CPU, for `count` patches of d entries. */
double csrec_fit_run_bytes(double count, double K, double d, int threads);

/* The estimate of patch i of the picture. */
void csrec_fit_cut(const csrec_fit_picture *picture, int64_t i, float *to);

/* The Gaussians that patches are conditioned under: C [K][d][stride], mean [K][stride], whose other
 * entries stay. */
void csrec_fit_floats(const csrec_mixture *mixture, float tone, int stride, float *C, float *mean);

/* Rounds on the context's device: each patch is assigned to the component most likely for its
 * estimate, conditioned on its samples under it, and patches are averaged by their posterior
 * variance; with `adapt`, mean and covariance of each component then become those of its patches,
 * posterior covariances included (the maximisation step with missing entries: Yu, Sapiro and Mallat
 * 2012, section III). Where the call is stopped, u is that of the last whole round. The result does
 * not depend on the number of threads. */
csrec_status csrec_fit_run(const csrec_context *context, csrec_fit_picture *picture,
                           csrec_mixture *mixture, int rounds, bool adapt, csrec_error *error);

typedef struct csrec_fit_plan {
    int rounds;
    bool adapt; /* moments are asked for */
} csrec_fit_plan;

/* The engine keeps the picture from create to destroy, which accepts NULL. */
typedef struct csrec_fit_engine {
    /* Takes the picture, for mixtures of K components. CSREC_UNSUPPORTED: patches not handled. */
    csrec_status (*create)(const csrec_context *context, csrec_fit_picture *picture, int K,
                           const csrec_fit_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Round `number` from 0: assigns patches under `wide`, conditions them under `mixture`, and
     * averages them into the engine's picture, unless the call is stopped, to which it reports. */
    csrec_status (*run)(void *state, const csrec_mixture *mixture, const csrec_mixture *wide,
                        int number, csrec_error *error);
    /* Of the last round: patches of component k; and unless there are none their mean [d], their
     * covariance about it [d][d] and the sum of V^T V [d][d] (patch.h) where column >= row. By any
     * threads at once, for other components. */
    int64_t (*count)(const void *state, int k);
    csrec_status (*moments)(void *state, int k, double *mean, double *S, double *G,
                            csrec_error *error);
    /* Copies u and, if asked for, variance of the engine's picture to that of create, which the CPU
     * changes itself; and the squared distance of the means to the samples (energy may be NULL). */
    csrec_status (*get)(void *state, double *energy, csrec_error *error);
} csrec_fit_engine;

extern const csrec_fit_engine csrec_fit_cpu, csrec_fit_cuda;
