/* mask_draws.h - a run of random draws of one mask. */
#ifndef CSREC_LEARN_NET_MASK_DRAWS_H
#define CSREC_LEARN_NET_MASK_DRAWS_H

#include <math.h>
#include <stdbool.h>

#include "base/random.h"

/* In the highest bits of the counter, so that the library's own draws (counters below 2^56) are
 * independent of a mask's. */
enum { CSREC_MASK_FOR_MASK = 2 };

typedef struct csrec_mask_draws {
    uint64_t seed, stream, counter;
    uint32_t word[4];
    int left; /* words not yet used */
} csrec_mask_draws;

static inline csrec_mask_draws csrec_mask_draws_of(uint64_t seed, uint64_t number) {
    return (csrec_mask_draws){
        .seed = seed, .stream = number, .counter = (uint64_t)CSREC_MASK_FOR_MASK << 56, .left = 0};
}

static inline uint32_t csrec_mask_word(csrec_mask_draws *d) {
    if (!d->left) {
        csrec_random_words(d->seed, d->stream, d->counter++, d->word);
        d->left = 4;
    }
    return d->word[--d->left];
}

/* In [0, 1), 24 bits: every value and 1 - value is a float. */
static inline float csrec_mask_uniform(csrec_mask_draws *d) {
    return (float)(csrec_mask_word(d) >> 8) * 0x1p-24f;
}

static inline float csrec_mask_between(csrec_mask_draws *d, float low, float high) {
    return low + (high - low) * csrec_mask_uniform(d);
}

/* Log-uniform: as often between 1 and 2 as between 2 and 4. */
static inline float csrec_mask_scale(csrec_mask_draws *d, float low, float high) {
    return low * expf(csrec_mask_uniform(d) * logf(high / low));
}

static inline bool csrec_mask_chance(csrec_mask_draws *d, float probability) {
    return csrec_mask_uniform(d) < probability;
}

/* 0 .. n - 1. */
static inline int csrec_mask_below(csrec_mask_draws *d, int n) {
    return (int)((csrec_mask_word(d) * (uint64_t)n) >> 32);
}

/* low .. high. */
static inline int csrec_mask_count(csrec_mask_draws *d, int low, int high) {
    return low + csrec_mask_below(d, high - low + 1);
}

/* Standard normal (Box and Muller), at most 5.8 in size. */
static inline float csrec_mask_normal(csrec_mask_draws *d) {
    float radius = sqrtf(-2.0f * logf(1.0f - csrec_mask_uniform(d)));
    return radius * cosf(6.2831853f * csrec_mask_uniform(d));
}

/* The index of one of n weights, which sum to 1. */
static inline int csrec_mask_pick(csrec_mask_draws *d, const float *weight, int n) {
    float rest = csrec_mask_uniform(d);
    for (int i = 0; i < n - 1; i++) {
        if (rest < weight[i]) return i;
        rest -= weight[i];
    }
    return n - 1;
}

#endif
