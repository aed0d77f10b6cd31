/* SPDX-License-Identifier: BSD-3-Clause */
/* denoise.h - the denoiser of plug-and-play recovery: the learned prior's network, or a method of
 * recovery that is told all entries and their noise. */
#ifndef CSREC_METHOD_PNP_DENOISE_H
#define CSREC_METHOD_PNP_DENOISE_H

#include "base/pool.h"
#include "learn/net/pass.h"
#include "method/products.h"
#include "method/tones.h"

typedef struct csrec_denoiser {
    const csrec_recovery *recovery;
    const csrec_measured *data;
    double tone;            /* 1/255 of white less black, in units of the signal */
    bool groups;            /* Gaussian groups; else the network */
    csrec_prior_pass pass;  /* of the network */
    int64_t channels;       /* of the signal; two for complex values */
    float *values, *result; /* [channels][entries] in tones */
    uint8_t *known;
    csrec_measurement all; /* every entry, for groups */
    int64_t calls;         /* turns go round */
    csrec_pool pool;       /* of all arrays */
} csrec_denoiser;

/* May be cleared after a failure, too. */
csrec_status csrec_denoiser_create(const csrec_recovery *recovery, const csrec_measured *data,
                                   double tone, bool groups, csrec_denoiser *denoiser,
                                   csrec_error *error);
void csrec_denoiser_clear(csrec_denoiser *denoiser);

/* z [data->values] = the signal that x is with noise of this standard deviation, in units of the
 * signal; the mean over `turns` flips and turns of the picture. */
csrec_status csrec_denoise(csrec_denoiser *denoiser, const double *x, double sigma, int turns,
                           csrec_call *call, double *z, csrec_error *error);

/* slope: the mean over all values of d z_i / d x_i, for z of csrec_denoise(x, sigma, turns) just
 * before, by one random probe (Ramani, Blu and Unser 2008, equation 14); exact in expectation, its
 * error falls as 1 / sqrt(values). probe, moved: [data->values] to work in. */
csrec_status csrec_denoiser_slope(csrec_denoiser *denoiser, const double *x, const double *z,
                                  double sigma, int turns, csrec_call *call, double *probe,
                                  double *moved, double *slope, csrec_error *error);

#endif
