/* select.h - the samples of a part of a signal. */
#ifndef CSREC_RECOVER_SELECT_H
#define CSREC_RECOVER_SELECT_H

#include "recover/parts/tiles.h"

/* Whether positions ascend, as those of most files do: then a search finds the samples of a range.
 * threads: as csrec_threads takes them. */
bool csrec_samples_ascend(const csrec_measurement *measurement, int threads);

/* Of positions that ascend: the number of samples before `position`. */
int64_t csrec_samples_before(const csrec_measurement *measurement, int64_t position);

/* The samples in a tile's box, in their order, with positions in it; O(log n) for each of its lines
 * beside the copy if positions ascend, else O(n). part->index and part->y are to be freed, even on
 * failure. CSREC_MEMORY. */
csrec_status csrec_samples_select(const csrec_measurement *measurement, const csrec_tiling *tiling,
                                  const csrec_tile *tile, bool ascend, int threads,
                                  csrec_measurement *part);

#endif
