/* spread.h - the tiles of a recovery over the processes of a communicator. Each process recovers
 * consecutive tiles and owns their cells; it sends the parts that reach into cells of others to
 * their owners, and in the end its cells to the first process. Which process a tile is recovered by
 * changes no bit, as cells are blended in the tiles' order. */
#ifndef CSREC_RECOVER_SPREAD_H
#define CSREC_RECOVER_SPREAD_H

#include "recover/mosaic.h"

/* comm NULL: one process. */
typedef struct csrec_spread {
    csrec_comm *comm;
    csrec_mosaic *mosaic;
    const csrec_tiling *tiling;
    int64_t channels;
    int64_t first, end; /* this process's tiles */
    /* Whether to stop waiting for others. */
    bool (*stops)(void *context);
    void *context;
} csrec_spread;

/* All processes take the first one's tiling, and then the range of their tiles. CSREC_ARGUMENT:
 * more processes than tiles. */
csrec_status csrec_spread_agree(csrec_comm *comm, csrec_tiling *tiling, int64_t *first,
                                int64_t *end, csrec_error *error);

/* Adds a recovered tile to the cells that it reaches, wherever they are, and takes what has arrived
 * from others. */
csrec_status csrec_spread_add(const csrec_spread *spread, int64_t tile, const csrec_part *values,
                              csrec_error *error);

/* After the last tile: waits until this process's cells are whole; then all cells are in the
 * mosaic of the first process. */
csrec_status csrec_spread_collect(const csrec_spread *spread, csrec_error *error);

/* On the first process *report becomes that of all. */
csrec_status csrec_spread_report(csrec_comm *comm, csrec_recover_report *report,
                                 csrec_error *error);

#endif
