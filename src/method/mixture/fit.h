/* SPDX-License-Identifier: BSD-3-Clause */
/* fit.h - a mixture of Gaussians over all patches of a picture, fitted to its samples. */
#ifndef CSREC_METHOD_MIXTURE_FIT_H
#define CSREC_METHOD_MIXTURE_FIT_H

#include "base/call.h"
#include "device/device.h"
#include "learn/mixture.h"
#include "method/mixture/patches.h"

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

#endif
