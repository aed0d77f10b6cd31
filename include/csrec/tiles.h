/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/tiles.h - the tiles of a recovery one by one, for programs that spread them over processes
 * by means of their own: Dask, a queue of jobs, files. options->comm does it by messages. */
#ifndef CSREC_TILES_H
#define CSREC_TILES_H

#include "io.h"
#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How csrec_recover would cut a signal into tiles, and what a tile must know of all samples. Every
 * tile is recovered from the samples in its box; every core is blended from the tiles near it, and
 * all cores make up the signal, with the bits of csrec_recover with the same options (signals of
 * values below 2^-960: to a few subnormals). Threads may share an object. */
typedef struct csrec_tiles csrec_tiles;

enum { CSREC_TILES_DIMS = 3 };

/* Along each axis of the signal: entries that are a tile's own, and with what is around them. */
typedef struct csrec_tile_place {
    csrec_slab core[CSREC_TILES_DIMS], box[CSREC_TILES_DIMS];
} csrec_tile_place;

/* Plans, and looks at all samples. The options, without comm and history, must outlive the object,
 * the measurement need not. Errors as of csrec_recover; CSREC_UNSUPPORTED: a method that needs the
 * whole signal. */
CSREC_API csrec_status csrec_tiles_create(const csrec_measurement *measurement,
                                          const csrec_recover_options *options, csrec_tiles **tiles,
                                          csrec_error *error);
CSREC_API void csrec_tiles_destroy(csrec_tiles *tiles);

/* The object as bytes for other processes with this version of the library on machines of this
 * kind, into `bytes` unless that is NULL; returns their number. And back, with the same options
 * (threads and backend may differ). CSREC_DATA: bytes of something else; CSREC_UNSUPPORTED: of
 * another version. */
CSREC_API size_t csrec_tiles_pack(const csrec_tiles *tiles, void *bytes);
CSREC_API csrec_status csrec_tiles_unpack(const void *bytes, size_t size,
                                          const csrec_recover_options *options, csrec_tiles **tiles,
                                          csrec_error *error);

/* Tiles along each axis; returns their number. Tiles are in C order. */
CSREC_API int64_t csrec_tiles_count(const csrec_tiles *tiles, int64_t count[CSREC_TILES_DIMS]);

/* Tile k; false past the end. */
CSREC_API bool csrec_tiles_place(const csrec_tiles *tiles, int64_t k, csrec_tile_place *place);

/* The next tile after `after` (-1: the first) that reaches the core of tile k, which itself is one;
 * -1: none. */
CSREC_API int64_t csrec_tiles_near(const csrec_tiles *tiles, int64_t k, int64_t after);

/* Recovers tile k. samples: those in its box, in the order of the whole measurement, with the shape
 * of the box and positions in it; n may be 0. values: [box][channels]. report: NULL, or of this
 * tile; outcome CSREC_INTERRUPTED: progress asked to stop, and the values are a guess. */
CSREC_API csrec_status csrec_tiles_run(const csrec_tiles *tiles, int64_t k,
                                       const csrec_measurement *samples, double *values,
                                       csrec_recover_report *report, csrec_error *error);

/* The core of tile k, [core][channels]. values: of the boxes of the tiles near it, in their order.
 */
CSREC_API csrec_status csrec_tiles_blend(const csrec_tiles *tiles, int64_t k,
                                         const double *const *values, double *core,
                                         csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
