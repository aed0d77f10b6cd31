/* SPDX-License-Identifier: BSD-3-Clause */
/* permutation.c - keyed permutation of any size: a Feistel network with cycle walking.
 *
 * (left, right) -> (right, left xor F(right)) is invertible for any F, so the rounds permute the
 * 2^(2 half) values of their domain (Luby and Rackoff 1988). Stepping on until a value is below
 * `entries` follows a cycle of that permutation, hence ends and permutes 0 .. entries - 1 (Black
 * and Rogaway 2002). The domain is less than 4 times `entries`: fewer than 4 steps on average. */
#include "sampling/permutation.h"

#include "csrec/sampling.h"
#include "base/random.h"

void csrec_permutation_init(csrec_permutation *permutation, uint64_t entries, uint64_t seed) {
    int half = 1;
    while (UINT64_C(1) << (2 * half) < entries) half++;
    permutation->entries = entries;
    permutation->half = half;
    for (int i = 0; i < CSREC_PERMUTATION_ROUNDS; i++)
        permutation->key[i] = csrec_random_u64(seed, CSREC_STREAM_PERMUTATION, (uint64_t)i);
}

/* F: the top `half` bits of a multiplicative hash. Two odd multipliers with a fold between them
 * carry every bit of the input into the top bits. */
static uint64_t hash(uint64_t value, uint64_t key, int half) {
    uint64_t z = (value ^ key) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return z >> (64 - half);
}

static uint64_t feistel(const csrec_permutation *permutation, uint64_t i) {
    int half = permutation->half;
    uint64_t left = i >> half, right = i & ((UINT64_C(1) << half) - 1);
    for (int round = 0; round < CSREC_PERMUTATION_ROUNDS; round++) {
        uint64_t next = left ^ hash(right, permutation->key[round], half);
        left = right;
        right = next;
    }
    return left << half | right;
}

uint64_t csrec_permutation_at(const csrec_permutation *permutation, uint64_t i) {
    do i = feistel(permutation, i);
    while (i >= permutation->entries);
    return i;
}
