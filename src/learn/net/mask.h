/* mask.h - masks and noise to train a network on.
 *
 * Everything is a function of (seed, number): the same bits whichever thread makes it, in any
 * order. */
#ifndef CSREC_LEARN_NET_MASK_H
#define CSREC_LEARN_NET_MASK_H

#include <stdint.h>

/* Least and largest size of a mask. */
enum { CSREC_MASK_SIZE_MIN = 8, CSREC_MASK_SIZE_MAX = 2048 };

/* Bytes of `work`, which the caller aligns to 64. */
size_t csrec_mask_room(int size);

/* Which pixels are known, [size][size], 0 or 1, at least one 1; and the standard deviation of the
 * noise on them in units of 0 to 255, positive if all are known. */
void csrec_mask_draw(uint64_t seed, uint64_t number, int size, void *work, uint8_t *known,
                     float *sigma);

#endif
