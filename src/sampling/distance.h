/* SPDX-License-Identifier: BSD-3-Clause */
/* distance.h - how far every entry of a signal is from the nearest of some positions. */
#ifndef CSREC_SAMPLING_DISTANCE_H
#define CSREC_SAMPLING_DISTANCE_H

#include "csrec/status.h"

/* No position, or none that is nearer than the root of this, about 2^16. */
#define CSREC_FAR UINT32_MAX

/* squared [entries]: on entry 0 at the positions and CSREC_FAR elsewhere; on return the squared
 * Euclidean distance to the nearest position, at most CSREC_FAR. Extents of missing axes are 1.
 * O(entries) time. CSREC_MEMORY. */
csrec_status csrec_distance_squared(const int64_t extent[3], uint32_t *squared);

#endif
