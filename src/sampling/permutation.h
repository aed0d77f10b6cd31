/* SPDX-License-Identifier: BSD-3-Clause */
/* permutation.h - a random order of 0 .. entries - 1 that is computed, not stored. */
#ifndef CSREC_SAMPLING_PERMUTATION_H
#define CSREC_SAMPLING_PERMUTATION_H

#include <stdint.h>

enum { CSREC_PERMUTATION_ROUNDS = 12 };

typedef struct csrec_permutation {
    uint64_t entries;
    int half; /* bits of each half of the Feistel domain 2^(2 half) >= entries */
    uint64_t key[CSREC_PERMUTATION_ROUNDS];
} csrec_permutation;

/* 1 <= entries <= 2^62. */
void csrec_permutation_init(csrec_permutation *permutation, uint64_t entries, uint64_t seed);

/* The image of position i < entries: a bijection of 0 .. entries - 1. */
uint64_t csrec_permutation_at(const csrec_permutation *permutation, uint64_t i);

#endif
