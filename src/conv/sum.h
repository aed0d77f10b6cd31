/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.h - sizes that the products share. */
#ifndef CSREC_CONV_SUM_H
#define CSREC_CONV_SUM_H

#include "conv/conv.h"

/* Rows of inputs laid out at once: with a tile's columns they stay in the second-level cache. */
enum { CSREC_CONV_DEPTH = 128 };

int64_t csrec_conv_taps(const csrec_conv_sum *sum);
int64_t csrec_conv_positions(const csrec_conv_sum *sum);

/* Panels of packed weights that hold so many rows. */
int64_t csrec_conv_panels(int64_t rows, const csrec_conv_simd *simd);

#endif
