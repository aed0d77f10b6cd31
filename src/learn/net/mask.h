/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.h - masks and noise to train a network on.
 *
 * Everything is a function of (seed, number): the same bits whichever thread makes it, in any
 * order. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "base/random.h"

/* Least and largest size of a mask. */
enum { CSREC_MASK_SIZE_MIN = 8, CSREC_MASK_SIZE_MAX = 2048 };

/* Bytes of `work`, which the caller aligns to 64. */
size_t csrec_mask_room(int size);

/* Which pixels are known, [size][size], 0 or 1, at least one 1; and the standard deviation of the
 * noise on them in units of 0 to 255, positive if all are known. */
void csrec_mask_draw(uint64_t seed, uint64_t number, int size, void *work, uint8_t *known,
                     float *sigma);

/* ------------------------------------------------------------------ random draws of one mask */

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

/* ------------------------------------------------------------------ patterns */

typedef enum csrec_mask_pattern {
    CSREC_MASK_UNIFORM,   /* every pixel by itself */
    CSREC_MASK_POISSON,   /* no two near each other */
    CSREC_MASK_JITTER,    /* one a cell */
    CSREC_MASK_CLUSTERED, /* a density that varies by factors */
    CSREC_MASK_LINES,     /* rows or columns missing or skipped */
    CSREC_MASK_HOLES,     /* discs and boxes missing */
    CSREC_MASK_SCRATCHES, /* thin curves missing */
    CSREC_MASK_MIXED,     /* samples, and holes, lines or scratches besides */
    CSREC_MASK_ALL,       /* all known, with noise */
    CSREC_MASK_PATTERNS
} csrec_mask_pattern;

/* Holes are this many pixels across at most. */
enum { CSREC_MASK_HOLE = 40 };

typedef struct csrec_mask_plan {
    int size;
    uint8_t *known;   /* [size][size] */
    uint32_t *order;  /* [size][size], work */
    uint8_t *blocked; /* [size][size], work */
    csrec_mask_draws draws;
} csrec_mask_plan;

/* The arrays of `work` (csrec_mask_room bytes) and the draws of a mask. */
csrec_mask_plan csrec_mask_plan_of(uint64_t seed, uint64_t number, int size, void *work,
                                   uint8_t *known);

/* The share of known pixels of patterns of samples: log-uniform, four of five times between 3 and
 * 60 %, else between 1 and 100 %. */
float csrec_mask_share_draw(csrec_mask_draws *d);

/* Fill `known` to about this share. */
void csrec_mask_known_uniform(csrec_mask_plan *plan, float share);
void csrec_mask_known_jitter(csrec_mask_plan *plan, float share);
void csrec_mask_known_clustered(csrec_mask_plan *plan, float share);
/* The square of the least distance. */
int csrec_mask_known_poisson(csrec_mask_plan *plan, float share);

/* Make known pixels unknown. Holes of one call do not touch. */
void csrec_mask_lines_remove(csrec_mask_plan *plan);
void csrec_mask_holes_remove(csrec_mask_plan *plan);
void csrec_mask_scratches_remove(csrec_mask_plan *plan);

/* The pattern of a mask; and a mask of this pattern, by the draws left in the plan. */
csrec_mask_pattern csrec_mask_pattern_draw(csrec_mask_draws *d);
void csrec_mask_pattern_fill(csrec_mask_plan *plan, csrec_mask_pattern pattern);
/* 0 in 55 % of all masks, else uniform up to 50. */
float csrec_mask_sigma_draw(csrec_mask_draws *d, csrec_mask_pattern pattern);
