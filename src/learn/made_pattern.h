/* made_pattern.h - the patterns of known pixels. */
#ifndef CSREC_LEARN_MADE_PATTERN_H
#define CSREC_LEARN_MADE_PATTERN_H

#include "learn/made.h"
#include "learn/made_draws.h"

typedef enum csrec_made_pattern {
    CSREC_MADE_UNIFORM,   /* every pixel by itself */
    CSREC_MADE_POISSON,   /* no two near each other */
    CSREC_MADE_JITTER,    /* one a cell */
    CSREC_MADE_CLUSTERED, /* a density that varies by factors */
    CSREC_MADE_LINES,     /* rows or columns missing or skipped */
    CSREC_MADE_HOLES,     /* discs and boxes missing */
    CSREC_MADE_SCRATCHES, /* thin curves missing */
    CSREC_MADE_MIXED,     /* samples, and holes, lines or scratches besides */
    CSREC_MADE_ALL,       /* all known, with noise */
    CSREC_MADE_PATTERNS
} csrec_made_pattern;

/* Holes are this many pixels across at most. */
enum { CSREC_MADE_HOLE = 40 };

typedef struct csrec_made_mask_plan {
    int size;
    uint8_t *known;   /* [size][size] */
    uint32_t *order;  /* [size][size], work */
    uint8_t *blocked; /* [size][size], work */
    csrec_made_draws draws;
} csrec_made_mask_plan;

/* The arrays of `work` (csrec_made_room bytes) and the draws of a mask. */
csrec_made_mask_plan csrec_made_mask_plan_of(uint64_t seed, uint64_t number, int size, void *work,
                                             uint8_t *known);

/* The share of known pixels of patterns of samples: log-uniform, four of five times between 3 and
 * 60 %, else between 1 and 100 %. */
float csrec_made_share_draw(csrec_made_draws *d);

/* Fill `known` to about this share. */
void csrec_made_known_uniform(csrec_made_mask_plan *plan, float share);
void csrec_made_known_jitter(csrec_made_mask_plan *plan, float share);
void csrec_made_known_clustered(csrec_made_mask_plan *plan, float share);
/* The square of the least distance. */
int csrec_made_known_poisson(csrec_made_mask_plan *plan, float share);

/* Make known pixels unknown. Holes of one call do not touch. */
void csrec_made_lines_remove(csrec_made_mask_plan *plan);
void csrec_made_holes_remove(csrec_made_mask_plan *plan);
void csrec_made_scratches_remove(csrec_made_mask_plan *plan);

/* The pattern of a mask; and a mask of this pattern, by the draws left in the plan. */
csrec_made_pattern csrec_made_pattern_draw(csrec_made_draws *d);
void csrec_made_pattern_fill(csrec_made_mask_plan *plan, csrec_made_pattern pattern);
/* 0 in 55 % of all masks, else uniform up to 50. */
float csrec_made_sigma_draw(csrec_made_draws *d, csrec_made_pattern pattern);

#endif
