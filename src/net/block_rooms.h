/* SPDX-License-Identifier: BSD-3-Clause */
/* block_rooms.h - how the products of block.h cut pictures into tiles. Only for src/conv. */
#pragma once

#include "net/block.h"

/* Bounds of csrec_block_simd's rows and width. */
enum { CSREC_BLOCK_ROWS = 12, CSREC_BLOCK_WIDTH = 32 };

/* The 4 x 4 tiles of all pictures, line by line. */
typedef struct csrec_block_tiles {
    int64_t height, width; /* pixels */
    int64_t down, across;  /* tiles of a picture */
    int64_t count;
} csrec_block_tiles;

typedef struct csrec_block_place {
    int64_t line, column; /* of its first result, in its picture */
    int64_t pixel;        /* that result's number among those of all pictures */
} csrec_block_place;

static inline csrec_block_tiles csrec_block_tiles_of(const csrec_block_shape *shape) {
    csrec_block_tiles t = {.height = shape->height, .width = shape->width};
    t.down = (shape->height + CSREC_BLOCK_TILE - 1) / CSREC_BLOCK_TILE;
    t.across = (shape->width + CSREC_BLOCK_TILE - 1) / CSREC_BLOCK_TILE;
    t.count = shape->batch * t.down * t.across;
    return t;
}

static inline csrec_block_place csrec_block_locate(const csrec_block_tiles *t, int64_t tile) {
    int64_t row = tile / t->across, picture = row / t->down;
    csrec_block_place p = {row % t->down * CSREC_BLOCK_TILE, tile % t->across * CSREC_BLOCK_TILE,
                           0};
    p.pixel = (picture * t->height + p.line) * t->width + p.column;
    return p;
}

static inline int csrec_block_clip(int64_t v, int most) {
    return v < most ? (int)v : most;
}

/* Which of the 6 x 6 inputs, and of the 4 x 4 results, exist. */
static inline csrec_block_part csrec_block_inputs(const csrec_block_tiles *t,
                                                  const csrec_block_place *p) {
    return (csrec_block_part){{p->line == 0, p->column == 0},
                              {csrec_block_clip(t->height - p->line + 1, 6),
                               csrec_block_clip(t->width - p->column + 1, 6)}};
}

static inline csrec_block_part csrec_block_outputs(const csrec_block_tiles *t,
                                                   const csrec_block_place *p) {
    return (csrec_block_part){{0, 0},
                              {csrec_block_clip(t->height - p->line, CSREC_BLOCK_TILE),
                               csrec_block_clip(t->width - p->column, CSREC_BLOCK_TILE)}};
}

/* Columns of the product that begins with channel k. */
static inline int csrec_block_columns(const csrec_block_simd *simd, int64_t out, int64_t k) {
    return csrec_block_clip(out - k, simd->width);
}

/* Tiles that a thread computes at a time, and the floats it takes: V [36][tiles][in], then M
 * [36][tiles][width]. Taps are a line more than that apart, or all would fall on the same lines of
 * the first cache. */
typedef struct csrec_block_cut {
    int tiles;
    int64_t V_apart, M_apart, U_apart, floats; /* U_apart: of weights that are not packed */
} csrec_block_cut;

csrec_block_cut csrec_block_cut_of(const csrec_block_simd *simd, const csrec_block_shape *shape,
                                   int threads);

/* The same of weights that are not packed. All threads share V [36][tiles][in]; each has U
 * [36][in][width] and M [36][tiles][width]. */
csrec_block_cut csrec_block_panel_cut(const csrec_block_simd *simd, const csrec_block_shape *shape);

/* The same of a gradient, which all threads compute together: V [36][tiles][in], D
 * [36][tiles][out], and U [36][in][out]. */
csrec_block_cut csrec_block_gradient_cut(const csrec_block_shape *shape);

/* Blocks of pixels whose sums are added for a bias. */
enum { CSREC_BLOCK_PARTS = 64 };
