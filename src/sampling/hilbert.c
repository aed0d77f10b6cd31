/* SPDX-License-Identifier: BSD-3-Clause */
/* hilbert.c - Hilbert curves in any number of dimensions.
 *
 * J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004): within a
 * cube every orthant is visited in Gray-code order, and holds a copy of the curve whose axes are
 * exchanged and inverted so that its ends meet the neighbouring orthants. From the coarsest bit
 * down, an axis whose bit is 1 inverts the finer bits of axis 0, one whose bit is 0 exchanges its
 * finer bits with those of axis 0. What remains is undoing the Gray code of the orthants.
 *
 * Branches would be random, so both cases are formed and selected by masks; the inner loops run
 * over the positions of a block. */
#include "sampling/order.h"

/* One axis at one bit: inverts axis 0 below that bit, or exchanges it with the axis. Its own
 * inverse, since the deciding bit itself is not changed. */
static void turn(int bit, uint64_t *restrict x0, uint64_t *restrict xi) {
    const uint64_t below = ((uint64_t)1 << bit) - 1;
    for (int k = 0; k < CSREC_ORDER_BLOCK; k++) {
        uint64_t set = 0 - ((xi[k] >> bit) & 1);
        uint64_t exchange = (x0[k] ^ xi[k]) & below & ~set;
        x0[k] ^= exchange | (below & set);
        xi[k] ^= exchange;
    }
}

static void turn_first(int bit, uint64_t *x0) {
    const uint64_t below = ((uint64_t)1 << bit) - 1;
    for (int k = 0; k < CSREC_ORDER_BLOCK; k++) x0[k] ^= below & (0 - ((x0[k] >> bit) & 1));
}

/* Bit j of the result is the parity of the bits above j. */
static uint64_t parity_above(uint64_t bits) {
    bits ^= bits >> 1;
    bits ^= bits >> 2;
    bits ^= bits >> 4;
    bits ^= bits >> 8;
    bits ^= bits >> 16;
    bits ^= bits >> 32;
    return bits >> 1;
}

void csrec_hilbert_encode(int axes, int bits, csrec_order_axis *x) {
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    for (int bit = bits - 1; bit > 0; bit--) {
        turn_first(bit, x[0]);
        for (int a = 1; a < axes; a++) turn(bit, x[0], x[a]);
    }
    for (int a = 1; a < axes; a++)
        for (int k = 0; k < CSREC_ORDER_BLOCK; k++) x[a][k] ^= x[a - 1][k] & low;
    uint64_t carry[CSREC_ORDER_BLOCK];
    for (int k = 0; k < CSREC_ORDER_BLOCK; k++) carry[k] = parity_above(x[axes - 1][k] & low);
    for (int a = 0; a < axes; a++)
        for (int k = 0; k < CSREC_ORDER_BLOCK; k++) x[a][k] ^= carry[k];
}

void csrec_hilbert_decode(int axes, int bits, csrec_order_axis *x) {
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    /* With t the carry and c the parity chain, the last axis holds c ^ t, and t = (c ^ t) >> 1. */
    uint64_t carry[CSREC_ORDER_BLOCK];
    for (int k = 0; k < CSREC_ORDER_BLOCK; k++) carry[k] = (x[axes - 1][k] & low) >> 1;
    for (int a = axes - 1; a > 0; a--)
        for (int k = 0; k < CSREC_ORDER_BLOCK; k++) x[a][k] ^= x[a - 1][k] & low;
    for (int k = 0; k < CSREC_ORDER_BLOCK; k++) x[0][k] ^= carry[k];
    for (int bit = 1; bit < bits; bit++) {
        for (int a = axes - 1; a > 0; a--) turn(bit, x[0], x[a]);
        turn_first(bit, x[0]);
    }
}
