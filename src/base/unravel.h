/* SPDX-License-Identifier: BSD-3-Clause */
/* unravel.h - flat positions as coordinates; sums along an axis. */
#pragma once

#include "csrec/array.h"

/* The coordinates [dims] of a flat C-order position. */
static inline void csrec_unravel_index(const csrec_shape *shape, int64_t index, int64_t *place) {
    for (int a = shape->dims - 1; a >= 0; index /= shape->dim[a--])
        place[a] = index % shape->dim[a];
}

/* Sums over windows of 2 radius + 1 entries along an axis of v in place, cut at its ends: of
 * `lines` lines of `count` entries, `apart` from each other. line: scratch [count]. */
void csrec_windows_sum(int64_t lines, int64_t apart, int64_t count, int64_t radius, double *line,
                       double *v);
