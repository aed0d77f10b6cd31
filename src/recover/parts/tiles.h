/* tiles.h - recovery in overlapping tiles, of signals that are large or do not fit into memory:
 * each tile is recovered with `pad` entries around it, and neighbours are blended over the middle
 * half of their overlap. */
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

/* Whether tiles of such a signal can be counted: no disk holds a larger one. */
bool csrec_tiling_bears(const csrec_shape *shape);

/* One tile. pad by the distance of the samples. */
csrec_tiling csrec_tiling_whole(const csrec_task *task);

/* Tiles of at most options->tile values without what is around them: what a recovery has whatever
 * the memory. */
csrec_tiling csrec_tiling_usual(const csrec_task *task);

/* Cuts the axis along which tiles are longest; false: smaller tiles would be mostly overlap. */
bool csrec_tiling_split(csrec_tiling *tiling);

csrec_tile csrec_tiling_tile(const csrec_tiling *tiling, int64_t number);

/* The extents of the largest tile. */
csrec_shape csrec_tiling_largest(const csrec_tiling *tiling);

/* Tiles side by side, which have the same entries of the signal's first axis, and those entries:
 * first and end. Lines of tiles follow one another. */
int64_t csrec_tiling_line(const csrec_tiling *tiling);
csrec_slab csrec_tiling_rows(const csrec_tiling *tiling, int64_t line);

/* The task of the tile with the most samples, of the extents of the largest. Without positions the
 * number of samples is what it can be. */
csrec_status csrec_tiling_task(const csrec_tiling *tiling, const csrec_measurement *measurement,
                               const csrec_task *whole, csrec_task *task);

/* The state of a recovery in tiles. */
typedef struct csrec_tiler {
    const csrec_method_type *method;
    const csrec_tiling *tiling;
    const double *mean; /* [channels] of the samples */
    int64_t done;       /* tiles */
    bool stopped;
    struct csrec_spread *spread;
    struct csrec_journal *journal;
    /* of one run */
    const csrec_measurement *m;
    bool ascend;         /* its positions */
    csrec_recovery tile; /* of each tile all but the measurement, the signal and the report */
    const csrec_recover_options *given;
    csrec_recover_options options; /* of a tile */
} csrec_tiler;

/* Recovers the next tiles, `count` of them, from a measurement with the shape of the whole, which
 * has their samples. A tile without samples becomes the mean. If stopped, the remaining tiles
 * become a smooth guess. */
csrec_status csrec_tiler_run(csrec_tiler *tiler, const csrec_recovery *recovery, int64_t count,
                             csrec_error *error);

/* Adds a tile's or a process's report to that of the whole. */
void csrec_report_add(const csrec_recover_report *one, csrec_recover_report *all);

/* Recovers all. */
csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error);

#endif
