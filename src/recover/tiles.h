/* tiles.h - recovery in overlapping tiles, if the whole does not fit into memory: each tile is
 * recovered with `pad` entries around it, and neighbours are blended over the middle half of their
 * overlap. */
#ifndef CSREC_RECOVER_TILES_H
#define CSREC_RECOVER_TILES_H

#include "method/method.h"

enum { CSREC_TILE_AXES = 3 };

/* Axes of the signal, preceded by axes of one entry. Cores are `stride` long but for the last ones
 * and begin at multiples of it. */
typedef struct csrec_tiling {
    int64_t extent[CSREC_TILE_AXES], count[CSREC_TILE_AXES], stride[CSREC_TILE_AXES], pad, tiles;
    csrec_shape shape; /* of the signal */
} csrec_tiling;

typedef struct csrec_tile {
    int64_t core[CSREC_TILE_AXES][2]; /* first and end */
    int64_t box[CSREC_TILE_AXES][2];  /* with what is around */
} csrec_tile;

/* One tile. pad by the distance of the samples. */
csrec_tiling csrec_tiling_whole(const csrec_task *task);

/* Cuts the axis along which tiles are longest; false: smaller tiles would be mostly overlap. */
bool csrec_tiling_split(csrec_tiling *tiling);

csrec_tile csrec_tiling_tile(const csrec_tiling *tiling, int64_t number);

/* The extents of the largest tile. */
csrec_shape csrec_tiling_largest(const csrec_tiling *tiling);

/* The task of the tile with the most samples, of the extents of the largest. */
csrec_status csrec_tiling_task(const csrec_tiling *tiling, const csrec_measurement *measurement,
                               const csrec_task *whole, csrec_task *task);

/* Recovers tile by tile. A tile without samples becomes the mean of the samples. If stopped, the
 * remaining tiles become a smooth guess. */
csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error);

#endif
