/* mask_pattern.h - the patterns of known pixels. */
#ifndef CSREC_LEARN_NET_MASK_PATTERN_H
#define CSREC_LEARN_NET_MASK_PATTERN_H

#include "learn/net/mask.h"
#include "learn/net/mask_draws.h"

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

#endif
