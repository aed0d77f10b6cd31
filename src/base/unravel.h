/* SPDX-License-Identifier: BSD-3-Clause */
/* unravel.h - flat positions as coordinates. */
#pragma once

#include "csrec/array.h"

/* The coordinates [dims] of a flat C-order position. */
static inline void csrec_unravel_index(const csrec_shape *shape, int64_t index, int64_t *place) {
    for (int a = shape->dims - 1; a >= 0; index /= shape->dim[a--])
        place[a] = index % shape->dim[a];
}
