/* SPDX-License-Identifier: BSD-3-Clause */
/* uncertainty.h - recoveries without some samples, and what their errors tell. */
#pragma once

#include "base/pool.h"
#include "measurement/cut.h"
#include "recover/recover.h"

/* A recovery to compare with: of a fold's window, or of the whole. */
typedef struct csrec_glance {
    csrec_measurement m; /* the shown samples */
    int64_t values;      /* entries * channels */
    double *signal, *variance;
    double nearer; /* what squares are at most where there is no sample, by those left out */
    double farthest, left; /* of these the largest distance, and their sum */
    double beyond, raised; /* entries without a sample that are farther, and the sum of all their
                              distances by the mean of those, at least 1 */
    bool whole;            /* of all samples */
    bool told;             /* the variance is the method's own */
    uint8_t *state;        /* [entries] of the following */
    double *noise;         /* [entries]: mean square of a shown sample's noise, else 0 */
    double *far; /* [entries]: square of the distance of the nearest sample shown; 1: told */
    csrec_pool pool;
} csrec_glance;

/* KEPT: shown, and without noise. */
enum { CSREC_UNKNOWN, CSREC_KEPT, CSREC_SHOWN, CSREC_LEFT_OUT };

typedef struct csrec_estimator {
    const csrec_measurement *m;
    const double *signal;
    csrec_recover_options options; /* of glances */
    csrec_setting settings[2 * CSREC_PARAMETERS_MOST];
    bool cheaper; /* the settings differ from those of the recovery */
    double excess, interval;
    double share; /* of a fold's samples that is left out */
    int64_t hidden;
    const double *deviation;               /* [m->n * channels]; NULL: without noise */
    csrec_cut cut;                         /* of that noise */
    double noise;                          /* mean square of it */
    double squares, expected, noises;      /* sums at samples left out, */
    double nearer;                         /* of glances, for each */
    bool grid;                             /* samples lie on one */
    double farthest, left, beyond, raised; /* as of glances: largest, and sums */
    double fourths;                        /* and of squares of what is not noise */
    double in_doubt;                       /* noise that cannot be; else 0 */
    double residuals, answers, surprise;   /* there, for sampled_square */
    double deviations[2];                  /* roots of what was expected: there, and where there */
    double unknown, variance, differences; /* is no sample, of which these are sums */
    double shown, shown_variance;          /* and where one is shown */
    struct csrec_missed *missed;           /* [n_missed]; NULL: no intervals are asked for */
    int64_t n_missed;
} csrec_estimator;

/* Least share of the cheap recovery's expected squared error that is left to the result. */
#define CSREC_LEAST_EXPECTED 0.25

/* Room for a recovery of the window, NULL: of the whole, whose samples are the measurement's;
 * glance_clear frees it, also after an error. CSREC_MEMORY. */
csrec_status csrec_glance_create(const csrec_measurement *measurement, const csrec_shape *window,
                                 csrec_glance *glance, csrec_error *error);
void csrec_glance_clear(csrec_glance *glance);

/* Shows the samples in the window that the fold does not leave out; of the whole all. */
void csrec_glance_show(const csrec_estimator *estimator, const int64_t *origin, int fold,
                       csrec_glance *glance);

/* Recovers it, and finds what errors to expect. report may be NULL. */
csrec_status csrec_glance_run(const csrec_estimator *estimator, csrec_glance *glance,
                              csrec_recover_report *report, csrec_error *error);

/* Of value k of the samples, and the signal v there: the squared error of v, with the noise in it,
 * and that noise. As cut samples tell it, by what is seen of v, if the noise is cut. */
double csrec_seen_square(const csrec_estimator *estimator, int64_t k, double v, double *noise);

/* The mean over channels of the squares of a sample's deviations. */
double csrec_noise_at(const csrec_estimator *estimator, int64_t sample);

/* Squares of the distances of the nearest sample shown, [entries], to be freed. CSREC_MEMORY. */
csrec_status csrec_glance_distances(const csrec_glance *glance, uint32_t **squared,
                                    csrec_error *error);

/* Whether many entries without a sample are farther from samples than those left out: then squares
 * there, which grow with the distance as those of a random walk, are a guess, and on a grid not
 * known. distance: how far those left out are in the mean. */
bool csrec_squares_are_near(const csrec_estimator *estimator, double *distance);

/* Adds a fold's squares: at samples left out, and where there is none. */
void csrec_squares_add(csrec_estimator *estimator, const csrec_glance *glance,
                       const int64_t *origin);

/* Once all are added: where squares left out are too small for noise that is white and of sigma,
 * none is taken off, and squares are at most both together. */
void csrec_squares_judge(csrec_estimator *estimator);

/* Factor of the expected variances. */
double csrec_squares_factor(const csrec_estimator *estimator);

/* Mean squared errors where there is no sample, and at samples; and what they are at most, with
 * 95 % confidence. unknown: there are such entries. */
void csrec_squares_tell(const csrec_estimator *estimator, bool unknown, double squares[2],
                        double most[2]);
