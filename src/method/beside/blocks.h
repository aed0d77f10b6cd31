/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.h - a frame in blocks: sums around one, and values between their middles. */
#pragma once

#include <stdint.h>

typedef struct csrec_blocks {
    int64_t side, down, across; /* pixels; blocks */
} csrec_blocks;

static inline csrec_blocks csrec_blocks_of(int64_t side, int64_t height, int64_t width) {
    return (csrec_blocks){side, (height + side - 1) / side, (width + side - 1) / side};
}

/* Block of a pixel; the last ones go on to the border. */
static inline int64_t csrec_blocks_at(const csrec_blocks *b, int64_t y, int64_t x) {
    const int64_t row = y / b->side, column = x / b->side;
    return (row < b->down ? row : b->down - 1) * b->across +
           (column < b->across ? column : b->across - 1);
}

/* Of a block and the eight around it, the nearer the more; values are `step` apart. */
double csrec_blocks_around(const csrec_blocks *b, const double *values, int step, int64_t block);

/* At a pixel, between the middles of blocks. */
double csrec_blocks_between(const csrec_blocks *b, const double *values, int64_t y, int64_t x);
