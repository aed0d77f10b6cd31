/* made_mask.c - which pixels are known, and how noisy they are. */
#include <string.h>

#include "learn/made_pattern.h"

/* In the order of csrec_made_pattern. */
static const float pattern_share[CSREC_MADE_PATTERNS] = {0.44f, 0.20f, 0.05f, 0.04f, 0.07f,
                                                         0.06f, 0.03f, 0.05f, 0.06f};

csrec_made_pattern csrec_made_pattern_draw(csrec_made_draws *d) {
    return (csrec_made_pattern)csrec_made_pick(d, pattern_share, CSREC_MADE_PATTERNS);
}

/* The order of pixels, which are blocked, and what aligning them may take. */
size_t csrec_made_room(int size) {
    return 5 * (size_t)size * (size_t)size + 64;
}

csrec_made_mask_plan csrec_made_mask_plan_of(uint64_t seed, uint64_t number, int size, void *work,
                                             uint8_t *known) {
    size_t n = (size_t)size * (size_t)size;
    return (csrec_made_mask_plan){.size = size,
                                  .known = known,
                                  .order = work,
                                  .blocked = (uint8_t *)work + n * sizeof(uint32_t),
                                  .draws = csrec_made_draws_of(seed, number)};
}

/* Holes and scratches in a picture that is known, or in one of three known in part. */
static void ground_fill(csrec_made_mask_plan *plan) {
    memset(plan->known, 1, (size_t)plan->size * (size_t)plan->size);
    if (csrec_made_chance(&plan->draws, 0.3f))
        csrec_made_known_uniform(plan, csrec_made_scale(&plan->draws, 0.3f, 1));
}

static void mixed_fill(csrec_made_mask_plan *plan) {
    float share = csrec_made_scale(&plan->draws, 0.1f, 0.9f);
    if (csrec_made_chance(&plan->draws, 0.6f))
        csrec_made_known_uniform(plan, share);
    else
        csrec_made_known_poisson(plan, fminf(0.6f, share));
    float sort = csrec_made_uniform(&plan->draws);
    if (sort < 0.6f)
        csrec_made_holes_remove(plan);
    else if (sort < 0.8f)
        csrec_made_lines_remove(plan);
    else
        csrec_made_scratches_remove(plan);
}

void csrec_made_pattern_fill(csrec_made_mask_plan *plan, csrec_made_pattern pattern) {
    float share = csrec_made_share_draw(&plan->draws);
    if (pattern <= CSREC_MADE_CLUSTERED) {
        if (pattern == CSREC_MADE_UNIFORM) csrec_made_known_uniform(plan, share);
        if (pattern == CSREC_MADE_POISSON) csrec_made_known_poisson(plan, share);
        if (pattern == CSREC_MADE_JITTER) csrec_made_known_jitter(plan, share);
        if (pattern == CSREC_MADE_CLUSTERED) csrec_made_known_clustered(plan, share);
        return;
    }
    if (pattern == CSREC_MADE_MIXED) {
        mixed_fill(plan);
        return;
    }
    memset(plan->known, 1, (size_t)plan->size * (size_t)plan->size);
    if (pattern == CSREC_MADE_HOLES || pattern == CSREC_MADE_SCRATCHES) ground_fill(plan);
    if (pattern == CSREC_MADE_LINES) csrec_made_lines_remove(plan);
    if (pattern == CSREC_MADE_HOLES) csrec_made_holes_remove(plan);
    if (pattern == CSREC_MADE_SCRATCHES) csrec_made_scratches_remove(plan);
}

/* 0 in 55 % of all masks, so somewhat more often where noise is not a must. */
float csrec_made_sigma_draw(csrec_made_draws *d, csrec_made_pattern pattern) {
    float none = 0.55f / (1 - pattern_share[CSREC_MADE_ALL]);
    bool noisy = !csrec_made_chance(d, none) || pattern == CSREC_MADE_ALL;
    float sigma = 50 * (1 - csrec_made_uniform(d)); /* never 0 */
    return noisy ? sigma : 0;
}

void csrec_made_mask(uint64_t seed, uint64_t number, int size, void *work, uint8_t *known,
                     float *sigma) {
    csrec_made_mask_plan plan = csrec_made_mask_plan_of(seed, number, size, work, known);
    csrec_made_pattern pattern = csrec_made_pattern_draw(&plan.draws);
    *sigma = csrec_made_sigma_draw(&plan.draws, pattern);
    csrec_made_pattern_fill(&plan, pattern);
    size_t n = (size_t)size * (size_t)size, count = 0;
    for (size_t i = 0; i < n; i++) count += known[i];
    if (!count) known[csrec_made_below(&plan.draws, (int)n)] = 1;
    /* Rarely a drawn pattern leaves nothing to fill in: then there is noise to remove. */
    if (count == n && *sigma == 0) *sigma = 50 * (1 - csrec_made_uniform(&plan.draws));
}
