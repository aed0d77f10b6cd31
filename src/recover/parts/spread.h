/* spread.h - the tiles of a recovery over the processes of a communicator. Each process recovers
 * consecutive tiles and owns their cells; it sends the parts that reach into cells of others to
 * their owners, and in the end its cells to the first process, or only that they are whole where
 * the processes are threads that blend into one signal. Which process a tile is recovered by
 * changes no bit, as cells are blended in the tiles' order. */
#ifndef CSREC_RECOVER_SPREAD_H
#define CSREC_RECOVER_SPREAD_H

#include "recover/parts/mosaic.h"

/* comm NULL: one process. */
typedef struct csrec_spread {
    csrec_comm *comm;
    csrec_mosaic *mosaic;
    const csrec_tiling *tiling;
    int64_t channels;
    int64_t first, end; /* this process's tiles */
    bool common;        /* all mosaics are of one signal in memory: cells need not travel */
    /* Whether to stop waiting for others; NULL: never. */
    bool (*stops)(void *context);
    void *context;
} csrec_spread;

/* The first of `n` things in a row that are process `rank`'s: consecutive, equal shares. */
int64_t csrec_spread_first(const csrec_comm *comm, int64_t n, int rank);

/* Every process has `all`, of `size` bytes for each of n things, its own share of them filled: all
 * are filled then. */
csrec_status csrec_spread_exchange(csrec_comm *comm, int64_t n, size_t size, void *all,
                                   csrec_error *error);

/* All processes take the first one's tiling. */
csrec_status csrec_spread_agree(csrec_comm *comm, csrec_tiling *tiling, csrec_error *error);

/* Adds a recovered tile to the cells that it reaches, wherever they are, and takes what has arrived
 * from others. */
csrec_status csrec_spread_add(const csrec_spread *spread, int64_t tile, const csrec_part *values,
                              csrec_error *error);

/* After the last tile: waits until this process's cells are whole; then all cells are in the
 * mosaic of the first process. */
csrec_status csrec_spread_collect(const csrec_spread *spread, csrec_error *error);

/* Waits until a cell of this process is whole; on the first process fetches that of another. */
csrec_status csrec_spread_fetch(const csrec_spread *spread, int64_t cell, csrec_error *error);

/* On the others: gives cells to the first process until it calls csrec_spread_release. */
csrec_status csrec_spread_serve(const csrec_spread *spread, csrec_error *error);
csrec_status csrec_spread_release(const csrec_spread *spread, csrec_error *error);

/* On the first process *report becomes that of all. */
csrec_status csrec_spread_report(const csrec_spread *spread, csrec_recover_report *report,
                                 csrec_error *error);

#endif
