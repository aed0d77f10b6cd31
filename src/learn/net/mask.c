/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.c - which pixels are known, and how noisy they are. */
#include <string.h>

#include "learn/net/mask.h"

/* In the order of csrec_mask_pattern. */
static const float pattern_share[CSREC_MASK_PATTERNS] = {0.44f, 0.20f, 0.05f, 0.04f, 0.07f,
                                                         0.06f, 0.03f, 0.05f, 0.06f};

csrec_mask_pattern csrec_mask_pattern_draw(csrec_mask_draws *d) {
    return (csrec_mask_pattern)csrec_mask_pick(d, pattern_share, CSREC_MASK_PATTERNS);
}

/* The order of pixels, which are blocked, and what aligning them may take. */
size_t csrec_mask_room(int size) {
    return 5 * (size_t)size * (size_t)size + 64;
}

csrec_mask_plan csrec_mask_plan_of(uint64_t seed, uint64_t number, int size, void *work,
                                   uint8_t *known) {
    size_t n = (size_t)size * (size_t)size;
    return (csrec_mask_plan){.size = size,
                             .known = known,
                             .order = work,
                             .blocked = (uint8_t *)work + n * sizeof(uint32_t),
                             .draws = csrec_mask_draws_of(seed, number)};
}

/* Holes and scratches in a picture that is known, or in one of three known in part. */
static void ground_fill(csrec_mask_plan *plan) {
    memset(plan->known, 1, (size_t)plan->size * (size_t)plan->size);
    if (csrec_mask_chance(&plan->draws, 0.3f))
        csrec_mask_known_uniform(plan, csrec_mask_scale(&plan->draws, 0.3f, 1));
}

static void mixed_fill(csrec_mask_plan *plan) {
    float share = csrec_mask_scale(&plan->draws, 0.1f, 0.9f);
    if (csrec_mask_chance(&plan->draws, 0.6f))
        csrec_mask_known_uniform(plan, share);
    else
        csrec_mask_known_poisson(plan, fminf(0.6f, share));
    float sort = csrec_mask_uniform(&plan->draws);
    if (sort < 0.6f)
        csrec_mask_holes_remove(plan);
    else if (sort < 0.8f)
        csrec_mask_lines_remove(plan);
    else
        csrec_mask_scratches_remove(plan);
}

void csrec_mask_pattern_fill(csrec_mask_plan *plan, csrec_mask_pattern pattern) {
    float share = csrec_mask_share_draw(&plan->draws);
    if (pattern <= CSREC_MASK_CLUSTERED) {
        if (pattern == CSREC_MASK_UNIFORM) csrec_mask_known_uniform(plan, share);
        if (pattern == CSREC_MASK_POISSON) csrec_mask_known_poisson(plan, share);
        if (pattern == CSREC_MASK_JITTER) csrec_mask_known_jitter(plan, share);
        if (pattern == CSREC_MASK_CLUSTERED) csrec_mask_known_clustered(plan, share);
        return;
    }
    if (pattern == CSREC_MASK_MIXED) {
        mixed_fill(plan);
        return;
    }
    memset(plan->known, 1, (size_t)plan->size * (size_t)plan->size);
    if (pattern == CSREC_MASK_HOLES || pattern == CSREC_MASK_SCRATCHES) ground_fill(plan);
    if (pattern == CSREC_MASK_LINES) csrec_mask_lines_remove(plan);
    if (pattern == CSREC_MASK_HOLES) csrec_mask_holes_remove(plan);
    if (pattern == CSREC_MASK_SCRATCHES) csrec_mask_scratches_remove(plan);
}

/* 0 in 55 % of all masks, so somewhat more often where noise is not a must. */
float csrec_mask_sigma_draw(csrec_mask_draws *d, csrec_mask_pattern pattern) {
    float none = 0.55f / (1 - pattern_share[CSREC_MASK_ALL]);
    bool noisy = !csrec_mask_chance(d, none) || pattern == CSREC_MASK_ALL;
    float sigma = 50 * (1 - csrec_mask_uniform(d)); /* never 0 */
    return noisy ? sigma : 0;
}

void csrec_mask_draw(uint64_t seed, uint64_t number, int size, void *work, uint8_t *known,
                     float *sigma) {
    csrec_mask_plan plan = csrec_mask_plan_of(seed, number, size, work, known);
    csrec_mask_pattern pattern = csrec_mask_pattern_draw(&plan.draws);
    *sigma = csrec_mask_sigma_draw(&plan.draws, pattern);
    csrec_mask_pattern_fill(&plan, pattern);
    size_t n = (size_t)size * (size_t)size, count = 0;
    for (size_t i = 0; i < n; i++) count += known[i];
    if (!count) known[csrec_mask_below(&plan.draws, (int)n)] = 1;
    /* Rarely a drawn pattern leaves nothing to fill in: then there is noise to remove. */
    if (count == n && *sigma == 0) *sigma = 50 * (1 - csrec_mask_uniform(&plan.draws));
}
