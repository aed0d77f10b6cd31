/* SPDX-License-Identifier: BSD-3-Clause */
/* series.h - ways to fill a signal of one axis. Samples v_k lie at entries at_k; entry i is at the
 * time t_i. */
#pragma once

#include <stdint.h>

#include "base/call.h"
#include "base/sort.h"
#include "csrec/measurement.h"
#include "csrec/status.h"

/* Longer lines are filled without sinusoids. Ways that may vote. */
enum { CSREC_SERIES_LONG = 8192, CSREC_SERIES_WAYS = 6 };

typedef struct csrec_series {
    int64_t n, m;      /* entries, samples; m >= 1 */
    const int64_t *at; /* [m] ascending */
    const double *v;   /* [m] */
    const double *t;   /* [n] ascending, or NULL: t_i = i */
    csrec_call *call;  /* that asks for a stop, or NULL */
} csrec_series;

/* A Gaussian process of covariance s exp(-|t - t'| / length), and noise of variance s noise. */
typedef struct csrec_series_process {
    double length, noise, s;
} csrec_series_process;

static inline double csrec_series_time(const csrec_series *s, int64_t i) {
    return s->t ? s->t[i] : (double)i;
}

/* x [n]; beyond the outermost samples their values. */
void csrec_series_linear(const csrec_series *series, double *x);

/* The same by cubic pieces that are monotone where the samples are (Fritsch and Butland 1984). */
void csrec_series_cubic(const csrec_series *series, double *x);

/* By cubic pieces of two continuous derivatives, of which the outermost reach one interval beyond
 * the samples; of fewer than 4 the linear way. CSREC_MEMORY. */
csrec_status csrec_series_spline(const csrec_series *series, double *x);

/* The likeliest parameters on a grid of lengths and noise, by the exact likelihood of up to 4,096
 * samples; and the posterior mean (Rauch, Tung and Striebel 1965), O(n). CSREC_MEMORY. */
csrec_series_process csrec_series_process_fit(const csrec_series *series);
csrec_status csrec_series_process_fill(const csrec_series *series,
                                       const csrec_series_process *process, double *x);

/* The posterior mean of an autoregressive process of `order` in white noise, both fitted by
 * expectation maximisation (Janssen, Veldhuis and Vries 1986, with the variances of the missing
 * entries). noise: the variance to begin with. t is not used: entries are at equal distances.
 * O(n order^2). CSREC_MEMORY. */
csrec_status csrec_series_autoregressive(const csrec_series *series, int order, double noise,
                                         double *x);

/* A line and sinusoids by orthogonal matching pursuit, frequencies refined by Gauss and Newton, as
 * many as generalised cross-validation says, at most `most`. t is not used. CSREC_MEMORY. */
csrec_status csrec_series_sinusoids(const csrec_series *series, int most, double *x);

/* The first `ways` of them, in this order, blended by their errors on samples left out in holes
 * like the real ones: weights are errors^-12. share [6], or NULL: the weights. Without equal
 * distances the first three and the last. Sinusoids and splines only where they err by less than
 * half of what the linear way does in every fold. After a stop x is linear. CSREC_MEMORY. */
csrec_status csrec_series_vote(const csrec_series *series, int ways, uint64_t seed, double *x,
                               double share[CSREC_SERIES_WAYS]);

/* ---- two axes of which one is that of time: unlike series beside one another. */

/* The axis along which the series of a table run; -1: a picture, or too little is known to tell.
 * Series are unlike: neighbours in different ones differ at least ten times as much (squares, the
 * median of all pairs) as neighbours in one, and as much as if they were independent; this not of
 * up to 8 series 16 times as long. One series is a table. O(n), of the first 2^22 entries. */
int csrec_table_axis(const csrec_measurement *measurement);

/* Fills y [series][n], known [series][n], into x: each series as a line (csrec_series_vote), then
 * as a ridge regression on the others, the rest of which is filled as a line; both blended by their
 * errors on samples left out in holes like the real ones. CSREC_MEMORY. */
csrec_status csrec_table_fill(int64_t n, int64_t series, const uint8_t *known, const double *y,
                              int ways, uint64_t seed, double *x);
