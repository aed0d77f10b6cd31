/* mosaic.h - tiles blended into a signal. The signal consists of cells, the tiles without what is
 * around them. Every entry of a cell is the weighted mean of the tiles that reach it, with weights
 * that are linear along the axes and sum to 1. Each tile is blended with the mean of those before,
 * in the tiles' order, so no sum of weights is stored, and equal values keep their bits. Tiles may
 * come in any order, and from other processes: what is not yet its turn waits. */
#ifndef CSREC_RECOVER_MOSAIC_H
#define CSREC_RECOVER_MOSAIC_H

#include "recover/parts/tiles.h"

/* First and end along each axis. */
typedef struct csrec_box {
    int64_t at[CSREC_TILE_AXES][2];
} csrec_box;

int64_t csrec_box_entries(const csrec_box *box);

/* Values of a box in memory: those of an entry are side by side, entries in C order. */
typedef struct csrec_part {
    csrec_box box;
    double *values;
} csrec_part;

/* The values of an entry. */
double *csrec_part_at(const csrec_part *part, int64_t channels, const int64_t at[CSREC_TILE_AXES]);

typedef struct csrec_mosaic csrec_mosaic;

/* The tiling must outlive it. signal: the whole, or NULL: each cell has memory of its own from the
 * first tile that reaches it until csrec_mosaic_drop. */
csrec_status csrec_mosaic_create(const csrec_tiling *tiling, int64_t channels, double *signal,
                                 csrec_mosaic **mosaic, csrec_error *error);
void csrec_mosaic_destroy(csrec_mosaic *mosaic);

/* Copies the values of a box that is inside. */
void csrec_part_copy(const csrec_part *part, int64_t channels, const csrec_box *box, double *to);

/* The next cell after `cell` (-1: the first) that a tile reaches, and where; -1: none. */
int64_t csrec_mosaic_reaches(const csrec_mosaic *mosaic, int64_t tile, int64_t cell,
                             csrec_box *where);

/* Blends the part of a tile that is in `where` into a cell, now or when it is its turn; `tile` has
 * the values of at least that box. */
csrec_status csrec_mosaic_add(csrec_mosaic *mosaic, int64_t tile, int64_t cell,
                              const csrec_box *where, const csrec_part *values, csrec_error *error);

/* The values of a whole cell, from another process. */
csrec_status csrec_mosaic_set(csrec_mosaic *mosaic, int64_t cell, const csrec_part *values,
                              csrec_error *error);

/* The cell, once all tiles that reach it are blended; NULL before. */
const csrec_part *csrec_mosaic_cell(const csrec_mosaic *mosaic, int64_t cell);
void csrec_mosaic_drop(csrec_mosaic *mosaic, int64_t cell);

#endif
