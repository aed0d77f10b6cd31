/* SPDX-License-Identifier: BSD-3-Clause */
/* left_out.h - what errors at samples that were left out tell of those elsewhere. */
#pragma once

#include "csrec/status.h"

/* Least share of the squares at samples left out that is not noise, and of the noise that a result
 * keeps at its samples. */
#define CSREC_LEAST_SIGNAL 0.01

/* Fewer samples than these tell nothing. */
enum { CSREC_LEAST_LEFT_OUT = 16 };

/* Factor of expected squares: of the sums of n squared errors at samples left out, of their noise
 * and of what was expected; 1 if too few samples say otherwise. */
double csrec_left_out_factor(int64_t n, double squares, double noise, double expected);

/* Squared error from all samples as a share of that without a share of them. */
double csrec_left_out_fall(double share);

/* place [n]: what sorts scores, which are 0 or more. CSREC_MEMORY. */
csrec_status csrec_scores_sort(int64_t n, const double *score, int64_t *place);

/* The least score so that those up to it have `share` of all weights and `rest`, INFINITY if they
 * have less; weight NULL: 1 each. place: of csrec_scores_sort. With weights and rest 1 that is the
 * score of rank ceil((n + 1) share), which a further one does not exceed with probability share at
 * least (Vovk, Gammerman, Shafer 2005; weights: Tibshirani and others 2019). */
double csrec_score_at(int64_t n, const double *score, const double *weight, const int64_t *place,
                      double rest, double share);
