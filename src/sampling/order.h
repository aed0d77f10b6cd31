/* SPDX-License-Identifier: BSD-3-Clause */
/* order.h - conversion of blocks of positions between coordinates and rows. */
#ifndef CSREC_SAMPLING_ORDER_H
#define CSREC_SAMPLING_ORDER_H

#include <stdint.h>

/* Positions handled together: one array an axis, so that every loop over a block vectorises. */
enum { CSREC_ORDER_BLOCK = 128 };
typedef uint64_t csrec_order_axis[CSREC_ORDER_BLOCK];

/* Turns the low `bits` bits of the coordinates of `axes` axes, in place, into those whose
 * interleaved bits (first axis most significant) are the position along the Hilbert curve through
 * the cube of side 2^bits. Higher bits stay. */
void csrec_hilbert_encode(int axes, int bits, csrec_order_axis *x);

/* The inverse. */
void csrec_hilbert_decode(int axes, int bits, csrec_order_axis *x);

#endif
