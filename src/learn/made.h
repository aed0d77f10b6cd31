/* made.h - made-up pictures, masks and noise to train a network on. No photograph is behind them,
 * so weights trained on them carry no licence but the library's.
 *
 * Everything is a function of (seed, number): the same bits whichever thread makes it, in any
 * order. Nothing is kept between calls but the bank, which is only read. */
#ifndef CSREC_LEARN_MADE_H
#define CSREC_LEARN_MADE_H

#include "csrec/status.h"

/* Least and largest size of a picture, and the most channels. */
enum { CSREC_MADE_SIZE_MIN = 8, CSREC_MADE_SIZE_MAX = 2048, CSREC_MADE_CHANNELS_MAX = 4 };

/* Periodic tables of power-law noise, 24 MiB, shared by all threads. */
typedef struct csrec_made_bank csrec_made_bank;

csrec_status csrec_made_bank_create(uint64_t seed, csrec_made_bank **bank, csrec_error *error);
void csrec_made_bank_destroy(csrec_made_bank *bank);

/* Bytes of `work`, which the caller aligns to 64; enough for a picture or a mask. */
size_t csrec_made_room(int channels, int size);

/* Picture `number` of a seed: [channels][size][size], 0 to 255, not rounded. */
void csrec_made_picture(const csrec_made_bank *bank, uint64_t seed, uint64_t number, int channels,
                        int size, void *work, float *picture);

/* Which pixels are known, [size][size], 0 or 1, at least one 1; and the standard deviation of the
 * noise on them in units of 0 to 255, positive if all are known. */
void csrec_made_mask(uint64_t seed, uint64_t number, int size, void *work, uint8_t *known,
                     float *sigma);

#endif
