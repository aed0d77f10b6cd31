/* SPDX-License-Identifier: BSD-3-Clause */
/* pnp.h - plug-and-play recovery: what its ways share. Two ways:
 *
 * Splitting (message.c): steps towards the measurements in turn with a denoiser, for any A.
 * Message passing (message.c): the same two steps, corrected so that what is denoised is the signal
 * with white noise of known level; for A whose rows are orthogonal and mix all entries. */
#pragma once

#include "learn/net/pass.h"
#include "method/products.h"

/* ---- the denoiser of plug-and-play recovery: the learned prior's network, or a method of
 * recovery that is told all entries and their noise. */

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
    double seconds;        /* left for fits; 0: no limit */
    csrec_pool pool;       /* of all arrays */
} csrec_denoiser;

/* May be cleared after a failure, too. */
csrec_status csrec_denoiser_create(const csrec_recovery *recovery, const csrec_measured *data,
                                   double tone, bool groups, csrec_denoiser *denoiser,
                                   csrec_error *error);
void csrec_denoiser_clear(csrec_denoiser *denoiser);

/* d->values = x, in tones. */
void csrec_denoiser_take(csrec_denoiser *denoiser, const double *x);

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

/* What adapt.c shows the network, and asks it for: values of the denoiser, with noise added. */
typedef struct csrec_denoise_part {
    const csrec_denoiser *d;
    double sigma; /* in tones: of the values' white noise, or of the most that is added to clean
                     ones */
    bool clean;
} csrec_denoise_part;
csrec_fit_source csrec_denoise_source(const csrec_denoise_part *part);

/* Fits the network further to a picture that is not known without noise (adapt.c). x
 * [data->values], with white noise of standard deviation sigma; or `clean`: an estimate, that noise
 * up to sigma is added to. *done receives the steps; d->seconds falls by the time, and is never 0
 * then. */
csrec_status csrec_denoiser_fit(csrec_denoiser *denoiser, const double *x, double sigma, bool clean,
                                int64_t steps, csrec_call *call, int64_t *done, csrec_error *error);

/* Values of the parameter `splitting`. */
enum { CSREC_PNP_AUTO, CSREC_PNP_MESSAGES, CSREC_PNP_QUADRATIC, CSREC_PNP_ADMM };

typedef struct csrec_pnp {
    const csrec_recovery *recovery;
    csrec_measured data;
    csrec_denoiser denoiser;
    csrec_call call;
    csrec_pool pool;      /* of all arrays */
    double sigma;         /* of the noise on y */
    double tone;          /* 1/255 of white less black, in units of the signal */
    double gain;          /* of the mean's step of message passing */
    double *x, *z, *w;    /* [values] the signal, what the denoiser makes of it, and a spare */
    double *mean;         /* [values] of the last z */
    double *back, *along; /* [values] A^T of something, and a direction */
    double *step;         /* [values] what a conjugate gradient's direction becomes */
    double *r, *response; /* [y_values] of the data step; [entries] of its preconditioner */
} csrec_pnp;

/* A parameter of the method, as set or by default. */
double csrec_pnp_setting(const csrec_pnp *p, const char *name);

/* The denoiser, and its noise in tones. After p->tone is known. */
csrec_status csrec_pnp_open(csrec_pnp *p, csrec_error *error);

/* The fits of the network that are asked for, and one of them. */
int64_t csrec_pnp_fits(const csrec_pnp *p);
csrec_status csrec_pnp_adapt(csrec_pnp *p, const double *x, double sigma, bool clean,
                             csrec_error *error);

/* p->mean: z with half the weight, the one before with a quarter, and so on. Each denoising sees
 * the picture turned in another way, so their errors differ, and the mean's are smaller. */
void csrec_pnp_keep(csrec_pnp *p);

/* p->x, nearer to the measurements than z: the least ||x - z|| + share-weighted misfit,
 *     x = z + A^T (A A^T + share I)^-1 (y - A z). */
csrec_status csrec_pnp_fit(csrec_pnp *p, const double *z, double share);

/* p->x, the nearest signal to z with ||A x - y|| <= eps: the discrepancy principle. */
csrec_status csrec_pnp_meet(csrec_pnp *p, const double *z);

/* p->gain = 1 / share, of constant signals in the rows' space, or 0 if that has nothing of them;
 * p->x = the mean of the signal, as y tells it, everywhere. For A A^T = c I. */
csrec_status csrec_pnp_centre(csrec_pnp *p);

/* p->w = x + n/m A^T (y - A x) / c, with the factor p->gain in place of n/m for the mean; *level =
 * the root of the mean square by which it is off, as the misfit says. For A A^T = c I. */
csrec_status csrec_pnp_decorrelate(csrec_pnp *p, double *level);

/* Whether A A^T = c I, and the rows mix all entries: signals of low and high frequencies and single
 * entries have each about the share m/n of their energy in the rows' space, and the part of a
 * single entry in it reaches everywhere. Blocks do not: errors of each have their own level. */
csrec_status csrec_pnp_mixes(csrec_pnp *p, bool *mixes);

/* p->x: the result. *done receives the denoisings. *lost: the level grew, so that rows do not mix
 * what they should, and p->x is no result. */
csrec_status csrec_pnp_messages(csrec_pnp *p, int64_t *done, bool *lost, csrec_error *error);
csrec_status csrec_pnp_split(csrec_pnp *p, bool admm, int64_t *done, csrec_error *error);
