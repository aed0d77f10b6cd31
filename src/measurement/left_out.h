/* SPDX-License-Identifier: BSD-3-Clause */
/* left_out.h - what errors at samples that were left out tell of those elsewhere. */
#pragma once

#include <stdint.h>

/* Least share of the squares at samples left out that is not noise, and of the noise that a result
 * keeps at its samples. */
#define CSREC_LEAST_SIGNAL 0.05

/* Fewer samples than these tell nothing. */
enum { CSREC_LEAST_LEFT_OUT = 16 };

/* Factor of expected squares: of the sums of n squared errors at samples left out, of their noise
 * and of what was expected; 1 if too few samples say otherwise. */
double csrec_left_out_factor(int64_t n, double squares, double noise, double expected);

/* Squared error from all samples as a share of that without a share of them. */
double csrec_left_out_fall(double share);
